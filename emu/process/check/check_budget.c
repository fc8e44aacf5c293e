/* SPDX-License-Identifier: BSD-2-Clause */
/* check_budget.c - how much of a program's run time races mode takes. */
#include "emu/process/check/check_budget.h"

static uint64_t budget_processes(struct check_budget *budget, const void *session)
{
	size_t at = 0;

	while (at < budget->sessions && budget->session[at] != session)
		at++;
	if (at == budget->sessions && at < BUDGET_SESSIONS)
		budget->session[budget->sessions++] = session;
	return budget->sessions + 1;
}

void budget_forget(struct check_budget *budget, const void *session)
{
	size_t at = 0;

	while (at < budget->sessions && budget->session[at] != session)
		at++;
	if (at < budget->sessions)
		budget->session[at] = budget->session[--budget->sessions];
}

/* All together take three quarters of the time: a program takes four times as long as it would. What is not known, such as the
 * way of a thread out of its sleep, has the rest of five times. */
static void budget_earn(struct check_budget *budget, const void *session, uint64_t now_ns, uint64_t work_ns)
{
	uint64_t processes = budget_processes(budget, session);

	if (budget->seen_ns)
		budget->left_ns += (int64_t)((now_ns - budget->seen_ns) * 3 / 4 / processes);
	budget->left_ns -= (int64_t)(work_ns - budget->work_ns);
	if (budget->left_ns > BUDGET_MOST_NS)
		budget->left_ns = BUDGET_MOST_NS;
	if (budget->left_ns < -BUDGET_DEBT_NS)
		budget->left_ns = -BUDGET_DEBT_NS;
	budget->seen_ns = now_ns;
	budget->work_ns = work_ns;
}

bool budget_take(struct check_budget *budget, const void *session, uint64_t now_ns, uint64_t until_ns, uint64_t work_ns)
{
	uint64_t from_ns = now_ns > budget->until_ns ? now_ns : budget->until_ns;
	int64_t more_ns = until_ns > from_ns ? (int64_t)(until_ns - from_ns) : 0;

	budget_earn(budget, session, now_ns, work_ns);
	if (more_ns > budget->left_ns)
		return false;
	budget->left_ns -= more_ns;
	if (until_ns > budget->until_ns)
		budget->until_ns = until_ns;
	return true;
}
