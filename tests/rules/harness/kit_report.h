/* SPDX-License-Identifier: BSD-2-Clause */
/* kit_report.h - what the kit prints: a table for people, lines for a test runner, or JSON. */
#ifndef TESTS_RULES_KIT_REPORT_H
#define TESTS_RULES_KIT_REPORT_H

#include "tests/rules/harness/kit_run.h"

enum report_form { REPORT_TABLE, REPORT_TAP, REPORT_JSON };

/* What ran: "provider", "emu". */
struct report_fact {
	const char *name, *value;
};
enum { REPORT_FACTS = 3 };
struct report_head {
	struct report_fact facts[REPORT_FACTS]; /* a name that is NULL ends them */
};

void report_begin(enum report_form form, const struct report_head *head);
void report_test(const struct rule_test *test, const struct kit_outcome *outcome);
/* Prints the totals. How many failed. */
unsigned report_end(void);

#endif
