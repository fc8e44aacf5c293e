/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c - what the provider takes of a process's memory: emu-memory [--test | --peers N | --regions N].
 *
 *   idle    a process with everything open that has talked to nobody, beyond one that has only asked libfabric for a
 *           provider that is not there
 *   peers   an endpoint that has sent a message to each of so many and has been answered by each, beyond the idle one
 *
 * All pages that are resident count (Rss of smaps_rollup), the provider's code among them. Prints a row for run.sh each; with
 * --test fewer peers, and `ok` or `not ok`. The peers live in a process of their own. With a number, the row of so many peers, or
 * regions, alone. */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fi_domain.h>

#include "many.h"

enum { PEERS = 1000, PEERS_TESTED = 200, IDLE_KIB_MAX = 2048, PEERS_KIB_MAX = 8192 };

static bool failed;

/* Runs `what` in a process that has not touched libfabric, and gives what it measured. */
static void apart(void (*what)(int count, long kib[2]), int count, long kib[2])
{
	int result[2], status;
	pid_t pid;

	if (pipe(result))
		err(1, "pipe");
	pid = fork();
	if (pid == 0) {
		what(count, kib);
		put(result[1], kib, 2 * sizeof(*kib));
		_exit(0);
	}
	close(result[1]);
	get(result[0], kib, 2 * sizeof(*kib));
	close(result[0]);
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "a process failed");
}

static void libfabric_alone(int count, long kib[2])
{
	struct fi_info *info;

	(void)count;
	unsetenv("FI_PROVIDER_PATH");
	setenv("FI_PROVIDER", "none", 1);
	(void)many_info("none", &info);
	kib[0] = kib[1] = resident_kib();
}

static void with_peers(int count, long kib[2])
{
	struct peers peers;
	struct name name;
	struct fid_ep *ep;
	struct side side;
	pid_t pid = peers_start(&peers, count);

	side_open(&side, FI_WAIT_NONE);
	ep = side_endpoint(&side, &name);
	kib[0] = resident_kib();
	peers_meet(&peers, &side, ep, &name);
	kib[1] = resident_kib();
	peers_stop(&peers, pid);
}

/* Resident before and after so many registrations of the same 64 bytes. */
static void with_regions(int count, long kib[2])
{
	static char bytes[64];
	struct side side;
	struct fid_mr *mr;

	side_open(&side, FI_WAIT_NONE);
	kib[0] = resident_kib();
	for (int i = 0; i < count; i++)
		must(fi_mr_reg(side.domain, bytes, sizeof(bytes), FI_REMOTE_WRITE, 0, (uint64_t)i, 0, &mr, NULL), "fi_mr_reg");
	kib[1] = resident_kib();
}

/* One row, of how memory grows. */
static int grow(const char *what, int count)
{
	bool peers = !strcmp(what, "--peers");
	long kib[2];

	raise_descriptors(peers ? count : 0);
	apart(peers ? with_peers : with_regions, count, kib);
	printf("memory by %s\t%d\temu\tKiB\t%ld\n", what + 2, count, kib[1] - kib[0]);
	return 0;
}

static void report(bool test, const char *name, int count, long kib, long most)
{
	if (test)
		printf("%s %s %ld KiB, at most %ld\n", kib <= most ? "ok" : "not ok", name, kib, most);
	else
		printf("memory %s\t%d\temu\tKiB\t%ld\t\t\t\n", name, count, kib);
	failed |= test && kib > most;
}

int main(int argc, char **argv)
{
	bool test = argc > 1 && !strcmp(argv[1], "--test");
	int count = test ? PEERS_TESTED : PEERS;
	long alone[2], open[2];

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	puts("skip memory the sanitizer's own bytes count, too");
	return 77;
#endif
	if (argc == 3 && (!strcmp(argv[1], "--peers") || !strcmp(argv[1], "--regions")) && atoi(argv[2]) > 0)
		return grow(argv[1], atoi(argv[2]));
	raise_descriptors(count);
	apart(libfabric_alone, 0, alone);
	apart(with_peers, count, open);
	report(test, "idle", 0, open[0] - alone[0], IDLE_KIB_MAX);
	report(test, "peers", count, open[1] - open[0], (long)PEERS_KIB_MAX * count / PEERS);
	return failed;
}
