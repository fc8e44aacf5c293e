/* SPDX-License-Identifier: BSD-2-Clause */
/* races.c - accesses of peers whose answers are held back, and posts that wait to leave (emu/nic/ops/races.h): what is told to the
 * layer above, in which order, and what lets them go. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/endpoint/pair.h"
#include "emu/nic/requests/responder.h"
#include "tests/sim/harness/couple.h"
#include "tests/sim/race_stage.h"

/* Each kind is executed when it comes, and its initiator hears of that when its time is over. */
Test(sim_races, an_answer_waits)
{
	static const enum op_kind kinds[] = { OP_WRITE, OP_READ, OP_ATOMIC };

	for (size_t i = 0; i < 3; i++) {
		struct stage stage;
		struct job *job;

		stage_open(&stage, LATE, EP_ORDER_ALL);
		job = stage_post(&stage, kinds[i], 0, 0);
		cr_assert(!job->done && told.arrived == 1 && told.executed == 1 && told.closed == 0, "kind %zu", i);
		cr_assert_eq(told.last.op, kinds[i]);
		cr_assert_eq(told.last.changes, kinds[i] != OP_READ);
		cr_assert_eq(told.last.element != 0, kinds[i] == OP_ATOMIC);
		model_pass(stage.bed.model, LATE);
		cr_assert(job->done && !job->failed && told.closed == 1, "kind %zu", i);
		stage_end(&stage);
	}
}

/* The completion of one that is not to be delivered says nothing of its bytes: it comes at once, and the access is still open. */
Test(sim_races, an_answer_that_delivers_nothing_does_not_wait)
{
	static const enum op_kind kinds[] = { OP_WRITE, OP_ATOMIC };

	for (size_t i = 0; i < 2; i++) {
		struct job *first, *second;
		struct stage stage;

		stage_open(&stage, LATE, 0);
		first = stage_post(&stage, kinds[i], 0, POST_SENT);
		cr_assert(first->done && told.executed == 1 && told.closed == 0, "kind %zu", i);
		second = stage_post(&stage, kinds[i], 1, POST_FENCE | POST_SENT);
		cr_assert(second->done && told.closed == 1 && told.open == 1, "kind %zu", i);
		model_pass(stage.bed.model, LATE);
		cr_assert_eq(told.open, 0, "kind %zu", i);
		stage_end(&stage);
	}
}

/* One that waits has all behind it wait, and none before it. */
Test(sim_races, an_answer_waits_behind_one_that_does_not)
{
	struct job *first, *second;
	struct stage stage;

	stage_open(&stage, LATE, EP_ORDER_ALL);
	first = stage_post(&stage, OP_WRITE, 0, POST_SENT);
	second = stage_post(&stage, OP_WRITE, 1, 0);
	cr_assert(first->done && !second->done && told.open == 2);
	model_pass(stage.bed.model, LATE);
	cr_assert(second->done && told.open == 0);
	stage_end(&stage);
}

/* Behind one that waits nothing is answered, though it is not held back itself. */
Test(sim_races, answers_keep_their_order)
{
	struct job *first, *second;
	struct stage stage;

	stage_open(&stage, LATE, EP_ORDER_ALL);
	first = stage_post(&stage, OP_WRITE, 0, 0);
	told.hold_ns = 0;
	second = stage_post(&stage, OP_READ, 1, 0);
	cr_assert(!first->done && !second->done && told.arrived == 2);
	model_pass(stage.bed.model, LATE);
	cr_assert(first->done && second->done);
	stage_end(&stage);
}

/* A later one that is answered sooner by its own time waits for the earlier, too. */
Test(sim_races, a_shorter_time_does_not_pass)
{
	struct job *first, *second;
	struct stage stage;

	stage_open(&stage, LATE, EP_ORDER_ALL);
	first = stage_post(&stage, OP_WRITE, 0, 0);
	told.hold_ns = LATE / 100;
	second = stage_post(&stage, OP_READ, 1, 0);
	cr_assert(!first->done && !second->done && told.closed == 0);
	model_pass(stage.bed.model, LATE);
	cr_assert(first->done && second->done && told.closed == 2);
	stage_end(&stage);
}

/* What tells the target's program of accesses lets them go, where the order says that they were executed before. */
Test(sim_races, what_tells_lets_go)
{
	static const struct {
		enum op_kind first, kind;
		uint32_t flags, order;
		bool tells;
	} rows[] = {
		{ OP_WRITE, OP_SEND, 0, EP_ORDER_SAW, true },
		{ OP_WRITE, OP_SEND, 0, 0, false },
		{ OP_WRITE, OP_WRITE, POST_CQ_DATA, EP_ORDER_RMA_WAW, false }, /* it waits itself */
		{ OP_WRITE, OP_ATOMIC, POST_CQ_DATA, EP_ORDER_RAW | EP_ORDER_WAW, true },
		{ OP_WRITE, OP_ATOMIC, POST_CQ_DATA, 0, false },
		{ OP_WRITE, OP_WRITE, 0, EP_ORDER_ALL, false },
		/* Nothing that may pass it tells of a read. */
		{ OP_READ, OP_SEND, 0, EP_ORDER_SAW, false },
		{ OP_READ, OP_ATOMIC, POST_CQ_DATA, EP_ORDER_RAW | EP_ORDER_WAW, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stage stage;
		struct job *first;

		stage_open(&stage, LATE, rows[i].order);
		first = stage_post(&stage, rows[i].first, 0, 0);
		cr_assert(!first->done);
		stage_post(&stage, rows[i].kind, 1, rows[i].flags);
		cr_assert_eq(first->done, rows[i].tells, "row %zu", i);
		cr_assert_eq(told.closed, rows[i].tells, "row %zu", i);
		stage_end(&stage);
	}
}

/* One that tells of itself is executed when its time is over, and what comes behind it then, too. */
Test(sim_races, what_tells_waits)
{
	for (unsigned apart = 0; apart < 2; apart++) {
		struct job *first, *second, *third;
		struct stage stage;

		stage_open(&stage, LATE, EP_ORDER_ALL);
		told.apart = apart;
		first = stage_post(&stage, OP_WRITE, 0, POST_CQ_DATA | POST_SENT);
		second = stage_post(&stage, OP_WRITE, 1, POST_SENT);
		third = stage_post(&stage, OP_SEND, 2, 0);
		cr_assert(!first->done && !second->done && !third->done && told.arrived == 1 && told.open == 1);
		cr_assert(!stage_has(&stage, first->bytes, 0) && !stage_has(&stage, second->bytes, 1));
		model_pass(stage.bed.model, LATE);
		cr_assert(first->done && second->done && third->done);
		cr_assert(stage_has(&stage, first->bytes, 0) && stage_has(&stage, second->bytes, 1));
		stage_end(&stage);
	}
}

/* No more is kept behind one that waits than a quarter of a MiB. */
Test(sim_races, what_waits_keeps_so_much)
{
	enum { MANY = 80, LONG = 4096 };
	struct stage stage;
	struct job *job;

	stage_open(&stage, LATE, EP_ORDER_ALL);
	job = stage_post(&stage, OP_WRITE, 0, POST_CQ_DATA | POST_SENT);
	cr_assert(!job->done);
	told.hold_ns = 0;
	for (int i = 0; i < MANY; i++)
		bed_post(&stage.bed, OP_SEND, stage.target, 0, LONG, 0);
	model_pass(stage.bed.model, LATE / 8);
	cr_assert(job->done);
	stage_end(&stage);
}

/* It may be executed while those before it are open, if it is in no order with them: their answers wait for each of them. */
Test(sim_races, what_tells_passes_what_it_is_in_no_order_with)
{
	struct job *first, *second;
	struct stage stage;

	stage_open(&stage, LATE, 0);
	first = stage_post(&stage, OP_WRITE, 0, 0);
	told.hold_ns = 2 * LATE;
	second = stage_post(&stage, OP_WRITE, 1, 0);
	told.hold_ns = 3 * LATE / 2;
	stage_post(&stage, OP_WRITE, 2, POST_CQ_DATA);
	model_pass(stage.bed.model, LATE);
	cr_assert(first->done && !second->done && told.open == 2);
	model_pass(stage.bed.model, LATE / 2);
	cr_assert(!second->done && told.open == 1);
	model_pass(stage.bed.model, LATE);
	cr_assert(second->done);
	stage_end(&stage);
}

/* One that tells and does not wait lets go of the writes before it. */
Test(sim_races, what_tells_at_once_says_nothing_of_a_read)
{
	static const enum op_kind kinds[] = { OP_WRITE, OP_READ };

	for (size_t i = 0; i < 2; i++) {
		struct stage stage;
		struct job *first;

		stage_open(&stage, LATE, EP_ORDER_RMA_WAW);
		first = stage_post(&stage, kinds[i], 0, 0);
		told.hold_ns = 0;
		stage_post(&stage, OP_WRITE, 1, POST_CQ_DATA);
		cr_assert(first->done == (kinds[i] == OP_WRITE) && told.open == (kinds[i] == OP_READ), "kind %zu", i);
		model_pass(stage.bed.model, LATE);
		cr_assert(first->done && told.open == 0);
		stage_end(&stage);
	}
}

/* An order of writes says nothing of a read before them. */
Test(sim_races, what_tells_passes_a_read)
{
	struct job *read, *write;
	struct stage stage;

	stage_open(&stage, 2 * LATE, EP_ORDER_RMA_WAW);
	read = stage_post(&stage, OP_READ, 0, 0);
	told.hold_ns = LATE;
	write = stage_post(&stage, OP_WRITE, 1, POST_CQ_DATA);
	model_pass(stage.bed.model, LATE);
	cr_assert(stage_has(&stage, write->bytes, 1) && told.closed == 1 && told.open == 1 && !read->done);
	model_pass(stage.bed.model, LATE);
	cr_assert(read->done && told.open == 0);
	stage_end(&stage);
}

/* What has come is executed, though its initiator leaves; and not into a region that ends. */
Test(sim_races, what_waits_and_an_end)
{
	for (int end = 0; end < 2; end++) {
		struct stage stage;
		uint8_t bytes[BYTES];
		struct job *job;

		stage_open(&stage, LATE, EP_ORDER_ALL);
		job = stage_post(&stage, OP_WRITE, 0, POST_CQ_DATA);
		cr_assert(!job->done && told.open == 1);
		memcpy(bytes, job->bytes, BYTES);
		if (end == 0)
			region_end(stage.target);
		else
			model_kill(stage.bed.model, stage.bed.party[0]->node);
		model_pass(stage.bed.model, 2 * LATE);
		cr_assert_eq(told.open, 0, "end %d", end);
		cr_assert(end == 0 ? job->failed : stage_has(&stage, bytes, 0), "end %d", end);
		stage_end(&stage);
	}
}

/* Where no request is taken any more, what has come behind the one that waits is in its turn all the same. */
Test(sim_races, what_waits_and_nobody_takes)
{
	const uint32_t rules = EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES;
	static uint8_t from[BYTES], into[BYTES];
	struct iovec out = { from, BYTES }, in = { into, BYTES };
	struct mr_attr attr = { .iov = &in, .iov_count = 1, .access = BED_BOTH, .key = 9, .key_bytes = 4 };
	struct remote remote = { .length = BYTES, .key = 9 };
	struct post post = {
		.kind = OP_WRITE, .flags = POST_CQ_DATA, .iov = &out, .iov_count = 1, .remote = &remote, .remote_count = 1
	};
	struct world *world = world_open(world_seed(2190));
	struct end pairs[2], qp[2];
	struct mr *mr;

	memset(&told, 0, sizeof(told));
	told.hold_ns = LATE;
	for (int side = 0; side < 2; side++) {
		node_open(world, &(struct nic_config){ .races = &stage_races });
		end_open_pairs(&pairs[side], world->node[side]);
		end_open_ruled(&qp[side], &pairs[side], rules, NULL, 0);
	}
	for (int side = 0; side < 2; side++) {
		end_pair(&qp[side], &qp[!side], 5, 1024);
		end_pair_send(&qp[side], 5);
	}
	node_enter(world->node[1]);
	cr_assert(!mr_add(pd_regions(qp[1].pd), &attr, &mr));
	node_leave(world->node[1]);
	for (int i = 0; i < 2; i++)
		cr_assert(!ep_recv(qp[1].ep, &(struct recv_post){ .source = AV_NONE }));
	cr_assert(!ep_post(qp[0].ep, &post));
	world_pass(world, LATE / 8);
	cr_assert_eq(told.open, 1);
	node_enter(world->node[1]);
	responder_halt(qp[1].ep->cm.peer, true);
	node_leave(world->node[1]);
	cr_assert(!ep_post(qp[0].ep, &post));
	world_pass(world, 2 * LATE);
	cr_assert(told.open == 0 && !node_logged(world->node[1], "WIRE-") && !node_logged(world->node[0], "WIRE-"));
	node_enter(world->node[1]);
	pd_remove_region(qp[1].pd, mr);
	node_leave(world->node[1]);
	for (int side = 0; side < 2; side++) {
		end_close(&qp[side]);
		end_close(&pairs[side]);
	}
	world_close(world);
}

/* An access to a region that ends is over, and nothing waits where an end waits for it. */
Test(sim_races, an_end_lets_go)
{
	for (int end = 0; end < 2; end++) {
		struct stage stage;
		struct job *job;

		stage_open(&stage, LATE, EP_ORDER_ALL);
		job = stage_post(&stage, OP_WRITE, 0, 0);
		cr_assert(!job->done);
		if (end == 0)
			region_end(stage.target);
		else
			party_close(stage.bed.party[1]);
		cr_assert_eq(told.open, 0, "end %d", end);
		model_pass(stage.bed.model, LATE / 8);
		cr_assert(job->done && !job->failed, "end %d", end);
		stage_end(&stage);
	}
}

/* A queue pair in ERR is told of no access that goes on, nor is one whose region was invalidated. */
Test(sim_races, what_revokes_access_lets_go)
{
	for (int way = 0; way < 2; way++) {
		enum refusal_cause cause;
		struct couple c;
		struct post invalidate = { .kind = OP_SEND, .flags = POST_COMPLETE | POST_LOCAL_INV };

		memset(&told, 0, sizeof(told));
		told.hold_ns = LATE;
		couple_open(&c, 2191);
		for (int side = 0; side < 2; side++)
			c.qp[side].node->nic->config.races = &stage_races;
		couple_meet(&c);
		invalidate.cq_data = c.key[1];
		cr_assert(!couple_post(&c, 0, OP_WRITE, 0, BYTES, 1));
		world_pass(c.world, LATE / 8);
		cr_assert(told.executed == 1 && told.open == 1);
		node_enter(c.qp[1].node);
		if (way == 0)
			ep_halt(c.qp[1].ep);
		node_leave(c.qp[1].node);
		if (way == 1)
			cr_assert(!ep_post(c.qp[1].ep, &invalidate) && couple_next(&c, 1, &cause) == 0);
		cr_assert_eq(told.open, 0, "way %d", way);
		cr_assert(couple_next(&c, 0, &cause) == 1 && cause == REFUSAL_NONE, "way %d", way);
		couple_close(&c);
	}
}

/* Another session may see an atomic by one of its own: what is ordered before it waits no more, where an order was asked for. */
Test(sim_races, an_atomic_lets_go_of_those_before_it)
{
	static const struct {
		enum op_kind kind;
		uint32_t order;
		bool goes;
	} rows[] = {
		{ OP_WRITE, 0, false },
		{ OP_WRITE, EP_ORDER_ALL, true },
		{ OP_WRITE, EP_ORDER_ATOMIC_WAW, false },
		{ OP_ATOMIC, EP_ORDER_ATOMIC_WAW, true },
		{ OP_ATOMIC, EP_ORDER_RMA_WAW, false },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job *first, *second;
		struct stage stage;

		stage_open(&stage, LATE, rows[i].order);
		first = stage_post(&stage, rows[i].kind, 0, 0);
		second = stage_post(&stage, OP_ATOMIC, 1, 0);
		cr_assert(first->done == rows[i].goes && !second->done && told.closed == rows[i].goes, "row %u", i);
		cr_assert_eq(told.last.atomic, (rows[i].order & EP_ORDER_ATOMIC_WAW) != 0, "row %u", i);
		model_pass(stage.bed.model, LATE);
		cr_assert(first->done && second->done);
		stage_end(&stage);
	}
}

/* A write may be executed before a message, where no order was asked for; but not if the target has answered the message. */
Test(sim_races, an_answer_by_the_program_lets_go_of_messages)
{
	for (unsigned answers = 0; answers < 2; answers++) {
		struct stage stage;
		struct job *sent;

		stage_open(&stage, 0, 0);
		stage_post(&stage, OP_WRITE, 0, 0);
		for (int side = 0; side < 2; side++)
			cr_assert(intake_post(stage.bed.party[side], BYTES, 1, NULL));
		told.hold_ns = LATE;
		sent = stage_post(&stage, OP_SEND, 1, 0);
		cr_assert(!sent->done && told.open == 1 && told.last.told);
		if (answers)
			cr_assert(!job_post(job_message(stage.bed.party[1], stage.bed.party[0], BYTES, POST_COMPLETE, 1)));
		model_pass(stage.bed.model, LATE / 8);
		cr_assert_eq(sent->done, answers);
		stage_post(&stage, OP_WRITE, 2, 0);
		cr_assert(told.last.op == OP_WRITE && told.met == !answers, "%u met %u", answers, told.met);
		stage_end(&stage);
	}
}

/* Bytes that the layer above puts into their place itself. */
Test(sim_races, bytes_that_come_apart)
{
	struct stage stage;
	struct job *job;
	uint8_t now[BYTES];

	stage_open(&stage, LATE, EP_ORDER_ALL);
	told.apart = true;
	job = stage_post(&stage, OP_WRITE, 0, 0);
	region_get(stage.target, 0, now, BYTES);
	cr_assert(!job->done && told.stored == BYTES && !memcmp(now, job->bytes, BYTES));
	model_pass(stage.bed.model, LATE);
	cr_assert(job->done && !job->failed);
	stage_end(&stage);
}

/* A post waits here before it leaves. */
Test(sim_races, a_post_stays)
{
	struct stage stage;
	struct job *job;

	stage_open(&stage, 0, EP_ORDER_ALL);
	told.stay_ns = LATE;
	job = stage_post(&stage, OP_WRITE, 0, 0);
	cr_assert(!job->done && told.arrived == 0);
	model_pass(stage.bed.model, LATE);
	cr_assert(job->done && told.arrived == 1);
	stage_end(&stage);
}

/* With cuts at any byte: one that is not executed comes again, as another; each that was opened is closed. */
Test(sim_races, over_cuts)
{
	for (uint64_t at = 1; at < 1200; at += 13) {
		struct stage stage;
		struct job *job[4];

		stage_open(&stage, LATE / 100, EP_ORDER_ALL);
		world_fault(stage.bed.world, FAULT_CUT, 0, at % 2, at);
		job[0] = bed_post(&stage.bed, OP_WRITE, stage.target, 0, BYTES, 0);
		job[1] = bed_post(&stage.bed, OP_READ, stage.target, BYTES, BYTES, 0);
		job[2] = bed_post(&stage.bed, OP_ATOMIC, stage.target, 2 * BYTES, BYTES, 0);
		job[3] = bed_post(&stage.bed, OP_WRITE, stage.target, 3 * BYTES, BYTES, POST_CQ_DATA);
		model_pass(stage.bed.model, 4 * LATE);
		for (int i = 0; i < 4; i++)
			cr_assert(job[i]->done && !job[i]->failed, "cut at %d", (int)at);
		cr_assert_eq(told.executed + told.closed_first, told.closed);
		cr_assert_eq(told.executed, 3);
		stage_end(&stage);
	}
}

/* Under load and in weather: each op exactly once, and each that was opened is closed. */
Test(sim_races, under_load)
{
	for (uint64_t weather = 2180; weather < 2186; weather++) {
		struct nic_config config = { .races = &stage_races };
		struct workload load = { .outstanding_max = 60,
					 .big_max = 300000,
					 .silent_percent = 20,
					 .atomic_percent = 20,
					 .ring = true,
					 .sends = true,
					 .rma = true };
		struct bed bed;

		memset(&told, 0, sizeof(told));
		told.hold_ns = 3000000;
		told.apart = weather % 2;
		told.stay_ns = 200000;
		told.late_ns = weather % 3 ? 0 : 1000000;
		told.completes_ns = weather % 3 == 1 ? 500000 : 0;
		bed_open(&bed, weather, 2, &config, &(struct party_config){ .caps = STAGE_CAPS, .order = EP_ORDER_ALL });
		workload_init(&load, bed.model, 600);
		workload_run(&load, BED_LIMIT_NS);
		bed_close(&bed);
		cr_assert_eq(told.open, 0);
		cr_assert_gt(told.executed, 100);
	}
}
