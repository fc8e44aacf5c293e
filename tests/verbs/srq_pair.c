/* SPDX-License-Identifier: BSD-2-Clause */
/* srq_pair.c - a queue pair that takes its receives from a shared queue, and its peer. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, MAX_WR = 4 };

static struct qp_pair pair;
static struct ibv_srq *srq;

/* B's queue pair, with the shared queue. */
static void open_b(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = pair.cq[B],
		.recv_cq = pair.cq[B],
		.srq = srq,
		.cap = { .max_send_wr = QP_WR, .max_recv_wr = QP_WR, .max_send_sge = 1, .max_recv_sge = 1 }
	};

	pair.qp[B] = ibv_create_qp(pair.verbs.pd, &attr);
	cr_assert_not_null(pair.qp[B]);
	cr_assert_eq(pair.qp[B]->srq, srq);
}

static void open_pair(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = MAX_WR, .max_sge = 2 } };

	qp_pair_open(&pair);
	srq = ibv_create_srq(pair.verbs.pd, &attr);
	cr_assert_not_null(srq);
	cr_assert_eq(ibv_destroy_qp(pair.qp[B]), 0);
	open_b();
	cr_assert_eq(fcntl(pair.verbs.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	qp_pair_meet(&pair);
	said_begin();
}

static void close_pair(void)
{
	cr_assert_eq(ibv_destroy_srq(srq), EBUSY);
	cr_assert_eq(ibv_destroy_qp(pair.qp[B]), 0);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	srq = NULL;
	open_b();
	qp_pair_close(&pair);
}

TestSuite(srq_pair, .init = open_pair, .fini = close_pair, .timeout = 120);

static struct ibv_recv_wr receive(uint64_t wr_id, struct ibv_sge *sge, uint32_t lkey)
{
	*sge = (struct ibv_sge){ (uintptr_t)pair.memory[B], 100, lkey };
	return (struct ibv_recv_wr){ .wr_id = wr_id, .sg_list = sge, .num_sge = 1 };
}

static int post(uint64_t wr_id)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = receive(wr_id, &sge, pair.mr[B]->lkey), *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

static void message(uint64_t wr_id)
{
	qp_post(&pair, A, IBV_WR_SEND, 0, 50, wr_id);
	qp_done(&pair, A, wr_id, IBV_WC_SUCCESS);
}

static int next_event(struct ibv_async_event *event)
{
	int got = ibv_get_async_event(pair.verbs.context, event);

	if (!got)
		ibv_ack_async_event(event);
	return got;
}

Test(srq_pair, stays_while_a_queue_pair_uses_it)
{
	cr_assert_eq(ibv_destroy_srq(srq), EBUSY);
	cr_assert(said_has("ibv_destroy_srq: 1 queue pairs use it."));
	cr_assert_eq(post(70), 0);
}

/* Both go to ERR, and the first has receives of its own. */
Test(srq_pair, only_its_users_are_told_of_the_last_receive)
{
	struct ibv_async_event event;

	qp_to(&pair, A, IBV_QPS_ERR);
	qp_to(&pair, B, IBV_QPS_ERR);
	cr_assert_eq(next_event(&event), 0);
	cr_assert(event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && event.element.qp == pair.qp[B]);
	cr_assert_eq(next_event(&event), -1);
}

Test(srq_pair, a_message_takes_the_receive_that_was_posted_first)
{
	struct ibv_wc wc;

	cr_assert_eq(post(70), 0);
	cr_assert_eq(post(71), 0);
	memset(pair.memory[A], 5, 50);
	message(1);
	wc = qp_done(&pair, B, 70, IBV_WC_SUCCESS);
	cr_assert(wc.opcode == IBV_WC_RECV && wc.byte_len == 50 && wc.qp_num == pair.qp[B]->qp_num);
	cr_assert_eq(pair.memory[B][49], 5);
	message(2);
	qp_done(&pair, B, 71, IBV_WC_SUCCESS);
}

/* A receive counts from its post to its poll; a list stops at the first that is too many. */
Test(srq_pair, full)
{
	struct ibv_srq_attr more = { .max_wr = MAX_WR + 1 };
	struct ibv_sge sge;
	struct ibv_recv_wr round = receive(9, &sge, pair.mr[B]->lkey), *bad = NULL;

	round.next = &round;
	cr_assert_eq(ibv_post_srq_recv(srq, &round, &bad), ENOMEM);
	cr_assert_eq(bad, &round);
	cr_assert(said_has("ibv_post_srq_recv: 4 receives are posted and not polled (max_wr)"));
	message(1);
	cr_assert_eq(post(10), ENOMEM, "not polled");
	qp_done(&pair, B, 9, IBV_WC_SUCCESS);
	cr_assert_eq(post(10), 0);
	cr_assert_eq(post(11), ENOMEM);
	cr_assert_eq(ibv_modify_srq(srq, &more, IBV_SRQ_MAX_WR), 0);
	cr_assert_eq(post(11), 0);
	more.max_wr = MAX_WR;
	cr_assert_eq(ibv_modify_srq(srq, &more, IBV_SRQ_MAX_WR), EINVAL, "more are posted");
}

Test(srq_pair, bad_receives)
{
	struct ibv_sge sge[3] = { { 0 } };
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 3 }, *bad = NULL;

	cr_assert_eq(ibv_post_srq_recv(srq, &wr, &bad), EINVAL);
	cr_assert_eq(bad, &wr);
	wr.num_sge = -1;
	cr_assert_eq(ibv_post_srq_recv(srq, &wr, &bad), EINVAL);
	cr_assert(said_has("num_sge is 3, and the queue was made with max_sge 2"));
	wr = receive(1, sge, pair.mr[B]->lkey);
	bad = NULL;
	cr_assert_neq(ibv_post_recv(pair.qp[B], &wr, &bad), 0);
	cr_assert_eq(bad, &wr);
	srq->handle ^= 1;
	cr_assert_eq(post(1), ENOENT);
	srq->handle ^= 1;
}

/* Once, when fewer are left than that. */
Test(srq_pair, limit)
{
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct ibv_async_event event;

	for (uint64_t i = 0; i < 3; i++)
		cr_assert_eq(post(i), 0);
	cr_assert_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	message(10);
	qp_done(&pair, B, 0, IBV_WC_SUCCESS);
	cr_assert_eq(next_event(&event), -1, "two are left");
	cr_assert_eq(ibv_query_srq(srq, &attr), 0);
	cr_assert_eq(attr.srq_limit, 2);
	message(11);
	qp_done(&pair, B, 1, IBV_WC_SUCCESS);
	cr_assert_eq(next_event(&event), 0);
	cr_assert(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == srq);
	message(12);
	qp_done(&pair, B, 2, IBV_WC_SUCCESS);
	cr_assert_eq(next_event(&event), -1, "once");
	cr_assert_eq(ibv_query_srq(srq, &attr), 0);
	cr_assert_eq(attr.srq_limit, 0);
}

/* It is taken, and fails when a message comes: with the queue pair, which takes no other receive from there. */
Test(srq_pair, lkey_of_none)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = receive(7, &sge, pair.mr[B]->lkey + 0x100000), *bad;
	struct ibv_async_event event;
	bool last = false;

	cr_assert_eq(ibv_post_srq_recv(srq, &wr, &bad), 0);
	cr_assert_eq(post(8), 0);
	cr_assert(said_has("ibv_post_srq_recv: receive 0x7 will fail"));
	qp_post(&pair, A, IBV_WR_SEND, 0, 50, 1);
	qp_done(&pair, A, 1, IBV_WC_REM_OP_ERR);
	cr_assert_eq(qp_done(&pair, B, 7, IBV_WC_LOC_PROT_ERR).qp_num, pair.qp[B]->qp_num);
	while (!last)
		last = !next_event(&event) && event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && event.element.qp == pair.qp[B];
}

/* Completions that nobody has polled go with their queue pair, and their receives are free. */
Test(srq_pair, receives_outlive_their_queue_pair)
{
	struct ibv_wc wc;

	for (uint64_t i = 0; i < MAX_WR; i++)
		cr_assert_eq(post(i), 0);
	message(10);
	message(11);
	cr_assert_eq(ibv_destroy_qp(pair.qp[B]), 0);
	cr_assert_eq(ibv_poll_cq(pair.cq[B], 1, &wc), 0);
	cr_assert_eq(post(20), 0);
	cr_assert_eq(post(21), 0);
	cr_assert_eq(post(22), ENOMEM, "two wait for another queue pair");
	open_b();
}

Test(srq_pair, busy_while_queue_pairs_use_it)
{
	cr_assert_eq(ibv_destroy_srq(srq), EBUSY);
	cr_assert_eq(post(1), 0, "and goes on");
	message(1);
	qp_done(&pair, B, 1, IBV_WC_SUCCESS);
}

/* Two queue pairs with one completion queue and this queue: what has come to one of them goes with it, and no more. */
Test(srq_pair, entries_of_another_queue_pair_stay)
{
	struct qp_pair other = pair;
	struct ibv_wc wc;

	for (int side = A; side <= B; side++) {
		struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
						 .send_cq = pair.cq[side],
						 .recv_cq = pair.cq[side],
						 .srq = side == B ? srq : NULL,
						 .cap = { QP_WR, 1, 1, 1, 0 },
						 .sq_sig_all = 1 };

		other.qp[side] = ibv_create_qp(pair.verbs.pd, &init);
		cr_assert_not_null(other.qp[side]);
	}
	qp_pair_meet(&other);
	for (uint64_t i = 0; i < MAX_WR; i++) {
		struct qp_pair *of = i % 2 ? &other : &pair;

		cr_assert_eq(post(i), 0);
		qp_post(of, A, IBV_WR_SEND, 0, 50, i);
		qp_done(of, A, i, IBV_WC_SUCCESS);
	}
	cr_assert_eq(ibv_destroy_qp(pair.qp[B]), 0);
	for (uint64_t i = 1; i < MAX_WR; i += 2)
		qp_done(&other, B, i, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_poll_cq(pair.cq[B], 1, &wc), 0);
	for (uint64_t i = 0; i < MAX_WR; i++)
		cr_assert_eq(post(i), 0, "all are free again");
	for (int side = A; side <= B; side++)
		cr_assert_eq(ibv_destroy_qp(other.qp[side]), 0);
	open_b();
}

/* Reports of this process alone, in a folder of its own. */
static char folder[] = "/tmp/emu-srq-pair-XXXXXX";

static void open_reported(void)
{
	cr_assert_not_null(mkdtemp(folder));
	setenv("FI_EMU_REPORT", folder, 1);
	open_pair();
}

static bool report_has(const char *text)
{
	static char all[1 << 16];
	char pattern[sizeof(folder) + sizeof("/*")];
	glob_t files;
	size_t length;
	FILE *file;

	snprintf(pattern, sizeof(pattern), "%s/*", folder);
	cr_assert_eq(glob(pattern, 0, NULL, &files), 0);
	cr_assert_eq(files.gl_pathc, 1);
	file = fopen(files.gl_pathv[0], "r");
	cr_assert_not_null(file);
	length = fread(all, 1, sizeof(all) - 1, file);
	all[length] = '\0';
	fclose(file);
	unlink(files.gl_pathv[0]);
	rmdir(folder);
	globfree(&files);
	return strstr(all, text);
}

TestSuite(srq_reported, .init = open_reported, .fini = close_pair, .timeout = 120);

Test(srq_reported, a_receive_that_is_too_short)
{
	cr_assert_eq(post(7), 0);
	qp_post(&pair, A, IBV_WR_SEND, 0, 101, 1);
	qp_done(&pair, A, 1, IBV_WC_REM_INV_REQ_ERR);
	qp_done(&pair, B, 7, IBV_WC_LOC_LEN_ERR);
	cr_assert(report_has("\"call\":\"ibv_post_srq_recv\""));
}
