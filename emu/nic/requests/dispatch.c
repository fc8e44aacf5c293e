/* SPDX-License-Identifier: BSD-2-Clause */
/* dispatch.c - dispatch of received frames. */

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/requests/open_access.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/greeting.h"
#include "emu/nic/transport/session.h"
#include "emu/nic/transport/transport_calls.h"

static const char *take_bye(struct conn *conn, const struct wire_head *head)
{
	static const enum refusal_cause ends[] = {
		[WIRE_BYE_VERSION] = REFUSAL_PROTOCOL,
		[WIRE_BYE_LIMIT] = REFUSAL_UNREACHABLE,
		[WIRE_BYE_SECRET] = REFUSAL_SECRET,
	};
	struct session *session = conn->session;
	struct wire_bye_fields fields;
	char name[64];
	bool quiet, believed = proof_believes(conn);

	wire_get_bye(head, &fields);
	quiet = fields.reason == WIRE_BYE_CLOSED || fields.reason == WIRE_BYE_DUPLICATE ||
		(fields.reason == WIRE_BYE_UNPAIRED && session && !session_busy(session));
	if (quiet || log_limit_ok(conn->nic, LOG_LIMIT_CONNECTION))
		nic_log(conn->nic, quiet ? NIC_LOG_DEBUG : NIC_LOG_WARN, "%s said goodbye: %s", conn_name(conn, name, sizeof(name)),
			fields.text);
	if (claim_asks(conn)) {
		claim_refused(conn, fields.reason);
		return NULL;
	}
	/* Until a peer has proved the secret in the session, a BYE that the secrets differ cannot be proved, and is believed. */
	believed |= session && session->peer_is != PEER_KNOWN && fields.reason == WIRE_BYE_SECRET;
	if (session && believed && fields.reason == WIRE_BYE_PROTOCOL)
		session->failed_conns++;
	conn_close(conn, 0, false);
	if (!believed)
		return NULL;
	/* PROTOCOL, DUPLICATE and CLAIM end the connection alone, as does UNPAIRED, but where nothing is tried again (WIRE-162). */
	if (session && fields.reason == WIRE_BYE_SESSION)
		session_forgotten(session);
	else if (session && fields.reason == WIRE_BYE_CLOSED)
		session_left(session);
	else if (session && fields.reason == WIRE_BYE_INSTANCE)
		session_replaced(session);
	else if (session && fields.reason == WIRE_BYE_UNPAIRED && ep_loses(session->ep))
		session_end(session, REFUSAL_PEER_GONE);
	else if (session && fields.reason < sizeof(ends) / sizeof(ends[0]) && ends[fields.reason] != REFUSAL_NONE)
		session_end(session, ends[fields.reason]);
	return NULL;
}

static const char *take_ack(struct conn *conn, const struct wire_head *head)
{
	const struct wire_ack *ack = wire_body(head);

	return verdict_acked(conn->session, wire_get64(ack->verdict));
}

static const char *take_data(struct conn *conn, const struct wire_head *head)
{
	const struct wire_data *data = wire_body(head);
	struct incoming *in = &conn->in;
	uint64_t ref = wire_get64(data->ref), offset = wire_get64(data->offset), rest = wire_get64(data->rest);
	bool broken;

	in->last = head->flags & WIRE_F_LAST;
	if (head->flags & WIRE_F_PULLED)
		return message_pulled(conn, ref, offset, rest);
	in->op = requester_data(conn->session, ref, offset, rest, &broken);
	if (!in->op)
		return broken ? "DATA that answers nothing asked (WIRE-59)" : NULL;
	in->sink = SINK_READ;
	place_set(&in->place, in->op->iov, in->op->iov_count);
	place_advance(&in->place, offset);
	return NULL;
}

static const char *end_data(struct conn *conn, enum wire_status status)
{
	struct incoming *in = &conn->in;

	if (in->message)
		return message_pulled_end(conn, status);
	if (in->op)
		requester_data_end(conn->session, in->op, wire_get32(in->head.payload), in->last, status, in->fault);
	in->op = NULL;
	return NULL;
}

static const char *take_pull(struct conn *conn, const struct wire_head *head)
{
	return read_response_add_pull(conn->session, head);
}

static const char *take_rnr(struct conn *conn, const struct wire_head *head)
{
	const struct wire_rnr *rnr = wire_body(head);

	if (requester_rnr(conn->session, wire_get64(rnr->ref), wire_get32(rnr->wait_us)))
		return NULL;
	return "RNR for a request that is not under way (WIRE-73)";
}

static const char *take_nak(struct conn *conn, const struct wire_head *head)
{
	struct wire_nak_fields fields;
	bool fresh;

	wire_get_nak(head, &fields);
	if (!requester_verdict(conn->session, fields.verdict, fields.ref, &fresh))
		return "verdict number or its request out of sequence (WIRE-46, WIRE-59)";
	if (fresh)
		requester_refused(conn->session, fields.ref, &fields);
	return NULL;
}

static const char *take_verdict(struct conn *conn, const struct wire_head *head)
{
	const struct wire_verdict *verdict = wire_body(head);
	uint64_t ref = wire_get64(verdict->ref);
	bool fresh;

	if (!requester_fits(conn->session, head->op, ref))
		return "verdict of a sort that its request cannot have (WIRE-45)";
	if (!requester_verdict(conn->session, wire_get64(verdict->verdict), ref, &fresh))
		return "verdict number or its request out of sequence (WIRE-46, WIRE-59)";
	if (fresh && head->op == WIRE_PARK)
		requester_park(conn->session, ref);
	else if (fresh)
		requester_done(conn->session, ref);
	return NULL;
}

static const char *take_result(struct conn *conn, const struct wire_head *head)
{
	const struct wire_verdict *verdict = wire_body(head);
	struct incoming *in = &conn->in;
	const char *broken;

	in->ref = wire_get64(verdict->ref);
	in->verdict = wire_get64(verdict->verdict);
	in->op = requester_result(conn->session, in->verdict, in->ref, wire_get32(head->payload), &broken);
	if (!in->op)
		return broken;
	in->sink = SINK_RESULT;
	place_set(&in->place, in->op->result, in->op->result_count);
	return NULL;
}

static const char *end_result(struct conn *conn, enum wire_status status)
{
	struct incoming *in = &conn->in;
	bool fresh;

	if (status != WIRE_GOOD)
		return "RESULT whose payload is not good (WIRE-76)";
	if (!requester_verdict(conn->session, in->verdict, in->ref, &fresh))
		return "verdict number or its request out of sequence (WIRE-46, WIRE-59)";
	if (fresh)
		requester_result_end(conn->session, in->ref, in->fault);
	in->op = NULL;
	return NULL;
}

#define REQUEST(what, op) .take = target_##what##_take, .end = target_##what##_end, .request = true, .kind = op

static const struct frame_rule {
	const char *(*take)(struct conn *conn, const struct wire_head *head);
	const char *(*end)(struct conn *conn, enum wire_status status); /* NULL: done when taken */
	bool greets;    /* legal before both HELLOs; the stream lets no other frame come first */
	bool request;   /* numbered: it passes responder_admits() */
	bool one_sided; /* responder_executed() */
	uint8_t kind;   /* enum op_kind of a request */
} frame_rules[256] = {
	[WIRE_HELLO] = { .take = hello_received, .greets = true },
	[WIRE_CHALLENGE] = { .take = hello_received, .greets = true },
	[WIRE_PROOF] = { .take = hello_received, .greets = true },
	[WIRE_BYE] = { .take = take_bye, .greets = true },
	[WIRE_ACK] = { .take = take_ack },
	[WIRE_PAIR] = { .take = pairing_taken },
	[WIRE_WRITE] = { REQUEST(write, OP_WRITE), .one_sided = true },
	[WIRE_READ] = { REQUEST(read, OP_READ) },
	[WIRE_SEND] = { REQUEST(send, OP_SEND) },
	[WIRE_RTS] = { REQUEST(send, OP_SEND) },
	[WIRE_RSEND] = { REQUEST(rsend, OP_SEND) },
	[WIRE_ATOMIC] = { REQUEST(atomic, OP_ATOMIC), .one_sided = true },
	[WIRE_CONNECT] = { REQUEST(cm, OP_CONNECT), .one_sided = true },
	[WIRE_ACCEPT] = { REQUEST(cm, OP_ACCEPT), .one_sided = true },
	[WIRE_REJECT] = { REQUEST(cm, OP_REJECT), .one_sided = true },
	[WIRE_TAKEN] = { REQUEST(taken, OP_KINDS), .one_sided = true }, /* the READ's end, and no request to a fault plan */
	[WIRE_DATA] = { .take = take_data, .end = end_data },
	[WIRE_PULL] = { .take = take_pull },
	[WIRE_RNR] = { .take = take_rnr },
	[WIRE_NAK] = { .take = take_nak },
	[WIRE_PARK] = { .take = take_verdict },
	[WIRE_DONE] = { .take = take_verdict },
	[WIRE_RESULT] = { .take = take_result, .end = end_result },
};

static const char *take_frame(struct conn *conn, const struct wire_head *head, const struct frame_rule *rule)
{
	const char *broken;

	if (rule->request && !responder_admits(conn, head, rule->kind, &broken))
		return broken;
	return rule->take(conn, head);
}

static const char *end_frame(struct conn *conn, enum wire_status status, const struct frame_rule *rule)
{
	if (!rule->request)
		return rule->end(conn, status);
	return conn->in.skip ? NULL : responder_executed(conn, rule->end(conn, status), rule->one_sided);
}

const char *dispatch_begin(struct conn *conn, const struct wire_head *head)
{
	const struct frame_rule *rule = &frame_rules[head->op];
	struct incoming *in = &conn->in;
	uint64_t ack = wire_get64(head->ack);
	const char *broken;

	nic_role(conn->nic);
	in->sink = SINK_DROP;
	in->fault = in->skip = in->repeat = in->last = false;
	in->why.cause = REFUSAL_NONE;
	in->message = NULL;
	in->op = NULL;
	in->head = *head;
	broken = take_frame(conn, head, rule);
	if (conn->state == CONN_CLOSED)
		return NULL;
	/* A verdict comes before the acknowledgement that covers its request, so the frame goes first. */
	if (!broken && !rule->greets && !requester_acked(conn->session, ack))
		broken = "acknowledgement of what was not sent (WIRE-60)";
	if (!broken && rule->end && wire_get32(in->head.payload) == 0)
		broken = dispatch_end(conn, WIRE_GOOD);
	return broken;
}

const char *dispatch_go_on(struct conn *conn)
{
	nic_role(conn->nic);
	if (conn->session->rsp.opens)
		open_access_go_on(conn->session, wire_get64(conn->in.head.seq));
	target_write_recheck(conn);
	return requester_acked(conn->session, wire_get64(conn->in.head.ack)) ? NULL
									     : "acknowledgement of what was not sent (WIRE-60)";
}

void dispatch_payload(struct conn *conn, const uint8_t *bytes, uint32_t length)
{
	struct incoming *in = &conn->in;

	nic_role(conn->nic);
	if (in->sink == SINK_DROP || in->fault)
		return;
	if (!place_put(&in->place, bytes, length))
		in->fault = true;
}

const char *dispatch_end(struct conn *conn, enum wire_status status)
{
	const char *broken = end_frame(conn, status, &frame_rules[conn->in.head.op]);

	nic_role(conn->nic);
	conn->in.sink = SINK_DROP; /* nothing more comes for its place, which then need not be judged again */
	return broken;
}
