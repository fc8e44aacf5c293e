/* SPDX-License-Identifier: BSD-2-Clause */
/* watched_threads.h - the program's threads: which of them trap their system calls, where their stacks are, and what the calls
 * under way use.
 *
 * A thread that a trapped clone() makes traps its calls from its first instruction on. Others are asked by SIGSYS, and answer in
 * its handler; a call that this interrupts is begun again. The record of a thread is its own to write, but for `selector`, which
 * the end of all watching opens. */
#ifndef EMU_PROCESS_WATCHED_THREADS_H
#define EMU_PROCESS_WATCHED_THREADS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/process/races/watched_pages.h"

enum {
	WATCHED_THREADS = 1024,
	WATCHED_CALLS = 6,  /* that signal handlers make while others are under way */
	WATCHED_RANGES = 8, /* of a call; more are taken as one */
	WATCHED_STEPS = 4,  /* pages that one instruction touches */
	WATCHED_HANDLER_STACK = 1 << 18,
};

enum watched_thread_state {
	THREAD_NONE,
	THREAD_NEW,   /* a clone() for it is under way */
	THREAD_ASKED, /* to trap its calls */
	THREAD_OPEN,  /* does not now, and will again when it is asked */
	THREAD_TRAPS,
	THREAD_EXEMPT /* is the device's */
};

/* What an instruction touches, as far as it is known: the byte at which it faults, and what comes behind it. */
struct touch {
	uintptr_t at;
	size_t length;
	bool is_store;
};

/* A system call under way. */
struct watched_call {
	_Atomic uintptr_t stack;           /* where it was made */
	atomic_uint_fast64_t needed_until; /* by the time stamp counter: it sleeps then, and needs its memory no more; 0: it may */
	atomic_uint ranges;
	struct {
		_Atomic uintptr_t at;
		atomic_size_t length;
	} range[WATCHED_RANGES];
};

struct watched_thread {
	_Atomic unsigned char selector; /* the kernel reads it at each call */
	_Atomic unsigned char state;    /* enum watched_thread_state */
	atomic_int id;
	_Atomic uintptr_t stack;          /* at its last call */
	_Atomic uintptr_t control;        /* its control block, near which its thread-local storage is */
	_Atomic uintptr_t alternate;      /* stack of signal handlers */
	atomic_size_t alternate_length;   /* 0: none */
	uintptr_t own_alternate;          /* that this library gave it, as the program had none; of the record, 0: not yet */
	exempt_mask hidden;               /* signals that the program has blocked, and are not */
	unsigned int missed;              /* watched.ends when a fault last found no page */
	atomic_uint depth;                /* of `call` */
	unsigned int steps;               /* of `step`: on pages that are protected again after one instruction (page_step.h) */
	struct touch step[WATCHED_STEPS]; /* how it touches them */
	exempt_mask step_mask;            /* then its own again */
	uintptr_t step_code;              /* the instruction */
	struct watched_call call[WATCHED_CALLS];
	/* What the thread was in when it was asked. */
	long asked_number;
	uintptr_t asked_stack, asked_at;
};

/* Signals that must never be blocked in a thread that traps its calls. */
#define WATCHED_SIGNALS (EXEMPT_BIT(SIGSEGV) | EXEMPT_BIT(SIGSYS))

/* This thread's record; NULL: it has none. */
struct watched_thread *watched_thread_self(void);

/* Can the kernel trap calls? Changes nothing. */
bool watched_threads_possible(void);
/* This thread traps its calls from now on. NULL, or a sentence: why that is impossible. */
const char *watched_threads_start(void);
/* Do all threads of the program? Asks those that do not. */
bool watched_threads_trap(void) REQUIRES(watched_lock);
/* Did all, as far as is known? */
bool watched_threads_settled(void);
/* Their ids, if they are `most` or fewer; how many. 0: there are more. */
unsigned int watched_threads_list(int *ids, unsigned int most) REQUIRES(watched_lock);
/* In the handler of SIGSYS: the thread was asked. False: it was not. */
bool watched_thread_answer(const siginfo_t *info, void *context);
/* This thread is the device's. */
void watched_thread_exempt(void);
/* This thread's calls go untrapped, until it is asked. */
void watched_thread_open(struct watched_thread *thread);
/* Nobody's calls are trapped any more. */
void watched_threads_end(void);
/* In a fork's child. */
void watched_threads_forked(void);

/* A record for a thread that clone() is about to make; NULL: there are too many. */
struct watched_thread *watched_thread_new(void);
/* clone() failed, or the thread ends. */
void watched_thread_free(struct watched_thread *thread);
/* The new thread's first call, on its own stack. */
void watched_thread_born(struct watched_thread *thread) __attribute__((visibility("hidden"), used)); /* called by assembler */

/* The program has set the stack of its signal handlers, or may have. Where it has none, the thread gets one for our handler, as any
 * other may be protected: what the thread has now comes in *now. */
void watched_thread_alternate(struct watched_thread *thread, stack_t *now);
/* Is this the one that the program did not set? */
bool watched_thread_gave(const struct watched_thread *thread, const stack_t *stack);

/* A call begins: the ranges are added, and then it counts. */
struct watched_call *watched_call_begin(struct watched_thread *thread, uintptr_t stack);
void watched_call_add(struct watched_call *call, uintptr_t at, size_t length);
void watched_call_end(struct watched_thread *thread, struct watched_call *call);

enum watched_use { WATCHED_UNUSED, WATCHED_STACK, WATCHED_BUSY };

/* What a page of this mapping is used for. */
enum watched_use watched_threads_use(uintptr_t page, uintptr_t mapping_start, uintptr_t mapping_end);

#endif
