/* SPDX-License-Identifier: BSD-2-Clause */
/* soak.c - eight processes that write, read, count and send to each other while connections are cut and processes are
 * killed: soak SECONDS. Nothing may be lost or done twice among those that live. Prints what it came to. See soak.sh. */
#include "tests/process/soak.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KILL_EVERY_MS = 3000, DRAIN_MS = 60000, OWN_GROWTH_MAX_KB = 1024, FDS_GROWTH_MAX = 16 };

static struct soak *soak;

static void pause_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

static pid_t start(int slot)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (pid)
		return pid;
	soak_member(soak, slot);
	exit(0);
}

/* True if it has ended without being told to. */
static bool died(pid_t pid, int slot)
{
	int status;

	if (waitpid(pid, &status, WNOHANG) != pid || (!status && atomic_load(&soak->stage) == SOAK_CLOSED))
		return false;
	printf("not ok soak: process %d ended with status %#x\n", slot, (unsigned)status);
	return true;
}

/* The first two are never killed: their memory and descriptors are watched. */
static void kill_one(pid_t pids[SOAK_MEMBERS], unsigned *draw)
{
	int slot = 2 + rand_r(draw) % (SOAK_MEMBERS - 2);

	atomic_fetch_add(&soak->member[slot].life, 1); /* first: from here on its ops may fail */
	kill(pids[slot], SIGKILL);
	waitpid(pids[slot], NULL, 0);
	soak->kills++;
	pids[slot] = start(slot);
}

static bool all_in(enum soak_stage stage)
{
	for (int i = 0; i < SOAK_MEMBERS; i++)
		if (atomic_load(&soak->member[i].stage) < (uint32_t)stage)
			return false;
	return true;
}

/* Waits until all are there. */
static bool reach(enum soak_stage stage, const pid_t pids[SOAK_MEMBERS])
{
	uint64_t until = check_now_ms() + DRAIN_MS;

	atomic_store(&soak->stage, (uint32_t)stage);
	while (!all_in(stage)) {
		for (int i = 0; i < SOAK_MEMBERS; i++)
			if (died(pids[i], i))
				return false;
		if (check_now_ms() > until) {
			printf("not ok soak: ops are still under way\n");
			return false;
		}
		pause_ms(20);
	}
	return true;
}

/* Messages sent with success among those that live have arrived. */
static uint64_t lost(void)
{
	uint64_t sum = 0;

	for (int from = 0; from < SOAK_MEMBERS; from++)
		for (int to = 0; to < SOAK_MEMBERS; to++)
			if (soak->sent[from][to] > soak->heard[to][from])
				sum += soak->sent[from][to] - soak->heard[to][from];
	return sum;
}

static bool grew(const struct soak_member *member, int slot)
{
	long kb = member->own_kb[1] - member->own_kb[0], fds = member->fds[1] - member->fds[0];

	printf("process %d, since a third of the time: %+ld kB of its own memory, %+ld descriptors to %ld\n", slot, kb, fds,
	       member->fds[1]);
#ifdef __SANITIZE_ADDRESS__
	kb = 0; /* what is freed is kept for a while */
#endif
	return kb > OWN_GROWTH_MAX_KB || fds > FDS_GROWTH_MAX;
}

static int report(uint64_t begin_ms)
{
	uint64_t ops = 0, cuts = 0, failed = 0, missing = lost();
	bool larger = false;

	for (int i = 0; i < SOAK_MEMBERS; i++) {
		ops += soak->ops[i];
		cuts += soak->cuts[i];
		failed += soak->failed[i];
	}
	printf("%llu s, %llu ops, %llu connections cut, %llu processes killed\n",
	       (unsigned long long)(check_now_ms() - begin_ms) / 1000, (unsigned long long)ops, (unsigned long long)cuts,
	       (unsigned long long)soak->kills);
	printf("%llu ops failed with peers that were killed, %llu messages lost\n", (unsigned long long)failed,
	       (unsigned long long)missing);
	for (int i = 0; i < 2; i++)
		larger |= grew(&soak->member[i], i);
	printf(missing || larger || !cuts ? "not ok soak\n" : "ok soak\n");
	return missing || larger || !cuts;
}

int main(int argc, char **argv)
{
	unsigned seconds = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0, draw = (unsigned)time(NULL);
	uint64_t begin_ms = check_now_ms(), end_ms = begin_ms + seconds * 1000u, kill_ms = begin_ms + KILL_EVERY_MS;
	pid_t pids[SOAK_MEMBERS];
	bool well = true;

	if (!seconds) {
		fprintf(stderr, "usage: soak SECONDS\n");
		return 2;
	}
	soak = mmap(NULL, sizeof(*soak), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (soak == MAP_FAILED)
		return 1;
	for (int i = 0; i < SOAK_MEMBERS; i++) {
		atomic_store(&soak->member[i].life, 1);
		pids[i] = start(i);
	}
	while (well && check_now_ms() < end_ms) {
		pause_ms(100);
		for (int i = 0; i < SOAK_MEMBERS; i++)
			well &= !died(pids[i], i);
		if (check_now_ms() - begin_ms > seconds * 1000u / 3)
			atomic_store(&soak->warm, 1);
		if (well && check_now_ms() > kill_ms) {
			kill_one(pids, &draw);
			kill_ms = check_now_ms() + KILL_EVERY_MS;
		}
	}
	well = well && reach(SOAK_DRAINED, pids) && reach(SOAK_HEARD, pids) && reach(SOAK_CLOSED, pids);
	for (int i = 0; i < SOAK_MEMBERS; i++) {
		if (!well)
			kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return well ? report(begin_ms) : 1;
}
