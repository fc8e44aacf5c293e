/* SPDX-License-Identifier: BSD-2-Clause */
/* nd_dev.c - the device: its contexts, their queues, and the buffers for messages. */
#include "nd.h"

/* --- completions --- */

static int post_buffer(struct nd_buffer *buffer)
{
	struct kvec vec = { .iov_base = buffer->memory, .iov_len = ND_BUFFER };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .addr = KFI_ADDR_UNSPEC, .context = buffer };

	return (int)kfi_recvmsg(buffer->context->rx, &msg, KFI_MULTI_RECV);
}

static void take_message(const struct kfi_cq_data_entry *entry)
{
	struct nd_buffer *buffer = entry->op_context;
	struct nd_dev *dev = buffer->context->dev;

	if (entry->len == sizeof(struct nd_msg) && !READ_ONCE(dev->closing))
		nd_tn_take(buffer->context, entry->buf);
	if (entry->flags & KFI_MULTI_RECV && !READ_ONCE(dev->closing) && post_buffer(buffer))
		pr_err("nd: a buffer was not posted again\n");
}

static bool is_message(u64 flags)
{
	return (flags & (KFI_MSG | KFI_RECV)) == (KFI_MSG | KFI_RECV);
}

static void read_queue(struct work_struct *work)
{
	struct nd_context *context = container_of(work, struct nd_context, work);
	struct kfi_cq_data_entry entry;
	struct kfi_cq_err_entry error = { 0 };

	for (;;) {
		ssize_t rc = kfi_cq_read(context->cq, &entry, 1);

		if (rc == 1 && is_message(entry.flags))
			take_message(&entry);
		else if (rc == 1)
			nd_tn_event(entry.op_context, entry.flags, entry.data, 0);
		else if (rc == -KFI_EAVAIL && kfi_cq_readerr(context->cq, &error, 0) == 1 && !is_message(error.flags))
			nd_tn_event(error.op_context, error.flags, 0, error.err);
		else if (rc != -KFI_EAVAIL)
			return; /* -EAGAIN, which has armed the callback */
	}
}

static void queue_callback(struct kfid_cq *cq, void *arg)
{
	struct nd_context *context = arg;

	(void)cq;
	spin_lock(&context->lock);
	if (!context->closing)
		queue_work(context->dev->workqueue, &context->work);
	spin_unlock(&context->lock);
}

/* --- contexts --- */

static int open_context(struct nd_dev *dev, int index)
{
	struct nd_context *context = &dev->context[index];
	struct kfi_cq_attr attr = { .size = 4096, .format = KFI_CQ_FORMAT_DATA };
	size_t least = sizeof(struct nd_msg);
	int rc;

	context->dev = dev;
	context->index = index;
	spin_lock_init(&context->lock);
	INIT_WORK(&context->work, read_queue);
	rc = kfi_cq_open(dev->domain, &attr, &context->cq, queue_callback, context);
	rc = rc ? rc : kfi_rx_context(dev->sep, index, NULL, &context->rx, context);
	rc = rc ? rc : kfi_ep_bind(context->rx, &context->cq->fid, 0);
	rc = rc ? rc : kfi_setopt(&context->rx->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &least, sizeof(least));
	rc = rc ? rc : kfi_tx_context(dev->sep, index, NULL, &context->tx, context);
	rc = rc ? rc : kfi_ep_bind(context->tx, &context->cq->fid, 0);
	rc = rc ? rc : kfi_enable(context->tx);
	rc = rc ? rc : kfi_enable(context->rx);
	for (int i = 0; i < ND_BUFFERS && !rc; i++) {
		context->buffer[i] = (struct nd_buffer){ context, kzalloc(ND_BUFFER, GFP_KERNEL) };
		rc = context->buffer[i].memory ? post_buffer(&context->buffer[i]) : -ENOMEM;
	}
	return rc;
}

static void close_fid(struct kfid *fid)
{
	int rc = fid ? kfi_close(fid) : 0;

	if (rc)
		pr_err("nd: kfi_close() is %d\n", rc);
}

#define CLOSE(object) close_fid((object) ? &(object)->fid : NULL)

/* The handler is called until the queue is closed, and the work that it queues reads the queue. */
static void close_context(struct nd_context *context)
{
	CLOSE(context->rx);
	CLOSE(context->tx);
	if (context->cq) {
		spin_lock(&context->lock);
		context->closing = true;
		spin_unlock(&context->lock);
		cancel_work_sync(&context->work);
		CLOSE(context->cq);
	}
	for (int i = 0; i < ND_BUFFERS; i++)
		kfree(context->buffer[i].memory);
}

/* --- the device --- */

static int get_info(struct nd_dev *dev, const char *node, const char *service)
{
	struct kfi_info *hints = kfi_allocinfo();
	int rc;

	if (!hints)
		return -ENOMEM;
	hints->caps = KFI_MSG | KFI_RMA | KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE | KFI_REMOTE_READ | KFI_REMOTE_WRITE |
		      KFI_MULTI_RECV | KFI_REMOTE_COMM | KFI_NAMED_RX_CTX | KFI_TAGGED_RMA | KFI_TAGGED | KFI_DIRECTED_RECV;
	hints->domain_attr->mr_iov_limit = 256;
	hints->domain_attr->mr_key_size = sizeof(int);
	hints->domain_attr->mr_mode = KFI_MR_ENDPOINT;
	hints->ep_attr->type = KFI_EP_RDM;
	hints->ep_attr->tx_ctx_cnt = ND_CONTEXTS;
	hints->ep_attr->rx_ctx_cnt = ND_CONTEXTS;
	rc = kfi_getinfo(0, node, service, KFI_SOURCE, hints, &dev->info);
	kfi_freeinfo(hints);
	return rc;
}

static int learn_address(struct nd_dev *dev)
{
	struct sockaddr_in in;
	struct kcxi_addr cxi;
	int rc;

	dev->address_len = sizeof(dev->address);
	rc = kfi_getname(&dev->sep->fid, dev->address, &dev->address_len);
	if (dev->info->addr_format == KFI_ADDR_CXI) {
		memcpy(&cxi, dev->address, sizeof(cxi));
		dev->service = cxi.pid;
	} else {
		memcpy(&in, dev->address, sizeof(in));
		dev->service = be16_to_cpu(in.sin_port);
	}
	return rc;
}

static int open_endpoint(struct nd_dev *dev)
{
	struct kfi_av_attr attr = { .type = KFI_AV_UNSPEC, .rx_ctx_bits = ND_RX_BITS };
	int rc = kfi_fabric(dev->info->fabric_attr, &dev->fabric, dev);

	rc = rc ? rc : kfi_domain(dev->fabric, dev->info, &dev->domain, dev);
	rc = rc ? rc : kfi_av_open(dev->domain, &attr, &dev->av, dev);
	rc = rc ? rc : kfi_scalable_ep(dev->domain, dev->info, &dev->sep, dev);
	rc = rc ? rc : kfi_scalable_ep_bind(dev->sep, &dev->av->fid, 0);
	for (int i = 0; i < ND_CONTEXTS && !rc; i++)
		rc = open_context(dev, i);
	rc = rc ? rc : kfi_enable(dev->sep);
	return rc ? rc : learn_address(dev);
}

int nd_dev_open(struct nd_dev *dev, const char *node, const char *service)
{
	int rc;

	init_rwsem(&dev->gate);
	dev->workqueue = alloc_workqueue("nd", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!dev->workqueue)
		return -ENOMEM;
	rc = nd_peers_init(dev);
	rc = rc ? rc : get_info(dev, node, service);
	rc = rc ? rc : open_endpoint(dev);
	return rc;
}

void nd_dev_close(struct nd_dev *dev)
{
	down_write(&dev->gate);
	WRITE_ONCE(dev->closing, true);
	up_write(&dev->gate);
	flush_workqueue(dev->workqueue);
	for (int i = 0; i < ND_CONTEXTS; i++)
		close_context(&dev->context[i]);
	nd_peers_fini(dev);
	CLOSE(dev->sep);
	CLOSE(dev->av);
	CLOSE(dev->domain);
	CLOSE(dev->fabric);
	kfi_freeinfo(dev->info);
	destroy_workqueue(dev->workqueue);
}
