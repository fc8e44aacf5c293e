/* SPDX-License-Identifier: BSD-2-Clause */
/* conn.c - one connection: made, ended, and its bytes sent in batches. */
#include "emu/nic/transport/conn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/fault_swap.h"
#include "emu/nic/transport/greeting.h"
#include "emu/nic/transport/transport_calls.h"
#include "wire/codec.h"

static struct conn *conn_new(struct ep *ep)
{
	struct nic *nic = ep->nic;
	struct conn *conn;

	if (nic->conn_count >= LIMIT_CONNECTIONS && !evict_idle(nic)) {
		if (log_limit_ok(nic, LOG_LIMIT_CONNECTION))
			nic_log(nic, NIC_LOG_WARN, "no more than %d connections in a process", LIMIT_CONNECTIONS);
		return NULL;
	}
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return NULL;
	if (nic->secret && !(conn->proof = proof_open())) {
		free(conn);
		return NULL;
	}
	conn->nic = nic;
	conn->ep = ep;
	conn->greet_by_ns = time_coarse(nic_now(nic) + TIME_HELLO_NS);
	stream_init(&conn->stream, nic->config.segment);
	conn->stream.proves = conn->proof;
	conn->next = nic->conns;
	if (conn->next)
		conn->next->prev = conn;
	nic->conns = conn;
	nic->conn_count++;
	nic->greeting = true;
	nic_arm_timer(nic, conn->greet_by_ns);
	return conn;
}

/* Unlinks; the memory goes at the end of the slice. */
static void conn_bury(struct conn *conn)
{
	struct nic *nic = conn->nic;

	if (conn->prev)
		conn->prev->next = conn->next;
	else
		nic->conns = conn->next;
	if (conn->next)
		conn->next->prev = conn->prev;
	nic->conn_count--;
	if (nic->trace)
		trace_closed(conn);
	conn_enter(conn, CONN_CLOSED);
	conn->next_dead = nic->dead;
	nic->dead = conn;
}

struct conn *conn_dial(struct session *session)
{
	struct conn *conn = conn_new(session->ep);
	int err;

	nic_role(session->ep->nic);
	if (!conn)
		return NULL;
	conn->dialled = true;
	conn->nic->dials++;
	conn->session = session;
	conn->epoch = session->epoch;
	err = conn->nic->link.dial(conn->nic->link_arg, &session->peer, conn, &conn->line);
	if ((err == -EMFILE || err == -ENFILE) && evict_idle(conn->nic))
		err = conn->nic->link.dial(conn->nic->link_arg, &session->peer, conn, &conn->line);
	if (!err)
		return conn;
	conn->session = NULL;
	conn->line = NULL;
	conn_bury(conn);
	return NULL;
}

struct conn *conn_accept(struct ep *ep, struct line *line)
{
	struct conn *conn = conn_new(ep);

	nic_role(ep->nic);
	if (!conn)
		return NULL;
	conn->line = line;
	conn_enter(conn, CONN_GREETING);
	return conn;
}

/* Handles it as the acknowledgement of a frame that carries nothing else. */
static bool take_stored_ack(struct conn *conn, uint64_t number)
{
	return conn->state != CONN_OPEN || !conn->session || requester_acked(conn->session, number);
}

void conn_ack_stored(struct conn *conn, uint64_t number)
{
	nic_role(conn->nic);
	if (!take_stored_ack(conn, number))
		conn_broken(conn, "note that acknowledges what was not sent (WIRE-39, WIRE-60)");
}

void conn_up(struct conn *conn)
{
	nic_role(conn->nic);
	if (conn->state != CONN_DIALING)
		return;
	conn_enter(conn, CONN_GREETING);
	hello_send(conn);
}

__attribute__((noinline, cold)) void conn_down(struct conn *conn, int error)
{
	nic_role(conn->nic);
	while (conn->kept) /* all that has come is executed */
		conn_go_on(conn);
	conn_close(conn, error, false);
}

/* Takes the last bytes that its peer may have sent. */
static void hear_out(struct conn *conn)
{
	uint64_t number;

	if (conn->state != CONN_OPEN)
		return;
	if (conn->nic->link.stored_ack(conn->line, &number))
		take_stored_ack(conn, number);
	take_stored_ack(conn, conn->nic->link.peer_executed(conn->line));
}

void conn_close(struct conn *conn, int error, bool silent)
{
	struct session *session = conn->session;

	nic_role(conn->nic);
	if (conn->state == CONN_CLOSED)
		return;
	hear_out(conn);
	conn_drop_kept(conn);
	conn_bury(conn);
	if (conn->line)
		conn->nic->link.close(conn->line);
	conn->line = NULL;
	sendq_drop(&conn->out, &conn->nic->spares);
	if (session && session->question == conn)
		claim_over(session);
	if (!session || session->conn != conn)
		return;
	responder_cut(session, conn);
	session->conn = NULL;
	if (!silent)
		session_cut(session, error);
	else
		session_enter(session, SESSION_IDLE);
}

void conn_bye(struct conn *conn, enum wire_bye_reason reason, const char *text, bool silent)
{
	void *at;

	nic_role(conn->nic);
	if ((reason == WIRE_BYE_CLOSED || reason == WIRE_BYE_UNPAIRED) && conn->state == CONN_OPEN && conn->session &&
	    conn->session->conn == conn)
		session_say_owed(conn->session);
	proof_bye(conn);
	at = conn->state == CONN_DIALING || conn->state == CONN_CLOSED ? NULL : conn_frame_begin(conn, 0, 0);
	if (at) {
		size_t length = wire_put_bye(at, reason, text);
		int err;

		wire_seal(at, 0, conn->state != CONN_OPEN || conn->head_digest);
		sendq_add(&conn->out, length);
		err = sendq_flush(&conn->out, &conn->nic->spares, &conn->nic->link, conn->line);
		(void)err; /* bytes that the line does not take at once are not sent */
	}
	conn_close(conn, 0, silent);
}

const char conn_no_memory[] = "out of memory for what the peer has asked";

void conn_broken(struct conn *conn, const char *reason)
{
	struct session *session = conn->session;
	char name[64];

	nic_role(conn->nic);
	if (conn->state == CONN_CLOSED)
		return;
	if (log_limit_ok(conn->nic, LOG_LIMIT_CONNECTION))
		nic_log(conn->nic, NIC_LOG_WARN, "connection with %s closed: %s", conn_name(conn, name, sizeof(name)), reason);
	if (reason == conn_no_memory) {
		conn_close(conn, ENOMEM, false);
		return;
	}
	if (session && session->conn == conn && proof_believes(conn))
		session->failed_conns++;
	conn_bye(conn, conn->stream.flaw == WIRE_FLAW_VERSION ? WIRE_BYE_VERSION : WIRE_BYE_PROTOCOL, reason, false);
}

void conn_busy(struct conn *conn)
{
	nic_role(conn->nic);
	if (unlikely(conn->busy || conn->state == CONN_CLOSED))
		return;
	nic_kick(conn->nic);
	conn->busy = true;
	conn->next_busy = conn->nic->busy;
	conn->nic->busy = conn;
}

void *conn_frame_begin(struct conn *conn, size_t copied, unsigned runs)
{
	nic_role(conn->nic);
	return sendq_room(&conn->out, &conn->nic->spares, WIRE_FRAME_MAX + copied + sizeof(struct wire_trailer), runs);
}

void conn_frame_end(struct conn *conn, size_t length)
{
	struct session *session = conn->session;
	struct responder *rsp = &session->rsp;
	uint64_t ack = session_ack(session);

	nic_role(conn->nic);
	conn->ack_sent = ack;
	rsp->quick = false;
	if (ack == rsp->seen) {
		rsp->owed_requests = 0;
		rsp->owed_bytes = 0;
		rsp->ack_now = session->req.verdict_seen > session->req.verdict_said;
	}
	wire_seal(sendq_add(&conn->out, length), ack, conn->head_digest);
}

/* A stored acknowledgement may overtake frames, but no verdict that it covers: so no verdict may be unread by the peer. */
bool conn_store_ack(struct conn *conn)
{
	struct session *session = conn->session;
	struct responder *rsp = &session->rsp;

	nic_role(conn->nic);
	if (!rsp->owed_requests || rsp->verdicts || session->answer_lost || fault_bars_notes(session) || conn->state != CONN_OPEN ||
	    !conn->nic->link.store_ack(conn->line, rsp->seen))
		return false;
	conn->ack_sent = rsp->seen;
	rsp->quick = true;
	rsp->owed_requests = 0;
	rsp->owed_bytes = 0;
	rsp->ack_now = session->req.verdict_seen > session->req.verdict_said;
	return true;
}

/* One frame more into the queue; false if there is none, or no room. */
static bool conn_fill(struct conn *conn)
{
	struct session *session = conn->session;

	if (unlikely(conn->state != CONN_OPEN || !session))
		return false;
	return session->fault ? fault_fill(session, conn) : session_fill(session, conn);
}

/* The line did not take all. A payload that cannot be continued ends its connection, as no other bytes may stand in the place
 * of its own: all but its op goes on by the next connection. */
static __attribute__((cold)) void conn_unsent(struct conn *conn, int err)
{
	if (err == -EFAULT && conn->session)
		requester_source_fault(conn->session, conn->out.faulted);
	if (err == -EAGAIN) {
		conn->blocked = true;
		conn->nic->link.want_write(conn->line);
	} else {
		conn_close(conn, -err, false);
	}
}

bool conn_transmit(struct conn *conn)
{
	bool sent = false;

	nic_role(conn->nic);
	if (unlikely(conn->blocked))
		return false;
	for (int frames = 0;;) {
		bool full;
		int err;

		while (likely(frames < SLICE_FRAMES) && conn_fill(conn))
			frames++;
		if (unlikely(!conn->out.buffer)) {
			if (conn->out.no_memory) /* nothing would wake it: the next connection tries again */
				conn_close(conn, ENOMEM, false);
			return sent;
		}
		sent = true;
		full = conn->out.full;
		err = sendq_flush(&conn->out, &conn->nic->spares, &conn->nic->link, conn->line);
		if (err) {
			conn_unsent(conn, err);
			return true;
		} else if (unlikely(frames >= SLICE_FRAMES)) {
			conn_busy(conn); /* the slice is over, perhaps there is more (D4) */
			return true;
		} else if (likely(!full)) {
			return true;
		}
	}
}

void conn_moved(struct conn *conn, struct line *line)
{
	nic_role(conn->nic);
	if (conn->nic->trace)
		trace_moved(conn, line);
	conn->line = line;
}

void conn_writable(struct conn *conn)
{
	nic_role(conn->nic);
	conn->blocked = false;
	conn_busy(conn);
}

void conn_revoke(struct conn *conn, const void *owner, enum wire_status status)
{
	nic_role(conn->nic);
	if (conn->out.buffer)
		sendq_revoke(&conn->out, owner, status);
}

const char *conn_name(const struct conn *conn, char *text, size_t size)
{
	nic_role(conn->nic);
	if (conn->session)
		return session_name(conn->session, text, size);
	snprintf(text, size, "a peer that said no HELLO");
	return text;
}
