/* SPDX-License-Identifier: BSD-2-Clause */
/* byte_watch.h - watches of memory that is never protected, such as stacks: by breakpoints of the processor, which the kernel sets
 * for each thread of the program (perf_event_open(2)) and tells of by SIGTRAP behind the access.
 *
 * A thread has four, of up to eight bytes each. A watch takes two, for the first and the last bytes of a range, or all, if nobody
 * has one and the range has no more bytes. Accesses by the kernel are not told, nor are those of threads that begin later. Where
 * the kernel refuses, nothing is watched. */
#ifndef EMU_PROCESS_BYTE_WATCH_H
#define EMU_PROCESS_BYTE_WATCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/process/races/watched_pages.h"
#include "emu/process/races/watched_threads.h"

struct byte_access {
	uint16_t watch;
	uintptr_t at;      /* where the breakpoint is */
	bool is_store;     /* as far as can be told: a store of what is there already is none, where loads are told, too, */
	bool is_sure;      /* and a load of what another has stored is one; not where stores alone are told, nor behind a step */
	uint64_t renewals; /* so many had been before the bytes were looked at */
};

/* Watches the range for `watch`, which is not 0; `whole`: each of its bytes. False: it cannot, and what has begun is still to be
 * ended. */
bool byte_watch_begin(uint16_t watch, const struct iovec *range, bool stores_alone, bool whole) REQUIRES(watched_lock);
/* False: it has none. A handler inside watched_enter() may have found it before. */
bool byte_watch_end(uint16_t watch) REQUIRES(watched_lock);
/* Of all watches: nobody would take what the breakpoints tell. */
void byte_watch_end_all(void) REQUIRES(watched_lock);
/* In the handler of SIGTRAP, inside watched_enter(). False: no breakpoint of a watch has raised it. */
bool byte_watch_find(const siginfo_t *info, struct byte_access *access);
/* Is any of these bytes watched? */
bool byte_watch_on(const struct touch *touch);
/* The same of an access that has been made. */
bool byte_watch_has(const struct touch *touch, struct byte_access *access);
/* Another has stored bytes: what differs from now on is the program's. */
void byte_watch_renew(void) REQUIRES(watched_lock);
uint64_t byte_watch_renewals(void);
/* In a fork's child, which has none of its parent's breakpoints. */
void byte_watch_forked(void);

#endif
