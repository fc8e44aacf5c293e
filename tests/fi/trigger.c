/* SPDX-License-Identifier: BSD-2-Clause */
/* trigger.c - triggered operations and deferred work of fi_trigger(3), of an endpoint that talks to itself. */
#include "tests/fi/world.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include <string.h>

#define CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_TRIGGER)

enum { KEY = 7, MANY = 300 };

static uint64_t target[8], in[8], out[8];
static struct fid_mr *mr;
static struct fid_cntr *event, *done; /* what is waited for, and what counts completions of work */

static void trigger_open(struct world *w, struct want want)
{
	want.caps = CAPS;
	world_open(w, &want);
	cr_assert(w->info->caps & FI_TRIGGER);
	memset(target, 0, sizeof(target));
	RC(0, fi_mr_reg(w->domain, target, sizeof(target), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	RC(0, fi_cntr_open(w->domain, &(struct fi_cntr_attr){ 0 }, &event, NULL));
	RC(0, fi_cntr_open(w->domain, &(struct fi_cntr_attr){ 0 }, &done, NULL));
}

static void trigger_close(struct world *w)
{
	RC(0, fi_close(&event->fid));
	RC(0, fi_close(&done->fid));
	RC(0, fi_close(&mr->fid));
	world_close(w);
}

static struct fi_triggered_context at(size_t threshold)
{
	return (struct fi_triggered_context){
		.event_type = FI_TRIGGER_THRESHOLD,
		.trigger.threshold = { .cntr = event, .threshold = threshold },
	};
}

static int write_when(struct world *w, uint64_t *value, size_t threshold, struct fi_triggered_context *context, uint64_t flags)
{
	struct iovec iov = { value, sizeof(*value) };
	struct fi_rma_iov rma = { 0, sizeof(*value), KEY };
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = w->self,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = context,
	};

	*context = at(threshold);
	return (int)fi_writemsg(w->ep, &msg, flags);
}

/* Nothing of it is there: polls have driven the device. */
static void nothing_yet(struct world *w)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 50; i++)
		RC(-FI_EAGAIN, fi_cq_read(w->cq, &entry, 1));
}

Test(fi_trigger, in_the_order_of_thresholds)
{
	struct fi_triggered_context context[4];
	struct fi_cq_tagged_entry entry;
	uint64_t values[4] = { 10, 11, 12, 13 };
	struct world w;

	trigger_open(&w, (struct want){ 0 });
	RC(0, write_when(&w, &values[0], 3, &context[0], FI_TRIGGER));
	RC(0, write_when(&w, &values[1], 2, &context[1], FI_TRIGGER | FI_INJECT));
	RC(0, write_when(&w, &values[2], 3, &context[2], FI_TRIGGER));
	RC(0, write_when(&w, &values[3], 9, &context[3], FI_TRIGGER));
	values[1] = 99; /* injected: it has been copied */
	RC(0, fi_cntr_add(event, 1));
	nothing_yet(&w);
	cr_assert_eq(target[0], 0);
	RC(0, fi_cntr_add(event, 7)); /* past two thresholds at once */
	for (int i = 0; i < 3; i++) {
		static const int order[] = { 1, 0, 2 };

		RC(1, world_next(&w, &entry));
		cr_assert_eq(entry.op_context, &context[order[i]]);
	}
	cr_assert_eq(target[0], 12);
	nothing_yet(&w);
	RC(0, fi_cntr_set(event, 9));
	RC(1, world_next(&w, &entry));
	cr_assert(entry.op_context == &context[3] && target[0] == 13);
	RC(0, write_when(&w, &values[1], 9, &context[1], FI_TRIGGER)); /* is met */
	RC(1, world_next(&w, &entry));
	cr_assert_eq(target[0], 99);
	trigger_close(&w);
}

/* Every call of an alias that was made for it waits, and those that have no context are not there. */
Test(fi_trigger, an_endpoint_that_triggers)
{
	struct fi_triggered_context context[4];
	struct fi_cq_tagged_entry entry;
	uint64_t one = 1, old = 5;
	struct fid_ep *tx = NULL, *rx = NULL;
	struct world w;
	int seen = 0;

	trigger_open(&w, (struct want){ 0 });
	RC(0, fi_ep_alias(w.ep, &tx, FI_TRANSMIT | FI_TRIGGER));
	RC(0, fi_ep_alias(w.ep, &rx, FI_RECV | FI_TRIGGER));
	for (int i = 0; i < 4; i++)
		context[i] = at(1);
	RC(0, fi_trecv(rx, in, sizeof(in), NULL, FI_ADDR_UNSPEC, 3, 0, &context[0]));
	RC(0, fi_tsend(tx, out, 8, NULL, w.self, 3, &context[1]));
	RC(0, fi_fetch_atomic(tx, &one, 1, NULL, &old, NULL, w.self, 0, KEY, FI_UINT64, FI_SUM, &context[2]));
	RC(0, fi_read(tx, in + 4, 8, NULL, w.self, 8, KEY, &context[3]));
	RC(-FI_ENOSYS, fi_inject(tx, out, 8, w.self));
	RC(-FI_ENOSYS, fi_inject_write(tx, out, 8, w.self, 0, KEY));
	nothing_yet(&w);
	cr_assert(old == 5 && target[0] == 0);
	RC(0, fi_cntr_add(event, 1));
	while (seen != 0xf) {
		RC(1, world_next(&w, &entry));
		seen |= 1 << ((struct fi_triggered_context *)entry.op_context - context);
	}
	cr_assert(old == 0 && target[0] == 1);
	RC(0, fi_close(&tx->fid));
	RC(0, fi_close(&rx->fid));
	trigger_close(&w);
}

/* Completions trigger, too: each write goes when the one before has been counted. */
Test(fi_trigger, a_chain_by_the_endpoints_own_counter)
{
	struct fi_triggered_context context[MANY];
	struct fi_cq_tagged_entry entry;
	uint64_t values[MANY];
	struct world w;

	trigger_open(&w, (struct want){ 0 });
	for (int i = MANY - 1; i >= 0; i--) {
		struct iovec iov = { &values[i], 8 };
		struct fi_rma_iov rma = { 0, 8, KEY };

		values[i] = (uint64_t)i;
		context[i] = at((size_t)i + 1);
		context[i].trigger.threshold.cntr = w.cntr;
		RC(0, fi_writemsg(w.ep,
				  &(struct fi_msg_rma){ .msg_iov = &iov,
							.iov_count = 1,
							.addr = w.self,
							.rma_iov = &rma,
							.rma_iov_count = 1,
							.context = &context[i] },
				  FI_TRIGGER));
	}
	nothing_yet(&w);
	RC(0, fi_write(w.ep, out, 8, NULL, w.self, 0, KEY, NULL));
	RC(1, world_next(&w, &entry));
	for (int i = 0; i < MANY; i++) {
		RC(1, world_next(&w, &entry));
		cr_assert_eq(entry.op_context, &context[i]);
	}
	cr_assert_eq(target[0], MANY - 1);
	trigger_close(&w);
}

static void expect_cancelled(struct world *w, void *context)
{
	struct fi_cq_err_entry error[2] = { 0 };
	struct fi_cq_tagged_entry entry;

	RC(-FI_EAVAIL, world_next(w, &entry));
	RC(1, fi_cq_readerr(w->cq, error, 0));
	cr_assert(error->err == FI_ECANCELED && error->op_context == context);
}

Test(fi_trigger, cancelled_or_flushed)
{
	struct fi_triggered_context context[4];
	struct fi_cq_tagged_entry entry;
	struct fid_ep *rx = NULL;
	struct world w;

	trigger_open(&w, (struct want){ 0 });
	RC(0, fi_ep_alias(w.ep, &rx, FI_RECV | FI_TRIGGER));
	for (int i = 0; i < 4; i++)
		context[i] = at(1);
	RC(0, write_when(&w, out, 1, &context[0], FI_TRIGGER));
	RC(0, write_when(&w, out, 1, &context[1], FI_TRIGGER));
	RC(0, fi_recv(rx, in, 8, NULL, FI_ADDR_UNSPEC, &context[2]));
	RC(0, fi_recv(rx, in, 8, NULL, FI_ADDR_UNSPEC, &context[3]));
	RC(-FI_EBUSY, fi_close(&event->fid));
	RC(0, fi_cancel(&w.ep->fid, &context[1]));
	expect_cancelled(&w, &context[1]);
	RC(0, fi_cancel(&w.ep->fid, &context[3]));
	expect_cancelled(&w, &context[3]);
	RC(-FI_ENOENT, fi_cancel(&w.ep->fid, &context[3]));
	RC(0, fi_close(&rx->fid));
	RC(0, fi_close(&w.ep->fid));
	w.ep = NULL;
	RC(0, fi_cntr_add(event, 1)); /* too late */
	expect_cancelled(&w, &context[2]);
	expect_cancelled(&w, &context[0]);
	RC(-FI_EAGAIN, fi_cq_read(w.cq, &entry, 1));
	cr_assert_eq(target[0], 0);
	trigger_close(&w);
}

Test(fi_trigger, bad_conditions)
{
	struct fi_triggered_context context = { .event_type = FI_TRIGGER_THRESHOLD };
	struct iovec iov = { out, 8 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = &context };
	struct fid_domain *domain;
	struct fid_cntr *strange;
	struct fid_ep *alias;
	struct world w;

	trigger_open(&w, (struct want){ 0 });
	msg.addr = w.self;
	RC(-FI_EINVAL, fi_sendmsg(w.ep, &msg, FI_TRIGGER)); /* no counter */
	context.trigger.threshold.cntr = (struct fid_cntr *)w.cq;
	RC(-FI_EINVAL, fi_sendmsg(w.ep, &msg, FI_TRIGGER));
	RC(0, fi_domain(w.fabric, w.info, &domain, NULL));
	RC(0, fi_cntr_open(domain, &(struct fi_cntr_attr){ 0 }, &strange, NULL));
	context.trigger.threshold.cntr = strange;
	RC(-FI_EDOMAIN, fi_sendmsg(w.ep, &msg, FI_TRIGGER));
	context.event_type = FI_TRIGGER_XPU;
	RC(-FI_ENOSYS, fi_sendmsg(w.ep, &msg, FI_TRIGGER));
	msg.context = NULL;
	RC(-FI_EINVAL, fi_sendmsg(w.ep, &msg, FI_TRIGGER));
	RC(-FI_EINVAL, fi_recvmsg(w.ep, &msg, FI_TRIGGER));
	nothing_yet(&w);
	RC(0, fi_close(&strange->fid));
	RC(0, fi_close(&domain->fid));
	trigger_close(&w);
	world_open(&w, &(struct want){ .caps = FI_MSG }); /* not asked for */
	RC(-FI_EBADFLAGS, fi_sendmsg(w.ep, &msg, FI_TRIGGER));
	RC(-FI_EBADFLAGS, fi_ep_alias(w.ep, &alias, FI_TRANSMIT | FI_TRIGGER));
	world_close(&w);
}

/* --- deferred work --- */

static int queue(struct world *w, struct fi_deferred_work *work)
{
	return fi_control(&w->domain->fid, FI_QUEUE_WORK, work);
}

static struct fi_deferred_work work_at(uint64_t threshold, enum fi_op_type type, void *op)
{
	return (struct fi_deferred_work){
		.threshold = threshold,
		.triggering_cntr = event,
		.completion_cntr = done,
		.op_type = type,
		.op.msg = op,
	};
}

static void wait_for(struct fid_cntr *cntr, uint64_t value)
{
	while (fi_cntr_read(cntr) < value)
		;
	cr_assert_eq(fi_cntr_read(cntr), value);
}

/* clang-format off */
/* One of each kind; they are counted where they say, and tell nobody else. */
Test(fi_trigger, work_of_every_kind)
{
	struct iovec iov_out = { out, 8 }, iov_in = { in, 8 };
	struct fi_rma_iov rma = { 8, 8, KEY };
	struct fi_rma_ioc ioc = { 16, 1, KEY };
	uint64_t one = 1, compare = 1, old[2] = { 7, 7 };
	struct fi_ioc operand = { &one, 1 }, comparand = { &compare, 1 }, result[2] = { { &old[0], 1 }, { &old[1], 1 } };
	struct fi_cq_tagged_entry entry;
	struct world w;

	trigger_open(&w, (struct want){ 0 });
	{
		struct fi_msg_atomic atomic = {
			.msg_iov = &operand, .iov_count = 1, .addr = w.self, .rma_iov = &ioc, .rma_iov_count = 1,
			.datatype = FI_UINT64, .op = FI_SUM,
		};
		struct fi_op_msg recv = { w.ep, { .msg_iov = &iov_in, .iov_count = 1, .addr = FI_ADDR_UNSPEC }, 0 };
		struct fi_op_msg send = { w.ep, { .msg_iov = &iov_out, .iov_count = 1, .addr = w.self }, 0 };
		struct fi_op_tagged trecv = {
			w.ep, { .msg_iov = &iov_in, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 4 }, 0,
		};
		struct fi_op_tagged tsend = { w.ep, { .msg_iov = &iov_out, .iov_count = 1, .addr = w.self, .tag = 4 }, 0 };
		struct fi_op_rma write = {
			w.ep, { .msg_iov = &iov_out, .iov_count = 1, .addr = w.self, .rma_iov = &rma, .rma_iov_count = 1 },
			FI_INJECT,
		};
		struct fi_op_rma read = write;
		struct fi_op_atomic sum = { w.ep, atomic, 0 };
		struct fi_op_fetch_atomic fetch = { w.ep, atomic, { &result[0], NULL, 1 }, 0 };
		struct fi_op_compare_atomic swap = { w.ep, atomic, { &result[1], NULL, 1 }, { &comparand, NULL, 1 }, 0 };
		struct fi_op_cntr add = { done, 100 };
		struct fi_deferred_work work[] = {
			work_at(1, FI_OP_RECV, &recv), work_at(2, FI_OP_SEND, &send), work_at(3, FI_OP_TRECV, &trecv),
			work_at(4, FI_OP_TSEND, &tsend), work_at(5, FI_OP_WRITE, &write), work_at(6, FI_OP_READ, &read),
			work_at(7, FI_OP_ATOMIC, &sum), work_at(8, FI_OP_FETCH_ATOMIC, &fetch),
			work_at(9, FI_OP_COMPARE_ATOMIC, &swap), work_at(10, FI_OP_CNTR_ADD, &add),
		};
		static const uint64_t counted[] = { 0, 2, 2, 4, 5, 6, 7, 8, 9, 109 };

		read.flags = 0;
		read.msg.msg_iov = &iov_in;
		swap.msg.op = FI_CSWAP;
		work[9].completion_cntr = NULL;
		for (int i = 9; i >= 0; i--)
			RC(0, queue(&w, &work[i]));
		nothing_yet(&w);
		out[0] = 77; /* buffers are read when it is time */
		for (int i = 0; i < 10; i++) {
			RC(0, fi_cntr_add(event, 1));
			wait_for(done, counted[i]);
		}
	}
	cr_assert(in[0] == 77 && target[1] == 77);
	cr_assert(old[0] == 1 && old[1] == 2 && target[2] == 2); /* compared with 1: not swapped */
	RC(-FI_EAGAIN, fi_cq_read(w.cq, &entry, 1));
	cr_assert(fi_cntr_read(w.cntr) == 0 && fi_cntr_readerr(w.cntr) == 0 && fi_cntr_readerr(done) == 0);
	trigger_close(&w);
}
/* clang-format on */

/* A program of counters alone: as many steps as there is work, none of them nested. */
Test(fi_trigger, counters_that_set_counters)
{
	static struct fi_deferred_work work[MANY];
	struct fi_op_cntr next, set;
	struct world w;

	trigger_open(&w, (struct want){ 0 });
	next = (struct fi_op_cntr){ event, 1 };
	set = (struct fi_op_cntr){ done, 42 };
	for (uint64_t i = 0; i < MANY; i++) {
		work[i] = work_at(i + 1, i + 1 < MANY ? FI_OP_CNTR_ADD : FI_OP_CNTR_SET, i + 1 < MANY ? &next : &set);
		work[i].completion_cntr = NULL;
		RC(0, queue(&w, &work[i]));
	}
	RC(0, fi_cntr_adderr(event, 1)); /* errors count, too */
	wait_for(done, 42);
	cr_assert_eq(fi_cntr_read(event), MANY - 1);
	trigger_close(&w);
}

/* FI_COMPLETION asks for what is told else; what fails counts as an error. */
Test(fi_trigger, work_that_tells_and_work_that_fails)
{
	struct fi_cq_err_entry error[2] = { 0 };
	struct fi_cq_tagged_entry entry;
	struct iovec iov = { out, 8 };
	struct fi_rma_iov good = { 0, 8, KEY }, bad = { sizeof(target), 8, KEY };
	struct world w;

	trigger_open(&w, (struct want){ 0 });
	{
		struct fi_op_rma op[3];
		struct fi_deferred_work work[3];

		for (int i = 0; i < 3; i++) {
			op[i] = (struct fi_op_rma){
				w.ep,
				{ .msg_iov = &iov,
				  .iov_count = 1,
				  .addr = w.self,
				  .rma_iov = i ? &bad : &good,
				  .rma_iov_count = 1,
				  .context = &op[i] },
				i < 2 ? FI_COMPLETION : 0,
			};
			work[i] = work_at(1, FI_OP_WRITE, &op[i]);
			RC(0, queue(&w, &work[i]));
		}
		RC(-FI_EBUSY, fi_close(&done->fid));
		RC(0, fi_cntr_add(event, 1));
		while (fi_cntr_readerr(done) < 2)
			;
		wait_for(done, 1);
		for (int i = 0; i < 2; i++) { /* in either order */
			if (world_next(&w, &entry) == 1) {
				cr_assert_eq(entry.op_context, &op[0]);
			} else {
				RC(1, fi_cq_readerr(w.cq, error, 0));
				cr_assert(error->err == FI_EACCES && error->op_context == &op[1]);
			}
		}
		RC(-FI_EAGAIN, fi_cq_read(w.cq, &entry, 1));
	}
	trigger_close(&w);
}

Test(fi_trigger, work_is_taken_back)
{
	struct iovec iov = { out, 8 };
	struct fi_rma_iov rma = { 0, 8, KEY };
	struct fi_deferred_work work[4];
	struct fi_op_cntr change;
	struct fi_op_rma op;
	struct world w;

	trigger_open(&w, (struct want){ 0 });
	op = (struct fi_op_rma){
		w.ep,
		{ .msg_iov = &iov, .iov_count = 1, .addr = w.self, .rma_iov = &rma, .rma_iov_count = 1 },
		FI_COMPLETION,
	};
	change = (struct fi_op_cntr){ done, 1 };
	out[0] = 1;
	for (int i = 0; i < 4; i++) {
		work[i] = i % 2 ? work_at(1, FI_OP_CNTR_ADD, &change) : work_at(1, FI_OP_WRITE, &op);
		work[i].completion_cntr = i % 2 ? NULL : done;
		if (i == 3)
			work[i].triggering_cntr = w.cntr;
		RC(0, queue(&w, &work[i]));
	}
	RC(0, fi_control(&w.domain->fid, FI_CANCEL_WORK, &work[0]));
	RC(-FI_ENOENT, fi_control(&w.domain->fid, FI_CANCEL_WORK, &work[0]));
	RC(-FI_EINVAL, fi_control(&w.domain->fid, FI_CANCEL_WORK, NULL));
	RC(0, fi_control(&w.domain->fid, FI_FLUSH_WORK, event));
	RC(0, fi_cntr_add(event, 1));
	nothing_yet(&w);
	cr_assert(target[0] == 0 && fi_cntr_read(done) == 0);
	RC(0, fi_cntr_add(w.cntr, 1)); /* what waited for another one */
	wait_for(done, 1);
	RC(0, queue(&w, &work[0])); /* is met */
	wait_for(done, 2);
	work[0].threshold = work[1].threshold = 5;
	RC(0, queue(&w, &work[0]));
	RC(0, queue(&w, &work[1]));
	RC(0, fi_control(&w.domain->fid, FI_FLUSH_WORK, NULL));
	RC(-FI_EINVAL, fi_control(&w.domain->fid, FI_FLUSH_WORK, w.cq));
	trigger_close(&w);
}

Test(fi_trigger, bad_work)
{
	struct iovec iov = { out, 8 };
	struct fi_deferred_work work;
	struct fi_op_cntr change;
	struct fi_op_msg op;
	struct world w;

	trigger_open(&w, (struct want){ 0 });
	op = (struct fi_op_msg){ w.ep, { .msg_iov = &iov, .iov_count = 1, .addr = w.self }, 0 };
	RC(-FI_EINVAL, queue(&w, NULL));
	work = work_at(1, FI_OP_SEND, NULL);
	RC(-FI_EINVAL, queue(&w, &work));
	work = work_at(1, FI_OP_CNTR_ADD + 1, &op);
	RC(-FI_ENOSYS, queue(&w, &work));
	work = work_at(1, FI_OP_SEND, &op);
	work.triggering_cntr = NULL;
	RC(-FI_EINVAL, queue(&w, &work));
	work = work_at(1, FI_OP_SEND, &op);
	work.completion_cntr = (struct fid_cntr *)w.cq;
	RC(-FI_EINVAL, queue(&w, &work));
	op.flags = FI_TRIGGER;
	work = work_at(1, FI_OP_SEND, &op);
	RC(-FI_EBADFLAGS, queue(&w, &work));
	op.flags = 0;
	op.ep = (struct fid_ep *)w.cq;
	RC(-FI_EINVAL, queue(&w, &work));
	op.ep = w.ep;
	op.msg.addr = FI_ADDR_UNSPEC;
	RC(-FI_EINVAL, queue(&w, &work));
	change = (struct fi_op_cntr){ done, 1 };
	work = work_at(1, FI_OP_CNTR_ADD, &change);
	RC(-FI_EINVAL, queue(&w, &work)); /* with a completion counter */
	work.completion_cntr = NULL;
	change.cntr = NULL;
	RC(-FI_EINVAL, queue(&w, &work));
	RC(0, fi_cntr_add(event, 10));
	nothing_yet(&w);
	cr_assert_eq(fi_cntr_read(done), 0);
	trigger_close(&w);
}
