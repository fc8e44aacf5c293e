/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_order.c - two operations of one initiator at one place of its peer's: what puts the second one after the first? */
#include "tests/races/fi/fi_kit.h"

enum { TARGET, INITIATOR };

struct pair {
	enum kit_deed first, second;
	uint64_t first_flags, second_flags;
	size_t at;        /* of the second one; the first one is at X */
	bool waits;       /* for the completion of the first one */
	unsigned then_by; /* the endpoint of the second one */
};

static void post_pair(const struct pair *pair)
{
	kit_do(pair->first, 0, TARGET, X, pair->first_flags);
	if (pair->waits)
		kit_sent(1);
	kit_by = pair->then_by;
	kit_do(pair->second, 1, TARGET, pair->at, pair->second_flags);
	kit_sent(1);
	kit_by = 0;
	if (!pair->waits)
		kit_sent(1);
}

#define DONE FI_DELIVERY_COMPLETE

static void order_of_two(unsigned round)
{
	(void)round;
	if (race_self == INITIATOR)
		post_pair(race_this->what);
}

/* A message is received where a write goes. */
static void message_and_write(unsigned round)
{
	(void)round;
	if (race_self == TARGET) {
		kit_receive(X, SIZE);
		race_tell(INITIATOR);
		kit_came(1);
		return;
	}
	race_hear(TARGET);
	kit_send(TARGET, SOURCE, SIZE, FI_DELIVERY_COMPLETE);
	kit_put(TARGET, SOURCE, racy() ? X : X + SIZE, SIZE, FI_DELIVERY_COMPLETE);
	kit_sent(2);
}

/* The write comes behind a reply: its initiator knows that the message is received. */
static void write_behind_the_reply(unsigned round)
{
	(void)round;
	kit_receive(race_self == TARGET ? X : INBOX, SIZE);
	race_meet();
	if (race_self == TARGET) {
		kit_came(1);
		kit_put(INITIATOR, SOURCE, Y, SIZE, FI_DELIVERY_COMPLETE);
		kit_sent(1);
		kit_send(INITIATOR, SOURCE, SIZE, FI_DELIVERY_COMPLETE);
		kit_sent(1);
		return;
	}
	kit_send(TARGET, SOURCE, SIZE, FI_DELIVERY_COMPLETE);
	kit_came(1);
	kit_put(TARGET, SOURCE, X, SIZE, FI_DELIVERY_COMPLETE);
	kit_sent(2);
}

/* Three writes, of which the last one has both places of those before. It waits for the completion of the second one. */
static void waits_for_one_of_two(unsigned round)
{
	(void)round;
	if (race_self == TARGET)
		return;
	kit_put(TARGET, SOURCE, X, SIZE, FI_DELIVERY_COMPLETE);
	kit_put(TARGET, SOURCE + KIT_SLOT, X + SIZE, SIZE, FI_DELIVERY_COMPLETE);
	kit_sent(racy() ? 1 : 2);
	kit_put(TARGET, SOURCE + 2 * KIT_SLOT, X, 2 * SIZE, FI_DELIVERY_COMPLETE);
	kit_sent(racy() ? 2 : 1);
}

#define OP_OP "operation-operation"
#define ORDER(...)                                         \
	&(const struct kit_want)                           \
	{                                                  \
		.order = FI_ORDER_ATOMIC_RAR | __VA_ARGS__ \
	}
#define WANT_TWO                 \
	&(const struct kit_want) \
	{                        \
		.endpoints = 2   \
	}
#define WANT_TWO_ORDERED                                                 \
	&(const struct kit_want)                                         \
	{                                                                \
		.endpoints = 2, .order = FI_ORDER_WAW | FI_ORDER_RMA_WAW \
	}

#define PAIR(one, other, one_flags, other_flags, where, ...)                                                                 \
	.what = &(const struct pair)                                                                                         \
	{                                                                                                                    \
		.first = (one), .second = (other), .first_flags = (one_flags), .second_flags = (other_flags), .at = (where), \
		__VA_ARGS__                                                                                                  \
	}

static const struct race_case cases[] = {
	RACE("two-writes", "missing-order", OP_OP, 2, order_of_two, PAIR(PUT, PUT, DONE, DONE, X)),
	TWIN("two-writes-ordered", "missing-order", 2, order_of_two, PAIR(PUT, PUT, DONE, DONE, X),
	     .want = ORDER(FI_ORDER_RMA_WAW | FI_ORDER_WAW)),
	RACE("write-read", "missing-order", OP_OP, 2, order_of_two, PAIR(PUT, GET, DONE, DONE, X)),
	TWIN("write-read-ordered", "missing-order", 2, order_of_two, PAIR(PUT, GET, DONE, DONE, X),
	     .want = ORDER(FI_ORDER_RMA_RAW)),
	RACE("read-write", "missing-order", OP_OP, 2, order_of_two, PAIR(GET, PUT, DONE, DONE, X)),
	TWIN("read-write-ordered", "missing-order", 2, order_of_two, PAIR(GET, PUT, DONE, DONE, X),
	     .want = ORDER(FI_ORDER_RMA_WAR)),
	RACE("write-read-ordered-otherwise", "missing-order", OP_OP, 2, order_of_two, PAIR(PUT, GET, DONE, DONE, X),
	     .want = ORDER(FI_ORDER_WAW | FI_ORDER_RMA_WAR | FI_ORDER_SAS)),
	RACE("two-writes-ordered-otherwise", "missing-order", OP_OP, 2, order_of_two, PAIR(PUT, PUT, DONE, DONE, X),
	     .want = ORDER(FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_ATOMIC_WAW)),
	RACE("write-sum-ordered-of-writes", "atomic-mixed", OP_OP, 2, order_of_two, PAIR(PUT, SUM, DONE, DONE, X),
	     .want = ORDER(FI_ORDER_RMA_WAW)),
	TWIN("write-sum-ordered", "atomic-mixed", 2, order_of_two, PAIR(PUT, SUM, DONE, DONE, X), .want = ORDER(FI_ORDER_WAW)),
	RACE("sum-write", "atomic-mixed", OP_OP, 2, order_of_two, PAIR(SUM, PUT, DONE, DONE, X)),
	RACE("write-fetch", "atomic-mixed", OP_OP, 2, order_of_two, PAIR(PUT, FETCH, DONE, DONE, X)),
	TWIN("write-fetch-ordered", "atomic-mixed", 2, order_of_two, PAIR(PUT, FETCH, DONE, DONE, X), .want = ORDER(FI_ORDER_RAW)),
	RACE("sum-read-ordered-of-writes", "atomic-mixed", OP_OP, 2, order_of_two, PAIR(SUM, GET, DONE, DONE, X),
	     .want = ORDER(FI_ORDER_WAW)),
	TWIN("sum-read-ordered", "atomic-mixed", 2, order_of_two, PAIR(SUM, GET, DONE, DONE, X), .want = ORDER(FI_ORDER_RAW)),
	TWIN("write-fetch-sum-ordered", "atomic-mixed", 2, order_of_two, PAIR(PUT, FETCH_SUM, DONE, DONE, X),
	     .want = ORDER(FI_ORDER_RAW)),
	RACE("sums-of-two-widths-of-one", "atomic-mixed", OP_OP, 2, order_of_two, PAIR(SUM, SUM_32, DONE, DONE, X),
	     .want = ORDER(FI_ORDER_RMA_WAW | FI_ORDER_RMA_RAW)),
	TWIN("sums-of-two-widths-ordered", "atomic-mixed", 2, order_of_two, PAIR(SUM, SUM_32, DONE, DONE, X),
	     .want = ORDER(FI_ORDER_ATOMIC_WAW)),
	TWIN("two-writes-fenced", "missing-order", 2, order_of_two, PAIR(PUT, PUT, DONE, DONE | FI_FENCE, X)),
	TWIN("write-read-fenced", "missing-order", 2, order_of_two, PAIR(PUT, GET, DONE, DONE | FI_FENCE, X)),
	TWIN("read-write-fenced", "missing-order", 2, order_of_two, PAIR(GET, PUT, DONE, DONE | FI_FENCE, X)),
	RACE("first-is-fenced", "missing-order", OP_OP, 2, order_of_two, PAIR(PUT, PUT, DONE | FI_FENCE, DONE, X)),
	TWIN("two-writes-waited", "missing-order", 2, order_of_two, PAIR(PUT, PUT, DONE, DONE, X, .waits = true)),
	TWIN("read-write-waited", "missing-order", 2, order_of_two, PAIR(GET, PUT, DONE, DONE, X, .waits = true)),
	RACE("two-writes-transmitted", "wrong-level", OP_OP, 2, order_of_two,
	     PAIR(PUT, PUT, FI_TRANSMIT_COMPLETE, DONE, X, .waits = true)),
	RACE("write-read-injected", "wrong-level", OP_OP, 2, order_of_two,
	     PAIR(PUT, GET, FI_INJECT_COMPLETE, DONE, X, .waits = true)),
	TWIN("writes-in-a-row", "missing-order", 2, order_of_two, PAIR(PUT, PUT, DONE, DONE, X + SIZE)),
	TWIN("read-behind-write", "missing-order", 2, order_of_two, PAIR(PUT, GET, DONE, DONE, X + SIZE)),
	TWIN("two-sums", "atomic-mixed", 2, order_of_two, PAIR(SUM, SUM, DONE, DONE, X)),
	TWIN("two-reads", "missing-order", 2, order_of_two, PAIR(GET, GET, DONE, DONE, X)),

	RACE("endpoints-write", "remote-conflict", OP_OP, 2, order_of_two, PAIR(PUT, PUT, DONE, DONE, X, .then_by = 1),
	     .want = WANT_TWO),
	RACE("endpoints-write-ordered", "remote-conflict", OP_OP, 2, order_of_two, PAIR(PUT, PUT, DONE, DONE, X, .then_by = 1),
	     .want = WANT_TWO_ORDERED),
	RACE("endpoints-write-and-read", "remote-conflict", OP_OP, 2, order_of_two, PAIR(PUT, GET, DONE, DONE, X, .then_by = 1),
	     .want = WANT_TWO),
	TWIN("endpoints-write-waited", "remote-conflict", 2, order_of_two,
	     PAIR(PUT, PUT, DONE, DONE, X, .then_by = 1, .waits = true), .want = WANT_TWO),
	RACE("endpoints-write-transmitted", "wrong-level", OP_OP, 2, order_of_two,
	     PAIR(PUT, PUT, FI_TRANSMIT_COMPLETE, DONE, X, .then_by = 1, .waits = true), .want = WANT_TWO),
	RACE("endpoints-write-injected", "wrong-level", OP_OP, 2, order_of_two,
	     PAIR(PUT, GET, FI_INJECT_COMPLETE, DONE, X, .then_by = 1, .waits = true), .want = WANT_TWO),
	RACE("endpoints-fenced", "remote-conflict", OP_OP, 2, order_of_two, PAIR(PUT, PUT, DONE, DONE | FI_FENCE, X, .then_by = 1),
	     .want = WANT_TWO),
	TWIN("endpoints-write-in-a-row", "remote-conflict", 2, order_of_two, PAIR(PUT, PUT, DONE, DONE, X + SIZE, .then_by = 1),
	     .want = WANT_TWO),
	TWIN("endpoints-sum", "atomic-mixed", 2, order_of_two, PAIR(SUM, FETCH_SUM, DONE, DONE, X, .then_by = 1), .want = WANT_TWO),
	RACE("endpoints-sum-and-write", "atomic-mixed", OP_OP, 2, order_of_two, PAIR(SUM, PUT, DONE, DONE, X, .then_by = 1),
	     .want = WANT_TWO),

	RACE("message-where-write-goes", "missing-order", OP_OP, 2, message_and_write),
	TWIN("message-beside-write", "missing-order", 2, message_and_write),
	TWIN("write-behind-the-reply", "missing-order", 2, write_behind_the_reply),
	RACE("one-of-two-awaited", "missing-completion", OP_OP, 2, waits_for_one_of_two),
	TWIN("both-awaited", "missing-completion", 2, waits_for_one_of_two),
};

const struct race_set fi_orders = RACE_SET(cases);
