/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_meet.c - connections of rdma_cm, and what is said on the way: V210 to V219. */
#include "tests/rules/verbs/rworld.h"

enum { REQUEST_DATA = 56, REPLY_DATA = 196, REJECT_DATA = 148, NOBODY = 8, BY_PROGRAM = 28 };

static const uint8_t zeros[256];
static uint8_t bytes[256];

static void fill_data(void)
{
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i + 1);
}

static void check_data(const struct rdma_cm_event *event, size_t length)
{
	const struct rdma_conn_param *got = &event->param.conn;

	CHECK(got->private_data_len >= length, "%u bytes of private data, expected %zu", got->private_data_len, length);
	CHECK(!memcmp(got->private_data, bytes, length), "the private data is not the peer's");
}

/* Of a call that takes so much and no more. */
#define TOO_LONG(call) R_RC(EINVAL, call)

RIDS(V210_a_request_has_56_bytes)
{
	struct rdma_conn_param param = { .private_data = bytes, .private_data_len = REQUEST_DATA + 1 };
	struct rdma_cm_event *event;

	fill_data();
	r_give_qp(w->asks);
	TOO_LONG(rdma_connect(w->asks, &param));
	param.private_data_len = REQUEST_DATA;
	R_RC(0, rdma_connect(w->asks, &param));
	event = r_event(w->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	w->answers = event->id;
	check_data(event, REQUEST_DATA);
	R_RC(0, rdma_ack_cm_event(event));
}

RIDS(V210_a_reply_has_196_bytes)
{
	struct rdma_conn_param param = { .private_data = bytes, .private_data_len = REPLY_DATA + 1 };
	struct rdma_cm_event *event;

	fill_data();
	r_ask(w, NULL, 0);
	TOO_LONG(rdma_accept(w->answers, &param));
	param.private_data_len = REPLY_DATA;
	R_RC(0, rdma_accept(w->answers, &param));
	event = r_event(w->channel, RDMA_CM_EVENT_ESTABLISHED);
	CHECK(event->id == w->asks, "ESTABLISHED is for another id");
	check_data(event, REPLY_DATA);
	R_RC(0, rdma_ack_cm_event(event));
}

RIDS(V210_V211_a_rejection_has_148_bytes)
{
	struct rdma_cm_event *event;

	fill_data();
	r_ask(w, NULL, 0);
	TOO_LONG(rdma_reject(w->answers, bytes, REJECT_DATA + 1));
	R_RC(0, rdma_reject(w->answers, bytes, REJECT_DATA));
	event = r_event(w->channel, RDMA_CM_EVENT_REJECTED);
	CHECK(event->id == w->asks && event->status == BY_PROGRAM, "the status is %d, expected %d", event->status, BY_PROGRAM);
	check_data(event, REJECT_DATA);
	R_RC(0, rdma_ack_cm_event(event));
}

RIDS(V210_what_is_shorter_has_zeros_behind_it)
{
	struct rdma_conn_param param = { .private_data = bytes, .private_data_len = 3 };
	struct rdma_cm_event *event;
	const uint8_t *data;

	fill_data();
	r_give_qp(w->asks);
	R_RC(0, rdma_connect(w->asks, &param));
	event = r_event(w->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	w->answers = event->id;
	check_data(event, 3);
	data = event->param.conn.private_data;
	CHECK(!memcmp(data + 3, zeros, event->param.conn.private_data_len - 3u), "bytes that the peer has not sent");
	R_RC(0, rdma_ack_cm_event(event));
}

RIDS(V211_a_request_that_is_destroyed_is_rejected)
{
	r_ask(w, NULL, 0);
	r_end(&w->answers);
	r_rejected(w, BY_PROGRAM);
	CHECK(v_state(w->asks->qp) == IBV_QPS_ERR, "the queue pair of one that was rejected is in state %d",
	      (int)v_state(w->asks->qp));
}

RIDS(V212_nobody_listens)
{
	r_end(&w->listens);
	r_give_qp(w->asks);
	R_RC(0, rdma_connect(w->asks, NULL));
	r_rejected(w, NOBODY);
}

RIDS(V213_a_request_comes_with_a_new_id)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1, .retry_count = 8, .rnr_retry_count = 5 };
	struct rdma_cm_event *event;

	r_give_qp(w->asks);
	R_RC(0, rdma_connect(w->asks, &param));
	event = r_event(w->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	w->answers = event->id;
	CHECK(event->listen_id == w->listens && event->id != w->listens, "listen_id is not the one that listens");
	CHECK(event->id->verbs && event->id->context == w->listens->context, "the new id has a device, and the listener's context");
	CHECK(event->param.conn.qp_num == w->asks->qp->qp_num, "qp_num is not the peer's");
	CHECK(event->param.conn.retry_count == 7, "retry_count is %u", event->param.conn.retry_count); /* the most */
	CHECK(event->param.conn.rnr_retry_count == 5, "rnr_retry_count is %u", event->param.conn.rnr_retry_count);
	R_RC(0, rdma_ack_cm_event(event));
}

RIDS(V213_what_one_may_begin_the_other_answers)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 0 };
	struct rdma_cm_event *event;

	r_give_qp(w->asks);
	R_RC(0, rdma_connect(w->asks, &param));
	event = r_event(w->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	w->answers = event->id;
	CHECK(event->param.conn.responder_resources == 0 && event->param.conn.initiator_depth == 1,
	      "responder_resources %u, initiator_depth %u", event->param.conn.responder_resources,
	      event->param.conn.initiator_depth);
	R_RC(0, rdma_ack_cm_event(event));
}

RIDS(V214_established_queue_pairs_exchange_messages)
{
	char out[8] = "message", in[8] = "";
	struct ibv_mr *from, *to;
	struct ibv_sge sge[2];
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &sge[1], .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = {
		.wr_id = 2, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED, .sg_list = sge, .num_sge = 1
	};

	r_ask(w, NULL, 0);
	from = v_region(w->asks->pd, out, sizeof(out), IBV_ACCESS_LOCAL_WRITE);
	to = v_region(w->answers->pd, in, sizeof(in), IBV_ACCESS_LOCAL_WRITE);
	sge[0] = (struct ibv_sge){ (uintptr_t)out, sizeof(out), from->lkey };
	sge[1] = (struct ibv_sge){ (uintptr_t)in, sizeof(in), to->lkey };
	V_RC(0, ibv_post_recv(w->answers->qp, &recv, &bad_recv));
	r_accept(w, NULL, 0);
	CHECK(v_state(w->asks->qp) == IBV_QPS_RTS && v_state(w->answers->qp) == IBV_QPS_RTS, "not in RTS");
	v_send(w->asks->qp, &wr);
	v_done(w->asks->send_cq, 2, IBV_WC_SUCCESS);
	v_done(w->answers->recv_cq, 1, IBV_WC_SUCCESS);
	CHECK(!memcmp(in, out, sizeof(in)), "the message is another one");
	r_end(&w->asks);
	r_end(&w->answers);
	V_RC(0, ibv_dereg_mr(from));
	V_RC(0, ibv_dereg_mr(to));
}

RIDS(V215_both_sides_are_told_DISCONNECTED)
{
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad;
	unsigned int told = 0;

	r_meet(w);
	V_RC(0, ibv_post_recv(w->answers->qp, &recv, &bad));
	R_RC(0, rdma_disconnect(w->answers));
	v_done(w->answers->recv_cq, 1, IBV_WC_WR_FLUSH_ERR);
	while (told != 3) {
		struct rdma_cm_event *event;

		R_RC(0, rdma_get_cm_event(w->channel, &event));
		CHECK(event->event == RDMA_CM_EVENT_DISCONNECTED || event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT, "%s",
		      rdma_event_str(event->event));
		if (event->event == RDMA_CM_EVENT_DISCONNECTED)
			told |= event->id == w->asks ? 1 : 2;
		R_RC(0, rdma_ack_cm_event(event));
	}
	CHECK(v_state(w->answers->qp) == IBV_QPS_ERR, "the queue pair is in state %d", (int)v_state(w->answers->qp));
	R_RC(0, rdma_disconnect(w->asks));
}

RIDS(V215_there_is_no_connection_to_leave)
{
	R_RC(EINVAL, rdma_disconnect(w->asks));
	R_RC(EINVAL, rdma_disconnect(w->listens));
}

/* The queue pairs are stopped, and that is all: the request has its answer later. */
RIDS(V215_a_connection_that_is_asked_for_is_not_there_yet)
{
	r_ask(w, NULL, 0);
	R_RC(0, rdma_disconnect(w->answers));
	CHECK(v_state(w->answers->qp) == IBV_QPS_ERR, "the queue pair is in state %d", (int)v_state(w->answers->qp));
	R_RC(0, rdma_disconnect(w->asks));
	CHECK(v_state(w->asks->qp) == IBV_QPS_ERR, "the queue pair is in state %d", (int)v_state(w->asks->qp));
	r_nothing(w->channel);
	R_RC(0, rdma_reject(w->answers, NULL, 0));
	CHECK(r_told(w, RDMA_CM_EVENT_REJECTED) == w->asks, "REJECTED is for another id");
}

RIDS(V216_an_id_that_is_destroyed_leaves)
{
	r_meet(w);
	r_end(&w->asks);
	CHECK(r_told(w, RDMA_CM_EVENT_DISCONNECTED) == w->answers, "DISCONNECTED is for another id");
}

/* With the queue pairs of the program. */
static void leads(struct rdma_cm_id *id, struct ibv_qp *qp)
{
	static const enum ibv_qp_state way[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

	for (size_t i = 0; i < sizeof(way) / sizeof(*way); i++) {
		struct ibv_qp_attr attr = { .qp_state = way[i] };
		int mask = 0;

		R_RC(0, rdma_init_qp_attr(id, &attr, &mask));
		CHECK(mask & IBV_QP_STATE, "the mask 0x%x has no state", (unsigned int)mask);
		V_RC(0, ibv_modify_qp(qp, &attr, mask));
	}
}

RIDS(V217_V218_attributes_lead_to_the_peer)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_cq *cq = ibv_create_cq(w->asks->verbs, 16, NULL, NULL, 0);
	struct rdma_cm_event *event;
	struct ibv_qp *qp[2];

	init.send_cq = init.recv_cq = cq;
	qp[0] = ibv_create_qp(w->asks->pd, &init);
	qp[1] = ibv_create_qp(w->asks->pd, &init);
	CHECK(cq && qp[0] && qp[1], "no queue pairs: %s", strerror(errno));
	R_RC(EINVAL, rdma_establish(w->asks));
	param.qp_num = qp[0]->qp_num;
	R_RC(0, rdma_connect(w->asks, &param));
	w->answers = r_told(w, RDMA_CM_EVENT_CONNECT_REQUEST);
	leads(w->answers, qp[1]);
	param.qp_num = qp[1]->qp_num;
	R_RC(0, rdma_accept(w->answers, &param));
	event = r_event(w->channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
	CHECK(event->id == w->asks && event->param.conn.qp_num == qp[1]->qp_num, "qp_num is not the peer's");
	R_RC(0, rdma_ack_cm_event(event));
	leads(w->asks, qp[0]);
	R_RC(0, rdma_establish(w->asks));
	CHECK(r_told(w, RDMA_CM_EVENT_ESTABLISHED) == w->answers, "ESTABLISHED is for another id");
	r_end(&w->asks);
	r_end(&w->answers);
	V_RC(0, ibv_destroy_qp(qp[0]));
	V_RC(0, ibv_destroy_qp(qp[1]));
	V_RC(0, ibv_destroy_cq(cq));
}

RIDS(V218_attributes_wait_for_the_peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct rdma_cm_id *id = r_id(w);
	int mask;

	R_RC(EINVAL, rdma_init_qp_attr(id, &attr, &mask));
	R_RC(0, rdma_init_qp_attr(w->asks, &attr, &mask));
	attr.qp_state = IBV_QPS_RTR;
	R_RC(EINVAL, rdma_init_qp_attr(w->asks, &attr, &mask));
	r_end(&id);
}

RIDS(V230_a_connection_that_is_there_is_not_made)
{
	R_RC(EINVAL, rdma_notify(w->listens, IBV_EVENT_COMM_EST));
	r_ask(w, "hello", 6);
	R_RC(EINVAL, rdma_notify(w->answers, IBV_EVENT_COMM_EST));
	r_accept(w, "welcome", 8);
	R_RC(EISCONN, rdma_notify(w->answers, IBV_EVENT_COMM_EST));
	R_RC(EISCONN, rdma_notify(w->asks, IBV_EVENT_COMM_EST));
	R_RC(EINVAL, rdma_notify(w->answers, IBV_EVENT_QP_FATAL));
	r_nothing(w->channel);
}

RIDS(V219_a_connection_has_a_queue_pair)
{
	struct rdma_conn_param param = { 0 };

	R_RC(EINVAL, rdma_connect(w->asks, &param));
}
