/* SPDX-License-Identifier: BSD-2-Clause */
/* case.c - main() of the labelled programs of a front end: --list, or one case by its name, whose processes it starts. */
#include "tests/races/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HANG_S = 60, COMPUTE_LEAST_NS = 2000, COMPUTE_DOUBLED = 11 };

const struct race_case *race_this;
unsigned race_self;
static int lines[RACE_SIDES][RACE_SIDES]; /* [self][other]; -1 where there is none */
static uint64_t drawn;

void race_die(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: %s, side %u: not so: %s\n", file, line, race_this->name, race_self, what);
	exit(1);
}

static void put_bytes(unsigned side, const void *from, size_t size)
{
	NEED(send(lines[race_self][side], from, size, MSG_NOSIGNAL) == (ssize_t)size);
}

static void take_bytes(unsigned side, void *to, size_t size)
{
	NEED(recv(lines[race_self][side], to, size, MSG_WAITALL) == (ssize_t)size);
}

void race_tell(unsigned side)
{
	put_bytes(side, "", 1);
}

void race_hear(unsigned side)
{
	char byte;

	take_bytes(side, &byte, 1);
}

void race_swap(const void *mine, void *all, size_t size)
{
	for (unsigned side = 0; side < race_this->sides; side++)
		if (side != race_self)
			put_bytes(side, mine, size);
	for (unsigned side = 0; side < race_this->sides; side++)
		if (side != race_self)
			take_bytes(side, (char *)all + side * size, size);
		else
			memcpy((char *)all + side * size, mine, size);
}

void race_meet(void)
{
	char byte = 0, all[RACE_SIDES];

	race_swap(&byte, all, sizeof(byte));
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void race_compute(void)
{
	uint64_t until, least;

	drawn = drawn * 6364136223846793005 + 1442695040888963407;
	least = (uint64_t)COMPUTE_LEAST_NS << (drawn >> 60) % COMPUTE_DOUBLED;
	until = clock_ns() + least + (drawn >> 33) % least;
	while (clock_ns() < until)
		;
}

static void lines_open(void)
{
	int ends[2];

	memset(lines, -1, sizeof(lines));
	for (unsigned i = 0; i < race_this->sides; i++) {
		for (unsigned j = 0; j < i; j++) {
			NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
			lines[i][j] = ends[0];
			lines[j][i] = ends[1];
		}
	}
}

/* All lines, or all but those of one side. */
static void lines_close(unsigned but)
{
	for (unsigned i = 0; i < RACE_SIDES; i++)
		for (unsigned j = 0; j < RACE_SIDES; j++)
			if (i != but && lines[i][j] >= 0)
				close(lines[i][j]);
}

static void side_run(unsigned side)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(HANG_S);
	race_self = side;
	drawn = side + 1;
	lines_close(side);
	race_open();
	for (unsigned round = 0; round < RACE_ROUNDS; round++) {
		race_meet();
		race_this->run(round);
	}
	race_meet();
	race_close();
	exit(0);
}

/* This process opens no NIC: it only waits for those that do. */
static int case_run(void)
{
	int status, worst = 0;
	pid_t child;

	lines_open();
	for (unsigned side = 0; side < race_this->sides; side++) {
		child = fork();
		NEED(child >= 0);
		if (!child)
			side_run(side);
	}
	lines_close(RACE_SIDES);
	for (unsigned side = 0; side < race_this->sides; side++) {
		NEED(wait(&status) > 0);
		if (WIFSIGNALED(status))
			fprintf(stderr, "%s: a side was ended by signal %d\n", race_this->name, WTERMSIG(status));
		worst |= status;
	}
	return worst != 0;
}

static void case_list(const struct race_case *one)
{
	printf("%s\t%s\t%s\t%s\n", one->name, one->label == RACY ? "racy" : "right", one->kind,
	       one->label == RACY ? one->finding : "-");
}

int main(int argc, char **argv)
{
	bool all = argc == 2 && !strcmp(argv[1], "--list");

	for (unsigned s = 0; race_sets[s]; s++) {
		for (size_t i = 0; i < race_sets[s]->count; i++) {
			const struct race_case *one = &race_sets[s]->cases[i];

			if (all)
				case_list(one);
			else if (argc == 2 && !strcmp(argv[1], one->name))
				race_this = one;
		}
	}
	if (race_this)
		return case_run();
	if (!all)
		fprintf(stderr, "usage: %s --list | CASE\n", argv[0]);
	return all ? 0 : 2;
}
