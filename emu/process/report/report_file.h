/* SPDX-License-Identifier: BSD-2-Clause */
/* report_file.h - the file of reports of this process. Owner: report.c, with its lock. A failure is one line of log, after
 * which nothing more is written: then the file's mode is 0400, and the emu_report that runs the command hears of it. */
#ifndef EMU_PROCESS_REPORT_FILE_H
#define EMU_PROCESS_REPORT_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Makes DIR/HOST-PID-STARTNS.jsonl, which is nobody else's. */
bool report_file_open(const char *folder);
/* False also in a child that a fork made without its handlers. */
bool report_file_is_open(void);
/* One line by one write(2), whole or not at all. */
bool report_file_put(const char *line, size_t length);
void report_file_close(void);
/* In a fork's child: the file is its parent's. */
void report_file_forked(void);

#endif
