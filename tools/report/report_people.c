/* SPDX-License-Identifier: BSD-2-Clause */
/* report_people.c - findings and the summary as text for people. */
#include "tools/report/report_out.h"

#include <string.h>

#include "tools/report/report_steps.h"

enum {
	FINDINGS_SHOWN = 50, /* of those that fail; a file has them all */
	FRAMES_SHOWN = 8,
	PROCESSES_SHOWN = 8,
};

static const char *const stack_titles[STACK_NAMES] = { "at", "posted", "opened", "closed" };

const char *people_none(const struct report_run *run)
{
	return report_format("no process opened the NIC: nothing of the command was looked at. --allow-none accepts that%s%s",
			     run->why_none ? ". " : "", run->why_none ? text_clean(run->why_none) : "");
}

/* What is wrong. Processes write the remedy behind it, which has a line of its own. */
static const char *text_of(const struct report_record *record)
{
	size_t length = record->text ? strlen(record->text) : 0, tail = record->remedy ? strlen(record->remedy) : 0;

	if (!record->text)
		return "(no sentence)";
	if (tail && length > tail && strcmp(record->text + length - tail, record->remedy) == 0)
		for (length -= tail; length && record->text[length - 1] == ' '; length--)
			;
	return text_clean(report_format("%.*s", (int)length, record->text));
}

const char *people_headline(const struct report_result *finding)
{
	return report_format("%s: %s", text_clean(finding->record->cause), text_of(finding->record));
}

static const char *process_name(const struct report_process *process)
{
	if (!process->head)
		return text_clean(process->program);
	return report_format("%s[%ld]%s%s", text_clean(process->program), process->pid, process->host ? "@" : "",
			     process->host ? text_clean(process->host) : "");
}

/* What begins a program is in each stack, and tells nothing. */
static bool is_start(const char *function)
{
	return function && (strcmp(function, "_start") == 0 || strncmp(function, "__libc_start", 12) == 0);
}

/* The frames of the program. Those of the NIC below them say nothing to its author. */
static void print_stack(FILE *out, const char *title, const struct report_stack *stack)
{
	unsigned i, shown = 0;
	const char *function;

	for (i = 0; i < stack->count && shown < FRAMES_SHOWN; i++) {
		if (stack->frames[i].below)
			continue;
		function = report_frame_function(&stack->frames[i]);
		if (is_start(function))
			break;
		fprintf(out, "  %-10s %s%s%s\n", shown++ ? "" : title, text_clean(report_frame_place(&stack->frames[i])),
			function ? " in " : "", function ? text_clean(function) : "");
	}
}

static void print_region(FILE *out, const char *title, const cJSON *region)
{
	const cJSON *access = cJSON_GetObjectItemCaseSensitive(region, "access"), *right;
	const char *key = report_string(region, "key"), *addr = report_string(region, "addr");
	const char *what = report_string(region, "what"), *state = report_string(region, "state");
	const char *between = ", access ";

	if (!cJSON_IsObject(region))
		return;
	fprintf(out, "  %-10s", title);
	if (what)
		fprintf(out, " %s", text_clean(what));
	if (what && (key || addr))
		fprintf(out, "\n  %-10s", "");
	if (key)
		fprintf(out, " key %s,", text_clean(key));
	if (addr)
		fprintf(out, " %.0f bytes at %s", report_number(region, "length"), text_clean(addr));
	cJSON_ArrayForEach(right, access)
	{
		fprintf(out, "%s%s", between, cJSON_IsString(right) ? text_clean(right->valuestring) : "?");
		between = "|";
	}
	if (state)
		fprintf(out, ", %s", text_clean(state));
	if (report_number(region, "age_ns") > 0)
		fprintf(out, ", %.3f s old", report_number(region, "age_ns") / 1e9);
	fputc('\n', out);
}

/* What one side knows. */
static void print_side(FILE *out, const struct report_record *record)
{
	const cJSON *op = cJSON_GetObjectItemCaseSensitive(record->json, "op");
	unsigned i;

	fprintf(out, "  %-10s %s%s%s\n", record->side ? text_clean(record->side) : "in", process_name(record->process),
		record->peer ? ", its peer " : "", record->peer ? text_clean(record->peer) : "");
	if (cJSON_IsObject(op))
		fprintf(out, "  %-10s %s of %.0f bytes, key %s, address %s\n", "op",
			report_string(op, "kind") ? text_clean(report_string(op, "kind")) : "?", report_number(op, "length"),
			report_string(op, "key") ? text_clean(report_string(op, "key")) : "-",
			report_string(op, "addr") ? text_clean(report_string(op, "addr")) : "-");
	print_region(out, "region", cJSON_GetObjectItemCaseSensitive(record->json, "region"));
	for (i = 0; i < STACK_NAMES; i++)
		print_stack(out, stack_titles[i], &record->stacks[i]);
	print_region(out, "nearest", cJSON_GetObjectItemCaseSensitive(record->json, "nearest"));
}

static void print_counts(FILE *out, const struct report_result *finding)
{
	unsigned i;

	if (finding->count == 1) {
		fprintf(out, "  %-10s once\n", "counted");
		return;
	}
	fprintf(out, "  %-10s %s times", "counted", text_number(finding->count));
	for (i = 0; i < finding->shares_count && i < PROCESSES_SHOWN && finding->shares_count > 1; i++)
		fprintf(out, "%s %s in %s", i ? "," : ":", text_number(finding->shares[i].count),
			process_name(finding->shares[i].process));
	if (i < finding->shares_count && i)
		fprintf(out, ", and in %u more processes", finding->shares_count - i);
	fputc('\n', out);
}

void people_finding(FILE *out, const struct report_result *finding)
{
	const struct report_record *record = finding->record, *target = finding->target;
	const cJSON *rules = cJSON_GetObjectItemCaseSensitive(record->json, "rules"), *rule;
	const char *remedy = record->remedy ? record->remedy : target ? target->remedy : NULL;
	const char *function = finding->site ? report_frame_function(finding->site) : NULL;

	fprintf(out, "%s: %s\n", finding->fails ? "error" : "note", people_headline(finding));
	if (finding->site)
		fprintf(out, "  --> %s%s%s\n", text_clean(report_frame_place(finding->site)), function ? " in " : "",
			function ? text_clean(function) : "");
	fprintf(out, "  %-10s %s%s%s%s", "kind", text_clean(record->kind), record->call ? ", by " : "",
		record->call ? text_clean(record->call) : "", record->injected ? ", injected by a fault plan" : "");
	if (cJSON_GetArraySize(rules))
		fputs(", rules", out);
	cJSON_ArrayForEach(rule, rules) fprintf(out, " %s", cJSON_IsString(rule) ? text_clean(rule->valuestring) : "?");
	fputc('\n', out);
	print_side(out, record);
	if (target) {
		if (target->text && record->text && strcmp(text_of(target), text_of(record)) != 0)
			fprintf(out, "  %-10s %s\n", "and there", text_of(target));
		print_side(out, target);
	}
	if (remedy)
		fprintf(out, "  %-10s %s\n", "help", text_clean(remedy));
	print_counts(out, finding);
	if (finding->nearly && finding->fails)
		fprintf(out, "  %-10s %s:%u accepts another refusal of this call: text= in a line of its own accepts this one\n",
			"not as", text_clean(finding->nearly->file), finding->nearly->line);
	if (finding->left)
		fprintf(out, "  %s\n", finding->left);
}

static void add_ops(struct report_totals *totals, const cJSON *ops)
{
	const cJSON *op;

	cJSON_ArrayForEach(op, ops)
	{
		totals->ops += report_number(op, "posted");
		totals->failed += report_number(op, "failed");
		totals->bytes += report_number(op, "bytes");
	}
}

void people_totals(const struct report_run *run, struct report_totals *out)
{
	const struct report_process *process;
	const cJSON *op;

	memset(out, 0, sizeof(*out));
	for (process = run->processes; process; process = process->next) {
		add_ops(out, cJSON_GetObjectItemCaseSensitive(process->end, "ops"));
		cJSON_ArrayForEach(op, cJSON_GetObjectItemCaseSensitive(process->end, "served"))
		{
			out->served += report_number(op, "done");
			out->refused += report_number(op, "refused");
		}
		out->regions_open += report_number(process->end, "regions_open");
		out->partial += !process->end;
		out->running += process->running;
		out->unreadable += process->corrupt + process->cut_off;
	}
}

struct cause_count {
	const char *cause;
	double count;
};

/* Refusals by cause, of all processes, as the end lines have them. */
static void print_causes(FILE *out, const struct report_run *run)
{
	const struct report_process *process;
	struct cause_count causes[64];
	size_t count = 0, i;
	const cJSON *item;

	for (process = run->processes; process; process = process->next)
		cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(process->end, "refusals"))
		{
			for (i = 0; i < count && strcmp(causes[i].cause, item->string) != 0; i++)
				;
			if (i == count && count == sizeof(causes) / sizeof(*causes))
				continue;
			if (i == count)
				causes[count++] = (struct cause_count){ .cause = item->string };
			causes[i].count += cJSON_IsNumber(item) ? item->valuedouble : 0;
		}
	for (i = 0; i < count; i++)
		fprintf(out, "%s %s %s", i ? "," : "; refused:", text_clean(causes[i].cause), text_number(causes[i].count));
}

static void print_partial(FILE *out, const struct report_run *run)
{
	const struct report_process *process;
	unsigned shown = 0;

	for (process = run->processes; process; process = process->next) {
		if (process->end && !process->corrupt && !process->cut_off && !process->lost)
			continue;
		if (++shown > PROCESSES_SHOWN)
			continue;
		fprintf(out, "emu: partial: %s", process_name(process));
		if (!process->end)
			fputs(process->running ? " still runs"
			      : process->lost  ? " could not write its records to the end"
			      : process->head  ? " was killed, or left without closing the NIC"
					       : " names no process: it was killed",
			      out);
		if (process->corrupt)
			fprintf(out, "%s %u of its records cannot be read", process->end ? "" : ";", process->corrupt);
		if (process->cut_off)
			fprintf(out, "%s its last record is cut off", process->end && !process->corrupt ? "" : ";");
		fputc('\n', out);
	}
	if (shown > PROCESSES_SHOWN)
		fprintf(out, "emu: partial: and %u more processes\n", shown - PROCESSES_SHOWN);
}

/* What fails, and is no finding. */
static void print_failures(FILE *out, const struct report_run *run)
{
	const struct report_expectation *expectation;
	const struct report_loss *loss;
	unsigned shown = 0;

	for (expectation = run->expectations; expectation; expectation = expectation->next)
		if (expectation->failed)
			fprintf(out, "error: %s:%u: %s\n", text_clean(expectation->file), expectation->line,
				text_clean(expectation->failed));
	if (run->none)
		fprintf(out, "error: %s\n", people_none(run));
	for (loss = run->losses; loss && shown < PROCESSES_SHOWN; loss = loss->next, shown++)
		fprintf(out, "error: records are lost: %s\n", text_clean(loss->text));
	if (run->losses_count > shown)
		fprintf(out, "error: records are lost of %u more processes\n", run->losses_count - shown);
}

/* What no page forbids: told to people, and no failure. */
static bool is_note(const struct report_result *finding)
{
	return !finding->expected && !finding->record->injected && strcmp(finding->record->kind, "note") == 0;
}

static void print_summary(FILE *out, const struct report_run *run)
{
	unsigned expected = 0, injected = 0, notes = 0;
	const struct report_result *finding;
	struct report_totals totals;

	people_totals(run, &totals);
	for (finding = run->findings; finding; finding = finding->next) {
		expected += finding->expected != NULL;
		injected += !finding->expected && finding->record->injected;
		notes += is_note(finding);
	}
	fprintf(out, "emu: %u process%s, %s op%s, %s", run->processes_count, run->processes_count == 1 ? "" : "es",
		text_number(totals.ops), totals.ops == 1 ? "" : "s", text_bytes(totals.bytes));
	print_causes(out, run);
	if (totals.regions_open)
		fprintf(out, "; regions left open: %s", text_number(totals.regions_open));
	fprintf(out, "\nemu: %u finding%s: %u unexpected, %u expected", run->findings_count, run->findings_count == 1 ? "" : "s",
		run->failing, expected);
	if (run->following)
		fprintf(out, ", %u left open after them", run->following);
	if (injected)
		fprintf(out, ", %u injected", injected);
	if (notes)
		fprintf(out, ", %u note%s", notes, notes == 1 ? "" : "s");
	fputc('\n', out);
	if (run->status > 0)
		fprintf(out, "emu: the command ended with status %d\n", run->status);
}

static bool is_told(const struct report_result *finding)
{
	return finding->fails && !finding->after;
}

/* Those that `pick` takes; how many. */
static unsigned print_findings(FILE *out, const struct report_run *run, bool (*pick)(const struct report_result *finding))
{
	const struct report_result *finding;
	unsigned shown = 0;

	for (finding = run->findings; finding && shown < FINDINGS_SHOWN; finding = finding->next)
		if (pick(finding)) {
			people_finding(out, finding);
			fputc('\n', out);
			shown++;
		}
	return shown;
}

void people_report(FILE *out, const struct report_run *run)
{
	unsigned shown = print_findings(out, run, is_told);

	if (run->failing > shown)
		fprintf(out, "and %u more: a report in a file (--report) has them all\n\n", run->failing - shown);
	(void)print_findings(out, run, is_note);
	print_failures(out, run);
	print_partial(out, run);
	print_summary(out, run);
}
