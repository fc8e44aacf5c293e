/* SPDX-License-Identifier: BSD-2-Clause */
/* test_requester_asks.c - which posted op leaves, and when: alone or with others, behind what it must wait for, past what waits. */
#include <criterion/criterion.h>

#include "emu/nic/transport/sendq.h"
#include "emu/nic/transport/transport_calls.h"
#include "tests/unit/nic/asked.h"

/* So many requests have left. */
static uint64_t left(const struct asked *asked)
{
	return asked->req->next_seq - asked->first;
}

/* The first op leaves in its post. Further ones, while it is under way, share a send: of whichever sort it is. */
Test(requester_asks, first_at_once)
{
	static const struct {
		enum op_kind kind;
		uint32_t flags;
	} cases[] = {
		{ OP_WRITE, 0 },
		{ OP_WRITE, POST_COMMIT },
		{ OP_READ, 0 },
		{ OP_ATOMIC, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct asked asked;

		asked_open(&asked);
		asked_post_at(&asked, cases[i].kind, 1, 0, 8, cases[i].flags);
		cr_assert_eq(left(&asked), 1, "case %zu", i);
		asked_post_at(&asked, OP_WRITE, 2, 0, 8, 0);
		cr_assert_eq(left(&asked), 1, "case %zu", i);
		asked_settle(&asked);
		cr_assert_eq(left(&asked), 2);
		asked_close(&asked);
	}
}

/* A write waits for a READ of bytes that it changes, where that order was promised, and for no other READ. */
Test(requester_asks, write_after_read)
{
	static const struct {
		uint64_t read, write, key, read_length, write_length;
		uint32_t order;
		bool waits;
	} cases[] = {
		{ 100, 100, 1, 8, 8, EP_ORDER_RMA_WAR, true },  { 100, 107, 1, 8, 8, EP_ORDER_RMA_WAR, true },
		{ 100, 93, 1, 8, 8, EP_ORDER_RMA_WAR, true },   { 100, 100, 1, 8, 8, 0, false },
		{ 100, 100, 2, 8, 8, EP_ORDER_RMA_WAR, false }, { 100, 108, 1, 8, 8, EP_ORDER_RMA_WAR, false },
		{ 100, 92, 1, 8, 8, EP_ORDER_RMA_WAR, false },  { 100, 100, 1, 0, 8, EP_ORDER_RMA_WAR, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct asked asked;

		asked_open(&asked);
		asked.party->ep->attr.order = cases[i].order;
		asked_post_at(&asked, OP_READ, 1, cases[i].read, cases[i].read_length, 0);
		asked_post_at(&asked, OP_WRITE, cases[i].key, cases[i].write, cases[i].write_length, 0);
		asked_settle(&asked);
		cr_assert_eq(left(&asked), cases[i].waits ? 1 : 2, "case %zu", i);
		asked_close(&asked);
	}
}

/* A message waits for all READs before it, where that order was promised. */
Test(requester_asks, send_after_read)
{
	for (int ordered = 0; ordered < 2; ordered++)
		for (int reads = 0; reads < 2; reads++) {
			struct asked asked;

			asked_open(&asked);
			asked.party->ep->attr.order = ordered ? EP_ORDER_SAR : 0;
			asked_post(&asked, reads ? OP_READ : OP_WRITE, 8, 0);
			asked_post(&asked, OP_SEND, 8, 0);
			cr_assert_eq(left(&asked), ordered && reads ? 1 : 2);
			asked_close(&asked);
		}
}

/* A fenced op waits for what is under way, whatever of it there is, and no other op does. */
Test(requester_asks, fence)
{
	static const struct {
		enum op_kind kind;
		uint32_t flags;
	} before[] = {
		{ OP_WRITE, 0 },
		{ OP_WRITE, POST_COMMIT },
		{ OP_READ, 0 },
		{ OP_ATOMIC, 0 },
	};

	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		for (int fenced = 0; fenced < 2; fenced++) {
			struct asked asked;

			asked_open(&asked);
			asked.party->ep->attr.order = 0;
			asked_post(&asked, before[i].kind, 8, before[i].flags);
			asked_post(&asked, OP_WRITE, 8, fenced ? POST_FENCE : 0);
			cr_assert_eq(left(&asked), fenced ? 1 : 2, "case %zu", i);
			asked_close(&asked);
		}
}

/* Requests, READs, and what a verdict resolves: so many as the peer has granted, and of one sort however many of another. */
Test(requester_asks, grants)
{
	static const struct {
		enum op_kind kind;
		uint32_t flags;
		uint64_t granted;
	} cases[] = {
		{ OP_WRITE, 0, ASKED_AT_ONCE },
		{ OP_READ, 0, 2 },
		{ OP_ATOMIC, 0, 2 },
		{ OP_WRITE, POST_COMMIT, 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct asked asked;

		asked_open(&asked);
		asked.party->ep->attr.order = 0;
		asked.req->reads_max = 2;
		for (int n = 0; n <= ASKED_AT_ONCE; n++)
			asked_post(&asked, cases[i].kind, 8, cases[i].flags);
		cr_assert_eq(left(&asked), cases[i].granted, "case %zu", i);
		asked_close(&asked);
	}
	for (int read = 0; read < 2; read++) {
		struct asked asked;

		asked_open(&asked);
		asked.party->ep->attr.order = 0;
		asked.req->reads_max = 2;
		for (int n = 0; n < 2; n++)
			asked_post(&asked, read ? OP_READ : OP_ATOMIC, 8, 0);
		asked_post(&asked, read ? OP_ATOMIC : OP_READ, 8, 0);
		cr_assert_eq(left(&asked), 3);
		asked_post(&asked, OP_WRITE, 8, 0);
		cr_assert_eq(left(&asked), 4);
		asked_close(&asked);
	}
}

/* The peer is not ready for messages. Ops that may pass them do, by the order that the endpoint promises. */
Test(requester_asks, past_a_message)
{
	static const struct {
		enum op_kind kind;
		uint32_t flags, order;
		bool passes;
	} cases[] = {
		{ OP_WRITE, 0, 0, true },
		{ OP_WRITE, POST_FENCE, 0, false },
		{ OP_WRITE, POST_CQ_DATA, 0, false },
		{ OP_WRITE, 0, EP_ORDER_RAS, true },
		{ OP_WRITE, 0, EP_ORDER_WAS, false },
		{ OP_READ, 0, 0, true },
		{ OP_READ, 0, EP_ORDER_RAS, false },
		{ OP_READ, 0, EP_ORDER_WAS, true },
		{ OP_READ, POST_FENCE, 0, false },
		{ OP_ATOMIC, 0, 0, true },
		{ OP_ATOMIC, 0, EP_ORDER_RAS, false },
		{ OP_ATOMIC, 0, EP_ORDER_WAS, false },
		{ OP_SEND, 0, 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct asked asked;

		asked_open(&asked);
		asked.party->ep->attr.order = cases[i].order;
		asked.req->rnr_until_ns = UINT64_MAX;
		for (int n = 0; n < 2; n++)
			asked_post(&asked, OP_SEND, 8, 0);
		asked_post(&asked, cases[i].kind, 8, cases[i].flags);
		cr_assert_eq(left(&asked), cases[i].passes, "case %zu", i);
		asked_post(&asked, OP_WRITE, 8, 0);
		cr_assert_eq(left(&asked) - cases[i].passes,
			     cases[i].order != EP_ORDER_WAS && (cases[i].passes || cases[i].kind == OP_SEND),
			     "case %zu: RMA keeps its own order", i);
		asked_close(&asked);
	}
}

/* The queue of what is to be sent is full and the line takes no more: the next op, of whichever kind, waits, and so does what
 * is posted behind it. The WRITE's length decides how much room is left. */
static void no_room(enum op_kind kind, uint64_t length)
{
	struct asked asked;
	uint64_t pending = 0;

	asked_open(&asked);
	asked.party->ep->attr.order = 0;
	asked.req->requests = LIMIT_REQUESTS;
	asked_post(&asked, OP_ATOMIC, LIMIT_ATOMIC, 0);
	for (int i = 0; i < SENDQ_BYTES / LIMIT_ATOMIC - 1; i++)
		asked_post_at(&asked, OP_ATOMIC, 1, 0, LIMIT_ATOMIC, 0);
	asked_post_at(&asked, OP_WRITE, 1, 0, LIMIT_COPY, 0);
	asked_post_at(&asked, OP_WRITE, 1, 0, LIMIT_COPY / 2, 0);
	asked_post_at(&asked, OP_WRITE, 1, 0, length, 0);
	for (int i = 0; i < 2; i++) {
		asked_post_at(&asked, kind, 1, 0, 8, 0);
		asked_settle(&asked);
	}
	for (const struct op *op = asked.req->pending.first; op; op = op->next)
		pending++;
	cr_assert_eq(left(&asked) + pending, SENDQ_BYTES / LIMIT_ATOMIC + 5);
	asked_close(&asked);
}

Test(requester_asks, no_room)
{
	static const enum op_kind kinds[] = { OP_READ, OP_WRITE, OP_SEND, OP_ATOMIC };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (uint64_t length = 0; length <= LIMIT_COPY; length += 32)
			no_room(kinds[i], length);
}

/* The same for what is not posted by the program: READs that are asked again, and requests for connections. */
Test(requester_asks, no_room_for_the_device_itself)
{
	struct sendq *out;
	struct asked asked;
	struct op *op;

	asked_open(&asked);
	asked_post(&asked, OP_READ, 8, 0);
	asked.req->requests = 1;
	asked_post(&asked, OP_SEND, 8, 0);
	op = asked.req->pending.first;
	cr_assert(op);
	out = &asked.session->conn->out;
	node_enter(asked.bed.node[0]);
	cr_assert(conn_frame_begin(asked.session->conn, 0, 0));
	out->used += SENDQ_BYTES;
	cr_assert(requester_resume(asked.session, asked.first));
	cr_assert_not(requester_fill(asked.session, asked.session->conn));
	cr_assert_eq(asked.req->again, asked.req->reads.first);
	asked.req->again = NULL;
	asked.req->requests = 2;
	op->kind = OP_CONNECT;
	cr_assert_not(requester_fill(asked.session, asked.session->conn));
	cr_assert_eq(asked.req->pending.first, op);
	op->kind = OP_SEND;
	out->used -= SENDQ_BYTES;
	node_leave(asked.bed.node[0]);
	asked_close(&asked);
}
