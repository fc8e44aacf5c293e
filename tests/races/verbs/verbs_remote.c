/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_remote.c - operations of others on the same bytes of side 0: of two processes, of two queue pairs of one, of one. */
#include "tests/races/verbs/verbs_kit.h"

#define WRITE IBV_WR_RDMA_WRITE
#define READ IBV_WR_RDMA_READ
#define ADD IBV_WR_ATOMIC_FETCH_AND_ADD
#define SWAP IBV_WR_ATOMIC_CMP_AND_SWP
#define SEND IBV_WR_SEND
#define FENCED (IBV_SEND_SIGNALED | IBV_SEND_FENCE)

/* --- two processes --- */

static void processes_write_write(void)
{
	if (race_self)
		does(0, 0, WRITE, FROM, X, LONG);
}

static void processes_write_read(void)
{
	if (race_self == 1)
		does(0, 0, WRITE, FROM, X, LONG);
	else if (race_self == 2)
		does(0, 0, READ, INTO, X, LONG);
}

static void processes_write_add(void)
{
	if (race_self == 1)
		does(0, 0, WRITE, FROM, X, WORD);
	else if (race_self == 2)
		does(0, 0, ADD, INTO, X, WORD);
}

/* A READ is not atomic with regard to atomics. */
static void processes_read_swap(void)
{
	if (race_self == 1)
		does(0, 0, READ, INTO, X, SHORT);
	else if (race_self == 2)
		does(0, 0, SWAP, INTO, X + WORD, WORD);
}

static void processes_share_a_byte(void)
{
	if (race_self == 1)
		does(0, 0, WRITE, FROM, X, SHORT);
	else if (race_self == 2)
		does(0, 0, WRITE, FROM, X + SHORT - 1, SHORT);
}

/* Side 1 tells before its write has completed; right: then. */
static void third_is_told(void)
{
	if (race_self == 1) {
		begin(0, 0, WRITE, FROM, X, SHORT);
		if (racy())
			race_tell(2);
		finish(0);
		if (!racy())
			race_tell(2);
	} else if (race_self == 2) {
		race_hear(1);
		does(0, 0, WRITE, FROM, X, SHORT);
	}
}

/* Side 1 sends to side 2 behind its write to side 0, which is another queue pair; right: when that has completed. */
static void message_to_a_third(void)
{
	if (race_self == 2)
		expects(1, 0, BOX, SHORT);
	race_meet();
	if (race_self == 1) {
		begin(0, 0, WRITE, FROM, X, LONG);
		if (!racy())
			finish(0);
		begin(2, 0, SEND, FROM, 0, SHORT);
		for (unsigned i = racy() ? 0 : 1; i < 2; i++)
			finish(0);
	} else if (race_self == 2) {
		received(0);
		does(0, 0, READ, INTO, X, LONG);
	}
}

/* --- two queue pairs of one process --- */

static void pairs_both(enum ibv_wr_opcode one, enum ibv_wr_opcode other, unsigned length)
{
	if (!race_self)
		return;
	begin(0, 0, one, one == WRITE ? FROM : INTO, X, length);
	begin(0, 1, other, other == WRITE ? FROM : INTO + LONG, X, length);
	finish(0);
	finish(1);
}

static void pairs_write_write(void)
{
	pairs_both(WRITE, WRITE, LONG);
}

static void pairs_write_read(void)
{
	pairs_both(WRITE, READ, LONG);
}

static void pairs_write_swap(void)
{
	pairs_both(WRITE, SWAP, WORD);
}

/* The fence is for what was posted before on the same queue pair. */
static void fence_of_another_pair(void)
{
	if (!race_self)
		return;
	begin(0, 0, READ, INTO, X, LONG);
	begin_as(0, 1, FENCED, WRITE, FROM, X, LONG);
	finish(0);
	finish(1);
}

/* --- one queue pair --- */

static void one_pair(enum ibv_wr_opcode first, unsigned fence, enum ibv_wr_opcode second, unsigned length)
{
	if (!race_self)
		return;
	begin(0, 0, first, first == WRITE ? FROM : INTO, X, length);
	begin_as(0, 0, IBV_SEND_SIGNALED | fence, second, second == WRITE ? FROM : INTO + LONG, X, length);
	finish(0);
	finish(0);
}

static void pair_read_write(void)
{
	one_pair(READ, racy() ? 0 : IBV_SEND_FENCE, WRITE, LONG);
}

static void pair_add_write(void)
{
	one_pair(ADD, racy() ? 0 : IBV_SEND_FENCE, WRITE, WORD);
}

/* --- what is right --- */

static void pair_write_write(void)
{
	one_pair(WRITE, 0, WRITE, LONG);
}

static void pair_write_read(void)
{
	one_pair(WRITE, 0, READ, LONG);
}

static void pair_write_add(void)
{
	one_pair(WRITE, 0, ADD, WORD);
}

static void pair_read_awaited_write(void)
{
	if (!race_self)
		return;
	does(0, 0, READ, INTO, X, LONG);
	does(0, 1, WRITE, INTO, X, LONG);
}

static void processes_write_neighbours(void)
{
	if (race_self)
		does(0, 0, WRITE, FROM, X + (race_self - 1) * (SHORT + 1), SHORT + 1);
}

static void processes_read(void)
{
	if (race_self)
		does(0, 0, READ, INTO, X, LONG);
}

/* All by the NIC of side 0 (IBV_ATOMIC_HCA). */
static void processes_add(void)
{
	for (int i = 0; race_self && i < 4; i++)
		does(0, 0, i & 1 ? SWAP : ADD, INTO, X, WORD);
}

static void pairs_add(void)
{
	pairs_both(ADD, SWAP, WORD);
}

/* Until it was 0, and is 1. */
static void lock(void)
{
	do
		does(0, 0, SWAP, INTO, HEAD, WORD);
	while (word(INTO));
}

/* Adds -1. */
static void begin_unlock(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(0, ADD, INTO, HEAD, WORD, &sge);

	wr.wr.atomic.compare_add = UINT64_MAX;
	post(0, 0, &wr);
}

static void writes_with_a_lock(void)
{
	if (!race_self)
		return;
	lock();
	does(0, 0, WRITE, FROM, X, LONG);
	begin_unlock();
	finish(0);
}

/* The atomic is carried out behind the write. */
static void unlocks_behind_the_write(void)
{
	if (!race_self)
		return;
	lock();
	begin(0, 0, WRITE, FROM, X, LONG);
	begin_unlock();
	finish(0);
	finish(0);
}

/* By an atomic of another queue pair, which may be carried out first. */
static void unlocks_by_another_pair(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(0, ADD, INTO, HEAD, WORD, &sge);

	if (!race_self)
		return;
	lock();
	begin(0, 0, WRITE, FROM, X, LONG);
	wr.wr.atomic.compare_add = UINT64_MAX;
	post(0, 1, &wr);
	finish(1);
	finish(0);
}

static const struct race_case remote_cases[] = {
	VERBS_RACE("processes-write", "three-processes", "operation-operation", 3, processes_write_write),
	VERBS_RACE("processes-write-read", "three-processes", "operation-operation", 3, processes_write_read),
	VERBS_RACE("processes-write-add", "atomic-mixed", "operation-operation", 3, processes_write_add),
	VERBS_RACE("processes-read-swap", "atomic-mixed", "operation-operation", 3, processes_read_swap),
	VERBS_RACE("processes-share-a-byte", "three-processes", "operation-operation", 3, processes_share_a_byte),
	VERBS_RACE("told-a-third-too-early", "missing-completion", "operation-operation", 3, third_is_told),
	VERBS_RACE("message-to-a-third", "missing-completion", "operation-operation", 3, message_to_a_third),
	VERBS_RACE("unlocks-by-another-pair", "three-processes", "operation-operation", 3, unlocks_by_another_pair),
	VERBS_RACE("pairs-write", "remote-conflict", "operation-operation", 2, pairs_write_write),
	VERBS_RACE("pairs-write-read", "remote-conflict", "operation-operation", 2, pairs_write_read),
	VERBS_RACE("pairs-write-swap", "atomic-mixed", "operation-operation", 2, pairs_write_swap),
	VERBS_RACE("fence-of-another-pair", "missing-order", "operation-operation", 2, fence_of_another_pair),
	VERBS_RACE("pair-reads-writes", "missing-order", "operation-operation", 2, pair_read_write),
	VERBS_RACE("pair-adds-writes", "missing-order", "operation-operation", 2, pair_add_write),
	VERBS_RACE("unreliable-pairs-write", "remote-conflict", "operation-operation", 2, pairs_write_write, .type = IBV_QPT_UC),
	VERBS_TWIN("pair-reads-writes-fenced", "missing-order", 2, pair_read_write),
	VERBS_TWIN("pair-adds-writes-fenced", "missing-order", 2, pair_add_write),
	VERBS_TWIN("pair-writes", "missing-order", 2, pair_write_write),
	VERBS_TWIN("pair-writes-reads", "missing-order", 2, pair_write_read),
	VERBS_TWIN("pair-writes-adds", "atomic-mixed", 2, pair_write_add),
	VERBS_TWIN("read-awaited-then-written", "remote-conflict", 2, pair_read_awaited_write),
	VERBS_TWIN("processes-write-in-turn", "three-processes", 3, third_is_told),
	VERBS_TWIN("message-to-a-third-awaited", "missing-completion", 3, message_to_a_third),
	VERBS_TWIN("processes-write-neighbours", "three-processes", 3, processes_write_neighbours),
	VERBS_TWIN("processes-read", "three-processes", 3, processes_read),
	VERBS_TWIN("processes-add-and-swap", "atomic-mixed", 3, processes_add),
	VERBS_TWIN("pairs-add-and-swap", "atomic-mixed", 2, pairs_add),
	VERBS_TWIN("writes-with-a-lock", "three-processes", 3, writes_with_a_lock),
	VERBS_TWIN("unlocks-behind-the-write", "three-processes", 3, unlocks_behind_the_write),
};

const struct race_set verbs_remote = RACE_SET(remote_cases);
