/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_binding.h - bindings of a region by fi_mr_bind(): to endpoints, through which it is reached (S104), and to counters, which
 * count every remote op that changed it (S98).
 *
 * Owner:  the region and the other end together: the end of either dissolves the binding.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_MR_BINDING_H
#define EMU_NIC_MR_BINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"

struct mr_binding;
struct cntr;
struct mr;

/* The other end, embedded in the object of emu/fi that it stands for. All zero but for cntr and
 * whole: bound to nothing. */
struct binding_end {
	struct cntr *cntr;               /* NULL: an endpoint */
	const struct binding_end *whole; /* of a context that regions may be bound to by itself: its endpoint; else NULL */
	struct mr_binding *first;
};

/* 0; -EINVAL if they are bound already; -ENOMEM, also beyond LIMIT_BINDINGS. */
MUST_USE int binding_add(struct mr *mr, struct binding_end *end);
bool binding_exists(const struct mr *mr, const struct binding_end *end);
/* Likewise, or is the region bound to the whole of which it is a part? */
bool binding_reaches(const struct mr *mr, const struct binding_end *end);
/* Is the region bound to any endpoint? */
bool binding_to_endpoint(const struct mr *mr);
bool binding_to_counter(const struct mr *mr);
/* Dissolves all bindings of a region. */
void binding_drop_region(struct mr *mr);
/* Dissolves up to SLICE_BINDINGS bindings; true if some are left. */
bool binding_drop_slice(struct binding_end *end);
/* A remote write or atomic has changed so many bytes of the region: one event for each counter bound to it. */
void binding_count_change(const struct mr *mr, uint64_t length);

#endif
