/* SPDX-License-Identifier: BSD-2-Clause */
/* nd_tn.c - transactions. The asking side posts a tagged receive for bulk data, and the peer writes to it or reads from it by
 * tagged RMA, or sends the error in its place. A timer cancels what takes too long. */
#include "nd.h"

static struct kmem_cache *cache;
static mempool_t *pool;
static unsigned int timeout_s = 60;
static atomic64_t next_tag = ATOMIC64_INIT(1);

enum { RESERVE = 16 };

int nd_tns_init(void)
{
	cache = KMEM_CACHE(nd_tn, 0);
	pool = cache ? mempool_create_slab_pool(RESERVE, cache) : NULL;
	return pool ? 0 : -ENOMEM;
}

void nd_tns_fini(void)
{
	mempool_destroy(pool);
	kmem_cache_destroy(cache);
}

void nd_tn_timeout_set(unsigned int seconds)
{
	WRITE_ONCE(timeout_s, seconds);
}

/* --- pages that do not touch --- */

static unsigned int order_of(unsigned int pages)
{
	unsigned int order = 0;

	while (1U << order < 2 * pages)
		order++;
	return order;
}

static int make_pages(struct nd_tn *tn, u32 length)
{
	tn->pages = DIV_ROUND_UP(length, PAGE_SIZE);
	if (!tn->pages || tn->pages > ND_PAGES)
		return -EMSGSIZE;
	tn->block = alloc_pages(GFP_KERNEL | __GFP_ZERO, order_of(tn->pages));
	if (!tn->block)
		return -ENOMEM;
	for (unsigned int i = 0; i < tn->pages; i++)
		tn->vec[i] = (struct bio_vec){ .bv_page = nth_page(tn->block, 2 * i),
					       .bv_len = (u32)min_t(size_t, PAGE_SIZE, length - i * PAGE_SIZE) };
	return 0;
}

static void fill_pages(const struct nd_tn *tn, u32 seed)
{
	for (unsigned int i = 0; i < tn->pages; i++)
		memset(page_to_virt(tn->vec[i].bv_page), (int)(seed + i) & 0xff, tn->vec[i].bv_len);
}

static bool pages_are(const struct nd_tn *tn, u32 seed)
{
	for (unsigned int i = 0; i < tn->pages; i++) {
		const u8 *bytes = page_to_virt(tn->vec[i].bv_page);

		for (u32 j = 0; j < tn->vec[i].bv_len; j++)
			if (bytes[j] != ((seed + i) & 0xff))
				return false;
	}
	return true;
}

/* --- life --- */

static void expire(struct timer_list *timer)
{
	struct nd_tn *tn = from_timer(tn, timer, timer);

	queue_work(tn->context->dev->workqueue, &tn->work);
}

static void end_expired(struct work_struct *work)
{
	struct nd_tn *tn = container_of(work, struct nd_tn, work);
	bool cancel;

	spin_lock(&tn->lock);
	tn->expired = true;
	cancel = tn->receiving;
	spin_unlock(&tn->lock);
	if (cancel)
		kfi_cancel(&tn->context->rx->fid, tn);
}

static struct nd_tn *new_tn(struct nd_context *context, struct nd_peer *peer)
{
	struct nd_tn *tn = mempool_alloc(pool, GFP_KERNEL);

	memset(tn, 0, sizeof(*tn));
	tn->context = context;
	tn->peer = peer;
	spin_lock_init(&tn->lock);
	timer_setup(&tn->timer, expire, 0);
	INIT_WORK(&tn->work, end_expired);
	init_completion(&tn->done);
	return tn;
}

static void free_tn(struct nd_tn *tn)
{
	if (tn->block)
		__free_pages(tn->block, order_of(tn->pages));
	mempool_free(tn, pool);
}

/* With the lock. Both the message and the receive have ended. */
static bool is_over(struct nd_tn *tn)
{
	if (tn->sending || tn->receiving || tn->state == TN_DONE)
		return false;
	tn->state = TN_DONE;
	return true;
}

static void finish_tn(struct nd_tn *tn)
{
	if (!tn->serves) {
		complete(&tn->done);
		return;
	}
	atomic_add((int)le32_to_cpu(tn->msg.length), &tn->context->dev->bytes);
	nd_peer_put(tn->peer);
	free_tn(tn);
}

void nd_tn_event(struct nd_tn *tn, u64 flags, u64 data, int err)
{
	bool over;

	if (!tn)
		return;
	spin_lock(&tn->lock);
	if (flags & KFI_RECV)
		tn->receiving = false;
	else
		tn->sending = false;
	if (err && !tn->status)
		tn->status = tn->expired ? -ETIMEDOUT : -err;
	else if (flags & KFI_RECV && flags & KFI_REMOTE_CQ_DATA && data)
		tn->status = -(int)data; /* the peer's error in place of data */
	over = is_over(tn);
	spin_unlock(&tn->lock);
	if (over)
		finish_tn(tn);
}

/* --- messages --- */

static kfi_addr_t context_of(const struct nd_tn *tn)
{
	return kfi_rx_addr(tn->peer->addr, tn->context->index, ND_RX_BITS);
}

static void prepare(struct nd_tn *tn, enum nd_type type, enum nd_wish wish, u32 length, u32 seed)
{
	const struct nd_dev *dev = tn->context->dev;

	tn->msg.magic = cpu_to_le32(ND_MAGIC);
	tn->msg.session = cpu_to_le32(dev->session);
	tn->msg.type = cpu_to_le16((u16)type);
	tn->msg.wish = cpu_to_le16((u16)wish);
	tn->msg.length = cpu_to_le32(length);
	tn->msg.seed = cpu_to_le32(seed);
	tn->msg.tag = cpu_to_le64(tn->tag);
	memcpy(tn->msg.address, dev->address, ND_ADDRESS);
	if (type == ND_IMMEDIATE)
		memset(tn->msg.inline_data, (int)(seed & 0xff), length);
}

/* Posts again while the NIC has no room. */
#define UNTIL_POSTED(call)                            \
	({                                            \
		ssize_t posted_;                      \
		while ((posted_ = (call)) == -EAGAIN) \
			cond_resched();               \
		(int)posted_;                         \
	})

static int send_tn(struct nd_tn *tn)
{
	int rc;

	tn->sending = true;
	tn->state = TN_SENT;
	rc = UNTIL_POSTED(kfi_send(tn->context->tx, &tn->msg, sizeof(tn->msg), NULL, context_of(tn), tn));
	if (rc)
		tn->sending = false;
	return rc;
}

static int receive_bulk(struct nd_tn *tn)
{
	struct kfi_msg_tagged msg = {
		.type = KFI_BVEC, .msg_biov = tn->vec, .iov_count = tn->pages, .addr = tn->peer->addr, .tag = tn->tag, .context = tn
	};
	int rc;

	tn->receiving = true;
	rc = UNTIL_POSTED(kfi_trecvmsg(tn->context->rx, &msg, KFI_COMPLETION));
	if (rc)
		tn->receiving = false;
	return rc;
}

int nd_tn_greet(struct nd_dev *dev, struct nd_peer *peer, enum nd_type type)
{
	struct nd_tn *tn = new_tn(&dev->context[0], peer);
	int rc;

	prepare(tn, type, ND_WELL, 0, 0);
	rc = send_tn(tn);
	if (!rc) {
		wait_for_completion(&tn->done);
		rc = tn->status;
	}
	free_tn(tn);
	return rc;
}

static int begin_tn(struct nd_tn *tn, enum nd_type type, enum nd_wish wish, u32 length, u32 seed)
{
	int rc = 0;

	if (type != ND_IMMEDIATE)
		rc = make_pages(tn, length);
	if (!rc && type == ND_BULK_PUT)
		fill_pages(tn, seed);
	if (!rc && type != ND_IMMEDIATE)
		rc = receive_bulk(tn);
	prepare(tn, type, wish, length, seed);
	if (!rc)
		rc = send_tn(tn);
	return rc;
}

int nd_tn_run(struct nd_dev *dev, struct nd_peer *peer, unsigned int number, enum nd_type type, enum nd_wish wish, u32 length)
{
	struct nd_tn *tn = new_tn(&dev->context[number % ND_CONTEXTS], peer);
	int rc = -ESHUTDOWN;

	tn->tag = (u64)atomic64_inc_return(&next_tag) | (u64)(dev->session & 0xffff) << 32;
	down_read(&dev->gate);
	if (!dev->closing)
		rc = begin_tn(tn, type, wish, length, number);
	up_read(&dev->gate);
	if (rc && tn->receiving)
		kfi_cancel(&tn->context->rx->fid, tn);
	if (!rc || tn->receiving) {
		mod_timer(&tn->timer, jiffies + READ_ONCE(timeout_s) * HZ);
		wait_for_completion(&tn->done);
		del_timer_sync(&tn->timer);
		cancel_work_sync(&tn->work);
		rc = rc ? rc : tn->status;
	}
	if (!rc && type == ND_BULK_GET && !pages_are(tn, number))
		rc = -EIO;
	free_tn(tn);
	return rc;
}

/* --- the peer's --- */

/* Data go to the tagged receive of the one that asks, or its error does. */
static int answer(struct nd_tn *tn, enum nd_wish wish)
{
	bool put = le16_to_cpu(tn->msg.type) == ND_BULK_PUT;
	struct kfi_rma_iov range = { .len = le32_to_cpu(tn->msg.length), .key = tn->tag };
	struct kfi_msg_rma msg = { .type = KFI_BVEC,
				   .msg_biov = tn->vec,
				   .iov_count = tn->pages,
				   .addr = context_of(tn),
				   .rma_iov = &range,
				   .rma_iov_count = 1,
				   .context = tn };

	tn->sending = true;
	if (wish == ND_FAIL)
		return UNTIL_POSTED(kfi_tsenddata(tn->context->tx, NULL, 0, NULL, EREMOTEIO, context_of(tn), tn->tag, tn));
	if (put)
		return UNTIL_POSTED(kfi_readmsg(tn->context->tx, &msg, KFI_TAGGED | KFI_COMPLETION));
	fill_pages(tn, le32_to_cpu(tn->msg.seed));
	return UNTIL_POSTED(kfi_writemsg(tn->context->tx, &msg, KFI_TAGGED | KFI_COMPLETION));
}

static void serve_bulk(struct nd_context *context, struct nd_peer *peer, const struct nd_msg *msg)
{
	struct nd_tn *tn = new_tn(context, peer);
	int rc;

	tn->serves = true;
	tn->msg = *msg;
	tn->tag = le64_to_cpu(msg->tag);
	rc = make_pages(tn, le32_to_cpu(msg->length));
	rc = rc ? rc : answer(tn, le16_to_cpu(msg->wish));
	if (!rc)
		return;
	pr_err("nd: a request was not answered: %d\n", rc);
	nd_peer_put(peer);
	free_tn(tn);
}

/* Work, as greetings wait for their end. */
struct arrived {
	struct work_struct work;
	struct nd_context *context;
	struct nd_msg msg;
};

static void serve_message(struct nd_context *context, struct nd_peer *peer, const struct nd_msg *msg)
{
	struct nd_dev *dev = context->dev;

	switch ((enum nd_type)le16_to_cpu(msg->type)) {
	case ND_HELLO_REQ:
		nd_peer_greeted(peer, le32_to_cpu(msg->session));
		nd_tn_greet(dev, peer, ND_HELLO_RSP);
		break;
	case ND_HELLO_RSP:
		nd_peer_greeted(peer, le32_to_cpu(msg->session));
		break;
	case ND_IMMEDIATE:
		atomic_inc(&dev->messages);
		break;
	case ND_BULK_PUT:
	case ND_BULK_GET:
		if (le16_to_cpu(msg->wish) == ND_IGNORE)
			break;
		serve_bulk(context, peer, msg);
		return;
	default:
		pr_err("nd: a message of type %u\n", le16_to_cpu(msg->type));
	}
	nd_peer_put(peer);
}

static void serve_arrived(struct work_struct *work)
{
	struct arrived *arrived = container_of(work, struct arrived, work);
	struct nd_dev *dev = arrived->context->dev;
	struct nd_peer *peer;

	down_read(&dev->gate);
	peer = dev->closing ? NULL : nd_peer_get(dev, arrived->msg.address);
	if (peer)
		serve_message(arrived->context, peer, &arrived->msg);
	up_read(&dev->gate);
	kfree(arrived);
}

void nd_tn_take(struct nd_context *context, const struct nd_msg *msg)
{
	struct arrived *arrived;

	if (le32_to_cpu(msg->magic) != ND_MAGIC)
		return;
	arrived = kmalloc(sizeof(*arrived), GFP_KERNEL);
	if (!arrived)
		return;
	INIT_WORK(&arrived->work, serve_arrived);
	arrived->context = context;
	arrived->msg = *msg;
	queue_work(context->dev->workqueue, &arrived->work);
}
