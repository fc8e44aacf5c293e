/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_calls.h - the rules of a fault plan that the device does not know (struct process_faults): calls that fail or are late,
 * requests that fail with a status, asynchronous events.
 *
 * They are the process's, since calls come before there is a NIC. Any thread. */
#ifndef EMU_PROCESS_FAULT_CALLS_H
#define EMU_PROCESS_FAULT_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/faults/fault_plan.h"

/* Not 0: calls and requests are to be shown to the functions below. By a plan; and by the front end, for reasons of its own. */
enum { FAULT_CALLS_PLANNED = 1, FAULT_CALLS_FRONT = 2 };
extern atomic_uint fault_calls_shown;

/* Takes the plan of FI_EMU_FAULT, as it was read in the settings (NULL: there is none), unless it was taken before. It is in
 * force when the call returns, whichever thread reads it. 0; ENOMEM; or EINVAL after a line of log: no plan can be read there
 * any more. */
int fault_calls_begin(const char *path);
/* By emuctl, in the place of the one there is; NULL: none. All is counted anew, and time begins. */
void fault_calls_exchange(const struct fault_plan *plan);
/* True: that was done, and *plan is for a NIC that starts, too, instead of FI_EMU_FAULT; perhaps without a rule. */
bool fault_calls_exchanged(struct fault_plan *plan);

/* One more call of that name, on queue pair `qp` (0: on none): has it wait, and has events happen. 0; or the errno by which it
 * fails, being the number-th that the rule names. The caller holds no lock that an event takes. A lock that it holds is held
 * while it waits. */
int fault_call(const char *call, uint64_t qp, uint64_t *number);
/* One more request on a queue pair, which has a lock, or receive (FAULT_RECEIVES; `qp` 0: of a shared queue): the status by which
 * it fails, or 0. */
uint32_t fault_request(unsigned int kind, uint64_t qp);

/* One more event of the connection manager, or, `asks`, a peer's question for the listener of one: which rules name that lose it.
 * False: no rule meets it. */
struct fault_cm {
	uint64_t wait_ns;
	uint32_t becomes; /* FAULT_CM_ITSELF and on */
	bool rejected;    /* what it becomes has a reason, else it is an error */
	int err;          /* 0, like `reason`: the rule says none */
	uint32_t reason;
};
bool fault_cm(unsigned int event, bool asks, struct fault_cm *met);

/* Are there events by time, so that a NIC has to run? */
bool fault_is_timed(void);
/* nic_config.alarm: has those events happen that are due, and returns when the next is. With the driver role. */
uint64_t fault_alarm(void);
/* Are ports down when devices are opened? */
bool fault_unplugged(void);

#endif
