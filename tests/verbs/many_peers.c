/* SPDX-License-Identifier: BSD-2-Clause */
/* many_peers.c - many queue pairs of two processes, whose connections share streams: some fail, are reset, drained, destroyed or
 * cut, and the others go on. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, PAIRS = 12, ROUNDS = 20, BYTES = 64, FLUSHED = 50 };

/* What each third one does in the middle, of both processes. */
enum deed { FAILS, RESETS, DRAINS, IS_DESTROYED, NOTHING };

static struct surrounding {
	enum deed deed;
	char local[8];
	char plan[80];
} surroundings[] = {
	{ FAILS, "tcp", "" },
	{ RESETS, "tcp", "" },
	{ DRAINS, "tcp", "" },
	{ IS_DESTROYED, "tcp", "" },
	{ FAILS, "unix", "" },
	{ RESETS, "unix", "" },
	{ NOTHING, "tcp", "[a]\nfault = cut\nevery = 7\n" },
	{ RESETS, "tcp", "[a]\nfault = cut\nevery = 5\nwhen = before\n" },
};

static int other; /* the other process, as a stream */
static struct qp_pair pairs[PAIRS];
static struct ibv_qp far[PAIRS]; /* its queue pairs: qp_num alone counts */

static void exchange(const void *mine, void *theirs, size_t length)
{
	size_t got = 0;

	cr_assert_eq(write(other, mine, length), (ssize_t)length);
	while (got < length) {
		ssize_t n = read(other, (char *)theirs + got, length - got);

		cr_assert_gt(n, 0, "the other process has ended");
		got += (size_t)n;
	}
}

/* Both processes are here. */
static void meet_here(void)
{
	char byte = 0;

	exchange(&byte, &byte, 1);
}

static void connect_all(void (*to)(int i))
{
	uint32_t mine[PAIRS], theirs[PAIRS];

	for (int i = 0; i < PAIRS; i++)
		mine[i] = pairs[i].qp[A]->qp_num;
	exchange(mine, theirs, sizeof(mine));
	for (int i = 0; i < PAIRS; i++) {
		far[i].qp_num = theirs[i];
		pairs[i].qp[B] = &far[i];
		to(i);
	}
	meet_here();
}

static void to_rts(int i)
{
	qp_to(&pairs[i], A, IBV_QPS_INIT);
	qp_to(&pairs[i], A, IBV_QPS_RTR);
	qp_to(&pairs[i], A, IBV_QPS_RTS);
}

static bool is_third(int i)
{
	return i % 3 == 0;
}

static void thirds_to_rts(int i)
{
	if (is_third(i))
		to_rts(i);
}

/* Each sends to its peer, and hears from it. */
static void talk(bool (*takes_part)(int i))
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < PAIRS; i++)
			if (takes_part(i)) {
				qp_receive(&pairs[i], A, BYTES, 2 * round);
				qp_post(&pairs[i], A, IBV_WR_SEND, 0, BYTES, 2 * round + 1);
			}
		for (int i = 0; i < PAIRS; i++)
			for (int left = takes_part(i) ? 2 : 0; left; left--) {
				struct ibv_wc wc = qp_next(&pairs[i], A);

				cr_assert_eq(wc.status, IBV_WC_SUCCESS, "pair %d: %s", i, ibv_wc_status_str(wc.status));
				cr_assert_eq(wc.wr_id, 2 * round + !(wc.opcode & IBV_WC_RECV));
			}
	}
	meet_here();
}

static bool is_any(int i)
{
	return i >= 0;
}

static bool is_other(int i)
{
	return !is_third(i);
}

static void make(int i)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .send_cq = pairs[i].cq[A],
					 .recv_cq = pairs[i].cq[A],
					 .cap = { QP_WR, QP_WR, 1, 1, 0 },
					 .sq_sig_all = 1 };

	pairs[i].qp[A] = ibv_create_qp(pairs[0].verbs.pd, &init);
	cr_assert_not_null(pairs[i].qp[A]);
}

static void drain(int i, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	cr_assert_eq(ibv_modify_qp(pairs[i].qp[A], &attr, IBV_QP_STATE), 0);
}

/* With receives posted, and in SQD with a request. */
static void do_it(int i, enum deed deed)
{
	if (!is_third(i) || deed == NOTHING)
		return;
	qp_receive(&pairs[i], A, BYTES, FLUSHED);
	if (deed == FAILS) {
		qp_to(&pairs[i], A, IBV_QPS_ERR);
		qp_done(&pairs[i], A, FLUSHED, IBV_WC_WR_FLUSH_ERR);
	}
	if (deed == FAILS || deed == RESETS)
		qp_to(&pairs[i], A, IBV_QPS_RESET);
	if (deed == DRAINS) {
		drain(i, IBV_QPS_SQD);
		qp_post(&pairs[i], A, IBV_WR_SEND, 0, BYTES, FLUSHED + 1);
	}
	if (deed == IS_DESTROYED) {
		cr_assert_eq(ibv_destroy_qp(pairs[i].qp[A]), 0);
		make(i);
	}
}

static void go_on(int i)
{
	if (!is_third(i))
		return;
	drain(i, IBV_QPS_RTS);
	for (int left = 2; left; left--)
		cr_assert_eq(qp_next(&pairs[i], A).status, IBV_WC_SUCCESS);
}

static void play(enum deed deed)
{
	struct ibv_qp *spare;

	qp_pair_open(&pairs[0]);
	spare = pairs[0].qp[B];
	for (int i = 1; i < PAIRS; i++) {
		pairs[i] = pairs[0];
		pairs[i].cq[A] = ibv_create_cq(pairs[0].verbs.context, 2 * QP_WR, NULL, NULL, 0);
		cr_assert_not_null(pairs[i].cq[A]);
		make(i);
	}
	connect_all(to_rts);
	talk(is_any);
	for (int i = 0; i < PAIRS; i++)
		do_it(i, deed);
	talk(is_other);
	if (deed == DRAINS)
		for (int i = 0; i < PAIRS; i++)
			go_on(i);
	else if (deed != NOTHING)
		connect_all(thirds_to_rts);
	talk(is_any);
	for (int i = 1; i < PAIRS; i++) {
		cr_assert_eq(ibv_destroy_qp(pairs[i].qp[A]), 0);
		cr_assert_eq(ibv_destroy_cq(pairs[i].cq[A]), 0);
	}
	pairs[0].qp[B] = spare;
	qp_pair_close(&pairs[0]);
}

ParameterizedTestParameters(verbs_many_peers, go_on)
{
	return cr_make_param_array(struct surrounding, surroundings, sizeof(surroundings) / sizeof(surroundings[0]));
}

ParameterizedTest(struct surrounding *around, verbs_many_peers, go_on, .timeout = 120)
{
	int ends[2], status;
	pid_t child;

	cr_assert_eq(setenv("FI_EMU_LOCAL", around->local, 1), 0);
	if (*around->plan)
		fault_plan(around->plan);
	said_begin();
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	child = fork();
	cr_assert_geq(child, 0);
	other = ends[!child];
	close(ends[!!child]);
	play(around->deed);
	cr_assert_not(said_has("so the peer is asked"), "nothing here is to warn of");
	if (!child)
		_exit(0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x", status);
}
