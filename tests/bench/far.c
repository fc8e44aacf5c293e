/* SPDX-License-Identifier: BSD-2-Clause */
/* far.c - a second pair of processes, and the way to it. */
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
	uint32_t bench;		/* FAR_QUIT: no more; the end of the socket does not tell, as other processes have inherited it */
	uint64_t seed;
};

struct far_result {
	int32_t status;
	struct outcome outcome;
};

/* The far pair's initiator: one candidate beside the floor, under the name of its provider. */
static int obey(const struct pair *near, const char *name, int way)
{
	struct candidate cands[2] = { { .far = -1 }, { .far = -1 } };
	struct pair pair = { .cands = cands, .count = 2, .only = near->only, .block_ns = near->block_ns, .settle = near->settle,
			     .one_core = near->one_core };
	struct host orders = { .control = way };
	struct far_order order;

	memcpy(cands[1].name, name, strcspn(name, ":"));
	if (setenv("FI_EMU_DIGEST", "full", 1))
		err(1, "FI_EMU_DIGEST");
	pair_start(&pair);
	if (cands[1].state != CANDIDATE_OPEN)
		errx(1, "%s is not here: %s", name, cands[1].why);
	if (pair_greet(&pair, 1))
		return 1;
	while (control_receive(&orders, &order, sizeof(order)) && order.bench != FAR_QUIT) {
		struct far_result result = { 0 };

		if (cands[1].fabric[benches[order.bench].world])
			result.status = pair_measure(&pair, order.bench, 1, order.seed, &result.outcome);
		if (!control_send(&orders, &result, sizeof(result)))
			break;
	}
	return pair_stop(&pair) ? 1 : 0;
}

void far_open(const struct pair *near, struct candidate *cand)
{
	int ways[2];
	pid_t parent = getpid();

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ways))
		err(1, "socket to the other pair");
	cand->far_pid = fork();
	if (cand->far_pid < 0)
		err(1, "fork");
	cand->far = ways[0];
	close(ways[cand->far_pid ? 1 : 0]);
	if (cand->far_pid)
		return;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	exit(obey(near, cand->name, ways[1]));
}

int far_measure(const struct candidate *cand, unsigned bench, uint64_t seed, struct outcome *out)
{
	struct host orders = { .control = cand->far };
	struct far_order order = { .bench = bench, .seed = seed };
	struct far_result result;

	if (!control_send(&orders, &order, sizeof(order)) || !control_receive(&orders, &result, sizeof(result)))
		return -ECONNRESET;
	*out = result.outcome;
	return result.status;
}

int far_close(struct candidate *cand)
{
	struct host orders = { .control = cand->far };
	struct far_order quit = { .bench = FAR_QUIT };
	int status = 0;

	(void)control_send(&orders, &quit, sizeof(quit));
	close(cand->far);
	waitpid(cand->far_pid, &status, 0);
	return status;
}
