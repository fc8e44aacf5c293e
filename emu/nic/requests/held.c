/* SPDX-License-Identifier: BSD-2-Clause */
/* held.c - a peer's bytes between their execution and their place, and READs that look late. */
#include "emu/nic/requests/held.h"

#include <stdlib.h>
#include <string.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/regions/mr.h"
#include "emu/nic/regions/mr_binding.h"
#include "emu/nic/requests/open_access.h"
#include "emu/nic/requests/fault_ops.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"
#include "emu/nic/transport/transport_calls.h"
#include "wire/digest.h"

enum { ELEMENT = 8 }; /* no aligned one of so many bytes is cut */

struct held {
	struct held *next;
	struct session *session;
	uint64_t mr_id;
	uint64_t at_ns;
	uint64_t seq; /* of an access that is open (open_access.h); else 0 */
	struct place to;
	uint32_t length;
	bool atomic; /* stored by an atomic: seen before the next one is executed, whose ever it is */
	uint8_t bytes[];
};

static void held_show(struct held **at)
{
	struct held *held = *at;
	struct nic *nic = held->session->ep->nic;
	bool put;

	*at = held->next;
	held->session->rsp.held--;
	nic->held_bytes -= held->length;
	put = held->seq ? open_access_show(held->session, held->seq, &held->to, held->bytes, held->length)
			: place_put(&held->to, held->bytes, held->length);
	if (!put && log_limit_ok(nic, LOG_LIMIT_CONNECTION))
		nic_log(nic, NIC_LOG_WARN, "a remote write that was held back has lost its memory, and %u B are dropped",
			held->length);
	free(held);
}

void held_release(struct session *session)
{
	struct held **at = &session->ep->nic->held;

	nic_role(session->ep->nic);
	while (*at && session->rsp.held) {
		if ((*at)->session == session)
			held_show(at);
		else
			at = &(*at)->next;
	}
}

void held_release_region(struct nic *nic, const struct mr *mr)
{
	struct held **at = &nic->held;

	nic_role(nic);
	while (*at) {
		if ((*at)->mr_id == mr->id)
			held_show(at);
		else
			at = &(*at)->next;
	}
}

static void held_release_atomics(struct nic *nic)
{
	struct held **at = &nic->held;

	while (*at) {
		if ((*at)->atomic)
			held_show(at);
		else
			at = &(*at)->next;
	}
}

void held_release_all(struct nic *nic)
{
	nic_role(nic);
	while (nic->held)
		held_show(&nic->held);
}

void held_tick(struct nic *nic)
{
	nic_role(nic);
	while (nic->held && nic->held->at_ns <= nic_now(nic))
		held_show(&nic->held);
	if (nic->held)
		nic_arm_timer(nic, nic->held->at_ns);
}

static void held_insert(struct nic *nic, struct held *held)
{
	struct held **at = &nic->held;

	while (*at && (*at)->at_ns <= held->at_ns)
		at = &(*at)->next;
	held->next = *at;
	*at = held;
}

void held_stay(struct nic *nic, uint64_t until_ns)
{
	struct held *held = nic->held, *next;

	nic_role(nic);
	nic->held = NULL;
	for (; held; held = next) {
		next = held->next;
		if (held->seq && held->at_ns < until_ns)
			held->at_ns = until_ns;
		held_insert(nic, held);
	}
}

void held_before(struct session *session, const struct wire_head *head)
{
	uint32_t free_of = WIRE_NO_SAW;

	nic_role(session->ep->nic);
	if (head->flags & WIRE_F_SETTLES)
		held_release(session);
	if (head->op == WIRE_WRITE)
		return; /* held_take() decides */
	if (head->op == WIRE_READ)
		free_of = WIRE_NO_RAW;
	else if (head->op == WIRE_ATOMIC)
		free_of = WIRE_NO_RAW | WIRE_NO_WAW;
	if ((session->peer_needs_no & free_of) != free_of)
		held_release(session);
}

/* Does anything but a look at its bytes tell that it is done? */
static bool tells_more(const struct conn *conn, const struct wire_head *head, const struct mr *mr, uint32_t flags)
{
	const struct ep_attr *attr = &conn->session->ep->attr;

	return head->flags & (WIRE_F_CQ_DATA | WIRE_F_COMMIT | WIRE_F_TAGGED | flags) || binding_to_counter(mr) || mr->pin ||
	       attr->caps & EP_REGION_EVENTS ||
	       (head->op != WIRE_READ && attr->caps & EP_RMA_EVENT && attr->cntr[EP_CNTR_REMOTE_WRITE]);
}

/* The first segment decides for all. */
static void note_hold(struct conn *conn, const struct wire_head *head, const struct mr *mr)
{
	struct session *session = conn->session;
	const struct fault_rule *rule = NULL;

	if (session->holds && conn->in.counts && !tells_more(conn, head, mr, WIRE_F_DELIVERED))
		rule = fault_next(session->fault, PLAN_HOLD, &conn->in.faulted);
	session->rsp.hold = (struct hold){ 0 };
	if (rule)
		session->rsp.hold = (struct hold){
			.draw = fault_draw(session->fault, rule, &conn->in.faulted) | 1,
			.wait_ns = rule->wait_ns,
			.jitter_ns = rule->jitter_ns,
			.from_ns = session->peer_needs_no & WIRE_NO_WAW ? 0 : session->rsp.held_until_ns,
		};
}

bool held_apart(struct conn *conn, uint32_t payload)
{
	uint8_t *bytes = malloc(payload);

	nic_role(conn->nic);
	if (!bytes)
		return false;
	conn->in.own = bytes;
	conn->in.sink = SINK_OWN;
	place_set(&conn->in.place, &(struct iovec){ bytes, payload }, 1);
	return true;
}

bool held_late(struct conn *conn, const struct wire_head *head, const struct mr *mr, uint64_t at_ns)
{
	nic_role(conn->nic);
	if (conn->nic->held_bytes + wire_get32(head->payload) > LIMIT_HELD || tells_more(conn, head, mr, 0))
		return false;
	conn->session->rsp.hold.late_at_ns = at_ns;
	return true;
}

bool held_take(struct conn *conn, const struct wire_head *head, const struct mr *mr)
{
	struct session *session = conn->session;
	uint32_t payload = wire_get32(head->payload);

	nic_role(conn->nic);
	if (head->flags & WIRE_F_FIRST)
		note_hold(conn, head, mr);
	if (session->rsp.hold.draw && payload && conn->nic->held_bytes + payload <= LIMIT_HELD && held_apart(conn, payload))
		return true;
	if (!(session->peer_needs_no & WIRE_NO_WAW))
		held_release(session);
	return false;
}

static uint64_t draw_next(uint64_t *draw)
{
	wire_u64 what = wire_put64(*draw);

	*draw = digest_bytes(&what, sizeof(what));
	return *draw;
}

static uint64_t hold_wait(struct hold *hold)
{
	return hold->wait_ns + (hold->jitter_ns ? draw_next(&hold->draw) % (hold->jitter_ns + 1) : 0);
}

static bool held_add(struct session *session, const struct place *to, const uint8_t *bytes, uint32_t length, uint64_t at_ns,
		     const struct access *of, bool is_open)
{
	struct nic *nic = session->ep->nic;
	struct held *held = malloc(sizeof(*held) + length);

	if (!held)
		return false;
	*held = (struct held){ .session = session,
			       .mr_id = of->mr_id,
			       .at_ns = at_ns,
			       .seq = is_open ? of->seq : 0,
			       .to = *to,
			       .length = length,
			       .atomic = of->op == OP_ATOMIC };
	memcpy(held->bytes, bytes, length);
	held_insert(nic, held);
	session->rsp.held++;
	nic->held_bytes += length;
	nic_arm_timer(nic, nic->held->at_ns);
	return true;
}

/* How many bytes the next piece has: it ends where an aligned element does, or with the run or the segment. */
static uint32_t piece_length(const struct place *to, uint32_t rest, uint64_t drawn)
{
	struct iovec run;
	uint64_t end;

	if (place_runs(to, rest, &run, 1) != 1)
		return rest;
	end = (uintptr_t)run.iov_base + 1 + drawn % run.iov_len;
	end = (end + ELEMENT - 1) & ~(uint64_t)(ELEMENT - 1);
	return end - (uintptr_t)run.iov_base < run.iov_len ? (uint32_t)(end - (uintptr_t)run.iov_base) : (uint32_t)run.iov_len;
}

/* conn->in.fault: the memory is not there, and the device's own is used up. */
static void hold_bytes(struct conn *conn, const struct access *of, struct place to, const uint8_t *bytes, uint32_t length)
{
	struct session *session = conn->session;
	struct hold *hold = &session->rsp.hold;
	uint32_t piece;

	for (uint32_t at = 0; at < length; at += piece) {
		uint64_t at_ns = nic_now(conn->nic) + hold_wait(hold);

		if (at_ns < hold->from_ns)
			at_ns = hold->from_ns;
		piece = piece_length(&to, length - at, draw_next(&hold->draw));
		if (held_add(session, &to, bytes + at, piece, at_ns, of, false))
			place_advance(&to, piece);
		else if (!place_put(&to, bytes + at, piece))
			conn->in.fault = true;
		if (session->rsp.held_until_ns < at_ns)
			session->rsp.held_until_ns = at_ns;
	}
}

void held_end(struct conn *conn, const uint8_t *bytes, uint32_t length)
{
	struct session *session = conn->session;
	const struct hold *hold = &session->rsp.hold;
	const struct access *ask = &session->rsp.write.ask;

	nic_role(conn->nic);
	if (hold->draw)
		hold_bytes(conn, ask, conn->in.place, bytes, length);
	else if (hold->late_at_ns && held_add(session, &conn->in.place, bytes, length, hold->late_at_ns, ask, true))
		open_access_late(session, ask->seq);
	else
		open_access_store(conn, bytes, length);
}

bool held_takes_atomic(struct conn *conn, const struct mr *mr)
{
	struct session *session = conn->session;

	nic_role(conn->nic);
	held_release_atomics(conn->nic);
	note_hold(conn, &conn->in.head, mr);
	return session->rsp.hold.draw && conn->nic->held_bytes + LIMIT_ATOMIC <= LIMIT_HELD;
}

void held_atomic(struct conn *conn, const struct access *ask, const struct mr_place *place, const uint8_t *bytes, uint32_t length)
{
	struct place to;

	nic_role(conn->nic);
	place_set(&to, place->run, place->count);
	hold_bytes(conn, ask, to, bytes, length);
}

struct held_read {
	struct hold hold;
	uint64_t at_ns;       /* of the piece that is next; those of READs that wait for each other do not add up */
	uint64_t from, until; /* bytes of the piece that is next; none before the first one */
	uint8_t shift;        /* of the first byte behind an aligned element; ELEMENT: it has several places, and is one piece */
};

struct held_read *held_read(struct conn *conn, const struct wire_head *head, const struct mr *mr, const struct mr_place *place)
{
	struct fault_peer *fault = conn->session->fault;
	const struct fault_rule *rule = NULL;
	struct held_read *looks;

	nic_role(conn->nic);
	if (conn->in.counts && !tells_more(conn, head, mr, WIRE_F_DELIVERED))
		rule = fault_next(fault, PLAN_HOLD, &conn->in.faulted);
	looks = rule ? calloc(1, sizeof(*looks)) : NULL;
	if (!looks)
		return NULL;
	looks->hold = (struct hold){ .draw = fault_draw(fault, rule, &conn->in.faulted) | 1,
				     .wait_ns = rule->wait_ns,
				     .jitter_ns = rule->jitter_ns };
	looks->at_ns = nic_now(conn->nic);
	looks->from = UINT64_MAX;
	looks->shift = place->count == 1 ? (uintptr_t)place->run[0].iov_base % ELEMENT : ELEMENT;
	return looks;
}

uint32_t held_read_piece(struct session *session, struct held_read *looks, uint64_t offset, uint32_t most)
{
	nic_role(session->ep->nic);
	if (looks->from != offset) {
		looks->from = offset;
		looks->at_ns += hold_wait(&looks->hold);
		looks->until = UINT64_MAX;
		if (most && looks->shift < ELEMENT) {
			uint64_t end = looks->shift + offset + 1 + draw_next(&looks->hold.draw) % most;

			looks->until = ((end + ELEMENT - 1) & ~(uint64_t)(ELEMENT - 1)) - looks->shift;
		}
	}
	return looks->until - offset < most ? (uint32_t)(looks->until - offset) : most;
}

bool held_read_waits(struct session *session, const struct held_read *looks)
{
	if (looks->at_ns <= nic_now(session->ep->nic))
		return false;
	fault_set_timer(session, looks->at_ns);
	return true;
}
