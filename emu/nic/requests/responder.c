/* SPDX-License-Identifier: BSD-2-Clause */
/* responder.c - what all requests of the peer have in common: their sequence, the endpoint's right, and that they are answered. */
#include "emu/nic/requests/responder.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/requests/fault_ops.h"
#include "emu/nic/requests/held.h"
#include "emu/nic/requests/open_access.h"
#include "emu/nic/requests/request_calls.h"
#include "emu/nic/transport/greeting.h"
#include "emu/nic/transport/session.h"
#include "emu/nic/transport/transport_calls.h"

void responder_init(struct responder *rsp)
{
	static atomic_uint_fast64_t lives;

	*rsp = (struct responder){ .generation = atomic_fetch_add_explicit(&lives, 1, memory_order_relaxed) + 1,
				   .verdict_next = 1 };
}

const char *responder_rnr(struct conn *conn)
{
	struct responder *rsp = &conn->session->rsp;

	nic_role(conn->nic);
	conn->in.skip = true;
	rsp->rnr = true;
	rsp->due |= DUE_RNR;
	conn_busy(conn);
	return NULL;
}

void responder_receive_fails(struct session *session, enum refusal_cause cause)
{
	nic_role(session->ep->nic);
	if (verdict_halts(session, cause))
		cm_halted(session->ep); /* V136 */
}

enum refusal_cause responder_lacks(const struct session *session, uint32_t cap)
{
	nic_role(session->ep->nic);
	return cap & (EP_REMOTE_READ | EP_REMOTE_ATOMIC_READ | EP_REMOTE_ATOMIC_WRITE) && cm_caps(session) & EP_NO_READS
		       ? REFUSAL_NO_READS
		       : REFUSAL_CAPABILITY;
}

__attribute__((noinline, cold)) static bool allows_after_all(const struct session *session, uint32_t cap, struct refusal *why)
{
	if (unlikely(session->ep->attr.xrc) && cm_caps(session) & cap && !xrc_named(session->ep)) {
		*why = (struct refusal){ .cause = REFUSAL_NO_SRX };
		return false;
	}
	if (cm_caps(session) & cap && session->fault == &fault_watching)
		return true;
	*why = (struct refusal){ .cause = REFUSAL_NONE };
	if (cm_caps(session) & cap)
		return !session->fault || !fault_refuses(session, why);
	why->cause = responder_lacks(session, cap);
	return false;
}

bool responder_allows(const struct session *session, uint32_t cap, struct refusal *why)
{
	nic_role(session->ep->nic);
	return (cm_caps(session) & cap && !session->fault) || allows_after_all(session, cap, why);
}

/* Is the frame the one that is to be executed next? NULL, or the breach of the protocol. */
static const char *check_sequence(struct conn *conn, const struct wire_head *head)
{
	struct responder *rsp = &conn->session->rsp;
	uint64_t seq = wire_get64(head->seq);
	uint64_t acked_here = conn->ack_sent > conn->seen_at_open ? conn->ack_sent : conn->seen_at_open;

	if (seq <= rsp->seen) {
		conn->in.repeat = head->op == WIRE_READ;
		conn->in.skip = !conn->in.repeat;
	} else if (seq > rsp->seen + 1) {
		conn->in.skip = true;
		if (!rsp->rnr && !rsp->deaf)
			return "request number out of sequence (WIRE-55)";
	} else if (seq - acked_here > LIMIT_REQUESTS) {
		return "more requests than granted (WIRE-25)";
	} else if (unlikely(rsp->deaf)) {
		conn->in.skip = true;
	} else {
		rsp->rnr = false;
		if (unlikely(!rsp->seen))
			pairing_heard(conn->session->ep);
		if (head->op != WIRE_WRITE)
			target_write_abandon(conn->session);
		if (unlikely(rsp->rsend.open) && head->op != WIRE_RSEND)
			target_rsend_abandon(conn->session, REFUSAL_SENDER);
	}
	return NULL;
}

bool responder_admits(struct conn *conn, const struct wire_head *head, enum op_kind kind, const char **broken)
{
	nic_role(conn->nic);
	*broken = check_sequence(conn, head);
	if (*broken || conn->in.skip)
		return false;
	return !conn->session->fault || fault_begin(conn, head, kind);
}

/* An endpoint that sends to itself waits for its own acknowledgement: soon. */
static void acknowledge_after(struct nic *nic, struct conn *conn, bool one_sided)
{
	unsigned int idle = SLICE_IDLE_ACKS;

	nic->pace.stores |= conn->session->rsp.quick;
	if (one_sided || conn->session->target_only)
		idle = 1;
	else if (wire_get32(conn->in.head.payload) > LIMIT_INJECT && !conn_store_ack(conn))
		idle = SLICE_IDLE_ACKS_LONG;
	if (idle < nic->pace.idle_before_ack)
		nic->pace.idle_before_ack = idle;
}

const char *responder_executed(struct conn *conn, const char *broken, bool one_sided)
{
	struct session *session = conn->session;

	nic_role(conn->nic);
	/* It may have been executed, and its answer cannot be kept: the peer must not hear that it went well, nor ask again. */
	session->answer_lost |= broken != NULL;
	if (!conn->in.repeat) {
		session->rsp.seen++;
		session->down_ns = 0;
		session->rsp.owed_requests++;
		session->rsp.owed_bytes += wire_get32(conn->in.head.payload);
		if (one_sided && session->rsp.owed_requests >= ACK_STORED)
			(void)conn_store_ack(conn);
		session_owe(session);
		acknowledge_after(session->ep->nic, conn, one_sided);
	}
	if (session->fault && !broken)
		fault_end(conn);
	return broken;
}

static void end_receive(struct rx **at, bool told)
{
	struct rx *rx = *at;

	*at = NULL;
	if (rx && rx->srx->offer.xrc)
		xrc_turn_to(rx->ep, rx->srx);
	if (rx && told)
		complete_receive_failed(rx, REFUSAL_CANCELLED);
	else if (rx)
		complete_receive_untold(rx);
}

void responder_halt(struct session *session, bool told)
{
	struct responder *rsp = &session->rsp;
	struct conn *conn = session->conn;

	nic_role(session->ep->nic);
	if (conn && wire_is_request(conn->in.head.op) && conn->in.sink != SINK_DROP) {
		conn->in.sink = SINK_DROP;
		conn->in.skip = true;
	}
	rsp->deaf = true;
	if (rsp->opens)
		open_access_let_go(session);
	end_receive(&rsp->rsend.rx, told);
	end_receive(&rsp->write.rx, told);
}

static bool fill_rnr(struct session *session, struct conn *conn)
{
	uint32_t asked_us = session->ep->timing.rnr_wait_us;
	struct responder *rsp = &session->rsp;
	void *at = rsp->due & DUE_RNR ? conn_frame_begin(conn, 0, 0) : NULL;

	if (!at)
		return false;
	conn_frame_end(conn, wire_put_rnr(at, rsp->seen + 1, asked_us ? asked_us : (uint32_t)(TIME_RNR_NS / 1000)));
	rsp->due &= (uint8_t)~DUE_RNR;
	return true;
}

bool responder_fill_control(struct session *session, struct conn *conn)
{
	nic_role(conn->nic);
	return pairing_fill(session, conn) || verdict_fill(session, conn) || fill_rnr(session, conn) ||
	       message_fill_pull(session, conn);
}

void responder_cut(struct session *session, struct conn *conn)
{
	struct responder *rsp = &session->rsp;

	nic_role(conn->nic);
	if (conn->in.sink == SINK_MESSAGE && conn->in.message)
		message_undo(conn);
	free(conn->in.own);
	conn->in = (struct incoming){ .sink = SINK_DROP };
	if (rsp->opens)
		open_access_cut(session);
	target_write_pause(session);
	target_rsend_pause(session);
	read_response_flush(session);
	rsp->due = 0;
	rsp->rnr = rsp->ack_now = rsp->quick = false;
	message_pull_again(session);
}

bool responder_resume(struct session *session, uint64_t verdict_seen)
{
	nic_role(session->ep->nic);
	return verdict_resume(session, verdict_seen);
}

void responder_flush(struct session *session, enum refusal_cause cause)
{
	nic_role(session->ep->nic);
	read_response_flush(session);
	message_flush(session, cause);
	tagged_flush(session, cause);
	target_write_abandon(session);
	target_rsend_abandon(session, cause);
	commits_end(session);
	held_release(session);
	if (session->rsp.opens)
		open_access_let_go(session);
	verdict_flush(session);
	free(session->rsp.slot);
	responder_init(&session->rsp);
}
