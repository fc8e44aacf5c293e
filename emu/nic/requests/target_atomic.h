/* SPDX-License-Identifier: BSD-2-Clause */
/* target_atomic.h - the peer's ATOMICs: judged and executed when the whole frame is here, so that one that is cut has done
 * nothing and one that was executed is never executed again (WIRE-51).
 *
 * Thread: holder of the driver role. NULL, or the breach of the protocol, as in responder.h. */
#ifndef EMU_NIC_TARGET_ATOMIC_H
#define EMU_NIC_TARGET_ATOMIC_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/transport/conn.h"

MUST_USE const char *target_atomic_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_atomic_end(struct conn *conn, enum wire_status status);

#endif
