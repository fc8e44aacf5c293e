/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_close_policy.h - the order in which regions and the objects they are bound to may be closed (FI_EMU_MR_CLOSE; S180, S181).
 * libfabric's man pages differ between versions, so the API version never chooses. */
#ifndef EMU_FI_CLOSE_POLICY_H
#define EMU_FI_CLOSE_POLICY_H

#include <stdbool.h>

#include "emu/fi/personality/fi_attr.h"

/* An object that need not wait dissolves its bindings when it closes. */
struct close_policy {
	const char *name;
	bool region_waits; /* fi_close of a region that is bound to an open object: -FI_EBUSY */
	bool end_waits;    /* fi_close of an endpoint or counter that regions are bound to: -FI_EBUSY */
};

/* By enum close_order; NULL ends the names. */
extern const char *const close_policy_names[];
const struct close_policy *close_policy(enum close_order order);

#endif
