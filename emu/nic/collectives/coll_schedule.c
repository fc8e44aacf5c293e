/* SPDX-License-Identifier: BSD-2-Clause */
/* coll_schedule.c - the algorithms. */
#include "emu/nic/collectives/coll_schedule.h"

#include <assert.h>

#include "wire/frame.h"

/* Steps of their own; the others count from 0, at most twice the members. */
enum { STEP_FOLD = 1 << 20, STEP_UNFOLD };
static_assert(2 * LIMIT_MEMBERS < STEP_FOLD && (int)STEP_UNFOLD < (int)WIRE_COLL_ABORT, "steps differ");

static uint64_t part_bytes(const struct coll_shape *shape)
{
	return shape->count * shape->element;
}

/* Large enough that bytes cost more than messages, and every member gets elements of its own. */
static bool is_long(const struct coll_shape *shape)
{
	return shape->size > 2 && shape->count >= shape->size && part_bytes(shape) >= COLL_LONG;
}

/* The rank `by` members further around the ring; `by` may be negative, by less than the ring. */
static uint32_t around(const struct coll_shape *shape, uint32_t rank, int64_t by)
{
	return (uint32_t)(((int64_t)rank + by % shape->size + shape->size) % shape->size);
}

static uint32_t relative(const struct coll_shape *shape)
{
	return around(shape, shape->rank, -(int64_t)shape->root);
}

/* The count elements, cut into one piece for each member. */
static struct coll_span piece(const struct coll_shape *shape, enum coll_buffer in, uint32_t number)
{
	uint64_t each = shape->count / shape->size, longer = shape->count % shape->size;
	uint64_t at = number * each + (number < longer ? number : longer);

	return (struct coll_span){ in, at * shape->element, (each + (number < longer)) * shape->element };
}

/* One of the parts in a buffer of as many as there are members. */
static struct coll_span part(const struct coll_shape *shape, enum coll_buffer in, uint32_t number)
{
	return (struct coll_span){ in, number * part_bytes(shape), part_bytes(shape) };
}

static struct coll_span whole(const struct coll_shape *shape, enum coll_buffer in)
{
	return part(shape, in, 0);
}

static void add_send(struct coll_round *round, uint32_t rank, uint32_t step, struct coll_span span)
{
	round->send[round->sends++] = (struct coll_transfer){ rank, step, span };
}

static void add_receive(struct coll_round *round, uint32_t rank, uint32_t step, struct coll_span span)
{
	round->receive[round->receives++] = (struct coll_transfer){ rank, step, span };
}

static void add_chore(struct coll_round *round, enum coll_chore_kind kind, struct coll_span to, enum coll_buffer from,
		      uint64_t from_at)
{
	int free = round->chore[0].kind != COLL_CHORE_NONE;

	round->chore[free] = (struct coll_chore){ kind, to, from_at, from };
}

static void plan_barrier(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	const struct coll_span nothing = { COLL_BUF, 0, 0 };
	uint32_t far = 1u << number;

	if (far < shape->size) {
		add_send(round, around(shape, shape->rank, far), number, nothing);
		add_receive(round, around(shape, shape->rank, -(int64_t)far), number, nothing);
	}
	round->last = 2 * (uint64_t)far >= shape->size;
}

/* A member's parent in a tree is its relative rank without the lowest bit. */
static void plan_tree(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	uint32_t rank = relative(shape), lowest = rank & -rank;

	if (number == 0) {
		if (rank)
			add_receive(round, around(shape, shape->root, rank & (rank - 1)), 0, whole(shape, COLL_BUF));
		return;
	}
	for (uint32_t far = LIMIT_MEMBERS; far; far /= 2)
		if ((!rank || far < lowest) && rank + far < shape->size)
			add_send(round, around(shape, shape->root, rank + far), 0, whole(shape, COLL_BUF));
	round->last = true;
}

/* The others of a root, COLL_FAN of them a round: [*first, *end) are relative ranks. True: these are the last. */
static bool batch(const struct coll_shape *shape, uint32_t number, uint32_t *first, uint32_t *end)
{
	*first = 1 + number * COLL_FAN;
	*end = *first + COLL_FAN < shape->size ? *first + COLL_FAN : shape->size;
	return *end == shape->size || *first >= shape->size;
}

static uint32_t batches(const struct coll_shape *shape)
{
	return (shape->size - 1 + COLL_FAN - 1) / COLL_FAN;
}

/* Pieces go by relative rank. The root has all of them, so its neighbour sends it none. */
static void plan_long_broadcast(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	uint32_t rank = relative(shape), before = rank ? 1 : batches(shape), first, end;

	if (number < before) {
		batch(shape, number, &first, &end);
		for (uint32_t other = first; !rank && other < end; other++)
			add_send(round, around(shape, shape->root, other), 0, piece(shape, COLL_BUF, other));
		if (rank)
			add_receive(round, shape->root, 0, piece(shape, COLL_BUF, rank));
		return;
	}
	number -= before;
	if (rank != shape->size - 1)
		add_send(round, around(shape, shape->rank, 1), 1 + number,
			 piece(shape, COLL_BUF, around(shape, rank, -(int64_t)number)));
	if (rank)
		add_receive(round, around(shape, shape->rank, -1), 1 + number,
			    piece(shape, COLL_BUF, around(shape, rank, -(int64_t)number - 1)));
	round->last = number == shape->size - 2;
}

static void plan_broadcast(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	if (is_long(shape))
		plan_long_broadcast(shape, number, round);
	else
		plan_tree(shape, number, round);
}

static void plan_alltoall(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	uint32_t first, end;

	if (number == 0)
		add_chore(round, COLL_CHORE_COPY, part(shape, COLL_RESULT, shape->rank), COLL_BUF, shape->rank * part_bytes(shape));
	round->last = batch(shape, number, &first, &end);
	for (uint32_t far = first; far < end; far++) {
		uint32_t to = around(shape, shape->rank, far), from = around(shape, shape->rank, -(int64_t)far);

		add_send(round, to, 0, part(shape, COLL_BUF, to));
		add_receive(round, from, 0, part(shape, COLL_RESULT, from));
	}
}

static void plan_scatter(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	uint32_t first, end;

	if (shape->rank != shape->root) {
		add_receive(round, shape->root, 0, whole(shape, COLL_RESULT));
		round->last = true;
		return;
	}
	if (number == 0)
		add_chore(round, COLL_CHORE_COPY, whole(shape, COLL_RESULT), COLL_BUF, shape->rank * part_bytes(shape));
	round->last = batch(shape, number, &first, &end);
	for (uint32_t other = first; other < end; other++) {
		uint32_t to = around(shape, shape->root, other);

		add_send(round, to, 0, part(shape, COLL_BUF, to));
	}
}

static void plan_gather(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	uint32_t first, end;

	if (shape->rank != shape->root) {
		add_send(round, shape->root, 0, whole(shape, COLL_BUF));
		round->last = true;
		return;
	}
	if (number == 0)
		add_chore(round, COLL_CHORE_COPY, part(shape, COLL_RESULT, shape->rank), COLL_BUF, 0);
	round->last = batch(shape, number, &first, &end);
	for (uint32_t other = first; other < end; other++) {
		uint32_t from = around(shape, shape->root, other);

		add_receive(round, from, 0, part(shape, COLL_RESULT, from));
	}
}

/* All parts of the 2^number members around this one have come; they go to the next as many. */
static void plan_doubling(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	uint32_t far = 1u << number, other = shape->rank ^ far;
	struct coll_span here = part(shape, COLL_RESULT, shape->rank & ~(far - 1)),
			 there = part(shape, COLL_RESULT, other & ~(far - 1));

	here.length = there.length = far * part_bytes(shape);
	add_send(round, other, number, here);
	add_receive(round, other, number, there);
	round->last = 2 * far == shape->size;
}

static void plan_allgather(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	uint32_t size = shape->size;

	if (number == 0)
		add_chore(round, COLL_CHORE_COPY, part(shape, COLL_RESULT, shape->rank), COLL_BUF, 0);
	if (size == 1) {
		round->last = true;
	} else if ((size & (size - 1)) == 0 && part_bytes(shape) * size < COLL_LONG) {
		plan_doubling(shape, number, round);
	} else {
		add_send(round, around(shape, shape->rank, 1), number,
			 part(shape, COLL_RESULT, around(shape, shape->rank, -(int64_t)number)));
		add_receive(round, around(shape, shape->rank, -1), number,
			    part(shape, COLL_RESULT, around(shape, shape->rank, -(int64_t)number - 1)));
		round->last = number == size - 2;
	}
}

/* The lower half of the tree's operands is the left one. */
static void plan_reduce(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	uint32_t rank = relative(shape), far = 1u << number;

	if (rank & 1) {
		add_send(round, around(shape, shape->rank, -1), 0, whole(shape, COLL_BUF));
		round->last = true;
		return;
	}
	if (number == 0)
		add_chore(round, COLL_CHORE_COPY, whole(shape, COLL_OWN), COLL_BUF, 0);
	else if (rank + far / 2 < shape->size)
		add_chore(round, COLL_CHORE_REDUCE, whole(shape, COLL_OWN), COLL_INCOMING, 0);
	if (rank & far) {
		add_send(round, around(shape, shape->rank, -(int64_t)far), number, whole(shape, COLL_OWN));
		round->last = true;
	} else if (far >= shape->size) {
		add_chore(round, COLL_CHORE_COPY, whole(shape, COLL_RESULT), COLL_OWN, 0);
		round->last = true;
	} else if (rank + far < shape->size) {
		add_receive(round, around(shape, shape->rank, far), number, whole(shape, COLL_INCOMING));
	}
}

/* Once around: the piece that comes is reduced and goes on. Then once more, with the results. */
static void plan_long_allreduce(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	uint32_t size = shape->size, to = around(shape, shape->rank, 1), from = around(shape, shape->rank, -1);
	uint32_t piece_out = around(shape, shape->rank, -(int64_t)number);
	uint32_t piece_in = around(shape, shape->rank, -(int64_t)number - 1);
	struct coll_span incoming = piece(shape, COLL_INCOMING, piece_in);

	if (number == 0)
		add_chore(round, COLL_CHORE_COPY, whole(shape, COLL_OWN), COLL_BUF, 0);
	else if (number < size)
		add_chore(round, COLL_CHORE_REDUCE, piece(shape, COLL_OWN, piece_out), COLL_INCOMING, 0);
	if (number == 2 * size - 2) {
		add_chore(round, COLL_CHORE_COPY, whole(shape, COLL_RESULT), COLL_OWN, 0);
		round->last = true;
		return;
	}
	incoming.at = 0;
	add_send(round, to, number, piece(shape, COLL_OWN, piece_out));
	add_receive(round, from, number, number < size - 1 ? incoming : piece(shape, COLL_OWN, piece_in));
}

/* Members that pair up, so that a power of two is left: the first 2 * folds, of which the odd ones go on. */
struct folding {
	uint32_t doublings, folds;
};

static struct folding folding_of(uint32_t size)
{
	uint32_t doublings = 0;

	while (2u << doublings <= size)
		doublings++;
	return (struct folding){ doublings, size - (1u << doublings) };
}

static uint32_t unfolded(const struct folding *f, uint32_t rank)
{
	return rank < f->folds ? 2 * rank + 1 : rank + f->folds;
}

/* Takes in what came in the round before. */
static void plan_taking(const struct coll_shape *shape, const struct folding *f, uint32_t rank, uint32_t number,
			struct coll_round *round)
{
	bool from_below;

	if (number == 1 && shape->rank >= 2 * f->folds)
		return;
	/* The fold is of the neighbour below; a doubling of the lower half if this member's bit is set. */
	from_below = number == 1 || rank & (1u << (number - 2));
	add_chore(round, from_below ? COLL_CHORE_SWAP : COLL_CHORE_REDUCE, whole(shape, COLL_OWN), COLL_INCOMING, 0);
}

static void plan_short_allreduce(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	struct folding f = folding_of(shape->size);
	bool folds = shape->rank < 2 * f.folds;
	uint32_t rank = folds ? shape->rank / 2 : shape->rank - f.folds;

	if (folds && shape->rank % 2 == 0) {
		add_send(round, shape->rank + 1, STEP_FOLD, whole(shape, COLL_BUF));
		add_receive(round, shape->rank + 1, STEP_UNFOLD, whole(shape, COLL_RESULT));
		round->last = true;
		return;
	}
	if (number == 0) {
		add_chore(round, COLL_CHORE_COPY, whole(shape, COLL_OWN), COLL_BUF, 0);
		if (folds)
			add_receive(round, shape->rank - 1, STEP_FOLD, whole(shape, COLL_INCOMING));
		return;
	}
	plan_taking(shape, &f, rank, number, round);
	if (number <= f.doublings) {
		uint32_t other = unfolded(&f, rank ^ (1u << (number - 1)));

		add_send(round, other, number, whole(shape, COLL_OWN));
		add_receive(round, other, number, whole(shape, COLL_INCOMING));
		return;
	}
	add_chore(round, COLL_CHORE_COPY, whole(shape, COLL_RESULT), COLL_OWN, 0);
	if (folds)
		add_send(round, shape->rank - 1, STEP_UNFOLD, whole(shape, COLL_OWN));
	round->last = true;
}

static void plan_allreduce(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	if (is_long(shape))
		plan_long_allreduce(shape, number, round);
	else
		plan_short_allreduce(shape, number, round);
}

/* Around the ring, so that a member's own part comes to it last. */
static void plan_reduce_scatter(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	uint32_t out = around(shape, shape->rank, -(int64_t)number - 1);

	if (number == 0)
		add_chore(round, COLL_CHORE_COPY, (struct coll_span){ COLL_OWN, 0, shape->size * part_bytes(shape) }, COLL_BUF, 0);
	else
		add_chore(round, COLL_CHORE_REDUCE, part(shape, COLL_OWN, out), COLL_INCOMING, 0);
	if (number == shape->size - 1) {
		add_chore(round, COLL_CHORE_COPY, whole(shape, COLL_RESULT), COLL_OWN, shape->rank * part_bytes(shape));
		round->last = true;
		return;
	}
	add_send(round, around(shape, shape->rank, 1), number, part(shape, COLL_OWN, out));
	add_receive(round, around(shape, shape->rank, -1), number, whole(shape, COLL_INCOMING));
}

void coll_schedule(const struct coll_shape *shape, uint32_t number, struct coll_round *round)
{
	static void (*const plan[COLL_KINDS])(const struct coll_shape *, uint32_t, struct coll_round *) = {
		[COLL_BARRIER] = plan_barrier,     [COLL_BROADCAST] = plan_broadcast, [COLL_ALLTOALL] = plan_alltoall,
		[COLL_ALLREDUCE] = plan_allreduce, [COLL_ALLGATHER] = plan_allgather, [COLL_REDUCE_SCATTER] = plan_reduce_scatter,
		[COLL_REDUCE] = plan_reduce,       [COLL_SCATTER] = plan_scatter,     [COLL_GATHER] = plan_gather,
	};

	round->chore[0].kind = round->chore[1].kind = COLL_CHORE_NONE;
	round->sends = round->receives = 0;
	round->last = false;
	plan[shape->kind](shape, number, round);
}

void coll_extents(const struct coll_shape *shape, uint64_t bytes[COLL_BUFFERS])
{
	uint64_t one = part_bytes(shape), all = one * shape->size;
	bool root = shape->rank == shape->root;
	static const struct {
		uint8_t buf, result; /* parts at the root; ALL: as many as members */
		uint8_t other_buf, other_result;
		uint8_t own, incoming;
	} parts[COLL_KINDS] = {
#define ALL 2
		[COLL_BARRIER] = { 0, 0, 0, 0, 0, 0 },          [COLL_BROADCAST] = { 1, 0, 1, 0, 0, 0 },
		[COLL_ALLTOALL] = { ALL, ALL, ALL, ALL, 0, 0 }, [COLL_ALLREDUCE] = { 1, 1, 1, 1, 1, 1 },
		[COLL_ALLGATHER] = { 1, ALL, 1, ALL, 0, 0 },    [COLL_REDUCE_SCATTER] = { ALL, 1, ALL, 1, ALL, 1 },
		[COLL_REDUCE] = { 1, 1, 1, 0, 1, 1 },           [COLL_SCATTER] = { ALL, 1, 0, 1, 0, 0 },
		[COLL_GATHER] = { 1, ALL, 1, 0, 0, 0 },
	};
	const uint64_t of[] = { 0, one, all };
#undef ALL

	bytes[COLL_BUF] = of[root ? parts[shape->kind].buf : parts[shape->kind].other_buf];
	bytes[COLL_RESULT] = of[root ? parts[shape->kind].result : parts[shape->kind].other_result];
	bytes[COLL_OWN] = of[parts[shape->kind].own];
	bytes[COLL_INCOMING] = of[parts[shape->kind].incoming];
}
