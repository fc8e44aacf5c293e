/* SPDX-License-Identifier: BSD-2-Clause */
/* report_junit.c - the report as JUnit's XML: test cases for the command, what is asked of each run, each process, and each
 * expectation that failed. Their names are the same in each run, so that tools can follow them. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report_steps.h"
#include "tools/report/report_out.h"

enum { RUN_CASES = 2 }; /* xml_run() */

/* The findings that fail, of each process that had a share: of processes by address. */
struct junit_case {
	const struct report_result **findings;
	unsigned count, max;
};

static struct junit_case *case_of(struct report_table *cases, const struct report_process *process)
{
	void **slot = report_slot(cases, process->path);

	if (!*slot)
		*slot = report_alloc(sizeof(struct junit_case));
	return *slot;
}

static void case_add(struct junit_case *one, const struct report_result *finding)
{
	const struct report_result **findings;
	unsigned i;

	if (one->count == one->max) {
		one->max = one->max ? 2 * one->max : 4;
		findings = report_alloc(one->max * sizeof(*findings));
		for (i = 0; i < one->count; i++)
			findings[i] = one->findings[i];
		one->findings = findings;
	}
	one->findings[one->count++] = finding;
}

static void xml_finding(FILE *out, const struct report_result *finding)
{
	char *text = NULL, *line, *rest;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		errx(REPORT_ERROR, "no memory for the report");
	people_finding(memory, finding);
	fclose(memory);
	for (line = rest = text; (line = strsep(&rest, "\n"));)
		fprintf(out, "%s\n", text_xml(line));
	free(text);
}

static double process_seconds(const struct report_process *process)
{
	double from = report_number(process->head, "started_ns"), to = report_number(process->end, "time_ns");

	return from > 0 && to > from ? (to - from) / 1e9 : 0;
}

static void xml_process(FILE *out, const struct report_process *process, const struct junit_case *one)
{
	unsigned i;

	fprintf(out, "    <testcase classname=\"%s\" name=\"%s\" time=\"%.3f\">\n", text_xml(process->program),
		text_xml(process->name), process_seconds(process));
	if (one->count) {
		fprintf(out, "      <failure type=\"%s\" message=\"%s%s\">", text_xml(one->findings[0]->record->cause),
			text_xml(people_headline(one->findings[0])),
			one->count > 1 ? report_format(", and %u more", one->count - 1) : "");
		for (i = 0; i < one->count; i++)
			xml_finding(out, one->findings[i]);
		fputs("</failure>\n", out);
	}
	fprintf(out, "      <system-out>%s[%ld]%s%s%s</system-out>\n", text_xml(process->program), process->pid,
		process->host ? "@" : "", process->host ? text_xml(process->host) : "",
		!process->end || process->corrupt || process->cut_off || process->lost
			? ", partial: not all of its records are there"
			: "");
	fputs("    </testcase>\n", out);
}

static void xml_command(FILE *out, const struct report_run *run)
{
	const char *name = run->command ? text_xml(run->command[0]) : "command";

	fprintf(out, "    <testcase classname=\"emu.command\" name=\"%s\" time=\"%.3f\">\n", name, run->seconds);
	if (run->status == REPORT_SKIPPED)
		fputs("      <skipped message=\"the command ended with status 77\"/>\n", out);
	else if (run->status > 0)
		fprintf(out, "      <failure type=\"status\" message=\"the command ended with status %d\"/>\n", run->status);
	fputs("    </testcase>\n", out);
}

/* What is asked of each run. */
static void xml_run(FILE *out, const struct report_run *run)
{
	const struct report_loss *loss;

	fputs("    <testcase classname=\"emu\" name=\"a process opens the NIC\" time=\"0\">\n", out);
	if (run->none)
		fprintf(out, "      <failure type=\"none\" message=\"%s\"/>\n", text_xml(people_none(run)));
	else if (!run->processes_count)
		fputs("      <skipped message=\"none did\"/>\n", out);
	fputs("    </testcase>\n    <testcase classname=\"emu\" name=\"all records are there\" time=\"0\">\n", out);
	if (run->losses_count) {
		fprintf(out, "      <failure type=\"lost\" message=\"%s\">", text_xml(run->losses->text));
		for (loss = run->losses; loss; loss = loss->next)
			fprintf(out, "%s\n", text_xml(loss->text));
		fputs("</failure>\n", out);
	}
	fputs("    </testcase>\n", out);
}

static void xml_expectation(FILE *out, const struct report_expectation *expectation)
{
	fprintf(out, "    <testcase classname=\"emu.expectation\" name=\"%s:%u\" time=\"0\">\n", text_xml(expectation->file),
		expectation->line);
	fprintf(out, "      <failure type=\"expectation\" message=\"%s\"/>\n", text_xml(expectation->failed));
	fputs("    </testcase>\n", out);
}

static void xml_suite(FILE *out, const struct report_run *run, struct report_table *cases)
{
	bool failed = run->status > 0 && run->status != REPORT_SKIPPED;
	unsigned tests = run->processes_count + RUN_CASES, failures = run->none + (run->losses_count > 0);
	const struct report_expectation *expectation;
	const struct report_process *process;
	unsigned skipped;

	for (process = run->processes; process; process = process->next)
		failures += case_of(cases, process)->count > 0;
	for (expectation = run->expectations; expectation; expectation = expectation->next)
		failures += expectation->failed != NULL, tests += expectation->failed != NULL;
	tests += run->status >= 0;
	failures += failed;
	skipped = (run->status == REPORT_SKIPPED) + (!run->none && !run->processes_count);
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
	fprintf(out, "<testsuites tests=\"%u\" failures=\"%u\" errors=\"0\" time=\"%.3f\">\n", tests, failures, run->seconds);
	fprintf(out, "  <testsuite name=\"emu\" tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"%u\" time=\"%.3f\">\n", tests,
		failures, skipped, run->seconds);
	if (run->status >= 0)
		xml_command(out, run);
	xml_run(out, run);
	for (process = run->processes; process; process = process->next)
		xml_process(out, process, case_of(cases, process));
	for (expectation = run->expectations; expectation; expectation = expectation->next)
		if (expectation->failed)
			xml_expectation(out, expectation);
	fputs("  </testsuite>\n</testsuites>\n", out);
}

char *report_as_junit(const struct report_run *run)
{
	struct report_table cases = { 0 };
	const struct report_result *finding;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	unsigned i;

	if (!out)
		errx(REPORT_ERROR, "no memory for the report");
	for (finding = run->findings; finding; finding = finding->next)
		for (i = 0; finding->fails && !finding->after && i < finding->shares_count; i++)
			case_add(case_of(&cases, finding->shares[i].process), finding);
	xml_suite(out, run, &cases);
	if (fclose(out) != 0)
		errx(REPORT_ERROR, "no memory for the report");
	return text;
}
