/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c - sentences of the process services, put into the front end's log. */
#include "emu/process/log/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdatomic.h>
#include <time.h>

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

/* --- the last lines of log. A try lock, as a signal handler may have interrupted the thread that has it --- */

enum { TRIES = 10000 }; /* of some nanoseconds each; a line is copied in fewer */

static struct {
	atomic_bool taken;
	atomic_uint_fast64_t last; /* number of the last line */
	void (*_Atomic tell)(void);
	struct log_ring_line lines[LOG_RING_LINES];
} ring;

static bool ring_take(void)
{
	for (int i = 0; i < TRIES; i++)
		if (!atomic_exchange_explicit(&ring.taken, true, memory_order_acquire))
			return true;
	return false;
}

static void ring_give(void)
{
	atomic_store_explicit(&ring.taken, false, memory_order_release);
}

void log_ring_put(enum log_ring_level level, bool call, const char *text)
{
	struct timespec now;
	struct log_ring_line *line;
	void (*tell)(void) = atomic_load(&ring.tell);
	uint64_t number;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!ring_take())
		return;
	number = atomic_load(&ring.last) + 1;
	line = &ring.lines[number % LOG_RING_LINES];
	line->number = number;
	line->time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	line->level = level;
	line->call = call;
	snprintf(line->text, sizeof(line->text), "%s", text);
	atomic_store(&ring.last, number);
	ring_give();
	if (tell)
		tell();
}

bool log_ring_next(uint64_t number, struct log_ring_line *line)
{
	uint64_t last, first;
	bool there;

	if (!ring_take())
		return false;
	last = atomic_load(&ring.last);
	first = last > LOG_RING_LINES ? last - LOG_RING_LINES + 1 : 1;
	number = number + 1 > first ? number + 1 : first;
	there = number <= last;
	if (there)
		*line = ring.lines[number % LOG_RING_LINES];
	ring_give();
	return there;
}

uint64_t log_ring_last(void)
{
	return atomic_load(&ring.last);
}

void log_ring_tell(void (*tell)(void))
{
	atomic_store(&ring.tell, tell);
}

void log_ring_forked(void)
{
	atomic_store(&ring.taken, false);
	atomic_store(&ring.last, 0);
}
