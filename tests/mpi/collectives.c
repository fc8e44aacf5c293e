/* SPDX-License-Identifier: BSD-2-Clause */
/* collectives.c - every blocking collective over all ranks, in sizes that make MPI choose different ways. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/mpi_cases.h"

#define WORLD MPI_COMM_WORLD

static const size_t counts[] = { 0, 1, 7, 300, 5000, 70000 };
enum { COUNTS = sizeof(counts) / sizeof(*counts) };

static long barrier(void)
{
	for (int i = 0; i < 100; i++)
		MPI_Barrier(WORLD);
	return 0;
}

static long bcast(void)
{
	long wrong = 0;

	for (size_t at = 0; at < COUNTS; at++)
		for (int root = 0; root < ranks; root++) {
			size_t count = counts[at];
			int *items = new_ints(count, -1);

			if (my_rank == root)
				fill_values(items, count, root);
			MPI_Bcast(items, (int)count, MPI_INT, root, WORLD);
			wrong += check_values(items, count, root);
			free(items);
		}
	return wrong;
}

/* Equal parts to one rank, and back. */
static long gather_scatter(void)
{
	long wrong = 0;

	for (size_t at = 0; at < COUNTS; at++)
		for (int root = 0; root < ranks; root++) {
			size_t count = counts[at];
			int *mine = new_ints(count, 0), *all = new_ints(count * (size_t)ranks, -1);

			fill_values(mine, count, my_rank);
			MPI_Gather(mine, (int)count, MPI_INT, all, (int)count, MPI_INT, root, WORLD);
			for (int i = 0; i < ranks && my_rank == root; i++)
				wrong += check_values(all + count * (size_t)i, count, i);
			memset(mine, -1, count * sizeof(int));
			MPI_Scatter(all, (int)count, MPI_INT, mine, (int)count, MPI_INT, root, WORLD);
			wrong += check_values(mine, count, my_rank);
			if (my_rank == root) {
				MPI_Gather(MPI_IN_PLACE, 0, MPI_INT, all, (int)count, MPI_INT, root, WORLD);
				MPI_Scatter(all, (int)count, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, root, WORLD);
			} else {
				MPI_Gather(mine, (int)count, MPI_INT, NULL, 0, MPI_INT, root, WORLD);
				MPI_Scatter(NULL, 0, MPI_INT, mine, (int)count, MPI_INT, root, WORLD);
			}
			wrong += check_values(mine, count, my_rank);
			free(mine);
			free(all);
		}
	return wrong;
}

/* Rank r has (r + 1) times the count, with a gap of one item before it. Returns the items of all. */
static size_t spread(size_t count, int *lengths, int *places)
{
	size_t all = 0;

	for (int i = 0; i < ranks; i++) {
		lengths[i] = (int)count * (i + 1);
		places[i] = (int)++all;
		all += (size_t)lengths[i];
	}
	return all;
}

static long check_spread(const int *all, const int *lengths, const int *places)
{
	long wrong = 0;

	for (int i = 0; i < ranks; i++)
		wrong += check_values(all + places[i], (size_t)lengths[i], i) + (all[places[i] - 1] != -1);
	return wrong;
}

static long gatherv_scatterv(void)
{
	int *lengths = new_ints((size_t)ranks, 0), *places = new_ints((size_t)ranks, 0), root = ranks - 1;
	long wrong = 0;

	for (size_t at = 0; at < COUNTS; at++) {
		size_t count = counts[at];
		size_t total = spread(count, lengths, places), own = (size_t)lengths[my_rank];
		int *mine = new_ints(own, 0), *all = new_ints(total, -1);

		fill_values(mine, own, my_rank);
		MPI_Gatherv(mine, (int)own, MPI_INT, all, lengths, places, MPI_INT, root, WORLD);
		wrong += my_rank == root ? check_spread(all, lengths, places) : 0;
		memset(mine, -1, own * sizeof(int));
		MPI_Scatterv(all, lengths, places, MPI_INT, mine, (int)own, MPI_INT, root, WORLD);
		wrong += check_values(mine, own, my_rank);
		memset(all, -1, total * sizeof(int));
		MPI_Allgatherv(mine, (int)own, MPI_INT, all, lengths, places, MPI_INT, WORLD);
		wrong += check_spread(all, lengths, places);
		free(mine);
		free(all);
	}
	free(lengths);
	free(places);
	return wrong;
}

static long allgather(void)
{
	long wrong = 0;

	for (size_t at = 0; at < COUNTS; at++)
		for (int in_place = 0; in_place < 2; in_place++) {
			size_t count = counts[at];
			int *mine = new_ints(count, 0), *all = new_ints(count * (size_t)ranks, -1);

			fill_values(in_place ? all + count * (size_t)my_rank : mine, count, my_rank);
			MPI_Allgather(in_place ? MPI_IN_PLACE : mine, (int)count, MPI_INT, all, (int)count, MPI_INT, WORLD);
			for (int i = 0; i < ranks; i++)
				wrong += check_values(all + count * (size_t)i, count, i);
			free(mine);
			free(all);
		}
	return wrong;
}

/* What rank `from` sends to rank `to`. */
static int pair_of(int from, int to)
{
	return from * 1000 + to;
}

static void fill_pairs(int *items, size_t count)
{
	for (int i = 0; i < ranks; i++)
		fill_values(items + count * (size_t)i, count, pair_of(my_rank, i));
}

static long check_pairs(const int *items, size_t count)
{
	long wrong = 0;

	for (int i = 0; i < ranks; i++)
		wrong += check_values(items + count * (size_t)i, count, pair_of(i, my_rank));
	return wrong;
}

static long alltoall(void)
{
	long wrong = 0;

	for (size_t at = 0; at < COUNTS; at++) {
		size_t count = counts[at];
		size_t all = count * (size_t)ranks;
		int *out = new_ints(all, 0), *in = new_ints(all, -1);

		fill_pairs(out, count);
		MPI_Alltoall(out, (int)count, MPI_INT, in, (int)count, MPI_INT, WORLD);
		wrong += check_pairs(in, count);
		MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, out, (int)count, MPI_INT, WORLD);
		wrong += check_pairs(out, count);
		free(out);
		free(in);
	}
	return wrong;
}

/* Rank r sends (r + to) % 3 times the count to rank `to`, by counts of items, and by counts of types. */
static long alltoallv(void)
{
	size_t n = (size_t)ranks;
	int *out_count = new_ints(n, 0), *in_count = new_ints(n, 0), *place = new_ints(n, 0), *bytes = new_ints(n, 0);
	MPI_Datatype *types = malloc(n * sizeof(MPI_Datatype));
	long wrong = 0;

	for (size_t at = 0; at < COUNTS; at++) {
		size_t count = counts[at];
		int *out = new_ints(2 * count * n, 0), *in = new_ints(2 * count * n, -1);

		for (int i = 0; i < ranks; i++) {
			out_count[i] = in_count[i] = (int)count * ((my_rank + i) % 3);
			place[i] = 2 * (int)count * i;
			bytes[i] = place[i] * (int)sizeof(int);
			types[i] = MPI_INT;
			fill_values(out + place[i], (size_t)out_count[i], pair_of(my_rank, i));
		}
		for (int by_type = 0; by_type < 2; by_type++) {
			memset(in, -1, 2 * count * n * sizeof(int));
			if (by_type)
				MPI_Alltoallw(out, out_count, bytes, types, in, in_count, bytes, types, WORLD);
			else
				MPI_Alltoallv(out, out_count, place, MPI_INT, in, in_count, place, MPI_INT, WORLD);
			for (int i = 0; i < ranks; i++)
				wrong += check_values(in + place[i], (size_t)in_count[i], pair_of(i, my_rank));
		}
		free(out);
		free(in);
	}
	free(out_count);
	free(in_count);
	free(place);
	free(bytes);
	free(types);
	return wrong;
}

/* Items for sums that do not overflow. */
static int addend(int who, size_t i)
{
	return value_of(who, i) % 1000;
}

static void fill_addends(int *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		items[i] = addend(my_rank, i);
}

/* Items `first` on are the sums over ranks 0 to last - 1. */
static long check_sums(const int *items, size_t first, size_t count, int last)
{
	long wrong = 0;

	for (size_t i = 0; i < count; i++) {
		int sum = 0;

		for (int who = 0; who < last; who++)
			sum += addend(who, first + i);
		wrong += items[i] != sum;
	}
	return wrong;
}

static long reduce(void)
{
	long wrong = 0;

	for (size_t at = 0; at < COUNTS; at++) {
		size_t count = counts[at];
		int *mine = new_ints(count, 0), *sums = new_ints(count, -1), root = (int)(count % (size_t)ranks);

		fill_addends(mine, count);
		MPI_Reduce(mine, sums, (int)count, MPI_INT, MPI_SUM, root, WORLD);
		wrong += my_rank == root ? check_sums(sums, 0, count, ranks) : 0;
		MPI_Allreduce(mine, sums, (int)count, MPI_INT, MPI_SUM, WORLD);
		wrong += check_sums(sums, 0, count, ranks);
		MPI_Scan(mine, sums, (int)count, MPI_INT, MPI_SUM, WORLD);
		wrong += check_sums(sums, 0, count, my_rank + 1);
		MPI_Exscan(mine, sums, (int)count, MPI_INT, MPI_SUM, WORLD);
		wrong += my_rank ? check_sums(sums, 0, count, my_rank) : 0;
		MPI_Allreduce(MPI_IN_PLACE, mine, (int)count, MPI_INT, MPI_SUM, WORLD);
		wrong += check_sums(mine, 0, count, ranks);
		free(mine);
		free(sums);
	}
	return wrong;
}

static long reduce_scatter(void)
{
	int *lengths = new_ints((size_t)ranks, 0);
	long wrong = 0;

	for (size_t at = 0; at < COUNTS; at++) {
		size_t count = counts[at];
		size_t all = count * (size_t)ranks, mine = count * (size_t)my_rank, before = 0, total = 0;
		int *items = new_ints(all * 2, 0), *sums = new_ints(all * 2, -1);

		fill_addends(items, all * 2);
		MPI_Reduce_scatter_block(items, sums, (int)count, MPI_INT, MPI_SUM, WORLD);
		wrong += check_sums(sums, mine, count, ranks);
		for (int i = 0; i < ranks; i++) {
			lengths[i] = (int)count * (i % 3);
			before += i < my_rank ? (size_t)lengths[i] : 0;
			total += (size_t)lengths[i];
		}
		if (total)
			MPI_Reduce_scatter(items, sums, lengths, MPI_INT, MPI_SUM, WORLD);
		wrong += total ? check_sums(sums, before, (size_t)lengths[my_rank], ranks) : 0;
		free(items);
		free(sums);
	}
	free(lengths);
	return wrong;
}

/* Composition of 2x2 matrices, which does not commute: the ranks' order is kept. */
static void compose(void *in, void *inout, int *length, MPI_Datatype *type)
{
	const double *a = in;
	double *b = inout;

	(void)type;
	for (int i = 0; i < *length; i++, a += 4, b += 4) {
		double result[4] = { a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
				     a[2] * b[1] + a[3] * b[3] };

		memcpy(b, result, sizeof(result));
	}
}

static long own_operation(void)
{
	double mine[4] = { 1, my_rank % 3, my_rank % 2, 1 }, all[4], expected[4] = { 1, 0, 0, 1 };
	MPI_Datatype matrix;
	int one = 1;
	MPI_Op op;

	MPI_Type_contiguous(4, MPI_DOUBLE, &matrix);
	MPI_Type_commit(&matrix);
	MPI_Op_create(compose, 0, &op);
	MPI_Allreduce(mine, all, 1, matrix, op, WORLD);
	for (int i = ranks; i-- > 0;) {
		double left[4] = { 1, i % 3, i % 2, 1 };

		compose(left, expected, &one, &matrix);
	}
	MPI_Op_free(&op);
	MPI_Type_free(&matrix);
	return memcmp(all, expected, sizeof(all)) != 0;
}

static long who_has_least(void)
{
	struct {
		double value;
		int rank;
	} mine = { (my_rank + 2) % ranks, my_rank }, least, most;

	MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, WORLD);
	MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, WORLD);
	return (least.value != 0) + ((least.rank + 2) % ranks != 0) + (most.value != ranks - 1) +
	       ((most.rank + 2) % ranks != ranks - 1);
}

const struct mpi_case mpi_cases[] = {
	{ "barrier", barrier },
	{ "bcast", bcast },
	{ "gather_scatter", gather_scatter },
	{ "gatherv_scatterv", gatherv_scatterv },
	{ "allgather", allgather },
	{ "alltoall", alltoall },
	{ "alltoallv", alltoallv },
	{ "reduce", reduce },
	{ "reduce_scatter", reduce_scatter },
	{ "own_operation", own_operation },
	{ "who_has_least", who_has_least },
	{ 0 },
};
