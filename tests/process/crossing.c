/* SPDX-License-Identifier: BSD-2-Clause */
/* crossing.c - two processes with few descriptors, each of which dials all endpoints of the other at once: neither takes those that
 * it needs to accept the other's. */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/rules/harness/check.h"
#include "tests/rules/harness/peer.h"

enum { SIDES = 2, PEERS = 12, SPARE = 48, LEN = 8 };

static struct shared {
	atomic_int ready[2];
	uint8_t names[SIDES][PEERS][PEER_ADDR_MAX];
} * shared;

static struct peer peers[PEERS];
static struct op sends[PEERS][PEERS], recvs[PEERS][PEERS];
static char bytes[LEN];

/* Until both sides are there. */
static void meet(int place)
{
	struct deadline guard = deadline_start();

	atomic_fetch_add(&shared->ready[place], 1);
	while (atomic_load(&shared->ready[place]) < SIDES) {
		deadline_check(&guard, "the other side");
		for (int i = 0; i < PEERS; i++)
			peer_progress(&peers[i]);
	}
}

static void leave_few_descriptors(void)
{
	struct rlimit limit;
	int next = dup(STDIN_FILENO);

	CHECK(next >= 0 && !getrlimit(RLIMIT_NOFILE, &limit), "no limit of descriptors");
	close(next);
	limit.rlim_cur = (rlim_t)next + SPARE;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit), "cannot lower it");
}

static int side(int own)
{
	for (int i = 0; i < PEERS; i++) {
		peer_open(&peers[i], &(struct peer_want){ 0 });
		peer_name(&peers[i], shared->names[own][i]);
		for (int j = 0; j < PEERS; j++)
			CHECK_RC(0, peer_recv(&peers[i], bytes, LEN, NULL, &recvs[i][j]));
	}
	meet(0);
	leave_few_descriptors();
	for (int i = 0; i < PEERS; i++)
		for (int j = 0; j < PEERS; j++)
			CHECK_RC(0, peer_send(&peers[i], peer_insert(&peers[i], shared->names[!own][j]), "crossing", LEN, NULL,
					      &sends[i][j]));
	for (int i = 0; i < PEERS; i++)
		for (int j = 0; j < PEERS; j++) {
			peer_wait(&peers[i], &sends[i][j]);
			CHECK(!sends[i][j].err, "send %d to %d: %s", i, j, peers[i].text);
			peer_wait(&peers[i], &recvs[i][j]);
		}
	meet(1);
	return 0;
}

int main(void)
{
	int status = 1;
	pid_t child;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED, "no shared memory");
	child = fork();
	CHECK(child >= 0, "no fork");
	if (!child)
		exit(side(1));
	side(0);
	CHECK(waitpid(child, &status, 0) == child && !status, "the other side failed");
	return 0;
}
