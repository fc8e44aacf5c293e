/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_target.c - a peer's operations, and the processor of the process whose memory they reach. */
#include <string.h>

#include "tests/races/fi/fi_kit.h"

enum { TARGET, PEER, THIRD, PARTS = 4 };

/* --- the target goes on when it is told that the peer is done --- */

enum telling { BY_PIPE, BY_PIPE_EARLY, BY_MESSAGE, BY_MESSAGE_AT_ONCE };

struct news {
	enum kit_deed deed;
	uint64_t flags;
	enum telling telling;
	unsigned told_by; /* the endpoint of the message */
	uint64_t message_flags;
	bool stores; /* what the target does then; else it loads */
};

/* Posts, waits, and tells. */
static void tell_news(const struct news *news)
{
	bool waits = news->telling == BY_PIPE || news->telling == BY_MESSAGE;

	if (news->flags & FI_INJECT)
		KIT_POST(fi_inject_write(kit_ends[0].ep, kit_area + SOURCE, SIZE, kit_address[TARGET][0], X, KIT_KEY));
	else
		kit_do(news->deed, 0, TARGET, X, news->flags);
	if (waits && !(news->flags & FI_INJECT))
		kit_sent(1);
	if (news->telling == BY_PIPE || news->telling == BY_PIPE_EARLY) {
		race_tell(TARGET);
	} else {
		kit_by = news->told_by;
		kit_send(TARGET, SOURCE + KIT_PAGE, SIZE, news->message_flags);
		kit_sent(1);
		kit_by = 0;
	}
	if (!waits)
		kit_sent(1);
}

static void hear_news(const struct news *news, unsigned round)
{
	if (news->telling == BY_PIPE || news->telling == BY_PIPE_EARLY) {
		race_hear(PEER);
	} else {
		kit_by = news->told_by;
		kit_receive(INBOX, SIZE);
		kit_came(1);
		kit_by = 0;
	}
	race_compute();
	if (news->stores)
		race_store(kit_area + X, (uint8_t)round);
	else
		(void)race_load(kit_area + X);
}

static void told(unsigned round)
{
	const struct news *news = race_this->what;

	if (race_self == TARGET)
		hear_news(news, round);
	else
		tell_news(news);
}

/* One load of one word: it might have been a poll. Nothing but the pipe tells the target anything. */
static void one_word_told(unsigned round)
{
	bool first = !round, early = racy() && first;

	if (race_self == TARGET) {
		race_hear(PEER);
		if (first)
			(void)*(const volatile uint64_t *)(kit_area + X);
	} else {
		kit_put(TARGET, SOURCE, X, sizeof(uint64_t), 0);
		if (early)
			race_tell(TARGET);
		kit_sent(1);
		if (!early)
			race_tell(TARGET);
	}
	race_meet();
}

/* CQ data tell of the write that has them; and of those before it, if an order was asked for. How: 1 it is the only one, 2 both are
 * on one page. */
static void told_by_data(unsigned round)
{
	bool own = race_this->how == 1;
	size_t second = race_this->how == 2 ? Y : Z;

	(void)round;
	if (race_self == TARGET) {
		kit_came(1);
		(void)race_load(kit_area + X);
		return;
	}
	if (!own)
		kit_put(TARGET, SOURCE, X, SIZE, 0);
	kit_put(TARGET, SOURCE, own ? X : second, SIZE, FI_REMOTE_CQ_DATA);
	kit_sent(own ? 1 : 2);
}

/* Writes of the peer are counted; racy: one too few. */
static void writes_counted(unsigned round)
{
	static uint64_t counted;

	if (race_self == PEER) {
		for (int i = 0; i < PARTS; i++)
			kit_put(TARGET, SOURCE, X + i * SIZE, SIZE, 0);
		kit_sent(PARTS);
		return;
	}
	if (round == 0)
		counted = race_this->sides; /* each side has written once before the first round */
	counted += PARTS;
	NEED(!fi_cntr_wait(kit_events, counted - racy(), -1));
	for (int i = 0; i < PARTS; i++)
		(void)race_load(kit_area + X + i * SIZE);
}

/* Three writes, of which two completions are awaited, before the target is told. */
static void some_awaited(unsigned round)
{
	(void)round;
	if (race_self == TARGET) {
		race_hear(PEER);
		for (int i = 0; i < 3; i++)
			(void)race_load(kit_area + X + i * KIT_PAGE);
		return;
	}
	for (int i = 0; i < 3; i++)
		kit_put(TARGET, SOURCE + i * KIT_SLOT, X + i * KIT_PAGE, SIZE, 0);
	kit_sent(3 - racy());
	race_tell(TARGET);
	if (racy())
		kit_sent(1);
}

/* A write, and something behind it which the program waits for. Racy: it takes that for the write, too. Then the target loads, or a
 * third process reads. How: 1 what is behind is a message. */
static void one_behind_awaited(unsigned round)
{
	const size_t behind = SOURCE + KIT_SLOT;

	(void)round;
	if (race_self == TARGET && race_this->how == 1) {
		kit_receive(INBOX, SIZE);
		kit_came(1);
	} else if (race_self == TARGET && race_this->sides == 2) {
		race_hear(PEER);
		(void)race_load(kit_area + X);
	} else if (race_self == THIRD) {
		race_hear(PEER);
		kit_get(TARGET, RESULT, X, SIZE, 0);
		kit_sent(1);
	} else if (race_self == PEER) {
		kit_put(TARGET, SOURCE, X, SIZE, 0);
		if (race_this->how == 1)
			kit_send(TARGET, behind, SIZE, FI_DELIVERY_COMPLETE);
		else
			kit_put(TARGET, behind, Z, SIZE, 0);
		kit_sent_of(behind);
		if (!racy())
			kit_sent_of(SOURCE);
		race_tell(race_this->sides == 2 ? TARGET : THIRD);
		if (racy())
			kit_sent_of(SOURCE);
	}
}

/* --- nothing is between them --- */

enum touch { LOADS, STORES, COPIES };

struct clash {
	enum kit_deed deed;
	enum touch touch;
	size_t at;
	size_t length;
};

static void touch_memory(const struct clash *clash, unsigned round)
{
	static uint8_t apart[KIT_PAGE];

	if (clash->touch == COPIES)
		memcpy(apart, kit_area + clash->at, clash->length);
	for (size_t i = 0; i < clash->length; i += 8)
		if (clash->touch == LOADS)
			(void)race_load(kit_area + clash->at + i);
		else if (clash->touch == STORES)
			race_store(kit_area + clash->at + i, (uint8_t)round);
}

static void free_access(unsigned round)
{
	const struct clash *clash = race_this->what;

	if (race_self == PEER) {
		kit_do(clash->deed, 0, TARGET, X, 0);
		kit_sent(1);
		return;
	}
	for (int i = 0; i < PARTS; i++) {
		race_compute();
		touch_memory(clash, round);
	}
}

/* The processor's own atomics are none among those of the NIC. Right: the target goes through the NIC, too. */
static void sums_on_both_sides(unsigned round)
{
	(void)round;
	if (race_self == PEER || !racy()) {
		kit_do(SUM, 0, TARGET, X, 0);
		kit_sent(1);
		return;
	}
	race_compute();
	__atomic_fetch_add((uint64_t *)(void *)(kit_area + X), 1, __ATOMIC_SEQ_CST);
}

/* --- memory that is polled --- */

static void poll_until(size_t at, uint8_t value)
{
	while (race_load(kit_area + at) != value)
		;
}

/* How: 0 the last byte of what is written, 1 a flag behind it, 2 a flag that an atomic sets. The twin has CQ data. */
static void poll_memory(unsigned round)
{
	size_t last = race_this->how == 0 ? X + SIZE - 1 : race_this->how == 1 ? Y + SIZE - 1 : Y;

	if (race_self == TARGET) {
		if (racy())
			poll_until(last, (uint8_t)(round + 1));
		else
			kit_came(1);
		(void)race_load(kit_area + X);
		return;
	}
	memset(kit_area + SOURCE, 0, SIZE);
	race_store(kit_area + SOURCE, (uint8_t)(round + 1));
	race_store(kit_area + SOURCE + SIZE - 1, (uint8_t)(round + 1));
	kit_put(TARGET, SOURCE, X, SIZE, racy() ? 0 : FI_REMOTE_CQ_DATA);
	if (racy() && race_this->how == 1)
		kit_put(TARGET, SOURCE, Y, SIZE, 0);
	else if (racy() && race_this->how == 2)
		kit_do(SET, 0, TARGET, Y, 0);
	kit_sent(racy() && race_this->how ? 2 : 1);
}

/* One look at each of the peer's writes; right: behind the message that tells of them. */
static void one_look(unsigned round)
{
	const size_t each = sizeof(uint64_t), all = each * race_this->how;

	(void)round;
	if (race_self == PEER) {
		for (size_t at = 0; at < all; at += each)
			kit_put(TARGET, SOURCE + at, X + at, each, 0);
		kit_sent(race_this->how);
		kit_send(TARGET, SOURCE + KIT_PAGE, SIZE, 0);
		kit_sent(1);
		return;
	}
	for (size_t at = 0; racy() && at < all; at += each)
		(void)race_load(kit_area + X + at);
	kit_receive(INBOX, SIZE);
	kit_came(1);
	for (size_t at = 0; !racy() && at < all; at += each)
		(void)race_load(kit_area + X + at);
}

#define LOADED "operation-load"
#define OP_OP "operation-operation"
#define STORED "operation-store"
#define POLLED "memory-polled"
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
#define WANT_TWO_ORDERED                              \
	&(const struct kit_want)                      \
	{                                             \
		.endpoints = 2, .order = FI_ORDER_SAW \
	}
#define WANT_TOLD                                  \
	&(const struct kit_want)                   \
	{                                          \
		.caps = FI_RMA_EVENT, .told = true \
	}

#define NEWS(does, its_flags, tells, ...)                                             \
	.what = &(const struct news)                                                  \
	{                                                                             \
		.deed = (does), .flags = (its_flags), .telling = (tells), __VA_ARGS__ \
	}

#define CLASH(does, how_touched, where, bytes)                                           \
	.what = &(const struct clash)                                                    \
	{                                                                                \
		.deed = (does), .touch = (how_touched), .at = (where), .length = (bytes) \
	}

static const struct race_case cases[] = {
	TWIN("told-when-delivered", "missing-completion", 2, told, NEWS(PUT, 0, BY_PIPE)),
	RACE("told-early", "missing-completion", LOADED, 2, told, NEWS(PUT, 0, BY_PIPE_EARLY)),
	RACE("told-when-transmitted", "wrong-level", LOADED, 2, told, NEWS(PUT, FI_TRANSMIT_COMPLETE, BY_PIPE)),
	RACE("told-when-inject-complete", "wrong-level", LOADED, 2, told, NEWS(PUT, FI_INJECT_COMPLETE, BY_PIPE)),
	RACE("told-when-injected", "wrong-level", LOADED, 2, told, NEWS(PUT, FI_INJECT, BY_PIPE)),
	TWIN("told-by-message", "missing-completion", 2, told, NEWS(PUT, 0, BY_MESSAGE)),
	TWIN("told-by-other-endpoint", "missing-order", 2, told, NEWS(PUT, 0, BY_MESSAGE, .told_by = 1), .want = WANT_TWO),
	RACE("told-by-message-behind", "missing-order", LOADED, 2, told, NEWS(PUT, 0, BY_MESSAGE_AT_ONCE)),
	TWIN("told-by-ordered-message-behind", "missing-order", 2, told, NEWS(PUT, 0, BY_MESSAGE_AT_ONCE),
	     .want = ORDER(FI_ORDER_SAW)),
	RACE("told-by-message-behind-ordered-otherwise", "missing-order", LOADED, 2, told, NEWS(PUT, 0, BY_MESSAGE_AT_ONCE),
	     .want = ORDER(FI_ORDER_SAS | FI_ORDER_WAW)),
	RACE("told-by-other-endpoint-at-once", "missing-order", LOADED, 2, told, NEWS(PUT, 0, BY_MESSAGE_AT_ONCE, .told_by = 1),
	     .want = WANT_TWO_ORDERED),
	RACE("told-by-message-when-transmitted", "wrong-level", LOADED, 2, told, NEWS(PUT, FI_TRANSMIT_COMPLETE, BY_MESSAGE)),
	TWIN("told-by-fenced-message", "missing-order", 2, told,
	     NEWS(PUT, 0, BY_MESSAGE_AT_ONCE, .message_flags = FI_FENCE | FI_DELIVERY_COMPLETE)),
	TWIN("stored-when-read", "target-store", 2, told, NEWS(GET, 0, BY_PIPE, .stores = true)),
	RACE("stored-when-told-early-of-read", "target-store", STORED, 2, told, NEWS(GET, 0, BY_PIPE_EARLY, .stores = true)),
	TWIN("stored-by-message-when-read", "target-store", 2, told, NEWS(GET, 0, BY_MESSAGE, .stores = true)),
	RACE("stored-by-message-behind-read", "missing-order", STORED, 2, told, NEWS(GET, 0, BY_MESSAGE_AT_ONCE, .stores = true)),
	TWIN("sum-told-when-delivered", "atomic-mixed", 2, told, NEWS(SUM, 0, BY_PIPE)),
	RACE("sum-told-when-transmitted", "wrong-level", LOADED, 2, told, NEWS(SUM, FI_TRANSMIT_COMPLETE, BY_PIPE)),
	TWIN("stored-when-delivered", "target-store", 2, told, NEWS(PUT, 0, BY_PIPE, .stores = true)),
	RACE("stored-when-told-early", "target-store", STORED, 2, told, NEWS(PUT, 0, BY_PIPE_EARLY, .stores = true)),

	RACE("word-loaded-once-when-told-early", "target-load", LOADED, 2, one_word_told),
	TWIN("word-loaded-once-when-delivered", "target-load", 2, one_word_told),
	RACE("data-of-another-write", "missing-order", LOADED, 2, told_by_data, .how = 0),
	RACE("data-of-a-write-beside", "missing-order", LOADED, 2, told_by_data, .how = 2),
	TWIN("data-of-another-ordered-write", "missing-order", 2, told_by_data, .how = 0,
	     .want = ORDER(FI_ORDER_RMA_WAW | FI_ORDER_WAW)),
	TWIN("data-of-the-write", "target-load", 2, told_by_data, .how = 1),
	RACE("events-too-few", "counters", LOADED, 2, writes_counted, .want = WANT_TOLD),
	TWIN("events-all", "counters", 2, writes_counted, .want = WANT_TOLD),
	RACE("two-of-three-awaited", "several-buffers", LOADED, 2, some_awaited),
	TWIN("three-of-three-awaited", "several-buffers", 2, some_awaited),
	RACE("last-of-two-awaited", "several-buffers", LOADED, 2, one_behind_awaited),
	TWIN("two-of-two-awaited", "several-buffers", 2, one_behind_awaited),
	RACE("last-of-two-awaited-for-a-third", "three-processes", OP_OP, 3, one_behind_awaited),
	TWIN("two-of-two-awaited-for-a-third", "three-processes", 3, one_behind_awaited),
	RACE("message-awaited-for-the-write", "three-processes", OP_OP, 3, one_behind_awaited, .how = 1),
	TWIN("message-and-write-awaited", "three-processes", 3, one_behind_awaited, .how = 1),

	RACE("loaded-while-written", "target-load", LOADED, 2, free_access, CLASH(PUT, LOADS, X, SIZE)),
	RACE("stored-while-written", "target-store", STORED, 2, free_access, CLASH(PUT, STORES, X, SIZE)),
	RACE("copied-while-written", "target-load", LOADED, 2, free_access, CLASH(PUT, COPIES, X, KIT_PAGE)),
	RACE("last-byte-loaded-while-written", "target-load", LOADED "|" POLLED, 2, free_access,
	     CLASH(PUT, LOADS, X + SIZE - 1, 1)),
	TWIN("loaded-beside-write", "target-load", 2, free_access, CLASH(PUT, LOADS, X + SIZE, SIZE)),
	TWIN("stored-beside-write", "target-store", 2, free_access, CLASH(PUT, STORES, X + SIZE, SIZE)),
	RACE("stored-while-read", "target-store", STORED, 2, free_access, CLASH(GET, STORES, X, SIZE)),
	TWIN("loaded-while-read", "target-load", 2, free_access, CLASH(GET, LOADS, X, SIZE)),
	TWIN("stored-beside-read", "target-store", 2, free_access, CLASH(GET, STORES, X + SIZE, SIZE)),
	RACE("loaded-while-summed", "atomic-mixed", LOADED "|" POLLED, 2, free_access, CLASH(SUM, LOADS, X, 8)),
	RACE("stored-while-summed", "atomic-mixed", STORED, 2, free_access, CLASH(SUM, STORES, X, 8)),
	RACE("stored-while-fetched-and-summed", "atomic-mixed", STORED, 2, free_access, CLASH(FETCH_SUM, STORES, X, 8)),
	TWIN("loaded-while-fetched", "atomic-mixed", 2, free_access, CLASH(FETCH, LOADS, X, 8)),
	TWIN("stored-beside-sum", "atomic-mixed", 2, free_access, CLASH(SUM, STORES, X + 8, 8)),
	RACE("stored-while-swapped", "atomic-mixed", STORED, 2, free_access, CLASH(SWAP, STORES, X, 8)),
	RACE("sum-of-processor", "atomic-mixed", LOADED "|" STORED, 2, sums_on_both_sides),
	TWIN("sum-of-own-nic", "atomic-mixed", 2, sums_on_both_sides),

	RACE("looked-at-once-while-written", "target-load", LOADED "|" POLLED, 2, one_look, .how = 1),
	RACE("many-looked-at-once-while-written", "target-load", LOADED "|" POLLED, 2, one_look, .how = 12),
	TWIN("looked-at-once-when-told", "target-load", 2, one_look, .how = 1),
	TWIN("many-looked-at-once-when-told", "target-load", 2, one_look, .how = 12),

	RACE("last-byte-polled", "polling", POLLED, 2, poll_memory, .how = 0),
	RACE("flag-polled", "polling", POLLED "|" LOADED, 2, poll_memory, .how = 1),
	RACE("atomic-flag-polled", "polling", POLLED "|" LOADED, 2, poll_memory, .how = 2),
	TWIN("data-waited-for", "polling", 2, poll_memory, .how = 0),
};

const struct race_set fi_targets = RACE_SET(cases);
