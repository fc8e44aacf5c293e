/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_target.c - operations of side 1 on the memory of side 0, and the CPU of side 0. */
#include "tests/races/verbs/verbs_kit.h"

#define WRITE IBV_WR_RDMA_WRITE
#define READ IBV_WR_RDMA_READ
#define ADD IBV_WR_ATOMIC_FETCH_AND_ADD
#define SEND IBV_WR_SEND
#define WRITE_TELLING IBV_WR_RDMA_WRITE_WITH_IMM

/* Side 1 tells side 0 as soon as the request is posted, and side 0 goes on at once. */
static void posts_and_tells(enum ibv_wr_opcode opcode, unsigned length)
{
	begin(0, 0, opcode, opcode == WRITE ? FROM : INTO, X, length);
	race_tell(0);
	finish(0);
}

/* Right: what is read may be loaded. */
static void told_and_loads(void)
{
	if (race_self) {
		posts_and_tells(racy() ? WRITE : READ, LONG);
	} else {
		race_hear(1);
		look(X, LONG);
	}
}

/* Right: beside the bytes. */
static void told_and_stores(void)
{
	if (race_self) {
		posts_and_tells(WRITE, SHORT);
	} else {
		race_hear(1);
		fill(racy() ? X : X + SHORT, SHORT, 1);
	}
}

static void stores_while_read(void)
{
	if (race_self) {
		posts_and_tells(READ, LONG);
	} else {
		race_hear(1);
		fill(X + LONG / 2, WORD, 1);
	}
}

static void loads_a_counter(void)
{
	if (race_self) {
		posts_and_tells(ADD, WORD);
	} else {
		race_hear(1);
		word(X);
	}
}

/* IBV_ATOMIC_HCA: atomic among the NIC's atomics, and not with the CPU's. */
static void adds_by_the_cpu(void)
{
	if (race_self) {
		for (int i = 0; i < 4; i++)
			posts_and_tells(ADD, WORD);
	} else {
		for (int i = 0; i < 4; i++) {
			race_hear(1);
			__atomic_fetch_add((uint64_t *)(mine.memory + X), 1, __ATOMIC_SEQ_CST);
		}
	}
}

/* The message has no part in the order of another queue pair. */
static void message_by_another_pair(enum ibv_wr_opcode opcode)
{
	if (!race_self)
		expects(1, 1, BOX, SHORT);
	race_meet();
	if (race_self) {
		begin(0, 0, WRITE, FROM, X, LONG);
		begin(0, 1, opcode, FROM, HEAD, SHORT);
		finish(1);
		finish(0);
	} else {
		received(1);
		look(X, LONG);
	}
}

static void send_by_another_pair(void)
{
	message_by_another_pair(SEND);
}

static void immediate_by_another_pair(void)
{
	message_by_another_pair(WRITE_TELLING);
}

/* What comes behind a READ says nothing of it; right: it has a fence. */
static void told_behind_a_read(enum ibv_wr_opcode opcode)
{
	if (!race_self)
		expects(1, 0, BOX, SHORT);
	race_meet();
	if (race_self) {
		begin(0, 0, READ, INTO, X, LONG);
		begin_as(0, 0, racy() ? IBV_SEND_SIGNALED : IBV_SEND_SIGNALED | IBV_SEND_FENCE, opcode, FROM, HEAD, SHORT);
		finish(0);
		finish(0);
	} else {
		received(0);
		fill(X, LONG, 1);
	}
}

static void message_behind_a_read(void)
{
	told_behind_a_read(SEND);
}

static void immediate_behind_a_read(void)
{
	told_behind_a_read(WRITE_TELLING);
}

/* The message was sent before the write. */
static void message_before_the_write(void)
{
	if (!race_self)
		expects(1, 0, BOX, SHORT);
	race_meet();
	if (race_self) {
		begin(0, 0, SEND, FROM, 0, SHORT);
		begin(0, 0, WRITE, FROM, X, LONG);
		finish(0);
		finish(0);
	} else {
		received(0);
		look(X, LONG);
	}
}

/* A reply in the place that side 0 has in mind for the next request already. */
static void clears_after_the_message(void)
{
	if (!race_self)
		expects(1, 0, BOX, SHORT);
	race_meet();
	if (race_self) {
		begin(0, 0, WRITE, FROM, X, SHORT);
		begin(0, 0, SEND, FROM, 0, SHORT);
		begin(0, 0, WRITE, FROM, X, SHORT);
		for (int i = 0; i < 3; i++)
			finish(0);
	} else {
		received(0);
		fill(X, SHORT, 0);
	}
}

/* InfiniBand does not say that the last byte is written last. */
static void polls_the_last_byte(void)
{
	unsigned before = mine.memory[X + SHORT - 1];

	race_meet();
	if (race_self) {
		fill(FROM, SHORT, before + 1);
		does(0, 0, WRITE, FROM, X, SHORT);
	} else {
		poll_byte(X + SHORT - 1, before);
	}
	race_meet();
	if (race_self)
		fill(X + SHORT - 1, 1, before + 1);
}

/* The flag is a write of its own, behind that of the bytes. */
static void polls_a_flag(void)
{
	unsigned before = mine.memory[HEAD];

	race_meet();
	if (race_self) {
		fill(FROM, WORD, before + 1);
		begin(0, 0, WRITE, FROM, X, SHORT);
		begin(0, 0, WRITE, FROM, HEAD, 1);
		finish(0);
		finish(0);
	} else {
		poll_byte(HEAD, before);
		look(X, SHORT);
	}
	race_meet();
	if (race_self)
		fill(HEAD, 1, before + 1);
}

/* A completion of UC says that the bytes have left, and no more. */
static void completed_without_acknowledgement(void)
{
	if (race_self) {
		does(0, 0, WRITE, FROM, X, LONG);
		race_tell(0);
	} else {
		race_hear(1);
		look(X, LONG);
	}
}

/* --- what is right --- */

static void completed_and_told(void)
{
	if (race_self) {
		does(0, 0, WRITE, FROM, X, LONG);
		race_tell(0);
	} else {
		race_hear(1);
		look(X, LONG);
		fill(X, LONG, 0);
	}
}

static void message_behind_the_write(enum ibv_wr_opcode opcode)
{
	if (!race_self)
		expects(1, 0, BOX, SHORT);
	race_meet();
	if (race_self) {
		begin_as(0, 0, 0, WRITE, FROM, X, LONG);
		does(0, 0, opcode, FROM, HEAD, SHORT);
	} else {
		received(0);
		look(X, LONG);
		fill(X, LONG, 0);
	}
}

static void send_behind_the_write(void)
{
	message_behind_the_write(SEND);
}

static void immediate_behind_the_write(void)
{
	message_behind_the_write(WRITE_TELLING);
}

static void immediate_of_the_write(void)
{
	if (!race_self)
		expects(1, 0, BOX, SHORT);
	race_meet();
	if (race_self) {
		does(0, 0, WRITE_TELLING, FROM, X, LONG);
	} else {
		received(0);
		look(X, LONG);
		fill(X, LONG, 0);
	}
}

/* The reply goes into the neighbour of the request, while side 0 still reads that. */
static void reply_beside_the_request(void)
{
	unsigned other = !race_self;

	expects(other, 0, BOX, SHORT);
	race_meet();
	if (race_self) {
		begin(other, 0, WRITE_TELLING, FROM, X, SHORT);
		received(0);
		look(X + SHORT, SHORT);
		finish(0);
	} else {
		received(0);
		look(X, SHORT);
		begin(other, 0, WRITE_TELLING, X, X + SHORT, SHORT);
		look(X, SHORT);
		finish(0);
	}
}

/* Side 0 gives a credit, by a message, for each slot that it has read. */
static void ring_with_credits(void)
{
	enum { SLOTS = 2, TURNS = 8 };
	unsigned other = !race_self;

	for (unsigned i = 0; i < SLOTS; i++)
		expects(other, 0, BOX + i * SHORT, SHORT);
	race_meet();
	for (unsigned i = 0; i < TURNS + SLOTS; i++) {
		unsigned slot = i % SLOTS * SHORT;

		if (race_self && i >= SLOTS)
			received(0);
		if (race_self && i >= SLOTS && i < TURNS)
			expects(other, 0, BOX + slot, SHORT);
		if (race_self && i < TURNS)
			does(other, 0, WRITE_TELLING, FROM, X + slot, SHORT);
		if (!race_self && i < TURNS) {
			received(0);
			look(X + slot, SHORT);
			if (i < TURNS - SLOTS)
				expects(other, 0, BOX + slot, SHORT);
			does(other, 0, SEND, FROM, 0, SHORT);
		}
	}
}

/* Half of the bytes is side 0's while side 1 writes to the other one. */
static void two_halves(void)
{
	for (unsigned turn = 0; turn < 4; turn++) {
		unsigned half = X + turn % 2 * (LONG / 2), other = X + (turn + 1) % 2 * (LONG / 2);

		if (race_self) {
			does(0, 0, WRITE, FROM, half, LONG / 2);
		} else {
			fill(other, LONG / 2, turn);
			look(other, LONG / 2);
		}
		race_meet();
	}
}

/* A later READ has completed: the unsignaled write before it is in memory. */
static void read_behind_the_write(void)
{
	if (race_self) {
		begin_as(0, 0, 0, WRITE, FROM, X, LONG);
		does(0, 0, READ, INTO, X + LONG - 1, 1);
		race_tell(0);
	} else {
		race_hear(1);
		fill(X, LONG, 1);
	}
}

static void message_of_unreliable_pair(void)
{
	if (!race_self)
		expects(1, 0, BOX, SHORT);
	race_meet();
	if (race_self) {
		begin_as(0, 0, 0, WRITE, FROM, X, SHORT);
		does(0, 0, SEND, FROM, 0, SHORT);
	} else {
		received(0);
		look(X, SHORT);
		fill(BOX, SHORT, 0);
	}
}

static const struct race_case target_cases[] = {
	VERBS_RACE("told-and-loads", "target-load", "operation-load", 2, told_and_loads),
	VERBS_RACE("told-and-stores", "target-store", "operation-store", 2, told_and_stores),
	VERBS_RACE("stores-while-read", "target-store", "operation-store", 2, stores_while_read),
	VERBS_RACE("loads-a-counter", "atomic-mixed", "operation-load|memory-polled", 2, loads_a_counter),
	VERBS_RACE("adds-by-the-cpu", "atomic-mixed", "operation-store|operation-load", 2, adds_by_the_cpu),
	VERBS_RACE("send-by-another-pair", "missing-order", "operation-load", 2, send_by_another_pair),
	VERBS_RACE("immediate-by-another-pair", "missing-order", "operation-load", 2, immediate_by_another_pair),
	VERBS_RACE("message-behind-a-read", "missing-order", "operation-store", 2, message_behind_a_read),
	VERBS_RACE("immediate-behind-a-read", "missing-order", "operation-store", 2, immediate_behind_a_read),
	VERBS_RACE("message-before-the-write", "missing-order", "operation-load", 2, message_before_the_write),
	VERBS_RACE("clears-after-the-message", "target-store", "operation-store", 2, clears_after_the_message),
	VERBS_RACE("polls-the-last-byte", "polling", "memory-polled", 2, polls_the_last_byte),
	VERBS_RACE("polls-a-flag", "polling", "memory-polled|operation-load", 2, polls_a_flag),
	VERBS_RACE("completed-without-acknowledgement", "wrong-level", "operation-load", 2, completed_without_acknowledgement,
		   .type = IBV_QPT_UC),
	VERBS_TWIN("completed-and-told", "target-load", 2, completed_and_told),
	VERBS_TWIN("loads-while-read", "target-load", 2, told_and_loads),
	VERBS_TWIN("message-behind-a-fenced-read", "missing-order", 2, message_behind_a_read),
	VERBS_TWIN("immediate-behind-a-fenced-read", "missing-order", 2, immediate_behind_a_read),
	VERBS_TWIN("stores-beside", "target-store", 2, told_and_stores),
	VERBS_TWIN("send-behind-the-write", "missing-order", 2, send_behind_the_write),
	VERBS_TWIN("immediate-behind-the-write", "missing-order", 2, immediate_behind_the_write),
	VERBS_TWIN("immediate-of-the-write", "target-load", 2, immediate_of_the_write),
	VERBS_TWIN("reply-beside-the-request", "target-load", 2, reply_beside_the_request),
	VERBS_TWIN("ring-with-credits", "target-load", 2, ring_with_credits),
	VERBS_TWIN("two-halves", "target-store", 2, two_halves),
	VERBS_TWIN("read-behind-the-write", "missing-completion", 2, read_behind_the_write),
	VERBS_TWIN("message-of-unreliable-pair", "wrong-level", 2, message_of_unreliable_pair, .type = IBV_QPT_UC),
};

const struct race_set verbs_target = RACE_SET(target_cases);
