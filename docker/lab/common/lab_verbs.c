/* SPDX-License-Identifier: BSD-2-Clause */
/* lab_verbs.c - see lab_verbs.h. */
#include "lab_verbs.h"

#include <stdbool.h>
#include <sys/random.h>
#include <time.h>

enum { QUEUE = 16, PORT = 1, GID_INDEX = 0, PSN_MASK = 0xffffff, TIMEOUT = 10, RETRIES = 2, RNR_FOR_EVER = 7 };

void lab_must(const char *call, int result)
{
	if (result)
		line_die(call, strerror(result < 0 ? errno : result));
}

static void make_queue_pair(struct lab *lab, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = lab->cq,
		.recv_cq = lab->cq,
		.cap = { .max_send_wr = QUEUE, .max_recv_wr = QUEUE, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = type,
		.sq_sig_all = 1, /* a completion for each request */
	};

	lab->qp = NEED(ibv_create_qp(lab->pd, &init));
}

/* All down to a queue pair, which is in RESET. */
static struct lab_place open_all(struct lab *lab, enum ibv_qp_type type)
{
	struct ibv_device **list = NEED(ibv_get_device_list(NULL));
	struct lab_place mine = { .psn = 0 };

	if (!list[0])
		line_die("ibv_get_device_list", "there is no device");
	lab->context = NEED(ibv_open_device(list[0]));
	ibv_free_device_list(list);
	lab->pd = NEED(ibv_alloc_pd(lab->context));
	lab->cq = NEED(ibv_create_cq(lab->context, QUEUE, NULL, NULL, 0));
	make_queue_pair(lab, type);
	MUST(ibv_query_gid(lab->context, PORT, GID_INDEX, &mine.gid));
	mine.qpn = lab->qp->qp_num;
	return mine;
}

struct lab_place lab_open(struct lab *lab)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = PORT,
				    .qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE };
	struct lab_place mine = open_all(lab, IBV_QPT_RC);

	MUST(ibv_modify_qp(lab->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	if (getrandom(&mine.psn, sizeof(mine.psn), 0) != sizeof(mine.psn))
		line_die("getrandom", strerror(errno));
	mine.psn &= PSN_MASK;
	return mine;
}

struct lab_place lab_open_datagrams(struct lab *lab, uint32_t qkey)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT, .qkey = qkey };
	struct lab_place mine = open_all(lab, IBV_QPT_UD);

	MUST(ibv_modify_qp(lab->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	MUST(ibv_modify_qp(lab->qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	MUST(ibv_modify_qp(lab->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	return mine;
}

void lab_ready_to_receive(struct lab *lab, const struct lab_place *peer, uint32_t rq_psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qpn,
		.rq_psn = rq_psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = PORT,
			     .grh = { .dgid = peer->gid, .sgid_index = GID_INDEX, .hop_limit = 1 } },
	};

	MUST(ibv_modify_qp(lab->qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
}

void lab_ready_to_send(struct lab *lab, uint32_t sq_psn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = sq_psn,
				    .timeout = TIMEOUT,
				    .retry_cnt = RETRIES,
				    .rnr_retry = RNR_FOR_EVER,
				    .max_rd_atomic = 1 };

	MUST(ibv_modify_qp(lab->qp, &attr,
			   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_MAX_QP_RD_ATOMIC));
}

struct ibv_mr *lab_register(struct lab *lab, void *memory, size_t length, unsigned int access)
{
	line_note_memory(memory, length);
	return NEED(ibv_reg_mr(lab->pd, memory, length, access));
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Until that time. False: none came. */
static bool await(struct lab *lab, const char *who, int64_t until_ms, struct ibv_wc *wc)
{
	const char *before = line_waits_in(who);
	int got;

	do
		got = ibv_poll_cq(lab->cq, 1, wc);
	while (!got && now_ms() < until_ms);
	line_waits_in(before);
	if (got < 0)
		line_die("ibv_poll_cq", "the completion queue is lost");
	if (got && wc->status != IBV_WC_SUCCESS)
		printf("error: %s\n", ibv_wc_status_str(wc->status));
	return got;
}

enum ibv_wc_status lab_wait(struct lab *lab)
{
	struct ibv_wc wc;

	await(lab, "lab_wait()", INT64_MAX, &wc);
	return wc.status;
}

int lab_wait_a_while(struct lab *lab, struct ibv_wc *wc)
{
	return await(lab, "lab_wait_a_while()", now_ms() + LAB_LOST_S * 1000, wc) && wc->status == IBV_WC_SUCCESS;
}

int lab_close(struct lab *lab)
{
	MUST(ibv_destroy_qp(lab->qp));
	MUST(ibv_destroy_cq(lab->cq));
	MUST(ibv_dealloc_pd(lab->pd));
	MUST(ibv_close_device(lab->context));
	return line_close(&lab->line);
}
