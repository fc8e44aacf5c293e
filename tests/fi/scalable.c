/* SPDX-License-Identifier: BSD-2-Clause */
/* scalable.c - scalable endpoints of fi_endpoint(3): one address, several contexts, named by fi_rx_addr(). */
#include "tests/fi/world.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { CONTEXTS = 4, BITS = 2 };

/* A scalable endpoint that talks to itself, and the world's endpoint, which is a stranger to it. */
struct scalable {
	struct world w;
	struct fi_info *info;
	struct fid_ep *sep, *tx[CONTEXTS], *rx[CONTEXTS];
	struct fid_cq *tx_cq[CONTEXTS], *rx_cq[CONTEXTS];
	struct fid_av *av;
	fi_addr_t self;
};

static char in[CONTEXTS][64], out[64];

static void open_contexts(struct scalable *s)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED };

	for (int i = 0; i < CONTEXTS; i++) {
		RC(0, fi_cq_open(s->w.domain, &attr, &s->tx_cq[i], NULL));
		RC(0, fi_cq_open(s->w.domain, &attr, &s->rx_cq[i], NULL));
		RC(0, fi_tx_context(s->sep, i, NULL, &s->tx[i], &s->tx[i]));
		RC(0, fi_rx_context(s->sep, i, NULL, &s->rx[i], &s->rx[i]));
		cr_assert(s->tx[i]->fid.fclass == FI_CLASS_TX_CTX && s->tx[i]->fid.context == &s->tx[i]);
		cr_assert(s->rx[i]->fid.fclass == FI_CLASS_RX_CTX && s->rx[i]->fid.context == &s->rx[i]);
		RC(0, fi_ep_bind(s->tx[i], &s->tx_cq[i]->fid, FI_TRANSMIT));
		RC(0, fi_ep_bind(s->rx[i], &s->rx_cq[i]->fid, FI_RECV));
	}
}

static void scalable_open(struct scalable *s, struct want want)
{
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE, .rx_ctx_bits = BITS };
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	struct fi_info *hints;

	memset(s, 0, sizeof(*s));
	memset(in, 0, sizeof(in));
	memset(out, 0, sizeof(out));
	world_open(&s->w, &want);
	hints = world_hints(&want);
	hints->ep_attr->tx_ctx_cnt = hints->ep_attr->rx_ctx_cnt = CONTEXTS;
	RC(0, world_getinfo(&want, hints, &s->info));
	cr_assert(s->info->ep_attr->tx_ctx_cnt == CONTEXTS && s->info->ep_attr->rx_ctx_cnt == CONTEXTS);
	cr_assert(s->info->domain_attr->max_ep_tx_ctx >= CONTEXTS && s->info->domain_attr->max_ep_rx_ctx >= CONTEXTS);
	RC(0, fi_av_open(s->w.domain, &av_attr, &s->av, NULL));
	RC(0, fi_scalable_ep(s->w.domain, s->info, &s->sep, s));
	cr_assert(s->sep->fid.fclass == FI_CLASS_SEP && s->sep->fid.context == s);
	open_contexts(s);
	RC(-FI_ENOAV, fi_enable(s->tx[0]));
	RC(-FI_ENOAV, fi_enable(s->sep));
	RC(0, fi_scalable_ep_bind(s->sep, &s->av->fid, 0));
	RC(0, fi_enable(s->rx[0]));
	RC(0, fi_enable(s->sep));
	for (int i = 0; i < CONTEXTS; i++) {
		RC(0, fi_enable(s->tx[i]));
		RC(i ? 0 : -FI_EOPBADSTATE, fi_enable(s->rx[i]));
	}
	RC(0, fi_getname(&s->sep->fid, &name, &length));
	RC(1, fi_av_insert(s->av, &name, 1, &s->self, 0, NULL));
}

static void scalable_close(struct scalable *s)
{
	RC(-FI_EBUSY, fi_close(&s->sep->fid));
	for (int i = 0; i < CONTEXTS; i++) {
		RC(0, fi_close(&s->tx[i]->fid));
		RC(0, fi_close(&s->rx[i]->fid));
		RC(0, fi_close(&s->tx_cq[i]->fid));
		RC(0, fi_close(&s->rx_cq[i]->fid));
	}
	RC(-FI_EBUSY, fi_close(&s->av->fid));
	RC(0, fi_close(&s->sep->fid));
	RC(0, fi_close(&s->av->fid));
	fi_freeinfo(s->info);
	world_close(&s->w);
}

static ssize_t next_of(struct fid_cq *cq, struct fi_cq_tagged_entry *entry)
{
	struct world w = { .cq = cq };

	return world_next(&w, entry);
}

#define WANT                                                          \
	(struct want)                                                 \
	{                                                             \
		.caps = FI_MSG | FI_RMA | FI_SOURCE | FI_NAMED_RX_CTX \
	}

/* From each context to each: completions at the two that were named, and the sender is the scalable endpoint. */
Test(fi_scalable, every_context_to_every_other)
{
	struct fi_cq_tagged_entry entry;
	struct scalable s;

	scalable_open(&s, WANT);
	for (int from = 0; from < CONTEXTS; from++) {
		for (int to = 0; to < CONTEXTS; to++) {
			fi_addr_t source = 0;

			RC(0, fi_recv(s.rx[to], in[to], sizeof(in[to]), NULL, FI_ADDR_UNSPEC, in[to]));
			out[0] = (char)(from * CONTEXTS + to);
			RC(0, fi_send(s.tx[from], out, 8, NULL, fi_rx_addr(s.self, to, BITS), &s.tx[from]));
			RC(1, next_of(s.tx_cq[from], &entry));
			cr_assert_eq(entry.op_context, &s.tx[from]);
			while (fi_cq_readfrom(s.rx_cq[to], &entry, 1, &source) == -FI_EAGAIN)
				;
			cr_assert(entry.op_context == in[to] && in[to][0] == out[0]);
			cr_assert_eq(source, s.self);
		}
	}
	for (int i = 0; i < CONTEXTS; i++) {
		RC(-FI_EAGAIN, fi_cq_read(s.tx_cq[i], &entry, 1));
		RC(-FI_EAGAIN, fi_cq_read(s.rx_cq[i], &entry, 1));
	}
	scalable_close(&s);
}

/* All names are the scalable endpoint's; an ordinary endpoint reaches it by that, and its first receive context. */
Test(fi_scalable, one_name_for_all)
{
	struct sockaddr_storage name, same;
	struct fi_cq_tagged_entry entry;
	struct scalable s;
	size_t length = sizeof(name);
	fi_addr_t at;

	scalable_open(&s, WANT);
	RC(0, fi_getname(&s.sep->fid, &name, &length));
	for (int i = 0; i < CONTEXTS; i++) {
		size_t other = sizeof(same);

		RC(0, fi_getname(&s.rx[i]->fid, &same, &other));
		cr_assert(other == length && !memcmp(&name, &same, length));
		RC(0, fi_getname(&s.tx[i]->fid, &same, &other));
		cr_assert(other == length && !memcmp(&name, &same, length));
	}
	RC(-FI_EOPBADSTATE, fi_setname(&s.sep->fid, &name, length));
	RC(-FI_EOPBADSTATE, fi_setname(&s.rx[1]->fid, &name, length));
	RC(1, fi_av_insert(s.w.av, &name, 1, &at, 0, NULL));
	RC(0, fi_recv(s.rx[0], in[0], sizeof(in[0]), NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_send(s.w.ep, out, 8, NULL, at, NULL));
	RC(1, world_next(&s.w, &entry));
	RC(1, next_of(s.rx_cq[0], &entry));
	scalable_close(&s);
}

/* Remote writes go through the context that is named; a region belongs to the endpoint as a whole. */
Test(fi_scalable, regions_of_a_scalable_endpoint)
{
	struct want want = { .caps = FI_MSG | FI_RMA | FI_NAMED_RX_CTX, .mr_mode = FI_MR_ENDPOINT };
	struct fi_cq_tagged_entry entry;
	static char target[64];
	struct scalable s;
	struct fid_mr *mr;

	scalable_open(&s, want);
	cr_assert(s.info->domain_attr->mr_mode & FI_MR_ENDPOINT);
	RC(0, fi_mr_reg(s.w.domain, target, sizeof(target), FI_REMOTE_WRITE, 0, 5, 0, &mr, NULL));
	RC(-FI_EINVAL, fi_mr_bind(mr, &s.rx[1]->fid, 0));
	RC(0, fi_mr_bind(mr, &s.sep->fid, 0));
	RC(0, fi_mr_enable(mr));
	for (int to = 0; to < CONTEXTS; to++) {
		memset(out, 'a' + to, 8);
		RC(0, fi_writedata(s.tx[1], out, 8, NULL, (uint64_t)to, fi_rx_addr(s.self, to, BITS), 0, 5, NULL));
		RC(1, next_of(s.tx_cq[1], &entry));
		RC(1, next_of(s.rx_cq[to], &entry));
		cr_assert(entry.data == (uint64_t)to && entry.flags & FI_REMOTE_WRITE && !memcmp(target, out, 8));
	}
	RC(0, fi_close(&mr->fid));
	scalable_close(&s);
}

Test(fi_scalable, bad_calls)
{
	struct fi_tx_attr tx = { .size = 7 };
	struct fi_rx_attr rx = { .iov_limit = 3 };
	struct fi_info *info;
	struct fid_ep *ep;
	struct scalable s;

	scalable_open(&s, WANT);
	/* Each context once, and those that there are. */
	RC(-FI_EBUSY, fi_tx_context(s.sep, 0, NULL, &ep, NULL));
	RC(-FI_EBUSY, fi_rx_context(s.sep, 3, NULL, &ep, NULL));
	RC(-FI_EINVAL, fi_tx_context(s.sep, CONTEXTS, NULL, &ep, NULL));
	RC(-FI_EINVAL, fi_rx_context(s.sep, -1, NULL, &ep, NULL));
	RC(-FI_ENOSYS, fi_rx_context(s.w.ep, 0, NULL, &ep, NULL));
	/* Each side does its own part, and the endpoint itself nothing. */
	RC(-FI_EOPNOTSUPP, fi_send(s.rx[0], out, 1, NULL, s.self, NULL));
	RC(-FI_EOPNOTSUPP, fi_recv(s.tx[0], in, 1, NULL, FI_ADDR_UNSPEC, NULL));
	RC(-FI_EOPBADSTATE, fi_send(s.sep, out, 1, NULL, s.self, NULL));
	RC(-FI_EINVAL, fi_ep_bind(s.sep, &s.tx_cq[0]->fid, FI_TRANSMIT));
	RC(-FI_EINVAL, fi_scalable_ep_bind(s.sep, &s.av->fid, 0));
	/* Closed and made again, with attributes of its own. */
	RC(0, fi_close(&s.tx[2]->fid));
	RC(0, fi_close(&s.rx[2]->fid));
	RC(0, fi_tx_context(s.sep, 2, &tx, &s.tx[2], NULL));
	RC(0, fi_rx_context(s.sep, 2, &rx, &s.rx[2], NULL));
	cr_assert(tx.size == 7 && tx.iov_limit && tx.inject_size && rx.iov_limit == 3 && rx.size);
	RC(-FI_EOPBADSTATE, fi_send(s.tx[2], out, 1, NULL, s.self, NULL));
	RC(-FI_EINVAL, fi_ep_bind(s.tx[2], &s.av->fid, 0));
	RC(-FI_ENOCQ, fi_enable(s.tx[2]));
	RC(-FI_ENOCQ, fi_enable(s.rx[2]));
	RC(0, fi_close(&s.tx[2]->fid));
	tx.size = SIZE_MAX;
	RC(-FI_EINVAL, fi_tx_context(s.sep, 2, &tx, &ep, NULL));
	RC(0, fi_tx_context(s.sep, 2, NULL, &s.tx[2], NULL));
	/* A plain endpoint has one context a side. */
	RC(-FI_EINVAL, fi_endpoint(s.w.domain, s.info, &ep, NULL));
	info = fi_dupinfo(s.info);
	info->ep_attr->rx_ctx_cnt = info->domain_attr->max_ep_rx_ctx + 1;
	RC(-FI_EINVAL, fi_scalable_ep(s.w.domain, info, &ep, NULL));
	info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	RC(-FI_EINVAL, fi_scalable_ep(s.w.domain, info, &ep, NULL));
	fi_freeinfo(info);
	scalable_close(&s);
}

/* The ports of the contexts are the endpoint's: a second one at the same address is refused. */
Test(fi_scalable, holds_its_ports)
{
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	struct scalable s;
	struct fid_ep *ep;

	scalable_open(&s, WANT);
	RC(0, fi_getname(&s.sep->fid, &name, &length));
	RC(0, fi_scalable_ep(s.w.domain, s.info, &ep, NULL));
	RC(0, fi_setname(&ep->fid, &name, length));
	RC(0, fi_scalable_ep_bind(ep, &s.av->fid, 0));
	RC(-FI_EADDRINUSE, fi_enable(ep));
	RC(0, fi_close(&ep->fid));
	scalable_close(&s);
}
