/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_handler.h - our handler of SIGSEGV and SIGBUS among the program's, for guard.c alone. A fault that is not ours goes where
 * it would have gone without us. Any thread, except as noted. */
#ifndef EMU_NIC_FAULT_HANDLER_H
#define EMU_NIC_FAULT_HANDLER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Is it ours? In the handler: it changes the context so that the thread goes on elsewhere, or does not return. */
typedef bool fault_taker(const siginfo_t *info, void *context);

/* Once a process; idempotent. `taker` is always the same. True if faults come to the handler first. */
bool fault_handler_install(fault_taker *taker);
/* Do faults come to the handler first? Two system calls. */
bool fault_handler_is_first(void);
/* The program has put another in front: when it has stood there for some 10 ms, ours is put before it, and passes on to it what is
 * not ours. Until then it may be there for a moment only: to probe memory, or to end the process. Called from time to time. */
void fault_handler_return(uint64_t ticks);
/* True once, when the program has done so LIMIT_HANDLERS times: from then on its handler stays in front. */
bool fault_handler_gave_up(void);
void fault_handler_forked(void);

#endif
