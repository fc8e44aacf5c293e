/* SPDX-License-Identifier: BSD-2-Clause */
/* read_response.h - DATA that the peer has asked for: by READ, out of a region; by PULL, out of a parked op of ours.
 * Owner: the session. Thread: holder of the driver role. */
#ifndef EMU_NIC_READ_RESPONSE_H
#define EMU_NIC_READ_RESPONSE_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/requests/access_check.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

struct read_response {
	struct read_response *next;
	uint64_t ref;
	bool pulled;          /* PULL: from `op`; else READ: from a region */
	struct op *op;        /* PULL: NULL if it was given up meanwhile */
	struct access ask;    /* READ: all that is to be read */
	bool pinned;          /* READ: out of pinned memory, which cannot be lent to the connection */
	uint64_t start;       /* PULL: where in the message it begins */
	uint64_t length;      /* bytes asked for */
	uint64_t offset;      /* of them sent */
	struct cq_node *slot; /* READ that is told of (EP_REGION_EVENTS): see complete_has_room() */
};

/* NULL, or the breach of the protocol. */
MUST_USE const char *read_response_add(struct session *session, uint64_t ref, const struct access *ask, bool pinned);
MUST_USE const char *read_response_add_pull(struct session *session, const struct wire_head *head);
/* Forgets the responses that read from this op, or all. */
void read_response_drop_op(struct session *session, const struct op *op);
/* Its memory is not there any more: the peer is told that the rest of it does not come (WIRE-72). */
void read_response_give_up_op(struct session *session, const struct op *op);
void read_response_flush(struct session *session);

#endif
