/* SPDX-License-Identifier: BSD-2-Clause */
/* locks.c - one-sided without the target: every type of lock, every flush, atomics, dynamic windows. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/mpi_cases.h"

#define WORLD MPI_COMM_WORLD
enum { ROUNDS = 40, COUNT = 1000 };

/* `count` longs at each rank, all `with`. */
static MPI_Win open_longs(size_t count, long with, long **own)
{
	MPI_Win win;

	*own = malloc(count * sizeof(long));
	if (!*own)
		MPI_Abort(WORLD, 1);
	for (size_t i = 0; i < count; i++)
		(*own)[i] = with;
	MPI_Win_create(*own, (MPI_Aint)(count * sizeof(long)), sizeof(long), MPI_INFO_NULL, WORLD, &win);
	MPI_Barrier(WORLD);
	return win;
}

static void close_longs(MPI_Win *win, long *own)
{
	MPI_Win_free(win);
	free(own);
}

/* Read, add one, write: only a lock that excludes others makes that right. */
static long exclusive(void)
{
	long *own, seen, wrong = 0;
	MPI_Win win = open_longs(2, 0, &own);

	for (int round = 0; round < ROUNDS; round++)
		for (int target = 0; target<ranks; target += ranks> 1 ? ranks - 1 : 1) {
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
			MPI_Get(&seen, 1, MPI_LONG, target, 1, 1, MPI_LONG, win);
			MPI_Win_flush(target, win);
			seen++;
			MPI_Put(&seen, 1, MPI_LONG, target, 1, 1, MPI_LONG, win);
			MPI_Win_unlock(target, win);
		}
	MPI_Barrier(WORLD);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win);
	if (my_rank == 0 || my_rank == ranks - 1)
		wrong = own[1] != (long)ROUNDS * ranks;
	MPI_Win_unlock(my_rank, win);
	close_longs(&win, own);
	return wrong;
}

/* All at once, each to a place of its own. */
static long shared(void)
{
	long *own, item, got, wrong = 0;
	MPI_Win win = open_longs((size_t)ranks, -1, &own);

	for (int target = 0; target < ranks; target++) {
		item = my_rank * 1000L + target;
		MPI_Win_lock(MPI_LOCK_SHARED, target, target % 2 ? MPI_MODE_NOCHECK : 0, win);
		MPI_Put(&item, 1, MPI_LONG, target, my_rank, 1, MPI_LONG, win);
		MPI_Win_unlock(target, win);
	}
	MPI_Barrier(WORLD);
	for (int target = 0; target < ranks; target++) {
		MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
		MPI_Get(&got, 1, MPI_LONG, target, my_rank, 1, MPI_LONG, win);
		MPI_Win_unlock(target, win);
		wrong += got != my_rank * 1000L + target;
	}
	close_longs(&win, own);
	return wrong;
}

/* A lock of all, with each of the flushes; and calls that have a request of their own. */
static long lock_all(void)
{
	long *own, out[4], in[4], wrong = 0;
	MPI_Win win = open_longs(4 * (size_t)ranks, 0, &own);
	MPI_Request requests[2];

	MPI_Win_lock_all(0, win);
	for (int round = 0; round < ROUNDS; round++) {
		int to = (my_rank + round) % ranks;

		for (int i = 0; i < 4; i++)
			out[i] = value_of(my_rank, (size_t)(round * 4 + i));
		MPI_Rput(out, 2, MPI_LONG, to, 4 * my_rank, 2, MPI_LONG, win, &requests[0]);
		MPI_Raccumulate(out + 2, 2, MPI_LONG, to, 4 * my_rank + 2, 2, MPI_LONG, MPI_REPLACE, win, &requests[1]);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		if (round % 2)
			MPI_Win_flush(to, win);
		else
			MPI_Win_flush_all(win);
		memset(in, -1, sizeof(in));
		MPI_Rget(in, 2, MPI_LONG, to, 4 * my_rank, 2, MPI_LONG, win, &requests[0]);
		MPI_Rget_accumulate(NULL, 0, MPI_LONG, in + 2, 2, MPI_LONG, to, 4 * my_rank + 2, 2, MPI_LONG, MPI_NO_OP, win,
				    &requests[1]);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		wrong += memcmp(in, out, sizeof(in)) != 0;
		MPI_Put(in, 1, MPI_LONG, to, 4 * my_rank, 1, MPI_LONG, win);
		if (round % 2)
			MPI_Win_flush_local(to, win);
		else
			MPI_Win_flush_local_all(win);
		in[0] = -1; /* it may be, by now */
	}
	MPI_Win_sync(win);
	MPI_Win_unlock_all(win);
	close_longs(&win, own);
	return wrong;
}

static int by_number(const void *a, const void *b)
{
	return *(const long *)a < *(const long *)b ? -1 : *(const long *)a > *(const long *)b;
}

/* Tickets: no number is given out twice, and none is left out. */
static long fetch_and_op(void)
{
	long *own, *mine = calloc(ROUNDS, sizeof(long)), *all = calloc((size_t)ranks * ROUNDS, sizeof(long)), one = 1;
	long wrong = 0;
	MPI_Win win = open_longs(1, 0, &own);

	MPI_Win_lock_all(0, win);
	for (int round = 0; round < ROUNDS; round++) {
		MPI_Fetch_and_op(&one, &mine[round], MPI_LONG, 0, 0, MPI_SUM, win);
		MPI_Win_flush(0, win);
		wrong += round && mine[round] <= mine[round - 1];
	}
	MPI_Win_unlock_all(win);
	MPI_Gather(mine, ROUNDS, MPI_LONG, all, ROUNDS, MPI_LONG, 0, WORLD);
	qsort(all, (size_t)ranks * ROUNDS, sizeof(long), by_number);
	for (long i = 0; my_rank == 0 && i < (long)ranks * ROUNDS; i++)
		wrong += all[i] != i;
	close_longs(&win, own);
	free(mine);
	free(all);
	return wrong;
}

/* A spin lock at the last rank, made of compare-and-swap, that guards an unguarded sum. That rank itself stays out: osc
 * rdma 4.1 hands btl ofi no key of its own memory, which ends in a crash. */
static long compare_and_swap(void)
{
	long *own, free_now = 0, taken = my_rank + 1, seen, sum, wrong = 0;
	int home = ranks - 1;
	MPI_Win win = open_longs(2, 0, &own);

	MPI_Win_lock_all(0, win);
	for (int round = 0; round < ROUNDS / 4 && my_rank != home; round++) {
		do {
			MPI_Compare_and_swap(&taken, &free_now, &seen, MPI_LONG, home, 0, win);
			MPI_Win_flush(home, win);
		} while (seen != free_now);
		MPI_Get(&sum, 1, MPI_LONG, home, 1, 1, MPI_LONG, win);
		MPI_Win_flush(home, win);
		sum++;
		MPI_Put(&sum, 1, MPI_LONG, home, 1, 1, MPI_LONG, win);
		MPI_Win_flush(home, win);
		MPI_Compare_and_swap(&free_now, &taken, &seen, MPI_LONG, home, 0, win);
		MPI_Win_flush(home, win);
		wrong += seen != taken;
	}
	MPI_Barrier(WORLD);
	MPI_Get(&sum, 1, MPI_LONG, home, 1, 1, MPI_LONG, win);
	MPI_Win_unlock_all(win);
	wrong += sum != (long)(ROUNDS / 4) * (ranks - 1);
	close_longs(&win, own);
	return wrong;
}

/* Memory that is attached later, found by the address that its owner tells, and detached again. */
static long dynamic(void)
{
	enum { PIECES = 8 };
	int *piece[PIECES], out[COUNT], in[COUNT], add = 1;
	MPI_Aint mine[PIECES], theirs[PIECES];
	MPI_Win win;
	long wrong = 0;

	MPI_Win_create_dynamic(MPI_INFO_NULL, WORLD, &win);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < PIECES; i++) {
			piece[i] = new_ints(COUNT, 0);
			MPI_Win_attach(win, piece[i], COUNT * sizeof(int));
			MPI_Get_address(piece[i], &mine[i]);
		}
		MPI_Sendrecv(mine, PIECES, MPI_AINT, last_rank(), 1, theirs, PIECES, MPI_AINT, next_rank(), 1, WORLD,
			     MPI_STATUS_IGNORE);
		for (int i = 0; i < PIECES; i++) {
			fill_values(out, COUNT, my_rank + i);
			MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, next_rank(), 0, win);
			MPI_Put(out, COUNT, MPI_INT, next_rank(), theirs[i], COUNT, MPI_INT, win);
			MPI_Win_flush(next_rank(), win);
			MPI_Accumulate(&add, 1, MPI_INT, next_rank(), theirs[i], 1, MPI_INT, MPI_SUM, win);
			MPI_Win_flush(next_rank(), win);
			MPI_Get(in, COUNT, MPI_INT, next_rank(), theirs[i], COUNT, MPI_INT, win);
			MPI_Win_unlock(next_rank(), win);
			out[0]++;
			wrong += memcmp(in, out, sizeof(in)) != 0;
		}
		MPI_Barrier(WORLD);
		for (int i = 0; i < PIECES; i++) {
			piece[i][0]--;
			wrong += check_values(piece[i], COUNT, last_rank() + i);
			MPI_Win_detach(win, piece[i]);
			free(piece[i]);
		}
		MPI_Barrier(WORLD);
	}
	MPI_Win_free(&win);
	return wrong;
}

const struct mpi_case mpi_cases[] = {
	{ "exclusive", exclusive },
	{ "shared", shared },
	{ "lock_all", lock_all },
	{ "fetch_and_op", fetch_and_op },
	{ "compare_and_swap", compare_and_swap },
	{ "dynamic", dynamic },
	{ 0 },
};
