/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_file.c - fault plans: sections of an INI file into rules. Only the first error is reported, with its line. */
#include "emu/process/faults/fault_file.h"

#include <assert.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emu/process/faults/fault_option.h"
#include "emu/process/settings/setting_read.h"
#include "emu/process/settings/setting_say.h"

enum { SECTION_MAX = 50, WHY_MAX = 200 }; /* inih cuts longer names of sections */

struct reading {
	FILE *file;
	struct fault_plan *plan;
	size_t bytes; /* that were read */
	int line;     /* the last line of them */
	bool seeded;
	bool in_section;
	char section[SECTION_MAX];
	int begun;                  /* line of the section's first option */
	int line_of[FAULT_OPTIONS]; /* where it sets each option; 0: not */
	struct fault_rule rule;
	int bad_line; /* 0: no error so far */
	char why[WHY_MAX];
};

static_assert(LIMIT_FAULT_BYTES == 1 << 20, "as the sentence says");
static const char too_long[] = "longer than 1 MiB, which is no plan";

/* Keeps the first error. Returns 0, as inih's handlers do. */
static int __attribute__((format(printf, 3, 4))) bad(struct reading *r, int line, const char *format, ...)
{
	va_list args;

	if (r->bad_line)
		return 0;
	r->bad_line = line;
	va_start(args, format);
	vsnprintf(r->why, sizeof(r->why), format, args);
	va_end(args);
	return 0;
}

/* As fgets(); inih would take the rest of a line that is too long for another line. */
static char *next_line(char *text, int size, void *arg)
{
	struct reading *r = arg;
	char *got = fgets(text, size, r->file);
	size_t length = got ? strlen(got) : 0;

	if (!got)
		return NULL;
	r->line++;
	r->bytes += length;
	if (r->bytes > LIMIT_FAULT_BYTES) {
		bad(r, r->line, "%s", too_long);
		return NULL;
	}
	if (length == (size_t)size - 1 && got[length - 1] != '\n') {
		bad(r, r->line, "the line is longer than %d bytes", size - 2);
		return NULL;
	}
	return got;
}

/* The section has been read: is it a rule? */
static int end_section(struct reading *r)
{
	const char *wrong, *name;

	if (!r->in_section || r->bad_line)
		return !r->bad_line;
	r->in_section = false;
	if (!r->line_of[FAULT_OPTION_FAULT])
		return bad(r, r->begun, "[%s] does not say which fault", r->section);
	for (int i = 0; i < FAULT_OPTIONS; i++)
		if (r->line_of[i] && !fault_option_fits((enum fault_option)i, r->rule.sort, &name))
			return bad(r, r->line_of[i], "\"%s\" does not go with this fault", name);
	for (int i = 0; i < FAULT_OPTIONS; i++)
		if (!r->line_of[i] && fault_option_wanted((enum fault_option)i, r->rule.sort, &name))
			return bad(r, r->begun, "[%s] lacks \"%s\"", r->section, name);
	wrong = fault_rule_end(&r->rule, r->line_of[FAULT_OPTION_OP]);
	if (wrong)
		return bad(r, r->begun, "[%s] %s", r->section, wrong);
	if (r->plan->rules == LIMIT_FAULT_RULES)
		return bad(r, r->begun, "more than %d rules", LIMIT_FAULT_RULES);
	r->plan->rule[r->plan->rules++] = r->rule;
	return 1;
}

static void begin_section(struct reading *r, const char *section)
{
	r->in_section = true;
	r->begun = r->line;
	snprintf(r->section, sizeof(r->section), "%s", section);
	memset(r->line_of, 0, sizeof(r->line_of));
	fault_rule_begin(&r->rule);
}

static int take_seed(struct reading *r, const char *name, const char *value)
{
	if (strcmp(name, "seed"))
		return bad(r, r->line, "\"%s\" stands before any section, where nothing but \"seed\" is known", name);
	if (r->seeded)
		return bad(r, r->line, "\"seed\" is set twice");
	r->seeded = true;
	return parse_whole(value, &r->plan->seed) || bad(r, r->line, "seed: \"%s\" is not a number", value);
}

/* inih's handler: one line `name = value`. 0: an error. */
static int fault_take_line(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *r = arg;
	enum fault_option option;
	const char *wrong;

	if (!*section)
		return take_seed(r, name, value);
	if (!r->in_section || strcmp(section, r->section)) {
		int line = r->line;

		if (!end_section(r))
			return 0;
		begin_section(r, section);
		r->begun = line;
	}
	if (!fault_option_find(name, &option))
		return bad(r, r->line, "\"%s\" is not known", name);
	if (r->line_of[option])
		return bad(r, r->line, "\"%s\" is set twice in [%s]", name, section);
	r->line_of[option] = r->line;
	wrong = fault_option_read(option, value, &r->rule);
	return wrong ? bad(r, r->line, "%s: \"%s\" is not %s", name, value, wrong) : 1;
}

static void fault_file_parse(struct reading *r)
{
	int rc = ini_parse_stream(next_line, r, fault_take_line, r);

	if (rc > 0 && (!r->bad_line || rc < r->bad_line)) {
		r->bad_line = 0;
		bad(r, rc, "neither [section] nor name = value");
	} else if (rc < 0) {
		bad(r, r->line + 1, "out of memory");
	}
	end_section(r);
	if (!r->plan->rules && !r->seeded) /* a seed may be for the rules of FI_EMU_ORDER */
		bad(r, r->line ? r->line : 1, "there is no rule");
}

/* Closes the file. False: r->bad_line and r->why say what is wrong, and the plan has no rule. */
static bool fault_file_read(struct reading *r)
{
	*r->plan = (struct fault_plan){ .seed = 0 };
	fault_file_parse(r);
	if (ferror(r->file)) {
		r->bad_line = 0;
		bad(r, r->line + 1, "%s", strerror(errno));
	}
	fclose(r->file);
	if (r->bad_line)
		r->plan->rules = 0;
	return !r->bad_line;
}

int fault_read(const char *path, struct fault_plan *plan)
{
	struct reading r = { .plan = plan };
	struct stat status;
	const char *flaw;
	int fd = setting_file_open(path, &status, &flaw);

	if (!flaw && status.st_size > LIMIT_FAULT_BYTES)
		flaw = too_long;
	r.file = flaw ? NULL : fdopen(fd, "r");
	if (!r.file) {
		flaw = flaw ? flaw : strerror(errno);
		if (fd >= 0)
			close(fd);
		return setting_wrong("fault", "%s: %s", path, flaw);
	}
	if (fault_file_read(&r))
		return 0;
	return setting_wrong("fault", "%s:%d: %s; see emu_fault(5)", path, r.bad_line, r.why);
}

bool fault_read_text(const char *text, size_t length, struct fault_plan *plan, char *why, size_t size)
{
	struct reading r = { .plan = plan, .file = length ? fmemopen((void *)(uintptr_t)text, length, "r") : NULL };

	if (!r.file)
		snprintf(why, size, "%s", length ? strerror(errno) : "the plan is empty");
	else if (fault_file_read(&r))
		return true;
	else
		snprintf(why, size, "line %d: %s; see emu_fault(5)", r.bad_line, r.why);
	return false;
}
