/* SPDX-License-Identifier: BSD-2-Clause */
/* rule_test.c - the list of tests, and what their names say. */
#include "tests/rules/harness/rule_test.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rule_test *rule_tests;

void rule_test_add(struct rule_test *test)
{
	test->next = rule_tests;
	rule_tests = test;
}

/* By rule, then by name. */
static bool before(const struct rule_test *a, const struct rule_test *b)
{
	unsigned one = rule_test_rule(a, 0), other = rule_test_rule(b, 0);

	return one != other ? one < other : strcmp(a->name, b->name) < 0;
}

void rule_tests_sort(void)
{
	struct rule_test *sorted = NULL, *test, **at;

	while ((test = rule_tests)) {
		rule_tests = test->next;
		for (at = &sorted; *at && before(*at, test); at = &(*at)->next)
			;
		test->next = *at;
		*at = test;
	}
	rule_tests = sorted;
}

void rule_test_group(const struct rule_test *test, char *group, size_t size)
{
	const char *slash = strrchr(test->file, '/');

	snprintf(group, size, "%s", slash ? slash + 1 : test->file);
	group[strcspn(group, ".")] = '\0';
}

static bool is_rule(const char *at)
{
	return (at[0] == 'S' || at[0] == 'V') && isdigit((unsigned char)at[1]);
}

/* Where in the name the nth rule stands; NULL if there is none. */
static const char *cited(const struct rule_test *test, unsigned nth)
{
	const char *at = test->name;

	while (is_rule(at)) {
		if (!nth--)
			return at;
		at += 1 + strspn(at + 1, "0123456789");
		at += *at == '_';
	}
	return NULL;
}

unsigned rule_test_rule(const struct rule_test *test, unsigned nth)
{
	const char *at = cited(test, nth);

	return at ? (unsigned)strtoul(at + 1, NULL, 10) : 0;
}

bool rule_test_cites(const struct rule_test *test, unsigned rule)
{
	unsigned nth, found;

	for (nth = 0; (found = rule_test_rule(test, nth)); nth++)
		if (found == rule)
			return true;
	return false;
}

const char *rule_test_title(const struct rule_test *test)
{
	const char *at = test->name;

	while (is_rule(at)) {
		at += 1 + strspn(at + 1, "0123456789");
		at += *at == '_';
	}
	return at;
}
