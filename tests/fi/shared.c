/* SPDX-License-Identifier: BSD-2-Clause */
/* shared.c - shared receive and transmit contexts of fi_endpoint(3). */
#include "tests/fi/world.h"

#include <rdma/fi_tagged.h>
#include <string.h>
#include <sys/socket.h>

enum { SHARERS = 3 };

/* The world's own endpoint sends; these three have what is shared. */
struct shared {
	struct world w;
	struct fi_info *info;
	struct fid_ep *srx;
	struct fid_stx *stx;
	struct sharer {
		struct fid_ep *ep;
		struct fid_cq *cq;
		fi_addr_t at;
	} sharer[SHARERS];
};

static char in[8][64], out[64];

static void open_sharer(struct shared *s, struct sharer *sharer, uint64_t bind)
{
	struct sockaddr_storage name;
	size_t length = sizeof(name);

	RC(0, fi_cq_open(s->w.domain, &(struct fi_cq_attr){ .format = FI_CQ_FORMAT_TAGGED }, &sharer->cq, NULL));
	RC(0, fi_endpoint(s->w.domain, s->info, &sharer->ep, NULL));
	RC(0, fi_ep_bind(sharer->ep, &s->w.av->fid, 0));
	RC(0, fi_ep_bind(sharer->ep, &sharer->cq->fid, FI_TRANSMIT | FI_RECV | bind));
	RC(-FI_EOPBADSTATE, fi_enable(sharer->ep));
	RC(0, fi_ep_bind(sharer->ep, &s->srx->fid, 0));
	RC(-FI_EOPBADSTATE, fi_enable(sharer->ep));
	RC(0, fi_ep_bind(sharer->ep, &s->stx->fid, 0));
	RC(-FI_EINVAL, fi_ep_bind(sharer->ep, &s->srx->fid, 0));
	RC(-FI_EINVAL, fi_ep_bind(sharer->ep, &s->stx->fid, 0));
	RC(0, fi_enable(sharer->ep));
	RC(0, fi_getname(&sharer->ep->fid, &name, &length));
	RC(1, fi_av_insert(s->w.av, &name, 1, &sharer->at, 0, NULL));
}

static void shared_open(struct shared *s, uint64_t bind_last)
{
	struct want want = { .caps = FI_MSG | FI_TAGGED | FI_SOURCE | FI_MULTI_RECV };
	struct fi_info *hints;

	memset(s, 0, sizeof(*s));
	memset(in, 0, sizeof(in));
	world_open(&s->w, &want);
	hints = world_hints(&want);
	hints->ep_attr->tx_ctx_cnt = hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	hints->domain_attr->max_ep_srx_ctx = hints->domain_attr->max_ep_stx_ctx = 1;
	RC(0, world_getinfo(&want, hints, &s->info));
	cr_assert(s->info->ep_attr->tx_ctx_cnt == FI_SHARED_CONTEXT && s->info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT);
	s->info->tx_attr->size = 4;
	RC(0, fi_srx_context(s->w.domain, s->info->rx_attr, &s->srx, s));
	RC(0, fi_stx_context(s->w.domain, s->info->tx_attr, &s->stx, s));
	cr_assert(s->srx->fid.fclass == FI_CLASS_SRX_CTX && s->srx->fid.context == s);
	cr_assert(s->stx->fid.fclass == FI_CLASS_STX_CTX && s->stx->fid.context == s);
	for (int i = 0; i < SHARERS; i++)
		open_sharer(s, &s->sharer[i], i + 1 == SHARERS ? bind_last : 0);
}

static void close_sharer(struct sharer *sharer)
{
	if (!sharer->ep)
		return;
	RC(0, fi_close(&sharer->ep->fid));
	RC(0, fi_close(&sharer->cq->fid));
	sharer->ep = NULL;
}

static void shared_close(struct shared *s)
{
	for (int i = 0; i < SHARERS; i++) {
		if (s->sharer[i].ep) {
			RC(-FI_EBUSY, fi_close(&s->srx->fid));
			RC(-FI_EBUSY, fi_close(&s->stx->fid));
		}
		close_sharer(&s->sharer[i]);
	}
	RC(0, fi_close(&s->srx->fid));
	RC(0, fi_close(&s->stx->fid));
	fi_freeinfo(s->info);
	world_close(&s->w);
}

static ssize_t next_of(struct fid_cq *cq, struct fi_cq_tagged_entry *entry)
{
	struct world w = { .cq = cq };

	return world_next(&w, entry);
}

/* Sends one message from the world's endpoint to a sharer, and sees it complete. */
static void send_to(struct shared *s, int to, char byte, size_t length)
{
	struct fi_cq_tagged_entry entry;

	memset(out, byte, sizeof(out));
	RC(0, fi_send(s->w.ep, out, length, NULL, s->sharer[to].at, NULL));
	RC(1, world_next(&s->w, &entry));
}

/* Posted once, received wherever a message comes first; before any endpoint is there, too. */
Test(fi_shared, receives_serve_all_endpoints)
{
	struct fi_cq_tagged_entry entry;
	struct shared s;

	shared_open(&s, 0);
	for (int i = 0; i < 4; i++)
		RC(0, fi_recv(s.srx, in[i], sizeof(in[i]), NULL, FI_ADDR_UNSPEC, in[i]));
	for (int i = 0; i < 4; i++) {
		fi_addr_t from;
		int to = (i * 2) % SHARERS;

		send_to(&s, to, (char)('a' + i), 10 + (size_t)i);
		for (int other = 0; other < SHARERS; other++)
			if (other != to)
				RC(-FI_EAGAIN, fi_cq_read(s.sharer[other].cq, &entry, 1));
		while (fi_cq_readfrom(s.sharer[to].cq, &entry, 1, &from) == -FI_EAGAIN)
			;
		cr_assert(entry.op_context == in[i] && entry.len == 10u + (unsigned)i && in[i][0] == 'a' + i);
		cr_assert_eq(from, s.w.self);
	}
	shared_close(&s);
}

/* Messages that found no receive are kept for the context, each to be reported at its own endpoint. */
Test(fi_shared, messages_wait_for_receives)
{
	struct fi_cq_tagged_entry entry;
	struct shared s;

	shared_open(&s, 0);
	send_to(&s, 2, 'x', 5);
	send_to(&s, 1, 'y', 6);
	RC(0, fi_tsend(s.w.ep, out, 7, NULL, s.sharer[0].at, 9, NULL));
	RC(1, world_next(&s.w, &entry));
	RC(0, fi_recv(s.srx, in[0], sizeof(in[0]), NULL, FI_ADDR_UNSPEC, in[0]));
	RC(0, fi_recv(s.srx, in[1], sizeof(in[1]), NULL, FI_ADDR_UNSPEC, in[1]));
	RC(0, fi_trecv(s.srx, in[2], sizeof(in[2]), NULL, FI_ADDR_UNSPEC, 8, 1, in[2]));
	RC(1, next_of(s.sharer[2].cq, &entry));
	cr_assert(entry.op_context == in[0] && entry.len == 5 && in[0][0] == 'x');
	RC(1, next_of(s.sharer[1].cq, &entry));
	cr_assert(entry.op_context == in[1] && entry.len == 6 && in[1][0] == 'y');
	RC(1, next_of(s.sharer[0].cq, &entry));
	cr_assert(entry.op_context == in[2] && entry.len == 7 && entry.tag == 9);
	shared_close(&s);
}

/* An endpoint's own rule says what is told of its receives. */
Test(fi_shared, completes_by_the_endpoints_rule)
{
	struct fi_cq_tagged_entry entry;
	struct fi_msg msg = { .addr = FI_ADDR_UNSPEC, .iov_count = 1, .msg_iov = &(struct iovec){ in[2], sizeof(in[2]) } };
	struct shared s;

	shared_open(&s, FI_SELECTIVE_COMPLETION);
	RC(0, fi_recv(s.srx, in[0], sizeof(in[0]), NULL, FI_ADDR_UNSPEC, in[0]));
	RC(0, fi_recv(s.srx, in[1], sizeof(in[1]), NULL, FI_ADDR_UNSPEC, in[1]));
	RC(0, fi_recvmsg(s.srx, &msg, FI_COMPLETION));
	for (int i = 0; i < 3; i++)
		send_to(&s, i == 1 ? 1 : 2, 'a', 3);
	RC(1, next_of(s.sharer[2].cq, &entry));
	cr_assert_eq(entry.op_context, NULL); /* of fi_recvmsg */
	RC(-FI_EAGAIN, fi_cq_read(s.sharer[2].cq, &entry, 1));
	RC(1, next_of(s.sharer[1].cq, &entry));
	cr_assert_eq(entry.op_context, in[1]);
	shared_close(&s);
}

/* The receives that one endpoint leaves behind when it is closed are the others'; its messages are gone. */
Test(fi_shared, outlives_an_endpoint)
{
	struct fi_cq_err_entry error[2] = { 0 }; /* newer libraries write more than these headers know */
	struct fi_cq_tagged_entry entry;
	struct shared s;

	shared_open(&s, 0);
	send_to(&s, 0, 'x', 5);
	close_sharer(&s.sharer[0]);
	RC(0, fi_recv(s.srx, in[0], sizeof(in[0]), NULL, FI_ADDR_UNSPEC, in[0]));
	RC(0, fi_recv(s.srx, in[1], sizeof(in[1]), NULL, FI_ADDR_UNSPEC, in[1]));
	RC(0, fi_cancel(&s.srx->fid, in[1]));
	RC(-FI_ENOENT, fi_cancel(&s.srx->fid, in[1]));
	RC(-FI_ENOENT, fi_cancel(&s.sharer[1].ep->fid, in[0]));
	while (fi_cq_read(s.sharer[1].cq, &entry, 1) == -FI_EAGAIN && fi_cq_read(s.sharer[2].cq, &entry, 1) == -FI_EAGAIN)
		;
	if (fi_cq_readerr(s.sharer[1].cq, error, 0) != 1)
		RC(1, fi_cq_readerr(s.sharer[2].cq, error, 0));
	cr_assert(error->err == FI_ECANCELED && error->op_context == in[1]);
	close_sharer(&s.sharer[1]);
	send_to(&s, 2, 'z', 7);
	RC(1, next_of(s.sharer[2].cq, &entry));
	cr_assert(entry.op_context == in[0] && entry.len == 7);
	RC(0, fi_recv(s.srx, in[2], sizeof(in[2]), NULL, FI_ADDR_UNSPEC, in[2]));
	close_sharer(&s.sharer[2]);
	RC(0, fi_recv(s.srx, in[3], sizeof(in[3]), NULL, FI_ADDR_UNSPEC, in[3]));
	RC(0, fi_cancel(&s.srx->fid, in[3])); /* there is nobody to be told */
	shared_close(&s);
}

/* A buffer for many messages, of several endpoints. */
Test(fi_shared, one_buffer_for_many_messages)
{
	struct fi_msg msg = { .addr = FI_ADDR_UNSPEC, .iov_count = 1, .msg_iov = &(struct iovec){ in, 64 }, .context = in };
	struct fi_cq_tagged_entry entry;
	size_t least = 8;
	struct shared s;
	int released = 0;

	shared_open(&s, 0);
	RC(0, fi_setopt(&s.srx->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)));
	RC(0, fi_recvmsg(s.srx, &msg, FI_MULTI_RECV));
	for (int i = 0; i < SHARERS; i++) {
		send_to(&s, i, (char)('a' + i), 20);
		RC(1, next_of(s.sharer[i].cq, &entry));
		cr_assert(entry.op_context == in && entry.len == 20 && entry.buf == in[0] + 20 * i && in[0][20 * i] == 'a' + i);
		released += !!(entry.flags & FI_MULTI_RECV);
	}
	for (int i = 0; i < SHARERS && !released; i++)
		released += fi_cq_read(s.sharer[i].cq, &entry, 1) == 1 && entry.flags & FI_MULTI_RECV;
	cr_assert_eq(released, 1);
	shared_close(&s);
}

/* Four operations are under way at most, from all endpoints together. */
Test(fi_shared, transmits_share_their_room)
{
	struct fi_cq_tagged_entry entry;
	static char big[1 << 20]; /* waits for its receive */
	struct shared s;

	shared_open(&s, 0);
	for (int i = 0; i < 4; i++)
		RC(0, fi_send(s.sharer[i % SHARERS].ep, big, sizeof(big), NULL, s.w.self, NULL));
	for (int i = 0; i < SHARERS; i++)
		RC(-FI_EAGAIN, fi_send(s.sharer[i].ep, out, 1, NULL, s.w.self, NULL));
	for (int i = 0; i < 4; i++) {
		RC(0, fi_recv(s.w.ep, big, sizeof(big), NULL, FI_ADDR_UNSPEC, NULL));
		RC(1, world_next(&s.w, &entry));
	}
	for (int i = 0; i < 4; i++)
		RC(1, next_of(s.sharer[i % SHARERS].cq, &entry));
	RC(0, fi_send(s.sharer[0].ep, out, 1, NULL, s.w.self, NULL));
	RC(1, next_of(s.sharer[0].cq, &entry));
	shared_close(&s);
}

Test(fi_shared, bad_calls)
{
	struct fi_rx_attr rx = { .caps = FI_MSG | FI_RECV };
	struct fid_ep *ep, *untagged;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct shared s;

	shared_open(&s, 0);
	/* Receives are posted to the context, and nothing else. */
	RC(-FI_EOPNOTSUPP, fi_recv(s.sharer[0].ep, in, 1, NULL, FI_ADDR_UNSPEC, NULL));
	RC(-FI_EOPNOTSUPP, fi_send(s.srx, out, 1, NULL, s.w.self, NULL));
	RC(-FI_EOPNOTSUPP, fi_tsend(s.srx, out, 1, NULL, s.w.self, 0, NULL));
	RC(-FI_EOPNOTSUPP, fi_read(s.srx, in, 1, NULL, s.w.self, 0, 0, NULL));
	RC(-FI_ENOSYS, s.srx->fid.ops->bind(&s.srx->fid, &s.w.cq->fid, FI_RECV));
	/* Only an endpoint that asks for FI_SHARED_CONTEXT may have one. */
	RC(0, fi_endpoint(s.w.domain, s.w.info, &ep, NULL));
	RC(-FI_EINVAL, fi_ep_bind(ep, &s.srx->fid, 0));
	RC(-FI_EINVAL, fi_ep_bind(ep, &s.stx->fid, 0));
	RC(0, fi_close(&ep->fid));
	/* A subset of the context's attributes. */
	RC(0, fi_srx_context(s.w.domain, &rx, &untagged, NULL));
	RC(0, fi_endpoint(s.w.domain, s.info, &ep, NULL));
	RC(-FI_EINVAL, fi_ep_bind(ep, &untagged->fid, 0));
	RC(-FI_EBADFLAGS, fi_ep_bind(ep, &s.srx->fid, FI_RECV));
	RC(-FI_EBADFLAGS, fi_ep_bind(ep, &s.stx->fid, FI_TRANSMIT));
	/* The same address vector. */
	RC(0, fi_av_open(s.w.domain, &(struct fi_av_attr){ .type = FI_AV_TABLE }, &av, NULL));
	RC(0, fi_cq_open(s.w.domain, &(struct fi_cq_attr){ 0 }, &cq, NULL));
	RC(0, fi_ep_bind(ep, &av->fid, 0));
	RC(0, fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	RC(0, fi_ep_bind(ep, &s.srx->fid, 0));
	RC(0, fi_ep_bind(ep, &s.stx->fid, 0));
	RC(-FI_EINVAL, fi_enable(ep));
	RC(0, fi_close(&ep->fid));
	RC(0, fi_close(&av->fid));
	RC(0, fi_close(&cq->fid));
	RC(0, fi_close(&untagged->fid));
	rx.caps = FI_RMA;
	RC(-FI_EINVAL, fi_srx_context(s.w.domain, &rx, &untagged, NULL));
	rx = (struct fi_rx_attr){ .size = SIZE_MAX };
	RC(-FI_EINVAL, fi_srx_context(s.w.domain, &rx, &untagged, NULL));
	RC(0, fi_domain(s.w.fabric, s.info, &domain, NULL));
	RC(0, fi_endpoint(domain, s.info, &ep, NULL));
	RC(-FI_EDOMAIN, fi_ep_bind(ep, &s.srx->fid, 0));
	RC(-FI_EDOMAIN, fi_ep_bind(ep, &s.stx->fid, 0));
	RC(0, fi_close(&ep->fid));
	RC(0, fi_close(&domain->fid));
	shared_close(&s);
}
