/* SPDX-License-Identifier: BSD-2-Clause */
/* report_order.c - findings with their causes first: a program that ends at its first error leaves everything open. */
#include "tools/report/report_steps.h"

#include <stdlib.h>
#include <string.h>

#include "tools/report/report_out.h"

static bool is_leak(const struct report_result *finding)
{
	return strcmp(finding->record->kind, "leak") == 0;
}

static int in_time(const void *a, const void *b)
{
	const struct report_result *one = *(struct report_result *const *)a, *other = *(struct report_result *const *)b;

	if (is_leak(one) != is_leak(other))
		return is_leak(one) ? 1 : -1;
	if (one->first_ns != other->first_ns)
		return one->first_ns < other->first_ns ? -1 : 1;
	return one->number < other->number ? -1 : 1;
}

static void sort_findings(struct report_run *run)
{
	struct report_result **all = report_alloc((run->findings_count + 1) * sizeof(struct report_result *)), *finding;
	unsigned count = 0, i;

	for (finding = run->findings; finding; finding = finding->next) {
		finding->number = count;
		all[count++] = finding;
	}
	qsort(all, count, sizeof(struct report_result *), in_time);
	run->findings_end = &run->findings;
	for (i = 0; i < count; i++) {
		all[i]->number = i;
		*run->findings_end = all[i];
		run->findings_end = &all[i]->next;
	}
	*run->findings_end = NULL;
}

/* Each process's first failure while it ran. */
static void find_causes(struct report_run *run)
{
	struct report_result *finding;
	unsigned i;

	for (finding = run->findings; finding; finding = finding->next)
		for (i = 0; i < finding->shares_count && finding->fails && !finding->record->at_exit; i++)
			if (!finding->shares[i].process->cause)
				finding->shares[i].process->cause = finding;
}

static struct report_result *cause_of_all(const struct report_result *finding)
{
	unsigned i;

	for (i = 0; i < finding->shares_count; i++)
		if (!finding->shares[i].process->cause)
			return NULL;
	return finding->shares[0].process->cause;
}

static const char *what_is_left(const struct report_left *left)
{
	static const struct {
		const char *cause, *one, *several;
	} names[] = {
		{ "region-open", "region", "regions" },
		{ "raw-key-open", "raw key", "raw keys" },
		{ "endpoint-open", "endpoint", "endpoints" },
		{ "domain-open", "domain", "domains" },
		{ "memory-unmapped", "region without memory", "regions without memory" },
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i].cause, left->cause) == 0)
			return report_format("%s %s", text_number(left->count), left->count == 1 ? names[i].one : names[i].several);
	return strcmp(left->cause, "closed-in-flight") == 0 ? "operations in flight" : text_clean(left->cause);
}

static void left_add(struct report_left **lefts, const char *cause, double count)
{
	for (; *lefts; lefts = &(*lefts)->next)
		if (strcmp((*lefts)->cause, cause) == 0)
			break;
	if (!*lefts) {
		*lefts = report_alloc(sizeof(**lefts));
		(*lefts)->cause = cause;
	}
	(*lefts)->count += count;
}

/* The finding becomes a part of its cause. */
static void follow(struct report_run *run, struct report_result *finding, struct report_result *cause)
{
	const cJSON *status;
	unsigned i;

	finding->after = cause;
	run->failing--;
	run->following++;
	left_add(&cause->lefts, finding->record->cause, finding->count);
	for (i = 0; i < finding->shares_count; i++) {
		status = cJSON_GetObjectItemCaseSensitive(finding->shares[i].process->end, "status");
		if (!cJSON_IsNumber(status) || (cause->left_by && strcmp(cause->left_by, text_number(status->valuedouble)) != 0))
			cause->left_by = "";
		else if (!cause->left_by)
			cause->left_by = text_number(status->valuedouble);
	}
}

static const char *left_text(const struct report_result *cause)
{
	const char *kind = strcmp(cause->record->kind, "call") == 0 ? "refused call" : cause->record->kind;
	const char *text = report_format("left open by exit(%s) after the %s above", cause->left_by, text_clean(kind));
	const struct report_left *left;

	for (left = cause->lefts; left; left = left->next)
		text = report_format("%s%s %s", text, left == cause->lefts ? ":" : ",", what_is_left(left));
	return text;
}

void report_order(struct report_run *run)
{
	struct report_result *finding, *cause;

	sort_findings(run);
	find_causes(run);
	for (finding = run->findings; finding; finding = finding->next)
		if (finding->fails && finding->record->at_exit && (cause = cause_of_all(finding)))
			follow(run, finding, cause);
	for (finding = run->findings; finding; finding = finding->next)
		if (finding->lefts)
			finding->left = left_text(finding);
}
