/* SPDX-License-Identifier: BSD-2-Clause */
/* system_calls.h - the handler of trapped system calls: makes each call as the program would have, once the watched pages that it
 * names are lifted.
 *
 * The call is made within the handler, with the program's signal mask, and the program's handlers interrupt it as ever. While it is
 * under way, pages that it uses are not protected. Which pages those are goes by a table of calls; a call that fails with EFAULT
 * none the less is made once more with all pages lifted. */
#ifndef EMU_PROCESS_SYSTEM_CALLS_H
#define EMU_PROCESS_SYSTEM_CALLS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "emu/process/races/watched_threads.h"

/* Puts the handler of SIGSYS in place. False: the kernel does not. Again is harmless. `heard` is that of page_watch_ops. */
bool system_calls_start(void (*heard)(void));
/* Is it still in place, and comes each fault to our handler first? Asks the kernel only if the program may have changed that.
 * Without watched_lock, by a thread that may run the program's code. */
bool system_calls_handlers_stand(void);
/* With watched_lock: has the program changed a handler of faults since? */
bool system_calls_handlers_changed(void);
/* Has another library of emu's in this process taken it over? For good. */
bool system_calls_gave_way(void);
extern atomic_uint_fast64_t system_calls_traps, system_calls_lifted;
/* Calls under way that leave no memory in common with this process, or all: no watch begins. */
extern atomic_uint system_calls_forbid;
/* Calls under way that change mappings. No page that one has noted comes into the table. */
extern atomic_uint system_calls_changing;
/* A sentence, once the program has done what ends the watching for good. */
extern _Atomic(const char *) system_calls_ended;

/* --- for the parts of the handler --- */

struct trap {
	ucontext_t *context;
	greg_t *registers;
	struct watched_thread *thread;
	long number, arg[6];
};

/* The result. */
typedef long trap_handler(struct trap *trap);

/* NULL: a call like others. */
trap_handler *signal_call(long number);
trap_handler *thread_call(long number);

/* Makes the call itself, with the arguments as they are now. */
long trap_make(const struct trap *trap);
/* Makes it with its pages lifted. */
long trap_plain(struct trap *trap);
/* The program makes the call again, and it is not trapped, nor are later ones until the thread is asked. */
long trap_open(struct trap *trap);
/* Nothing is watched any more, for this reason. */
void trap_end_all(const char *why);
/* Makes the call, which changes a handler of faults: nothing is protected meanwhile, nor until the handlers are looked at. */
long system_calls_fault_action(struct trap *trap);
/* Lifts all pages, and lets nothing be protected until trap_allow(). */
void trap_forbid(void);
void trap_allow(void);

/* Notes, in `call`, what the program's call may touch. */
void call_memory_note(struct watched_call *call, long number, const long *arg);

/* Handlers of the program's for SIGSYS, which have the place of ours. */
void signal_calls_pass(int sig, siginfo_t *info, void *context);
/* This is the action of SIGSYS, as the program knows it. */
void signal_calls_pretend(const struct exempt_action *action);
/* Takes signals that must not be blocked from the masks of handlers that the program has already. */
void signal_calls_start(void);

#endif
