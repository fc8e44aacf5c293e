/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_qp_modify.c - ibv_modify_qp(): what a change that the table allows (vb_qp_rules.c) does to the endpoint. */
#include <errno.h>

#include "emu/nic/device/nic.h"
#include "emu/nic/endpoint/pair.h"
#include "emu/process/check/check_object.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/device/vb_gid.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/qp/vb_ah.h"
#include "emu/verbs/qp/vb_qp.h"
#include "emu/verbs/qp/vb_qp_kind.h"
#include "emu/verbs/qp/vb_qp_rules.h"
#include "emu/verbs/start/vb_refuse.h"

#define CALL "ibv_modify_qp"

enum { WHY = 256 };

static const struct vb_qp_limits limits = {
	.ports = VB_PORTS,
	.pkeys = VB_MAX_PKEYS,
	.gids = VB_GIDS,
	.mtu = VB_MTU_MAX,
	.rd_initiated = VB_MAX_RD_ATOMIC,
	.rd_answered = VB_MAX_RD_ATOMIC,
};

/* V92: local ACK timeout, in InfiniBand's steps, and so many retries of it: how long a peer may be out of reach. 0: for ever. */
static uint64_t budget_ns(const struct ibv_qp_attr *attr)
{
	uint64_t asked = (UINT64_C(4096) << attr->timeout) * (attr->retry_cnt + 1u);

	if (!attr->timeout)
		return UINT64_MAX / 8;
	return asked < VB_RETRY_LEAST_NS ? VB_RETRY_LEAST_NS : asked;
}

/* The codes of InfiniBand's table of RNR NAK timers, in 10 us. */
static uint32_t rnr_wait_us(uint8_t code)
{
	static const uint32_t table[32] = { 65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
					    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
					    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152 };

	return 10 * table[code & 31];
}

uint32_t vb_qp_caps(const struct vb_qp *qp, unsigned int access)
{
	uint32_t caps = EP_SEND | EP_RECV | EP_READ | EP_WRITE | (access & IBV_ACCESS_REMOTE_READ ? EP_REMOTE_READ : 0) |
			(access & IBV_ACCESS_REMOTE_WRITE ? EP_REMOTE_WRITE : 0) |
			(access & IBV_ACCESS_REMOTE_ATOMIC ? EP_REMOTE_ATOMIC_READ | EP_REMOTE_ATOMIC_WRITE : 0);

	return caps & qp->kind->caps;
}

/* The addresses of both sides, of a path that the rules allow. 0, or EINVAL after a line of log. */
static int addresses(const struct ibv_ah_attr *av, struct ep_pair *pair)
{
	struct vb_gid own;
	int err = vb_ah_addresses(CALL, av, &own, &pair->peer);

	if (!err)
		pair->own = own.at;
	return err;
}

/* The attributes that the mask names, as they are from now on. */
static void take_attributes(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
#define TAKE(bit, member)                          \
	do {                                       \
		if (mask & (bit))                  \
			to->member = from->member; \
	} while (0)
	TAKE(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	TAKE(IBV_QP_PKEY_INDEX, pkey_index);
	TAKE(IBV_QP_PORT, port_num);
	TAKE(IBV_QP_QKEY, qkey);
	TAKE(IBV_QP_AV, ah_attr);
	TAKE(IBV_QP_PATH_MTU, path_mtu);
	TAKE(IBV_QP_TIMEOUT, timeout);
	TAKE(IBV_QP_RETRY_CNT, retry_cnt);
	TAKE(IBV_QP_RNR_RETRY, rnr_retry);
	TAKE(IBV_QP_RQ_PSN, rq_psn);
	TAKE(IBV_QP_SQ_PSN, sq_psn);
	TAKE(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	TAKE(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TAKE(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	TAKE(IBV_QP_DEST_QPN, dest_qp_num);
	TAKE(IBV_QP_PATH_MIG_STATE, path_mig_state);
	to->en_sqd_async_notify = mask & IBV_QP_EN_SQD_ASYNC_NOTIFY && from->en_sqd_async_notify;
	to->rq_psn &= VB_PSN_MASK;
	to->sq_psn &= VB_PSN_MASK;
#undef TAKE
}

/* With the driver role, from here on. */

static void set_timing(struct vb_qp *qp, const struct ibv_qp_attr *attr) REQUIRES(driver_role)
{
	struct ep_timing timing = {
		.budget_ns = qp->kind->budget_ns ? qp->kind->budget_ns : budget_ns(attr),
		.rnr_most = attr->rnr_retry,
		.rnr_wait_us = rnr_wait_us(attr->min_rnr_timer),
	};

	ep_set_timing(qp->ep, &timing);
}

/* As if it were new. */
static void to_reset(struct vb_qp *qp) REQUIRES(driver_role)
{
	ep_reset(qp->ep);
	atomic_store(&qp->reads_none, false);
	qp->attr = (struct ibv_qp_attr){ 0 }; /* V61 */
}

static void to_err(struct vb_qp *qp) REQUIRES(driver_role)
{
	ep_halt(qp->ep);
	if (qp->srq && vb_qp_state(qp) != IBV_QPS_ERR) /* V130; else vb_qp_event() has told */
		vb_qp_tell(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
}

/* The event may come at once, and so may the failure of a request that was posted before, which brings it to ERR. */
static void hold_requests(struct vb_qp *qp, bool held, bool tell) REQUIRES(driver_role)
{
	vb_qp_enter(qp, held ? IBV_QPS_SQD : IBV_QPS_RTS);
	qp->tells_drained = tell;
	atomic_store(&qp->draining, held);
	ep_hold(qp->ep, held);
}

void vb_qp_fail(struct vb_qp *qp, bool fatal)
{
	if (vb_qp_state(qp) != IBV_QPS_ERR)
		to_err(qp);
	vb_qp_enter(qp, IBV_QPS_ERR);
	if (fatal)
		vb_qp_tell(qp, IBV_EVENT_QP_FATAL);
}

/* 0 or a negative errno. */
static int change_state(struct vb_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to, const struct ibv_qp_attr *attr,
			const struct ep_pair *pair) REQUIRES(driver_role)
{
	int err = 0;

	if (to != IBV_QPS_RESET && to != IBV_QPS_ERR && (to == IBV_QPS_SQD) != (from == IBV_QPS_SQD)) {
		hold_requests(qp, to == IBV_QPS_SQD, attr->en_sqd_async_notify);
		return 0;
	}
	if (to == IBV_QPS_RESET)
		to_reset(qp);
	else if (to == IBV_QPS_ERR && from != IBV_QPS_ERR)
		to_err(qp);
	else if (to == IBV_QPS_RTR && from == IBV_QPS_INIT)
		err = ep_pair(qp->ep, pair);
	else if (to == IBV_QPS_RTS && from == IBV_QPS_RTR)
		ep_pair_send(qp->ep, attr->sq_psn);
	else if (to == IBV_QPS_RTS && from == IBV_QPS_SQE)
		ep_go_on(qp->ep); /* V148, V184 */
	if (!err)
		vb_qp_enter(qp, to);
	return err;
}

/* A peer that may have no READ or atomic under way here may have none at all (V95). */
static uint32_t caps_of(const struct vb_qp *qp, const struct ibv_qp_attr *attr)
{
	const unsigned int both = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	if (attr->max_dest_rd_atomic || !(attr->qp_access_flags & both))
		return vb_qp_caps(qp, attr->qp_access_flags);
	return vb_qp_caps(qp, attr->qp_access_flags & ~both) | EP_NO_READS;
}

static int apply(struct vb_qp *qp, const struct ibv_qp_attr *asked, int mask, const struct ep_pair *pair) REQUIRES(driver_role)
{
	enum ibv_qp_state from = vb_qp_state(qp), to = vb_qp_next(from, asked, mask);
	struct ibv_qp_attr attr = qp->attr;
	int err;

	take_attributes(&attr, asked, mask); /* V51: a copy */
	err = change_state(qp, from, to, &attr, pair);
	if (err)
		return vb_refuse(-err, CALL, "no memory for the peer.");
	if (to == IBV_QPS_RESET)
		return 0;
	qp->attr = attr;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		atomic_store(&qp->reads_none, !attr.max_rd_atomic);
	ep_set_caps(qp->ep, caps_of(qp, &attr)); /* V36, V39 */
	set_timing(qp, &attr);
	atomic_store(&qp->qkey, attr.qkey);
	ep_set_qkey(qp->ep, attr.qkey);
	return 0;
}

/* May it be changed so in this state? 0 and the pairing that is asked for; or an errno, after a line of log. */
static int judge_change(const struct vb_qp *qp, enum ibv_qp_state state, const struct ibv_qp_attr *attr, int mask,
			struct ep_pair *pair)
{
	char why[WHY];
	int err = vb_qp_check(qp->head.ibv.qp_type, state, attr, mask, &limits, why, sizeof(why));

	if (err)
		return vb_refuse(err, CALL, "%s.", why);
	*pair = (struct ep_pair){ .peer_qpn = attr->dest_qp_num, .rq_psn = attr->rq_psn & VB_PSN_MASK };
	if (mask & IBV_QP_PATH_MTU)
		pair->path_mtu = 128u << attr->path_mtu;
	return mask & IBV_QP_AV ? addresses(&attr->ah_attr, pair) : 0;
}

static int modify(struct vb_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct ep_pair pair;

	for (;;) {
		enum ibv_qp_state state = vb_qp_state(qp);
		int err = judge_change(qp, state, attr, mask, &pair);

		if (err)
			return err;
		err = vb_context_enter(qp->context, CALL);
		if (err)
			return err;
		if (vb_qp_state(qp) == state)
			err = apply(qp, attr, mask, &pair);
		else
			err = EINTR; /* the device has brought it to ERR meanwhile: once more */
		vb_context_leave(qp->context);
		if (err != EINTR)
			return err;
	}
}

/* No post comes between: what was posted, and what completed and was not polled, is gone. Posts that hold these locks do not wait
 * for the driver role. */
static int modify_to_reset(struct vb_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	int err;

	futex_lock(&qp->send_lock);
	futex_lock(&qp->recv_lock);
	err = modify(qp, attr, mask);
	if (!err) {
		vb_qp_purge(qp); /* V60 */
		vb_queue_reset(&qp->sq);
		vb_queue_reset(&qp->rq);
		check_settle();
	}
	futex_unlock(&qp->recv_lock);
	futex_unlock(&qp->send_lock);
	return err;
}

int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	struct vb_qp *qp = vb_qp_real(vb_qp_of(ibv));
	int err = vb_qp_check_handle(qp, CALL);

	if (!err)
		err = vb_fault("ibv_modify_qp", ibv->context, qp->number);
	if (err)
		return err;
	mutex_lock(&qp->modify);
	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		err = modify_to_reset(qp, attr, mask);
	else
		err = modify(qp, attr, mask);
	mutex_unlock(&qp->modify);
	if (ibv != &qp->head.ibv)
		ibv->state = vb_qp_state(qp);
	return err;
}
