/* SPDX-License-Identifier: BSD-2-Clause */
/* report_out.h - what emu_report prints: text for people, files, and text that others wrote made fit to print. One thread. */
#ifndef REPORT_OUT_H
#define REPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tools/report/report_model.h"

/* --- findings and the summary as text for people. One thread; errors of the stream are the caller's to look for. --- */

/* The sentence of a run in which no process opened the NIC. */
const char *people_none(const struct report_run *run);

/* What all processes did. */
struct report_totals {
	double ops, failed, bytes, served, refused, regions_open;
	unsigned partial, running, unreadable; /* processes; lines */
};

void people_totals(const struct report_run *run, struct report_totals *out);

/* `error: CAUSE: text`, without the end of the line. */
const char *people_headline(const struct report_result *finding);

/* All of a finding. */
void people_finding(FILE *out, const struct report_result *finding);

void people_report(FILE *out, const struct report_run *run);

/* --- reports in files: what form each has, and how they are written. One thread. --- */

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

/* --- text that others wrote, made fit for terminals and files. One thread; nothing fails. --- */

/* Puts `?` in the place of each byte that is no UTF-8. */
void text_mend_utf8(char *text, size_t size);

/* The text with characters that a terminal would obey, or that turn the direction of the text, as \x1b or \u202e. */
const char *text_clean(const char *text);

/* As text_clean(), and fit for XML's text and attributes. */
const char *text_xml(const char *text);

/* The text with a # for each word that begins with a digit, or is an address: equal for sentences that differ in figures alone. */
const char *text_shape(const char *text);

/* 1234567 as 1,234,567. */
const char *text_number(double number);

/* Bytes as 1.2 MiB. */
const char *text_bytes(double bytes);

#endif
