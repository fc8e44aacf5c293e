/* SPDX-License-Identifier: BSD-2-Clause */
/* cntr.h - completion counter: successes and errors. Written under the driver role or by fi_cntr_add/set from any
 * thread; read by any thread without a lock. */
#ifndef EMU_NIC_CNTR_H
#define EMU_NIC_CNTR_H

#include <stdbool.h>
#include <stdint.h>

struct cntr;

/* `wake` as in cq_open(). 0 or -ENOMEM. */
int  cntr_open(struct cntr **cntr, void (*wake)(void *arg), void *arg);
int  cntr_close(struct cntr *cntr);	/* 0, or -FI_EBUSY while users are bound */
void cntr_get(struct cntr *cntr);
void cntr_put(struct cntr *cntr);

void     cntr_add(struct cntr *cntr, uint64_t value);
void     cntr_add_error(struct cntr *cntr, uint64_t value);
void     cntr_set(struct cntr *cntr, uint64_t value);
void     cntr_set_error(struct cntr *cntr, uint64_t value);
uint64_t cntr_read(const struct cntr *cntr);
uint64_t cntr_read_error(const struct cntr *cntr);
/* From now until cntr_disarm() each change calls wake. */
void     cntr_arm(struct cntr *cntr);
void     cntr_disarm(struct cntr *cntr);

#endif
