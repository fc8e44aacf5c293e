/* SPDX-License-Identifier: BSD-2-Clause */
/* check.c - failing a test, from either process. */
#include "tests/rules/harness/check.h"

#include <rdma/fi_errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char label[256];

static void report_and_exit(enum check_end end, const char *text)
{
	fprintf(stderr, "%s\n", text);
	exit(end == CHECK_FAILED);
}

void (*check_report)(enum check_end end, const char *text) = report_and_exit;

void check_label(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(label, sizeof(label), fmt, args);
	va_end(args);
}

void check_fail(const char *file, int line, const char *fmt, ...)
{
	const char *slash = strrchr(file, '/');
	char why[2048], text[2560];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	snprintf(text, sizeof(text), "%s:%d %s%s%s", slash ? slash + 1 : file, line, label, *label ? ": " : "", why);
	check_report(CHECK_FAILED, text);
	abort();
}

void check_stop(enum check_end end, const char *fmt, ...)
{
	char text[2048];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	check_report(end, text);
	abort();
}

void check_rc(const char *file, int line, const char *call, ssize_t got, ssize_t want)
{
	if (got == want)
		return;
	check_fail(file, line, "%s returned %zd (%s), expected %zd (%s)", call, got, got < 0 ? fi_strerror((int)-got) : "no error",
		   want, want < 0 ? fi_strerror((int)-want) : "no error");
}

void check_refused(const char *file, int line, const char *call, ssize_t got)
{
	if (got >= 0)
		check_fail(file, line, "%s returned %zd, expected a refusal", call, got);
	if (strstr(fi_strerror((int)-got), "nknown"))
		check_fail(file, line, "%s returned %zd, which is no fabric errno (S6)", call, got);
}

uint64_t check_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct deadline deadline_start(void)
{
	return (struct deadline){ check_now_ms() + CHECK_GUARD_MS };
}

void deadline_check(const struct deadline *deadline, const char *what)
{
	CHECK(check_now_ms() < deadline->end_ms, "%s did not come within the hang guard of %d s", what, CHECK_GUARD_MS / 1000);
	sched_yield();
}
