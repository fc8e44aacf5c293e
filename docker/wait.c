/* SPDX-License-Identifier: BSD-2-Clause */
/* wait.c - waits with a limit; see wait.h. */
#include "docker/wait.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile sig_atomic_t stopping;
static int64_t later_ms; /* how long a stop is put off */

_Noreturn void give_up(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

int setting(const char *name, int min, int max, int otherwise)
{
	const char *text = getenv(name);
	char *end;
	long value;

	if (!text || !*text)
		return otherwise;
	value = strtol(text, &end, 10);
	if (*end || value < min || value > max)
		give_up("%s=%s: it takes a number from %d to %d", name, text, min, max);
	return (int)value;
}

static void stop(int signal)
{
	stopping = signal;
}

void wait_setup(void)
{
	struct sigaction action = { .sa_handler = stop };

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

void wait_stop_later(void)
{
	later_ms = WAIT_LATER_MS;
}

bool wait_stopped(void)
{
	return stopping;
}

int64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void wait_begin(struct wait *wait, int seconds, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(wait->what, sizeof(wait->what), format, args);
	va_end(args);
	wait->until_ms = clock_ms() + (int64_t)seconds * 1000;
}

bool wait_goes_on(const struct wait *wait)
{
	static int64_t stop_ms;

	if (stopping && !stop_ms)
		stop_ms = clock_ms() + later_ms;
	if (stopping && clock_ms() >= stop_ms)
		give_up("stopped while it waited for %s", wait->what);
	return clock_ms() < wait->until_ms;
}

void wait_pause(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = WAIT_PAUSE_MS * 1000000L }, NULL);
}
