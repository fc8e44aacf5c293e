/* SPDX-License-Identifier: BSD-2-Clause */
/* large.c - messages of hundreds of megabytes, and one of more than 4 GiB, whose pages are the same few. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/mpi/mpi_cases.h"

#define WORLD MPI_COMM_WORLD
#define ALIAS_BYTES ((size_t)2 << 20)
enum { ALIASES = 2049 }; /* 2 MiB more than 4 GiB */

static long one_way(void)
{
	const size_t count = (size_t)64 << 20; /* 256 MiB */
	long wrong = 0;

	if (my_rank < 2) {
		int *items = new_ints(count, -1);

		if (my_rank == 0) {
			fill_values(items, count, 0);
			MPI_Send(items, (int)count, MPI_INT, 1, 1, WORLD);
		} else {
			MPI_Recv(items, (int)count, MPI_INT, 0, 1, WORLD, MPI_STATUS_IGNORE);
			wrong = check_values(items, count, 0);
		}
		free(items);
	}
	return wrong;
}

/* Every rank to the next at the same time, twice over. */
static long all_ways(void)
{
	const size_t count = (size_t)4 << 20;
	int *out = new_ints(count, 0), *in = new_ints(2 * count, -1);
	MPI_Request requests[4];
	long wrong = 0;

	fill_values(out, count, my_rank);
	for (int i = 0; i < 2; i++) {
		MPI_Irecv(in + count * (size_t)i, (int)count, MPI_INT, last_rank(), i, WORLD, &requests[i]);
		MPI_Isend(out, (int)count, MPI_INT, next_rank(), i, WORLD, &requests[2 + i]);
	}
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
	for (size_t i = 0; i < 2; i++)
		wrong += check_values(in + count * i, count, last_rank());
	free(out);
	free(in);
	return wrong;
}

/* ALIASES views of the same memory, one after another; NULL if there is no such thing here. */
static uint8_t *alias_memory(void)
{
	size_t bytes = ALIASES * ALIAS_BYTES;
	int fd = memfd_create("alias", 0);
	uint8_t *all = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fd < 0 || all == MAP_FAILED || ftruncate(fd, (off_t)ALIAS_BYTES))
		return NULL;
	for (size_t at = 0; at < bytes; at += ALIAS_BYTES)
		if (mmap(all + at, ALIAS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return NULL;
	close(fd);
	return all;
}

static long beyond_4_gib(void)
{
	MPI_Count got, bytes = (MPI_Count)(ALIASES * ALIAS_BYTES);
	MPI_Datatype piece;
	MPI_Status status;
	uint8_t *memory;
	long wrong = 0;

	if (my_rank > 1)
		return 0;
	memory = alias_memory();
	if (!memory)
		MPI_Abort(WORLD, 1);
	memset(memory, my_rank ? 0 : 0x5a, ALIAS_BYTES);
	MPI_Type_contiguous((int)ALIAS_BYTES, MPI_BYTE, &piece);
	MPI_Type_commit(&piece);
	if (my_rank == 0) {
		MPI_Send(memory, ALIASES, piece, 1, 2, WORLD);
	} else {
		MPI_Recv(memory, ALIASES, piece, 0, 2, WORLD, &status);
		MPI_Get_elements_x(&status, MPI_BYTE, &got);
		wrong = got != bytes;
		for (size_t i = 0; i < ALIAS_BYTES; i++)
			wrong += memory[i] != 0x5a;
	}
	MPI_Type_free(&piece);
	munmap(memory, ALIASES * ALIAS_BYTES);
	return wrong;
}

const struct mpi_case mpi_cases[] = {
	{ "one_way", one_way },
	{ "all_ways", all_ways },
	{ "beyond_4_gib", beyond_4_gib },
	{ 0 },
};
