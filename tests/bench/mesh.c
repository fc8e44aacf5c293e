/* SPDX-License-Identifier: BSD-2-Clause */
/* mesh.c - what a peer costs where each process talks to each other: emu-mesh N [N...].
 *
 * For each N it starts N processes with an endpoint each. Each sends a message to each other and takes one of each, all at once.
 * Prints what a peer added to the process that it added most to: resident memory, descriptors, and time, from the first post to
 * the last completion. Fails if a message is missing. */
#include <dirent.h>
#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "many.h"

enum { PROCESSES_MAX = 4096 };

struct cost {
	long kib, descriptors, us;
};

struct process {
	struct side side;
	struct fid_ep *ep;
	int self, count, open; /* open: completions that have not come */
};

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static long open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long count = 0;

	if (!dir)
		err(1, "/proc/self/fd");
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void read_some(struct process *process)
{
	struct fi_cq_tagged_entry entry[16];
	ssize_t got = fi_cq_sread(process->side.cq, entry, 16, NULL, 1000);

	if (got == -FI_EAGAIN || got == -FI_EINTR)
		return;
	must(got, "fi_cq_sread");
	process->open -= (int)got;
}

static void post(struct process *process, bool send, fi_addr_t to)
{
	static char bytes[2][64];
	ssize_t rc;

	for (;;) {
		rc = send ? fi_send(process->ep, bytes[0], sizeof(bytes[0]), NULL, to, NULL)
			  : fi_recv(process->ep, bytes[1], sizeof(bytes[1]), NULL, FI_ADDR_UNSPEC, NULL);
		if (rc != -FI_EAGAIN)
			break;
		read_some(process);
	}
	must(rc, send ? "fi_send" : "fi_recv");
	process->open++;
}

/* The receive for each message comes before the send, so that some are there whatever the endpoint's depth. */
static void talk(struct process *process, const struct name *names)
{
	fi_addr_t addr;

	for (int i = 1; i < process->count; i++) {
		const struct name *name = &names[(process->self + i) % process->count];

		if (fi_av_insert(process->side.av, &name->addr, 1, &addr, 0, NULL) != 1)
			errx(1, "fi_av_insert");
		post(process, false, 0);
		post(process, true, addr);
	}
	while (process->open)
		read_some(process);
}

static void be_process(int self, int count, struct name *names, const int up[2], const int down[2])
{
	struct process process = { .self = self, .count = count };
	struct cost cost;
	char go;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(up[0]);
	close(down[1]);
	side_open(&process.side, FI_WAIT_UNSPEC);
	process.ep = side_endpoint(&process.side, &names[self]);
	put(up[1], "", 1);
	get(down[0], &go, 1);

	cost = (struct cost){ -resident_kib(), -open_descriptors(), -now_us() };
	talk(&process, names);
	cost.us += now_us();
	cost.kib += resident_kib();
	cost.descriptors += open_descriptors();
	put(up[1], &cost, sizeof(cost));
	get(down[0], &go, 1);
	_exit(0);
}

static void keep_most(long *most, long value)
{
	if (value > *most)
		*most = value;
}

/* A process can only be done when all have been told to go, so none takes another's word. */
static void tell_all(int fd, int count)
{
	for (int i = 0; i < count; i++)
		put(fd, "", 1);
}

static void mesh(int count)
{
	struct name *names = mmap(NULL, (size_t)count * sizeof(*names), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct cost cost, most = { 0 };
	int up[2], down[2], status;
	char ready;

	if (names == MAP_FAILED || pipe(up) || pipe(down))
		err(1, "%d processes", count);
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "process %d of %d", i + 1, count);
		if (pid == 0)
			be_process(i, count, names, up, down);
	}
	close(up[1]);
	close(down[0]);
	for (int i = 0; i < count; i++)
		get(up[0], &ready, 1);
	tell_all(down[1], count);
	for (int i = 0; i < count; i++) {
		get(up[0], &cost, sizeof(cost));
		keep_most(&most.kib, cost.kib);
		keep_most(&most.descriptors, cost.descriptors);
		keep_most(&most.us, cost.us);
	}
	tell_all(down[1], count);
	while (wait(&status) > 0) {
		if (status)
			errx(1, "a process failed");
	}
	close(up[0]);
	close(down[1]);
	munmap(names, (size_t)count * sizeof(*names));
	printf("| %d | %ld | %.1f | %ld | %.2f | %.3f | %.0f |\n", count, most.kib, (double)most.kib / (count - 1),
	       most.descriptors, (double)most.descriptors / (count - 1), (double)most.us / 1e6, (double)most.us / (count - 1));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: emu-mesh N [N...]   (2 to %d processes)", PROCESSES_MAX);
	for (int i = 1; i < argc; i++) {
		char *end;
		long count = strtol(argv[i], &end, 10);

		if (*end || count < 2 || count > PROCESSES_MAX)
			errx(2, "%s: it takes numbers of processes from 2 to %d", argv[i], PROCESSES_MAX);
		raise_descriptors((int)count);
	}
	printf("| processes | KiB | a peer | descriptors | a peer | seconds | us a peer |\n|---|---|---|---|---|---|---|\n");
	fflush(stdout);
	for (int i = 1; i < argc; i++)
		mesh((int)strtol(argv[i], NULL, 10));
	return 0;
}
