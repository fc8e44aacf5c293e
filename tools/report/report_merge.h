/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_merge.h - makes findings of records: both sides of a refusal are one, and so are equal ones of several processes.
 * One thread; nothing fails.
 */
#ifndef REPORT_MERGE_H
#define REPORT_MERGE_H

#include "tools/report/report_model.h"

/* After report_resolve(). */
void report_merge(struct report_run *run);

#endif
