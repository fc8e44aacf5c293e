/* SPDX-License-Identifier: BSD-2-Clause */
/* report_json.c - the report as one JSON object. */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report_steps.h"
#include "tools/report/report_out.h"

static void add_text(cJSON *object, const char *name, const char *text)
{
	if (text)
		cJSON_AddStringToObject(object, name, text);
}

static void add_copy(cJSON *object, const char *name, const cJSON *item)
{
	if (item)
		cJSON_AddItemToObject(object, name, cJSON_Duplicate(item, true));
}

static cJSON *json_frame(const struct report_frame *frame)
{
	cJSON *json = cJSON_CreateObject();

	add_text(json, "function", report_frame_function(frame));
	add_text(json, "source", frame->source);
	if (frame->source)
		cJSON_AddNumberToObject(json, "line", frame->line);
	add_text(json, "module", frame->module);
	add_text(json, "offset", report_format("0x%llx", (unsigned long long)frame->offset));
	return json;
}

static cJSON *json_process(const struct report_process *process)
{
	cJSON *json = cJSON_CreateObject();

	add_text(json, "host", process->host);
	cJSON_AddNumberToObject(json, "pid", (double)process->pid);
	add_text(json, "program", process->program);
	return json;
}

/* What one side knows. */
static cJSON *json_side(const struct report_record *record)
{
	static const char *const names[STACK_NAMES] = { "here", "posted", "opened", "closed" };
	static const char *const copied[] = { "time_ns", "tid", "number", "op", "peer", "region", "nearest", "text" };
	cJSON *json = cJSON_CreateObject(), *stacks = NULL, *stack;
	unsigned i, k;

	cJSON_AddItemToObject(json, "process", json_process(record->process));
	for (i = 0; i < sizeof(copied) / sizeof(*copied); i++)
		add_copy(json, copied[i], cJSON_GetObjectItemCaseSensitive(record->json, copied[i]));
	for (i = 0; i < STACK_NAMES; i++) {
		if (!record->stacks[i].count)
			continue;
		if (!stacks)
			stacks = cJSON_AddObjectToObject(json, "stacks");
		stack = cJSON_AddArrayToObject(stacks, names[i]);
		for (k = 0; k < record->stacks[i].count; k++)
			cJSON_AddItemToArray(stack, json_frame(&record->stacks[i].frames[k]));
	}
	return json;
}

static cJSON *json_finding(const struct report_result *finding)
{
	const struct report_record *record = finding->record, *target = finding->target;
	cJSON *json = cJSON_CreateObject(), *shares, *share;
	unsigned i;

	add_text(json, "kind", record->kind);
	add_text(json, "cause", record->cause);
	add_text(json, "text", record->text);
	add_text(json, "remedy", record->remedy ? record->remedy : target ? target->remedy : NULL);
	add_text(json, "call", record->call);
	add_copy(json, "rules", cJSON_GetObjectItemCaseSensitive(record->json, "rules"));
	cJSON_AddBoolToObject(json, "unexpected", finding->fails);
	cJSON_AddBoolToObject(json, "injected", record->injected);
	if (finding->expected)
		add_text(json, "expected_by", report_format("%s:%u", finding->expected->file, finding->expected->line));
	cJSON_AddNumberToObject(json, "count", finding->count);
	add_text(json, "left_open", finding->left);
	if (finding->after)
		cJSON_AddNumberToObject(json, "follows", finding->after->number);
	if (finding->site)
		cJSON_AddItemToObject(json, "site", json_frame(finding->site));
	cJSON_AddItemToObject(json, record->side && *record->side ? record->side : "local", json_side(record));
	if (target)
		cJSON_AddItemToObject(json, "target", json_side(target));
	shares = cJSON_AddArrayToObject(json, "processes");
	for (i = 0; i < finding->shares_count; i++) {
		share = json_process(finding->shares[i].process);
		cJSON_AddNumberToObject(share, "count", finding->shares[i].count);
		cJSON_AddItemToArray(shares, share);
	}
	return json;
}

static void add_processes(cJSON *json, const struct report_run *run)
{
	static const char *const copied[] = { "command", "personality", "version", "checked" };
	static const char *const ends[] = { "ops", "served", "refusals", "regions_open" };
	cJSON *all = cJSON_AddArrayToObject(json, "processes"), *one;
	const struct report_process *process;
	size_t i;

	for (process = run->processes; process; process = process->next) {
		one = json_process(process);
		for (i = 0; i < sizeof(copied) / sizeof(*copied); i++)
			add_copy(one, copied[i], cJSON_GetObjectItemCaseSensitive(process->head, copied[i]));
		cJSON_AddBoolToObject(one, "partial", !process->end || process->corrupt || process->cut_off);
		cJSON_AddBoolToObject(one, "running", process->running);
		cJSON_AddNumberToObject(one, "unreadable_records", process->corrupt + process->cut_off);
		for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
			add_copy(one, ends[i], cJSON_GetObjectItemCaseSensitive(process->end, ends[i]));
		cJSON_AddItemToArray(all, one);
	}
}

static void add_run(cJSON *json, const struct report_run *run)
{
	struct report_totals totals;
	cJSON *summary, *command;
	size_t i;

	people_totals(run, &totals);
	cJSON_AddNumberToObject(json, "verdict", run->verdict);
	if (run->status >= 0)
		cJSON_AddNumberToObject(json, "status", run->status);
	if (run->command) {
		command = cJSON_AddArrayToObject(json, "command");
		for (i = 0; run->command[i]; i++)
			cJSON_AddItemToArray(command, cJSON_CreateString(run->command[i]));
	}
	cJSON_AddBoolToObject(json, "none", run->none);
	summary = cJSON_AddObjectToObject(json, "summary");
	cJSON_AddNumberToObject(summary, "processes", run->processes_count);
	cJSON_AddNumberToObject(summary, "partial", totals.partial);
	cJSON_AddNumberToObject(summary, "running", totals.running);
	cJSON_AddNumberToObject(summary, "unreadable_records", totals.unreadable);
	cJSON_AddNumberToObject(summary, "findings", run->findings_count);
	cJSON_AddNumberToObject(summary, "unexpected", run->failing);
	cJSON_AddNumberToObject(summary, "ops", totals.ops);
	cJSON_AddNumberToObject(summary, "ops_failed", totals.failed);
	cJSON_AddNumberToObject(summary, "bytes", totals.bytes);
	cJSON_AddNumberToObject(summary, "served", totals.served);
	cJSON_AddNumberToObject(summary, "refused", totals.refused);
	cJSON_AddNumberToObject(summary, "regions_open", totals.regions_open);
}

char *report_as_json(const struct report_run *run)
{
	cJSON *json = cJSON_CreateObject(), *list, *unmet;
	const struct report_expectation *expectation;
	const struct report_result *finding;
	const struct report_loss *loss;
	char *text;

	cJSON_AddNumberToObject(json, "emu_report", 1);
	cJSON_AddStringToObject(json, "type", "report");
	add_run(json, run);
	list = cJSON_AddArrayToObject(json, "findings");
	for (finding = run->findings; finding; finding = finding->next)
		cJSON_AddItemToArray(list, json_finding(finding));
	list = cJSON_AddArrayToObject(json, "unmet");
	for (expectation = run->expectations; expectation; expectation = expectation->next) {
		if (!expectation->failed)
			continue;
		unmet = cJSON_CreateObject();
		add_text(unmet, "at", report_format("%s:%u", expectation->file, expectation->line));
		add_text(unmet, "text", expectation->failed);
		cJSON_AddItemToArray(list, unmet);
	}
	list = cJSON_AddArrayToObject(json, "lost");
	for (loss = run->losses; loss; loss = loss->next)
		cJSON_AddItemToArray(list, cJSON_CreateString(text_clean(loss->text)));
	add_processes(json, run);
	text = cJSON_Print(json);
	cJSON_Delete(json);
	if (!text)
		errx(REPORT_ERROR, "no memory for the report");
	return text;
}
