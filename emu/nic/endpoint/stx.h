/* SPDX-License-Identifier: BSD-2-Clause */
/* stx.h - a transmit context: the room for ops under way, of one endpoint or shared by several. Everything else of an op
 * is its endpoint's.
 *
 * Owner:  the endpoint, or the caller of stx_open().
 * Thread: the pool's taking side is the submit lock's; users are counted by any thread. */
#ifndef EMU_NIC_STX_H
#define EMU_NIC_STX_H

#include <stdatomic.h>

#include "emu/nic/endpoint/nic.h"

struct stx {
	struct pool *ops;
	atomic_uint users; /* endpoints */
};

void stx_get(struct stx *stx);
void stx_put(struct stx *stx);

#endif
