/* SPDX-License-Identifier: BSD-2-Clause */
/* matching.c - point-to-point: which message a receive gets, and when none. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/mpi_cases.h"

#define WORLD MPI_COMM_WORLD

/* Rank 0 hears from all by wildcards; what each one sent arrives in its order. */
static long wildcards(void)
{
	enum { EACH = 100 };
	int *heard = new_ints((size_t)ranks, 0), pair[2];
	MPI_Status status;
	long wrong = 0;

	for (int i = 0; my_rank && i < EACH; i++) {
		pair[0] = my_rank;
		pair[1] = i;
		MPI_Send(pair, 2, MPI_INT, 0, i % 7, WORLD);
	}
	for (int i = 0; my_rank == 0 && i < EACH * (ranks - 1); i++) {
		MPI_Recv(pair, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
		wrong += status.MPI_SOURCE != pair[0] || status.MPI_TAG != pair[1] % 7 || pair[1] != heard[status.MPI_SOURCE]++;
	}
	free(heard);
	return wrong;
}

/* Receives are posted in another order than messages come, before them and after. */
static long tags_out_of_order(void)
{
	enum { TAGS = 300 };
	MPI_Request requests[TAGS];
	int out[TAGS], in[TAGS];
	long wrong = 0;

	for (int late = 0; late < 2; late++) {
		memset(in, -1, sizeof(in));
		for (int i = 0; i < TAGS && !late; i++)
			MPI_Irecv(&in[i], 1, MPI_INT, last_rank(), i, WORLD, &requests[i]);
		MPI_Barrier(WORLD);
		for (int i = TAGS; i-- > 0;) {
			out[i] = value_of(my_rank, (size_t)i);
			MPI_Send(&out[i], 1, MPI_INT, next_rank(), i, WORLD);
		}
		MPI_Barrier(WORLD);
		for (int i = 0; i < TAGS && late; i++)
			MPI_Irecv(&in[i], 1, MPI_INT, last_rank(), i, WORLD, &requests[i]);
		MPI_Waitall(TAGS, requests, MPI_STATUSES_IGNORE);
		wrong += check_values(in, TAGS, last_rank());
	}
	return wrong;
}

/* The same tag in two communicators, and no message in the wrong one. */
static long communicators(void)
{
	MPI_Comm other;
	int out[2] = { my_rank, my_rank + 1000 }, in[2] = { -1, -1 };
	MPI_Request requests[2];

	MPI_Comm_dup(WORLD, &other);
	MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &requests[1]);
	MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &requests[0]);
	MPI_Send(&out[0], 1, MPI_INT, next_rank(), 1, WORLD);
	MPI_Send(&out[1], 1, MPI_INT, next_rank(), 1, other);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	MPI_Comm_free(&other);
	return (in[0] != last_rank()) + (in[1] != last_rank() + 1000);
}

/* Sizes unknown to the receiver. */
static long probes(void)
{
	static const int counts[] = { 0, 1, 500, 20000, 300000 };
	long wrong = 0;

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		int *out = new_ints((size_t)counts[i], 0), *in, got, found;
		MPI_Request request;
		MPI_Status status;

		fill_values(out, (size_t)counts[i], my_rank);
		MPI_Isend(out, counts[i], MPI_INT, next_rank(), 40 + (int)i, WORLD, &request);
		MPI_Probe(last_rank(), MPI_ANY_TAG, WORLD, &status);
		MPI_Iprobe(MPI_ANY_SOURCE, 40 + (int)i, WORLD, &found, &status);
		MPI_Get_count(&status, MPI_INT, &got);
		in = new_ints((size_t)got, -1);
		MPI_Recv(in, got, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		wrong += !found + (got != counts[i]) + (status.MPI_SOURCE != last_rank());
		wrong += check_values(in, (size_t)got, last_rank());
		free(out);
		free(in);
	}
	return wrong;
}

/* A message taken by a matched probe is no other receive's. */
static long matched_probes(void)
{
	enum { COUNT = 20000 };
	int *out = new_ints(2 * COUNT, 0), *in = new_ints(2 * COUNT, -1), found = 0, got;
	MPI_Message message, second;
	MPI_Request requests[2];
	MPI_Status status;
	long wrong;

	fill_values(out, 2 * COUNT, my_rank);
	MPI_Isend(out, COUNT, MPI_INT, next_rank(), 9, WORLD, &requests[0]);
	MPI_Isend(out + COUNT, COUNT, MPI_INT, next_rank(), 9, WORLD, &requests[1]);
	MPI_Mprobe(last_rank(), 9, WORLD, &message, &status);
	while (!found)
		MPI_Improbe(MPI_ANY_SOURCE, 9, WORLD, &found, &second, &status);
	MPI_Get_count(&status, MPI_INT, &got);
	MPI_Mrecv(in + COUNT, COUNT, MPI_INT, &second, MPI_STATUS_IGNORE);
	MPI_Mrecv(in, COUNT, MPI_INT, &message, MPI_STATUS_IGNORE);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	wrong = check_values(in, 2 * COUNT, last_rank()) + (got != COUNT);
	MPI_Improbe(MPI_ANY_SOURCE, 9, WORLD, &found, &message, &status);
	free(out);
	free(in);
	return wrong + found;
}

/* What was cancelled gets nothing; the message goes to the next receive. */
static long cancelled(void)
{
	int in[2] = { -1, -1 }, was_cancelled;
	MPI_Request request;
	MPI_Status status;

	MPI_Irecv(&in[0], 1, MPI_INT, last_rank(), 11, WORLD, &request);
	MPI_Cancel(&request);
	MPI_Wait(&request, &status);
	MPI_Test_cancelled(&status, &was_cancelled);
	MPI_Barrier(WORLD);
	MPI_Send(&my_rank, 1, MPI_INT, next_rank(), 11, WORLD);
	MPI_Recv(&in[1], 1, MPI_INT, last_rank(), 11, WORLD, MPI_STATUS_IGNORE);
	return !was_cancelled + (in[0] != -1) + (in[1] != last_rank());
}

/* A message that is too long is an error of that receive alone. */
static long truncated(void)
{
	enum { LONG = 50000, SHORT = 10 };
	int *out = new_ints(LONG, 0), in[SHORT + 1], class, code;
	MPI_Request request;
	long wrong = 0;

	memset(in, -1, sizeof(in));
	fill_values(out, LONG, my_rank);
	MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
	for (int count = SHORT + 1; count <= LONG; count = count * 10 > LONG && count < LONG ? LONG : count * 10) {
		MPI_Isend(out, count, MPI_INT, next_rank(), 12, WORLD, &request);
		code = MPI_Recv(in, SHORT, MPI_INT, last_rank(), 12, WORLD, MPI_STATUS_IGNORE);
		MPI_Error_class(code, &class);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		wrong += class != MPI_ERR_TRUNCATE;
	}
	wrong += in[SHORT] != -1;
	MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Sendrecv(out, SHORT, MPI_INT, next_rank(), 13, in, SHORT, MPI_INT, last_rank(), 13, WORLD, MPI_STATUS_IGNORE);
	wrong += check_values(in, SHORT, last_rank());
	free(out);
	return wrong;
}

/* Thousands of messages that nobody has asked for yet, of all ranks at rank 0, then received back to front. */
static long unexpected(void)
{
	enum { EACH = 2000, LENGTH = 50 };
	int items[LENGTH];
	long wrong = 0;

	if (my_rank) {
		fill_values(items, LENGTH, my_rank);
		for (int i = 0; i < EACH; i++)
			MPI_Send(items, LENGTH, MPI_INT, 0, 14 + i % 2, WORLD);
	}
	MPI_Barrier(WORLD);
	for (int odd = 1; my_rank == 0 && odd >= 0; odd--)
		for (int from = ranks - 1; from > 0; from--)
			for (int i = 0; i < EACH / 2; i++) {
				MPI_Recv(items, LENGTH, MPI_INT, from, 14 + odd, WORLD, MPI_STATUS_IGNORE);
				wrong += check_values(items, LENGTH, from);
			}
	return wrong;
}

enum { THREADS = 4, TALKS = 200 };

/* A conversation with the same thread of the next and of the last rank. */
static void *talk(void *argument)
{
	int thread = (int)(size_t)argument, out, in;
	long wrong = 0;

	for (int i = 0; i < TALKS; i++) {
		out = value_of(my_rank + thread, (size_t)i);
		MPI_Sendrecv(&out, 1, MPI_INT, next_rank(), 100 + thread, &in, 1, MPI_INT, last_rank(), 100 + thread, WORLD,
			     MPI_STATUS_IGNORE);
		wrong += in != value_of(last_rank() + thread, (size_t)i);
	}
	return (void *)wrong;
}

static long threads(void)
{
	pthread_t talkers[THREADS];
	void *wrong;
	long all = 0;

	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&talkers[i], NULL, talk, (void *)i))
			MPI_Abort(WORLD, 1);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(talkers[i], &wrong);
		all += (long)wrong;
	}
	return all;
}

const struct mpi_case mpi_cases[] = {
	{ "wildcards", wildcards },
	{ "tags_out_of_order", tags_out_of_order },
	{ "communicators", communicators },
	{ "probes", probes },
	{ "matched_probes", matched_probes },
	{ "cancelled", cancelled },
	{ "truncated", truncated },
	{ "unexpected", unexpected },
	{ "threads", threads },
	{ 0 },
};
