/* SPDX-License-Identifier: BSD-2-Clause */
/* kit_run.h - one test in processes of its own: however the provider fails, the kit goes on to the next. */
#ifndef TESTS_RULES_KIT_RUN_H
#define TESTS_RULES_KIT_RUN_H

#include "tests/rules/harness/rule_test.h"

enum outcome_kind {
	OUTCOME_PASS,
	OUTCOME_PERMITTED, /* the provider refuses, and the rule allows that */
	OUTCOME_FAIL,      /* a check failed, or a crash, a hang, an early exit */
	OUTCOME_NOT_APPLICABLE,
	OUTCOMES
};

struct kit_outcome {
	enum outcome_kind kind;
	unsigned ms;
	char text[2560]; /* why; empty for a pass */
};

/* Runs it, up to `seconds`, then kills all that it started. */
void kit_run(const struct rule_test *test, unsigned seconds, struct kit_outcome *outcome);

#endif
