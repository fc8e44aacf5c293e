/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_expect.h - expectation files, which accept findings that a test provokes on purpose, and the verdict.
 * One thread. A file that cannot be read, or has a line that is none, is a problem of the run.
 */
#ifndef REPORT_EXPECT_H
#define REPORT_EXPECT_H

#include "tools/report/report_model.h"

struct report_expectation {
	const char *file;
	unsigned line;
	const char *cause, *kind, *program, *call, *at, *from, *text; /* patterns, or NULL: any */
	const char *shape;                                            /* of the one sentence of a call that it accepts, or NULL */
	double min, max;
	double count;       /* what it covered */
	const char *failed; /* why it was not met, or NULL */
	struct report_expectation *next;
};

void report_expect_file(struct report_run *run, const char *path);

/* The files that nested runs left in the folder of records; their first lines are `#` and the name. */
void report_expect_folder(struct report_run *run, const char *folder);

/* Leaves a copy of the file in that folder. */
void report_expect_pass(struct report_run *run, const char *path, const char *folder);

/* After report_merge(). Sets run->verdict, and what fails. */
void report_judge(struct report_run *run);

/* Its line without comment, for people. */
const char *report_expect_text(const struct report_expectation *expectation);

#endif
