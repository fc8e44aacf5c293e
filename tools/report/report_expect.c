/* SPDX-License-Identifier: BSD-2-Clause */
/* report_expect.c - expectation files, and the verdict. */
#include "tools/report/report_steps.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/report/report_out.h"

static const char *const failing_kinds[] = { "refusal", "call", "misuse", "leak", "race" };

/* A number of findings. False if it is none. */
static bool parse_times(const char *text, double *out)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	*out = (double)strtoull(text, &end, 10);
	return !*end;
}

/* One word after the cause. NULL, or what is wrong with it. */
static const char *parse_word(struct report_expectation *expectation, const char *word)
{
	const char *value = strchr(word, '=');
	size_t length = value ? (size_t)(value - word) : strlen(word), i;
	const struct {
		const char *name;
		const char **text;
	} patterns[] = {
		{ "kind", &expectation->kind }, { "program", &expectation->program }, { "call", &expectation->call },
		{ "at", &expectation->at },     { "from", &expectation->from },       { "text", &expectation->text },
	};

	if (!value && strcmp(word, "optional") == 0) {
		expectation->min = 0;
		return NULL;
	}
	if (!value || !*++value)
		return "is neither NAME=VALUE nor `optional'";
	for (i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (strlen(patterns[i].name) == length && strncmp(word, patterns[i].name, length) == 0) {
			*patterns[i].text = report_copy(value);
			return NULL;
		}
	if (length == 3 && (strncmp(word, "min", 3) == 0 || strncmp(word, "max", 3) == 0))
		return parse_times(value, word[1] == 'i' ? &expectation->min : &expectation->max) ? NULL : "takes a whole number";
	return "is not known: there are kind, program, call, at, from, text, min, max, optional";
}

static void parse_line(struct report_run *run, char *line, const char *file, unsigned number)
{
	struct report_expectation *expectation;
	char *word, *state = NULL, *comment;
	const char *wrong;

	comment = strchr(line, '#');
	if (comment)
		*comment = '\0';
	word = strtok_r(line, " \t\r\n", &state);
	if (!word)
		return;
	if (strchr(word, '=') || strcmp(word, "optional") == 0) {
		report_problem(run, "%s:%u: `%s': a line begins with a cause, or *", text_clean(file), number, text_clean(word));
		return;
	}
	expectation = report_alloc(sizeof(*expectation));
	*expectation = (struct report_expectation){
		.file = file, .line = number, .cause = report_copy(word), .min = 1, .max = INFINITY
	};
	while ((word = strtok_r(NULL, " \t\r\n", &state)))
		if ((wrong = parse_word(expectation, word))) {
			report_problem(run, "%s:%u: `%s' %s", text_clean(file), number, text_clean(word), wrong);
			return;
		}
	if (expectation->min > expectation->max) {
		/* At most none, without a word of the least: never. */
		if (expectation->min != 1 || expectation->max != 0) {
			report_problem(run, "%s:%u: min is more than max", text_clean(file), number);
			return;
		}
		expectation->min = 0;
	}
	*run->expectations_end = expectation;
	run->expectations_end = &expectation->next;
}

/* `passed`: it was left by report_expect_pass(). */
static void expect_read(struct report_run *run, const char *path, bool passed)
{
	FILE *file = fopen(path, "re");
	const char *name = path;
	unsigned number = 0;
	char *line = NULL;
	size_t size = 0;

	if (!file) {
		report_problem(run, "%s: %s", text_clean(path), strerror(errno));
		return;
	}
	name = report_copy(path);
	errno = 0;
	if (passed && getline(&line, &size, file) > 0)
		name = report_format("%.*s", (int)strcspn(line + 1, "\n"), line + 1);
	while (getline(&line, &size, file) > 0)
		parse_line(run, line, name, ++number);
	if (ferror(file))
		report_problem(run, "%s: %s", text_clean(path), strerror(errno));
	free(line);
	fclose(file);
}

void report_expect_file(struct report_run *run, const char *path)
{
	expect_read(run, path, false);
}

static int is_expectation_file(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && strcmp(dot, ".expect") == 0;
}

void report_expect_folder(struct report_run *run, const char *folder)
{
	struct dirent **names;
	int count = scandir(folder, &names, is_expectation_file, alphasort), i;

	if (count < 0)
		return; /* report_read_folder() says why */
	for (i = 0; i < count; i++) {
		expect_read(run, report_format("%s/%s", folder, names[i]->d_name), true);
		free(names[i]);
	}
	free(names);
}

void report_expect_pass(struct report_run *run, const char *path, const char *folder)
{
	static unsigned nth;
	char *full = realpath(path, NULL);
	const char *to = report_format("%s/%ld-%u.expect", folder, (long)getpid(), nth++);
	FILE *from = fopen(path, "re"), *out = fopen(to, "wxe");
	int c;

	if (!full || !from || !out) {
		report_problem(run, "%s cannot be given to the outer emurun: %s", text_clean(path), strerror(errno));
	} else {
		fprintf(out, "#%s\n", full);
		while ((c = getc(from)) != EOF)
			putc(c, out);
	}
	if (from)
		fclose(from);
	if (out)
		fclose(out);
	free(full);
}

static bool fits(const char *pattern, const char *text)
{
	return !pattern || (text && fnmatch(pattern, text, 0) == 0);
}

/* file:line, by the whole path or its last part, or the file alone. */
static bool fits_place(const char *pattern, const struct report_frame *site)
{
	const char *place, *name;

	if (!pattern || !site)
		return !pattern;
	place = report_frame_place(site);
	name = strrchr(place, '/');
	if (fits(pattern, place) || (name && fits(pattern, name + 1)))
		return true;
	name = site->source ? strrchr(site->source, '/') : NULL;
	return fits(pattern, site->source) || (name && fits(pattern, name + 1));
}

/* A line above the site, in any of its callers. */
static bool fits_callers(const char *pattern, const struct report_result *finding)
{
	unsigned i;

	for (i = 0; pattern && finding->stack && i < finding->stack->count; i++)
		if (&finding->stack->frames[i] > finding->site && !finding->stack->frames[i].below &&
		    fits_place(pattern, &finding->stack->frames[i]))
			return true;
	return !pattern;
}

/* The cause `call' is that of all refused calls. So a line with that word, and without text=, accepts one sentence: the first. */
static bool fits_sentence(struct report_expectation *expectation, const struct report_result *finding)
{
	const char *shape;

	if (expectation->text || strcmp(expectation->cause, "call") != 0 || !finding->record->text)
		return fits(expectation->text, finding->record->text);
	shape = text_shape(finding->record->text);
	if (!expectation->shape)
		expectation->shape = shape;
	return strcmp(expectation->shape, shape) == 0;
}

static bool covers(const struct report_expectation *expectation, const struct report_result *finding)
{
	const struct report_record *record = finding->record, *target = finding->target;

	return fits(expectation->cause, record->cause) && fits(expectation->kind, record->kind) &&
	       (fits(expectation->call, record->call) || fits(expectation->call, report_string(record->json, "call"))) &&
	       fits_place(expectation->at, finding->site) && fits_callers(expectation->from, finding) &&
	       (fits(expectation->program, record->process->program) ||
		(target && fits(expectation->program, target->process->program)));
}

const char *report_expect_text(const struct report_expectation *expectation)
{
	const struct {
		const char *name, *pattern;
	} words[] = {
		{ "kind", expectation->kind }, { "program", expectation->program }, { "call", expectation->call },
		{ "at", expectation->at },     { "from", expectation->from },       { "text", expectation->text },
	};
	const char *text = expectation->cause;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i].pattern)
			text = report_format("%s %s=%s", text, words[i].name, words[i].pattern);
	return text;
}

static bool kind_fails(const char *kind)
{
	size_t i;

	for (i = 0; i < sizeof(failing_kinds) / sizeof(*failing_kinds); i++)
		if (strcmp(kind, failing_kinds[i]) == 0)
			return true;
	return false;
}

/* A command that skipped provoked nothing. */
static void judge_expectation(struct report_run *run, struct report_expectation *expectation)
{
	double count = expectation->count;

	if (count > expectation->max)
		expectation->failed = report_format("%s was expected at most %s times, and happened %s times",
						    report_expect_text(expectation), text_number(expectation->max),
						    text_number(count));
	else if (count < expectation->min && run->status != REPORT_SKIPPED)
		expectation->failed = report_format("%s was expected at least %s, and happened %s", report_expect_text(expectation),
						    expectation->min == 1
							    ? "once"
							    : report_format("%s times", text_number(expectation->min)),
						    count == 0 ? "not once" : report_format("%s times", text_number(count)));
	if (expectation->failed)
		run->verdict = REPORT_FAILED;
}

void report_judge(struct report_run *run)
{
	struct report_expectation *expectation;
	struct report_result *finding;

	vain_judge(run);
	for (finding = run->findings; finding; finding = finding->next) {
		for (expectation = run->expectations; expectation; expectation = expectation->next)
			if (covers(expectation, finding)) {
				if (fits_sentence(expectation, finding))
					break;
				finding->nearly = expectation;
			}
		if (expectation)
			expectation->count += finding->count;
		finding->expected = expectation;
		finding->fails = !expectation && !finding->record->injected && kind_fails(finding->record->kind) &&
				 (vain_cause(finding->record->cause) == VAIN_NOT || vain_fails(run, finding));
		run->failing += finding->fails;
	}
	if (run->failing || run->none)
		run->verdict = REPORT_FAILED;
	for (expectation = run->expectations; expectation; expectation = expectation->next)
		judge_expectation(run, expectation);
	if (!run->verdict && run->losses_count)
		run->verdict = REPORT_ERROR;
}
