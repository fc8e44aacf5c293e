/* SPDX-License-Identifier: BSD-2-Clause */
/* conn_recv.c - one connection's bytes: received into place, parsed frame by frame.
 *
 *   the stream stands                 the line puts bytes into                 and the payload is
 *   ------------------------------    -------------------------------------    -------------------------------
 *   in a head; in a payload that      scratch                                  copied, piece by piece
 *   is short, pinned or dropped
 *   in a long one without digest      its place, then scratch                  there (conn_direct())
 *   in a long one with digest         scratch, at the offset of its place      copied and digested in one pass,
 *                                     within a cache line (conn_level())       if it is whole (conn_whole())
 *
 * How much of scratch, as bytes there are copied: SLICE_RECV_BYTES, and SLICE_RECV_MORE where the last call brought so many and
 * payloads are short (conn->plenty); LIMIT_COPY behind a payload of SLICE_RECV_BYTES or more, and for the call after it
 * (conn->bulk). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/fault_swap.h"
#include "emu/nic/transport/prefetch.h"
#include "emu/nic/transport/transport_calls.h"
#include "wire/codec.h"
#include "wire/digest.h"

struct conn_kept {
	struct conn_kept *next;
	struct conn *conn;
	uint64_t until_ns;
	uint32_t length;
	uint8_t bytes[LIMIT_KEPT];
};

const char conn_waits[] = "waits";

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

/* Before the program hears of what was executed: it may end at once. Verdicts go by frames, which no note overtakes. */
static inline void note_executed(struct conn *conn)
{
	const struct session *session = conn->session;

	if (session && session->rsp.owed_requests && !session->rsp.verdicts && !fault_bars_notes(session))
		conn->nic->link.note_executed(conn->line, session->rsp.seen);
}

/* A frame waits, and these bytes with it. */
static __attribute__((noinline, cold)) void conn_keep(struct conn *conn, const uint8_t *bytes, size_t length)
{
	struct conn_kept *kept = malloc(sizeof(*kept));
	struct nic *nic = conn->nic;

	if (!kept) {
		conn_close(conn, ENOMEM, false);
		return;
	}
	kept->conn = conn;
	kept->until_ns = conn->in.waits_ns;
	kept->length = (uint32_t)length;
	memcpy(kept->bytes, bytes, length);
	kept->next = nic->kept;
	nic->kept = conn->kept = kept;
	nic_arm_timer(nic, kept->until_ns);
}

/* Takes the bytes in scratch, frame by frame. A function of its own, so that polls that find nothing stay cheap. */
__attribute__((noinline)) static void conn_feed(struct conn *conn, const uint8_t *from, const uint8_t *end)
{
	const struct mr_table *regions = conn->ep->attr.pd->regions;
	struct prefetch prefetch;
	bool far = prefetch_pays(regions);
	struct stream_item item;
	const char *broken = NULL;

	prefetch.at = NULL;
	if (far && stream_at_head(&conn->stream))
		prefetch_frames(&prefetch, regions, from, end);
	while (!broken && conn->state != CONN_CLOSED) {
		switch (stream_next(&conn->stream, &from, end, &item)) {
		case STREAM_MORE:
			note_executed(conn);
			return;
		case STREAM_FRAME:
			if (far)
				prefetch_frames(&prefetch, regions, frame_end(from, end, item.head), end);
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
	if (broken == conn_waits)
		conn_keep(conn, from, (size_t)(end - from));
	else if (broken)
		conn_broken(conn, broken);
}

/* More is left of the payload than is copied anyway, and its place is not pinned memory, which the socket cannot reach. */
static bool has_long_place(const struct conn *conn)
{
	return stream_payload_left(&conn->stream) > LIMIT_COPY && conn->in.sink != SINK_DROP && !conn->in.place.pin;
}

/* Where the rest of a large payload may be received without a copy; returns the number of runs. None for one with digest:
 * a program that sees the last bytes come may write there before they are digested, which would look like a broken wire,
 * and they would come again over the program's bytes. */
static int conn_direct(struct conn *conn, struct iovec *runs, uint64_t *bytes)
{
	int count;

	*bytes = 0;
	if (!has_long_place(conn) || stream_hashes(&conn->stream) || conn->in.fault || conn->nic->config.races)
		return 0;
	count = place_runs(&conn->in.place, stream_payload_left(&conn->stream), runs, LIMIT_IOV);
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
	if (!has_long_place(conn) || !stream_hashes(&conn->stream) || place_runs(&conn->in.place, left, &place, 1) != 1)
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

/* How many bytes came; none: 0 or less. */
static ssize_t conn_hear(struct conn *conn, const struct iovec *runs, int count)
{
	ssize_t got = conn->nic->link.recv(conn->line, runs, count);

	conn->plenty = got >= SLICE_RECV_BYTES;
	if (got > 0)
		return got;
	if (got == -EFAULT)
		conn->in.fault = true; /* the rest goes to scratch */
	else if (got != -EAGAIN && got != -EINTR)
		conn_down(conn, got == 0 ? ECONNRESET : (int)-got);
	return got;
}

static struct conn_kept *take_kept(struct conn *conn)
{
	struct conn_kept *kept = conn->kept, **at = &conn->nic->kept;

	while (*at != kept)
		at = &(*at)->next;
	*at = kept->next;
	conn->kept = NULL;
	return kept;
}

void conn_drop_kept(struct conn *conn)
{
	nic_role(conn->nic);
	if (conn->kept)
		free(take_kept(conn));
}

void conn_go_on(struct conn *conn)
{
	struct conn_kept *kept = take_kept(conn);
	const char *broken = dispatch_go_on(conn);

	nic_role(conn->nic);
	if (broken)
		conn_broken(conn, broken);
	else
		conn_feed(conn, kept->bytes, kept->bytes + kept->length);
	free(kept);
}

void conn_kept_tick(struct nic *nic)
{
	struct conn_kept *kept = nic->kept;

	nic_role(nic);
	while (kept) {
		if (kept->until_ns <= nic_now(nic)) {
			conn_go_on(kept->conn); /* it may wait again, and others may be gone */
			kept = nic->kept;
		} else {
			nic_arm_timer(nic, kept->until_ns);
			kept = kept->next;
		}
	}
}

/* While its frame waits. */
static __attribute__((noinline, cold)) void conn_hear_more(struct conn *conn)
{
	struct conn_kept *kept = conn->kept;
	struct iovec room = { kept->bytes + kept->length, LIMIT_KEPT - kept->length };
	ssize_t got = conn_hear(conn, &room, 1);

	if (got <= 0)
		return;
	kept->length += (uint32_t)got;
	if (kept->length == LIMIT_KEPT)
		conn_go_on(conn);
}

/* While a payload that has a place is under way, or a frame waits. */
__attribute__((noinline)) static void conn_receive_payload(struct conn *conn)
{
	struct iovec runs[LIMIT_IOV + 1];
	uint64_t direct;
	size_t take;
	ssize_t got;
	bool bulk, level;
	int count;

	if (unlikely(conn->kept)) {
		conn_hear_more(conn);
		return;
	}
	target_write_recheck(conn);
	count = conn_direct(conn, runs, &direct);
	/* Behind a long payload most likely another begins: receive its head, and few of the bytes that would be copied. Short
	 * payloads are received many at once, copied or not. */
	level = conn_level(conn, &runs[count]);
	bulk = (count || level) && wire_get32(conn->in.head.payload) >= SLICE_RECV_BYTES;
	if (!level && (bulk || conn->bulk))
		runs[count].iov_len = LIMIT_COPY;
	conn->bulk = bulk;
	got = conn_hear(conn, runs, count + 1);
	if (got <= 0)
		return;
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
	if (conn->in.sink != SINK_DROP || unlikely(conn->kept)) {
		conn_receive_payload(conn);
		return;
	}
	conn->bulk = false;
	got = conn_hear(conn, &room, 1);
	if (got > 0)
		conn_feed(conn, scratch, scratch + got);
}
