/* SPDX-License-Identifier: BSD-2-Clause */
/* report_steps.h - the steps from what processes left to findings and a verdict. One thread. */
#ifndef REPORT_STEPS_H
#define REPORT_STEPS_H

#include "tools/report/report_model.h"

/* --- runs a command whose processes leave their records in a folder of ours. One thread. --- */

/* The folder of the run that this one is within, or NULL. */
const char *command_outer_folder(void);

/* A new private folder; NULL, and a problem of the run, if there can be none. */
const char *command_folder_open(struct report_run *run);
void command_folder_remove(const char *folder);

/* Where the processes of the command leave their records. `checked`: in checked mode, unless the environment says else. */
void command_settings(const char *folder, bool checked);

/* Becomes the command; returns the exit status of a shell if that cannot be. */
int command_become(char *const *command);

/*
 * Runs it to its end, and passes signals on, other than those that the terminal sends to both. Sets run->seconds, and run->status,
 * for a signal as a shell does.
 */
void command_run(struct report_run *run);

/* --- Reads the records that processes left in a folder (FI_EMU_REPORT). What cannot be read, and files of a newer version,
 * are problems of the run; the rest is read all the same. Lines that are no records are counted in their process. --- */

enum { REPORT_VERSION = 1 };

void report_read_folder(struct report_run *run, const char *folder);

/* --- records that processes could not leave: they say so by a socket, and by the modes of their files. One thread. --- */

/* Before the command runs: its processes find the socket by their environment. Without one, the modes of files still tell. */
void loss_listen(void);

/* After report_read_folder(): what was said meanwhile becomes run->losses, and so do files that are no whole ones. */
void loss_gather(struct report_run *run);

/* --- Finds the function and the line of stack frames by debugging information. A frame of a module without any, or whose file
 * is gone, stays as the process wrote it. One thread; nothing fails. --- */

/* Each module is read once, and each address looked up once. */
void report_resolve(struct report_run *run);

/* Where a frame is: file:line, or module+0x1234. */
const char *report_frame_place(const struct report_frame *frame);

/* The function, or NULL. */
const char *report_frame_function(const struct report_frame *frame);

/* --- Makes findings of records: both sides of a refusal are one, and so are equal ones of several processes. One thread;
 * nothing fails. --- */

/* After report_resolve(). */
void report_merge(struct report_run *run);

/* --- findings with their causes first. One thread; nothing fails. --- */

/*
 * After report_judge(). Puts refusals, misuse and calls in the order of time, and leaks behind them. Objects that a process left
 * open when it exited are no findings of their own if the process had failed before: they become a sentence of that finding, and
 * `after` leads there.
 */
void report_order(struct report_run *run);

/* --- Processes that looked for a NIC and found none: which of these fail the run, and why no process opened one. One thread;
 * nothing fails. --- */

enum vain {
	VAIN_NOT,
	VAIN_NO_INFO,  /* fi_getinfo of the provider found nothing */
	VAIN_UNASKED,  /* libfabric loaded the provider and never asked it */
	VAIN_FILTERED, /* likewise, since FI_PROVIDER names others */
};

enum vain vain_cause(const char *cause);

/* Does such a finding fail? Programs ask for more than they need, and then for less; others list providers, or go without. */
bool vain_fails(const struct report_run *run, const struct report_result *finding);

/* Sets run->none and run->why_none. */
void vain_judge(struct report_run *run);

/* --- Expectation files, which accept findings that a test provokes on purpose, and the verdict. One thread. A file that
 * cannot be read, or has a line that is none, is a problem of the run. --- */

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
