/* SPDX-License-Identifier: BSD-2-Clause */
/* rule_test.h - the tests of the rules, as a program finds them: each registers itself before main(). */
#ifndef TESTS_RULES_RULE_TEST_H
#define TESTS_RULES_RULE_TEST_H

#include <stdbool.h>
#include <stddef.h>

struct rule_test {
	const char *name; /* "S35_a_key_in_use_is_refused": the rules come first, S of fi_mr(3) or V of verbs */
	const char *file;
	void (*run)(void);
	struct rule_test *next;
};

void rule_test_add(struct rule_test *test);
extern struct rule_test *rule_tests; /* in the order of their names, once rule_tests_sort() was called */
void rule_tests_sort(void);

/* The group is the source file's name without its folder and ending. */
void rule_test_group(const struct rule_test *test, char *group, size_t size);
/* The nth rule that the name cites, from 0; 0 if there are no more. */
unsigned rule_test_rule(const struct rule_test *test, unsigned nth);
bool rule_test_cites(const struct rule_test *test, unsigned rule);
/* The name without its rules. */
const char *rule_test_title(const struct rule_test *test);

#define RULE_TEST(name, run)                                                  \
	static struct rule_test name##_test = { #name, __FILE__, run, NULL }; \
	__attribute__((constructor)) static void name##_add(void)             \
	{                                                                     \
		rule_test_add(&name##_test);                                  \
	}

#endif
