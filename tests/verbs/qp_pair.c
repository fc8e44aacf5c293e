/* SPDX-License-Identifier: BSD-2-Clause */
/* qp_pair.c - see qp_pair.h. */
#include "tests/verbs/qp_pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	GUARD_S = 60,
	PATIENCE = 10000, /* polls */
	PAUSE_US = 1000
};

void qp_pair_open(struct qp_pair *pair)
{
	qp_pair_open_type(pair, IBV_QPT_RC);
}

void qp_pair_open_type(struct qp_pair *pair, enum ibv_qp_type type)
{
	memset(pair, 0, sizeof(*pair));
	verbs_open(&pair->verbs);
	pair->access = ACCESS;
	pair->timeout = 14;
	pair->rnr_retry = 7;
	for (int side = 0; side < 2; side++) {
		struct ibv_qp_init_attr init = { .qp_type = type,
						 .cap = { QP_WR, QP_WR, QP_SGE, QP_SGE, QP_INLINE },
						 .sq_sig_all = 1 };

		pair->memory[side] = calloc(1, QP_SPAN);
		pair->mr[side] = ibv_reg_mr(pair->verbs.pd, pair->memory[side], QP_SPAN, ACCESS);
		pair->cq[side] = ibv_create_cq(pair->verbs.context, 4 * QP_WR, NULL, NULL, 0);
		cr_assert(pair->mr[side] && pair->cq[side]);
		init.send_cq = init.recv_cq = pair->cq[side];
		pair->qp[side] = ibv_create_qp(pair->verbs.pd, &init);
		cr_assert_not_null(pair->qp[side]);
	}
}

void qp_pair_close_queues(struct qp_pair *pair)
{
	for (int side = 0; side < 2; side++)
		cr_assert_eq(ibv_destroy_qp(pair->qp[side]), 0);
	for (int side = 0; side < 2; side++) {
		cr_assert_eq(ibv_destroy_cq(pair->cq[side]), 0);
		cr_assert_eq(ibv_dereg_mr(pair->mr[side]), 0);
		free(pair->memory[side]);
	}
}

void qp_pair_close(struct qp_pair *pair)
{
	qp_pair_close_queues(pair);
	verbs_close(&pair->verbs);
}

void qp_replace(struct qp_pair *pair, int side, struct ibv_qp_init_attr init)
{
	if (!init.qp_type)
		init.qp_type = pair->qp[side]->qp_type;
	if (!init.send_cq)
		init.send_cq = pair->cq[side];
	if (!init.recv_cq)
		init.recv_cq = pair->cq[side];
	cr_assert_eq(ibv_destroy_qp(pair->qp[side]), 0);
	pair->qp[side] = ibv_create_qp(pair->verbs.pd, &init);
	cr_assert_not_null(pair->qp[side]);
}

static void fill_address(const struct qp_pair *pair, struct ibv_ah_attr *av)
{
	av->is_global = 1;
	av->port_num = 1;
	av->grh.hop_limit = 1;
	cr_assert_eq(ibv_query_gid(pair->verbs.context, 1, 0, &av->grh.dgid), 0);
}

/* Without the attributes that the type has not. */
static int masked(const struct qp_pair *pair, int side, int mask)
{
	static const int answers = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
			 asks = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

	switch (pair->qp[side]->qp_type) {
	case IBV_QPT_UC:
		return mask & ~(answers | asks | IBV_QP_TIMEOUT);
	case IBV_QPT_XRC_SEND:
		return mask & ~answers;
	case IBV_QPT_XRC_RECV:
		return mask & ~asks;
	default:
		return mask;
	}
}

int qp_attr_for(const struct qp_pair *pair, int side, enum ibv_qp_state state, struct ibv_qp_attr *attr)
{
	*attr = (struct ibv_qp_attr){ .qp_state = state };
	switch (state) {
	case IBV_QPS_INIT:
		attr->port_num = 1;
		attr->qp_access_flags = pair->access;
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	case IBV_QPS_RTR:
		fill_address(pair, &attr->ah_attr);
		attr->path_mtu = IBV_MTU_1024;
		attr->dest_qp_num = pair->qp[!side]->qp_num;
		attr->rq_psn = QP_PSN;
		attr->max_dest_rd_atomic = 16;
		attr->min_rnr_timer = 1;
		return masked(pair, side,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	case IBV_QPS_RTS:
		attr->sq_psn = QP_PSN;
		attr->timeout = pair->timeout;
		attr->retry_cnt = 7;
		attr->rnr_retry = pair->rnr_retry;
		attr->max_rd_atomic = 16;
		return masked(pair, side,
			      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_MAX_QP_RD_ATOMIC);
	default:
		return IBV_QP_STATE;
	}
}

void qp_to(struct qp_pair *pair, int side, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr;
	int mask = qp_attr_for(pair, side, state, &attr);

	cr_assert_eq(ibv_modify_qp(pair->qp[side], &attr, mask), 0);
	cr_assert_eq(pair->qp[side]->state, state);
}

void qp_pair_meet(struct qp_pair *pair)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		for (int side = 0; side < 2; side++)
			qp_to(pair, side, states[i]);
}

struct ibv_send_wr qp_request(const struct qp_pair *pair, int side, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length,
			      struct ibv_sge *sge)
{
	struct ibv_send_wr wr = { .opcode = opcode, .sg_list = sge, .num_sge = 1 };

	*sge = (struct ibv_sge){ (uintptr_t)pair->memory[side], length, pair->mr[side]->lkey };
	wr.wr.rdma.remote_addr = (uintptr_t)pair->memory[!side] + at;
	wr.wr.rdma.rkey = pair->mr[!side]->rkey;
	return wr;
}

void qp_post(struct qp_pair *pair, int side, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length, uint64_t wr_id)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(pair, side, opcode, at, length, &sge), *bad;

	wr.wr_id = wr_id;
	cr_assert_eq(ibv_post_send(pair->qp[side], &wr, &bad), 0);
}

void qp_receive(struct qp_pair *pair, int side, uint32_t length, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)pair->memory[side], length, pair->mr[side]->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad = NULL;

	cr_assert_eq(ibv_post_recv(pair->qp[side], &wr, &bad), 0);
	cr_assert_null(bad);
}

struct ibv_wc qp_next(struct qp_pair *pair, int side)
{
	time_t end = time(NULL) + GUARD_S;
	struct ibv_wc wc;
	int n;

	for (int looks = 0; (n = ibv_poll_cq(pair->cq[side], 1, &wc)) == 0; looks++) {
		cr_assert_lt(time(NULL), end, "nothing completes");
		if (looks > PATIENCE) /* it waits for the end of retries, while other tests need the processor */
			usleep(PAUSE_US);
	}
	cr_assert_eq(n, 1);
	return wc;
}

struct ibv_wc qp_done(struct qp_pair *pair, int side, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = qp_next(pair, side);

	cr_assert(wc.wr_id == wr_id && wc.status == status, "request %llu came with \"%s\", and not %llu with %d",
		  (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status), (unsigned long long)wr_id, (int)status);
	cr_assert_eq(wc.qp_num, pair->qp[side]->qp_num);
	return wc;
}
