/* SPDX-License-Identifier: BSD-2-Clause */
/* reply.h - DATA that the peer has asked for: by READ, out of a region; by PULL, out of a parked op of ours.
 * Owner: the session. Thread: holder of the driver role. */
#ifndef EMU_NIC_REPLY_H
#define EMU_NIC_REPLY_H

#include "emu/nic/conn.h"
#include "emu/nic/judge.h"
#include "emu/nic/session.h"

struct reply {
	struct reply *next;
	uint64_t ref;
	bool     pulled;		/* PULL: from `op`; else READ: from a region */
	struct op *op;			/* PULL: NULL if it was given up meanwhile */
	struct judge_ask ask;		/* READ: all that is to be read */
	bool     pinned;		/* READ: out of pinned memory, which cannot be lent to the connection */
	uint64_t start;			/* PULL: where in the message it begins */
	uint64_t length;		/* bytes asked for */
	uint64_t offset;		/* of them sent */
};

/* NULL, or what breaks the protocol. */
const char *reply_read(struct session *session, uint64_t ref, const struct judge_ask *ask, bool pinned);
const char *reply_pull(struct session *session, const struct wire_head *head);
/* Sends the next segment of the oldest. */
bool reply_fill(struct session *session, struct conn *conn);
/* Forgets what reads from this op, or all. */
void reply_drop_op(struct session *session, const struct op *op);
void reply_flush(struct session *session);

#endif
