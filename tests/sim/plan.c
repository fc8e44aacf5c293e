/* SPDX-License-Identifier: BSD-2-Clause */
/* plan.c - fault plans: the ops that a rule names meet its fault, all others do not, and the same ones whatever the weather. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/faults/fault_plan.h"
#include "tests/sim/harness/bed.h"

enum { OPS = 40, BYTES = 192 };
static const enum op_kind kinds[] = { OP_SEND, OP_WRITE, OP_READ, OP_ATOMIC };
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* A rule for every op of every peer. */
static struct fault_rule rule_of(enum fault_sort sort)
{
	return (struct fault_rule){
		.sort = sort, .kinds = FAULT_ALL_KINDS, .first = 1, .every = 1, .most = UINT64_MAX, .chance = FAULT_CERTAIN
	};
}

static struct fault_rule refusing(enum refusal_cause cause)
{
	struct fault_rule rule = rule_of(PLAN_REFUSE);

	rule.cause = cause;
	return rule;
}

/* Two parties, one rule. */
struct stage {
	struct fault_plan plan;
	struct nic_config config;
	struct bed bed;
	struct region *target; /* of the second */
	struct job *job[KINDS][OPS];
};

static void stage_open(struct stage *stage, uint64_t weather, uint64_t seed, struct fault_rule rule)
{
	*stage = (struct stage){ .plan = { .seed = seed, .rules = 1, .rule = { rule } } };
	stage->config.fault = &stage->plan;
	bed_open(&stage->bed, weather, 2, &stage->config, NULL);
	if (weather & 1) {
		stage->bed.world->weather.delay_max_ns = 3000000;
		stage->bed.world->weather.chunk_max = 700;
		stage->bed.world->weather.cut_mean = 20000;
		stage->bed.world->weather.cuts_left = 6;
	}
	stage->target = region_open(stage->bed.party[1], KINDS * OPS * BYTES, 1, BED_BOTH, false, 0);
}

/* The i-th op of a kind; may.good and causes are the caller's to change before it posts. */
static struct job *stage_job(struct stage *stage, int kind, int i)
{
	struct party *from = stage->bed.party[0];
	uint64_t offset = (uint64_t)(kind * OPS + i) * BYTES;
	struct job *job;

	if (kinds[kind] == OP_SEND)
		job = job_message(from, stage->bed.party[1], BYTES, POST_COMPLETE, 1);
	else if (kinds[kind] == OP_ATOMIC)
		job = job_atomic(from, stage->target, i & 1 ? JOB_SUM : JOB_FETCH_SUM, offset, 64, POST_COMPLETE, 1);
	else
		job = job_rma(from, stage->target, kinds[kind], offset, BYTES, POST_COMPLETE, 1);
	cr_assert(job);
	stage->job[kind][i] = job;
	return job;
}

/* Posts OPS of each kind in turn, any of which may come to `cause`. */
static void stage_post_all(struct stage *stage, enum refusal_cause cause)
{
	for (int i = 0; i < OPS; i++) {
		for (int kind = 0; kind < KINDS; kind++) {
			struct job *job = stage_job(stage, kind, i);

			if (cause)
				job_may(job, cause);
			cr_assert(!job_post(job));
		}
	}
}

static void stage_close(struct stage *stage)
{
	bed_close(&stage->bed);
}

/* Number 3, and each fourth after it, twice, of every kind. */
Test(sim_plan, refuses_by_number)
{
	for (uint64_t weather = 2000; weather < 2010; weather++) {
		struct fault_rule rule = refusing(REFUSAL_RESOURCE);
		struct stage stage;

		rule.first = 3;
		rule.every = 4;
		rule.most = 2;
		stage_open(&stage, weather, 1, rule);
		stage_post_all(&stage, REFUSAL_RESOURCE);
		model_end(stage.bed.model, BED_LIMIT_NS);
		for (int kind = 0; kind < KINDS; kind++)
			for (int i = 0; i < OPS; i++)
				cr_assert_eq(stage.job[kind][i]->failed, i == 2 || i == 6, "kind %d number %d", kind, i + 1);
		cr_assert(node_logged(stage.bed.node[1], "injected by the target's fault plan"));
		stage_close(&stage);
	}
}

/* The ops that one side posts are not counted with those that it is asked for. */
Test(sim_plan, each_side_has_its_numbers)
{
	struct fault_rule rule = refusing(REFUSAL_RIGHT);
	struct job *back[OPS];
	struct region *own;
	struct stage stage;

	rule.every = 3;
	stage_open(&stage, 2012, 1, rule);
	own = region_open(stage.bed.party[0], OPS * BYTES, 1, BED_BOTH, false, 0);
	for (int i = 0; i < OPS; i++) {
		back[i] = job_rma(stage.bed.party[1], own, OP_WRITE, (uint64_t)i * BYTES, BYTES, POST_COMPLETE, 1);
		job_may(stage_job(&stage, 1, i), REFUSAL_RIGHT);
		job_may(back[i], REFUSAL_RIGHT);
		cr_assert(!job_post(stage.job[1][i]) && !job_post(back[i]));
		model_finish(stage.bed.model, BED_LIMIT_NS);
		cr_assert(stage.job[1][i]->failed == !(i % 3) && back[i]->failed == !(i % 3), "number %d", i + 1);
	}
	model_end(stage.bed.model, BED_LIMIT_NS);
	stage_close(&stage);
}

static void draws(uint64_t weather, uint64_t seed, bool failed[KINDS][OPS])
{
	struct fault_rule rule = refusing(REFUSAL_UNKNOWN_KEY);
	struct stage stage;

	rule.chance = FAULT_CERTAIN / 4;
	stage_open(&stage, weather, seed, rule);
	stage_post_all(&stage, REFUSAL_UNKNOWN_KEY);
	model_end(stage.bed.model, BED_LIMIT_NS);
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < OPS; i++)
			failed[kind][i] = stage.job[kind][i]->failed;
	stage_close(&stage);
}

/* In calm and in rough weather the same ops; about as many as the chance says; with another seed others. */
Test(sim_plan, the_seed_says_which)
{
	bool first[KINDS][OPS], again[KINDS][OPS];
	int count = 0;

	draws(2020, 7, first);
	for (uint64_t weather = 2021; weather < 2029; weather++) {
		draws(weather, 7, again);
		cr_assert(!memcmp(first, again, sizeof(first)), "weather %llu", (unsigned long long)weather);
	}
	draws(2020, 8, again);
	cr_assert(memcmp(first, again, sizeof(first)));
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < OPS; i++)
			count += first[kind][i];
	cr_assert(count > KINDS * OPS / 8 && count < KINDS * OPS / 2, "%d", count);
}

/* A long write, in many segments, is one op. */
Test(sim_plan, a_message_is_one_op)
{
	for (uint64_t weather = 2030; weather < 2034; weather++) {
		struct fault_rule rule = refusing(REFUSAL_RIGHT);
		struct region *large;
		struct stage stage;
		struct job *job[6];

		rule.first = 2;
		rule.every = 2;
		stage_open(&stage, weather, 1, rule);
		large = region_open(stage.bed.party[1], 6 << 20, 1, BED_BOTH, false, 0);
		for (int i = 0; i < 6; i++) {
			job[i] = job_rma(stage.bed.party[0], large, i % 3 ? OP_WRITE : OP_READ, (uint64_t)i << 20, 1 << 20,
					 POST_COMPLETE, 1);
			job_may(job[i], REFUSAL_RIGHT);
			cr_assert(!job_post(job[i]));
		}
		model_end(stage.bed.model, BED_LIMIT_NS);
		/* Reads are 0 and 3; writes 1, 2, 4 and 5. */
		for (int i = 0; i < 6; i++)
			cr_assert_eq(job[i]->failed, i == 3 || i == 2 || i == 5, "job %d", i);
		stage_close(&stage);
	}
}

/* One kind, one region, and perhaps one peer: its host, or that port there, or one where no endpoint is. */
enum naming { ANY_PEER, BY_HOST, BY_PORT, BY_WRONG_PORT };

static void names(enum naming naming)
{
	enum { KEY = 0x2a };
	struct fault_rule rule = refusing(REFUSAL_CLOSED);
	struct fault_plan plan = { .rules = 1 };
	struct nic_config config = { .fault = &plan };
	struct region *meant, *other;
	struct bed bed;

	/* The plan is read when the NIC opens: so its endpoints' names are learnt in a world like it. */
	bed_open(&bed, 2040, 3, NULL, NULL);
	rule.kinds = 1 << OP_WRITE;
	rule.keyed = true;
	rule.key = KEY;
	if (naming != ANY_PEER)
		address_canonical((const struct sockaddr *)&bed.party[1]->name, &rule.peer);
	if (naming == BY_HOST)
		((struct sockaddr_in *)&rule.peer)->sin_port = 0;
	if (naming == BY_WRONG_PORT)
		((struct sockaddr_in *)&rule.peer)->sin_port ^= 1;
	bed_close(&bed);
	plan.rule[0] = rule;
	bed_open(&bed, 2040, 3, &config, NULL);
	meant = region_open(bed.party[0], 8192, 1, BED_BOTH, false, KEY);
	other = region_open(bed.party[0], 8192, 1, BED_BOTH, false, KEY + 1);
	for (uint64_t i = 0; i < 12; i++) {
		struct region *region = i & 1 ? meant : other;
		struct party *from = bed.party[1 + (i >> 1 & 1)];
		enum op_kind kind = i >> 2 & 1 ? OP_READ : OP_WRITE;
		struct job *job = job_rma(from, region, kind, i * 64, 60, POST_COMPLETE, 1);

		if (region == meant && kind == OP_WRITE && naming != BY_WRONG_PORT &&
		    (from == bed.party[1] || naming == ANY_PEER)) {
			job->may.good = false;
			job_may(job, REFUSAL_CLOSED);
		}
		cr_assert(!job_post(job));
	}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

Test(sim_plan, rules_name_what_they_mean)
{
	for (int naming = ANY_PEER; naming <= BY_WRONG_PORT; naming++)
		names((enum naming)naming);
}

/* Messages that wait for the receiver arrive in the end, in order, and once. In calm weather all are counted. */
Test(sim_plan, receiver_not_ready)
{
	for (uint64_t weather = 2050; weather < 2060; weather++) {
		struct fault_rule rule = rule_of(PLAN_RNR);
		struct stage stage;

		rule.first = 3;
		rule.every = 4;
		rule.most = 2;
		rule.times = 3;
		stage_open(&stage, weather, 1, rule);
		for (int i = 0; i < OPS; i++) {
			for (int kind = 0; kind < KINDS; kind++) {
				struct job *job = stage_job(&stage, kind, i);

				if (kinds[kind] == OP_WRITE && i & 1)
					job->flags |= POST_CQ_DATA;
				cr_assert(!job_post(job));
			}
		}
		model_end(stage.bed.model, BED_LIMIT_NS);
		/* Messages, and every other write. */
		if (!(weather & 1))
			cr_assert_eq(tap_count(stage.bed.world, TAP_RNR), 2 * 2 * 3, "%u", tap_count(stage.bed.world, TAP_RNR));
		stage_close(&stage);
	}
}

/* Three connections break, each at its op; nothing is lost, nothing done twice. */
static void cuts(uint64_t weather, bool before)
{
	struct fault_rule rule = rule_of(PLAN_CUT);
	struct stage stage;

	rule.first = 5;
	rule.every = 10;
	rule.most = 3;
	rule.times = 1;
	rule.before = before;
	rule.kinds = 1u << kinds[weather / 2 % KINDS];
	stage_open(&stage, weather, 1, rule);
	stage_post_all(&stage, REFUSAL_NONE);
	model_end(stage.bed.model, BED_LIMIT_NS);
	if (!(weather & 1))
		cr_assert_eq(stage.bed.world->cables_made, 4, "%u", stage.bed.world->cables_made);
	stage_close(&stage);
}

Test(sim_plan, cuts_connections)
{
	for (uint64_t weather = 2060; weather < 2076; weather++) {
		cuts(weather, false);
		cuts(weather, true);
	}
}

/* No connection for two seconds, whichever side dials: ops wait, or fail where the retry budget is shorter; those after it are
 * good. */
static void outage(uint64_t weather, uint64_t budget_ns)
{
	struct fault_rule rule = rule_of(PLAN_CUT);
	struct job *from[6], *back;
	struct region *own;
	struct stage stage = { .plan = { .rules = 1 } };
	uint64_t begun_ns;

	rule.first = 3;
	rule.most = 1;
	rule.kinds = 1 << OP_WRITE;
	rule.down_ns = 2 * SIM_SECOND;
	stage.plan.rule[0] = rule;
	stage.config = (struct nic_config){ .fault = &stage.plan, .retry_budget_ns = budget_ns };
	bed_open(&stage.bed, weather, 2, &stage.config, NULL);
	stage.target = region_open(stage.bed.party[1], KINDS * OPS * BYTES, 1, BED_BOTH, false, 0);
	own = region_open(stage.bed.party[0], 4096, 1, BED_BOTH, false, 0);
	begun_ns = stage.bed.world->now_ns;
	for (int i = 0; i < 6; i++) {
		from[i] = stage_job(&stage, 1, i);
		job_may(from[i], REFUSAL_UNREACHABLE);
		cr_assert(!job_post(from[i]));
	}
	model_pass(stage.bed.model, SIM_SECOND / 4);
	cr_assert(!from[3]->done, "there was a connection all the same");
	back = job_rma(stage.bed.party[1], own, OP_WRITE, 0, 100, POST_COMPLETE, 1); /* the other side dials, too */
	job_may(back, REFUSAL_UNREACHABLE);
	cr_assert(!job_post(back));
	model_finish(stage.bed.model, BED_LIMIT_NS);
	for (int i = 3; i < 6; i++)
		cr_assert_eq(from[i]->failed, budget_ns < rule.down_ns);
	cr_assert_eq(back->failed, budget_ns < rule.down_ns);
	if (budget_ns > rule.down_ns)
		cr_assert_geq(stage.bed.world->now_ns - begun_ns, rule.down_ns);
	model_pass(stage.bed.model, 4 * SIM_SECOND);
	cr_assert(!job_post(stage_job(&stage, 1, 7)));
	model_end(stage.bed.model, BED_LIMIT_NS);
	cr_assert(!stage.job[1][7]->failed);
	stage_close(&stage);
}

Test(sim_plan, no_connection_for_a_while)
{
	for (uint64_t weather = 2080; weather < 2086; weather += 2) {
		outage(weather, 10 * SIM_SECOND);
		outage(weather, SIM_SECOND);
	}
}

/* How long ops took that were posted one after another. */
static void times(uint64_t weather, uint64_t seed, struct fault_rule rule, uint64_t took_ns[OPS])
{
	struct stage stage;

	stage_open(&stage, weather, seed, rule);
	for (int i = 0; i < OPS; i++) {
		uint64_t posted_ns = stage.bed.world->now_ns;

		cr_assert(!job_post(stage_job(&stage, 1, i)));
		model_finish(stage.bed.model, BED_LIMIT_NS);
		took_ns[i] = stage.bed.world->now_ns - posted_ns;
	}
	model_end(stage.bed.model, BED_LIMIT_NS);
	stage_close(&stage);
}

enum { MS = 1000000 };

/* Within what the world itself takes. */
static bool alike(uint64_t a_ns, uint64_t b_ns)
{
	return (a_ns < b_ns ? b_ns - a_ns : a_ns - b_ns) < 5 * MS;
}

Test(sim_plan, latency_and_jitter)
{
	struct fault_rule rule = rule_of(PLAN_LATENCY);
	uint64_t first[OPS], again[OPS];
	int other = 0, same = 0;

	rule.wait_ns = 200 * MS;
	rule.jitter_ns = 100 * MS;
	rule.every = 2;
	times(2100, 7, rule, first);
	for (int i = 0; i < OPS; i++) {
		uint64_t least = i & 1 ? 0 : rule.wait_ns, most = i & 1 ? 0 : rule.wait_ns + rule.jitter_ns;

		cr_assert(first[i] >= least && (first[i] <= most || alike(first[i], most)), "number %d: %llu", i + 1,
			  (unsigned long long)first[i]);
	}
	times(2102, 7, rule, again);
	for (int i = 0; i < OPS; i++)
		cr_assert(alike(first[i], again[i]), "number %d", i + 1);
	times(2102, 8, rule, again);
	for (int i = 0; i < OPS; i++)
		other += !alike(first[i], again[i]);
	cr_assert_gt(other, OPS / 4);
	for (int i = 2; i < OPS; i += 2)
		same += alike(first[i], first[0]);
	cr_assert_lt(same, OPS / 4);
}

/* Many at once are late together, in whatever weather, and in their order. */
Test(sim_plan, latency_is_no_queue)
{
	for (uint64_t weather = 2110; weather < 2120; weather++) {
		struct fault_rule rule = rule_of(PLAN_LATENCY);
		struct stage stage;
		uint64_t begun_ns;

		rule.wait_ns = 50 * MS;
		rule.jitter_ns = 30 * MS;
		stage_open(&stage, weather, 1, rule);
		begun_ns = stage.bed.world->now_ns;
		stage_post_all(&stage, REFUSAL_NONE);
		model_pass(stage.bed.model, rule.wait_ns - MS);
		cr_assert_eq(stage.bed.model->open, KINDS * OPS);
		model_finish(stage.bed.model, BED_LIMIT_NS);
		if (!(weather & 1))
			cr_assert(alike(stage.bed.world->now_ns - begun_ns, rule.wait_ns + rule.jitter_ns));
		model_end(stage.bed.model, BED_LIMIT_NS);
		stage_close(&stage);
	}
}

/* The bytes are there, and the program does not hear of it yet; what has ended since may overtake. */
Test(sim_plan, late_completions)
{
	for (uint64_t weather = 2120; weather < 2130; weather++) {
		struct fault_rule rule = rule_of(PLAN_COMPLETION);
		struct stage stage;

		rule.wait_ns = SIM_SECOND;
		rule.jitter_ns = 100 * MS;
		rule.first = 2;
		rule.every = 3;
		stage_open(&stage, weather, 1, rule);
		stage_post_all(&stage, REFUSAL_NONE);
		model_pass(stage.bed.model, rule.wait_ns - MS);
		for (int kind = 0; kind < KINDS; kind++)
			for (int i = 0; i < OPS; i++)
				cr_assert_eq(stage.job[kind][i]->done, i % 3 != 1, "kind %d number %d", kind, i + 1);
		model_pass(stage.bed.model, rule.jitter_ns + SIM_SECOND);
		cr_assert_eq(stage.bed.model->open, 0);
		model_end(stage.bed.model, BED_LIMIT_NS);
		stage_close(&stage);
	}
}

/* A group of ranges is late if one of them is. */
Test(sim_plan, a_late_range)
{
	struct fault_rule rule = rule_of(PLAN_COMPLETION);
	struct stage stage;
	struct job *job;

	rule.wait_ns = SIM_SECOND;
	rule.first = 2;
	rule.most = 1;
	stage_open(&stage, 2132, 1, rule);
	job = job_rma(stage.bed.party[0], stage.target, OP_WRITE, 0, 4096, POST_COMPLETE, 1);
	job_split_remote(job, 4);
	cr_assert(!job_post(job));
	model_pass(stage.bed.model, rule.wait_ns - MS);
	cr_assert(!job->done);
	model_end(stage.bed.model, BED_LIMIT_NS);
	stage_close(&stage);
}

/* An endpoint that closes does not wait for them: they are reported at once. */
Test(sim_plan, late_completions_at_close)
{
	struct fault_rule rule = rule_of(PLAN_COMPLETION);
	struct stage stage;

	rule.wait_ns = 30 * SIM_SECOND;
	stage_open(&stage, 2134, 1, rule);
	stage_post_all(&stage, REFUSAL_NONE);
	model_pass(stage.bed.model, SIM_SECOND);
	cr_assert_eq(stage.bed.model->open, KINDS * OPS);
	party_close(stage.bed.party[0]);
	cr_assert_eq(stage.bed.model->open, 0);
	cr_assert(!stage.job[0][0]->failed);
	stage_close(&stage);
}

/* So many bytes take so long, and ops of all sorts get through. */
Test(sim_plan, bandwidth)
{
	for (uint64_t weather = 2140; weather < 2146; weather++) {
		enum { LONG = 1 << 20 };
		struct fault_rule rule = rule_of(PLAN_BANDWIDTH);
		struct region *large;
		struct stage stage;
		uint64_t begun_ns, took_ns;

		rule.rate = LONG; /* a second */
		stage_open(&stage, weather, 1, rule);
		large = region_open(stage.bed.party[1], LONG, 1, BED_BOTH, false, 0);
		begun_ns = stage.bed.world->now_ns;
		cr_assert(!job_post(job_rma(stage.bed.party[0], large, OP_WRITE, 0, LONG, POST_COMPLETE, 1)));
		model_finish(stage.bed.model, BED_LIMIT_NS);
		took_ns = stage.bed.world->now_ns - begun_ns;
		/* The last segment has its time after it. */
		cr_assert_gt(took_ns, SIM_SECOND * 3 / 4);
		if (!(weather & 1))
			cr_assert_lt(took_ns, SIM_SECOND * 5 / 4);
		stage_post_all(&stage, REFUSAL_NONE);
		model_end(stage.bed.model, BED_LIMIT_NS);
		stage_close(&stage);
	}
}

/* All rules that do not make ops fail, together, under a load of all sorts of ops. */
Test(sim_plan, all_together)
{
	for (uint64_t weather = 2150; weather < 2166; weather++) {
		struct fault_plan plan = { .seed = weather, .rules = 6 };
		struct nic_config config = { .fault = &plan };
		struct workload load = { .outstanding_max = 60,
					 .big_max = 300000,
					 .wrong_percent = 10,
					 .silent_percent = 20,
					 .commit_percent = 5,
					 .atomic_percent = 20,
					 .tag_percent = 30,
					 .sends = true,
					 .rma = true };
		struct bed bed;

		for (int i = 0; i < 6; i++) {
			static const enum fault_sort sorts[] = { PLAN_RNR,        PLAN_CUT,     PLAN_LATENCY,
								 PLAN_COMPLETION, PLAN_REORDER, PLAN_BANDWIDTH };

			plan.rule[i] = rule_of(sorts[i]);
			plan.rule[i].chance = FAULT_CERTAIN / (sorts[i] == PLAN_CUT ? 200 : 20);
			plan.rule[i].times = 2;
			plan.rule[i].before = weather & 1;
			plan.rule[i].down_ns = weather & 2 ? 5 * MS : 0;
			plan.rule[i].wait_ns = MS;
			plan.rule[i].jitter_ns = 20 * MS;
			plan.rule[i].rate = 20000000;
		}
		bed_open(&bed, weather, 3, &config, &(struct party_config){ .order = EP_ORDER_SAS });
		workload_init(&load, bed.model, 600);
		workload_run(&load, BED_LIMIT_NS);
		bed_close(&bed);
	}
}
