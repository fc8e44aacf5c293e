/* SPDX-License-Identifier: BSD-2-Clause */
/* page_step.h - an access beside watched bytes of a page: the thread executes that instruction alone, by the trap flag, and then
 * the page is protected again.
 *
 * Pages have so many steps, and the process so many a second: what goes beyond is lifted as long as its watches last. There are
 * none once the program has an action of its own for SIGTRAP. */
#ifndef EMU_PROCESS_PAGE_STEP_H
#define EMU_PROCESS_PAGE_STEP_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "emu/process/races/system_calls.h"
#include "emu/process/races/watched_pages.h"

enum { PAGE_FAULT_STORE = 2 /* bit of REG_ERR */ };

/* Puts the handler of SIGTRAP in place, if the program has none. Again is harmless. In the handler, `event` gets those of
 * breakpoints (byte_watch.h), and `made` each access of a step behind it. */
void page_steps_start(void (*event)(const siginfo_t *info, ucontext_t *interrupted),
		      void (*made)(const struct touch *touch, ucontext_t *interrupted));
/* Is it still there? */
bool page_steps_stand(void);
/* In the handler of a fault, which such a touch of the page, which is lifted, has raised: `cost` of the steps that the page has are
 * taken. True: it steps, and no signal may come before the handler has returned. */
bool page_step(struct watched_page *page, const struct touch *touch, ucontext_t *interrupted, unsigned int cost);
/* The same for an instruction for strings, of which a page's part is made at once. True: that was made, and the page has its
 * protection again, if it may. */
bool page_step_string(struct watched_page *page, ucontext_t *interrupted);
/* Has the page steps left? Else it stays lifted. */
bool page_step_left(const struct watched_page *page);
/* In the handler of a fault that is the program's: its handler sees what it would without us. */
void page_step_cancel(ucontext_t *interrupted);
/* The program changes the action of SIGTRAP. */
void page_steps_end(void);
/* The program asks for it. */
long page_steps_asked(struct trap *trap);
/* In a fork's child. */
void page_steps_forked(void);

#endif
