/* SPDX-License-Identifier: BSD-2-Clause */
/* message.c - arriving messages. Two budgets bound what is kept of unexpected ones (F3): payload, past which only the
 * envelope is kept and the payload pulled at the match; and envelopes, past which the sender is told RNR. */
#include "emu/nic/message.h"

#include <stdlib.h>

#include "emu/nic/completer.h"
#include "emu/nic/ep.h"
#include "emu/nic/nic_impl.h"
#include "emu/nic/verdict.h"

static struct rx_match *match_of(const struct session *session)
{
	return &session->ep->match;
}

/* The message's session may be gone: kept payload outlives it while its endpoint closes. */
static void message_free(struct rx_match *match, struct message *message)
{
	if (message->bytes) {
		match->bytes -= message->length;
		free(message->bytes);
	}
	free(message);
}

/* The payload of an unexpected SEND: kept if the budget and memory allow, else left to its sender (parked). */
static void message_keep_payload(struct message *message)
{
	struct rx_match *match = match_of(message->session);
	uint64_t budget = message->session->ep->nic->config.unexpected_bytes;

	if (message->length > 0 && message->length <= budget && match->bytes <= budget - message->length)
		message->bytes = malloc(message->length);
	if (message->bytes)
		match->bytes += message->length;
	else if (message->length > 0)
		message->remote = true;
}

static void message_sink(struct conn *conn, struct message *message)
{
	struct incoming *in = &conn->in;

	in->message = message;
	in->sink = SINK_MESSAGE;
	if (message->rx)
		rx_place(message->rx, &in->place);
	else if (message->bytes)
		place_set(&in->place, &(struct iovec){ message->bytes, message->length }, 1);
	else
		place_set(&in->place, NULL, 0);
}

const char *message_begin(struct conn *conn, const struct wire_head *head, bool *full)
{
	const struct wire_send *send = wire_body(head);
	struct session *session = conn->session;
	struct rx_match *match = match_of(session);
	struct message *message = calloc(1, sizeof(*message));

	*full = !message;
	if (!message)
		return NULL;
	message->session = session;
	message->ref = wire_get64(head->seq);
	message->length = wire_get64(send->length);
	message->cq_data = wire_get64(send->cq_data);
	message->has_cq_data = head->flags & WIRE_F_CQ_DATA;
	message->remote = head->op == WIRE_RTS;
	message->arriving = true;
	message->rx = rx_match_arrival(match, session);
	if (!message->rx) {
		if (match->envelopes >= session->ep->nic->config.envelopes) {
			*full = true;
			free(message);
			return NULL;
		}
		if (head->op == WIRE_SEND)
			message_keep_payload(message);
		rx_match_keep(match, message);
	}
	message_sink(conn, message);
	return NULL;
}

/* The payload is here, a receive too. */
static void message_deliver(struct message *message)
{
	struct rx *rx = message->rx;
	struct place place;

	rx_place(rx, &place);
	if (message->bytes && !place_put(&place, message->bytes, message->length))
		complete_receive_failed(rx, REFUSAL_SOURCE_FAULT);
	else
		complete_receive(rx, message->session, message->length, message->has_cq_data, message->cq_data);
	message_free(match_of(message->session), message);
}

static void pull_unlink(struct message *message)
{
	struct message **at = &message->session->rsp.pulls;

	while (*at != message)
		at = &(*at)->next;
	*at = message->next;
	if (message->pull_due)
		message->session->rsp.pulls_due--;
}

static const char *pull_finish(struct message *message)
{
	struct session *session = message->session;
	uint64_t ref = message->ref;

	pull_unlink(message);
	if (message->status != WIRE_GOOD)
		complete_receive_failed(message->rx, REFUSAL_SOURCE_FAULT);
	else
		complete_receive(message->rx, session, message->length, message->has_cq_data, message->cq_data);
	message_free(match_of(session), message);
	return verdict_add(session, WIRE_DONE, ref);
}

/* The payload is at the sender, a receive is here: asks for as much as the receive takes. */
static const char *pull_begin(struct message *message)
{
	struct session *session = message->session;
	struct message **at = &session->rsp.pulls;

	message->wanted = message->length < message->rx->capacity ? message->length : message->rx->capacity;
	while (*at)
		at = &(*at)->next;
	message->next = NULL;
	*at = message;
	if (message->wanted == 0)
		return pull_finish(message);
	message->pull_due = true;
	session->rsp.pulls_due++;
	session_want(session);
	return NULL;
}

void message_matched(struct message *message, struct rx *rx)
{
	message->rx = rx;
	if (message->arriving)
		return;		/* message_end() goes on */
	if (!message->remote)
		message_deliver(message);
	else if (pull_begin(message))
		session_end(message->session, REFUSAL_PROTOCOL);
}

const char *message_end(struct conn *conn, enum wire_status status)
{
	struct message *message = conn->in.message;
	struct session *session = conn->session;
	const char *broken = NULL;

	conn->in.message = NULL;
	message->arriving = false;
	if (status != WIRE_GOOD || conn->in.fault) {
		rx_match_drop(match_of(session), message);
		if (message->rx)
			complete_receive_failed(message->rx, REFUSAL_SOURCE_FAULT);
		message_free(match_of(session), message);
		return NULL;
	}
	if (message->remote) {
		if (conn->in.head.op == WIRE_SEND)
			broken = verdict_add(session, WIRE_PARK, message->ref);
		if (!broken && message->rx)
			broken = pull_begin(message);
	} else if (message->rx && message->bytes) {
		message_deliver(message);
	} else if (message->rx) {
		complete_receive(message->rx, session, message->length, message->has_cq_data, message->cq_data);
		message_free(match_of(session), message);
	}
	return broken;
}

void message_undo(struct conn *conn)
{
	struct message *message = conn->in.message;

	conn->in.message = NULL;
	rx_match_drop(match_of(message->session), message);
	if (message->rx)
		rx_match_return(match_of(message->session), message->rx);
	message_free(match_of(message->session), message);
}

static struct message *pull_find(struct session *session, uint64_t ref)
{
	struct message *message = session->rsp.pulls;

	while (message && message->ref != ref)
		message = message->next;
	return message;
}

const char *message_pulled(struct conn *conn, uint64_t ref, uint64_t offset, uint64_t rest)
{
	struct message *message = pull_find(conn->session, ref);
	struct incoming *in = &conn->in;

	if (!message || message->pull_due)
		return ref > conn->session->rsp.seen ? "DATA for a request that was never sent (WIRE-59)" : NULL;
	if (offset != message->pulled || rest != message->wanted - message->pulled)
		return "DATA out of order (WIRE-71)";
	in->sink = SINK_PULL;
	in->message = message;
	rx_place(message->rx, &in->place);
	place_advance(&in->place, offset);
	return NULL;
}

const char *message_pulled_end(struct conn *conn, enum wire_status status)
{
	struct message *message = conn->in.message;

	conn->in.message = NULL;
	message->pulled += wire_get32(conn->in.head.payload);
	if (conn->in.fault)
		status = WIRE_SOURCE_FAULT;
	if (status != WIRE_GOOD)
		message->status = (uint8_t)status;
	if (status != WIRE_GOOD || conn->in.last)
		return pull_finish(message);
	return NULL;
}

bool message_fill_pull(struct session *session, struct conn *conn)
{
	struct message *message = session->rsp.pulls;
	void *at;

	if (session->rsp.pulls_due == 0)
		return false;
	while (!message->pull_due)
		message = message->next;
	at = conn_frame_begin(conn, 0, 0);
	if (!at)
		return false;
	conn_frame_end(conn, wire_put_pull(at, message->ref, message->pulled, message->wanted - message->pulled));
	message->pull_due = false;
	session->rsp.pulls_due--;
	return true;
}

void message_pull_again(struct session *session)
{
	session->rsp.pulls_due = 0;
	for (struct message *message = session->rsp.pulls; message; message = message->next) {
		message->pull_due = true;
		session->rsp.pulls_due++;
	}
}

void message_flush(struct session *session, enum refusal_cause cause)
{
	struct rx_match *match = match_of(session);
	struct message *message, *next;

	while ((message = session->rsp.pulls)) {
		pull_unlink(message);
		complete_receive_failed(message->rx, cause);
		message_free(match, message);
	}
	for (message = match->unexpected; message; message = next) {
		next = message->next;
		if (message->session != session || !message->remote)
			continue;
		rx_match_drop(match, message);
		message_free(match, message);
	}
}

void message_drop_all(struct rx_match *match)
{
	while (match->unexpected) {
		struct message *message = match->unexpected;

		rx_match_drop(match, message);
		message_free(match, message);
	}
}
