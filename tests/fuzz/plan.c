/* SPDX-License-Identifier: BSD-2-Clause */
/* plan.c - fault plans, of any bytes: one is read, or refused with the line that is wrong, and asked about ops.
 *
 * Input: the file. */
#include "emu/process/faults/fault_file.h"
#include "tests/fuzz/fuzz.h"

static void ask(const struct fault_plan *plan)
{
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	struct fault_peer *counts = fault_peer_open(plan, &peer);
	struct fault_op op = { .kind = OP_WRITE };

	FUZZ_CHECK(counts);
	for (int i = 0; i < 3; i++) {
		for (unsigned sort = PLAN_REFUSE; sort < PLAN_SORTS; sort++) {
			const struct fault_rule *rule = fault_next(counts, (enum fault_sort)sort, &op);

			if (rule)
				FUZZ_CHECK(rule->sort == sort && fault_wait(counts, rule, &op) >= rule->wait_ns);
		}
		fault_count(counts, &op);
		op.ours = !op.ours;
	}
	fault_registration(plan, 1);
	for (uint32_t i = 0; i < plan->rules; i++) {
		const struct fault_rule *rule = &plan->rule[i];

		(void)fault_hits(plan, i, 1);
		FUZZ_CHECK(fault_call_wait(plan, i, 1) >= rule->wait_ns);
		FUZZ_CHECK(rule->sort != PLAN_CALL || (rule->calls && (rule->err || rule->wait_ns || rule->jitter_ns)));
		FUZZ_CHECK(rule->sort != PLAN_FAIL || rule->word);
		FUZZ_CHECK(rule->sort != PLAN_CM || rule->becomes || rule->wait_ns || rule->jitter_ns);
		FUZZ_CHECK(rule->sort != PLAN_EVENT || rule->timed == !rule->calls);
	}
	FUZZ_CHECK(fault_queue(plan, 100) <= 100);
	free(counts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fault_plan plan;
	char why[256] = "";

	if (fault_read_text((const char *)data, size, &plan, why, sizeof(why))) {
		FUZZ_CHECK(plan.rules <= LIMIT_FAULT_RULES);
		ask(&plan);
	} else {
		FUZZ_CHECK(*why);
	}
	return 0;
}
