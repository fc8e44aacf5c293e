/* SPDX-License-Identifier: BSD-2-Clause */
/* grow.c - the rate of 8-byte writes as peers grow: emu-grow PEERS [MILLISECONDS].
 * One thread writes to so many processes in turn, 64 outstanding in all. The targets sleep in read(); nothing is pinned. Prints a
 * row, in millions a second. */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fi_errno.h>

#include "bench.h"
#include "tools/perf/core/fabric.h"

enum { PEERS_MAX = 256, WINDOW = 64, WORD = 8, DEFAULT_MS = 300 };

struct target {
	struct host host;
	struct fabric_card card;
	pid_t pid;
	fi_addr_t addr;
};

static struct fabric *open_side(void)
{
	struct fabric_world world = { .mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
				      .span = SPAN_MIN,
				      .wait = FI_WAIT_NONE };
	struct fabric *f;
	char why[160];

	if (fabric_open(&f, "emu", &world, why, sizeof(why)))
		errx(1, "%s", why);
	return f;
}

/* Tells where it is, and sleeps until the initiator has ended. */
static void be_target(const struct host *host)
{
	struct fabric *f = open_side();
	struct fabric_card card = { 0 };
	char end;

	if (fabric_card(f, &card) || !control_send(host, &card, sizeof(card)))
		_exit(1);
	(void)control_receive(host, &end, sizeof(end));
	_exit(0);
}

static void start_target(struct target *target)
{
	struct host ends[2];
	pid_t parent = getpid();

	host_pair(ends);
	target->host = ends[0];
	target->pid = fork();
	if (target->pid < 0)
		err(1, "fork");
	if (target->pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
			_exit(1);
		be_target(&ends[1]);
	}
	close(ends[1].control);
	if (!control_receive(&target->host, &target->card, sizeof(target->card)))
		errx(1, "a target has failed");
}

static void aim(struct fabric *f, const struct target *target)
{
	f->peer = target->addr;
	f->peer_base = target->card.base;
	f->peer_key = target->card.key;
}

static void meet(struct fabric *f, struct target *target)
{
	if (fabric_meet(f, &target->card))
		errx(1, "fi_av_insert refused a target");
	target->addr = f->peer;
}

/* Keeps the window full, the targets in turn, for so long; how many writes completed. */
static uint64_t post_for(struct fabric *f, const struct target *targets, unsigned count, uint64_t length_ns)
{
	uint64_t since = now_ns(), posted = 0;

	while (now_ns() - since < length_ns) {
		while (f->pending < WINDOW) {
			int rc;

			aim(f, &targets[posted % count]);
			rc = fabric_write(f, (size_t)(posted % WINDOW) * WORD, (size_t)(posted % WINDOW) * WORD, WORD);
			if (rc == -FI_EAGAIN)
				break;
			if (rc)
				errx(1, "fi_write: %s", fi_strerror(-rc));
			posted++;
		}
		if (fabric_poll(f) < 0)
			errx(1, "%s", f->why);
	}
	if (fabric_drain(f, HANG_GUARD_NS))
		errx(1, "%s", f->why);
	return posted;
}

/* After the connections have come up. */
static double rate(struct fabric *f, const struct target *targets, unsigned count, uint64_t length_ns)
{
	uint64_t since, posted;

	(void)post_for(f, targets, count, length_ns / 2);
	since = now_ns();
	posted = post_for(f, targets, count, length_ns);
	return (double)posted * 1e3 / (double)(now_ns() - since);
}

static double by_peers(struct target *targets, unsigned count, uint64_t length_ns)
{
	struct fabric *f = open_side();

	for (unsigned i = 0; i < count; i++)
		meet(f, &targets[i]);
	return rate(f, targets, count, length_ns);
}

int main(int argc, char **argv)
{
	static struct target targets[PEERS_MAX];
	int count = argc > 1 ? atoi(argv[1]) : 0, ms = argc > 2 ? atoi(argv[2]) : DEFAULT_MS, status, failed = 0;
	double sum;

	if (count < 1 || count > PEERS_MAX || ms < 1)
		errx(2, "usage: emu-grow PEERS [MILLISECONDS]; at most %d", PEERS_MAX);
	for (int i = 0; i < count; i++)
		start_target(&targets[i]);
	sum = by_peers(targets, (unsigned)count, (uint64_t)ms * MSEC);
	printf("write rate by peers\t%d\temu\tMop/s\t%.4g\n", count, sum);
	for (int i = 0; i < count; i++) {
		close(targets[i].host.control);
		kill(targets[i].pid, SIGKILL); /* its siblings hold the socket, too */
		failed |= waitpid(targets[i].pid, &status, 0) != targets[i].pid;
	}
	return failed;
}
