/* SPDX-License-Identifier: BSD-2-Clause */
/* check_race.h - what the sources of races mode share: a peer's access that is open (check_race.c), what the CPU does to its bytes
 * meanwhile (check_touch.c), and how long all of them wait (check_hold.c). */
#ifndef EMU_PROCESS_CHECK_RACE_H
#define EMU_PROCESS_CHECK_RACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/nic/base/interval_tree.h"
#include "emu/nic/base/limits.h"
#include "emu/process/check/check.h"
#include "emu/process/report/call_stack.h"

enum { RACE_PEER = 64 };

/* Constant once the NIC starts. */
struct race_settings {
	bool on, strict;
	uint64_t seed;
};

extern struct race_settings races;

struct race_what {
	const void *session;
	uint64_t key;
	uint32_t element; /* of an atomic, in bytes; else 0 */
	uint8_t op;
	bool changes;
	bool told; /* to its target: others may know of it */
	char peer[RACE_PEER];
};

struct race_span {
	struct interval range;
	struct race_open *open;
};

enum look_is {
	LOOK_NONE,
	LOOK_FILLED, /* for a moment */
	LOOK_BEGUN,
	LOOK_SURE, /* the instruction has loaded the old bytes */
	LOOK_OVER,
	LOOK_PASSED /* and the poll that it was is told */
};

/* The first load of the last bytes of a write that has come, and is late. Written in the handler of a fault. */
struct race_look {
	_Atomic int is; /* enum look_is */
	int thread;
	uintptr_t at, code;
	uint64_t lifted;       /* page_watch_lifted_so_far(), where a page is watched */
	unsigned int told;     /* what its thread had been told of, */
	atomic_uint stored_at; /* and then when the bytes were stored; 0: they were not */
	struct call_stack stack;
};

struct race_open {
	struct check_owned owned; /* first */
	struct race_what what;
	uint64_t serial;
	bool in_order; /* of its session */
	bool pinned;
	atomic_bool late; /* its bytes are not there yet */
	atomic_bool there;
	atomic_bool over; /* closed, and kept for its look */
	struct race_look look;
	uintptr_t end; /* of its last byte */
	size_t spans;
	struct race_span span[LIMIT_IOV];
	/* An earlier one of its session has stored something there, and nothing orders the two: is it the same? */
	struct race_what before;
	struct iovec both; /* no length: there is none */
	uint64_t stored;
};

const char *race_word(const struct race_what *what);
uint64_t race_mix(uint64_t bits);

/* --- check_hold.c: what is drawn, and how long. --- */

uint64_t race_clock_ns(void);
/* Next of the seed's draws. Any thread. */
uint64_t race_draw(void);
/* For so long the session's access is held back; 0: this process has taken enough so far. `brief`: for less than others, which are
 * to be open still when a lock that it takes has its holder. Under the driver role. */
uint64_t race_hold(const void *session, bool brief, uint64_t now_ns);
/* And the completion of an own one, once it is carried out. */
uint64_t race_hold_completion(const void *session, uint64_t now_ns);
/* And a post to its peer: for less, as it is to come while others are held back there. */
uint64_t race_hold_post(const void *session, uint64_t now_ns);
/* Is there enough of the run time left? Any thread. */
bool race_may_pause(void);
/* Until an access of a peer is open, or for so long as is drawn. Any thread, in a signal handler, too. */
void race_pause(void);
/* For so long, from now on, all that is held back stays so, since the program is told of something else; 0: as long as it would. */
uint64_t race_stay(const void *session, uint64_t now_ns);
bool race_has_plenty(void);
/* Does a thread pause that may touch the bytes? */
bool race_is_paused(void);
/* A part of the time that an access is held back, for which it is late: so long that a paused thread may go on first. */
uint64_t race_split_hold(uint64_t *hold_ns);
/* An access of a peer is open: paused threads go on. */
void race_wake_paused(void);
/* Something has come that will tell the program of what was before it. */
void race_news(void);
/* This thread has bytes that others may have sent it beside the NIC. In a signal handler. */
void race_heard(void);
/* How often this thread was told of news. Any thread; not 0. */
unsigned int race_told(int thread);
/* Is the program slowed down by the checks alone by more than they may? Any thread. */
bool race_is_in_debt(void);
void race_forget_session(const void *session);
void race_holds_forked(void);

/* --- check_touch.c: accesses of the CPU. --- */

/* The program knows of all accesses of the session up to this one. */
void touch_known(const void *session, uint64_t serial);
/* The first touch of memory to which peers may write pauses from now on. False: that cannot be had, for it is on a stack, or shares
 * its pages with what is in use all the time. Any thread, without the driver role. */
bool touch_arm(void);
/* From now on the CPU leaves its bytes alone. */
void touch_begin(struct race_open *open);
/* The bytes are about to be stored. Under the driver role. */
void touch_not_late(struct race_open *open);
/* They have been. Under the driver role. */
void touch_executed(struct race_open *open);
/* It is closed. True: it is kept, as it is not known yet whether its look was a poll. Under the driver role. */
bool touch_end(struct race_open *open);
const char *touch_start(void);
/* The process exits. */
void touch_exit(void);
void touch_forked(void);

#endif
