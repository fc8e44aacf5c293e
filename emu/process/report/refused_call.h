/* SPDX-License-Identifier: BSD-2-Clause */
/* refused_call.h - a call of the program that is refused: a line of log, in the ring of lines, and a finding.
 * Any thread, including fork's children and signal handlers: nothing is locked. */
#ifndef EMU_PROCESS_REFUSED_CALL_H
#define EMU_PROCESS_REFUSED_CALL_H

#include <stdarg.h>

/* `key` identifies the sentence: it is logged LIMIT_LOG_LINES times, and then once a second. `subsystem` is the front end's own. */
void refused_call(int subsystem, const char *key, const char *format, va_list args) __attribute__((cold, format(printf, 3, 0)));

#endif
