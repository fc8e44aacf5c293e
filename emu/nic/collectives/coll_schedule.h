/* SPDX-License-Identifier: BSD-2-Clause */
/* coll_schedule.h - the algorithms: what one member does in each round of a collective. Pure.
 *
 * A round is local work, then messages, all of which have come and gone before the next round. A message is told from others of
 * its collective by its sender and its step; both sides compute the same step.
 *
 *   barrier          dissemination
 *   broadcast        binomial tree; long: scatter, then ring
 *   allreduce        recursive doubling, members beyond a power of two folded in; long: ring, twice around
 *   reduce           binomial tree
 *   reduce_scatter   ring
 *   allgather        recursive doubling; long, or no power of two: ring
 *   alltoall         pairwise, COLL_FAN pairs at a time
 *   scatter, gather  from and to the root, COLL_FAN members at a time
 *
 * Whatever the timing, each element is reduced in one order, which all members share: their results are equal bit by bit. */
#ifndef EMU_NIC_COLL_SCHEDULE_H
#define EMU_NIC_COLL_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/collectives/collective.h"

/* Buffers: the program's, and two of the device's. */
enum coll_buffer { COLL_BUF, COLL_RESULT, COLL_OWN, COLL_INCOMING, COLL_BUFFERS };

struct coll_span {
	enum coll_buffer in;
	uint64_t at, length; /* bytes */
};

struct coll_chore {
	enum coll_chore_kind {
		COLL_CHORE_NONE,
		COLL_CHORE_COPY,   /* `from` to `to` */
		COLL_CHORE_REDUCE, /* OWN := OWN op INCOMING */
		COLL_CHORE_SWAP,   /* OWN := INCOMING op OWN, whole buffers */
	} kind;
	struct coll_span to;
	uint64_t from_at; /* COPY: in `from`; REDUCE: in INCOMING */
	enum coll_buffer from;
};

struct coll_transfer {
	uint32_t rank; /* to or from this member */
	uint32_t step;
	struct coll_span span;
};

enum { COLL_CHORES = 2 };

struct coll_round {
	struct coll_chore chore[COLL_CHORES];
	uint32_t sends, receives;
	struct coll_transfer send[COLL_FAN], receive[COLL_FAN];
	bool last;
};

struct coll_shape {
	enum coll_kind kind;
	uint32_t size, rank, root;
	uint64_t count;
	uint32_t element; /* bytes; BARRIER: 0 */
};

/* Round 0 comes first; none comes after the last. */
void coll_schedule(const struct coll_shape *shape, uint32_t number, struct coll_round *round);
/* The bytes of each buffer that a member reads or writes, by the collective alone. */
void coll_extents(const struct coll_shape *shape, uint64_t bytes[COLL_BUFFERS]);

#endif
