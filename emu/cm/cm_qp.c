/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_qp.c - an id's queue pair, its completion queues, and its way to the peer. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cm/cm_id.h"

enum {
	ACK_TIMEOUT = 18,
	INLINE_LEAST = 16, /* as of devices whose requests have room for a list: rdma_xclient asks for none, and uses it */
	SAME = offsetof(struct ibv_qp_init_attr_ex, comp_mask), /* bytes of struct ibv_qp_init_attr */
};

/* --- attributes --- */

static void fill_init(const struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	attr->port_num = id->id.port_num;
	attr->pkey_index = 0;
	attr->qp_access_flags = id->knows_peer ? IBV_ACCESS_REMOTE_WRITE : 0;
	if (id->knows_peer && id->responder_resources)
		attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

static void fill_rtr(const struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	cm_fill_ah(id, &id->peer_gid, &attr->ah_attr);
	attr->path_mtu = IBV_MTU_1024;
	attr->dest_qp_num = id->peer_qpn;
	attr->rq_psn = id->peer_psn;
	attr->max_dest_rd_atomic = id->responder_resources;
	attr->min_rnr_timer = 0;
	*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		IBV_QP_MIN_RNR_TIMER;
}

static void fill_rts(const struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	attr->sq_psn = id->psn;
	attr->timeout = id->has_ack_timeout ? id->ack_timeout : ACK_TIMEOUT;
	attr->retry_cnt = id->retry_count;
	attr->rnr_retry = id->rnr_retry_count;
	attr->max_rd_atomic = id->initiator_depth;
	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
}

/* Of a queue pair for datagrams, which knows no peer. */
static void fill_datagrams(const struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	*mask = IBV_QP_STATE;
	if (attr->qp_state == IBV_QPS_INIT) {
		attr->port_num = id->id.port_num;
		attr->pkey_index = 0;
		attr->qkey = RDMA_UDP_QKEY;
		*mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	} else if (attr->qp_state == IBV_QPS_RTS) {
		attr->sq_psn = 0;
		*mask |= IBV_QP_SQ_PSN;
	}
}

/* With cm_lock. 0 or EINVAL, after a line of log. V218. */
static int init_attr(const struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	const char *call = "rdma_init_qp_attr";

	if (!id->id.verbs)
		return vb_refuse(EINVAL, call, "the id has no device yet. Call rdma_resolve_addr() or rdma_bind_addr() first.");
	if (attr->qp_state != IBV_QPS_INIT && attr->qp_state != IBV_QPS_RTR && attr->qp_state != IBV_QPS_RTS)
		return vb_refuse(EINVAL, call, "qp_state is %d. It has attributes for INIT, RTR and RTS.", (int)attr->qp_state);
	if (cm_is_ud(id)) {
		fill_datagrams(id, attr, mask);
		return 0;
	}
	if (attr->qp_state == IBV_QPS_INIT) {
		fill_init(id, attr, mask);
		return 0;
	}
	if (!id->knows_peer)
		return vb_refuse(EINVAL, call, "the peer's queue pair is not known. Wait for its request or its reply.");
	if (attr->qp_state == IBV_QPS_RTR)
		fill_rtr(id, attr, mask);
	else
		fill_rts(id, attr, mask);
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *pub, struct ibv_qp_attr *attr, int *mask)
{
	int err;

	if (!pub || !attr || !mask)
		return cm_refuse(EINVAL, "rdma_init_qp_attr", "id, qp_attr or qp_attr_mask is NULL.");
	cm_hold();
	err = init_attr(cm_id_of(pub), attr, mask);
	cm_let_go();
	return cm_result(err);
}

static int to_state(const struct cm_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask, err = init_attr(id, &attr, &mask);

	return err ? err : ibv_modify_qp(id->id.qp, &attr, mask);
}

static int to_ready(const struct cm_id *id)
{
	int err = to_state(id, IBV_QPS_INIT);

	if (!err)
		err = to_state(id, IBV_QPS_RTR);
	return err ? err : to_state(id, IBV_QPS_RTS);
}

int cm_qp_ready(struct cm_id *id)
{
	return id->id.qp ? to_ready(id) : 0; /* with the rights that go with the peer's request or reply */
}

void cm_qp_err(struct cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (id->id.qp && id->id.qp->state != IBV_QPS_RESET)
		(void)ibv_modify_qp(id->id.qp, &attr, IBV_QP_STATE);
}

/* --- completion queues that the program leaves to the library --- */

static void destroy_cqs(const struct rdma_cm_id *id)
{
	if (id->recv_cq)
		ibv_destroy_cq(id->recv_cq);
	if (id->recv_cq_channel)
		ibv_destroy_comp_channel(id->recv_cq_channel);
	if (id->send_cq && id->send_cq != id->recv_cq)
		ibv_destroy_cq(id->send_cq);
	if (id->send_cq_channel && id->send_cq_channel != id->recv_cq_channel)
		ibv_destroy_comp_channel(id->send_cq_channel);
}

static int create_cq(struct rdma_cm_id *id, uint32_t size, struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	*channel = ibv_create_comp_channel(id->verbs);
	if (!*channel)
		return errno;
	*cq = ibv_create_cq(id->verbs, size ? (int)size : 1, id, *channel, 0);
	return *cq ? 0 : errno;
}

/* What the id has already is its shared receive queue's, too. */
static int create_cqs(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	int err = 0;

	if (!attr->recv_cq && !id->recv_cq)
		err = create_cq(id, attr->cap.max_recv_wr, &id->recv_cq_channel, &id->recv_cq);
	if (!err && !attr->send_cq)
		err = create_cq(id, attr->cap.max_send_wr, &id->send_cq_channel, &id->send_cq);
	if (err)
		return err;
	if (!attr->recv_cq)
		attr->recv_cq = id->recv_cq;
	if (!attr->send_cq)
		attr->send_cq = id->send_cq;
	return 0;
}

/* With cm_lock. Takes those that nothing of the id's uses any more, to be destroyed without it. */
static struct rdma_cm_id take_cqs(struct cm_id *id)
{
	struct rdma_cm_id had = { 0 };

	if (!id->id.qp) {
		had.send_cq = id->id.send_cq;
		had.send_cq_channel = id->id.send_cq_channel;
		id->id.send_cq = NULL;
		id->id.send_cq_channel = NULL;
	}
	if (!id->id.qp && !id->srq_has_cq) {
		had.recv_cq = id->id.recv_cq;
		had.recv_cq_channel = id->id.recv_cq_channel;
		id->id.recv_cq = NULL;
		id->id.recv_cq_channel = NULL;
	}
	return had;
}

/* Likewise, of a call that has failed. */
static void undo_cqs(struct cm_id *id)
{
	struct rdma_cm_id had = take_cqs(id);

	destroy_cqs(&had);
}

/* --- queue pairs --- */

/* V208 */
static int qp_check(struct cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	const char *call = "rdma_create_qp";

	if (!id || !attr)
		return vb_refuse(EINVAL, call, "id or qp_init_attr is NULL.");
	if (!id->id.verbs)
		return vb_refuse(EINVAL, call, "the id has no device yet. Call rdma_resolve_addr() or rdma_bind_addr() first.");
	if (id->id.qp)
		return vb_refuse(EINVAL, call, "the id has a queue pair. Call rdma_destroy_qp() first.");
	if (attr->qp_type != id->id.qp_type)
		return vb_refuse(EINVAL, call, "qp_type is %d, and that of the id is %d.", (int)attr->qp_type, (int)id->id.qp_type);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = id->id.pd;
	}
	if (attr->pd->context != id->id.verbs)
		return vb_refuse(EINVAL, call, "the PD is of another device than the id. Make it with ibv_alloc_pd(id->verbs).");
	return 0;
}

/* One that answers in XRC is of a domain. */
static int take_xrcd(const struct cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	if (id->id.qp_type != IBV_QPT_XRC_RECV || (attr->comp_mask & IBV_QP_INIT_ATTR_XRCD && attr->xrcd))
		return 0;
	attr->xrcd = cm_default_xrcd();
	attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	return attr->xrcd ? 0 : errno;
}

/* With cm_lock. 0 or an errno. */
static int qp_create(struct cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	int err = qp_check(id, attr);

	if (err)
		return err;
	if (!attr->srq)
		attr->srq = id->id.srq;
	if (attr->cap.max_inline_data < INLINE_LEAST)
		attr->cap.max_inline_data = INLINE_LEAST;
	err = take_xrcd(id, attr);
	if (!err)
		err = create_cqs(&id->id, attr);
	if (!err) {
		id->id.qp = ibv_create_qp_ex(id->id.verbs, attr);
		err = !id->id.qp ? errno : cm_is_ud(id) ? to_ready(id) : to_state(id, IBV_QPS_INIT); /* datagrams need no peer */
	}
	if (err) {
		if (id->id.qp)
			ibv_destroy_qp(id->id.qp);
		id->id.qp = NULL;
		undo_cqs(id);
		return err;
	}
	id->id.pd = attr->pd;
	return 0;
}

int rdma_create_qp_ex(struct rdma_cm_id *pub, struct ibv_qp_init_attr_ex *attr)
{
	int err;

	cm_hold();
	err = qp_create(cm_id_of(pub), attr);
	cm_let_go();
	return cm_result(err);
}

int rdma_create_qp(struct rdma_cm_id *pub, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex extended = { .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd };
	int rc;

	if (!attr)
		return cm_refuse(EINVAL, "rdma_create_qp", "qp_init_attr is NULL.");
	memcpy(&extended, attr, SAME); /* the longer struct begins so */
	rc = rdma_create_qp_ex(pub, &extended);
	if (!rc)
		memcpy(attr, &extended, SAME);
	return rc;
}

/* What is destroyed may wait for acknowledgements of the program's, so cm_lock is free meanwhile. */
void rdma_destroy_qp(struct rdma_cm_id *pub)
{
	struct rdma_cm_id had = { 0 };
	struct ibv_qp *qp = NULL;

	cm_hold();
	if (pub && pub->qp) {
		qp = pub->qp;
		pub->qp = NULL;
		had = take_cqs(cm_id_of(pub));
	}
	cm_let_go();
	if (!qp) {
		vb_refuse(EINVAL, "rdma_destroy_qp", "the id has no queue pair.");
		return;
	}
	ibv_destroy_qp(qp);
	destroy_cqs(&had);
}

/* --- shared receive queues --- */

/* A queue of XRC is of a domain, and completes by itself. */
static int take_xrc(struct cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	int err = 0;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !attr->xrcd) {
		attr->xrcd = cm_default_xrcd();
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
		err = attr->xrcd ? 0 : errno;
	}
	if (err || (attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ && attr->cq))
		return err;
	if (!id->id.recv_cq)
		err = create_cq(&id->id, attr->attr.max_wr, &id->id.recv_cq_channel, &id->id.recv_cq);
	attr->cq = id->id.recv_cq;
	attr->comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
	id->srq_has_cq = !err;
	return err;
}

static int srq_create(struct cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	const char *call = "rdma_create_srq";
	bool xrc;
	int err;

	if (!id || !attr)
		return vb_refuse(EINVAL, call, "id or attr is NULL.");
	if (!id->id.verbs || id->id.srq)
		return vb_refuse(EINVAL, call, "the id has no device yet, or has a shared receive queue.");
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
		attr->pd = id->id.pd;
	}
	if (attr->pd->context != id->id.verbs)
		return vb_refuse(EINVAL, call, "the PD is of another device than the id. Make it with ibv_alloc_pd(id->verbs).");
	xrc = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;
	err = xrc ? take_xrc(id, attr) : 0;
	if (!err) {
		id->id.srq = ibv_create_srq_ex(id->id.verbs, attr);
		err = id->id.srq ? 0 : errno;
	}
	if (err) {
		id->srq_has_cq = false;
		undo_cqs(id);
		return err;
	}
	id->id.pd = attr->pd;
	return 0;
}

int rdma_create_srq_ex(struct rdma_cm_id *pub, struct ibv_srq_init_attr_ex *attr)
{
	int err;

	cm_hold();
	err = srq_create(cm_id_of(pub), attr);
	cm_let_go();
	return cm_result(err);
}

int rdma_create_srq(struct rdma_cm_id *pub, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex extended = { .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
						 .srq_type = IBV_SRQT_BASIC,
						 .pd = pd };
	int rc;

	if (pub && pub->qp_type == IBV_QPT_XRC_RECV)
		extended.srq_type = IBV_SRQT_XRC;
	if (!attr)
		return cm_refuse(EINVAL, "rdma_create_srq", "attr is NULL.");
	extended.srq_context = attr->srq_context;
	extended.attr = attr->attr;
	rc = rdma_create_srq_ex(pub, &extended);
	if (!rc)
		attr->attr = extended.attr;
	return rc;
}

void rdma_destroy_srq(struct rdma_cm_id *pub)
{
	struct rdma_cm_id had;

	if (!pub || !pub->srq || ibv_destroy_srq(pub->srq)) {
		vb_refuse(EINVAL, "rdma_destroy_srq", "the id has no shared receive queue, or it is in use.");
		return;
	}
	cm_hold();
	pub->srq = NULL;
	cm_id_of(pub)->srq_has_cq = false;
	had = take_cqs(cm_id_of(pub));
	cm_let_go();
	destroy_cqs(&had);
}
