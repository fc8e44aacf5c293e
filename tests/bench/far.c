/* SPDX-License-Identifier: BSD-2-Clause */
/* far.c - another pair of processes, and the way to it. */
#include "far.h"

#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAR_QUIT UINT32_MAX

struct far_order {
	uint32_t bench; /* FAR_QUIT: no more; the end of the socket does not tell, as other processes have inherited it */
	uint32_t cand;
	uint64_t seed;
};

struct far_result {
	int32_t status;
	struct outcome outcome;
};

static int obey(const struct pair *near, enum world world, unsigned only, int way)
{
	struct candidate cands[CANDIDATES_MAX] = { 0 };
	struct pair pair = *near;
	struct host orders = { .control = way };
	struct far_order order;

	pair.cands = cands;
	pair.world = world;
	memcpy(cands, near->cands, near->count * sizeof(*cands));
	for (unsigned i = 1; only && i < pair.count; i++)
		cands[i].elsewhere = i != only;
	if (only) {
		cands[only].name[strcspn(cands[only].name, ":")] = 0;
		if (setenv("FI_EMU_DIGEST", "full", 1))
			err(1, "FI_EMU_DIGEST");
	}
	pair_start(&pair);
	while (control_receive(&orders, &order, sizeof(order)) && order.bench != FAR_QUIT) {
		struct far_result result = { 0 };

		if (order.cand == 0 || cands[order.cand].fabric[world])
			result.status = pair_measure(&pair, order.bench, order.cand, order.seed, &result.outcome);
		else
			memcpy(result.outcome.why, cands[order.cand].why, sizeof(result.outcome.why));
		if (!control_send(&orders, &result, sizeof(result)))
			break;
	}
	return pair_stop(&pair) ? 1 : 0;
}

struct far far_open(const struct pair *near, enum world world, unsigned only)
{
	pid_t parent = getpid();
	struct far far;
	int ways[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ways))
		err(1, "socket to another pair");
	far.way = ways[0];
	far.pid = fork();
	if (far.pid < 0)
		err(1, "fork");
	close(ways[far.pid ? 1 : 0]);
	if (far.pid)
		return far;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	exit(obey(near, world, only, ways[1]));
}

int far_measure(const struct far *far, unsigned bench, unsigned cand, uint64_t seed, struct outcome *out)
{
	struct host orders = { .control = far->way };
	struct far_order order = { .bench = bench, .cand = cand, .seed = seed };
	struct far_result result;

	if (!control_send(&orders, &order, sizeof(order)) || !control_receive(&orders, &result, sizeof(result)))
		return -ECONNRESET;
	*out = result.outcome;
	return result.status;
}

int far_close(const struct far *far)
{
	struct host orders = { .control = far->way };
	struct far_order quit = { .bench = FAR_QUIT };
	int status = 0;

	(void)control_send(&orders, &quit, sizeof(quit));
	close(far->way);
	waitpid(far->pid, &status, 0);
	return status;
}
