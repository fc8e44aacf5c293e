/* SPDX-License-Identifier: BSD-2-Clause */
/* named.c - a region closed under what names it by its descriptor (S176): all of that ends at once with a cause of its own, before
 * fi_close() returns; what names another region of the same memory does not notice. */
#include "include/emu/emu.h"
#include "tests/fi/world.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include <stdlib.h>

enum { LOCAL = FI_SEND | FI_RECV | FI_READ | FI_WRITE, NAMED = 9, BYTES = 4096 };

static uint8_t bytes[BYTES];

struct scene {
	struct world w;
	struct fid_mr *mr, *other; /* both of `bytes` */
	struct fid_cntr *never;
	fi_addr_t nobody;
	struct fi_triggered_context trigger;
	int context[NAMED];
};

/* At an address where nobody is, ops wait for long. */
static fi_addr_t insert_nobody(struct world *w)
{
	size_t length = 128;
	struct world other;
	fi_addr_t nobody;
	char name[128];

	world_open(&other, &(struct want){ .mr_mode = FI_MR_LOCAL });
	RC(0, fi_getname(&other.ep->fid, name, &length));
	world_close(&other);
	RC(1, fi_av_insert(w->av, name, 1, &nobody, 0, NULL));
	return nobody;
}

static void scene_open(struct scene *s)
{
	setenv("FI_EMU_RETRY_CNT", "1000000", 1);
	world_open(&s->w, &(struct want){ .mr_mode = FI_MR_LOCAL, .caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_TRIGGER });
	RC(0, fi_mr_reg(s->w.domain, bytes, BYTES, LOCAL, 0, 1, 0, &s->mr, NULL));
	RC(0, fi_mr_reg(s->w.domain, bytes, BYTES, LOCAL, 0, 2, 0, &s->other, NULL));
	RC(0, fi_cntr_open(s->w.domain, &(struct fi_cntr_attr){ 0 }, &s->never, NULL));
	s->nobody = insert_nobody(&s->w);
}

static void post_all(struct scene *s)
{
	void *desc = fi_mr_desc(s->mr), *other = fi_mr_desc(s->other), *mixed[2] = { other, desc };
	struct iovec iov[2] = { { bytes, 8 }, { bytes + 64, 8 } };
	struct fi_msg triggered = { .msg_iov = iov, .desc = &desc, .iov_count = 1, .addr = s->nobody, .context = &s->trigger };
	struct fid_ep *ep = s->w.ep;
	int *context = s->context;

	s->trigger.event_type = FI_TRIGGER_THRESHOLD;
	s->trigger.trigger.threshold = (struct fi_trigger_threshold){ s->never, 1 };
	RC(0, fi_send(ep, bytes, BYTES, desc, s->nobody, context++));
	RC(0, fi_sendv(ep, iov, mixed, 2, s->nobody, context++));
	RC(0, fi_write(ep, bytes, 8, desc, s->nobody, 0, 1, context++));
	RC(0, fi_read(ep, bytes, 8, desc, s->nobody, 0, 1, context++));
	RC(0, fi_fetch_atomic(ep, bytes, 1, other, bytes + 8, desc, s->nobody, 0, 1, FI_UINT64, FI_SUM, context++));
	RC(0, fi_compare_atomic(ep, bytes, 1, other, bytes + 8, desc, bytes + 16, other, s->nobody, 0, 1, FI_UINT64, FI_CSWAP,
				context++));
	RC(0, fi_recv(ep, bytes, 8, desc, FI_ADDR_UNSPEC, context++));
	RC(0, fi_trecv(ep, bytes, 8, desc, FI_ADDR_UNSPEC, 5, 0, context++));
	RC(0, fi_sendmsg(ep, &triggered, FI_TRIGGER));
	RC(0, fi_recv(ep, bytes, 8, other, FI_ADDR_UNSPEC, &s->other));
	RC(0, fi_write(ep, bytes, 8, other, s->nobody, 0, 1, &s->nobody));
	RC(0, fi_inject(ep, bytes, 8, s->nobody));
}

Test(fi_named, closed)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	struct scene s;

	scene_open(&s);
	post_all(&s);
	RC(0, fi_close(&s.mr->fid));
	for (int i = 0; i < NAMED; i++) {
		RC(-FI_EAVAIL, fi_cq_read(s.w.cq, &entry, 1));
		RC(1, fi_cq_readerr(s.w.cq, &error, 0));
		cr_expect_eq(error.err, FI_EACCES);
		cr_expect_eq(error.prov_errno, EMU_CAUSE_LOCAL_CLOSED);
	}
	RC(-FI_EAGAIN, fi_cq_read(s.w.cq, &entry, 1));
	RC(NAMED, fi_cntr_readerr(s.w.cntr));
	RC(0, fi_send(s.w.ep, bytes, 8, fi_mr_desc(s.other), s.w.self, &s.w));
	for (int i = 0; i < 2; i++) {
		RC(1, world_next(&s.w, &entry));
		cr_expect(entry.op_context == &s.w || entry.op_context == &s.other);
	}
	RC(0, fi_cancel(&s.w.ep->fid, &s.nobody));
	RC(-FI_EAVAIL, world_next(&s.w, &entry));
	RC(1, fi_cq_readerr(s.w.cq, &error, 0));
	RC(0, fi_close(&s.other->fid));
	RC(0, fi_close(&s.never->fid));
	world_close(&s.w);
}
