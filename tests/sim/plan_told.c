/* SPDX-License-Identifier: BSD-2-Clause */
/* plan_told.c - fault plans: the reports, their receivers, and questions to a plan by itself. */
#include <criterion/criterion.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/requests/fault_ops.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"
#include "emu/nic/transport/transport_calls.h"
#include "tests/sim/harness/bed.h"

/* For every op of every peer. */
static struct fault_plan one_rule(enum fault_sort sort)
{
	return (struct fault_plan){ .rules = 1,
				    .rule = { { .sort = sort,
						.kinds = FAULT_ALL_KINDS,
						.first = 1,
						.every = 1,
						.most = UINT64_MAX,
						.chance = FAULT_CERTAIN } } };
}

/* Other errors of an op are not called injected (judge_error()), though a refusal was, before, in its place of the pool. */
Test(sim_plan_told, what_is_not_injected)
{
	enum { ALL_PLACES = 200 };
	struct fault_plan plan = one_rule(PLAN_REFUSE);
	struct nic_config config = { .fault = &plan, .retry_budget_ns = SIM_SECOND };
	struct bed bed;

	plan.rule[0].cause = REFUSAL_RESOURCE;
	bed_open(&bed, 2011, 2, &config, NULL);
	for (int i = 0; i <= ALL_PLACES; i++) {
		struct job *job = job_message(bed.party[0], bed.party[1], 8, POST_COMPLETE, 1);

		if (i == ALL_PLACES)
			model_kill(bed.model, bed.node[1]);
		cr_assert(job);
		job_may(job, REFUSAL_RESOURCE);
		cr_assert(!job_post(job));
		model_finish(bed.model, BED_LIMIT_NS);
		cr_assert(job->failed);
	}
	bed_close(&bed);
}

/* A call when it is time says that there was something to do. */
Test(sim_plan_told, a_late_completion_is_work)
{
	struct fault_plan plan = one_rule(PLAN_COMPLETION);
	struct nic_config config = { .fault = &plan };
	struct node *node;
	struct job *job;
	struct bed bed;

	plan.rule[0].wait_ns = SIM_SECOND;
	bed_open(&bed, 2130, 2, &config, NULL);
	node = bed.node[0];
	job = job_message(bed.party[0], bed.party[1], 8, POST_COMPLETE, 1);
	cr_assert(job && !job_post(job));
	while (!tap_count(bed.world, TAP_ACK))
		model_step(bed.model);
	node->asleep = true;
	bed.world->now_ns += SIM_SECOND / 2;
	while (driver_run(nic_driver(node->nic)))
		;
	cr_assert(!job->done);
	bed.world->now_ns += SIM_SECOND;
	cr_assert(driver_run(nic_driver(node->nic)));
	node->asleep = false;
	model_read(bed.party[0]);
	cr_assert(job->done);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* An op that may leave now does not wait for a timer that is due. */
Test(sim_plan_told, waits_to_the_nanosecond)
{
	struct fault_plan plan = one_rule(PLAN_BANDWIDTH);
	struct nic_config config = { .fault = &plan };
	struct session *session;
	struct op op = { 0 };
	struct job *job;
	struct bed bed;
	uint64_t now_ns;

	plan.rule[0].rate = 1000000;
	bed_open(&bed, 2131, 2, &config, NULL);
	job = job_message(bed.party[0], bed.party[1], 8, POST_COMPLETE, 1);
	cr_assert(job && !job_post(job));
	model_end(bed.model, BED_LIMIT_NS);
	session = party_session(bed.party[0], bed.party[1]);
	node_enter(bed.node[0]);
	now_ns = clock_now(&bed.node[0]->nic->clock);
	for (uint64_t early = 0; early < 2; early++) {
		op.depart_ns = now_ns + early;
		session->fault_wake_ns = 0;
		cr_assert_eq(fault_waits(session, &op), early);
		cr_assert_eq(session->fault_wake_ns, early ? now_ns + early : 0);
		session->fault_sent_ns = now_ns + early;
		session->fault_wake_ns = 0;
		cr_assert_not(fault_fill(session, session->conn), "there is nothing");
		cr_assert_eq(session->fault_wake_ns, early ? now_ns + early : 0);
	}
	node_leave(bed.node[0]);
	bed_close(&bed);
}

/* A frame that continues a message is not numbered. */
Test(sim_plan_told, a_message_is_cut_as_one)
{
	enum { LONG = 1 << 20 };
	struct fault_plan plan = one_rule(PLAN_CUT);
	struct nic_config config = { .fault = &plan };
	struct region *large;
	struct bed bed;

	plan.rule[0].first = 2;
	plan.rule[0].most = plan.rule[0].times = 1;
	plan.rule[0].before = true;
	bed_open(&bed, 2132, 2, &config, NULL);
	large = region_open(bed.party[1], 2 * LONG, 1, BED_BOTH, false, 0);
	for (uint64_t i = 0; i < 2; i++) {
		cr_assert(!job_post(job_rma(bed.party[0], large, OP_WRITE, i * LONG, LONG, POST_COMPLETE, 1)));
		model_finish(bed.model, BED_LIMIT_NS);
		cr_assert_eq(bed.world->cables_made, 1 + i);
	}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Once, by the code that opens queues and threads. */
Test(sim_plan_told, queues_and_the_thread)
{
	struct fault_plan plan = one_rule(PLAN_REFUSE);

	plan.rule[0].wait_ns = 1;
	cr_assert_eq(fault_queue(&plan, 4), 4);
	cr_assert_eq(fault_thread(&plan), 0);
	plan.rules = 3;
	plan.rule[1] = (struct fault_rule){ .sort = PLAN_QUEUE, .entries = 3, .wait_ns = 2 };
	plan.rule[2] = (struct fault_rule){ .sort = PLAN_THREAD, .wait_ns = 5 };
	cr_assert_eq(fault_queue(&plan, 2), 2);
	cr_assert_eq(fault_queue(&plan, 4), 3);
	cr_assert_eq(fault_thread(&plan), 5);
}
