/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_close_policy.c - the order of closing, as a table. */
#include "emu/fi/fi_close_policy.h"

#include <assert.h>
#include <rdma/fi_errno.h>

#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_prov.h"

static const struct close_policy policies[] = {
	{ "any", false, false },	/* real programs close in any order, and some NICs let them */
	{ "mr-last", true, false },	/* fi_mr(3) up to 2.1: no open endpoint or counter */
	{ "mr-first", false, true },	/* fi_mr(3) from 2.2 on: regions before their endpoints */
};
enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

const char *const close_policy_names[] = { "any", "mr-last", "mr-first", NULL };
static_assert(sizeof(close_policy_names) / sizeof(close_policy_names[0]) == POLICIES + 1, "a name for each policy");

const struct close_policy *close_policy(unsigned index)
{
	return &policies[index];
}

int close_end_check(const struct emu_domain *domain, const struct bond_end *end, const char *what)
{
	struct driver *driver = nic_driver(domain->nic);
	bool bound;

	if (!driver_enter(driver))
		return -FI_EAGAIN; /* from a signal handler inside the device: close_end() could not have the role either */
	bound = end->first;
	driver_leave(driver);
	if (!bound || !domain->close->end_waits)
		return 0;
	EMU_WARN(DOMAIN, "the %s does not close while regions are bound to it (FI_EMU_MR_CLOSE=%s): close them first\n",
		 what, domain->close->name);
	return -FI_EBUSY;
}

void close_end(const struct emu_domain *domain, struct bond_end *end)
{
	bool more;

	do {
		driver_enter(nic_driver(domain->nic)); /* the caller has seen close_end_check() say 0 */
		more = bond_end_slice(end);
		driver_leave(nic_driver(domain->nic));
	} while (more);
}
