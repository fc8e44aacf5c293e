/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_close_policy.h - the order in which regions and the objects they are bound to may be closed (FI_EMU_MR_CLOSE; S180, S181).
 * libfabric's man pages differ between versions, so the API version never chooses. */
#ifndef EMU_FI_CLOSE_POLICY_H
#define EMU_FI_CLOSE_POLICY_H

#include <stdbool.h>

#include "emu/fi/info/fi_attr.h"
#include "emu/nic/regions/mr_binding.h"

struct emu_domain;

/* An object that need not wait dissolves its bindings when it closes. */
struct close_policy {
	const char *name;
	bool region_waits; /* fi_close of a region that is bound to an open object: -FI_EBUSY */
	bool end_waits;    /* fi_close of an endpoint or counter that regions are bound to: -FI_EBUSY */
};

/* By enum close_order; NULL ends the names. */
extern const char *const close_policy_names[];
const struct close_policy *close_policy(enum close_order order);

/* May an endpoint or counter of this domain, which is usable, be closed? 0 or -FI_EBUSY, logged; -FI_EAGAIN as driver_enter().
 * Changes nothing. */
int close_end_check(const struct emu_domain *domain, const struct binding_end *end, const char *what);
/* Dissolves the bindings of one that closes; takes and gives back the driver role a slice at a time. */
void close_end(const struct emu_domain *domain, struct binding_end *end);

#endif
