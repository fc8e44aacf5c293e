/* SPDX-License-Identifier: BSD-2-Clause */
/* pin.h - memory whose pages the outside holds, as the device touches it: the pages that its addresses led to when it was
 * registered, whatever they lead to by then (S81). emu/net does it by io_uring, tests by memory of their own.
 *
 * Owner:  the caller that registered the region; from before mr_add() until pd_remove_region() has returned. */
#ifndef EMU_NIC_PIN_H
#define EMU_NIC_PIN_H

#include <stdbool.h>
#include <stddef.h>

struct pin;

/* Called with the driver role; they do not block. `at` and `length` are inside the pinned memory. False: the bytes cannot be
 * moved, and some of them may have been. */
struct pin_ops {
	bool (*put)(struct pin *pin, void *at, const void *bytes, size_t length);
	bool (*get)(struct pin *pin, const void *at, void *bytes, size_t length);
	/* Has the program changed the mapping since this was last asked (S80)? False also if that cannot be told. */
	bool (*changed)(struct pin *pin);
};

struct pin {
	const struct pin_ops *ops;
};

#endif
