/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c - sentences of the process services, put into the front end's log. */
#include "emu/process/log/log.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_MAX_TEXT = 1024 };

void log_warn(enum process_subject subject, const char *format, ...)
{
	char text[LINE_MAX_TEXT];
	va_list args;

	if (!process_front.shows(PROCESS_WARN, subject))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	process_front.log(PROCESS_WARN, subject, text);
}
