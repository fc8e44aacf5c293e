/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_local.c - buffers of side 1 between post and completion: sources, and destinations of READs and atomics. */
#include "tests/races/verbs/verbs_kit.h"

#define WRITE IBV_WR_RDMA_WRITE
#define READ IBV_WR_RDMA_READ
#define ADD IBV_WR_ATOMIC_FETCH_AND_ADD
#define SWAP IBV_WR_ATOMIC_CMP_AND_SWP
#define SEND IBV_WR_SEND

enum { MIDDLE = 1, PARTS = 3 };

/* --- sources --- */

static void source_stored(enum ibv_wr_opcode opcode)
{
	if (!race_self)
		expects(1, 0, BOX, LONG);
	race_meet();
	if (race_self) {
		begin(0, 0, opcode, FROM, X, LONG);
		fill(FROM + LONG - WORD, WORD, 1);
		finish(0);
	} else {
		received(0);
	}
}

static void source_of_write_stored(void)
{
	if (!race_self)
		return;
	begin(0, 0, WRITE, FROM, X, LONG);
	fill(FROM, WORD, 1);
	finish(0);
}

static void source_of_send_stored(void)
{
	source_stored(SEND);
}

static void source_of_send_with_immediate_stored(void)
{
	source_stored(IBV_WR_SEND_WITH_IMM);
}

static void source_of_write_with_immediate_stored(void)
{
	source_stored(IBV_WR_RDMA_WRITE_WITH_IMM);
}

/* One without a completion, and the source again before a later one has completed. */
static void unsignaled_stored(void)
{
	if (!race_self)
		return;
	begin_as(0, 0, 0, WRITE, FROM, X, SHORT);
	fill(FROM, SHORT, 1);
	does(0, 0, WRITE, FROM + SHORT, X + SHORT, SHORT);
}

/* What has completed was posted before. */
static void earlier_completion_awaited(void)
{
	if (!race_self)
		return;
	begin(0, 0, WRITE, FROM + SHORT, X + SHORT, SHORT);
	begin_as(0, 0, 0, WRITE, FROM, X, LONG);
	finish(0);
	fill(FROM, WORD, 1);
	does(0, 0, WRITE, FROM + LONG, X + LONG, SHORT);
}

static void one_completion_too_few(void)
{
	if (!race_self)
		return;
	for (unsigned i = 0; i < PARTS; i++)
		begin(0, 0, WRITE, FROM + i * SHORT, X + i * SHORT, SHORT);
	for (unsigned i = 0; i < PARTS - 1; i++)
		finish(0);
	fill(FROM, PARTS * SHORT, 1);
	finish(0);
}

static void other_pair_awaited(void)
{
	if (!race_self)
		return;
	begin(0, 0, WRITE, FROM, X, SHORT);
	begin(0, 1, WRITE, FROM + SHORT, X + SHORT, SHORT);
	finish(1);
	fill(FROM, SHORT, 1);
	finish(0);
}

static struct ibv_send_wr list_request(enum ibv_wr_opcode opcode, struct ibv_sge *list)
{
	struct ibv_send_wr wr = request(0, opcode, FROM, X, SHORT, list);

	for (unsigned i = 0; i < PARTS; i++)
		list[i] = part(FROM + i * 2 * SHORT, SHORT);
	wr.num_sge = PARTS;
	return wr;
}

/* A list of buffers: the middle one; right: what is between two of them. */
static void list_of_buffers(enum ibv_wr_opcode opcode)
{
	struct ibv_sge list[PARTS];
	struct ibv_send_wr wr = list_request(opcode, list);
	unsigned at = racy() ? FROM + MIDDLE * 2 * SHORT : FROM + SHORT;

	if (!race_self)
		return;
	post(0, 0, &wr);
	if (opcode == WRITE)
		fill(at, SHORT, 1);
	else
		look(at, SHORT);
	finish(0);
}

static void source_of_list_stored(void)
{
	list_of_buffers(WRITE);
}

static void destination_of_list_loaded(void)
{
	list_of_buffers(READ);
}

static void long_source_stored_at_its_end(void)
{
	if (!race_self)
		return;
	begin(0, 0, WRITE, FROM, X, 4 * LONG);
	fill(FROM + 4 * LONG - 1, 1, 1);
	finish(0);
}

/* --- destinations --- */

static void destination_touched(enum ibv_wr_opcode opcode, unsigned length, bool store)
{
	if (!race_self)
		return;
	begin(0, 0, opcode, INTO, X, length);
	if (store)
		fill(INTO, length, 1);
	else
		look(INTO, length);
	finish(0);
}

static void destination_loaded(void)
{
	destination_touched(READ, LONG, false);
}

static void destination_stored(void)
{
	destination_touched(READ, SHORT, true);
}

static void result_of_add_loaded(void)
{
	destination_touched(ADD, WORD, false);
}

static void result_of_swap_loaded(void)
{
	destination_touched(SWAP, WORD, false);
}

/* The last byte has come, so all have. */
static void destination_polled(void)
{
	unsigned before;

	if (!race_self)
		fill(X, SHORT, mine.memory[X] + 1u);
	race_meet();
	if (!race_self)
		return;
	before = mine.memory[INTO + SHORT - 1];
	begin(0, 0, READ, INTO, X, SHORT);
	poll_byte(INTO + SHORT - 1, before);
	finish(0);
}

/* --- an operation on what another one brings or takes --- */

/* What a request brings goes to side 0 by a second one; right: that has the fence. */
static void passes_on(enum ibv_wr_opcode first, enum ibv_wr_opcode second, unsigned length)
{
	if (!race_self)
		expects(1, 0, BOX, LONG);
	race_meet();
	if (race_self) {
		begin(0, 0, first, INTO, X, length);
		begin_as(0, 0, racy() ? IBV_SEND_SIGNALED : IBV_SEND_SIGNALED | IBV_SEND_FENCE, second, INTO, Y, length);
		finish(0);
		finish(0);
	} else {
		received(0);
	}
}

static void read_sent_on(void)
{
	passes_on(READ, SEND, LONG);
}

static void read_written_on(void)
{
	passes_on(READ, IBV_WR_RDMA_WRITE_WITH_IMM, LONG);
}

static void result_sent_on(void)
{
	passes_on(ADD, SEND, WORD);
}

static void reads_of_two_pairs(void)
{
	if (!race_self)
		return;
	begin(0, 0, READ, INTO, X, LONG);
	begin(0, 1, READ, INTO + LONG - SHORT, Y, LONG);
	finish(0);
	finish(1);
}

static void read_into_a_source(void)
{
	if (!race_self)
		return;
	begin(0, 0, WRITE, FROM, X, LONG);
	begin(0, 1, READ, FROM, Y, LONG);
	finish(0);
	finish(1);
}

/* What a queue pair brings comes in the order of its requests. */
static void reads_of_one_pair(void)
{
	if (!race_self)
		return;
	begin(0, 0, WRITE, INTO, HEAD, LONG);
	begin(0, 0, READ, INTO, X, LONG);
	begin(0, 0, READ, INTO + LONG - SHORT, Y, LONG);
	begin(0, 0, ADD, INTO + LONG, HEAD + LONG, WORD);
	begin(0, 0, ADD, INTO + LONG, HEAD + LONG, WORD);
	for (unsigned i = 0; i < 5; i++)
		finish(0);
}

static void source_written_by_another(void)
{
	if (race_self == 1)
		does(0, 0, WRITE, FROM, X, LONG);
	else if (race_self == 2)
		does(1, 0, WRITE, FROM, FROM, LONG);
}

static void destination_read_by_another(void)
{
	if (race_self == 1)
		does(0, 0, READ, INTO, X, LONG);
	else if (race_self == 2)
		does(1, 0, READ, INTO, INTO, LONG);
}

/* --- what is right --- */

static void source_loaded(void)
{
	if (!race_self)
		return;
	begin(0, 0, WRITE, FROM, X, LONG);
	look(FROM, LONG);
	finish(0);
}

static void inline_source_stored(void)
{
	for (unsigned i = 0; race_self && i < 4; i++) {
		begin_as(0, 0, IBV_SEND_SIGNALED | IBV_SEND_INLINE, WRITE, FROM, X + i * SHORT, SHORT);
		fill(FROM, SHORT, i);
	}
	for (unsigned i = 0; race_self && i < 4; i++)
		finish(0);
}

static void unsignaled_stored_later(void)
{
	if (!race_self)
		return;
	for (unsigned i = 0; i < PARTS; i++)
		begin_as(0, 0, 0, WRITE, FROM + i * SHORT, X + i * SHORT, SHORT);
	does(0, 0, WRITE, FROM + PARTS * SHORT, X + PARTS * SHORT, SHORT);
	fill(FROM, (PARTS + 1) * SHORT, 1);
}

static void completed_and_stored(void)
{
	for (unsigned i = 0; race_self && i < 4; i++) {
		does(0, i % 2, WRITE, FROM, X, LONG);
		fill(FROM, LONG, i);
	}
}

static void two_buffers_in_turn(void)
{
	for (unsigned i = 0; race_self && i < 6; i++) {
		if (i >= 2)
			finish(0);
		fill(FROM + i % 2 * SHORT, SHORT, i);
		begin(0, 0, WRITE, FROM + i % 2 * SHORT, X + i % 2 * SHORT, SHORT);
	}
	for (unsigned i = 0; race_self && i < 2; i++)
		finish(0);
}

static void completed_and_loaded(void)
{
	if (!race_self)
		return;
	does(0, 0, READ, INTO, X, LONG);
	look(INTO, LONG);
	does(0, 0, ADD, INTO, Y, WORD);
	fill(INTO, LONG, (unsigned)word(INTO));
	does(0, 1, WRITE, INTO, X, LONG);
}

static void source_of_two(void)
{
	if (!race_self)
		return;
	begin(0, 0, WRITE, FROM, X, LONG);
	begin(0, 1, WRITE, FROM, Y, LONG);
	finish(0);
	finish(1);
}

static void source_read_by_another(void)
{
	if (race_self == 1)
		does(0, 0, WRITE, FROM, X, LONG);
	else if (race_self == 2)
		does(1, 0, READ, INTO, FROM, LONG);
}

static const struct race_case local_cases[] = {
	VERBS_RACE("source-of-write-stored", "local-store", "operation-store|send-buffer-changed", 2, source_of_write_stored),
	VERBS_RACE("source-of-send-stored", "local-store", "operation-store|send-buffer-changed", 2, source_of_send_stored),
	VERBS_RACE("source-of-send-with-immediate-stored", "local-store", "operation-store|send-buffer-changed", 2,
		   source_of_send_with_immediate_stored),
	VERBS_RACE("source-of-write-with-immediate-stored", "local-store", "operation-store|send-buffer-changed", 2,
		   source_of_write_with_immediate_stored),
	VERBS_RACE("unsignaled-stored", "missing-completion", "operation-store|send-buffer-changed", 2, unsignaled_stored),
	VERBS_RACE("earlier-completion-awaited", "missing-completion", "operation-store|send-buffer-changed", 2,
		   earlier_completion_awaited),
	VERBS_RACE("one-completion-too-few", "missing-completion", "operation-store|send-buffer-changed", 2,
		   one_completion_too_few),
	VERBS_RACE("other-pair-awaited", "missing-completion", "operation-store|send-buffer-changed", 2, other_pair_awaited),
	VERBS_RACE("middle-source-stored", "several-buffers", "operation-store|send-buffer-changed", 2, source_of_list_stored),
	VERBS_RACE("middle-destination-loaded", "several-buffers", "operation-load", 2, destination_of_list_loaded),
	VERBS_RACE("long-source-stored-at-its-end", "local-store", "operation-store|send-buffer-changed", 2,
		   long_source_stored_at_its_end),
	VERBS_RACE("unreliable-source-stored", "local-store", "operation-store|send-buffer-changed", 2, source_of_write_stored,
		   .type = IBV_QPT_UC),
	VERBS_RACE("destination-loaded", "local-load", "operation-load", 2, destination_loaded),
	VERBS_RACE("destination-stored", "local-store", "operation-store|receive-buffer-changed", 2, destination_stored),
	VERBS_RACE("destination-polled", "polling", "operation-load|memory-polled", 2, destination_polled),
	VERBS_RACE("result-of-add-loaded", "local-load", "operation-load", 2, result_of_add_loaded),
	VERBS_RACE("result-of-swap-loaded", "local-load", "operation-load", 2, result_of_swap_loaded),
	VERBS_RACE("read-sent-on", "missing-order", "operation-operation", 2, read_sent_on),
	VERBS_RACE("read-written-on", "missing-order", "operation-operation", 2, read_written_on),
	VERBS_RACE("result-sent-on", "missing-order", "operation-operation", 2, result_sent_on),
	VERBS_RACE("reads-of-two-pairs", "several-buffers", "operation-operation|receive-buffer-used", 2, reads_of_two_pairs),
	VERBS_RACE("read-into-a-source", "several-buffers", "operation-operation|receive-buffer-used|send-buffer-changed", 2,
		   read_into_a_source),
	VERBS_RACE("source-written-by-another", "three-processes", "operation-operation", 3, source_written_by_another),
	VERBS_RACE("destination-read-by-another", "three-processes", "operation-operation", 3, destination_read_by_another),
	VERBS_TWIN("source-loaded", "local-load", 2, source_loaded),
	VERBS_TWIN("inline-source-stored", "local-store", 2, inline_source_stored),
	VERBS_TWIN("unsignaled-stored-later", "missing-completion", 2, unsignaled_stored_later),
	VERBS_TWIN("completed-and-stored", "local-store", 2, completed_and_stored),
	VERBS_TWIN("two-buffers-in-turn", "missing-completion", 2, two_buffers_in_turn),
	VERBS_TWIN("between-sources-stored", "several-buffers", 2, source_of_list_stored),
	VERBS_TWIN("between-destinations-loaded", "several-buffers", 2, destination_of_list_loaded),
	VERBS_TWIN("completed-and-loaded", "local-load", 2, completed_and_loaded),
	VERBS_TWIN("read-sent-on-fenced", "missing-order", 2, read_sent_on),
	VERBS_TWIN("read-written-on-fenced", "missing-order", 2, read_written_on),
	VERBS_TWIN("result-sent-on-fenced", "missing-order", 2, result_sent_on),
	VERBS_TWIN("reads-of-one-pair", "several-buffers", 2, reads_of_one_pair),
	VERBS_TWIN("source-of-two", "several-buffers", 2, source_of_two),
	VERBS_TWIN("source-read-by-another", "three-processes", 3, source_read_by_another),
};

const struct race_set verbs_local = RACE_SET(local_cases);
