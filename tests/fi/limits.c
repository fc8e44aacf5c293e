/* SPDX-License-Identifier: BSD-2-Clause */
/* limits.c - the sizes and counts that an info tells: each is reached exactly, and one more is refused with the errno that
 * the page names (fi_endpoint(3), fi_domain(3)); what was there before goes on. */
#include "tests/fi/world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_tagged.h>

#include "emu/fi/provider/fi_compat.h"

enum { KEY = 5, PIECE = 16, SPACE = 4096, LONG = 100000 };

static uint8_t near[SPACE], far[SPACE];
static struct fid_mr *mr;

static void open_all(struct world *w)
{
	world_open(w, &(struct want){ .caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC });
	RC(0, fi_mr_reg(w->domain, far, SPACE, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	for (int i = 0; i < SPACE; i++)
		near[i] = (uint8_t)(1 + i % 251);
	memset(far, 0, SPACE);
}

static void close_all(struct world *w)
{
	RC(0, fi_close(&mr->fid));
	world_close(w);
}

static void done(struct world *w, int count)
{
	struct fi_cq_tagged_entry entry;

	while (count--)
		RC(1, world_next(w, &entry));
}

static void received(struct world *w, size_t length)
{
	struct fi_cq_tagged_entry entry;

	RC(1, world_next(w, &entry));
	cr_assert(entry.flags & FI_RECV && entry.len == length && !memcmp(far, near, length));
	memset(far, 0, length);
}

/* inject_size: of every call that injects. */
Test(fi_limits, tx_inject_size)
{
	struct iovec iov = { near, 0 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	struct world w;
	size_t most;

	open_all(&w);
	most = w.info->tx_attr->inject_size;
	msg.addr = w.self;
	for (int i = 0; i < 3; i++)
		RC(0, fi_recv(w.ep, far, SPACE, NULL, FI_ADDR_UNSPEC, NULL));
	for (size_t over = 0; over < 2; over++) {
		int err = over ? -FI_EMSGSIZE : 0;

		iov.iov_len = most + over;
		RC(err, fi_inject(w.ep, near, most + over, w.self));
		RC(err, fi_injectdata(w.ep, near, most + over, 7, w.self));
		RC(err, fi_sendmsg(w.ep, &msg, FI_INJECT));
		RC(err, fi_inject_write(w.ep, near, most + over, w.self, 1024, KEY));
		RC(err, fi_inject_writedata(w.ep, near, most + over, 7, w.self, 1024, KEY));
		RC(err, fi_tinject(w.ep, near, most + over, w.self, 9));
		RC(err, fi_tinjectdata(w.ep, near, most + over, 7, w.self, 9));
		RC(err, fi_inject_atomic(w.ep, near, most / 8 + over, w.self, 2048, KEY, FI_UINT64, FI_SUM));
	}
	done(&w, 3 + 1 + 1); /* receives, the message that is not injected silently, remote data */
	cr_expect(!memcmp(far, near, most) && !memcmp(far + 1024, near, most) && far[1024 + most] == 0);
	RC(0, fi_trecv(w.ep, far, SPACE, NULL, FI_ADDR_UNSPEC, 9, 0, NULL));
	received(&w, most);
	close_all(&w);
}

static void pieces(uint8_t *at, struct iovec *iov, size_t count)
{
	for (size_t i = 0; i < count; i++)
		iov[i] = (struct iovec){ at + i * PIECE, PIECE };
}

/* iov_limit of both sides. */
Test(fi_limits, tx_rx_iov_limit)
{
	struct iovec out[16], in[16];
	struct world w;
	size_t tx, rx;

	open_all(&w);
	tx = w.info->tx_attr->iov_limit;
	rx = w.info->rx_attr->iov_limit;
	cr_assert(tx < 16 && rx < 16);
	pieces(near, out, tx + 1);
	pieces(far, in, rx + 1);
	RC(-FI_EINVAL, fi_recvv(w.ep, in, NULL, rx + 1, FI_ADDR_UNSPEC, NULL));
	RC(-FI_EINVAL, fi_trecvv(w.ep, in, NULL, rx + 1, FI_ADDR_UNSPEC, 0, 0, NULL));
	RC(-FI_EINVAL, fi_sendv(w.ep, out, NULL, tx + 1, w.self, NULL));
	RC(-FI_EINVAL, fi_tsendv(w.ep, out, NULL, tx + 1, w.self, 0, NULL));
	RC(-FI_EINVAL, fi_writev(w.ep, out, NULL, tx + 1, w.self, 0, KEY, NULL));
	RC(-FI_EINVAL, fi_readv(w.ep, out, NULL, tx + 1, w.self, 0, KEY, NULL));
	RC(0, fi_writev(w.ep, out, NULL, tx, w.self, 0, KEY, NULL));
	done(&w, 1);
	cr_expect(!memcmp(far, near, tx * PIECE) && far[tx * PIECE] == 0);
	memset(far, 0, SPACE);
	RC(0, fi_recvv(w.ep, in, NULL, rx, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_sendv(w.ep, out, NULL, tx, w.self, NULL));
	done(&w, 2);
	cr_expect(!memcmp(far, near, (tx < rx ? tx : rx) * PIECE));
	close_all(&w);
}

Test(fi_limits, tx_rma_iov_limit)
{
	struct fi_rma_iov remote[16];
	struct iovec iov = { near, 0 };
	struct fi_msg_rma msg = { .msg_iov = &iov, .iov_count = 1, .rma_iov = remote };
	struct world w;
	size_t most;

	open_all(&w);
	most = w.info->tx_attr->rma_iov_limit;
	cr_assert_lt(most, 16);
	for (size_t i = 0; i <= most; i++)
		remote[i] = (struct fi_rma_iov){ 2 * i * PIECE, PIECE, KEY };
	msg.addr = w.self;
	for (size_t over = 0; over < 2; over++) {
		msg.rma_iov_count = most + over;
		iov.iov_len = msg.rma_iov_count * PIECE;
		RC(over ? -FI_EINVAL : 0, fi_writemsg(w.ep, &msg, 0));
		RC(over ? -FI_EINVAL : 0, fi_readmsg(w.ep, &msg, 0));
	}
	done(&w, 2);
	for (size_t i = 0; i < most; i++)
		cr_expect(!memcmp(far + 2 * i * PIECE, near + i * PIECE, PIECE));
	cr_expect_eq(far[2 * most * PIECE], 0);
	close_all(&w);
}

/* Operations that are posted and not done: long messages that nobody receives. */
Test(fi_limits, tx_size)
{
	static char source[LONG], room[LONG];
	struct world w;
	size_t most;

	open_all(&w);
	most = w.info->tx_attr->size;
	for (size_t i = 0; i < most; i++)
		RC(0, fi_send(w.ep, source, LONG, NULL, w.self, NULL));
	RC(-FI_EAGAIN, fi_send(w.ep, source, LONG, NULL, w.self, NULL));
	RC(-FI_EAGAIN, fi_inject_write(w.ep, near, 8, w.self, 0, KEY));
	RC(0, fi_recv(w.ep, room, LONG, NULL, FI_ADDR_UNSPEC, NULL));
	done(&w, 2); /* one is received: there is room for one */
	RC(0, fi_send(w.ep, source, LONG, NULL, w.self, NULL));
	RC(-FI_EAGAIN, fi_send(w.ep, source, LONG, NULL, w.self, NULL));
	for (size_t i = 0; i < most; i++) {
		RC(0, fi_recv(w.ep, room, LONG, NULL, FI_ADDR_UNSPEC, NULL));
		done(&w, 2);
	}
	close_all(&w);
}

Test(fi_limits, rx_size)
{
	struct world w;
	size_t most;

	open_all(&w);
	most = w.info->rx_attr->size;
	for (size_t i = 0; i < most; i++)
		RC(0, i % 2 ? fi_recv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, NULL)
			    : fi_trecv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	RC(-FI_EAGAIN, fi_recv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, NULL));
	RC(-FI_EAGAIN, fi_trecv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	RC(0, fi_inject(w.ep, near, 8, w.self));
	received(&w, 8);
	RC(0, fi_recv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, NULL));
	RC(-FI_EAGAIN, fi_recv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, NULL));
	close_all(&w);
}

enum { PAGES = 64 << 20 }; /* more than is sent before the refusal is heard */

/* A message so long arrives, as far as its receive is: nobody has so much memory. Neither is it read beyond that. */
Test(fi_limits, ep_max_msg_size)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	struct world w;
	size_t most;
	void *pages = mmap(NULL, PAGES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	cr_assert(pages != MAP_FAILED);
	open_all(&w);
	most = w.info->ep_attr->max_msg_size;
	RC(-FI_EMSGSIZE, fi_send(w.ep, near, most + 1, NULL, w.self, NULL));
	RC(-FI_EMSGSIZE, fi_tsend(w.ep, near, most + 1, NULL, w.self, 0, NULL));
	RC(-FI_EMSGSIZE, fi_recv(w.ep, far, most + 1, NULL, w.self, NULL));
	RC(-FI_EMSGSIZE, fi_write(w.ep, near, most + 1, NULL, w.self, 0, KEY, NULL));
	RC(-FI_EMSGSIZE, fi_read(w.ep, near, most + 1, NULL, w.self, 0, KEY, NULL));
	RC(0, fi_recv(w.ep, far, SPACE, NULL, FI_ADDR_UNSPEC, far));
	RC(0, fi_send(w.ep, near, most, NULL, w.self, near));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_assert(error.err == FI_ETRUNC && error.op_context == far && error.len == SPACE && error.olen == most - SPACE,
		  "err %d, len %zu, olen %zu", error.err, error.len, error.olen);
	cr_expect(!memcmp(far, near, SPACE));
	RC(1, world_next(&w, &entry));
	cr_expect_eq(entry.op_context, near);
	RC(0, fi_write(w.ep, pages, most, NULL, w.self, 0, KEY, near));
	RC(-FI_EAVAIL, world_next(&w, &entry)); /* neither is there so much to read, nor is the region so long */
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_expect((error.err == FI_EACCES || error.err == FI_EFAULT) && error.op_context == near, "err %d", error.err);
	close_all(&w);
	munmap(pages, PAGES);
}

/* All of the eight bytes. */
Test(fi_limits, domain_cq_data_size)
{
	const uint64_t data = 0xfedcba9876543210;
	struct fi_cq_tagged_entry entry;
	struct world w;

	open_all(&w);
	cr_assert_eq(w.info->domain_attr->cq_data_size, sizeof(data));
	RC(0, fi_recv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_injectdata(w.ep, near, 8, data, w.self));
	RC(1, world_next(&w, &entry));
	cr_expect(entry.flags & FI_REMOTE_CQ_DATA && entry.data == data);
	RC(0, fi_inject_writedata(w.ep, near, 8, ~data, w.self, 0, KEY));
	RC(1, world_next(&w, &entry));
	cr_expect(entry.flags & FI_REMOTE_CQ_DATA && entry.data == ~data);
	close_all(&w);
}

/* Keys of eight bytes, but for the one that means none (FI_KEY_NOTAVAIL). */
Test(fi_limits, domain_mr_key_size)
{
	struct fid_mr *one, *none;
	struct world w;

	open_all(&w);
	cr_assert_eq(w.info->domain_attr->mr_key_size, 8);
	RC(-FI_EKEYREJECTED, fi_mr_reg(w.domain, far, 8, FI_REMOTE_WRITE, 0, UINT64_MAX, 0, &none, NULL));
	RC(0, fi_mr_reg(w.domain, far, 8, FI_REMOTE_WRITE, 0, UINT64_MAX - 1, 0, &one, NULL));
	RC(0, fi_write(w.ep, near, 8, NULL, w.self, 0, UINT64_MAX - 1, NULL));
	done(&w, 1);
	cr_expect(!memcmp(far, near, 8));
	RC(0, fi_close(&one->fid));
	close_all(&w);
}

Test(fi_limits, domain_mr_iov_limit)
{
	struct iovec iov[16];
	struct fid_mr *one, *none;
	struct world w;
	size_t most;

	open_all(&w);
	most = w.info->domain_attr->mr_iov_limit;
	cr_assert_lt(most, 16);
	for (size_t i = 0; i <= most; i++)
		iov[i] = (struct iovec){ far + 2 * i * PIECE, PIECE };
	RC(-FI_EINVAL, fi_mr_regv(w.domain, iov, most + 1, FI_REMOTE_WRITE, 0, KEY + 1, 0, &none, NULL));
	RC(0, fi_mr_regv(w.domain, iov, most, FI_REMOTE_WRITE, 0, KEY + 1, 0, &one, NULL));
	RC(0, fi_write(w.ep, near, most * PIECE, NULL, w.self, 0, KEY + 1, NULL));
	done(&w, 1);
	cr_expect(!memcmp(far + 2 * (most - 1) * PIECE, near + (most - 1) * PIECE, PIECE));
	RC(0, fi_close(&one->fid));
	close_all(&w);
}

/* The sentence of a refusal fits into so many bytes, and is whole in them. */
Test(fi_limits, domain_max_err_data)
{
	struct fi_cq_tagged_entry entry;
	size_t most;
	struct world w;
	char *text;

	open_all(&w);
	most = w.info->domain_attr->max_err_data;
	text = calloc(2, most);
	for (int i = 0; i < 2; i++) {
		struct fi_cq_err_entry error = { .err_data = text, .err_data_size = most << i };

		RC(0, fi_write(w.ep, near, 64, NULL, w.self, SPACE - 32, KEY, NULL));
		RC(-FI_EAVAIL, world_next(&w, &entry));
		RC(1, fi_cq_readerr(w.cq, &error, 0));
		cr_expect(error.err_data_size > 64 && error.err_data_size <= most, "%zu B", error.err_data_size);
		cr_expect(strlen(text) + 1 == error.err_data_size);
	}
	free(text);
	close_all(&w);
}

/* As many objects of a kind as the domain tells, and one more. */
static void as_many(size_t most, struct world *w, int (*one_more)(struct world *w, size_t nth, fid_t *fid))
{
	fid_t *all = calloc(most + 1, sizeof(*all));
	size_t count = 0;
	int err;

	cr_assert(all);
	do {
		err = one_more(w, count, &all[count]);
		count += !err;
	} while (!err && count <= most);
	cr_expect(err == -FI_ENOMEM && count == most, "%zu of %zu: %s", count, most, fi_strerror(-err));
	if (count && !err)
		cr_assert_fail("one more than %zu", most);
	for (size_t i = count; i-- > 0;)
		RC(0, fi_close(all[i]));
	free(all);
}

static int one_endpoint(struct world *w, size_t nth, fid_t *fid)
{
	struct fid_ep *ep;
	int err = fi_endpoint(w->domain, w->info, &ep, NULL);

	(void)nth;
	*fid = err ? NULL : &ep->fid;
	return err;
}

Test(fi_limits, domain_ep_cnt)
{
	struct world w;

	open_all(&w);
	as_many(w.info->domain_attr->ep_cnt - 1, &w, one_endpoint); /* and the world's */
	close_all(&w);
}

static int one_queue(struct world *w, size_t nth, fid_t *fid)
{
	struct fi_cq_attr attr = { .size = 1 };
	struct fid_cq *cq;
	int err = fi_cq_open(w->domain, &attr, &cq, NULL);

	(void)nth;
	*fid = err ? NULL : &cq->fid;
	return err;
}

Test(fi_limits, domain_cq_cnt)
{
	struct world w;

	open_all(&w);
	as_many(w.info->domain_attr->cq_cnt - 1, &w, one_queue);
	close_all(&w);
}

static int one_counter(struct world *w, size_t nth, fid_t *fid)
{
	struct fi_cntr_attr attr = { 0 };
	struct fid_cntr *cntr;
	int err = fi_cntr_open(w->domain, &attr, &cntr, NULL);

	(void)nth;
	*fid = err ? NULL : &cntr->fid;
	return err;
}

Test(fi_limits, domain_cntr_cnt)
{
	struct world w;

	open_all(&w);
	as_many(w.info->domain_attr->cntr_cnt - 1, &w, one_counter);
	close_all(&w);
}

static int one_region(struct world *w, size_t nth, fid_t *fid)
{
	struct fid_mr *one;
	int err = fi_mr_reg(w->domain, far, 8, FI_REMOTE_WRITE, 0, 1000 + nth, 0, &one, NULL);

	*fid = err ? NULL : &one->fid;
	return err;
}

Test(fi_limits, domain_mr_cnt)
{
	struct world w;

	open_all(&w);
	as_many(w.info->domain_attr->mr_cnt - 1, &w, one_region);
	close_all(&w);
}

static struct fid_ep *seps[1 << 16];

static int one_tx_context(struct world *w, size_t nth, fid_t *fid)
{
	size_t each = w->info->domain_attr->max_ep_tx_ctx, which = nth / each;
	struct fid_ep *ep;
	int err;

	if (!seps[which])
		RC(0, fi_scalable_ep(w->domain, w->info, &seps[which], NULL));
	err = fi_tx_context(seps[which], (int)(nth % each), NULL, &ep, NULL);
	*fid = err ? NULL : &ep->fid;
	return err;
}

static int one_rx_context(struct world *w, size_t nth, fid_t *fid)
{
	size_t each = w->info->domain_attr->max_ep_rx_ctx, which = nth / each;
	struct fid_ep *ep;
	int err;

	if (!seps[which])
		RC(0, fi_scalable_ep(w->domain, w->info, &seps[which], NULL));
	err = fi_rx_context(seps[which], (int)(nth % each), NULL, &ep, NULL);
	*fid = err ? NULL : &ep->fid;
	return err;
}

/* tx_ctx_cnt and rx_ctx_cnt of a domain, with max_ep_tx_ctx and max_ep_rx_ctx each endpoint. */
Test(fi_limits, domain_tx_rx_ctx_cnt)
{
	struct fi_domain_attr *attr;
	struct fid_ep *none;
	struct world w;

	open_all(&w);
	attr = w.info->domain_attr;
	w.info->ep_attr->tx_ctx_cnt = attr->max_ep_tx_ctx;
	w.info->ep_attr->rx_ctx_cnt = attr->max_ep_rx_ctx;
	as_many(attr->tx_ctx_cnt, &w, one_tx_context);
	as_many(attr->rx_ctx_cnt, &w, one_rx_context);
	RC(-FI_EINVAL, fi_tx_context(seps[0], (int)attr->max_ep_tx_ctx, NULL, &none, NULL));
	RC(-FI_EINVAL, fi_rx_context(seps[0], (int)attr->max_ep_rx_ctx, NULL, &none, NULL));
	for (size_t i = 0; i < sizeof(seps) / sizeof(seps[0]) && seps[i]; i++)
		RC(0, fi_close(&seps[i]->fid));
	w.info->ep_attr->tx_ctx_cnt = attr->max_ep_tx_ctx + 1;
	RC(-FI_EINVAL, fi_scalable_ep(w.domain, w.info, &none, NULL));
	w.info->ep_attr->tx_ctx_cnt = 1;
	w.info->ep_attr->rx_ctx_cnt = attr->max_ep_rx_ctx + 1;
	RC(-FI_EINVAL, fi_scalable_ep(w.domain, w.info, &none, NULL));
	close_all(&w);
}

/* One context a side, and more than one only of scalable endpoints: ep_attr's tx_ctx_cnt and rx_ctx_cnt. */
Test(fi_limits, ep_tx_rx_ctx_cnt)
{
	struct fid_ep *ep;
	struct world w;

	open_all(&w);
	cr_assert(w.info->ep_attr->tx_ctx_cnt == 1 && w.info->ep_attr->rx_ctx_cnt == 1);
	RC(0, fi_endpoint(w.domain, w.info, &ep, NULL));
	RC(0, fi_close(&ep->fid));
	w.info->ep_attr->tx_ctx_cnt = 2;
	RC(-FI_EINVAL, fi_endpoint(w.domain, w.info, &ep, NULL));
	w.info->ep_attr->tx_ctx_cnt = 1;
	w.info->ep_attr->rx_ctx_cnt = 2;
	RC(-FI_EINVAL, fi_endpoint(w.domain, w.info, &ep, NULL));
	w.info->ep_attr->rx_ctx_cnt = 1;
	close_all(&w);
}

/* Connected endpoints have one context a side, and are told so. */
Test(fi_limits, contexts_of_connected_endpoints)
{
	struct want want = { .caps = FI_MSG };
	struct fi_info *hints, *info;

	world_need_emu();
	for (size_t asked = 2; asked > 0; asked--) {
		hints = world_hints(&want);
		hints->ep_attr->type = FI_EP_MSG;
		hints->domain_attr->max_ep_tx_ctx = asked;
		RC(asked == 1 ? 0 : -FI_ENODATA, world_getinfo(&want, hints, &info));
	}
	cr_expect(info->domain_attr->max_ep_tx_ctx == 1 && info->domain_attr->max_ep_rx_ctx == 1);
	fi_freeinfo(info);
}

static size_t told(struct world *w, int option)
{
	size_t size = 0, length = sizeof(size);

	RC(0, fi_getopt(&w->ep->fid, FI_OPT_ENDPOINT, option, &size, &length));
	return size;
}

/* fi_endpoint(3): each kind of op has its sizes, where the endpoint has the kind. */
Test(fi_limits, sizes_of_each_kind_of_op)
{
	static const struct {
		int most, injected;
		uint64_t cap;
	} kinds[] = {
		{ COMPAT_OPT_MAX_MSG_SIZE, COMPAT_OPT_INJECT_MSG_SIZE, FI_MSG },
		{ COMPAT_OPT_MAX_TAGGED_SIZE, COMPAT_OPT_INJECT_TAGGED_SIZE, FI_TAGGED },
		{ COMPAT_OPT_MAX_RMA_SIZE, COMPAT_OPT_INJECT_RMA_SIZE, FI_RMA },
		{ COMPAT_OPT_MAX_ATOMIC_SIZE, COMPAT_OPT_INJECT_ATOMIC_SIZE, FI_ATOMIC },
	};
	size_t length = sizeof(length), atoms, size;
	struct world w;

	open_all(&w);
	RC(0, fi_atomicvalid(w.ep, FI_UINT64, FI_SUM, &atoms));
	for (int i = 0; i < 4; i++) {
		cr_expect_eq(told(&w, kinds[i].most), i < 3 ? w.info->ep_attr->max_msg_size : 8 * atoms);
		cr_expect_eq(told(&w, kinds[i].injected), w.info->tx_attr->inject_size);
	}
	close_all(&w);
	for (int i = 0; i < 4; i++) {
		world_open(&w, &(struct want){ .caps = kinds[i].cap });
		for (int k = 0; k < 4; k++) {
			RC(k == i ? 0 : -FI_ENOPROTOOPT, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT, kinds[k].most, &size, &length));
			RC(k == i ? 0 : -FI_ENOPROTOOPT, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT, kinds[k].injected, &size, &length));
		}
		world_close(&w);
	}
}
