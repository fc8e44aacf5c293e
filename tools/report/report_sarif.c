/* SPDX-License-Identifier: BSD-2-Clause */
/* report_sarif.c - the report as SARIF 2.1.0, which code hosts show beside the lines. */
#include <ctype.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/report/report_steps.h"
#include "tools/report/report_out.h"

/* A path as the path of a URI. */
static const char *sarif_uri(const char *path)
{
	char *out = report_alloc(3 * strlen(path) + 1);
	size_t to = 0;

	for (; *path; path++)
		if (isalnum((unsigned char)*path) || strchr("/._-~+,@", *path))
			out[to++] = *path;
		else
			to += (size_t)sprintf(out + to, "%%%02X", (unsigned char)*path);
	return out;
}

/* The folder that paths are told relative to, with a slash at its end: where the command was run. */
static const char *sarif_root(void)
{
	static const char *root;
	char *folder;

	if (!root) {
		folder = getcwd(NULL, 0);
		root = folder && strcmp(folder, "/") != 0 ? report_format("%s/", folder) : "/";
		free(folder);
	}
	return root;
}

static cJSON *sarif_message(const char *text)
{
	cJSON *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "text", text);
	return json;
}

static cJSON *sarif_artifact(const char *path)
{
	cJSON *json = cJSON_CreateObject();
	size_t root = strlen(sarif_root());

	if (root > 1 && strncmp(path, sarif_root(), root) == 0) {
		cJSON_AddStringToObject(json, "uri", sarif_uri(path + root));
		cJSON_AddStringToObject(json, "uriBaseId", "SRCROOT");
	} else {
		cJSON_AddStringToObject(json, "uri", report_format("%s%s", *path == '/' ? "file://" : "", sarif_uri(path)));
	}
	return json;
}

static cJSON *sarif_location(const struct report_frame *frame, const char *message)
{
	cJSON *json = cJSON_CreateObject(), *physical, *logical, *name;
	const char *function = report_frame_function(frame);

	if (frame->source && frame->line > 0) {
		physical = cJSON_AddObjectToObject(json, "physicalLocation");
		cJSON_AddItemToObject(physical, "artifactLocation", sarif_artifact(frame->source));
		cJSON_AddNumberToObject(cJSON_AddObjectToObject(physical, "region"), "startLine", frame->line);
	}
	logical = cJSON_AddArrayToObject(json, "logicalLocations");
	name = cJSON_CreateObject();
	cJSON_AddStringToObject(name, "name", function ? text_clean(function) : text_clean(report_frame_place(frame)));
	cJSON_AddStringToObject(name, "kind", "function");
	cJSON_AddItemToArray(logical, name);
	if (message)
		cJSON_AddItemToObject(json, "message", sarif_message(message));
	return json;
}

/* The stacks of one side. */
static void sarif_stacks(cJSON *stacks, const struct report_record *record)
{
	static const char *const titles[STACK_NAMES] = { "here", "posted", "opened", "closed" };
	cJSON *json, *frames, *frame;
	unsigned i, k;

	for (i = 0; i < STACK_NAMES; i++) {
		if (!record->stacks[i].count)
			continue;
		json = cJSON_CreateObject();
		cJSON_AddItemToObject(json, "message",
				      sarif_message(report_format("%s, %s[%ld]", titles[i], text_clean(record->process->program),
								  record->process->pid)));
		frames = cJSON_AddArrayToObject(json, "frames");
		for (k = 0; k < record->stacks[i].count; k++) {
			frame = cJSON_CreateObject();
			cJSON_AddItemToObject(frame, "location", sarif_location(&record->stacks[i].frames[k], NULL));
			cJSON_AddItemToArray(frames, frame);
		}
		cJSON_AddItemToArray(stacks, json);
	}
}

/* Where the region was opened and closed. */
static void sarif_related(cJSON *related, const struct report_record *record)
{
	const struct report_frame *opened = report_stack_site(&record->stacks[STACK_OPENED]);
	const struct report_frame *closed = report_stack_site(&record->stacks[STACK_CLOSED]);

	if (opened)
		cJSON_AddItemToArray(related, sarif_location(opened, "opened here"));
	if (closed)
		cJSON_AddItemToArray(related, sarif_location(closed, "closed here"));
}

static void sarif_suppress(cJSON *json, const struct report_result *finding)
{
	cJSON *one;

	if (!finding->expected)
		return;
	one = cJSON_CreateObject();
	cJSON_AddStringToObject(one, "kind", "external");
	cJSON_AddStringToObject(one, "justification",
				report_format("expected by %s:%u", text_clean(finding->expected->file), finding->expected->line));
	cJSON_AddItemToArray(cJSON_AddArrayToObject(json, "suppressions"), one);
}

static cJSON *sarif_result(const struct report_result *finding, unsigned rule)
{
	const struct report_record *record = finding->record, *target = finding->target;
	const char *text = people_headline(finding);
	cJSON *json = cJSON_CreateObject(), *list;

	if (record->remedy)
		text = report_format("%s Help: %s", text, text_clean(record->remedy));
	if (finding->left)
		text = report_format("%s Then %s.", text, finding->left);
	cJSON_AddStringToObject(json, "ruleId", record->cause);
	cJSON_AddNumberToObject(json, "ruleIndex", rule);
	cJSON_AddStringToObject(json, "level", finding->fails ? "error" : "note");
	cJSON_AddItemToObject(json, "message", sarif_message(text));
	cJSON_AddNumberToObject(json, "occurrenceCount", finding->count < 1 ? 1 : finding->count);
	list = cJSON_AddArrayToObject(json, "locations");
	if (finding->site)
		cJSON_AddItemToArray(list, sarif_location(finding->site, NULL));
	list = cJSON_AddArrayToObject(json, "relatedLocations");
	sarif_related(list, record);
	if (target)
		sarif_related(list, target);
	list = cJSON_AddArrayToObject(json, "stacks");
	sarif_stacks(list, record);
	if (target)
		sarif_stacks(list, target);
	sarif_suppress(json, finding);
	return json;
}

/* The index of a cause's rule, which is added when it is new. */
static unsigned sarif_rule(cJSON *rules, struct report_table *known, const struct report_result *finding)
{
	void **slot = report_slot(known, finding->record->cause);
	cJSON *rule;

	if (!*slot) {
		*slot = report_alloc(sizeof(unsigned));
		*(unsigned *)*slot = (unsigned)known->used - 1;
		rule = cJSON_CreateObject();
		cJSON_AddStringToObject(rule, "id", finding->record->cause);
		cJSON_AddItemToObject(rule, "shortDescription",
				      sarif_message(report_format("%s: %s", finding->record->kind, finding->record->cause)));
		cJSON_AddItemToArray(rules, rule);
	}
	return *(unsigned *)*slot;
}

static void sarif_note(cJSON *notes, const char *text)
{
	cJSON *note = cJSON_CreateObject();

	cJSON_AddStringToObject(note, "level", "error");
	cJSON_AddItemToObject(note, "message", sarif_message(text));
	cJSON_AddItemToArray(notes, note);
}

/* How the command ended, and what fails without being a finding. */
static void sarif_invocation(cJSON *run_json, const struct report_run *run)
{
	const struct report_expectation *expectation;
	const struct report_loss *loss;
	cJSON *json = cJSON_CreateObject(), *notes;

	cJSON_AddBoolToObject(json, "executionSuccessful", run->status <= 0 || run->status == REPORT_SKIPPED);
	if (run->status >= 0)
		cJSON_AddNumberToObject(json, "exitCode", run->status);
	notes = cJSON_AddArrayToObject(json, "toolExecutionNotifications");
	for (expectation = run->expectations; expectation; expectation = expectation->next) {
		if (!expectation->failed)
			continue;
		sarif_note(notes, report_format("%s:%u: %s", text_clean(expectation->file), expectation->line,
						text_clean(expectation->failed)));
	}
	if (run->none)
		sarif_note(notes, people_none(run));
	for (loss = run->losses; loss; loss = loss->next)
		sarif_note(notes, report_format("records are lost: %s", text_clean(loss->text)));
	cJSON_AddItemToArray(cJSON_AddArrayToObject(run_json, "invocations"), json);
}

char *report_as_sarif(const struct report_run *run)
{
	cJSON *json = cJSON_CreateObject(), *one = cJSON_CreateObject(), *driver, *rules, *results, *root;
	const struct report_result *finding;
	struct report_table known = { 0 };
	char *text;

	cJSON_AddStringToObject(json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	cJSON_AddStringToObject(json, "version", "2.1.0");
	cJSON_AddItemToArray(cJSON_AddArrayToObject(json, "runs"), one);
	driver = cJSON_AddObjectToObject(cJSON_AddObjectToObject(one, "tool"), "driver");
	cJSON_AddStringToObject(driver, "name", "emu");
	rules = cJSON_AddArrayToObject(driver, "rules");
	sarif_invocation(one, run);
	root = cJSON_AddObjectToObject(cJSON_AddObjectToObject(one, "originalUriBaseIds"), "SRCROOT");
	cJSON_AddStringToObject(root, "uri", report_format("file://%s", sarif_uri(sarif_root())));
	results = cJSON_AddArrayToObject(one, "results");
	for (finding = run->findings; finding; finding = finding->next)
		if (!finding->after)
			cJSON_AddItemToArray(results, sarif_result(finding, sarif_rule(rules, &known, finding)));
	text = cJSON_Print(json);
	cJSON_Delete(json);
	if (!text)
		errx(REPORT_ERROR, "no memory for the report");
	return text;
}
