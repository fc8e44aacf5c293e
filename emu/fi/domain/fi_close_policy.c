/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_close_policy.c - the order of closing, as a table. */
#include "emu/fi/domain/fi_close_policy.h"

#include <assert.h>
#include <rdma/fi_errno.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_refuse.h"

static const struct close_policy policies[] = {
	[CLOSE_ANY] = { "any", false, false },          /* real programs close in any order, and some NICs let them */
	[CLOSE_MR_LAST] = { "mr-last", true, false },   /* fi_mr(3) up to 2.1: no open endpoint or counter */
	[CLOSE_MR_FIRST] = { "mr-first", false, true }, /* fi_mr(3) from 2.2 on: regions before their endpoints */
};
enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

const char *const close_policy_names[] = { "any", "mr-last", "mr-first", NULL };
static_assert(sizeof(close_policy_names) / sizeof(close_policy_names[0]) == POLICIES + 1, "a name for each policy");

const struct close_policy *close_policy(enum close_order order)
{
	return &policies[order];
}

int close_end_check(const struct emu_domain *domain, const struct binding_end *end, const char *what)
{
	struct driver *driver = nic_driver(domain->nic);
	bool bound;

	if (!driver_enter(driver))
		return -FI_EAGAIN; /* from a signal handler inside the device: close_end() could not have the role either */
	bound = end->first;
	driver_leave(driver);
	if (!bound || !domain->close->end_waits)
		return 0;
	return REFUSE(DOMAIN, -FI_EBUSY, "fi_close: regions are bound to the %s (FI_EMU_MR_CLOSE=%s). Close them first.", what,
		      domain->close->name);
}

void close_end(const struct emu_domain *domain, struct binding_end *end)
{
	bool more;

	do {
		driver_take(nic_driver(domain->nic)); /* close_end_check() has returned 0 */
		more = binding_drop_slice(end);
		driver_leave(nic_driver(domain->nic));
	} while (more);
}
