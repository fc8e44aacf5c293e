/* SPDX-License-Identifier: BSD-2-Clause */
/* looked_at.c - a program to be looked into: looked_at REGIONS. Registers so many regions, says "ready KEY", and obeys lines on
 * stdin: write (to itself, says its error), refused (a write by a key that there is not), peers (opens endpoints and writes to
 * each by such a key, says their number), fork (says the child, which sleeps), end. */
#include "tests/rules/harness/region.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEN = 4096, PEERS = 40 };

static struct peer me;
static fi_addr_t myself;
static struct region region;

static int write_to(fi_addr_t peer, uint64_t key)
{
	struct iovec iov = { region.iov[0].iov_base, 64 };
	void *desc = fi_mr_desc(region.mr);
	struct fi_rma_iov rma = { .addr = region_base(&region, &me, 0) + LEN / 2, .len = 64, .key = key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = peer, .rma_iov = &rma, .rma_iov_count = 1
	};
	struct op op;

	CHECK_RC(0, peer_rma(&me, RMA_WRITE, &msg, 0, &op));
	peer_wait(&me, &op);
	return op.err;
}

static void have_peers(void)
{
	static const struct peer_want want = { .counters = true };
	static struct peer peers[PEERS];
	uint8_t name[PEER_ADDR_MAX];

	for (int i = 0; i < PEERS; i++) {
		peer_open(&peers[i], &want);
		peer_name(&peers[i], name);
		write_to(peer_insert(&me, name), fi_mr_key(region.mr) ^ 0x5a5a5a);
	}
	printf("%d\n", PEERS);
}

static void open_more(int count)
{
	static const struct region_want want = { .len = { 64 }, .access = FI_REMOTE_WRITE };

	static struct region *more;

	more = calloc((size_t)count + 1, sizeof(*more));
	CHECK(more, "no memory");
	for (int i = 0; i < count; i++)
		region_open(&more[i], &me, &want, 1);
}

static void have_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		alarm(60); /* if nobody ends it */
		pause();
		_exit(0);
	}
	printf("%d\n", (int)child);
}

int main(int argc, char **argv)
{
	static const struct peer_want want = { .counters = true };
	static const struct region_want all = { .len = { LEN }, .access = FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE };
	uint8_t name[PEER_ADDR_MAX];
	char line[64];

	peer_open(&me, &want);
	peer_name(&me, name);
	myself = peer_insert(&me, name);
	region_open(&region, &me, &all, 1);
	open_more(argc > 1 ? atoi(argv[1]) : 0);
	printf("ready 0x%" PRIx64 "\n", fi_mr_key(region.mr));
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "end\n")) {
		if (!strcmp(line, "write\n"))
			printf("%d\n", write_to(myself, fi_mr_key(region.mr)));
		else if (!strcmp(line, "refused\n"))
			printf("%d\n", write_to(myself, fi_mr_key(region.mr) ^ 0x5a5a5a));
		else if (!strcmp(line, "move\n"))
			printf("%d\n", setenv("TMPDIR", "/proc/nowhere", 1));
		else if (!strcmp(line, "peers\n"))
			have_peers();
		else
			have_child();
		fflush(stdout);
	}
	return 0;
}
