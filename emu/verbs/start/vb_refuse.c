/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_refuse.c - refused calls in words. */
#include "emu/verbs/start/vb_refuse.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

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

__attribute__((format(printf, 3, 0))) static void inform(const char *call, const char *mark, const char *format, va_list args)
{
	char text[WHOLE_MAX];
	size_t start;

	if (!process_front.shows(PROCESS_INFO, PROCESS_ITSELF))
		return;
	start = (size_t)snprintf(text, sizeof(text), "%s%s: ", call, mark);
	vsnprintf(text + start, sizeof(text) - start, format, args);
	process_front.log(PROCESS_INFO, PROCESS_ITSELF, text);
}

void vb_inform(const char *call, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	inform(call, "", format, args);
	va_end(args);
}

int vb_absent(const char *call, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	inform(call, " (EOPNOTSUPP)", format, args);
	va_end(args);
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}

int vb_refuse_handle(const char *call, uint32_t handle, const char *what)
{
	return vb_refuse(ENOENT, call, "handle %u is no open %s: its memory was overwritten, or it was destroyed.", handle, what);
}

static atomic_int ending; /* the process that ends, and none that it forks meanwhile */

void vb_refuse_ending(void)
{
	atomic_store(&ending, getpid());
}

bool vb_is_ending(void)
{
	return atomic_load(&ending) && atomic_load(&ending) == getpid();
}

int vb_inherited(const char *call)
{
	if (vb_is_ending())
		return errno = EAGAIN;
	return vb_refuse(ENODEV, call,
			 "the object was made before fork(), and the NIC stays the parent's. Open the device in "
			 "this process.");
}
