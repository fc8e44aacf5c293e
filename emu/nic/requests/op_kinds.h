/* SPDX-License-Identifier: BSD-2-Clause */
/* op_kinds.h - what sets the kinds of ops apart at the initiator: one row each.
 *
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_OP_KINDS_H
#define EMU_NIC_OP_KINDS_H

#include "emu/nic/ops/op.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

struct op_kind_rule {
	/* Queues the op's next request frame. False: no room. */
	bool (*fill)(struct session *session, struct conn *conn, struct op *op);
	uint8_t counter;                 /* enum ep_cntr that counts it; an atomic that fetches is a read */
	void (*resolved)(struct op *op); /* in place of a completion; NULL: it is posted, and completes */
};
extern const struct op_kind_rule op_kinds[OP_KINDS];

/* Asks again for a READ whose data a cut has swallowed, by its old number. False: no room. */
bool op_kinds_read_again(struct session *session, struct conn *conn);
/* Says that a tagged READ has its answer, or wants none any more. False: no room. */
bool op_kinds_say_taken(struct session *session, struct conn *conn);

#endif
