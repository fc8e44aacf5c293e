/* SPDX-License-Identifier: BSD-2-Clause */
/* target_send.c - the peer's messages: has the endpoint the right to take them? message.c matches them with receives. */
#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/regions/auth.h"
#include "emu/nic/requests/request_calls.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

/* The right that the endpoint must have been opened with. */
static inline uint32_t right_of(uint8_t flags)
{
	if (unlikely(flags & WIRE_F_COLLECTIVE))
		return EP_COLLECTIVE;
	return flags & WIRE_F_TAGGED ? EP_TRECV : EP_RECV;
}

const char *target_send_take(struct conn *conn, const struct wire_head *head)
{
	const struct wire_send *send = wire_body(head);
	struct refusal *why = &conn->in.why;
	const char *broken;
	bool full;

	if (unlikely(conn->session->ep->attr.rules & EP_RULE_RECEIVE_FIRST))
		return "SEND or RTS to an endpoint that receives first (WIRE-145)";
	if (!responder_allows(conn->session, right_of(head->flags), why)) {
		why->op = head->flags & WIRE_F_COLLECTIVE ? OP_COLLECTIVE : OP_SEND;
		why->length = wire_get64(send->length);
		return NULL;
	}
	if (!ep_takes(conn->session->ep, auth_taken(conn, wire_get64(send->auth)), &conn->session->peer)) {
		*why = (struct refusal){ .cause = REFUSAL_AUTH, .op = OP_SEND, .length = wire_get64(send->length) };
		return NULL;
	}
	if (coll_is_abort(head)) {
		coll_aborted(conn->session, wire_get64(send->tag), wire_get64(send->cq_data) >> WIRE_COLL_STEP_BITS);
		return NULL;
	}
	broken = message_begin(conn, head, &full);
	return full ? responder_rnr(conn) : broken;
}

const char *target_send_end(struct conn *conn, enum wire_status status)
{
	if (conn->in.why.cause != REFUSAL_NONE)
		return verdict_refuse(conn->session, wire_get64(conn->in.head.seq), &conn->in.why);
	return conn->in.message ? message_end(conn, status) : NULL; /* NULL: an abort, which is done */
}
