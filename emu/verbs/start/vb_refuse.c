/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_refuse.c - refused calls in words. */
#include "emu/verbs/start/vb_refuse.h"

#include <stdarg.h>
#include <stdio.h>

#include "emu/process/front/process_front.h"
#include "emu/process/report/report.h"

enum { WHOLE_MAX = 1024 };

__attribute__((format(printf, 2, 3))) static void tell(const char *key, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	refused_call(0, key, format, args);
	va_end(args);
}

int vb_refuse(int errnum, const char *call, const char *format, ...)
{
	char text[WHOLE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tell(format, "%s: %s", call, text);
	errno = errnum;
	return errnum;
}

int vb_absent(const char *call)
{
	char text[WHOLE_MAX];

	if (process_front.shows(PROCESS_INFO, PROCESS_ITSELF)) {
		snprintf(text, sizeof(text), "%s: not offered (EOPNOTSUPP)", call);
		process_front.log(PROCESS_INFO, PROCESS_ITSELF, text);
	}
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}

int vb_inherited(const char *call)
{
	return vb_refuse(ENODEV, call,
			 "the object was made before fork(), and the NIC stays the parent's. Open the device in "
			 "this process.");
}
