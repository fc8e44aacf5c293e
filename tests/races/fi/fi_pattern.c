/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_pattern.c - how programs put it together: locks, rings with credits, remote calls, barriers, halos, tickets. */
#include <string.h>

#include "tests/races/fi/fi_kit.h"

enum { HOME, FIRST, SECOND, SLOTS = 4, MESSAGES = 12, LOCK = Y, DATA = Z, WORD = 8 };

static uint64_t *word_at(size_t offset)
{
	return (uint64_t *)(void *)(kit_area + offset);
}

static void nothing_is_left(void)
{
	kit_put(HOME, SOURCE, Y + KIT_SLOT + race_self * WORD, WORD, FI_FENCE);
	kit_sent(1);
}

/* --- a lock at the home side, by compare-and-swap --- */

enum fault { NONE, NOT_TAKEN, LEFT_EARLY, LEFT_TRANSMITTED };

static void lock_take(void)
{
	*word_at(SOURCE) = race_self;
	*word_at(SOURCE + WORD) = 0;
	do {
		kit_swap(HOME, SOURCE, RESULT, LOCK);
		kit_sent(1);
	} while (*word_at(RESULT));
}

static void lock_leave(void)
{
	*word_at(SOURCE + KIT_SLOT) = 0;
	kit_do(SET, 1, HOME, LOCK, 0);
	kit_sent(1);
}

static void locked_write(unsigned round)
{
	enum fault fault = race_this->how;
	bool takes = fault != NOT_TAKEN || race_self == FIRST;

	(void)round;
	if (race_self == HOME)
		return;
	if (takes)
		lock_take();
	kit_put(HOME, SOURCE + 2 * KIT_SLOT, DATA, SIZE, fault == LEFT_TRANSMITTED ? FI_TRANSMIT_COMPLETE : FI_DELIVERY_COMPLETE);
	if (fault != LEFT_EARLY)
		kit_sent_of(SOURCE + 2 * KIT_SLOT);
	if (takes)
		lock_leave();
	if (fault == LEFT_EARLY)
		kit_sent(1);
	nothing_is_left();
}

/* What is guarded is read, changed and written back. */
static void locked_change(unsigned round)
{
	(void)round;
	if (race_self == HOME)
		return;
	if (!racy() || race_self == FIRST)
		lock_take();
	kit_get(HOME, RESULT + KIT_SLOT, DATA, WORD, 0);
	kit_sent(1);
	*word_at(SOURCE + 2 * KIT_SLOT) = *word_at(RESULT + KIT_SLOT) + 1;
	kit_put(HOME, SOURCE + 2 * KIT_SLOT, DATA, WORD, 0);
	kit_sent(1);
	if (!racy() || race_self == FIRST)
		lock_leave();
}

/* --- each takes a number, and writes to the slot of that number --- */

static void ticket(unsigned round)
{
	uint64_t mine;

	(void)round;
	if (race_self == HOME)
		return;
	*word_at(SOURCE) = 1;
	if (racy()) {
		kit_get(HOME, RESULT, LOCK, WORD, 0);
		kit_sent(1);
		*word_at(SOURCE) = *word_at(RESULT) + 1;
		kit_put(HOME, SOURCE, LOCK, WORD, 0);
	} else {
		kit_do(FETCH_SUM, 0, HOME, LOCK, 0);
	}
	kit_sent(1);
	mine = *word_at(RESULT) % (2 * RACE_ROUNDS);
	kit_put(HOME, SOURCE + KIT_SLOT, DATA + mine * SIZE, SIZE, 0);
	kit_sent(1);
}

/* --- a ring: slots are written, of which CQ data tell, or a message (how: 1), and come back as credits. Racy: the producer does
 * not wait for them. --- */

static void ring_produce(void)
{
	for (int i = 0; i < MESSAGES; i++) {
		if (i >= SLOTS && !racy())
			kit_came(1);
		kit_put(HOME, SOURCE + (i % SLOTS) * KIT_SLOT, DATA + (i % SLOTS) * SIZE, SIZE,
			race_this->how ? 0 : FI_REMOTE_CQ_DATA);
		kit_sent(1);
		if (race_this->how)
			kit_send(HOME, SOURCE + KIT_PAGE, WORD, 0);
		kit_sent(race_this->how);
	}
	kit_came(racy() ? MESSAGES : SLOTS);
}

static void ring_consume(void)
{
	for (int i = 0; i < MESSAGES; i++) {
		uint8_t *slot = kit_area + DATA + (i % SLOTS) * SIZE;

		kit_came(1);
		for (int j = 0; j < SLOTS; j++)
			race_compute();
		race_store(slot, race_load(slot) + 1);
		kit_send(FIRST, SOURCE, WORD, 0);
		kit_sent(1);
	}
}

static void ring(unsigned round)
{
	(void)round;
	for (int i = 0; i < MESSAGES && (race_self == FIRST || race_this->how); i++)
		kit_receive(INBOX + i * WORD, WORD);
	race_meet();
	if (race_self == HOME)
		ring_consume();
	else
		ring_produce();
}

/* --- remote calls: the home side answers --- */

enum call { BY_MESSAGES, BY_WRITES, REFILLED };

static void call_answer(void)
{
	kit_receive(INBOX, SIZE);
	race_tell(FIRST);
	kit_came(1);
	race_store(kit_area + INBOX, race_load(kit_area + INBOX) + 1);
	if (race_this->how == BY_WRITES)
		kit_put(FIRST, INBOX, SOURCE + SIZE, SIZE, racy() ? FI_TRANSMIT_COMPLETE : FI_REMOTE_CQ_DATA);
	else
		kit_send(FIRST, INBOX, SIZE, 0);
	kit_sent(1);
	if (race_this->how == BY_WRITES && racy())
		race_tell(FIRST);
}

/* The answer is written beside the request. */
static void call_ask(unsigned round)
{
	bool written = race_this->how == BY_WRITES;

	race_hear(HOME);
	if (!written)
		kit_receive(SOURCE + SIZE, SIZE);
	race_store(kit_area + SOURCE, (uint8_t)round);
	kit_send(HOME, SOURCE, SIZE, 0);
	if (racy() && written)
		race_hear(HOME);
	else
		kit_came(1);
	(void)race_load(kit_area + SOURCE + SIZE);
	kit_sent(1);
	race_store(kit_area + SOURCE, (uint8_t)round);
}

/* A request that is long: the answer, too, says only that it came, and not that its buffer is free. */
static void call_refilled(unsigned round)
{
	if (race_self == HOME) {
		kit_receive(INBOX, SIZE);
		race_tell(FIRST);
		kit_came(1);
		race_tell(FIRST);
		return;
	}
	race_hear(HOME);
	kit_send(HOME, SOURCE, SIZE, 0);
	race_hear(HOME);
	if (!racy())
		kit_sent(1);
	race_store(kit_area + SOURCE, (uint8_t)round);
	if (racy())
		kit_sent(1);
}

static void call(unsigned round)
{
	if (race_this->how == REFILLED)
		call_refilled(round);
	else if (race_self == HOME)
		call_answer();
	else
		call_ask(round);
}

/* --- phases: all write to all, and a barrier of messages parts these from the reads --- */

static void barrier(void)
{
	unsigned others = race_this->sides - 1;

	for (unsigned i = 0; i < others; i++)
		kit_receive(INBOX + i * WORD, WORD);
	for (unsigned side = 0; side < race_this->sides; side++)
		if (side != race_self)
			kit_send(side, SOURCE + KIT_PAGE, WORD, 0);
	kit_came(others);
	kit_sent(others);
}

static void phases(unsigned round)
{
	uint64_t level = race_this->how == 2 ? FI_TRANSMIT_COMPLETE : FI_DELIVERY_COMPLETE;

	race_store(kit_area + SOURCE, (uint8_t)round);
	for (unsigned side = 0; side < race_this->sides; side++)
		kit_put(side, SOURCE, DATA + race_self * SIZE, SIZE, level);
	if (!racy() || race_this->how == 2)
		kit_sent(race_this->sides);
	barrier();
	for (unsigned side = 0; side < race_this->sides; side++)
		(void)race_load(kit_area + DATA + side * SIZE);
	if (racy() && race_this->how != 2)
		kit_sent(race_this->sides);
}

/* A sum of all at the home side. Racy: the others tell of it when it is transmitted. */
static void reduce(unsigned round)
{
	(void)round;
	if (race_self == HOME) {
		for (unsigned side = 1; side < race_this->sides; side++)
			kit_receive(INBOX + side * WORD, WORD);
		kit_came(race_this->sides - 1);
		(void)race_load(kit_area + DATA);
		return;
	}
	kit_do(SUM, 0, HOME, DATA, racy() ? FI_TRANSMIT_COMPLETE : FI_DELIVERY_COMPLETE);
	kit_sent(1);
	kit_send(HOME, SOURCE + KIT_SLOT, WORD, 0);
	kit_sent(1);
}

/* --- halos: each writes its edge to the other with CQ data. Racy: there is one, and the other may be at the next step. --- */

static void halos(unsigned round)
{
	unsigned other = !race_self;

	(void)round;
	for (int step = 0; step < SLOTS; step++) {
		size_t halo = DATA + (racy() ? 0 : step % 2) * KIT_SLOT;

		kit_put(other, SOURCE, halo, SIZE, FI_REMOTE_CQ_DATA);
		kit_came(1);
		kit_sent(1);
		race_compute();
		for (size_t i = 0; i < SIZE; i += WORD)
			(void)race_load(kit_area + halo + i);
	}
}

#define LOADED "operation-load"
#define STORED "operation-store"
#define OP_OP "operation-operation"

static const struct race_case cases[] = {
	TWIN("lock", "three-processes", 3, locked_write, .how = NONE),
	RACE("lock-not-taken", "three-processes", OP_OP, 3, locked_write, .how = NOT_TAKEN),
	RACE("lock-left-early", "missing-completion", OP_OP, 3, locked_write, .how = LEFT_EARLY),
	RACE("lock-left-transmitted", "wrong-level", OP_OP, 3, locked_write, .how = LEFT_TRANSMITTED),
	TWIN("locked-change", "three-processes", 3, locked_change),
	RACE("half-locked-change", "three-processes", OP_OP, 3, locked_change),
	TWIN("tickets", "atomic-mixed", 3, ticket),
	RACE("tickets-by-reads", "three-processes", OP_OP, 3, ticket),
	TWIN("ring-with-credits", "target-store", 2, ring),
	RACE("ring-without-credits", "target-store", LOADED "|" STORED, 2, ring),
	TWIN("ring-told-by-messages", "target-store", 2, ring, .how = 1),
	RACE("ring-told-by-messages-without-credits", "target-store", LOADED "|" STORED, 2, ring, .how = 1),
	TWIN("call-by-messages", "local-store", 2, call, .how = BY_MESSAGES),
	TWIN("call-answered-by-write", "target-load", 2, call, .how = BY_WRITES),
	RACE("call-answered-transmitted", "wrong-level", LOADED, 2, call, .how = BY_WRITES),
	RACE("request-refilled", "local-store", STORED "|send-buffer-changed", 2, call, .how = REFILLED),
	TWIN("request-refilled-when-sent", "local-store", 2, call, .how = REFILLED),
	TWIN("phases", "three-processes", 3, phases),
	RACE("phases-not-complete", "missing-completion", LOADED, 3, phases),
	RACE("phases-transmitted", "wrong-level", LOADED, 3, phases, .how = 2),
	TWIN("reduce", "atomic-mixed", 3, reduce),
	RACE("reduce-transmitted", "wrong-level", LOADED, 3, reduce),
	TWIN("two-halos", "target-load", 2, halos),
	RACE("one-halo", "target-load", LOADED, 2, halos),
};

const struct race_set fi_patterns = RACE_SET(cases);
