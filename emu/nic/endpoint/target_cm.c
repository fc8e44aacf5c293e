/* SPDX-License-Identifier: BSD-2-Clause */
/* target_cm.c - CONNECT, ACCEPT and REJECT from a peer: which peer may send them, and when (WIRE-81 to WIRE-83, WIRE-184). */
#include <errno.h>
#include <stdlib.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/endpoint/ep_impl.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

struct asked {
	uint64_t request;
	uint32_t length;
	uint8_t data[LIMIT_CM_DATA];
};

const char *target_cm_take(struct conn *conn, const struct wire_head *head)
{
	const struct wire_cm *body = wire_body(head);
	struct asked *asked = malloc(sizeof(*asked));
	struct iovec run;

	nic_role(conn->nic);
	if (!asked)
		return conn_no_memory;
	asked->request = wire_get64(body->request);
	asked->length = wire_get32(head->payload);
	run = (struct iovec){ asked->data, asked->length };
	place_set(&conn->in.place, &run, 1);
	conn->in.sink = SINK_OWN;
	conn->in.own = asked;
	return NULL;
}

static enum refusal_cause connect_asked(struct session *session, const struct asked *asked)
{
	struct ep *ep = session->ep;
	struct cm_event event = {
		.kind = CM_REQUEST, .peer = &session->peer, .request = asked->request, .data = asked->data, .length = asked->length
	};

	if (!ep->attr.passive || (session->target_only && !ep->attr.manages))
		return REFUSAL_CAPABILITY;
	if (session->words >= LIMIT_WORDS || !cm_tell(ep, &event))
		return REFUSAL_RESOURCE;
	if (ep->attr.manages) {
		session->rsp.ack_now = true; /* the program of the sender may wait for that */
		conn_busy(session->conn);
	}
	return REFUSAL_NONE;
}

/* Does it answer the request of this endpoint? */
static bool answers(const struct session *session, const struct asked *asked)
{
	const struct cm *cm = &session->ep->cm;

	return session->ep->attr.cm && cm->state == CM_ASKING && cm->request == asked->request && !session->target_only;
}

static enum refusal_cause accepted(struct session *session, const struct asked *asked)
{
	struct ep *ep = session->ep;
	struct session *passive = ep->cm.asked;

	if (!answers(session, asked))
		return REFUSAL_CAPABILITY;
	ep->cm.peer = session;
	cm_enter(ep, CM_UP);
	ep->cm.asked = NULL;
	if (passive != session)
		cm_leave(passive);
	cm_tell(ep, &(struct cm_event){ .kind = CM_CONNECTED, .data = asked->data, .length = asked->length });
	/* The accepter is connected when it gets the acknowledgement: send it at once, not with the program's next request. */
	session->rsp.ack_now = true;
	conn_busy(session->conn);
	return REFUSAL_NONE;
}

static enum refusal_cause rejected(struct session *session, const struct asked *asked)
{
	if (!answers(session, asked) || session->ep->cm.asked != session)
		return REFUSAL_CAPABILITY;
	cm_fail(session->ep, ECONNREFUSED, asked->data, asked->length);
	return REFUSAL_NONE;
}

const char *target_cm_end(struct conn *conn, enum wire_status status)
{
	struct session *session = conn->session;
	struct asked *asked = conn->in.own;
	struct refusal why = { .op = OP_CONNECT };

	nic_role(conn->nic);
	conn->in.own = NULL;
	if (status != WIRE_GOOD) /* its sender has ended it (WIRE-58) */
		why.cause = REFUSAL_NONE;
	else if (conn->in.head.op == WIRE_CONNECT)
		why.cause = connect_asked(session, asked);
	else if (conn->in.head.op == WIRE_ACCEPT)
		why.cause = accepted(session, asked);
	else
		why.cause = rejected(session, asked);
	free(asked);
	return why.cause == REFUSAL_NONE ? NULL : verdict_refuse(session, wire_get64(conn->in.head.seq), &why);
}
