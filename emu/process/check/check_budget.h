/* SPDX-License-Identifier: BSD-2-Clause */
/* check_budget.h - how much of a program's run time races mode takes, by waits and by the work of its checks.
 *
 * A process knows nothing of what the others take. Where each waits for the next one, all of it adds up: so each takes its part,
 * by the number of those that it talks to.
 *
 * Thread: holder of the driver role. */
#ifndef EMU_PROCESS_CHECK_BUDGET_H
#define EMU_PROCESS_CHECK_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUDGET_SESSIONS = 64 };

#define BUDGET_FIRST_NS 250000000 /* which a program may lose at once */
#define BUDGET_MOST_NS 2000000000
#define BUDGET_DEBT_NS 100000000 /* of what the checks have taken, not more is paid back */

struct check_budget {
	int64_t left_ns;
	uint64_t seen_ns;  /* when it was earned last */
	uint64_t work_ns;  /* of the checks, until then */
	uint64_t until_ns; /* something is held back until then */
	size_t sessions;
	const void *session[BUDGET_SESSIONS]; /* each stands for another process */
};

/* May something of this session be held back from now on until then, by the device's clock? The checks have worked for `work_ns`
 * so far. True takes it from the budget; what is held back at one time counts once. */
bool budget_take(struct check_budget *budget, const void *session, uint64_t now_ns, uint64_t until_ns, uint64_t work_ns);
/* The session has ended: its process waits no more. */
void budget_forget(struct check_budget *budget, const void *session);

#endif
