/* SPDX-License-Identifier: BSD-2-Clause */
/* tag_format.c - FI_TAG_MPI and FI_TAG_CCL (fi_endpoint(3)): tags and ignore masks that they allow do as they say, others are
 * refused and change nothing. Other formats, and programs of 1.x, have all bits. */
#include "tests/fi/world.h"

#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include <stdlib.h>

enum { BITS = 0, MPI = 1, CCL = 2, LEN = 8 };
static const uint64_t TAG = 0xffffffff, PAYLOAD = 0xffull << 32, ALL = 0xffffffffffull;

static char from[LEN], into[LEN];

static void format_open(struct world *w, uint64_t format, uint32_t api, uint64_t caps)
{
	if (!world_has(api))
		cr_skip_test("the running libfabric has no formats of tags");
	world_open(w, &(struct want){ .api = api, .caps = FI_TAGGED | caps, .tag_format = format });
	cr_assert(!format || w->info->ep_attr->mem_tag_format == format);
}

static ssize_t send_by(struct world *w, struct fid_ep *ep, int call, uint64_t tag)
{
	struct iovec iov = { from, LEN };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = w->self, .tag = tag, .ignore = UINT64_MAX };

	switch (call) {
	case 0:
		return fi_tsend(ep, from, LEN, NULL, w->self, tag, NULL);
	case 1:
		return fi_tsendv(ep, &iov, NULL, 1, w->self, tag, NULL);
	case 2:
		return fi_tsendmsg(ep, &msg, 0);
	case 3:
		return fi_tinject(ep, from, LEN, w->self, tag);
	case 4:
		return fi_tsenddata(ep, from, LEN, NULL, 1, w->self, tag, NULL);
	default:
		return fi_tinjectdata(ep, from, LEN, 1, w->self, tag);
	}
}

static ssize_t receive_by(struct fid_ep *ep, int call, uint64_t tag, uint64_t ignore)
{
	struct iovec iov = { into, LEN };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = tag, .ignore = ignore };

	switch (call) {
	case 0:
		return fi_trecv(ep, into, LEN, NULL, FI_ADDR_UNSPEC, tag, ignore, NULL);
	case 1:
		return fi_trecvv(ep, &iov, NULL, 1, FI_ADDR_UNSPEC, tag, ignore, NULL);
	case 2:
		return fi_trecvmsg(ep, &msg, 0);
	default:
		return fi_trecvmsg(ep, &msg, FI_PEEK);
	}
}

/* Each call takes this tag, or refuses it, and so with the mask for those that receive. */
static void expect_all(struct world *w, struct fid_ep *ep, ssize_t rc, uint64_t tag, uint64_t ignore)
{
	struct fi_cq_tagged_entry entry;

	for (int call = 0; call < 6; call++) {
		if (rc) {
			if (!ignore)
				RC(rc, send_by(w, ep, call, tag));
			RC(rc, receive_by(ep, call % 4, tag, ignore));
			continue;
		}
		RC(0, send_by(w, ep, call, tag));
		RC(0, receive_by(ep, call % 3, tag, ignore));
		do
			RC(1, world_next(w, &entry));
		while (!(entry.flags & FI_RECV));
		cr_assert_eq(entry.tag, tag);
	}
}

/* Nothing that was refused was posted: the next message is the next receive's. */
static void expect_none(struct world *w)
{
	expect_all(w, w->ep, 0, 0, 0);
	cr_assert_eq(fi_cntr_readerr(w->cntr), 0);
}

static void expect_mpi(struct world *w, struct fid_ep *ep)
{
	static const uint64_t tags[] = { 0, 1, 0xffffffff, 1ull << 32, 0xffffffffff },
			      bad[] = { 1ull << 40, 1ull << 63, UINT64_MAX };
	static const uint64_t masks[] = { 0, TAG, PAYLOAD, TAG | PAYLOAD };
	static const uint64_t odd[] = { 1, 0xffff, 0x7fffffff, 1ull << 32, 0x7full << 32, ALL ^ 1, 1ull << 40, UINT64_MAX };

	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 4; j++)
			expect_all(w, ep, 0, tags[i], masks[j]);
	for (int i = 0; i < 3; i++)
		expect_all(w, ep, -FI_EINVAL, bad[i], 0);
	for (int i = 0; i < 8; i++)
		expect_all(w, ep, -FI_EINVAL, tags[i % 5], odd[i]);
}

Test(fi_tag_format, fields_of_mpi)
{
	struct world w;

	format_open(&w, MPI, FI_VERSION(2, 0), 0);
	expect_mpi(&w, w.ep);
	expect_none(&w);
	world_close(&w);
}

/* What a receive leaves open, and what not. */
Test(fi_tag_format, fields_of_mpi_are_matched)
{
	const uint64_t two_five = 2ull << 32 | 5, two_six = 2ull << 32 | 6, three_five = 3ull << 32 | 5;
	struct fi_cq_tagged_entry entry;
	struct world w;

	format_open(&w, MPI, FI_VERSION(2, 0), 0);
	RC(0, fi_trecv(w.ep, into, LEN, NULL, FI_ADDR_UNSPEC, 5, PAYLOAD, &w.self));    /* any with the message tag 5 */
	RC(0, fi_trecv(w.ep, into, LEN, NULL, FI_ADDR_UNSPEC, 2ull << 32, TAG, &w.cq)); /* any with the identifier 2 */
	RC(0, fi_tinject(w.ep, from, LEN, w.self, two_six));
	RC(1, world_next(&w, &entry));
	cr_assert(entry.op_context == &w.cq && entry.tag == two_six);
	RC(0, fi_trecv(w.ep, into, LEN, NULL, FI_ADDR_UNSPEC, two_five, 0, &w.av));
	RC(0, fi_tinject(w.ep, from, LEN, w.self, three_five));
	RC(1, world_next(&w, &entry));
	cr_assert(entry.op_context == &w.self && entry.tag == three_five);
	RC(0, fi_tinject(w.ep, from, LEN, w.self, two_five));
	RC(1, world_next(&w, &entry));
	cr_assert(entry.op_context == &w.av && entry.tag == two_five);
	world_close(&w);
}

/* The page gives the identifier no size. */
Test(fi_tag_format, the_whole_tag_of_ccl)
{
	static const uint64_t tags[] = { 0, 255, 256, 1ull << 40, UINT64_MAX };
	struct world w;

	format_open(&w, CCL, FI_VERSION(2, 0), 0);
	for (int i = 0; i < 5; i++) {
		expect_all(&w, w.ep, 0, tags[i], 0);
		expect_all(&w, w.ep, -FI_EINVAL, tags[i], TAG);
		expect_all(&w, w.ep, -FI_EINVAL, tags[i], UINT64_MAX);
		expect_all(&w, w.ep, -FI_EINVAL, tags[i], 1);
	}
	expect_none(&w);
	world_close(&w);
}

/* FI_TAG_BITS and formats of fields; and for a program of 1.x 1 and 2 are such. */
Test(fi_tag_format, others_have_all_bits)
{
	static const struct {
		uint64_t format;
		uint32_t api;
	} cases[] = {
		{ BITS, FI_VERSION(2, 0) }, { 0x30ff, FI_VERSION(2, 0) }, { UINT64_MAX, FI_VERSION(2, 0) },
		{ MPI, FI_VERSION(1, 17) }, { CCL, FI_VERSION(1, 17) },
	};

	for (int i = 0; i < 5; i++) {
		struct world w;

		format_open(&w, cases[i].format, cases[i].api, 0);
		expect_all(&w, w.ep, 0, UINT64_MAX, 0xffff);
		world_close(&w);
	}
}

Test(fi_tag_format, an_alias_keeps_it)
{
	struct fid_ep *alias = NULL;
	struct world w;

	format_open(&w, MPI, FI_VERSION(2, 0), 0);
	RC(0, fi_ep_alias(w.ep, &alias, FI_TRANSMIT));
	expect_mpi(&w, alias);
	RC(0, fi_close(&alias->fid));
	world_close(&w);
}

Test(fi_tag_format, of_a_watched_endpoint)
{
	struct world w;

	setenv("FI_EMU_CHECK", "1", 1);
	format_open(&w, MPI, FI_VERSION(2, 0), 0);
	expect_mpi(&w, w.ep);
	expect_none(&w);
	world_close(&w);
}

Test(fi_tag_format, of_contexts_of_a_scalable_endpoint)
{
	struct world w;
	struct fid_ep *sep, *rx, *tx;

	format_open(&w, MPI, FI_VERSION(2, 0), 0);
	RC(0, fi_scalable_ep(w.domain, w.info, &sep, NULL));
	RC(0, fi_tx_context(sep, 0, NULL, &tx, NULL));
	RC(0, fi_rx_context(sep, 0, NULL, &rx, NULL));
	RC(-FI_EINVAL, fi_tsend(tx, from, LEN, NULL, 0, UINT64_MAX, NULL));
	RC(-FI_EINVAL, fi_trecv(rx, into, LEN, NULL, FI_ADDR_UNSPEC, 0, 1, NULL));
	RC(-FI_EOPBADSTATE, fi_trecv(rx, into, LEN, NULL, FI_ADDR_UNSPEC, 0, TAG, NULL)); /* not enabled */
	RC(0, fi_close(&rx->fid));
	RC(0, fi_close(&tx->fid));
	RC(0, fi_close(&sep->fid));
	world_close(&w);
}

Test(fi_tag_format, of_deferred_work)
{
	struct iovec iov = { into, LEN };
	struct fi_op_tagged op = { .msg = { .msg_iov = &iov, .iov_count = 1 } };
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fi_deferred_work work = { .threshold = 1, .op_type = FI_OP_TRECV, .op.tagged = &op };
	struct fid_cntr *cntr;
	struct world w;

	format_open(&w, MPI, FI_VERSION(2, 0), FI_TRIGGER);
	RC(0, fi_cntr_open(w.domain, &attr, &cntr, NULL));
	work.triggering_cntr = work.completion_cntr = cntr;
	op.ep = w.ep;
	op.msg.addr = w.self;
	op.msg.ignore = 1;
	RC(-FI_EINVAL, fi_control(&w.domain->fid, FI_QUEUE_WORK, &work));
	op.msg.ignore = 0;
	op.msg.tag = UINT64_MAX;
	RC(-FI_EINVAL, fi_control(&w.domain->fid, FI_QUEUE_WORK, &work));
	work.op_type = FI_OP_TSEND;
	RC(-FI_EINVAL, fi_control(&w.domain->fid, FI_QUEUE_WORK, &work));
	op.msg.tag = ALL;
	RC(0, fi_control(&w.domain->fid, FI_QUEUE_WORK, &work));
	RC(0, fi_control(&w.domain->fid, FI_CANCEL_WORK, &work));
	RC(0, fi_close(&cntr->fid));
	world_close(&w);
}
