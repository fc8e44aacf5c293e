/* SPDX-License-Identifier: BSD-2-Clause */
/* region_events.c - EMU_FI_REGION_EVENTS: accesses of peers that the target's queue tells of; and regions of the kernel's
 * personalities: bound to receive contexts, without a byte, with keys of seven. */
#include "tests/fi/world.h"

#include <rdma/fi_atomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "emu/fi/provider/fi_kernel.h"

enum { KEY = 7, LEN = 64 };
static const uint64_t DATA = 0x8877665544332211;

static uint8_t near[LEN], far[LEN];

static void open_kernel(struct world *w, const char *personality, int mr_mode)
{
	setenv("FI_EMU_PERSONALITY", personality, 1);
	world_open(w, &(struct want){ .caps = FI_MSG | FI_RMA | FI_ATOMIC | EMU_FI_REGION_EVENTS, .mr_mode = mr_mode });
}

static struct fid_mr *region(struct world *w, size_t length, uint64_t key, void *context)
{
	struct fid_mr *mr;

	RC(0, fi_mr_reg(w->domain, far, length, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, key, 0, &mr, context));
	return mr;
}

/* The event among the next two completions. */
static struct fi_cq_tagged_entry event_of(struct world *w)
{
	struct fi_cq_tagged_entry entry, event = { 0 };

	for (int i = 0; i < 2; i++) {
		RC(1, world_next(w, &entry));
		if (entry.flags & (FI_REMOTE_READ | FI_REMOTE_WRITE))
			event = entry;
	}
	return event;
}

static void expect_event(struct world *w, uint64_t flags, size_t length, uint64_t data)
{
	struct fi_cq_tagged_entry event = event_of(w);

	cr_expect_eq(event.flags, flags, "%#llx, not %#llx", (unsigned long long)event.flags, (unsigned long long)flags);
	cr_expect(event.op_context == far && event.len == length && event.data == data);
}

Test(fi_region_events, every_kind_of_access)
{
	uint64_t one = 1, old;
	struct fid_mr *mr;
	struct world w;

	open_kernel(&w, "kfi", 0);
	mr = region(&w, LEN, KEY, far);
	RC(0, fi_write(w.ep, near, LEN, NULL, w.self, 0, KEY, NULL));
	expect_event(&w, FI_RMA | FI_REMOTE_WRITE, LEN, 0);
	RC(0, fi_writedata(w.ep, near, 8, NULL, DATA, w.self, 0, KEY, NULL));
	expect_event(&w, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, 8, DATA);
	RC(0, fi_read(w.ep, near, 9, NULL, w.self, 0, KEY, NULL));
	expect_event(&w, FI_RMA | FI_REMOTE_READ, 9, 0);
	RC(0, fi_write(w.ep, near, 0, NULL, w.self, 0, KEY, NULL));
	expect_event(&w, FI_RMA | FI_REMOTE_WRITE, 0, 0);
	RC(0, fi_atomic(w.ep, &one, 1, NULL, w.self, 0, KEY, FI_UINT64, FI_SUM, NULL));
	expect_event(&w, FI_ATOMIC | FI_REMOTE_WRITE, 8, 0);
	RC(0, fi_fetch_atomic(w.ep, &one, 1, NULL, &old, NULL, w.self, 0, KEY, FI_UINT64, FI_SUM, NULL));
	expect_event(&w, FI_ATOMIC | FI_REMOTE_READ, 8, 0);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

Test(fi_region_events, refused_accesses_make_none)
{
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;
	struct world w;

	open_kernel(&w, "kcxi", 0);
	mr = region(&w, LEN, KEY, far);
	RC(0, fi_write(w.ep, near, LEN, NULL, w.self, 1, KEY, NULL));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	RC(1, fi_cq_readerr(w.cq, &(struct fi_cq_err_entry){ 0 }, 0));
	RC(-FI_EAGAIN, fi_cq_read(w.cq, &entry, 1));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* More than the queue holds: the initiator waits, and nothing is lost. */
Test(fi_region_events, nothing_is_lost)
{
	enum { MANY = 500 };
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED, .size = 8 };
	struct fi_cq_tagged_entry entry;
	int events = 0, ends = 0, posted = 0;
	struct fid_mr *mr;
	struct fid_cq *cq;
	struct world w;

	setenv("FI_EMU_PERSONALITY", "kfi", 1);
	world_open_disabled(&w, &(struct want){ .caps = FI_MSG | FI_RMA | EMU_FI_REGION_EVENTS });
	RC(0, fi_close(&w.ep->fid));
	RC(0, fi_cq_open(w.domain, &attr, &cq, NULL));
	RC(0, fi_endpoint(w.domain, w.info, &w.ep, NULL));
	RC(0, fi_ep_bind(w.ep, &w.av->fid, 0));
	RC(0, fi_ep_bind(w.ep, &w.cq->fid, FI_TRANSMIT));
	RC(0, fi_ep_bind(w.ep, &cq->fid, FI_RECV));
	world_enable(&w);
	mr = region(&w, LEN, KEY, far);
	while (posted < MANY || ends < MANY || events < MANY) {
		bool read = posted % 2;

		if (posted < MANY && !(read ? fi_read(w.ep, near, 8, NULL, w.self, 0, KEY, NULL)
					    : fi_write(w.ep, near, 8, NULL, w.self, 0, KEY, NULL)))
			posted++;
		ends += fi_cq_read(w.cq, &entry, 1) == 1;
		if (posted == MANY || posted % 16 == 0)
			events += fi_cq_read(cq, &entry, 1) == 1;
	}
	RC(-FI_EAGAIN, fi_cq_read(cq, &entry, 1));
	RC(0, fi_close(&mr->fid));
	RC(0, fi_close(&w.ep->fid));
	w.ep = NULL;
	RC(0, fi_close(&cq->fid));
	world_close(&w);
}

Test(fi_region_events, regions_without_a_byte)
{
	static const char *const personalities[] = { "kfi", "kcxi" };

	for (int p = 0; p < 2; p++) {
		struct fid_mr *mr;
		struct world w;

		open_kernel(&w, personalities[p], 0);
		mr = region(&w, 0, KEY, far);
		RC(0, fi_write(w.ep, near, 0, NULL, w.self, 0, KEY, NULL));
		expect_event(&w, FI_RMA | FI_REMOTE_WRITE, 0, 0);
		RC(0, fi_close(&mr->fid));
		world_close(&w);
	}
}

Test(fi_region_events, keys_and_regions_of_kcxi)
{
	enum { MOST = 2048 };
	static struct fid_mr *mr[MOST + 1];
	struct world w;

	open_kernel(&w, "kcxi", 0);
	cr_expect(w.info->domain_attr->mr_key_size == 7 && w.info->domain_attr->mr_cnt == MOST);
	RC(-FI_EKEYREJECTED, fi_mr_reg(w.domain, far, LEN, FI_REMOTE_WRITE, 0, 1ULL << 56, 0, &mr[0], NULL));
	for (uint64_t i = 0; i < MOST; i++)
		RC(0, fi_mr_reg(w.domain, far, LEN, FI_REMOTE_WRITE, 0, i, 0, &mr[i], NULL));
	RC(-FI_ENOMEM, fi_mr_reg(w.domain, far, LEN, FI_REMOTE_WRITE, 0, MOST, 0, &mr[MOST], NULL));
	for (uint64_t i = 0; i < MOST; i++)
		RC(0, fi_close(&mr[i]->fid));
	world_close(&w);
}

Test(fi_region_events, what_is_asked_and_offered)
{
	static const int all = FI_MR_LOCAL | FI_MR_RAW | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT |
			       FI_MR_RMA_EVENT | FI_MR_MMU_NOTIFY;
	struct fi_info *info;
	struct want want = { .caps = FI_RMA | FI_RMA_EVENT, .mr_mode = all };

	world_need_emu();
	setenv("FI_EMU_PERSONALITY", "kfi", 1);
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	cr_expect_eq(info->domain_attr->mr_mode, all & ~(FI_MR_ALLOCATED | FI_MR_MMU_NOTIFY));
	fi_freeinfo(info);
	setenv("FI_EMU_PERSONALITY", "kcxi", 1);
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	cr_expect_eq(info->domain_attr->mr_mode, FI_MR_ENDPOINT);
	fi_freeinfo(info);
	want.caps = 0; /* what is granted only if asked for */
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	cr_expect_not(info->caps & (EMU_FI_TAGGED_RMA | EMU_FI_REGION_EVENTS));
	fi_freeinfo(info);
	want.caps = FI_MSG | EMU_FI_REGION_EVENTS;
	RC(-FI_ENODATA, world_getinfo(&want, world_hints(&want), &info));
	setenv("FI_EMU_PERSONALITY", "lax", 1);
	want.caps = FI_RMA | EMU_FI_REGION_EVENTS;
	RC(-FI_ENODATA, world_getinfo(&want, world_hints(&want), &info));
}

enum { CONTEXTS = 2, BITS = 1 };

/* A scalable endpoint beside the world's. */
struct contexts {
	struct world w;
	struct fi_info *info;
	struct fid_av *av;
	struct fid_ep *sep, *rx[CONTEXTS], *tx;
	fi_addr_t self;
};

static void contexts_open(struct contexts *c)
{
	struct want want = { .caps = FI_MSG | FI_RMA | FI_NAMED_RX_CTX | EMU_FI_REGION_EVENTS, .mr_mode = FI_MR_ENDPOINT };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE, .rx_ctx_bits = BITS };
	struct fi_info *hints;

	open_kernel(&c->w, "kcxi", FI_MR_ENDPOINT);
	hints = world_hints(&want);
	hints->ep_attr->rx_ctx_cnt = CONTEXTS;
	RC(0, world_getinfo(&want, hints, &c->info));
	RC(0, fi_av_open(c->w.domain, &av_attr, &c->av, NULL));
	RC(0, fi_scalable_ep(c->w.domain, c->info, &c->sep, NULL));
	RC(0, fi_scalable_ep_bind(c->sep, &c->av->fid, 0));
	RC(0, fi_tx_context(c->sep, 0, NULL, &c->tx, NULL));
	RC(0, fi_ep_bind(c->tx, &c->w.cq->fid, FI_TRANSMIT));
	RC(0, fi_enable(c->tx));
	for (int i = 0; i < CONTEXTS; i++) {
		RC(0, fi_rx_context(c->sep, i, NULL, &c->rx[i], NULL));
		RC(0, fi_ep_bind(c->rx[i], &c->w.cq->fid, FI_RECV));
	}
}

static void contexts_enable(struct contexts *c)
{
	struct sockaddr_storage name;
	size_t length = sizeof(name);

	for (int i = 0; i < CONTEXTS; i++)
		RC(0, fi_enable(c->rx[i]));
	RC(0, fi_getname(&c->sep->fid, &name, &length));
	RC(1, fi_av_insert(c->av, &name, 1, &c->self, 0, NULL));
}

static void contexts_close(struct contexts *c)
{
	RC(0, fi_close(&c->tx->fid));
	for (int i = 0; i < CONTEXTS; i++)
		RC(0, fi_close(&c->rx[i]->fid));
	RC(0, fi_close(&c->sep->fid));
	RC(0, fi_close(&c->av->fid));
	fi_freeinfo(c->info);
	world_close(&c->w);
}

static void write_to(struct contexts *c, int context, uint64_t key)
{
	RC(0, fi_write(c->tx, near, LEN, NULL, fi_rx_addr(c->self, context, BITS), 0, key, NULL));
}

/* A region that is bound to a context is reached by that one alone; one bound to the whole endpoint by each. */
Test(fi_region_events, bound_to_a_receive_context)
{
	struct fi_cq_tagged_entry entry;
	struct fid_mr *one, *all;
	struct contexts c;
	int log = world_catch_log("warn");

	contexts_open(&c);
	one = region(&c.w, LEN, KEY, far);
	all = region(&c.w, LEN, KEY + 1, far);
	RC(-FI_EOPBADSTATE, fi_mr_bind(one, &c.rx[1]->fid, 0));
	cr_expect(strstr(world_logged(log), "kfi_mr_bind: the receive context is not enabled. Call kfi_enable on it first."));
	contexts_enable(&c);
	RC(0, fi_mr_bind(one, &c.rx[1]->fid, 0));
	RC(-FI_EINVAL, fi_mr_bind(one, &c.rx[1]->fid, 0));
	RC(0, fi_mr_bind(all, &c.sep->fid, 0));
	RC(0, fi_mr_enable(one));
	RC(0, fi_mr_enable(all));
	for (int i = 0; i < CONTEXTS; i++) {
		write_to(&c, i, KEY + 1);
		expect_event(&c.w, FI_RMA | FI_REMOTE_WRITE, LEN, 0);
	}
	write_to(&c, 1, KEY);
	expect_event(&c.w, FI_RMA | FI_REMOTE_WRITE, LEN, 0);
	write_to(&c, 0, KEY);
	RC(-FI_EAVAIL, world_next(&c.w, &entry));
	RC(1, fi_cq_readerr(c.w.cq, &(struct fi_cq_err_entry){ 0 }, 0));
	cr_expect(strstr(world_logged(log), "with kfi_mr_bind"));
	RC(-FI_EBUSY, fi_close(&c.rx[1]->fid)); /* regions first */
	RC(-FI_EBUSY, fi_close(&c.sep->fid));
	RC(0, fi_close(&one->fid));
	RC(0, fi_close(&all->fid));
	contexts_close(&c);
}

/* kfi_mr(3): regions last. */
Test(fi_region_events, kfi_closes_regions_last)
{
	struct fid_mr *mr;
	struct world w;

	open_kernel(&w, "kfi", FI_MR_ENDPOINT);
	mr = region(&w, LEN, KEY, far);
	RC(0, fi_mr_bind(mr, &w.ep->fid, 0));
	RC(-FI_EBUSY, fi_close(&mr->fid));
	RC(0, fi_close(&w.ep->fid));
	w.ep = NULL;
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}
