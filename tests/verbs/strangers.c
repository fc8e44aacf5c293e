/* SPDX-License-Identifier: BSD-2-Clause */
/* strangers.c - objects that belong elsewhere: of another context, of the parent of a fork, of another queue pair. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/verbs/qp_pair.h"

enum { A, B };

static struct qp_pair pair, other;

static void begin(void)
{
	qp_pair_open(&pair);
}

static void end(void)
{
	qp_pair_close(&pair);
}

TestSuite(verbs_strangers, .init = begin, .fini = end, .timeout = 120);

/* --- of another context --- */

static void refused(struct ibv_qp_init_attr_ex init)
{
	init.qp_type = IBV_QPT_RC;
	init.cap = (struct ibv_qp_cap){ 1, 1, 1, 1, 0 };
	/* with one bit more than the PD's, or it is the inline ibv_create_qp() */
	init.comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS | (init.pd ? IBV_QP_INIT_ATTR_PD : 0);
	errno = 0;
	cr_assert_null(ibv_create_qp_ex(pair.verbs.context, &init));
	cr_assert_eq(errno, EINVAL);
}

Test(verbs_strangers, of_another_context)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_srq_init_attr_ex srq_ex = { .comp_mask = IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD, .attr = { .max_wr = 1 } };
	struct ibv_pd *pd = pair.verbs.pd;
	struct ibv_cq *cq = pair.cq[A];
	struct ibv_srq *srq;

	qp_pair_open(&other);
	srq = ibv_create_srq(other.verbs.pd, &srq_init);
	refused((struct ibv_qp_init_attr_ex){ .pd = other.verbs.pd, .send_cq = cq, .recv_cq = cq });
	refused((struct ibv_qp_init_attr_ex){ .pd = pd, .send_cq = other.cq[A], .recv_cq = cq });
	refused((struct ibv_qp_init_attr_ex){ .pd = pd, .send_cq = cq, .recv_cq = other.cq[A] });
	refused((struct ibv_qp_init_attr_ex){ .pd = pd, .send_cq = cq, .recv_cq = cq, .srq = srq });
	refused((struct ibv_qp_init_attr_ex){ .pd = pd, .send_cq = cq });
	refused((struct ibv_qp_init_attr_ex){ .pd = pd, .recv_cq = cq });
	refused((struct ibv_qp_init_attr_ex){ .send_cq = cq, .recv_cq = cq });
	srq_ex.pd = other.verbs.pd;
	errno = 0;
	cr_assert_null(ibv_create_srq_ex(pair.verbs.context, &srq_ex));
	cr_assert_eq(errno, EINVAL);
	cr_assert_eq(ibv_destroy_srq(srq), 0, "nothing holds it");
	qp_pair_close(&other);
}

/* A PD that comp_mask does not name is none, and one that it names is there. */
Test(verbs_strangers, of_no_pd)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RC,
					    .send_cq = pair.cq[A],
					    .recv_cq = pair.cq[A],
					    .cap = { 1, 1, 1, 1, 0 },
					    .pd = pair.verbs.pd,
					    .comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS };

	errno = 0;
	cr_assert_null(ibv_create_qp_ex(pair.verbs.context, &init));
	cr_assert_eq(errno, EINVAL);
	init.pd = NULL;
	init.comp_mask |= IBV_QP_INIT_ATTR_PD;
	errno = 0;
	cr_assert_null(ibv_create_qp_ex(pair.verbs.context, &init));
	cr_assert_eq(errno, EINVAL);
	cr_assert_null(ibv_qp_to_qp_ex(pair.qp[A]), "it was made without send_ops_flags");
}

/* Handles that were overwritten name no object. */
Test(verbs_strangers, of_a_wrong_handle)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pair.verbs.pd, &init);

	srq->handle ^= 0x5a5a;
	refused((struct ibv_qp_init_attr_ex){ .pd = pair.verbs.pd, .send_cq = pair.cq[A], .recv_cq = pair.cq[A], .srq = srq });
	srq->handle ^= 0x5a5a;
	pair.cq[B]->handle ^= 0x5a5a;
	refused((struct ibv_qp_init_attr_ex){ .pd = pair.verbs.pd, .send_cq = pair.cq[A], .recv_cq = pair.cq[B] });
	refused((struct ibv_qp_init_attr_ex){ .pd = pair.verbs.pd, .send_cq = pair.cq[B], .recv_cq = pair.cq[A] });
	pair.cq[B]->handle ^= 0x5a5a;
	cr_assert_eq(ibv_destroy_srq(srq), 0);
}

static void unsupported(struct ibv_qp_init_attr_ex init)
{
	init.pd = pair.verbs.pd;
	init.send_cq = init.recv_cq = pair.cq[A];
	init.cap = (struct ibv_qp_cap){ 1, 1, 1, 1, 0 };
	init.comp_mask |= IBV_QP_INIT_ATTR_PD;
	errno = 0;
	cr_assert_null(ibv_create_qp_ex(pair.verbs.context, &init));
	cr_assert_eq(errno, EOPNOTSUPP);
}

Test(verbs_strangers, of_kinds_that_there_are_not)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER, (enum ibv_qp_type)0 };
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RC };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		unsupported((struct ibv_qp_init_attr_ex){ .qp_type = types[i] });
	init.comp_mask = IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	unsupported(init);
	init.comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS;
	init.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	unsupported(init);
	init.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init.send_ops_flags = IBV_QP_EX_WITH_TSO;
	unsupported(init);
}

/* --- of the parent of a fork --- */

static struct ibv_srq *srq;
static struct ibv_qp_ex *ex;

/* 0, or the number of the call that did not say ENODEV. */
static int calls_in_child(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = pair.cq[A], .recv_cq = pair.cq[A], .cap = { 1, 1, 1, 1, 0 }
	};
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_recv_wr receive = { .wr_id = 1 }, *bad_receive = NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_srq_attr srq_attr = { .max_wr = 2 };

	if (ibv_post_send(pair.qp[A], &wr, &bad) != ENODEV || bad != &wr)
		return 1;
	if (ibv_post_recv(pair.qp[A], &receive, &bad_receive) != ENODEV || bad_receive != &receive)
		return 2;
	bad_receive = NULL;
	if (ibv_post_srq_recv(srq, &receive, &bad_receive) != ENODEV || bad_receive != &receive)
		return 3;
	if (ibv_modify_qp(pair.qp[A], &attr, IBV_QP_STATE) != ENODEV)
		return 4;
	if (ibv_query_qp(pair.qp[A], &attr, IBV_QP_STATE, &init) != ENODEV)
		return 5;
	if (ibv_modify_srq(srq, &srq_attr, IBV_SRQ_MAX_WR) != ENODEV || ibv_query_srq(srq, &srq_attr) != ENODEV)
		return 6;
	if (ibv_create_qp(pair.verbs.pd, &init) || errno != ENODEV)
		return 7;
	if (ibv_create_srq(pair.verbs.pd, &srq_init) || errno != ENODEV)
		return 8;
	if (ibv_create_cq(pair.verbs.context, 1, NULL, NULL, 0) || errno != ENODEV)
		return 9;
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	return ibv_wr_complete(ex) == ENODEV ? 0 : 10;
}

/* All that the parent had can be destroyed there, in any order of the kinds that the parent may use. */
static int ends_in_child(void)
{
	return ibv_destroy_qp(pair.qp[A]) || ibv_destroy_qp(pair.qp[B]) || ibv_destroy_qp(&ex->qp_base) || ibv_destroy_srq(srq) ||
	       ibv_destroy_cq(pair.cq[A]) || ibv_destroy_cq(pair.cq[B]) || ibv_dereg_mr(pair.mr[A]) || ibv_dereg_mr(pair.mr[B]) ||
	       ibv_dealloc_pd(pair.verbs.pd) || ibv_close_device(pair.verbs.context);
}

static int child_ends_with(pid_t child)
{
	int status;

	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status), "status 0x%x", (unsigned int)status);
	return WEXITSTATUS(status);
}

Test(verbs_strangers, of_the_parent_of_a_fork)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RC,
					    .send_cq = pair.cq[A],
					    .recv_cq = pair.cq[A],
					    .cap = { 1, 1, 1, 1, 0 },
					    .pd = pair.verbs.pd,
					    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .send_ops_flags = IBV_QP_EX_WITH_SEND };
	pid_t child;

	srq = ibv_create_srq(pair.verbs.pd, &srq_init);
	ex = ibv_qp_to_qp_ex(ibv_create_qp_ex(pair.verbs.context, &init));
	cr_assert(srq && ex);
	qp_pair_meet(&pair);
	child = fork();
	if (!child)
		_exit(calls_in_child());
	cr_assert_eq(child_ends_with(child), 0, "the number of the call");
	child = fork();
	if (!child)
		_exit(ends_in_child());
	cr_assert_eq(child_ends_with(child), 0);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, 1); /* the parent's go on */
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_destroy_qp(&ex->qp_base), 0);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
}

/* --- of another queue pair --- */

static struct ibv_comp_channel *channel;
static struct ibv_cq *sends, *receives; /* of A's side, of `pair` and `other` */

static void arm(struct ibv_cq *cq)
{
	cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
}

/* From now on the entry is there. */
static void told(struct ibv_cq *wanted)
{
	struct ibv_cq *cq;
	void *context;

	cr_assert_eq(ibv_get_cq_event(channel, &cq, &context), 0);
	cr_assert_eq(cq, wanted);
	ibv_ack_cq_events(cq, 1);
}

/* Leaves one in both queues. */
static void complete_one(struct qp_pair *of, uint64_t wr_id)
{
	arm(sends);
	qp_post(of, A, IBV_WR_RDMA_WRITE, 0, 8, wr_id);
	told(sends);
	arm(receives);
	qp_receive(of, A, 8, wr_id);
	qp_post(of, B, IBV_WR_SEND, 0, 8, wr_id);
	told(receives);
	qp_done(of, B, wr_id, IBV_WC_SUCCESS);
}

static void open_neighbours(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { QP_WR, QP_WR, 1, 1, 0 }, .sq_sig_all = 1 };

	channel = ibv_create_comp_channel(pair.verbs.context);
	sends = ibv_create_cq(pair.verbs.context, 4 * QP_WR, NULL, channel, 0);
	receives = ibv_create_cq(pair.verbs.context, 4 * QP_WR, NULL, channel, 0);
	cr_assert(channel && sends && receives);
	other = pair;
	init.send_cq = init.recv_cq = pair.cq[B];
	other.qp[B] = ibv_create_qp(pair.verbs.pd, &init);
	init.send_cq = sends;
	init.recv_cq = receives;
	other.qp[A] = ibv_create_qp(pair.verbs.pd, &init);
	qp_replace(&pair, A, init);
	qp_pair_meet(&pair);
	qp_pair_meet(&other);
	for (uint64_t i = 0; i < 3; i++) {
		complete_one(&pair, 100 + i);
		complete_one(&other, 200 + i);
	}
}

/* The neighbour's entries are there, in their order, and no others. */
static void only_neighbours_entries(void)
{
	struct ibv_cq *const queues[] = { sends, receives };
	struct ibv_wc wc;

	for (int queue = 0; queue < 2; queue++) {
		other.cq[A] = queues[queue];
		for (uint64_t i = 0; i < 3; i++)
			qp_done(&other, A, 200 + i, IBV_WC_SUCCESS);
		cr_assert_eq(ibv_poll_cq(queues[queue], 1, &wc), 0);
	}
}

static void close_neighbours(void)
{
	cr_assert_eq(ibv_destroy_qp(other.qp[A]), 0);
	cr_assert_eq(ibv_destroy_qp(other.qp[B]), 0);
	cr_assert_eq(ibv_destroy_cq(sends), 0);
	cr_assert_eq(ibv_destroy_cq(receives), 0);
	cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
}

/* Entries that nobody has polled go with their queue pair, out of both its completion queues; those of others stay. */
Test(verbs_strangers, entries_of_a_queue_pair_that_is_destroyed)
{
	open_neighbours();
	qp_replace(&pair, A, (struct ibv_qp_init_attr){ .cap = { 1, 1, 1, 1, 0 } });
	only_neighbours_entries();
	close_neighbours();
}

Test(verbs_strangers, entries_of_a_queue_pair_that_is_reset)
{
	open_neighbours();
	qp_to(&pair, A, IBV_QPS_RESET);
	only_neighbours_entries();
	qp_to(&pair, B, IBV_QPS_RESET);
	qp_pair_meet(&pair);
	for (uint64_t i = 0; i < QP_WR; i++) /* there is room for as many as ever */
		qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, i);
	for (uint64_t i = 0; i < QP_WR; i++)
		qp_receive(&pair, A, 8, i);
	qp_replace(&pair, A, (struct ibv_qp_init_attr){ .cap = { 1, 1, 1, 1, 0 } });
	close_neighbours();
}
