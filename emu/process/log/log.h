/* SPDX-License-Identifier: BSD-2-Clause */
/* log.h - lines of the process's own log, which the front end shows, and the last of them. Any thread, with any lock. */
#ifndef EMU_PROCESS_LOG_H
#define EMU_PROCESS_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/process/front/process_front.h"

/* One line at warn, without its end; what is longer than 1,023 bytes is cut. */
void log_warn(enum process_subject subject, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

/* --- The last lines of log, whatever the front end's log shows, for the control socket (emu/process/ctl).
 *
 * One a process. Any thread, with the driver role, and in signal handlers: a line that finds the ring taken for long is lost,
 * and counted. Lines are put where they are formatted anyway, which is no path of an op. --- */

enum { LOG_RING_LINES = 256, LOG_RING_TEXT = 512 };

enum log_ring_level { LOG_RING_WARN, LOG_RING_INFO, LOG_RING_DEBUG };

struct log_ring_line {
	uint64_t number; /* from 1, in the order of lines */
	uint64_t time_ns;
	enum log_ring_level level;
	bool call; /* a call that was refused, else what the device says */
	char text[LOG_RING_TEXT];
};

/* `text` is cut where it is longer. */
void log_ring_put(enum log_ring_level level, bool call, const char *text);
/* The first line behind `number` (0: the oldest there is); false: there is none yet. */
bool log_ring_next(uint64_t number, struct log_ring_line *line);
/* The number of the last line so far. */
uint64_t log_ring_last(void);
/* Called after each line; NULL: nobody. Set by one thread. */
void log_ring_tell(void (*tell)(void));
/* In a fork's child, which begins with no lines. */
void log_ring_forked(void);

#endif
