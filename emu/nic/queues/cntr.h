/* SPDX-License-Identifier: BSD-2-Clause */
/* cntr.h - completion counter: successes and errors. Written under the driver role or by fi_cntr_add/set from any
 * thread; read by any thread without a lock. */
#ifndef EMU_NIC_CNTR_H
#define EMU_NIC_CNTR_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"

struct cntr;
struct nic;

/* `wake` as in cq_open(). 0 or -ENOMEM. */
MUST_USE int cntr_open(struct cntr **cntr, void (*wake)(void *arg), void *arg);
int cntr_close(struct cntr *cntr);        /* 0, or -EBUSY while users are bound */
bool cntr_bound(const struct cntr *cntr); /* has users */
void cntr_get(struct cntr *cntr);
void cntr_put(struct cntr *cntr);

/* From now on cntr_event() counts the bytes, not the event. Before the counter is bound to anything. */
void cntr_by_bytes(struct cntr *cntr);
void cntr_event(struct cntr *cntr, uint64_t bytes);
void cntr_add(struct cntr *cntr, uint64_t value);
void cntr_add_error(struct cntr *cntr, uint64_t value);
void cntr_set(struct cntr *cntr, uint64_t value);
void cntr_set_error(struct cntr *cntr, uint64_t value);
/* One more, one less deferred op of the nic that waits for it: while there are any, each change calls
 * reached(), which is always the same. */
void cntr_hold(struct cntr *cntr, void (*reached)(struct nic *nic, struct cntr *cntr), struct nic *nic);
void cntr_unhold(struct cntr *cntr);
uint64_t cntr_read(const struct cntr *cntr);
uint64_t cntr_read_error(const struct cntr *cntr);
/* From now until cntr_disarm() each change calls wake. */
void cntr_arm(struct cntr *cntr);
void cntr_disarm(struct cntr *cntr);
void cntr_notify(struct cntr *cntr); /* as cq_notify() */

#endif
