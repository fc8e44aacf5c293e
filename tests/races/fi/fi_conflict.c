/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_conflict.c - operations of two or three initiators that meet at one place. */
#include "tests/races/fi/fi_kit.h"

enum { TARGET = 0 };

/* What the first initiator does at X, and another one at `at`. */
struct meeting {
	enum kit_deed first, second;
	size_t at;
};

/* The first one is the target itself where there are two sides: it uses its own endpoint. */
static unsigned first_side(void)
{
	return race_this->sides == 2 ? TARGET : TARGET + 1;
}

static void meet_free(unsigned round)
{
	const struct meeting *meeting = race_this->what;

	(void)round;
	if (race_self == first_side())
		kit_do(meeting->first, 0, TARGET, X, FI_DELIVERY_COMPLETE);
	else if (race_self != TARGET)
		kit_do(meeting->second, 0, TARGET, meeting->at, FI_DELIVERY_COMPLETE);
	else
		return;
	kit_sent(1);
}

/* One after the other: the first one tells the second one of its completion. */
struct turns {
	enum kit_deed first, second;
	uint64_t level; /* of the completion */
	bool early;     /* tells before it waits */
	bool by_message;
};

static void say(const struct turns *turns, unsigned to)
{
	if (!turns->by_message) {
		race_tell(to);
		return;
	}
	kit_send(to, SOURCE + KIT_PAGE, SIZE, 0);
	kit_sent(1);
}

static void take_turns(unsigned round)
{
	const struct turns *turns = race_this->what;
	unsigned first = first_side(), second = first + 1;

	(void)round;
	if (race_self == first) {
		kit_do(turns->first, 0, TARGET, X, turns->level);
		if (!turns->early)
			kit_sent(1);
		say(turns, second);
		if (turns->early)
			kit_sent(1);
	} else if (race_self == second) {
		if (turns->by_message) {
			kit_receive(INBOX, SIZE);
			kit_came(1);
		} else {
			race_hear(first);
		}
		kit_do(turns->second, 0, TARGET, X, FI_DELIVERY_COMPLETE);
		kit_sent(1);
	}
}

/* The first one writes two ranges by one operation, and the second one into the other of these, or beside it. */
static void meet_vector(unsigned round)
{
	struct iovec near[] = { { kit_area + SOURCE, SIZE }, { kit_area + SOURCE + KIT_SLOT, SIZE } };
	struct fi_rma_iov far[] = { { X, SIZE, KIT_KEY }, { Z, SIZE, KIT_KEY } };

	(void)round;
	if (race_self == TARGET)
		return;
	if (race_self == first_side())
		kit_putv(TARGET, near, 2, far, 2, FI_DELIVERY_COMPLETE);
	else
		kit_put(TARGET, SOURCE, racy() ? Z : Z + SIZE, SIZE, FI_DELIVERY_COMPLETE);
	kit_sent(1);
}

/* Each of two initiators fills its own half of what a third one reads: racy, it does not wait for both. */
static void gather(unsigned round)
{
	(void)round;
	if (race_self == 1 || race_self == 2) {
		kit_put(TARGET, SOURCE, X + (race_self - 1) * SIZE, SIZE, FI_DELIVERY_COMPLETE);
		kit_sent(1);
		race_tell(3);
	} else if (race_self == 3) {
		race_hear(1);
		if (!racy())
			race_hear(2);
		kit_get(TARGET, RESULT, X, 2 * SIZE, 0);
		kit_sent(1);
		if (racy())
			race_hear(2);
	}
}

#define OP_OP "operation-operation"

#define MEET(one, other, where)                                  \
	.what = &(const struct meeting)                          \
	{                                                        \
		.first = (one), .second = (other), .at = (where) \
	}

#define TURNS(one, other, done, ...)                                            \
	.what = &(const struct turns)                                           \
	{                                                                       \
		.first = (one), .second = (other), .level = (done), __VA_ARGS__ \
	}

static const struct race_case cases[] = {
	RACE("writes-of-two", "three-processes", OP_OP, 3, meet_free, MEET(PUT, PUT, X)),
	RACE("writes-share-a-byte", "three-processes", OP_OP, 3, meet_free, MEET(PUT, PUT, X + SIZE - 1)),
	TWIN("writes-side-by-side", "three-processes", 3, meet_free, MEET(PUT, PUT, X + SIZE)),
	RACE("write-and-read", "three-processes", OP_OP, 3, meet_free, MEET(PUT, GET, X)),
	TWIN("reads-of-two", "three-processes", 3, meet_free, MEET(GET, GET, X)),
	TWIN("read-beside-write", "three-processes", 3, meet_free, MEET(PUT, GET, X + SIZE)),
	RACE("write-and-sum", "atomic-mixed", OP_OP, 3, meet_free, MEET(PUT, SUM, X + 8)),
	RACE("read-and-sum", "atomic-mixed", OP_OP, 3, meet_free, MEET(GET, SUM, X + 8)),
	TWIN("sums-of-two", "atomic-mixed", 3, meet_free, MEET(SUM, SUM, X)),
	RACE("sums-of-two-widths", "atomic-mixed", OP_OP, 3, meet_free, MEET(SUM, SUM_32, X + 4)),
	TWIN("sums-beside-each-other", "atomic-mixed", 3, meet_free, MEET(SUM, SUM_32, X + 8)),
	TWIN("sum-and-swap", "atomic-mixed", 3, meet_free, MEET(FETCH_SUM, SWAP, X)),
	TWIN("set-and-sum", "atomic-mixed", 3, meet_free, MEET(SET, FETCH_SUM, X)),
	TWIN("read-and-fetch", "atomic-mixed", 3, meet_free, MEET(GET, FETCH, X)),
	RACE("write-and-fetch", "atomic-mixed", OP_OP, 3, meet_free, MEET(PUT, FETCH, X + 16)),
	RACE("writes-of-three", "three-processes", OP_OP, 4, meet_free, MEET(PUT, PUT, X)),

	RACE("target-writes-too", "remote-conflict", OP_OP, 2, meet_free, MEET(PUT, PUT, X)),
	RACE("target-reads-too", "remote-conflict", OP_OP, 2, meet_free, MEET(PUT, GET, X)),
	TWIN("target-writes-beside", "remote-conflict", 2, meet_free, MEET(PUT, PUT, X + SIZE)),
	TWIN("target-sums-too", "atomic-mixed", 2, meet_free, MEET(SUM, SUM, X)),

	TWIN("writes-by-turns", "three-processes", 3, take_turns, TURNS(PUT, PUT, FI_DELIVERY_COMPLETE)),
	RACE("turn-ends-early", "missing-completion", OP_OP, 3, take_turns, TURNS(PUT, PUT, FI_DELIVERY_COMPLETE, .early = true)),
	RACE("turn-ends-transmitted", "wrong-level", OP_OP, 3, take_turns, TURNS(PUT, PUT, FI_TRANSMIT_COMPLETE)),
	TWIN("turn-ends-by-message", "three-processes", 3, take_turns, TURNS(PUT, PUT, FI_DELIVERY_COMPLETE, .by_message = true)),
	RACE("turn-ends-injected", "wrong-level", OP_OP, 3, take_turns, TURNS(PUT, PUT, FI_INJECT_COMPLETE, .by_message = true)),
	TWIN("read-then-write-of-another", "three-processes", 3, take_turns, TURNS(GET, PUT, 0)),
	RACE("read-ends-early", "missing-completion", OP_OP, 3, take_turns, TURNS(GET, PUT, 0, .early = true)),
	TWIN("write-then-read-of-another", "three-processes", 3, take_turns, TURNS(PUT, GET, FI_DELIVERY_COMPLETE)),
	TWIN("sum-then-write-of-another", "atomic-mixed", 3, take_turns, TURNS(SUM, PUT, FI_DELIVERY_COMPLETE)),
	RACE("sum-is-transmitted", "wrong-level", OP_OP, 3, take_turns, TURNS(SUM, GET, FI_TRANSMIT_COMPLETE)),
	TWIN("target-and-peer-by-turns", "remote-conflict", 2, take_turns, TURNS(PUT, PUT, FI_DELIVERY_COMPLETE)),
	RACE("target-goes-on-early", "missing-completion", OP_OP, 2, take_turns,
	     TURNS(PUT, PUT, FI_DELIVERY_COMPLETE, .early = true)),

	RACE("second-range-met", "several-buffers", OP_OP, 3, meet_vector),
	TWIN("second-range-not-met", "several-buffers", 3, meet_vector),
	RACE("gathered-from-one", "missing-completion", OP_OP, 4, gather),
	TWIN("gathered-from-both", "three-processes", 4, gather),
};

const struct race_set fi_conflicts = RACE_SET(cases);
