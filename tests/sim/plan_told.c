/* SPDX-License-Identifier: BSD-2-Clause */
/* plan_told.c - fault plans: what is told of, and to whom. */
#include <criterion/criterion.h>

#include "emu/nic/fault_plan.h"
#include "tests/sim/bed.h"

/* For every op of every peer. */
static struct fault_plan one_rule(enum fault_sort sort)
{
	return (struct fault_plan){ .rules = 1, .rule = { { .sort = sort, .kinds = FAULT_ALL_KINDS, .first = 1, .every = 1,
							    .most = UINT64_MAX, .chance = FAULT_CERTAIN } } };
}

/* What else befalls an op is not said to be injected (judge_error()), though a refusal was, before, in its place of the pool. */
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

/* Whoever looks when it is time hears that there was something to do. */
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
