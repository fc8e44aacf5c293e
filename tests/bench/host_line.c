/* SPDX-License-Identifier: BSD-2-Clause */
/* host_line.c - how fast two cores hear of each other: what a cache line takes from one to the other. */
#include <err.h>
#include <pthread.h>

#include "host.h"

enum { LENGTH_MS = 20, END = 0 };

struct turns {
	_Alignas(128) _Atomic uint32_t turn; /* odd: the first side's */
	uint64_t ns, rounds;
};

static void *first(void *arg)
{
	struct turns *turns = arg;
	uint32_t turn = 1;
	uint64_t since;

	host_pin(0);
	while (turns->turn != turn)
		; /* the other side is not there yet */
	since = now_ns();
	do {
		turns->turn = turn + 1;
		turn += 2;
		while (turns->turn != turn)
			;
		turns->rounds++;
	} while (turns->rounds % 128 || now_ns() - since < LENGTH_MS * MSEC);
	turns->ns = now_ns() - since;
	turns->turn = END;
	return NULL;
}

static void *second(void *arg)
{
	struct turns *turns = arg;
	uint32_t turn = END;

	host_pin(1);
	do {
		turns->turn = turn + 1;
		while (turns->turn == turn + 1)
			;
		turn = turns->turn;
	} while (turn != END);
	return NULL;
}

unsigned host_line_ns(void)
{
	struct turns turns = { .turn = END };
	pthread_t sides[2];

	if (host_cores() < 2)
		return 0;
	if (pthread_create(&sides[0], NULL, first, &turns) || pthread_create(&sides[1], NULL, second, &turns))
		errx(1, "no thread");
	for (int i = 0; i < 2; i++)
		pthread_join(sides[i], NULL);
	return (unsigned)(turns.ns / (2 * turns.rounds));
}
