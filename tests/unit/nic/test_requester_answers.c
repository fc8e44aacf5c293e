/* SPDX-License-Identifier: BSD-2-Clause */
/* test_requester_answers.c - what the answers to requests under way do, one at a time and given to the initiator's half alone: an
 * answer that came before changes nothing, an impossible one is refused, and what waited for an answer goes on. */
#include <criterion/criterion.h>

#include "emu/nic/transport/transport_calls.h"
#include "tests/unit/nic/asked.h"

static void said(struct asked *asked, uint64_t ref, uint32_t cause)
{
	node_enter(asked->bed.node[0]);
	requester_refused(asked->session, ref, &(struct wire_nak_fields){ .cause = cause });
	node_leave(asked->bed.node[0]);
	asked_settle(asked);
}

static bool acked(struct asked *asked, uint64_t ack)
{
	bool right;

	node_enter(asked->bed.node[0]);
	right = requester_acked(asked->session, ack);
	node_leave(asked->bed.node[0]);
	asked_settle(asked);
	return right;
}

Test(requester_answers, acknowledgement)
{
	struct asked asked;

	asked_open(&asked);
	asked_post(&asked, OP_WRITE, 8, 0);
	asked_post(&asked, OP_WRITE, 8, 0);
	cr_assert_not(acked(&asked, asked.first + 2), "of what comes next");
	cr_assert_eq(asked_came_to(&asked), ASKED_NOTHING);
	cr_assert(acked(&asked, asked.first + 1));
	cr_assert_eq(asked_came_to(&asked), ASKED_GOOD);
	cr_assert_eq(asked_came_to(&asked), ASKED_GOOD);
	asked.session->down_ns = 7;
	cr_assert(acked(&asked, asked.first + 1));
	cr_assert(acked(&asked, asked.first));
	cr_assert_eq(asked.req->acked, asked.first + 1, "it does not go back");
	cr_assert_eq(asked.session->down_ns, 7, "nothing has got on");
	asked_close(&asked);
}

/* A WRITE of which no more may be sent goes on as the window moves, with nothing behind it that could move it on. Its segments
 * are short, as nobody takes them off the stream. */
Test(requester_answers, acknowledgement_of_a_part)
{
	enum { SEGMENT = 4096, WINDOW = 2, SEGMENTS = 4 };
	struct asked asked;

	asked_open(&asked);
	asked.req->segment = SEGMENT;
	asked.req->requests = WINDOW;
	asked_post(&asked, OP_WRITE, SEGMENTS * SEGMENT, 0);
	for (uint64_t i = 0; i < SEGMENTS - WINDOW; i++) {
		cr_assert(asked.req->current && !asked.req->pending.first && !asked.req->again);
		cr_assert_not(asked.session->conn->blocked);
		cr_assert_eq(asked.req->next_seq, asked.first + WINDOW + i);
		cr_assert(acked(&asked, asked.first + i));
	}
	cr_assert_eq(asked.req->next_seq, asked.first + SEGMENTS);
	cr_assert_null(asked.req->current);
	asked_close(&asked);
}

Test(requester_answers, verdict_number)
{
	struct asked asked;
	bool fresh;

	asked_open(&asked);
	asked_post(&asked, OP_WRITE, 8, 0);
	node_enter(asked.bed.node[0]);
	cr_assert_not(requester_verdict(asked.session, 2, asked.first, &fresh), "a gap");
	cr_assert_not(requester_verdict(asked.session, 1, asked.first + 1, &fresh), "on what was not sent");
	cr_assert(requester_verdict(asked.session, 1, asked.first, &fresh) && fresh);
	asked.session->down_ns = 7;
	cr_assert(requester_verdict(asked.session, 1, asked.first, &fresh) && !fresh, "again");
	cr_assert(requester_verdict(asked.session, 0, asked.first, &fresh) && !fresh, "long ago");
	cr_assert_eq(asked.req->verdict_seen, 1);
	cr_assert_eq(asked.session->down_ns, 7, "nothing has got on");
	node_leave(asked.bed.node[0]);
	asked_close(&asked);
}

/* WIRE-147: a message that takes a receive is never parked. */
Test(requester_answers, no_envelope_is_kept_of_a_message_that_takes_a_receive)
{
	for (int rule = 0; rule < 2; rule++) {
		struct asked asked;

		asked_open(&asked);
		asked.party->ep->attr.rules = rule ? EP_RULE_RECEIVE_FIRST : 0;
		asked_post(&asked, OP_SEND, 8, 0);
		node_enter(asked.bed.node[0]);
		cr_assert_eq(requester_fits(asked.session, WIRE_PARK, asked.first), !rule);
		node_leave(asked.bed.node[0]);
		asked.party->ep->attr.rules = 0;
		asked_close(&asked);
	}
}

/* Refused while half of it is sent: no more of it goes, and its number names no other op. */
Test(requester_answers, refusal_of_what_is_being_sent)
{
	struct asked asked;

	asked_open(&asked);
	asked_post(&asked, OP_WRITE, 8, 0);
	asked_post(&asked, OP_WRITE, ASKED_LONG, POST_COMMIT);
	cr_assert(asked.req->current);
	cr_assert_eq(asked.req->awaited, 1);
	said(&asked, asked.first, REFUSAL_RANGE);
	cr_assert_eq(asked_came_to(&asked), REFUSAL_RANGE);
	cr_assert(asked.req->current);
	said(&asked, asked.first + 1, REFUSAL_WIRE_MAX + 1);
	cr_assert_eq(asked_came_to(&asked), REFUSAL_PROTOCOL, "an unknown cause");
	cr_assert_null(asked.req->current);
	cr_assert_eq(asked.req->awaited, 0);
	said(&asked, asked.first + 1, REFUSAL_RANGE);
	cr_assert_eq(asked_came_to(&asked), ASKED_NOTHING, "again");
	asked_close(&asked);
}

/* A fenced op leaves as soon as the last before it has its answer, whichever that is. */
Test(requester_answers, fence_goes_on)
{
	static const struct {
		enum op_kind kind;
		uint32_t flags;
		int comes_to;
	} cases[] = {
		{ OP_WRITE, 0, REFUSAL_RANGE }, { OP_WRITE, POST_COMMIT, ASKED_GOOD },    { OP_ATOMIC, 0, ASKED_GOOD },
		{ OP_READ, 0, ASKED_GOOD },     { OP_WRITE, POST_COMMIT, REFUSAL_RANGE }, { OP_ATOMIC, 0, REFUSAL_SOURCE_FAULT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct asked asked;
		struct op *read;

		asked_open(&asked);
		asked_post(&asked, cases[i].kind, 8, cases[i].flags);
		asked_post(&asked, OP_WRITE, 8, POST_FENCE);
		cr_assert_eq(asked.req->next_seq, asked.first + 1);
		read = asked.req->reads.first;
		node_enter(asked.bed.node[0]);
		if (cases[i].comes_to == REFUSAL_RANGE)
			requester_refused(asked.session, asked.first, &(struct wire_nak_fields){ .cause = REFUSAL_RANGE });
		else if (cases[i].kind == OP_WRITE)
			requester_done(asked.session, asked.first);
		else if (cases[i].kind == OP_ATOMIC)
			requester_result_end(asked.session, asked.first, cases[i].comes_to == REFUSAL_SOURCE_FAULT);
		else
			requester_data_end(asked.session, read, 8, true, WIRE_GOOD, false);
		node_leave(asked.bed.node[0]);
		asked_settle(&asked);
		cr_assert_eq(asked_came_to(&asked), cases[i].comes_to);
		cr_assert_eq(asked.req->awaited, 0);
		cr_assert_eq(asked.req->reads_open, 0);
		cr_assert_eq(asked.req->next_seq, asked.first + 2, "case %zu", i);
		asked_close(&asked);
	}
}

/* Answers to what is answered already. */
Test(requester_answers, to_nothing)
{
	struct asked asked;
	const char *why;
	bool broken;

	asked_open(&asked);
	asked_post(&asked, OP_ATOMIC, 8, 0);
	node_enter(asked.bed.node[0]);
	requester_park(asked.session, asked.first + 9);
	requester_done(asked.session, asked.first + 9);
	requester_result_end(asked.session, asked.first + 9, false);
	requester_refused(asked.session, asked.first + 9, &(struct wire_nak_fields){ .cause = REFUSAL_RANGE });
	asked.req->verdict_seen = 1;
	for (uint64_t number = 0; number <= 1; number++)
		cr_assert(!requester_result(asked.session, number, asked.first, 8, &why) && !why, "seen");
	cr_assert(requester_result(asked.session, 2, asked.first, 8, &why) && !why);
	cr_assert(!requester_result(asked.session, 2, asked.first, 16, &why) && strstr(why, "WIRE-76"), "too long");
	cr_assert(!requester_result(asked.session, 2, asked.first + 1, 8, &why) && strstr(why, "WIRE-59"), "not sent");
	cr_assert(!requester_pulled(asked.session, asked.first, 0, 8, &broken) && !broken, "an ATOMIC is not pulled");
	cr_assert(!requester_pulled(asked.session, asked.first + 1, 0, 8, &broken) && broken);
	cr_assert(!requester_data(asked.session, asked.first, 0, 8, &broken) && !broken);
	cr_assert(!requester_data(asked.session, asked.first + 1, 0, 8, &broken) && broken);
	node_leave(asked.bed.node[0]);
	cr_assert_eq(asked_came_to(&asked), ASKED_NOTHING);
	asked_close(&asked);
}

/* The second of two like it is found. */
Test(requester_answers, to_the_second)
{
	struct op *op;
	struct asked asked;
	const char *why;
	bool broken;

	asked_open(&asked);
	for (int i = 0; i < 2; i++) {
		asked_post(&asked, OP_ATOMIC, 8, 0);
		asked_post(&asked, OP_READ, 8, 0);
		asked_post(&asked, OP_SEND, ASKED_LONG, 0);
	}
	node_enter(asked.bed.node[0]);
	op = requester_result(asked.session, 1, asked.first + 3, 8, &why);
	cr_assert(op && op->first_seq == asked.first + 3);
	op = requester_data(asked.session, asked.first + 4, 0, 8, &broken);
	cr_assert(op && op->first_seq == asked.first + 4);
	op = requester_pulled(asked.session, asked.first + 5, ASKED_LONG - 8, 8, &broken);
	cr_assert(op && op->first_seq == asked.first + 5);
	cr_assert(!requester_pulled(asked.session, asked.first + 5, ASKED_LONG - 8, 9, &broken) && broken);
	cr_assert(!requester_pulled(asked.session, asked.first + 5, ASKED_LONG + 1, 0, &broken) && broken);
	cr_assert(requester_pulled(asked.session, asked.first + 5, ASKED_LONG, 0, &broken));
	node_leave(asked.bed.node[0]);
	asked_close(&asked);
}

/* DATA of which one segment is not good, or has no place here, ends its READ: with what is wrong. */
Test(requester_answers, data)
{
	static const struct {
		bool last, fault;
		enum wire_status status;
		int comes_to;
	} cases[] = {
		{ false, false, WIRE_GOOD, ASKED_NOTHING },
		{ true, false, WIRE_GOOD, ASKED_GOOD },
		{ false, true, WIRE_GOOD, REFUSAL_SOURCE_FAULT },
		{ true, true, WIRE_GOOD, REFUSAL_SOURCE_FAULT },
		{ false, false, WIRE_SOURCE_FAULT, REFUSAL_NOT_BACKED },
		{ false, false, WIRE_CANCELLED, REFUSAL_CLOSED },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct asked asked;

		asked_open(&asked);
		asked_post(&asked, OP_READ, 16, 0);
		node_enter(asked.bed.node[0]);
		requester_data_end(asked.session, asked.req->reads.first, 8, cases[i].last, cases[i].status, cases[i].fault);
		node_leave(asked.bed.node[0]);
		cr_assert_eq(asked_came_to(&asked), cases[i].comes_to, "case %zu", i);
		asked_close(&asked);
	}
}

/* Its memory is not there any more: the op ends, wherever it waits. */
Test(requester_answers, source_fault)
{
	static const struct {
		enum op_kind kind;
		uint64_t length;
	} cases[] = {
		{ OP_WRITE, 8 }, { OP_SEND, ASKED_LONG }, { OP_WRITE, ASKED_LONG }, /* sent, parked, being sent */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct asked asked;
		struct op *op;

		asked_open(&asked);
		asked_post(&asked, cases[i].kind, 8, 0);
		asked_post(&asked, cases[i].kind, cases[i].length, 0);
		op = i == 2 ? asked.req->current : i == 1 ? asked.req->parked.first : asked.req->sent.first->next;
		cr_assert(op && op->first_seq == asked.first + 1);
		node_enter(asked.bed.node[0]);
		requester_source_fault(asked.session, asked_memory);
		requester_source_fault(asked.session, op);
		node_leave(asked.bed.node[0]);
		cr_assert_eq(asked_came_to(&asked), REFUSAL_SOURCE_FAULT);
		cr_assert_eq(asked_came_to(&asked), ASKED_NOTHING);
		cr_assert_eq(asked.req->sent.first != NULL, true, "the other waits");
		asked_close(&asked);
	}
}

/* Dropped requests are sent again, all and in their order, by numbers from there on; executed ones are not. */
Test(requester_answers, receiver_not_ready)
{
	struct asked asked;

	asked_open(&asked);
	asked_post(&asked, OP_WRITE, 8, 0);
	asked_post(&asked, OP_SEND, 8, 0);
	asked_post(&asked, OP_READ, 8, 0);
	cr_assert(acked(&asked, asked.first));
	node_enter(asked.bed.node[0]);
	cr_assert_not(requester_rnr(asked.session, asked.first, 10), "executed");
	cr_assert_not(requester_rnr(asked.session, asked.first + 3, 10), "not sent");
	asked.req->executed = asked.first + 1;
	cr_assert_not(requester_rnr(asked.session, asked.first + 1, 10), "executed, as HELLO said");
	asked.req->executed = 0;
	cr_assert_eq(asked.req->next_seq, asked.first + 3);
	cr_assert(requester_rnr(asked.session, asked.first + 1, 10));
	cr_assert_eq(asked.req->next_seq, asked.first + 1);
	cr_assert_eq(asked.req->reads_open, 0);
	cr_assert_eq(asked.req->pending.first->kind, OP_SEND);
	cr_assert_eq(asked.req->pending.first->next->kind, OP_READ);
	cr_assert_eq(asked.req->rnr_wait_ns, 10000);
	node_leave(asked.bed.node[0]);
	asked_close(&asked);
}

/* WIRE-73: a peer that asks for no wait, or one of hours, does not get it. */
Test(requester_answers, receiver_asks_for_any_wait)
{
	static const struct {
		uint32_t wait_us;
		uint64_t first_ns, last_ns;
	} asks[] = {
		{ 0, TIME_RNR_MIN_NS, 64 * TIME_RNR_MIN_NS },
		{ 9, TIME_RNR_MIN_NS, 64 * TIME_RNR_MIN_NS },
		{ 20000, TIME_MS(20), TIME_RNR_MAX_NS },
		{ UINT32_MAX, TIME_RNR_MAX_NS, TIME_RNR_MAX_NS },
	};

	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		struct asked asked;

		asked_open(&asked);
		asked_post(&asked, OP_SEND, 8, 0);
		for (int turn = 0; turn < 8; turn++) {
			node_enter(asked.bed.node[0]);
			cr_assert(requester_rnr(asked.session, asked.first, asks[i].wait_us));
			cr_assert(turn || asked.req->rnr_wait_ns == asks[i].first_ns);
			node_leave(asked.bed.node[0]);
			asked.bed.world->now_ns += asked.req->rnr_wait_ns + 2;
			asked_settle(&asked);
		}
		cr_assert_eq(asked.req->rnr_wait_ns, asks[i].last_ns);
		asked_close(&asked);
	}
}

/* As a queue pair's rnr_retry: so many tries after the first, and the op ends; the next one is as fresh as ever. */
Test(requester_answers, receiver_not_ready_too_often)
{
	for (uint32_t retries = 0; retries < 7; retries++) {
		struct asked asked;

		asked_open(&asked);
		asked.bed.node[0]->nic->config.rnr_most = retries + 1;
		asked_post(&asked, OP_SEND, 8, 0);
		asked_post(&asked, OP_SEND, 8, 0);
		for (uint32_t try = 0; try <= retries; try++) {
			cr_assert_eq(asked_came_to(&asked), ASKED_NOTHING, "try %u", try);
			node_enter(asked.bed.node[0]);
			cr_assert(requester_rnr(asked.session, asked.first, TIME_RNR_NS / 1000));
			node_leave(asked.bed.node[0]);
			asked.bed.world->now_ns += asked.req->rnr_wait_ns + 2;
			asked_settle(&asked);
		}
		cr_assert_eq(asked_came_to(&asked), REFUSAL_NOT_READY);
		cr_assert_eq(asked.req->rnr_wait_ns, TIME_RNR_NS);
		cr_assert_eq(asked.req->next_seq, asked.first + 1, "the second is sent in its place");
		cr_assert(acked(&asked, asked.first));
		cr_assert_eq(asked_came_to(&asked), ASKED_GOOD);
		asked_close(&asked);
	}
}

/* The wait doubles, up to 64 ms. */
Test(requester_answers, receiver_never_ready)
{
	struct asked asked;
	uint64_t wait_ns = TIME_RNR_NS;

	asked_open(&asked);
	asked_post(&asked, OP_SEND, 8, 0);
	for (int i = 0; i < 10; i++) {
		node_enter(asked.bed.node[0]);
		cr_assert(requester_rnr(asked.session, asked.first, TIME_RNR_NS / 1000));
		cr_assert_eq(asked.req->rnr_wait_ns, wait_ns);
		node_leave(asked.bed.node[0]);
		wait_ns = wait_ns < 64 * TIME_RNR_NS ? 2 * wait_ns : wait_ns;
		asked.bed.world->now_ns += wait_ns;
		asked_settle(&asked);
		cr_assert_eq(asked.req->next_seq, asked.first + 1, "sent again");
	}
	asked_close(&asked);
}

/* HELLO of a new connection: no less than was acknowledged, no more than was sent. */
Test(requester_answers, resumption)
{
	struct asked asked;

	asked_open(&asked);
	asked_post(&asked, OP_WRITE, 8, 0);
	asked_post(&asked, OP_READ, 8, 0);
	asked_post(&asked, OP_WRITE, 8, 0);
	cr_assert(acked(&asked, asked.first));
	node_enter(asked.bed.node[0]);
	cr_assert_not(requester_resume(asked.session, asked.first - 1));
	cr_assert_not(requester_resume(asked.session, asked.first + 3));
	cr_assert_eq(asked.req->next_seq, asked.first + 3);
	cr_assert(requester_resume(asked.session, asked.first + 2));
	cr_assert_eq(asked.req->next_seq, asked.first + 3);
	cr_assert_eq(asked.req->again, asked.req->reads.first);
	cr_assert(requester_resume(asked.session, asked.first));
	cr_assert_eq(asked.req->next_seq, asked.first + 1);
	cr_assert_eq(asked.req->reads_open, 0);
	cr_assert_eq(asked.req->pending.first->kind, OP_READ);
	node_leave(asked.bed.node[0]);
	asked_close(&asked);
}

/* A WRITE of which some segments were executed goes on with the next, whether or not all of it was sent; in no list but one. */
Test(requester_answers, resumption_of_a_part)
{
	static const struct {
		uint64_t segments;
		uint32_t flags;
	} cases[] = {
		{ 3, 0 },
		{ 3, POST_COMMIT },
		{ ASKED_AT_ONCE + 1, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (uint64_t executed = 0; executed < cases[i].segments && executed < ASKED_AT_ONCE; executed++) {
			struct asked asked;
			struct op *op;

			asked_open(&asked);
			asked_post(&asked, OP_WRITE, cases[i].segments * LIMIT_SEGMENT, cases[i].flags);
			node_enter(asked.bed.node[0]);
			cr_assert(requester_resume(asked.session, asked.first - 1 + executed));
			op = executed ? asked.req->current : asked.req->pending.first;
			cr_assert(op);
			cr_assert_eq(op->moved, executed * LIMIT_SEGMENT);
			cr_assert_eq(!executed, !asked.req->current);
			cr_assert_eq(asked.req->next_seq, asked.first + executed);
			cr_assert_null(asked.req->sent.first);
			cr_assert_null(asked.req->parked.first);
			node_leave(asked.bed.node[0]);
			asked_close(&asked);
		}
}

/* None comes any more: each op ends, wherever it waits. */
Test(requester_answers, end_of_the_session)
{
	static const uint64_t lengths[] = { 8, ASKED_LONG, 16 }; /* sent, being sent, pending */
	struct asked asked;

	asked_open(&asked);
	for (int i = 0; i < 3; i++)
		asked_post(&asked, OP_WRITE, lengths[i], 0);
	cr_assert(asked.req->sent.first && asked.req->current && asked.req->pending.first);
	node_enter(asked.bed.node[0]);
	session_end(asked.session, REFUSAL_UNREACHABLE);
	node_leave(asked.bed.node[0]);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(asked_came_to(&asked), REFUSAL_UNREACHABLE);
	asked_close(&asked);
}
