/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_files.h - reports in files: what form each has, and how they are written. One thread.
 */
#ifndef REPORT_FILES_H
#define REPORT_FILES_H

#include "tools/report/report_model.h"

enum report_form { REPORT_JSON, REPORT_JUNIT, REPORT_SARIF, REPORT_FORMS };

/* By the suffix: .json, .xml or .sarif. REPORT_FORMS if it is none of these. */
enum report_form report_form_of(const char *path);

/* Whether a report could be written there, which is asked before the command runs. A problem of the run if not. */
void report_file_try(struct report_run *run, const char *path);

/* Writes a report, whole or not at all; a problem of the run if it cannot be. */
void report_file_write(struct report_run *run, const char *path, enum report_form form);

/* The texts, from malloc(). */
char *report_as_json(const struct report_run *run);
char *report_as_junit(const struct report_run *run);
char *report_as_sarif(const struct report_run *run);

#endif
