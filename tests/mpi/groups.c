/* SPDX-License-Identifier: BSD-2-Clause */
/* groups.c - collectives that do not block, among neighbours, in parts of the ranks, and between two groups. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/mpi_cases.h"

#define WORLD MPI_COMM_WORLD
enum { COUNT = 2000 };

/* All of them under way at once, in the same order everywhere. */
static long nonblocking(void)
{
	size_t all = COUNT * (size_t)ranks;
	int *mine = new_ints(COUNT, 1), *spread = new_ints(all, my_rank), *in[8], sum = ranks;
	MPI_Request requests[9];
	long wrong = 0;

	fill_values(mine, COUNT, my_rank);
	for (int i = 0; i < 8; i++)
		in[i] = new_ints(all, -1);
	if (my_rank == 1 % ranks)
		fill_values(in[0], COUNT, 99);
	MPI_Ibcast(in[0], COUNT, MPI_INT, 1 % ranks, WORLD, &requests[0]);
	MPI_Igather(mine, COUNT, MPI_INT, in[1], COUNT, MPI_INT, 0, WORLD, &requests[1]);
	MPI_Iallgather(mine, COUNT, MPI_INT, in[2], COUNT, MPI_INT, WORLD, &requests[2]);
	MPI_Ialltoall(spread, COUNT, MPI_INT, in[3], COUNT, MPI_INT, WORLD, &requests[3]);
	MPI_Iallreduce(spread, in[4], COUNT, MPI_INT, MPI_MAX, WORLD, &requests[4]);
	MPI_Ireduce_scatter_block(spread, in[5], COUNT, MPI_INT, MPI_SUM, WORLD, &requests[5]);
	MPI_Iscan(spread, in[6], COUNT, MPI_INT, MPI_MAX, WORLD, &requests[6]);
	MPI_Iscatter(spread, COUNT, MPI_INT, in[7], COUNT, MPI_INT, 0, WORLD, &requests[7]);
	MPI_Ibarrier(WORLD, &requests[8]);
	MPI_Waitall(9, requests, MPI_STATUSES_IGNORE);

	wrong += check_values(in[0], COUNT, 99);
	for (int i = 0; i < ranks; i++) {
		wrong += my_rank ? 0 : check_values(in[1] + COUNT * i, COUNT, i);
		wrong += check_values(in[2] + COUNT * i, COUNT, i) + (in[3][COUNT * i] != i);
	}
	sum = ranks * (ranks - 1) / 2;
	for (int i = 0; i < COUNT; i++)
		wrong += (in[4][i] != ranks - 1) + (in[5][i] != sum) + (in[6][i] != my_rank) + (in[7][i] != 0);
	for (int i = 0; i < 8; i++)
		free(in[i]);
	free(mine);
	free(spread);
	return wrong;
}

/* A ring that knows its neighbours: each gets what the other sends towards it. */
static long cartesian(void)
{
	int out[2 * COUNT], in[2 * COUNT], sizes[] = { 0 }, periods[] = { 1 };
	MPI_Request request;
	MPI_Comm grid;
	long wrong = 0;

	MPI_Dims_create(ranks, 1, sizes);
	MPI_Cart_create(WORLD, 1, sizes, periods, 0, &grid);
	for (int block = 0; block < 2; block++) {
		memset(in, -1, sizeof(in));
		fill_values(out, COUNT, my_rank);               /* to the last */
		fill_values(out + COUNT, COUNT, my_rank + 500); /* to the next */
		if (block) {
			MPI_Neighbor_alltoall(out, COUNT, MPI_INT, in, COUNT, MPI_INT, grid);
		} else {
			MPI_Ineighbor_alltoall(out, COUNT, MPI_INT, in, COUNT, MPI_INT, grid, &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		}
		wrong += check_values(in, COUNT, last_rank() + 500) + check_values(in + COUNT, COUNT, next_rank());
		MPI_Neighbor_allgather(out, COUNT, MPI_INT, in, COUNT, MPI_INT, grid);
		wrong += check_values(in, COUNT, last_rank()) + check_values(in + COUNT, COUNT, next_rank());
	}
	MPI_Comm_free(&grid);
	return wrong;
}

/* Rank 0 hears from all others, they from none. */
static long graph(void)
{
	int hub = 0, others = my_rank ? 0 : ranks - 1, *sources = new_ints((size_t)ranks, 0);
	int *lengths = new_ints((size_t)ranks, COUNT), *places = new_ints((size_t)ranks, 0);
	int *in = new_ints(COUNT * (size_t)ranks, -1), *ones = new_ints((size_t)ranks, 1), out[COUNT];
	MPI_Comm star;
	long wrong = 0;

	for (int i = 0; i < ranks; i++) {
		sources[i] = i + 1;
		places[i] = COUNT * i;
	}
	fill_values(out, COUNT, my_rank);
	/* Weights all 1: MPI_UNWEIGHTED is an address that compilers warn of. */
	MPI_Dist_graph_create_adjacent(WORLD, others, sources, ones, my_rank ? 1 : 0, &hub, ones, MPI_INFO_NULL, 0, &star);
	MPI_Neighbor_allgatherv(out, COUNT, MPI_INT, in, lengths, places, MPI_INT, star);
	for (int i = 0; i < others; i++)
		wrong += check_values(in + COUNT * i, COUNT, i + 1);
	MPI_Comm_free(&star);
	free(sources);
	free(lengths);
	free(places);
	free(ones);
	free(in);
	return wrong;
}

/* Halves that talk at the same time, in reversed order; then a part of the ranks alone. */
static long split(void)
{
	int half = my_rank % 2, place, size, sum, first[] = { 0 };
	MPI_Group world, without;
	MPI_Comm part;
	long wrong = 0;

	MPI_Comm_split(WORLD, half, -my_rank, &part);
	MPI_Comm_rank(part, &place);
	MPI_Comm_size(part, &size);
	for (int i = 0; i < 50; i++) {
		MPI_Allreduce(&my_rank, &sum, 1, MPI_INT, MPI_SUM, part);
		wrong += sum != size * (size - 1) + half * size;
	}
	wrong += place != size - 1 - my_rank / 2;
	MPI_Comm_free(&part);

	MPI_Comm_group(WORLD, &world);
	MPI_Group_excl(world, 1, first, &without);
	MPI_Comm_create(WORLD, without, &part);
	if (part != MPI_COMM_NULL) {
		MPI_Allreduce(&my_rank, &sum, 1, MPI_INT, MPI_SUM, part);
		wrong += sum != ranks * (ranks - 1) / 2;
		MPI_Comm_free(&part);
	}
	MPI_Group_free(&world);
	MPI_Group_free(&without);
	return wrong;
}

/* Even ranks against odd ones: what reaches one side comes from the other. */
static long between_groups(void)
{
	int odd = my_rank % 2, others, sum, expected = 0, root, item = my_rank, *all;
	MPI_Comm side, both;
	long wrong = 0;

	MPI_Comm_split(WORLD, odd, my_rank, &side);
	MPI_Intercomm_create(side, 0, WORLD, !odd, 77, &both);
	MPI_Comm_remote_size(both, &others);
	for (int i = !odd; i < ranks; i += 2)
		expected += i;
	MPI_Allreduce(&my_rank, &sum, 1, MPI_INT, MPI_SUM, both);
	wrong += sum != expected;
	all = new_ints((size_t)others, -1);
	MPI_Allgather(&my_rank, 1, MPI_INT, all, 1, MPI_INT, both);
	for (int i = 0; i < others; i++)
		wrong += all[i] != 2 * i + !odd;
	root = odd ? 0 : my_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
	MPI_Bcast(&item, 1, MPI_INT, root, both);
	wrong += odd && item != 0;
	MPI_Barrier(both);
	free(all);
	MPI_Comm_free(&both);
	MPI_Comm_free(&side);
	return wrong;
}

const struct mpi_case mpi_cases[] = {
	{ "nonblocking", nonblocking },
	{ "cartesian", cartesian },
	{ "graph", graph },
	{ "split", split },
	{ "between_groups", between_groups },
	{ 0 },
};
