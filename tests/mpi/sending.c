/* SPDX-License-Identifier: BSD-2-Clause */
/* sending.c - point-to-point: every way to send, of every size and layout. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/mpi_cases.h"

#define WORLD MPI_COMM_WORLD
enum { COUNT = 1000, ROUNDS = 50 };

static long ring(void)
{
	int token = my_rank == 0 ? 0 : -1;

	for (int round = 0; round < ROUNDS; round++) {
		if (my_rank || round)
			MPI_Recv(&token, 1, MPI_INT, last_rank(), 1, WORLD, MPI_STATUS_IGNORE);
		token++;
		MPI_Send(&token, 1, MPI_INT, next_rank(), 1, WORLD);
	}
	if (my_rank == 0)
		MPI_Recv(&token, 1, MPI_INT, last_rank(), 1, WORLD, MPI_STATUS_IGNORE);
	return my_rank == 0 ? token != ROUNDS * ranks : 0;
}

typedef int (*send_call)(const void *, int, MPI_Datatype, int, int, MPI_Comm);

/* Sends to the next rank while a receive from the last one is posted. */
static long exchange(send_call send, int count)
{
	int *out = new_ints((size_t)count, 0), *in = new_ints((size_t)count, -1);
	MPI_Request request;
	MPI_Status status;
	int got;
	long wrong;

	fill_values(out, (size_t)count, my_rank);
	MPI_Irecv(in, count, MPI_INT, last_rank(), 2, WORLD, &request);
	MPI_Barrier(WORLD); /* a ready send wants the receive posted */
	send(out, count, MPI_INT, next_rank(), 2, WORLD);
	MPI_Wait(&request, &status);
	MPI_Get_count(&status, MPI_INT, &got);
	wrong = check_values(in, (size_t)count, last_rank()) + (got != count) + (status.MPI_SOURCE != last_rank()) +
		(status.MPI_TAG != 2);
	free(out);
	free(in);
	return wrong;
}

static long modes(void)
{
	int size = 2 * (COUNT * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
	void *buffer = malloc((size_t)size);
	long wrong = exchange(MPI_Send, COUNT) + exchange(MPI_Ssend, COUNT) + exchange(MPI_Rsend, COUNT);

	MPI_Buffer_attach(buffer, size);
	wrong += exchange(MPI_Bsend, COUNT);
	MPI_Buffer_detach(&buffer, &size);
	free(buffer);
	return wrong;
}

/* Around each bound between ways of sending, among others. */
static long sizes(void)
{
	static const int counts[] = {
		0,    1,    2,    15,    16,    17,    63,    64,    65,    1023,   1024,    1025,
		4095, 4096, 4097, 16383, 16384, 16385, 65535, 65536, 65537, 262144, 1000003,
	};
	long wrong = 0;

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		wrong += exchange(MPI_Send, counts[i]) + exchange(MPI_Ssend, counts[i]);
	return wrong;
}

/* Hundreds under way at once, waited for in each of the ways. */
static long nonblocking(void)
{
	enum { MANY = 200, LENGTH = 300 };
	MPI_Request requests[2 * MANY];
	int *out = new_ints(MANY * LENGTH, 0), *in = new_ints(MANY * LENGTH, -1), index, done = 0, flag = 0;
	int indices[2 * MANY];
	long wrong;

	fill_values(out, MANY * LENGTH, my_rank);
	for (int i = 0; i < MANY; i++)
		MPI_Irecv(in + i * LENGTH, LENGTH, MPI_INT, last_rank(), i, WORLD, &requests[i]);
	for (int i = 0; i < MANY; i++)
		MPI_Isend(out + i * LENGTH, LENGTH, MPI_INT, next_rank(), i, WORLD, &requests[MANY + i]);
	for (int i = 0; i < MANY / 4; i++)
		MPI_Waitany(2 * MANY, requests, &index, MPI_STATUS_IGNORE);
	while (done < MANY / 4) {
		int some;

		MPI_Waitsome(2 * MANY, requests, &some, indices, MPI_STATUSES_IGNORE);
		if (some == MPI_UNDEFINED)
			break;
		done += some;
	}
	MPI_Testany(2 * MANY, requests, &index, &flag, MPI_STATUS_IGNORE);
	MPI_Testsome(2 * MANY, requests, &index, indices, MPI_STATUSES_IGNORE);
	for (flag = 0; !flag;)
		MPI_Testall(2 * MANY, requests, &flag, MPI_STATUSES_IGNORE);
	wrong = check_values(in, MANY * LENGTH, last_rank());
	free(out);
	free(in);
	return wrong;
}

static long persistent(void)
{
	int out[COUNT], in[COUNT];
	MPI_Request requests[2];
	long wrong = 0;

	MPI_Recv_init(in, COUNT, MPI_INT, last_rank(), 3, WORLD, &requests[0]);
	MPI_Ssend_init(out, COUNT, MPI_INT, next_rank(), 3, WORLD, &requests[1]);
	for (int round = 0; round < ROUNDS; round++) {
		memset(in, -1, sizeof(in));
		fill_values(out, COUNT, my_rank + round);
		MPI_Startall(2, requests);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		wrong += check_values(in, COUNT, last_rank() + round);
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	return wrong;
}

static long both_ways(void)
{
	int out[COUNT], in[COUNT];
	long wrong;

	fill_values(out, COUNT, my_rank);
	MPI_Sendrecv(out, COUNT, MPI_INT, next_rank(), 4, in, COUNT, MPI_INT, last_rank(), 4, WORLD, MPI_STATUS_IGNORE);
	wrong = check_values(in, COUNT, last_rank());
	MPI_Sendrecv_replace(out, COUNT, MPI_INT, last_rank(), 5, next_rank(), 5, WORLD, MPI_STATUS_IGNORE);
	return wrong + check_values(out, COUNT, next_rank());
}

static long self_and_nobody(void)
{
	int out[COUNT], in[COUNT], nothing = 7;
	MPI_Request request;
	MPI_Status status;
	long wrong;

	fill_values(out, COUNT, my_rank);
	MPI_Irecv(in, COUNT, MPI_INT, my_rank, 6, WORLD, &request);
	MPI_Send(out, COUNT, MPI_INT, my_rank, 6, WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	wrong = check_values(in, COUNT, my_rank);
	memset(in, -1, sizeof(in));
	MPI_Isend(out, COUNT, MPI_INT, my_rank, 6, WORLD, &request);
	MPI_Recv(in, COUNT, MPI_INT, my_rank, 6, WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	wrong += check_values(in, COUNT, my_rank);
	MPI_Send(&nothing, 1, MPI_INT, MPI_PROC_NULL, 0, WORLD);
	MPI_Recv(&nothing, 1, MPI_INT, MPI_PROC_NULL, 0, WORLD, &status);
	return wrong + (nothing != 7) + (status.MPI_SOURCE != MPI_PROC_NULL);
}

/* Every third item is sent; it arrives as a dense message at even, as a scattered one at odd ranks. */
static long strided(void)
{
	enum { ITEMS = 30000, STRIDE = 3 };
	int *out = new_ints(ITEMS * STRIDE, 0), *in = new_ints(ITEMS * STRIDE, -1);
	MPI_Datatype vector;
	MPI_Request request;
	long wrong = 0;

	MPI_Type_vector(ITEMS, 1, STRIDE, MPI_INT, &vector);
	MPI_Type_commit(&vector);
	for (size_t i = 0; i < ITEMS; i++)
		out[i * STRIDE] = value_of(my_rank, i);
	if (my_rank % 2)
		MPI_Irecv(in, 1, vector, last_rank(), 7, WORLD, &request);
	else
		MPI_Irecv(in, ITEMS, MPI_INT, last_rank(), 7, WORLD, &request);
	MPI_Send(out, 1, vector, next_rank(), 7, WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (size_t i = 0; i < ITEMS; i++)
		wrong += in[my_rank % 2 ? i * STRIDE : i] != value_of(last_rank(), i);
	for (size_t i = 0; my_rank % 2 && i < ITEMS * STRIDE; i++)
		wrong += i % STRIDE && in[i] != -1; /* between the items nothing is touched */
	MPI_Type_free(&vector);
	free(out);
	free(in);
	return wrong;
}

/* A structure with a hole, sent as structures and received as packed bytes. */
static long structures(void)
{
	struct item {
		char letter;
		double number;
		short digits[3];
	} out[100], in[100] = { 0 };
	MPI_Datatype parts[] = { MPI_CHAR, MPI_DOUBLE, MPI_SHORT }, type, array;
	MPI_Aint places[] = { offsetof(struct item, letter), offsetof(struct item, number), offsetof(struct item, digits) };
	int lengths[] = { 1, 1, 3 }, size, position = 0;
	char *packed;
	long wrong = 0;

	MPI_Type_create_struct(3, lengths, places, parts, &type);
	MPI_Type_create_resized(type, 0, sizeof(struct item), &array);
	MPI_Type_commit(&array);
	for (int i = 0; i < 100; i++)
		out[i] = (struct item){ (char)i, my_rank + i / 8., { (short)i, (short)(i + 1), (short)-i } };
	MPI_Pack_size(100, array, WORLD, &size);
	packed = malloc((size_t)size);
	MPI_Sendrecv(out, 100, array, next_rank(), 8, packed, size, MPI_PACKED, last_rank(), 8, WORLD, MPI_STATUS_IGNORE);
	MPI_Unpack(packed, size, &position, in, 100, array, WORLD);
	for (int i = 0; i < 100; i++)
		wrong += in[i].letter != (char)i || in[i].number != last_rank() + i / 8. || in[i].digits[0] != i ||
			 in[i].digits[2] != -i;
	MPI_Type_free(&type);
	MPI_Type_free(&array);
	free(packed);
	return wrong;
}

const struct mpi_case mpi_cases[] = {
	{ "ring", ring },
	{ "modes", modes },
	{ "sizes", sizes },
	{ "nonblocking", nonblocking },
	{ "persistent", persistent },
	{ "both_ways", both_ways },
	{ "self_and_nobody", self_and_nobody },
	{ "strided", strided },
	{ "structures", structures },
	{ 0 },
};
