/* SPDX-License-Identifier: BSD-2-Clause */
/* rule_table.h - every rule that fi_mr(3) states, by number, with its class and a title; and those of verbs. */
#ifndef TESTS_RULES_RULE_TABLE_H
#define TESTS_RULES_RULE_TABLE_H

enum rule_class {
	RULE_PROVIDER, /* the provider owes it */
	RULE_IMPLIED,  /* the provider owes it by implication */
	RULE_PROGRAM,  /* the program owes it; a strict provider may say so */
	RULE_OPEN,     /* a permission or hint: only a third way is wrong */
	RULE_OLD,      /* for old programs */
	RULE_KERNEL,   /* of the kernel's page alone */
};

struct rule {
	enum rule_class class;
	const char *title;
};

enum { RULES = 198 };
extern const struct rule rule_table[RULES + 1]; /* by number, from 1 */

enum { VERBS_RULES = 239 };
extern const char *const verbs_rule_table[VERBS_RULES + 1]; /* the titles of those of verbs, V1 on */

/* 'S', 35: "S35  A key in use is refused"; good until the next call. */
const char *rule_title(char letter, unsigned number);

#endif
