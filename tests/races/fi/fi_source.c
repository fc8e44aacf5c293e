/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_source.c - the initiator's own buffers, while the NIC sends from them or reads into them. */
#include <string.h>
#include <unistd.h>

#include "tests/races/fi/fi_kit.h"

enum { TARGET, INITIATOR, PARTS = 4 };

/* --- sources --- */

enum source { OF_PUT, OF_SEND, OF_TAGGED, OF_SECOND_PART, OF_SUM, OF_SWAP, OF_LONG };

static size_t post_source(enum source source)
{
	struct iovec near[] = { { kit_area + SOURCE, SIZE }, { kit_area + SOURCE + 2 * SIZE, SIZE } };
	struct fi_rma_iov far = { X, 2 * SIZE, KIT_KEY };

	switch (source) {
	case OF_SEND:
		kit_send(TARGET, SOURCE, SIZE, 0);
		return SOURCE;
	case OF_TAGGED:
		KIT_POST(fi_tsend(kit_ends[0].ep, kit_area + SOURCE, SIZE, fi_mr_desc(kit_mr), kit_address[TARGET][0], 1,
				  kit_area + SOURCE));
		return SOURCE;
	case OF_SECOND_PART:
		kit_putv(TARGET, near, 2, &far, 1, 0);
		return SOURCE + 2 * SIZE;
	case OF_SUM:
		kit_do(FETCH_SUM, 0, TARGET, X, 0);
		return SOURCE;
	case OF_SWAP:
		kit_do(SWAP, 0, TARGET, X, 0);
		return SOURCE + 8;
	case OF_LONG:
		kit_put(TARGET, SOURCE, X, 2 * KIT_PAGE, 0);
		return SOURCE + KIT_PAGE;
	default:
		kit_put(TARGET, SOURCE, X, SIZE, 0);
		return SOURCE;
	}
}

static void take_source(enum source source)
{
	if (source == OF_SEND)
		kit_receive(INBOX, SIZE);
	else if (source == OF_TAGGED)
		KIT_POST(fi_trecv(kit_ends[0].ep, kit_area + INBOX, SIZE, fi_mr_desc(kit_mr), FI_ADDR_UNSPEC, 1, 0,
				  kit_area + INBOX));
	else
		return;
	kit_came(1);
}

/* Stored into after the post; right: after the completion. */
static void source_stored(unsigned round)
{
	size_t at;

	if (race_self == TARGET) {
		take_source(race_this->how);
		return;
	}
	at = post_source(race_this->how);
	if (!racy())
		kit_sent(1);
	race_compute();
	race_store(kit_area + at, (uint8_t)round);
	if (racy())
		kit_sent(1);
}

/* What is right before the completion: loads of the source, stores beside it, between its parts. */
static void source_left(unsigned round)
{
	if (race_self == TARGET)
		return;
	post_source(race_this->how);
	race_compute();
	(void)race_load(kit_area + SOURCE);
	race_store(kit_area + SOURCE - 1, (uint8_t)round);
	race_store(kit_area + SOURCE + SIZE, (uint8_t)round);
	kit_sent(1);
}

/* Injected: the source is free when the call returns, or, by FI_INJECT_COMPLETE, at the completion. A fenced write ends the
 * round. */
static void source_injected(unsigned round)
{
	if (race_self == TARGET)
		return;
	if (race_this->how == 0)
		KIT_POST(fi_inject_write(kit_ends[0].ep, kit_area + SOURCE, SIZE, kit_address[TARGET][0], X, KIT_KEY));
	else
		kit_put(TARGET, SOURCE, X, SIZE, FI_INJECT_COMPLETE | (race_this->how == 1 ? FI_INJECT : 0));
	if (race_this->how == 2)
		kit_sent(1);
	race_store(kit_area + SOURCE, (uint8_t)round);
	kit_put(TARGET, SOURCE + KIT_SLOT, Y, SIZE, FI_FENCE);
	kit_sent(race_this->how == 1 ? 2 : 1);
}

/* Two buffers by turns: one is filled while the other one is under way. Racy: nothing tells that it is free. */
static void two_buffers(unsigned round)
{
	if (race_self == TARGET)
		return;
	for (int i = 0; i < PARTS; i++) {
		size_t buffer = SOURCE + (i % 2) * KIT_PAGE;

		if (i >= 2 && !racy())
			kit_sent_of(buffer);
		memset(kit_area + buffer, (int)round, SIZE);
		kit_put(TARGET, buffer, X + i * SIZE, SIZE, 0);
	}
	kit_sent(racy() ? PARTS : 2);
}

/* --- destinations of reads --- */

static void post_read(bool fetch)
{
	kit_do(fetch ? FETCH : GET, 0, TARGET, X, 0);
}

static void by_a_call(const void *at, size_t length)
{
	int ends[2];

	NEED(!pipe(ends) && write(ends[1], at, length) == (ssize_t)length);
	close(ends[0]);
	close(ends[1]);
}

/* How: 0 loads, 1 stores, 2 loads what an atomic has fetched, 3 has a system call load it, 4 posts it as what is copied at once. */
static void result_touched(unsigned round)
{
	if (race_self == TARGET)
		return;
	post_read(race_this->how == 2);
	if (!racy())
		kit_sent(1);
	race_compute();
	if (race_this->how == 1)
		race_store(kit_area + RESULT, (uint8_t)round);
	else if (race_this->how == 3)
		by_a_call(kit_area + RESULT, SIZE);
	else if (race_this->how == 4)
		KIT_POST(fi_inject_write(kit_ends[0].ep, kit_area + RESULT, SIZE, kit_address[TARGET][0], Z + round * SIZE,
					 KIT_KEY));
	else
		(void)race_load(kit_area + RESULT);
	if (racy())
		kit_sent(1);
}

static void result_left(unsigned round)
{
	if (race_self == TARGET)
		return;
	post_read(race_this->how == 2);
	race_compute();
	race_store(kit_area + RESULT - 1, (uint8_t)round);
	(void)race_load(kit_area + RESULT + SIZE);
	kit_sent(1);
}

/* A read by two buffers, of which the second one is loaded from; right: what lies between. */
static void second_buffer(unsigned round)
{
	struct iovec near[] = { { kit_area + RESULT, SIZE }, { kit_area + RESULT + 2 * SIZE, SIZE } };
	void *desc[] = { fi_mr_desc(kit_mr), fi_mr_desc(kit_mr) };

	(void)round;
	if (race_self == TARGET)
		return;
	KIT_POST(fi_readv(kit_ends[0].ep, near, desc, 2, kit_address[TARGET][0], X, KIT_KEY, NULL));
	race_compute();
	(void)race_load(kit_area + RESULT + (racy() ? 2 * SIZE : SIZE));
	kit_sent(1);
}

/* What is read goes on: by a write or a message, before it is here. Right: waited for, or fenced. */
static void read_goes_on(unsigned round)
{
	bool message = race_this->how == 1, fenced = race_this->how == 2;

	(void)round;
	if (race_self == TARGET) {
		if (message) {
			kit_receive(INBOX, SIZE);
			kit_came(1);
		}
		return;
	}
	kit_get(TARGET, RESULT, X, SIZE, 0);
	if (!racy() && !fenced)
		kit_sent(1);
	if (message)
		kit_send(TARGET, RESULT, SIZE, 0);
	else
		kit_put(TARGET, RESULT, Z, SIZE, FI_DELIVERY_COMPLETE | (fenced ? FI_FENCE : 0));
	kit_sent(racy() || fenced ? 2 : 1);
}

/* Two reads into places that share a byte, or do not; or two atomics into one. */
static void results_meet(unsigned round)
{
	(void)round;
	if (race_self == TARGET)
		return;
	if (race_this->how == 1) {
		kit_atomic(TARGET, FI_SUM, FI_UINT64, SOURCE, RESULT, X, 0);
		kit_atomic(TARGET, FI_SUM, FI_UINT64, SOURCE, racy() ? RESULT : RESULT + 8, Y, 0);
	} else {
		kit_get(TARGET, RESULT, X, SIZE, 0);
		kit_get(TARGET, RESULT + SIZE - racy(), Y, SIZE, 0);
	}
	kit_sent(2);
}

/* Reads into one place: one behind another, from one line, or from two; right: of the same bytes, as often as in a measurement. */
static void results_of_one_place(unsigned round)
{
	unsigned times = racy() ? 1 : 8;

	(void)round;
	if (race_self == TARGET)
		return;
	for (unsigned i = 0; i < times; i++)
		kit_get(TARGET, RESULT, X, SIZE, 0);
	kit_get(TARGET, RESULT, X, SIZE, 0);
	kit_sent(times + 1);
}

static void results_of_two_places(unsigned round)
{
	(void)round;
	if (race_self == TARGET)
		return;
	for (int i = 0; i < 2; i++)
		kit_get(TARGET, RESULT, racy() && i ? Y : X, SIZE, 0);
	kit_sent(2);
}

/* A read into what is still written from, or, by how 1, read into. Right: fenced. */
static void read_into_used(unsigned round)
{
	(void)round;
	if (race_self == TARGET)
		return;
	if (race_this->how == 1)
		kit_get(TARGET, SOURCE, X, SIZE, 0);
	else
		kit_put(TARGET, SOURCE, X, SIZE, 0);
	kit_get(TARGET, SOURCE + SIZE / 2, Y, SIZE, racy() ? 0 : FI_FENCE);
	kit_sent(2);
}

/* The peer writes where this side reads into. */
static void peer_writes_result(unsigned round)
{
	(void)round;
	if (race_self == TARGET)
		kit_put(INITIATOR, SOURCE, racy() ? RESULT : RESULT + SIZE, SIZE, FI_DELIVERY_COMPLETE);
	else
		kit_get(TARGET, RESULT, X, SIZE, 0);
	kit_sent(1);
}

/* The peer writes into the source of a write, or reads it. */
static void peer_meets_source(unsigned round)
{
	(void)round;
	if (race_self != TARGET)
		kit_put(TARGET, SOURCE, X, SIZE, 0);
	else if (racy())
		kit_put(INITIATOR, SOURCE + KIT_SLOT, SOURCE, SIZE, FI_DELIVERY_COMPLETE);
	else
		kit_get(INITIATOR, RESULT, SOURCE, SIZE, 0);
	kit_sent(1);
}

/* --- completions that are not awaited --- */

/* Two reads: the completion of the second one is awaited, and the first one's result is used. */
static void other_completion(unsigned round)
{
	(void)round;
	if (race_self == TARGET)
		return;
	kit_get(TARGET, RESULT, X, SIZE, 0);
	kit_get(TARGET, RESULT + KIT_PAGE, Y, SIZE, 0);
	kit_sent_of(racy() ? RESULT + KIT_PAGE : RESULT);
	(void)race_load(kit_area + RESULT);
	kit_sent(1);
}

/* By two endpoints, of which the other one's queue is read. */
static void other_queue(unsigned round)
{
	(void)round;
	if (race_self == TARGET)
		return;
	kit_get(TARGET, RESULT, X, SIZE, 0);
	kit_by = 1;
	kit_get(TARGET, RESULT + KIT_PAGE, Y, SIZE, 0);
	kit_by = !racy() ? 0 : 1;
	kit_sent(1);
	(void)race_load(kit_area + RESULT);
	kit_by = !kit_by;
	kit_sent(1);
	kit_by = 0;
}

/* Reads are counted: racy, one too few. */
static void reads_counted(unsigned round)
{
	static uint64_t counted;

	if (race_self == TARGET)
		return;
	if (round == 0)
		counted = fi_cntr_read(kit_counter);
	for (int i = 0; i < PARTS; i++)
		kit_get(TARGET, RESULT + i * KIT_PAGE, X, SIZE, 0);
	counted += PARTS;
	NEED(!fi_cntr_wait(kit_counter, counted - racy(), -1));
	for (int i = 0; i < PARTS; i++)
		(void)race_load(kit_area + RESULT + i * KIT_PAGE);
	kit_sent(PARTS);
}

#define STORED "operation-store|send-buffer-changed"
#define LOADED "operation-load"
#define OP_OP "operation-operation"
#define WANT_COUNTED             \
	&(const struct kit_want) \
	{                        \
		.counted = true  \
	}
#define WANT_TWO                 \
	&(const struct kit_want) \
	{                        \
		.endpoints = 2   \
	}

static const struct race_case cases[] = {
	RACE("source-of-write-stored", "local-store", STORED, 2, source_stored, .how = OF_PUT),
	RACE("source-of-message-stored", "local-store", STORED, 2, source_stored, .how = OF_SEND),
	RACE("source-of-tagged-stored", "local-store", STORED, 2, source_stored, .how = OF_TAGGED),
	RACE("second-source-stored", "several-buffers", STORED, 2, source_stored, .how = OF_SECOND_PART),
	RACE("operand-stored", "local-store", STORED, 2, source_stored, .how = OF_SUM),
	RACE("comparand-stored", "local-store", STORED, 2, source_stored, .how = OF_SWAP),
	RACE("long-source-stored", "local-store", STORED, 2, source_stored, .how = OF_LONG),
	TWIN("write-then-store", "local-store", 2, source_stored, .how = OF_PUT),
	TWIN("message-then-store", "local-store", 2, source_stored, .how = OF_SEND),
	TWIN("tagged-then-store", "local-store", 2, source_stored, .how = OF_TAGGED),
	TWIN("sum-then-store", "local-store", 2, source_stored, .how = OF_SUM),
	TWIN("source-loaded", "local-store", 2, source_left, .how = OF_PUT),
	TWIN("stored-between-sources", "several-buffers", 2, source_left, .how = OF_SECOND_PART),
	TWIN("stored-after-inject", "local-store", 2, source_injected, .how = 0),
	TWIN("stored-after-inject-flag", "local-store", 2, source_injected, .how = 1),
	TWIN("stored-after-inject-complete", "local-store", 2, source_injected, .how = 2),
	RACE("two-buffers-refilled", "local-store", STORED, 2, two_buffers),
	TWIN("two-buffers-by-turns", "local-store", 2, two_buffers),

	RACE("result-loaded", "local-load", LOADED, 2, result_touched, .how = 0),
	RACE("result-stored", "local-store", "operation-store", 2, result_touched, .how = 1),
	RACE("fetched-loaded", "local-load", LOADED, 2, result_touched, .how = 2),
	RACE("result-loaded-by-a-call", "local-load", LOADED, 2, result_touched, .how = 3),
	RACE("result-injected", "local-load", LOADED, 2, result_touched, .how = 4),
	TWIN("read-then-load", "local-load", 2, result_touched, .how = 0),
	TWIN("read-then-store", "local-store", 2, result_touched, .how = 1),
	TWIN("fetch-then-load", "local-load", 2, result_touched, .how = 2),
	TWIN("read-then-loaded-by-a-call", "local-load", 2, result_touched, .how = 3),
	TWIN("read-then-injected", "local-load", 2, result_touched, .how = 4),
	TWIN("beside-result", "local-load", 2, result_left, .how = 0),
	TWIN("beside-fetched", "local-load", 2, result_left, .how = 2),
	RACE("second-buffer-loaded", "several-buffers", LOADED, 2, second_buffer),
	TWIN("between-buffers-loaded", "several-buffers", 2, second_buffer),
	RACE("read-written-on", "missing-completion", OP_OP, 2, read_goes_on, .how = 0),
	RACE("read-sent-on", "missing-completion", OP_OP, 2, read_goes_on, .how = 1),
	TWIN("read-then-written-on", "missing-completion", 2, read_goes_on, .how = 0),
	TWIN("read-then-sent-on", "missing-completion", 2, read_goes_on, .how = 1),
	TWIN("read-written-on-fenced", "missing-completion", 2, read_goes_on, .how = 2),
	RACE("results-share-a-byte", "several-buffers", OP_OP, 2, results_meet, .how = 0),
	RACE("fetched-to-one-place", "several-buffers", OP_OP, 2, results_meet, .how = 1),
	RACE("results-of-one-place", "several-buffers", OP_OP, 2, results_of_one_place),
	RACE("results-of-two-places", "several-buffers", OP_OP, 2, results_of_two_places),
	TWIN("results-of-one-place-again", "several-buffers", 2, results_of_one_place),
	TWIN("results-not-wanted", "several-buffers", 2, results_of_two_places),
	TWIN("results-side-by-side", "several-buffers", 2, results_meet, .how = 0),
	TWIN("fetched-side-by-side", "several-buffers", 2, results_meet, .how = 1),
	RACE("read-into-source", "several-buffers", OP_OP, 2, read_into_used, .how = 0),
	TWIN("read-into-source-fenced", "several-buffers", 2, read_into_used, .how = 0),
	TWIN("read-into-result-fenced", "several-buffers", 2, read_into_used, .how = 1),
	RACE("peer-writes-result", "remote-conflict", OP_OP, 2, peer_writes_result),
	TWIN("peer-writes-beside-result", "remote-conflict", 2, peer_writes_result),
	RACE("peer-writes-source", "remote-conflict", OP_OP, 2, peer_meets_source),
	TWIN("peer-reads-source", "remote-conflict", 2, peer_meets_source),

	RACE("other-completion", "missing-completion", LOADED, 2, other_completion),
	TWIN("own-completion", "missing-completion", 2, other_completion),
	RACE("other-queue", "missing-completion", LOADED, 2, other_queue, .want = WANT_TWO),
	TWIN("own-queue", "missing-completion", 2, other_queue, .want = WANT_TWO),
	RACE("counted-too-few", "counters", LOADED, 2, reads_counted, .want = WANT_COUNTED),
	TWIN("counted-all", "counters", 2, reads_counted, .want = WANT_COUNTED),
};

const struct race_set fi_sources = RACE_SET(cases);
