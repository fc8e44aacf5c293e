/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_progress_assumed.c - a target that waits outside libfabric, under manual progress */
#include "tests/errors/pair.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct target {
	uint64_t addr, key;
	char name[256];
};

/* In a child: the target, which reads no queue while the peer writes. */
static void serve(int line)
{
	struct target self = { 0 };
	size_t size = sizeof(self.name);
	struct pair p;

	pair_open(&p, &(struct pair_want){ .progress = FI_PROGRESS_MANUAL });
	self.addr = p.addr;
	self.key = p.key;
	MUST(fi_getname(&p.target.ep->fid, self.name, &size));
	MUST(write(line, &self, sizeof(self)));
	MUST(read(line, &self, 1));
	exit(pair_close(&p));
}

int main(void)
{
	struct target target;
	struct pair p;
	int line[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, line));
	if (!fork())
		serve(line[1]);
	MUST(read(line[0], &target, sizeof(target)));
	pair_open(&p, &(struct pair_want){ .progress = FI_PROGRESS_MANUAL });
	pair_meet(&p, target.name);
	sleep(2);
	pair_write(&p, target.addr, 8, target.key);
	MUST(write(line[0], "", 1));
	MUST(wait(NULL));
	return pair_close(&p);
}
