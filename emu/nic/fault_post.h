/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_post.h - what a fault plan does to the ops that this side posts. To be called only where there is a plan
 * (session->fault is not NULL). Thread: holder of the driver role. */
#ifndef EMU_NIC_FAULT_POST_H
#define EMU_NIC_FAULT_POST_H

#include "emu/nic/session.h"

/* The op, posted to the session, is numbered, and its faults are noted in it. */
void fault_post(struct session *session, struct op *op);
/* May it not leave yet? Then the session is looked at again when it may. */
bool fault_waits(struct session *session, const struct op *op);

#endif
