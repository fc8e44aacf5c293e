/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi_patterns.c - all-to-all and all-reduce under MPI: mpi_patterns MILLISECONDS. Prints `PATTERN BYTES MICROSECONDS`, of one
 * call, for each size. Arrived bytes are compared after the clock has stopped. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 10, BYTES_MAX = 64 << 10 };

static int rank, ranks;
static unsigned char *out, *in;

static void all_to_all(int bytes)
{
	MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void all_reduce(int bytes)
{
	MPI_Allreduce(out, in, bytes / 8, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

/* Every rank sends its number plus the place in the buffer. */
static int wrong_at(int bytes)
{
	for (int from = 0; from < ranks; from++)
		for (int i = 0; i < bytes; i++)
			if (in[from * bytes + i] != (unsigned char)(from + rank * bytes + i))
				return 1;
	return 0;
}

static int wrong_sum(int bytes)
{
	for (int i = 0; i < bytes / 8; i++) {
		long long sum;

		memcpy(&sum, in + (size_t)i * 8, 8);
		if (sum != (long long)ranks * (ranks - 1) / 2 + (long long)ranks * i)
			return 1;
	}
	return 0;
}

static void fill(int reduce, int bytes)
{
	for (int i = 0; !reduce && i < ranks * bytes; i++)
		out[i] = (unsigned char)(rank + i);
	for (int i = 0; reduce && i < bytes / 8; i++) {
		long long item = rank + i;

		memcpy(out + (size_t)i * 8, &item, 8);
	}
}

/* Rank 0 decides after each batch whether there is time for another. */
static double calls_us(void (*call)(int bytes), int bytes, double seconds)
{
	double since, now;
	int calls = 0, more = 1;

	call(bytes);
	MPI_Barrier(MPI_COMM_WORLD);
	since = MPI_Wtime();
	do {
		for (int i = 0; i < BATCH; i++)
			call(bytes);
		calls += BATCH;
		now = MPI_Wtime();
		more = now - since < seconds;
		MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
	} while (more);
	return (MPI_Wtime() - since) * 1e6 / calls;
}

int main(int argc, char **argv)
{
	static const int sizes[] = { 8, 4 << 10, BYTES_MAX };
	double seconds = argc > 1 ? atof(argv[1]) / 1e3 : .2;
	int wrong = 0, all_wrong;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	out = malloc((size_t)ranks * BYTES_MAX);
	in = malloc((size_t)ranks * BYTES_MAX);
	if (!out || !in)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int reduce = 0; reduce < 2; reduce++)
		for (int i = 0; i < 3; i++) {
			double us;

			fill(reduce, sizes[i]);
			us = calls_us(reduce ? all_reduce : all_to_all, sizes[i], seconds);
			wrong |= reduce ? wrong_sum(sizes[i]) : wrong_at(sizes[i]);
			if (rank == 0)
				printf("%s %d %.3f\n", reduce ? "allreduce" : "alltoall", sizes[i], us);
		}
	MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_LOR, 0, MPI_COMM_WORLD);
	if (rank == 0 && all_wrong)
		fputs("mpi_patterns: wrong bytes arrived\n", stderr);
	free(out);
	free(in);
	MPI_Finalize();
	return rank == 0 && all_wrong;
}
