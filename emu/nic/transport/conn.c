/* SPDX-License-Identifier: BSD-2-Clause */
/* conn.c - one connection's bytes: received into place, sent in batches. */
#include "emu/nic/transport/conn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/endpoint/ep.h"
#include "emu/nic/endpoint/nic_impl.h"
#include "emu/nic/faults/fault_post.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/requests/dispatch.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/requests/target.h"
#include "emu/nic/transport/evict.h"
#include "emu/nic/transport/hello.h"
#include "emu/nic/transport/prefetch.h"
#include "emu/nic/transport/proof.h"
#include "wire/codec.h"
#include "wire/digest.h"

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
	nic_due(nic, conn->greet_by_ns);
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

void conn_down(struct conn *conn, int error)
{
	nic_role(conn->nic);
	conn_close(conn, error, false);
}

/* Takes the last bytes that its peer may have sent. */
static void hear_out(struct conn *conn)
{
	uint64_t number;

	if (conn->state == CONN_OPEN && conn->nic->link.stored_ack(conn->line, &number))
		take_stored_ack(conn, number);
}

void conn_close(struct conn *conn, int error, bool silent)
{
	struct session *session = conn->session;

	nic_role(conn->nic);
	if (conn->state == CONN_CLOSED)
		return;
	hear_out(conn);
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
	proof_bye(conn);
	at = conn->state == CONN_DIALING || conn->state == CONN_CLOSED ? NULL : conn_frame_begin(conn, 0, 0);
	if (at) {
		size_t length = wire_put_bye(at, reason, text);
		int err;

		wire_seal(at, 0, conn->state != CONN_OPEN || conn->head_digest);
		sendq_add(&conn->out, length);
		err = sendq_flush(&conn->out, &conn->nic->spares, &conn->nic->link, conn->line);
		(void)err;	/* bytes that the line does not take at once are not sent */
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
		session->breaks++;
	conn_bye(conn, conn->stream.flaw == WIRE_FLAW_VERSION ? WIRE_BYE_VERSION : WIRE_BYE_PROTOCOL, reason, false);
}

void conn_busy(struct conn *conn)
{
	nic_role(conn->nic);
	if (unlikely(conn->busy || conn->state == CONN_CLOSED))
		return;
	nic_stir(conn->nic);
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
	if (!rsp->owed_requests || rsp->verdicts || session->mute || session->fault || conn->state != CONN_OPEN ||
	    !conn->nic->link.store_ack(conn->line, rsp->seen))
		return false;
	conn->ack_sent = rsp->seen;
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
			if (conn->out.starved)	/* nothing would wake it: the next connection tries again */
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
			conn_busy(conn);	/* the slice is over, perhaps there is more (D4) */
			return true;
		} else if (likely(!full)) {
			return true;
		}
	}
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

/* Where the frame ends whose head and body were taken, `end` at the latest. */
static const uint8_t *frame_end(const uint8_t *from, const uint8_t *end, const struct wire_head *head)
{
	uint64_t length = wire_get32(head->payload);

	length += length ? sizeof(struct wire_trailer) : 0;
	return length < (uint64_t)(end - from) ? from + length : end;
}

/* For a payload that comes with a digest and in pieces: most connections never see one. */
static __attribute__((cold)) bool conn_hash_state(struct conn *conn)
{
	/* aligned_alloc: the state asks for the alignment of its vectors. */
	struct digest_state *state = aligned_alloc(_Alignof(struct digest_state), sizeof(*state));

	if (!state) {
		conn_close(conn, ENOMEM, false);
		return false;
	}
	stream_state(&conn->stream, state);
	return true;
}

/* Takes the bytes in scratch, frame by frame. A function of its own, so that polls that find nothing stay cheap. */
__attribute__((noinline)) static void conn_feed(struct conn *conn, const uint8_t *from, const uint8_t *end)
{
	const struct mr_table *regions = conn->ep->attr.pd->regions;
	struct prefetch ahead;
	bool far = prefetch_pays(regions);
	struct stream_item item;
	const char *broken = NULL;

	ahead.at = NULL;
	if (far && stream_at_head(&conn->stream))
		prefetch_frames(&ahead, regions, from, end);
	while (!broken && conn->state != CONN_CLOSED) {
		switch (stream_next(&conn->stream, &from, end, &item)) {
		case STREAM_MORE:
			return;
		case STREAM_FRAME:
			if (far)
				prefetch_frames(&ahead, regions, frame_end(from, end, item.head), end);
			broken = dispatch_begin(conn, item.head);
			break;
		case STREAM_PAYLOAD:
			dispatch_payload(conn, item.bytes, item.length);
			break;
		case STREAM_END:
			if (item.length)
				dispatch_payload(conn, item.bytes, item.length);
			broken = dispatch_end(conn, item.status);
			break;
		case STREAM_STATE:
			if (!conn_hash_state(conn))
				return;
			break;
		case STREAM_FLAW:
			broken = wire_flaw_name(item.flaw);
			break;
		}
	}
	if (broken)
		conn_broken(conn, broken);
}

/* Where the rest of a large payload may be received without a copy; returns the number of runs. None for one with digest:
 * a program that sees the last bytes come may write there before they are digested, which would look like a broken wire,
 * and they would come again over the program's bytes. None for pinned memory either, which the socket cannot reach. */
static int conn_direct(struct conn *conn, struct iovec *runs, uint64_t *bytes)
{
	uint32_t left = stream_payload_left(&conn->stream);
	int count;

	*bytes = 0;
	if (left <= LIMIT_COPY || stream_hashes(&conn->stream) || conn->in.sink == SINK_DROP || conn->in.fault ||
	    conn->in.place.pin)
		return 0;
	count = place_runs(&conn->in.place, left, runs, LIMIT_IOV);
	for (int i = 0; i < count; i++)
		*bytes += runs[i].iov_len;
	return count;
}

/* SLICE_RECV_BYTES for long payloads: more of them would only be copied. */
static size_t scratch_room(const struct conn *conn)
{
	return conn->plenty && wire_get32(conn->in.head.payload) < SLICE_RECV_BYTES ? SLICE_RECV_MORE : SLICE_RECV_BYTES;
}

/* Where in scratch to receive bytes that are copied or are no payload. True: it is the rest of a large payload with digest, at
 * the offset within a cache line of its destination: other copies take half as long again. Behind it there is room for a head
 * like this one's and no more: the next payload then comes whole (conn_whole()). */
static bool conn_level(struct conn *conn, struct iovec *room)
{
	uint32_t left = stream_payload_left(&conn->stream);
	uint8_t *scratch = conn->nic->scratch;
	struct iovec place;

	*room = (struct iovec){ scratch, scratch_room(conn) };
	if (left <= LIMIT_COPY || !stream_hashes(&conn->stream) || conn->in.sink == SINK_DROP || conn->in.place.pin ||
	    place_runs(&conn->in.place, left, &place, 1) != 1)
		return false;
	room->iov_base = scratch + (((uintptr_t)place.iov_base - (uintptr_t)scratch) & (CACHE_LINE - 1));
	room->iov_len = left + sizeof(struct wire_trailer) + sizeof(struct wire_head) + wire_body_len(conn->in.head.op);
	return true;
}

struct whole {
	void *to;
	const void *from;
	uint32_t length;
	uint64_t digest;
};

static void whole_copy(void *arg)
{
	struct whole *whole = arg;

	whole->digest = digest_copy(whole->to, whole->from, whole->length);
}

/* Copies a whole payload with digest to its place, and digests it in the same pass. False: it is not whole or in one piece, or
 * the place cannot be written; the stream is to be fed with the bytes. */
static bool conn_whole(struct conn *conn, const uint8_t *bytes, size_t got)
{
	struct whole whole = { .from = bytes, .length = wire_get32(conn->in.head.payload) };
	struct iovec place;

	if (stream_payload_left(&conn->stream) < whole.length || got < whole.length || conn->in.fault ||
	    place_runs(&conn->in.place, whole.length, &place, 1) != 1 || place.iov_len < whole.length)
		return false;
	whole.to = place.iov_base;
	conn->in.fault = !guard_run(whole.to, whole.length, true, whole_copy, &whole);
	if (conn->in.fault)
		return false;
	place_advance(&conn->in.place, whole.length);
	stream_digested(&conn->stream, whole.digest);
	return true;
}

/* Nothing was received. */
static void conn_unheard(struct conn *conn, ssize_t got)
{
	if (got == -EFAULT)
		conn->in.fault = true;	/* the rest goes to scratch */
	else if (got != -EAGAIN && got != -EINTR)
		conn_close(conn, got == 0 ? ECONNRESET : (int)-got, false);
}

/* While a payload that has a place is under way. */
__attribute__((noinline)) static void conn_receive_payload(struct conn *conn)
{
	struct iovec runs[LIMIT_IOV + 1];
	uint64_t direct;
	size_t take;
	ssize_t got;
	bool bulk, level;
	int count;

	target_write_recheck(conn);
	count = conn_direct(conn, runs, &direct);
	/* Behind a long payload most likely another begins: receive its head, and few of the bytes that would be copied. Short
	 * payloads are received many at once, copied or not. */
	level = conn_level(conn, &runs[count]);
	bulk = (count || level) && wire_get32(conn->in.head.payload) >= SLICE_RECV_BYTES;
	if (!level && (bulk || conn->bulk))
		runs[count].iov_len = LIMIT_COPY;
	conn->bulk = bulk;
	got = conn->nic->link.recv(conn->line, runs, count + 1);
	conn->plenty = got >= SLICE_RECV_BYTES;
	if (got <= 0) {
		conn_unheard(conn, got);
		return;
	}
	if (level && conn_whole(conn, runs[0].iov_base, (size_t)got)) {
		size_t whole = wire_get32(conn->in.head.payload);

		conn_feed(conn, (uint8_t *)runs[0].iov_base + whole, (uint8_t *)runs[0].iov_base + got);
		return;
	}
	take = (uint64_t)got < direct ? (size_t)got : (size_t)direct;
	if (take > 0) {
		stream_placed(&conn->stream, runs[0].iov_base, (uint32_t)take);
		place_advance(&conn->in.place, take);
	}
	conn_feed(conn, runs[count].iov_base, (uint8_t *)runs[count].iov_base + ((size_t)got - take));
}

void conn_readable(struct conn *conn)
{
	uint8_t *scratch = conn->nic->scratch;
	struct iovec room = { scratch, conn->bulk ? LIMIT_COPY : scratch_room(conn) };
	ssize_t got;

	nic_role(conn->nic);
	if (conn->state != CONN_OPEN && conn->state != CONN_GREETING)
		return;
	if (conn->in.sink != SINK_DROP) {
		conn_receive_payload(conn);
		return;
	}
	conn->bulk = false;
	got = conn->nic->link.recv(conn->line, &room, 1);
	conn->plenty = got >= SLICE_RECV_BYTES;
	if (got > 0)
		conn_feed(conn, scratch, scratch + got);
	else
		conn_unheard(conn, got);
}

const char *conn_name(const struct conn *conn, char *text, size_t size)
{
	nic_role(conn->nic);
	if (conn->session)
		return session_name(conn->session, text, size);
	snprintf(text, size, "a peer that said no HELLO");
	return text;
}
