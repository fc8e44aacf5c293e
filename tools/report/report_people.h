/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_people.h - findings and the summary as text for people. One thread; errors of the stream are the caller's to look for.
 */
#ifndef REPORT_PEOPLE_H
#define REPORT_PEOPLE_H

#include <stdio.h>

#include "tools/report/report_model.h"

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

#endif
