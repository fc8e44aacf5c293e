/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_kit_open.c - see verbs_kit_impl.h. */
#include "tests/races/verbs/verbs_kit_impl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |
		 IBV_ACCESS_MW_BIND,
	REMOTE = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	DEPTH = 32,
	LIST = 4,
	INLINE = 64,
	PSN = 0x123,
};

struct ibv_qp_init_attr kit_qp_attr(void)
{
	return (struct ibv_qp_init_attr){ .cap = { DEPTH, DEPTH, LIST, LIST, INLINE },
					  .qp_type = wanted()->type ? wanted()->type : IBV_QPT_RC,
					  .srq = mine.srq };
}

static void open_device(void)
{
	if (wanted()->manager) {
		mine.context = manager_open();
	} else {
		mine.list = ibv_get_device_list(NULL);
		NEED(mine.list && mine.list[0]);
		mine.context = ibv_open_device(mine.list[0]);
	}
	NEED(mine.context);
	mine.pd = ibv_alloc_pd(mine.context);
	NEED(mine.pd);
	mine.mr = ibv_reg_mr(mine.pd, mine.memory, SPAN, ACCESS);
	NEED(mine.mr);
}

static void open_queues(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = DEPTH, .max_sge = LIST } };

	if (wanted()->events)
		NEED(mine.channel = ibv_create_comp_channel(mine.context));
	for (unsigned lane = 0; lane < LANES; lane++) {
		mine.sends[lane] = ibv_create_cq(mine.context, SIDES * DEPTH, NULL, mine.channel, 0);
		mine.receives[lane] = ibv_create_cq(mine.context, SIDES * DEPTH, NULL, NULL, 0);
		NEED(mine.sends[lane] && mine.receives[lane]);
	}
	if (wanted()->srq)
		NEED(mine.srq = ibv_create_srq(mine.pd, &init));
}

static struct ibv_qp *extended_pair(const struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex wide = { .send_cq = init->send_cq,
					    .recv_cq = init->recv_cq,
					    .cap = init->cap,
					    .qp_type = init->qp_type,
					    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .pd = mine.pd,
					    .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE };

	return ibv_create_qp_ex(mine.context, &wide);
}

static void open_pair(unsigned to, unsigned lane)
{
	struct ibv_qp_init_attr init = kit_qp_attr();

	init.send_cq = mine.sends[lane];
	init.recv_cq = mine.receives[lane];
	mine.qp[to][lane] = wanted()->extended ? extended_pair(&init) : ibv_create_qp(mine.pd, &init);
	NEED(mine.qp[to][lane]);
}

/* --- states --- */

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY, .qp_access_flags = REMOTE };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);

	NEED(!ibv_modify_qp(qp, &attr, mask));
}

static struct ibv_ah_attr path_to(const struct remote *remote)
{
	return (struct ibv_ah_attr){ .is_global = 1, .port_num = 1, .grh = { .dgid = remote->gid, .hop_limit = 1 } };
}

static void to_rtr(struct ibv_qp *qp, const struct remote *remote, unsigned lane)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .ah_attr = path_to(remote),
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = remote->qp_num[race_self][lane],
				    .rq_psn = PSN,
				    .max_dest_rd_atomic = 16,
				    .min_rnr_timer = 1 };
	int mask = IBV_QP_STATE;

	if (qp->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	NEED(!ibv_modify_qp(qp, &attr, mask));
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = PSN, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 16
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	NEED(!ibv_modify_qp(qp, &attr, mask));
}

/* What the sides know of each other. */
static void exchange(void)
{
	struct remote own = { .at = (uintptr_t)mine.memory, .rkey = mine.mr->rkey };

	NEED(!ibv_query_gid(mine.context, 1, 0, &own.gid));
	for (unsigned to = 0; to < SIDES; to++)
		for (unsigned lane = 0; lane < LANES; lane++)
			if (mine.qp[to][lane])
				own.qp_num[to][lane] = mine.qp[to][lane]->qp_num;
	race_swap(&own, mine.remote, sizeof(own));
}

static void connect_pairs(unsigned to)
{
	for (unsigned lane = 0; lane < LANES; lane++) {
		to_init(mine.qp[to][lane]);
		to_rtr(mine.qp[to][lane], &mine.remote[to], lane);
		to_rts(mine.qp[to][lane]);
	}
	if (wanted()->type == IBV_QPT_UD) {
		struct ibv_ah_attr path = path_to(&mine.remote[to]);

		mine.ah[to] = ibv_create_ah(mine.pd, &path);
		NEED(mine.ah[to]);
	}
}

static void open_pairs(void)
{
	for (unsigned to = 0; to < race_this->sides; to++)
		for (unsigned lane = 0; lane < LANES && to != race_self; lane++)
			open_pair(to, lane);
	exchange();
	for (unsigned to = 0; to < race_this->sides; to++)
		if (to != race_self)
			connect_pairs(to);
}

void race_open(void)
{
	mine.memory = mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(mine.memory != MAP_FAILED);
	if (wanted()->stream) {
		stream_open();
		return;
	}
	open_device();
	open_queues();
	if (wanted()->manager) {
		manager_connect();
		exchange();
	} else {
		open_pairs();
	}
}

static void close_pairs(void)
{
	for (unsigned to = 0; to < race_this->sides; to++) {
		for (unsigned lane = 0; lane < LANES; lane++)
			if (mine.qp[to][lane])
				NEED(!ibv_destroy_qp(mine.qp[to][lane]));
		if (mine.ah[to])
			NEED(!ibv_destroy_ah(mine.ah[to]));
	}
}

void race_close(void)
{
	if (wanted()->stream) {
		stream_close();
		munmap(mine.memory, SPAN);
		return;
	}
	if (wanted()->manager)
		manager_close();
	else
		close_pairs();
	if (mine.srq)
		NEED(!ibv_destroy_srq(mine.srq));
	for (unsigned lane = 0; lane < LANES; lane++) {
		NEED(!ibv_destroy_cq(mine.sends[lane]));
		NEED(!ibv_destroy_cq(mine.receives[lane]));
	}
	if (mine.channel)
		NEED(!ibv_destroy_comp_channel(mine.channel));
	NEED(!ibv_dereg_mr(mine.mr));
	NEED(!ibv_dealloc_pd(mine.pd));
	if (mine.list) {
		NEED(!ibv_close_device(mine.context));
		ibv_free_device_list(mine.list);
	}
	munmap(mine.memory, SPAN);
}
