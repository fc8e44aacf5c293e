/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_close_policy.h - in which order regions and what they are bound to may be closed (FI_EMU_MR_CLOSE; S180, S181).
 * The pages of libfabric contradict each other over the versions, so the version never chooses. */
#ifndef EMU_FI_CLOSE_POLICY_H
#define EMU_FI_CLOSE_POLICY_H

#include <stdbool.h>

#include "emu/nic/bond.h"

struct emu_domain;

/* What does not wait dissolves its bonds when it closes. */
struct close_policy {
	const char *name;
	bool region_waits;	/* fi_close of a region that is bound to something open: -FI_EBUSY */
	bool end_waits;		/* fi_close of an endpoint or counter that regions are bound to: -FI_EBUSY */
};

/* NULL ends the names; the first is the default. */
extern const char *const close_policy_names[];
const struct close_policy *close_policy(unsigned index);

/* May an endpoint or counter of this domain, which is usable, go? 0 or -FI_EBUSY, logged; -FI_EAGAIN as driver_enter().
 * Changes nothing. */
int  close_end_check(const struct emu_domain *domain, const struct bond_end *end, const char *what);
/* It goes: dissolves its bonds, the driver role taken and given back a slice at a time. */
void close_end(const struct emu_domain *domain, struct bond_end *end);

#endif
