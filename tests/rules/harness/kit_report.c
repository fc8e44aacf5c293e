/* SPDX-License-Identifier: BSD-2-Clause */
/* kit_report.c - three forms of the same report. */
#include "tests/rules/harness/kit_report.h"

#include <cjson/cJSON.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rules/harness/rule_table.h"

static const char *const outcome_words[OUTCOMES] = {
	[OUTCOME_PASS] = "pass",
	[OUTCOME_PERMITTED] = "refused as permitted",
	[OUTCOME_FAIL] = "FAIL",
	[OUTCOME_NOT_APPLICABLE] = "not applicable",
};
/* The result in a test runner's terms: a refusal that is permitted is one more way to keep the rule. */
static const char *const tap_words[OUTCOMES] = {
	[OUTCOME_PASS] = "ok",
	[OUTCOME_PERMITTED] = "ok",
	[OUTCOME_FAIL] = "not ok",
	[OUTCOME_NOT_APPLICABLE] = "skip",
};

static enum report_form form;
static unsigned totals[OUTCOMES];
static cJSON *json, *json_tests;

/* The rules that a test cites: "S27,S29". */
static void rules_of(const struct rule_test *test, char *text, size_t size)
{
	unsigned nth, rule;
	size_t at = 0;

	*text = '\0';
	for (nth = 0; (rule = rule_test_rule(test, nth)) && at < size; nth++)
		at += (size_t)snprintf(text + at, size - at, "%s%c%u", nth ? "," : "", *test->name, rule);
}

/* "provider emu, api 2.1, libfabric 2.1" */
static void print_head(const struct report_head *head)
{
	printf("emu_rules:");
	for (int i = 0; i < REPORT_FACTS && head->facts[i].name; i++)
		printf("%s %s %s", i ? "," : "", head->facts[i].name, head->facts[i].value);
	printf("\n\n");
}

void report_begin(enum report_form wanted, const struct report_head *head)
{
	bool good;

	form = wanted;
	if (form == REPORT_TABLE)
		print_head(head);
	if (form != REPORT_JSON)
		return;
	json = cJSON_CreateObject();
	good = json;
	for (int i = 0; good && i < REPORT_FACTS && head->facts[i].name; i++)
		good = cJSON_AddStringToObject(json, head->facts[i].name, head->facts[i].value);
	if (!good || !(json_tests = cJSON_AddArrayToObject(json, "tests")))
		errx(2, "no memory for the report");
}

static void print_row(const struct rule_test *test, const struct kit_outcome *outcome)
{
	static unsigned printed;
	unsigned rule = rule_test_rule(test, 0);
	char rules[64];

	if (rule != printed)
		printf("%s%s\n", printed ? "\n" : "", rule_title(*test->name, rule));
	printed = rule;
	rules_of(test, rules, sizeof(rules));
	printf("  %-12s %-58s %s%s%s\n", rules, rule_test_title(test), outcome_words[outcome->kind], *outcome->text ? ": " : "",
	       outcome->text);
	fflush(stdout);
}

static void print_tap(const struct rule_test *test, const struct kit_outcome *outcome)
{
	char text[sizeof(outcome->text)];
	size_t i;

	snprintf(text, sizeof(text), "%s", outcome->text);
	for (i = 0; text[i]; i++)
		if (text[i] == '\n')
			text[i] = ' ';
	printf("%s %s%s%s\n", tap_words[outcome->kind], test->name, *text ? " " : "", text);
	fflush(stdout);
}

static void add_json(const struct rule_test *test, const struct kit_outcome *outcome)
{
	cJSON *row = cJSON_CreateObject(), *rules = row ? cJSON_AddArrayToObject(row, "rules") : NULL;
	unsigned nth, rule;
	bool good = rules;

	for (nth = 0; good && (rule = rule_test_rule(test, nth)); nth++) {
		char name[16];

		snprintf(name, sizeof(name), "%c%u", *test->name, rule);
		good = cJSON_AddItemToArray(rules, cJSON_CreateString(name));
	}
	good = good && cJSON_AddStringToObject(row, "test", rule_test_title(test)) &&
	       cJSON_AddStringToObject(row, "outcome", outcome_words[outcome->kind]) &&
	       cJSON_AddStringToObject(row, "why", outcome->text) && cJSON_AddNumberToObject(row, "ms", outcome->ms) &&
	       cJSON_AddItemToArray(json_tests, row);
	if (!good)
		errx(2, "no memory for the report");
}

void report_test(const struct rule_test *test, const struct kit_outcome *outcome)
{
	totals[outcome->kind]++;
	switch (form) {
	case REPORT_TABLE:
		print_row(test, outcome);
		break;
	case REPORT_TAP:
		print_tap(test, outcome);
		break;
	case REPORT_JSON:
		add_json(test, outcome);
		break;
	}
}

static void print_json(void)
{
	cJSON *sums = cJSON_AddObjectToObject(json, "totals");
	char *text;
	int kind;

	for (kind = 0; sums && kind < OUTCOMES; kind++)
		cJSON_AddNumberToObject(sums, outcome_words[kind], totals[kind]);
	text = cJSON_Print(json);
	if (!text)
		errx(2, "no memory for the report");
	puts(text);
	cJSON_free(text);
	cJSON_Delete(json);
}

unsigned report_end(void)
{
	if (form == REPORT_TABLE)
		printf("\n%u pass, %u refused as permitted, %u FAIL, %u not applicable\n", totals[OUTCOME_PASS],
		       totals[OUTCOME_PERMITTED], totals[OUTCOME_FAIL], totals[OUTCOME_NOT_APPLICABLE]);
	else if (form == REPORT_JSON)
		print_json();
	return totals[OUTCOME_FAIL];
}
