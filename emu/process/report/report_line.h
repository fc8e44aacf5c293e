/* SPDX-License-Identifier: BSD-2-Clause */
/* report_line.h - the members of the lines of reports. Owner: report.c, with its lock. */
#ifndef EMU_PROCESS_REPORT_LINE_H
#define EMU_PROCESS_REPORT_LINE_H

#include <stdint.h>

struct call_stack;
struct json;
struct report_finding;
struct report_start;

uint64_t report_line_now(void); /* CLOCK_REALTIME, ns */
/* When this process began to report: the same whenever it is asked in one process. */
uint64_t report_line_start(void);
void report_line_process(struct json *json, const struct report_start *start);
void report_line_finding(struct json *json, uint32_t id, const struct report_finding *finding, const struct call_stack *here);

#endif
