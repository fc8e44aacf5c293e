/* SPDX-License-Identifier: BSD-2-Clause */
/* killed.c - peers that are killed in each state of the connection, peers that leave, and forks at each stage: nothing hangs, and
 * other queue pairs of the process go on. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, BYTES = 64, LONG = 1000 };

/* How far a peer goes before it is killed. */
enum stage { IN_RESET, IN_INIT, IN_RTR, IN_RTS, IN_FLIGHT, IN_ERR, STAGES };

static void tell(int fd, uint32_t number)
{
	cr_assert_eq(write(fd, &number, sizeof(number)), sizeof(number));
}

static uint32_t hear(int fd)
{
	uint32_t number = 0;

	cr_assert_eq(read(fd, &number, sizeof(number)), sizeof(number));
	return number;
}

/* Opens a pair whose side B is a queue pair of another process; `spare` is the one that it would have been. */
static struct ibv_qp *open_half(struct qp_pair *pair, struct ibv_qp *far, int hears, int tells)
{
	struct ibv_qp *spare;

	qp_pair_open(pair);
	tell(tells, pair->qp[A]->qp_num);
	far->qp_num = hear(hears);
	spare = pair->qp[B];
	pair->qp[B] = far;
	return spare;
}

static void go_to(struct qp_pair *pair, enum stage stage)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

	for (int i = 0; i < 3 && i < (int)stage; i++)
		qp_to(pair, A, states[i]);
	for (uint64_t i = 0; stage == IN_FLIGHT && i < QP_WR; i++)
		qp_post(pair, A, IBV_WR_SEND, 0, LONG, i);
	if (stage == IN_ERR)
		qp_to(pair, A, IBV_QPS_ERR);
}

/* The process that is killed. */
static void be_killed(enum stage stage, int hears, int tells)
{
	struct ibv_qp far = { 0 };
	struct qp_pair pair;

	(void)open_half(&pair, &far, hears, tells);
	go_to(&pair, stage);
	tell(tells, 1);
	for (;;)
		pause();
}

static void talks(struct qp_pair *pair, uint64_t wr_id)
{
	qp_receive(pair, B, BYTES, wr_id);
	qp_post(pair, A, IBV_WR_SEND, 0, BYTES, wr_id);
	qp_done(pair, A, wr_id, IBV_WC_SUCCESS);
	qp_done(pair, B, wr_id, IBV_WC_SUCCESS);
}

ParameterizedTestParameters(killed, peer)
{
	static enum stage stages[] = { IN_RESET, IN_INIT, IN_RTR, IN_RTS, IN_FLIGHT, IN_ERR };

	return cr_make_param_array(enum stage, stages, STAGES);
}

ParameterizedTest(enum stage *stage, killed, peer)
{
	struct ibv_qp far = { 0 }, *spare;
	struct qp_pair pair, others;
	int there[2], back[2];
	pid_t peer;

	cr_assert(!pipe(there) && !pipe(back));
	peer = fork();
	cr_assert_geq(peer, 0);
	if (!peer)
		be_killed(*stage, there[0], back[1]);
	spare = open_half(&pair, &far, back[0], there[1]);
	qp_pair_open(&others);
	qp_pair_meet(&others);
	talks(&others, 1);
	go_to(&pair, IN_RTS);
	hear(back[0]);
	kill(peer, SIGKILL);
	cr_assert_eq(waitpid(peer, NULL, 0), peer);
	qp_receive(&pair, A, LONG, 5); /* a peer's message may be taken yet, which was under way */
	qp_post(&pair, A, IBV_WR_SEND, 0, BYTES, 6);
	for (int left = 2; left; left--) {
		struct ibv_wc wc = qp_next(&pair, A);

		if (wc.wr_id == 6)
			cr_assert_eq(wc.status, IBV_WC_RETRY_EXC_ERR, "%s", ibv_wc_status_str(wc.status));
		else
			cr_assert(wc.status == IBV_WC_WR_FLUSH_ERR || wc.status == IBV_WC_SUCCESS, "%s",
				  ibv_wc_status_str(wc.status));
	}
	cr_assert_eq(pair.qp[A]->state, IBV_QPS_ERR);
	talks(&others, 2);
	qp_pair_close(&others);
	pair.qp[B] = spare;
	qp_pair_close(&pair);
}

/* --- peers that leave --- */

struct way {
	char local[8]; /* FI_EMU_LOCAL */
	enum ibv_qp_state to;
};

ParameterizedTestParameters(killed, peer_that_leaves)
{
	static struct way ways[] = {
		{ "unix", IBV_QPS_ERR }, { "unix", IBV_QPS_RESET }, { "tcp", IBV_QPS_ERR }, { "tcp", IBV_QPS_RESET }
	};

	return cr_make_param_array(struct way, ways, sizeof(ways) / sizeof(ways[0]));
}

/* As soon as it has polled what came. Its device has acknowledged that before. */
ParameterizedTest(struct way *way, killed, peer_that_leaves)
{
	struct qp_pair pair;

	cr_assert_eq(setenv("FI_EMU_LOCAL", way->local, 1), 0);
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
	for (uint64_t i = 0; i < 4; i++)
		qp_receive(&pair, B, BYTES, i);
	for (uint64_t i = 0; i < 4; i++)
		qp_post(&pair, A, IBV_WR_SEND, 0, BYTES, i);
	for (uint64_t i = 0; i < 4; i++)
		qp_done(&pair, B, i, IBV_WC_SUCCESS);
	qp_to(&pair, B, way->to);
	for (uint64_t i = 0; i < 4; i++)
		qp_done(&pair, A, i, IBV_WC_SUCCESS);
	qp_pair_close(&pair);
}

/* --- forks --- */

/* In the child: calls on what it has inherited are answered. `own`: it opens a device of its own. */
static int child_uses(struct qp_pair *pair, bool own)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(pair, A, IBV_WR_SEND, 0, BYTES, &sge), *bad;
	struct ibv_wc wc;
	struct qp_pair mine;

	if (ibv_post_send(pair->qp[A], &wr, &bad) != ENODEV || bad != &wr || ibv_poll_cq(pair->cq[A], 1, &wc) >= 0 ||
	    ibv_create_cq(pair->verbs.context, 1, NULL, NULL, 0) || errno != ENODEV ||
	    ibv_reg_mr(pair->verbs.pd, pair->memory[A], BYTES, 0) || errno != ENODEV)
		return 1;
	if (own) {
		qp_pair_open(&mine);
		qp_pair_meet(&mine);
		talks(&mine, 1);
		qp_pair_close(&mine);
	}
	return ibv_destroy_qp(pair->qp[A]) || ibv_dereg_mr(pair->mr[A]);
}

static void end_child(pid_t child)
{
	int status;

	cr_assert_geq(child, 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x", status);
}

#define IN_CHILD(statement)           \
	do {                          \
		pid_t child = fork(); \
		if (!child)           \
			statement;    \
		end_child(child);     \
	} while (0)

Test(killed, forks)
{
	struct qp_pair pair;

#if defined(__SANITIZE_THREAD__)
	cr_skip_test("the thread sanitizer lets no child of a fork start threads");
#endif
	IN_CHILD({
		qp_pair_open(&pair);
		qp_pair_meet(&pair);
		talks(&pair, 1);
		qp_pair_close(&pair);
		_exit(0);
	});
	qp_pair_open(&pair);
	IN_CHILD(_exit(child_uses(&pair, false)));
	qp_pair_meet(&pair);
	talks(&pair, 1);
	IN_CHILD(_exit(child_uses(&pair, true)));
	talks(&pair, 2);
	IN_CHILD(execlp("true", "true", (char *)NULL));
	talks(&pair, 3);
	IN_CHILD(_exit(0));
	talks(&pair, 4);
	qp_pair_close(&pair);
}

/* Events that nobody reads: of a queue pair that is its own peer, and of requests that are refused. */
Test(killed, deaf_channels)
{
	enum { COMPLETIONS = 2000, REFUSALS = 50 };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .cap = { QP_WR, QP_WR, QP_SGE, QP_SGE, QP_INLINE },
					 .sq_sig_all = 1 };
	struct ibv_comp_channel *channel;
	struct qp_pair pair, self;

	qp_pair_open(&pair);
	self = pair;
	channel = ibv_create_comp_channel(pair.verbs.context);
	cr_assert_not_null(channel);
	self.cq[A] = self.cq[B] = init.send_cq = init.recv_cq = ibv_create_cq(pair.verbs.context, QP_WR, NULL, channel, 0);
	cr_assert_not_null(init.send_cq);
	self.qp[A] = self.qp[B] = ibv_create_qp(pair.verbs.pd, &init);
	cr_assert_not_null(self.qp[A]);
	go_to(&self, IN_RTS);
	for (uint64_t i = 0; i < COMPLETIONS; i++) {
		cr_assert_eq(ibv_req_notify_cq(self.cq[A], 0), 0);
		qp_post(&self, A, IBV_WR_RDMA_WRITE, 0, BYTES, i);
		qp_done(&self, A, i, IBV_WC_SUCCESS);
	}
	for (uint64_t i = 0; i < REFUSALS; i++) {
		qp_pair_meet(&pair);
		qp_post(&pair, A, IBV_WR_RDMA_WRITE, QP_SPAN, BYTES, i);
		qp_done(&pair, A, i, IBV_WC_REM_ACCESS_ERR);
		for (int side = 0; side < 2; side++)
			qp_to(&pair, side, IBV_QPS_RESET);
	}
	cr_assert_eq(ibv_destroy_qp(self.qp[A]), 0);
	cr_assert_eq(ibv_destroy_cq(self.cq[A]), 0);
	cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
	qp_pair_close(&pair);
}
