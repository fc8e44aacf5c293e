/* SPDX-License-Identifier: BSD-2-Clause */
/* windows.c - one-sided: every call that moves data, under every way to synchronise, in every kind of window. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/mpi_cases.h"

#define WORLD MPI_COMM_WORLD
enum { COUNT = 3000 };

/* A window over `count` ints for each rank; the rank's own are all -1. */
struct window {
	MPI_Win win;
	int *own;
	size_t count;
	int allocated; /* by MPI, else by us */
};

static void window_open(struct window *w, size_t per_rank, int allocated)
{
	MPI_Aint bytes;

	w->count = per_rank * (size_t)ranks;
	w->allocated = allocated;
	bytes = (MPI_Aint)(w->count * sizeof(int));
	if (allocated) {
		MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, WORLD, &w->own, &w->win);
	} else {
		w->own = new_ints(w->count, -1);
		MPI_Win_create(w->own, bytes, sizeof(int), MPI_INFO_NULL, WORLD, &w->win);
	}
	memset(w->own, -1, (size_t)bytes);
	MPI_Win_fence(0, w->win);
}

static void window_close(struct window *w)
{
	MPI_Win_free(&w->win);
	if (!w->allocated)
		free(w->own);
}

/* How many of the parts that others put into our memory are wrong: part i is rank i's values. */
static long check_parts(const struct window *w, size_t per_rank)
{
	long wrong = 0;

	for (int i = 0; i < ranks; i++)
		wrong += check_values(w->own + per_rank * (size_t)i, per_rank, i);
	return wrong;
}

/* Everybody puts to everybody, then gets it back. */
static long fence(void)
{
	int *out = new_ints(COUNT, 0), *in = new_ints(COUNT * (size_t)ranks, -1);
	struct window w;
	long wrong = 0;

	fill_values(out, COUNT, my_rank);
	for (int allocated = 0; allocated < 2; allocated++) {
		window_open(&w, COUNT, allocated);
		for (int i = 0; i < ranks; i++)
			MPI_Put(out, COUNT, MPI_INT, i, COUNT * my_rank, COUNT, MPI_INT, w.win);
		MPI_Win_fence(0, w.win);
		wrong += check_parts(&w, COUNT);
		for (int i = 0; i < ranks; i++)
			MPI_Get(in + COUNT * i, COUNT, MPI_INT, i, COUNT * my_rank, COUNT, MPI_INT, w.win);
		MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
		for (int i = 0; i < ranks; i++)
			wrong += check_values(in + COUNT * i, COUNT, my_rank);
		window_close(&w);
	}
	free(out);
	free(in);
	return wrong;
}

/* The next rank opens its window to us, as we to the last, and nobody else takes part. */
static long post_and_start(void)
{
	int out[COUNT], to = next_rank(), from = last_rank();
	MPI_Group world, origin, target;
	struct window w;
	long wrong = 0;

	MPI_Comm_group(WORLD, &world);
	MPI_Group_incl(world, 1, &from, &origin);
	MPI_Group_incl(world, 1, &to, &target);
	window_open(&w, COUNT, 0);
	for (int round = 0; round < 20; round++) {
		int done = 0;

		fill_values(out, COUNT, my_rank + round);
		MPI_Win_post(origin, 0, w.win);
		MPI_Win_start(target, 0, w.win);
		MPI_Put(out, COUNT, MPI_INT, to, 0, COUNT, MPI_INT, w.win);
		MPI_Win_complete(w.win);
		while (round % 2 && !done)
			MPI_Win_test(w.win, &done);
		if (!done)
			MPI_Win_wait(w.win);
		wrong += check_values(w.own, COUNT, from + round);
	}
	window_close(&w);
	MPI_Group_free(&origin);
	MPI_Group_free(&target);
	MPI_Group_free(&world);
	return wrong;
}

/* Scattered at the target, dense at the origin, and the other way round. */
static long strided(void)
{
	enum { ITEMS = 500, STRIDE = 4 };
	int out[ITEMS], in[ITEMS];
	MPI_Datatype vector;
	struct window w;
	long wrong = 0;

	MPI_Type_vector(ITEMS, 1, STRIDE, MPI_INT, &vector);
	MPI_Type_commit(&vector);
	window_open(&w, ITEMS * STRIDE, 0);
	fill_values(out, ITEMS, my_rank);
	MPI_Put(out, ITEMS, MPI_INT, next_rank(), 0, 1, vector, w.win);
	MPI_Win_fence(0, w.win);
	for (size_t i = 0; i < ITEMS * STRIDE; i++)
		wrong += w.own[i] != (i % STRIDE ? -1 : value_of(last_rank(), i / STRIDE));
	MPI_Get(in, ITEMS, MPI_INT, last_rank(), 0, 1, vector, w.win);
	MPI_Win_fence(0, w.win);
	wrong += check_values(in, ITEMS, (my_rank + 2 * ranks - 2) % ranks);
	window_close(&w);
	MPI_Type_free(&vector);
	return wrong;
}

/* All add to the same items of rank 0, in several types. */
static long accumulate(void)
{
	enum { ITEMS = 100, ROUNDS = 10 };
	long ones[ITEMS], *sums, wrong = 0;
	double halves[ITEMS], *totals;
	MPI_Win longs, doubles;

	MPI_Win_allocate(sizeof(ones), sizeof(long), MPI_INFO_NULL, WORLD, &sums, &longs);
	MPI_Win_allocate(sizeof(halves), sizeof(double), MPI_INFO_NULL, WORLD, &totals, &doubles);
	for (int i = 0; i < ITEMS; i++) {
		ones[i] = 1;
		halves[i] = .5;
		sums[i] = 0;
		totals[i] = 0;
	}
	MPI_Win_fence(0, longs);
	MPI_Win_fence(0, doubles);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Accumulate(ones, ITEMS, MPI_LONG, 0, 0, ITEMS, MPI_LONG, MPI_SUM, longs);
		MPI_Accumulate(halves, ITEMS, MPI_DOUBLE, 0, 0, ITEMS, MPI_DOUBLE, MPI_SUM, doubles);
	}
	MPI_Win_fence(0, longs);
	MPI_Win_fence(0, doubles);
	for (int i = 0; i < ITEMS && my_rank == 0; i++)
		wrong += (sums[i] != (long)ROUNDS * ranks) + (totals[i] != ROUNDS * ranks * .5);
	MPI_Win_free(&longs);
	MPI_Win_free(&doubles);
	return wrong;
}

/* Each of the operations, on items of the next rank's: what was there comes back. More items than osc rdma hands to the
 * NIC, since btl ofi aborts at the operations that it does not know. */
static long operations(void)
{
	static const int results[] = { 22, 120, 12, 10, 8, 14, 6, 10, 12 }; /* of 12 and 10 */
	const MPI_Op ops[] = { MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_REPLACE, MPI_NO_OP };
	enum { OPS = sizeof(ops) / sizeof(*ops), ITEMS = 50 };
	int with[ITEMS], before[OPS][ITEMS];
	struct window w;
	long wrong = 0;

	window_open(&w, OPS * ITEMS, 0);
	for (int i = 0; i < OPS * ITEMS; i++)
		w.own[i] = 12;
	for (int i = 0; i < ITEMS; i++)
		with[i] = 10;
	MPI_Win_fence(0, w.win);
	for (int i = 0; i < OPS; i++)
		MPI_Get_accumulate(with, ITEMS, MPI_INT, before[i], ITEMS, MPI_INT, next_rank(), i * ITEMS, ITEMS, MPI_INT, ops[i],
				   w.win);
	MPI_Win_fence(0, w.win);
	for (int i = 0; i < OPS * ITEMS; i++)
		wrong += (before[i / ITEMS][i % ITEMS] != 12) + (w.own[i] != results[i / ITEMS]);
	window_close(&w);
	return wrong;
}

/* Larger than what travels in one piece, at displacements that are not aligned to anything. */
static long large(void)
{
	const size_t bytes = (8 << 20) + 13;
	char *own = malloc(bytes + 7), *out = malloc(bytes), *in = malloc(bytes);
	MPI_Win win;
	long wrong = 0;

	if (!own || !out || !in)
		MPI_Abort(WORLD, 1);
	for (size_t i = 0; i < bytes; i++)
		out[i] = (char)value_of(my_rank, i);
	memset(in, 0, bytes);
	MPI_Win_create(own, (MPI_Aint)bytes + 7, 1, MPI_INFO_NULL, WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Put(out, (int)bytes, MPI_CHAR, next_rank(), 7, (int)bytes, MPI_CHAR, win);
	MPI_Win_fence(0, win);
	for (size_t i = 0; i < bytes; i++)
		wrong += own[7 + i] != (char)value_of(last_rank(), i);
	MPI_Get(in, (int)bytes, MPI_CHAR, next_rank(), 7, (int)bytes, MPI_CHAR, win);
	MPI_Win_fence(0, win);
	wrong += memcmp(in, out, bytes) != 0;
	MPI_Win_free(&win);
	free(own);
	free(out);
	free(in);
	return wrong;
}

/* Dozens of windows at once, closed in another order than opened. */
static long many_windows(void)
{
	enum { WINDOWS = 40 };
	struct window w[WINDOWS];
	long wrong = 0;

	for (int i = 0; i < WINDOWS; i++)
		window_open(&w[i], 1, i % 2);
	for (int i = 0; i < WINDOWS; i++) {
		int item = value_of(my_rank, (size_t)i);

		MPI_Put(&item, 1, MPI_INT, next_rank(), 0, 1, MPI_INT, w[i].win);
		MPI_Win_fence(0, w[i].win);
		wrong += w[i].own[0] != value_of(last_rank(), (size_t)i);
	}
	for (int i = 0; i < WINDOWS; i++)
		window_close(&w[(i * 7) % WINDOWS]);
	return wrong;
}

const struct mpi_case mpi_cases[] = {
	{ "fence", fence },
	{ "post_and_start", post_and_start },
	{ "strided", strided },
	{ "accumulate", accumulate },
	{ "operations", operations },
	{ "large", large },
	{ "many_windows", many_windows },
	{ 0 },
};
