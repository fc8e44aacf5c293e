/* SPDX-License-Identifier: BSD-2-Clause */
/* report_merge.c - makes findings of records. */
#include "tools/report/report_steps.h"

#include <stdlib.h>
#include <string.h>

#include "tools/report/report_out.h"

enum { FRAMES_APART = 4 };

/* How far apart the two sides may find the same refusal: an initiator finds it when its program polls. */
static const double pair_window_ns = 10e9;

/* The records of one op, of both sides. */
struct report_bucket {
	struct report_record **records;
	size_t count, max;
	struct report_bucket *next;
};

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static bool is_side(const struct report_record *record, const char *side)
{
	return record->side && strcmp(record->side, side) == 0;
}

/* What both sides of a refusal know alike. */
static const char *paired_name(const struct report_record *record)
{
	const cJSON *op = cJSON_GetObjectItemCaseSensitive(record->json, "op");

	return report_format("%s|%s|%s|%s|%.0f", record->cause, or_empty(report_string(op, "kind")),
			     or_empty(report_string(op, "key")), or_empty(report_string(op, "addr")), report_number(op, "length"));
}

static void bucket_add(struct report_bucket *bucket, struct report_record *record)
{
	struct report_record **records;

	if (bucket->count == bucket->max) {
		bucket->max = bucket->max ? 2 * bucket->max : 4;
		records = report_alloc(bucket->max * sizeof(struct report_record *));
		if (bucket->count)
			memcpy(records, bucket->records, bucket->count * sizeof(struct report_record *));
		bucket->records = records;
	}
	bucket->records[bucket->count++] = record;
}

static int by_time(const void *a, const void *b)
{
	double left = (*(struct report_record *const *)a)->time_ns, right = (*(struct report_record *const *)b)->time_ns;

	return left < right ? -1 : left > right;
}

static const char *nearest_addr(const struct report_record *record)
{
	return or_empty(report_string(cJSON_GetObjectItemCaseSensitive(record->json, "nearest"), "addr"));
}

/* In one process the peer's regions are its own, and where a program has forked both have regions at the same addresses: that
 * the address lies in one of the initiator's is no mistake then. */
static bool is_meant(const struct report_record *initiator, const struct report_record *target)
{
	const char *addr = nearest_addr(initiator);

	return initiator->process == target->process || (*addr && strcmp(addr, nearest_addr(target)) == 0);
}

/* The target finds it first, and its initiator later: each initiator's takes the oldest target's that is left and near. */
static void bucket_pair(struct report_bucket *bucket)
{
	struct report_record *target;
	size_t i, next = 0;

	qsort(bucket->records, bucket->count, sizeof(struct report_record *), by_time);
	for (i = 0; i < bucket->count; i++) {
		if (!is_side(bucket->records[i], "initiator"))
			continue;
		for (; next < bucket->count; next++) {
			target = bucket->records[next];
			if (is_side(target, "target") && target->time_ns >= bucket->records[i]->time_ns - pair_window_ns)
				break;
		}
		if (next == bucket->count)
			return;
		target = bucket->records[next];
		if (target->time_ns > bucket->records[i]->time_ns + pair_window_ns)
			continue;
		if (is_meant(bucket->records[i], target))
			cJSON_DeleteItemFromObjectCaseSensitive(bucket->records[i]->json, "nearest");
		bucket->records[i]->other = target;
		target->other = bucket->records[i];
		next++;
	}
}

static void pair_sides(struct report_run *run)
{
	struct report_bucket *buckets = NULL, *bucket;
	struct report_table by_op = { 0 };
	struct report_record *record;
	void **slot;

	for (record = run->records; record; record = record->next) {
		if (!is_side(record, "initiator") && !is_side(record, "target"))
			continue;
		slot = report_slot(&by_op, paired_name(record));
		if (!*slot) {
			*slot = bucket = report_alloc(sizeof(*bucket));
			bucket->next = buckets;
			buckets = bucket;
		}
		bucket_add(*slot, record);
	}
	for (bucket = buckets; bucket; bucket = bucket->next)
		bucket_pair(bucket);
}

/* Whose first line of the program a finding is about: where the op was posted, the call was made, the region was opened. */
static const struct report_stack *stack_of(const struct report_record *record)
{
	static const enum report_stack_name order[] = { STACK_POSTED, STACK_HERE, STACK_OPENED, STACK_CLOSED };
	static const enum report_stack_name target[] = { STACK_OPENED, STACK_CLOSED, STACK_POSTED, STACK_HERE };
	const enum report_stack_name *names = is_side(record, "target") ? target : order;
	size_t i;

	for (i = 0; i < STACK_NAMES; i++)
		if (report_stack_site(&record->stacks[names[i]]))
			return &record->stacks[names[i]];
	return NULL;
}

/* The same for one sentence about other numbers: calls have no causes with names. */
static const char *sentence_name(const struct report_record *record)
{
	return strcmp(record->kind, "call") == 0 && record->text ? text_shape(record->text) : "";
}

/* The site and its callers: programs call through wrappers. The provider tells as many frames apart. */
static const char *stack_name(const struct report_stack *stack)
{
	const char *name = "";
	unsigned i, frames = 0;

	for (i = 0; i < stack->count && frames < FRAMES_APART; i++) {
		const struct report_frame *frame = &stack->frames[i];

		if (frame->below)
			continue;
		name = report_format("%s|%s|%s", name, frame->source ? "" : frame->module, report_frame_place(frame));
		frames++;
	}
	return name;
}

static const char *finding_name(const struct report_record *record, const struct report_stack *stack)
{
	const cJSON *op = cJSON_GetObjectItemCaseSensitive(record->json, "op");
	const char *head = report_format("%s|%s|%s|%s|%d|%s|%s", record->process->program, record->kind, record->cause,
					 or_empty(record->side), record->injected, or_empty(record->call), sentence_name(record));

	if (stack)
		return report_format("%s%s", head, stack_name(stack));
	return report_format("%s|%s|%s", head, or_empty(report_string(op, "kind")), or_empty(report_string(op, "key")));
}

static void finding_share(struct report_result *finding, const struct report_record *record)
{
	unsigned i = finding->shares_count;
	struct report_share *shares;

	finding->count += record->count;
	if (record->time_ns < finding->first_ns)
		finding->first_ns = record->time_ns;
	if (record->other && record->other->time_ns < finding->first_ns)
		finding->first_ns = record->other->time_ns;
	/* Records come process by process. */
	if (i && finding->shares[i - 1].process == record->process) {
		finding->shares[i - 1].count += record->count;
		return;
	}
	if ((i & (i - 1)) == 0) { /* room is doubled at powers of two */
		shares = report_alloc((i ? 2 * i : 1) * sizeof(*shares));
		if (i)
			memcpy(shares, finding->shares, i * sizeof(*shares));
		finding->shares = shares;
	}
	finding->shares[i] = (struct report_share){ .process = record->process, .count = record->count };
	finding->shares_count++;
}

void report_merge(struct report_run *run)
{
	struct report_table by_name = { 0 };
	struct report_result *finding;
	const struct report_stack *stack;
	struct report_record *record;
	void **slot;

	pair_sides(run);
	for (record = run->records; record; record = record->next) {
		if (is_side(record, "target") && record->other)
			continue;
		stack = stack_of(record);
		slot = report_slot(&by_name, finding_name(record, stack));
		finding = *slot;
		if (!finding) {
			*slot = finding = report_alloc(sizeof(*finding));
			finding->record = record;
			finding->stack = stack;
			finding->site = stack ? report_stack_site(stack) : NULL;
			finding->first_ns = record->time_ns;
			*run->findings_end = finding;
			run->findings_end = &finding->next;
			run->findings_count++;
		}
		if (!finding->target && record->other) {
			finding->record = record; /* so that both sides are of one refusal */
			finding->target = record->other;
		}
		finding_share(finding, record);
	}
}
