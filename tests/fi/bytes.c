/* SPDX-License-Identifier: BSD-2-Clause */
/* bytes.c - counters of bytes, of fi_cntr(3) since 1.21: at both ends of each kind of transfer. */
#include "tests/fi/world.h"

#include <rdma/fi_atomic.h>
#include <sys/socket.h>

#include "emu/fi/provider/fi_compat.h"

enum { KINDS = 6, KEY = 3, LENGTH = 100 };

static const uint64_t kinds[KINDS] = { FI_SEND, FI_RECV, FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE };

static uint64_t target[64], local[64];
static struct fid_cntr *cntr[KINDS], *of_region;

static struct fi_cntr_attr by_bytes(void)
{
	return (struct fi_cntr_attr){ .events = (enum fi_cntr_events)COMPAT_CNTR_EVENTS_BYTES };
}

static void open_counted(struct world *w, struct fid_ep **ep, struct fid_mr **mr, fi_addr_t *self)
{
	struct want want = { .api = FI_VERSION(1, 21), .caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_RMA_EVENT };
	struct fi_cntr_attr attr = by_bytes();
	struct sockaddr_storage name;
	size_t length = sizeof(name);

	world_need_emu();
	if (!world_has(FI_VERSION(1, 21)))
		cr_skip("FI_CNTR_EVENTS_BYTES came with 1.21");
	world_open(w, &want);
	RC(0, fi_endpoint(w->domain, w->info, ep, NULL));
	RC(0, fi_ep_bind(*ep, &w->av->fid, 0));
	RC(0, fi_ep_bind(*ep, &w->cq->fid, FI_TRANSMIT | FI_RECV));
	for (int i = 0; i < KINDS; i++) {
		RC(0, fi_cntr_open(w->domain, &attr, &cntr[i], NULL));
		RC(0, fi_ep_bind(*ep, &cntr[i]->fid, kinds[i]));
	}
	RC(0, fi_enable(*ep));
	RC(0, fi_getname(&(*ep)->fid, &name, &length));
	RC(1, fi_av_insert(w->av, &name, 1, self, 0, NULL));
	RC(0, fi_mr_reg(w->domain, target, sizeof(target), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, mr, NULL));
	RC(0, fi_cntr_open(w->domain, &attr, &of_region, NULL));
	RC(0, fi_mr_bind(*mr, &of_region->fid, FI_REMOTE_WRITE));
}

static void wait_for(struct fid_cntr *one, uint64_t value)
{
	while (fi_cntr_read(one) < value)
		;
	cr_assert_eq(fi_cntr_read(one), value);
}

Test(fi_bytes, at_both_ends)
{
	struct fi_rma_iov rma[2] = { { 0, 24, KEY }, { 64, LENGTH - 24, KEY } };
	struct iovec iov = { local, LENGTH };
	struct fi_cq_tagged_entry entry;
	uint64_t one = 1, old;
	struct fid_ep *ep;
	struct fid_mr *mr;
	struct world w;
	fi_addr_t self;

	open_counted(&w, &ep, &mr, &self);
	RC(0, fi_recv(ep, target, sizeof(target), NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_senddata(ep, local, LENGTH, NULL, 1, self, NULL));
	wait_for(cntr[0], LENGTH);
	wait_for(cntr[1], LENGTH); /* what came, not what there was room for */
	RC(0, fi_writemsg(ep,
			  &(struct fi_msg_rma){ .msg_iov = &iov, .iov_count = 1, .addr = self, .rma_iov = rma, .rma_iov_count = 2 },
			  0));
	wait_for(cntr[3], LENGTH);
	wait_for(cntr[5], LENGTH);
	wait_for(of_region, LENGTH);
	RC(0, fi_read(ep, local, 40, NULL, self, 0, KEY, NULL));
	wait_for(cntr[2], 40);
	wait_for(cntr[4], 40);
	RC(0, fi_fetch_atomic(ep, &one, 1, NULL, &old, NULL, self, 0, KEY, FI_UINT64, FI_SUM, NULL));
	wait_for(cntr[2], 48);
	wait_for(of_region, LENGTH + 8);
	for (int i = 0; i < 5; i++)
		RC(1, world_next(&w, &entry));
	/* An error is one error. */
	RC(0, fi_write(ep, local, 40, NULL, self, sizeof(target), KEY, NULL));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	cr_assert(fi_cntr_readerr(cntr[3]) == 1 && fi_cntr_read(cntr[3]) == LENGTH);
	RC(0, fi_close(&mr->fid));
	RC(0, fi_close(&ep->fid));
	for (int i = 0; i < KINDS; i++)
		RC(0, fi_close(&cntr[i]->fid));
	RC(0, fi_close(&of_region->fid));
	world_close(&w);
}

/* Programs of an older interface do not know them. */
Test(fi_bytes, not_before_1_21)
{
	struct fi_cntr_attr attr = by_bytes();
	struct world w;

	world_open(&w, &(struct want){ .api = FI_VERSION(1, 20) <= fi_version() ? FI_VERSION(1, 20) : FI_VERSION(1, 17) });
	RC(-FI_ENOSYS, fi_cntr_open(w.domain, &attr, &of_region, NULL));
	attr.events = (enum fi_cntr_events)2;
	RC(-FI_ENOSYS, fi_cntr_open(w.domain, &attr, &of_region, NULL));
	world_close(&w);
}
