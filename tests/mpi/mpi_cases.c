/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi_cases.c - runs the program's cases and says at rank 0 how each went. */
#include "tests/mpi/mpi_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int my_rank, ranks;

int next_rank(void)
{
	return (my_rank + 1) % ranks;
}

int last_rank(void)
{
	return (my_rank + ranks - 1) % ranks;
}

int value_of(int who, size_t i)
{
	return (int)(((unsigned)who * 2654435761u) ^ ((unsigned)i * 40503u + 1)) & 0x3fffffff;
}

void fill_values(int *items, size_t count, int who)
{
	for (size_t i = 0; i < count; i++)
		items[i] = value_of(who, i);
}

long check_values(const int *items, size_t count, int who)
{
	long wrong = 0;

	for (size_t i = 0; i < count; i++)
		wrong += items[i] != value_of(who, i);
	return wrong;
}

int *new_ints(size_t count, int with)
{
	int *items = malloc(count * sizeof(*items) + 1);

	if (!items) {
		fprintf(stderr, "no memory for %zu items\n", count);
		MPI_Abort(MPI_COMM_WORLD, 1);
		abort();
	}
	for (size_t i = 0; i < count; i++)
		items[i] = with;
	return items;
}

/* Returns true if it passed, at every rank alike. */
static int run_case(const struct mpi_case *mpi_case)
{
	long wrong = mpi_case->run(), all;

	MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (my_rank == 0 && all)
		printf("not ok %s %ld wrong values\n", mpi_case->name, all);
	else if (my_rank == 0)
		printf("ok %s\n", mpi_case->name);
	fflush(stdout);
	return !all;
}

/* With names as arguments, runs these cases alone. */
static int is_asked_for(const char *name, char **asked)
{
	if (!*asked)
		return 1;
	for (; *asked; asked++)
		if (!strcmp(*asked, name))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	int provided, passed = 1;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (provided != MPI_THREAD_MULTIPLE) {
		fprintf(stderr, "this MPI has no MPI_THREAD_MULTIPLE\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	for (const struct mpi_case *mpi_case = mpi_cases; mpi_case->name; mpi_case++)
		if (is_asked_for(mpi_case->name, argv + 1))
			passed &= run_case(mpi_case);
	MPI_Finalize();
	return !passed;
}
