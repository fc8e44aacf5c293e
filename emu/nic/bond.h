/* SPDX-License-Identifier: BSD-2-Clause */
/* bond.h - what a region is bound to by fi_mr_bind(): endpoints, through which it is reached (S104), and counters, which
 * tell of every remote op that changed it (S98).
 *
 * Owner:  the region and the other end together: whichever of them goes dissolves the bond.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_BOND_H
#define EMU_NIC_BOND_H

#include <stdbool.h>
#include <stdint.h>

struct bond;
struct cntr;
struct ep;
struct mr;

/* The other end, embedded in the object of emu/fi that it stands for. All zero but for cntr: bound to nothing. */
struct bond_end {
	struct cntr *cntr;	/* NULL: an endpoint */
	struct bond *first;
};

/* 0; -EINVAL if they are bound already; -ENOMEM, also beyond LIMIT_BONDS. */
int  bond_make(struct mr *mr, struct bond_end *end);
bool bond_there(const struct mr *mr, const struct bond_end *end);
/* Is the region bound to any endpoint? */
bool bond_to_endpoint(const struct mr *mr);
/* Dissolves all bonds of a region. */
void bond_end_region(struct mr *mr);
/* Dissolves up to SLICE_BONDS bonds; true if some are left. */
bool bond_end_slice(struct bond_end *end);
/* A remote write or atomic through `ep` has changed so many bytes of the region: one event for each counter bound to it, if
 * the endpoint was opened with FI_RMA_EVENT (S100). */
void bond_count(const struct mr *mr, const struct ep *ep, uint64_t length);

#endif
