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
	static const struct pair pairs[] = {
		[0] = { PUT, PUT, DONE, DONE, X },
		[1] = { PUT, GET, DONE, DONE, X },
		[2] = { GET, PUT, DONE, DONE, X },
		[3] = { PUT, SUM, DONE, DONE, X },
		[4] = { SUM, PUT, DONE, DONE, X },
		[5] = { PUT, FETCH, DONE, DONE, X },
		[6] = { PUT, PUT, DONE, DONE | FI_FENCE, X },
		[7] = { PUT, GET, DONE, DONE | FI_FENCE, X },
		[8] = { GET, PUT, DONE, DONE | FI_FENCE, X },
		[9] = { PUT, PUT, DONE | FI_FENCE, DONE, X },
		[10] = { PUT, PUT, DONE, DONE, X, .waits = true },
		[11] = { GET, PUT, DONE, DONE, X, .waits = true },
		[12] = { PUT, PUT, FI_TRANSMIT_COMPLETE, DONE, X, .waits = true },
		[13] = { PUT, GET, FI_INJECT_COMPLETE, DONE, X, .waits = true },
		[14] = { PUT, PUT, DONE, DONE, X + SIZE },
		[15] = { PUT, GET, DONE, DONE, X + SIZE },
		[16] = { SUM, SUM, DONE, DONE, X },
		[17] = { GET, GET, DONE, DONE, X },
		/* by another endpoint */
		[18] = { PUT, PUT, DONE, DONE, X, .then_by = 1 },
		[19] = { PUT, GET, DONE, DONE, X, .then_by = 1 },
		[20] = { PUT, PUT, DONE, DONE, X, .then_by = 1, .waits = true },
		[21] = { PUT, PUT, FI_TRANSMIT_COMPLETE, DONE, X, .then_by = 1, .waits = true },
		[22] = { PUT, GET, FI_INJECT_COMPLETE, DONE, X, .then_by = 1, .waits = true },
		[23] = { PUT, PUT, DONE, DONE | FI_FENCE, X, .then_by = 1 },
		[24] = { PUT, PUT, DONE, DONE, X + SIZE, .then_by = 1 },
		[25] = { SUM, FETCH_SUM, DONE, DONE, X, .then_by = 1 },
		[26] = { SUM, PUT, DONE, DONE, X, .then_by = 1 },
	};

	(void)round;
	if (race_self == INITIATOR)
		post_pair(&pairs[race_this->how]);
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

static const struct race_case cases[] = {
	RACE("two-writes", "missing-order", OP_OP, 2, order_of_two, .how = 0),
	TWIN("two-writes-ordered", "missing-order", 2, order_of_two, .how = 0, .want = ORDER(FI_ORDER_RMA_WAW | FI_ORDER_WAW)),
	RACE("write-read", "missing-order", OP_OP, 2, order_of_two, .how = 1),
	TWIN("write-read-ordered", "missing-order", 2, order_of_two, .how = 1, .want = ORDER(FI_ORDER_RMA_RAW)),
	RACE("read-write", "missing-order", OP_OP, 2, order_of_two, .how = 2),
	TWIN("read-write-ordered", "missing-order", 2, order_of_two, .how = 2, .want = ORDER(FI_ORDER_RMA_WAR)),
	RACE("write-read-ordered-otherwise", "missing-order", OP_OP, 2, order_of_two, .how = 1,
	     .want = ORDER(FI_ORDER_WAW | FI_ORDER_RMA_WAR | FI_ORDER_SAS)),
	RACE("two-writes-ordered-otherwise", "missing-order", OP_OP, 2, order_of_two, .how = 0,
	     .want = ORDER(FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_ATOMIC_WAW)),
	RACE("write-sum-ordered-of-writes", "atomic-mixed", OP_OP, 2, order_of_two, .how = 3, .want = ORDER(FI_ORDER_RMA_WAW)),
	TWIN("write-sum-ordered", "atomic-mixed", 2, order_of_two, .how = 3, .want = ORDER(FI_ORDER_WAW)),
	RACE("sum-write", "atomic-mixed", OP_OP, 2, order_of_two, .how = 4),
	RACE("write-fetch", "atomic-mixed", OP_OP, 2, order_of_two, .how = 5),
	TWIN("write-fetch-ordered", "atomic-mixed", 2, order_of_two, .how = 5, .want = ORDER(FI_ORDER_RAW)),
	TWIN("two-writes-fenced", "missing-order", 2, order_of_two, .how = 6),
	TWIN("write-read-fenced", "missing-order", 2, order_of_two, .how = 7),
	TWIN("read-write-fenced", "missing-order", 2, order_of_two, .how = 8),
	RACE("first-is-fenced", "missing-order", OP_OP, 2, order_of_two, .how = 9),
	TWIN("two-writes-waited", "missing-order", 2, order_of_two, .how = 10),
	TWIN("read-write-waited", "missing-order", 2, order_of_two, .how = 11),
	RACE("two-writes-transmitted", "wrong-level", OP_OP, 2, order_of_two, .how = 12),
	RACE("write-read-injected", "wrong-level", OP_OP, 2, order_of_two, .how = 13),
	TWIN("writes-in-a-row", "missing-order", 2, order_of_two, .how = 14),
	TWIN("read-behind-write", "missing-order", 2, order_of_two, .how = 15),
	TWIN("two-sums", "atomic-mixed", 2, order_of_two, .how = 16),
	TWIN("two-reads", "missing-order", 2, order_of_two, .how = 17),

	RACE("endpoints-write", "remote-conflict", OP_OP, 2, order_of_two, .how = 18, .want = WANT_TWO),
	RACE("endpoints-write-ordered", "remote-conflict", OP_OP, 2, order_of_two, .how = 18, .want = WANT_TWO_ORDERED),
	RACE("endpoints-write-and-read", "remote-conflict", OP_OP, 2, order_of_two, .how = 19, .want = WANT_TWO),
	TWIN("endpoints-write-waited", "remote-conflict", 2, order_of_two, .how = 20, .want = WANT_TWO),
	RACE("endpoints-write-transmitted", "wrong-level", OP_OP, 2, order_of_two, .how = 21, .want = WANT_TWO),
	RACE("endpoints-write-injected", "wrong-level", OP_OP, 2, order_of_two, .how = 22, .want = WANT_TWO),
	RACE("endpoints-fenced", "remote-conflict", OP_OP, 2, order_of_two, .how = 23, .want = WANT_TWO),
	TWIN("endpoints-write-in-a-row", "remote-conflict", 2, order_of_two, .how = 24, .want = WANT_TWO),
	TWIN("endpoints-sum", "atomic-mixed", 2, order_of_two, .how = 25, .want = WANT_TWO),
	RACE("endpoints-sum-and-write", "atomic-mixed", OP_OP, 2, order_of_two, .how = 26, .want = WANT_TWO),

	RACE("message-where-write-goes", "missing-order", OP_OP, 2, message_and_write),
	TWIN("message-beside-write", "missing-order", 2, message_and_write),
	RACE("one-of-two-awaited", "missing-completion", OP_OP, 2, waits_for_one_of_two),
	TWIN("both-awaited", "missing-completion", 2, waits_for_one_of_two),
};

const struct race_set fi_orders = RACE_SET(cases);
