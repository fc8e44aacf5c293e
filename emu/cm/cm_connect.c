/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_connect.c - asking, listening, answering, leaving. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cm/cm_id.h"
#include "wire/gid.h"

static const struct rdma_conn_param defaults = {
	.responder_resources = RDMA_MAX_RESP_RES,
	.initiator_depth = RDMA_MAX_INIT_DEPTH,
	.retry_count = 7,
	.rnr_retry_count = 7,
};

/* --- listening --- */

static int begin_listening(struct cm_id *id, int backlog)
{
	const struct sockaddr_in any = { .sin_family = AF_INET };
	struct cm_listener *listener;
	int err;

	(void)backlog; /* where there is no room, a peer asks the kernel again: so requests wait (V227) */
	if (id && id->state == ID_FRESH && rdma_bind_addr(&id->id, (struct sockaddr *)(uintptr_t)&any))
		return errno;
	err = vb_cm_fault("rdma_listen");
	if (err)
		return err;
	cm_hold();
	if (cm_check(id, 1 << ID_BOUND, "rdma_listen", "Call it once after rdma_bind_addr().")) { /* V207 */
		cm_let_go();
		return EINVAL;
	}
	if (!id->listener)
		err = cm_take_number(id);
	if (err) {
		cm_let_go();
		return vb_refuse(err, "rdma_listen", "the number cannot be taken: %s.", strerror(err));
	}
	listener = id->listener;
	pthread_mutex_lock(&told_lock);
	listener->id = id;
	pthread_mutex_unlock(&told_lock);
	if (!listener->number->hears)
		vb_cm_serve_hear(listener->number->cm);
	listener->number->hears = true;
	cm_enter(id, ID_LISTENING);
	cm_let_go();
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	return cm_result(begin_listening(cm_id_of(id), backlog));
}

/* --- what is said --- */

static uint8_t depth_within(uint8_t asked, uint8_t most)
{
	return asked < most ? asked : most;
}

/* Of a request or a reply. 0 or EINVAL, after a line of log. V210, V219. */
static int check_param(const struct cm_id *id, const struct rdma_conn_param *param, uint8_t room, const char *call)
{
	if (param->private_data_len > room || (param->private_data_len && !param->private_data))
		return vb_refuse(EINVAL, call,
				 "private_data_len is %u, and private data has at most %u bytes here, at private_data.",
				 param->private_data_len, room);
	if (param->responder_resources != RDMA_MAX_RESP_RES && param->responder_resources > CM_RD_ATOMIC_MOST)
		return vb_refuse(EINVAL, call, "responder_resources is %u, and the device has %d.", param->responder_resources,
				 CM_RD_ATOMIC_MOST);
	if (param->initiator_depth != RDMA_MAX_INIT_DEPTH && param->initiator_depth > CM_RD_ATOMIC_MOST)
		return vb_refuse(EINVAL, call, "initiator_depth is %u, and the device has %d.", param->initiator_depth,
				 CM_RD_ATOMIC_MOST);
	if (!id->id.qp && !param->qp_num)
		return vb_refuse(EINVAL, call,
				 "there is no queue pair: neither rdma_create_qp() nor qp_num of conn_param has one.");
	return 0;
}

static void say_own(struct cm_id *id, const struct rdma_conn_param *param, struct wire_rdma_fields *say)
{
	say->qp_type = (uint8_t)id->id.qp_type;
	say->qpn = (id->id.qp ? id->id.qp->qp_num : param->qp_num) & CM_PSN_MASK;
	say->psn = id->psn;
	say->flow_control = param->flow_control;
	say->retry_count = cm_retries(param->retry_count);
	say->rnr_retry_count = cm_retries(param->rnr_retry_count);
	say->srq = id->id.qp ? id->id.qp->srq != NULL : param->srq;
	say->ece_vendor = id->local_ece.vendor_id;
	say->ece_options = id->local_ece.options;
	say->length = param->private_data_len;
	say->data = param->private_data;
}

/* --- asking --- */

int cm_ask(struct cm_id *id, struct wire_rdma_fields *say)
{
	int err;

	wire_gid_put(id->own.gid.raw, ntohs(rdma_get_src_port(&id->id)), &say->from);
	wire_gid_put(id->peer_gid.raw, ntohs(rdma_get_dst_port(&id->id)), &say->to);
	if (!say->to.port)
		return vb_refuse(EINVAL, "rdma_connect", "the peer's number, the port of dst_addr, is 0.");
	id->asked_with_qp = id->id.qp;
	err = vb_cm_ask(id->cm, &id->id.route.addr.dst_storage, say);
	if (!err)
		cm_enter(id, ID_CONNECTING);
	return err;
}

static int begin_connecting(struct cm_id *id, const struct rdma_conn_param *param)
{
	struct wire_rdma_fields say = { .kind = WIRE_RDMA_REQUEST };
	int err;

	if (cm_check(id, 1 << ID_ROUTED, "rdma_connect", "Call it once after rdma_resolve_route().")) /* V205 */
		return EINVAL;
	if (cm_is_ud(id))
		return cm_look_up(id, param);
	if (id->id.qp_type == IBV_QPT_XRC_RECV)
		return vb_refuse(EINVAL, "rdma_connect", "an XRC_RECV queue pair is connected by its peer. Listen, and accept.");
	err = check_param(id, param, WIRE_RDMA_REQUEST_DATA, "rdma_connect");
	if (err)
		return err;
	say_own(id, param, &say);
	say.responder_resources = depth_within(param->responder_resources, CM_RD_ATOMIC_MOST);
	say.initiator_depth = depth_within(param->initiator_depth, CM_RD_ATOMIC_MOST);
	id->retry_count = say.retry_count;
	return cm_ask(id, &say);
}

int rdma_connect(struct rdma_cm_id *pub, struct rdma_conn_param *param)
{
	struct cm_id *id = cm_id_of(pub);
	int err = vb_cm_fault("rdma_connect");

	if (err)
		return cm_result(err);
	cm_hold();
	err = begin_connecting(id, param ? param : &defaults);
	cm_let_go();
	return err ? cm_result(err) : cm_complete(id);
}

int rdma_establish(struct rdma_cm_id *pub)
{
	struct cm_id *id = cm_id_of(pub);
	const struct wire_rdma_fields say = { .kind = WIRE_RDMA_READY };
	int err;

	cm_hold();
	err = cm_check(id, 1 << ID_ANSWERED, "rdma_establish",
		       "Call it once after RDMA_CM_EVENT_CONNECT_RESPONSE, of an id without rdma_create_qp().")
		      ? EINVAL
		      : 0;
	if (!err && id->id.qp)
		err = vb_refuse(EINVAL, "rdma_establish", "the id has a queue pair, which nobody would lead to the peer.");
	if (!err) {
		cm_enter(id, ID_CONNECTED);
		(void)vb_cm_say(id->cm, &say); /* a peer that has gone is told by an event */
	}
	cm_let_go();
	return cm_result(err);
}

/* --- answering --- */

void cm_request_over(struct cm_id *id, enum id_state state)
{
	struct cm_listener *listener = id->listener;

	id->listener = NULL;
	cm_enter(id, state);
	cm_listener_put(listener);
}

static int begin_accepting(struct cm_id *id, const struct rdma_conn_param *param)
{
	struct wire_rdma_fields say = { .kind = WIRE_RDMA_REPLY };
	uint8_t responds, begins;
	uint16_t port;
	int err;

	if (cm_check(id, 1 << ID_REQUESTED, "rdma_accept",
		     "Call it once, of the id of a RDMA_CM_EVENT_CONNECT_REQUEST.")) /* V206 */
		return EINVAL;
	if (cm_is_ud(id))
		return cm_say_found(id, param);
	err = check_param(id, param, WIRE_RDMA_REPLY_DATA, "rdma_accept");
	if (err)
		return err;
	/* without a wish, what the peer asks for. */
	responds = param->responder_resources == RDMA_MAX_RESP_RES ? id->responder_resources : param->responder_resources;
	begins = param->initiator_depth == RDMA_MAX_INIT_DEPTH ? id->initiator_depth : param->initiator_depth;
	id->responder_resources = depth_within(responds, CM_RD_ATOMIC_MOST);
	id->initiator_depth = depth_within(begins, CM_RD_ATOMIC_MOST);
	say_own(id, param, &say);
	say.responder_resources = id->responder_resources;
	say.initiator_depth = id->initiator_depth;
	/* What an earlier call has done that failed later stands. */
	err = id->cm ? 0 : vb_cm_open(id->id.verbs, &id->own.at, cm_connection_told, id, &id->cm, &port);
	if (!err && !(id->id.qp && id->id.qp->state == IBV_QPS_RTS))
		err = cm_qp_ready(id);
	if (!err)
		err = vb_cm_accept(id->cm, &id->request, &say);
	if (!err)
		cm_request_over(id, ID_ACCEPTED);
	return err;
}

int rdma_accept(struct rdma_cm_id *pub, struct rdma_conn_param *param)
{
	struct cm_id *id = cm_id_of(pub);
	int err = vb_cm_fault("rdma_accept");

	if (err)
		return cm_result(err);
	cm_hold();
	err = begin_accepting(id, param ? param : &defaults);
	cm_let_go();
	return err || cm_is_ud(id) ? cm_result(err) : cm_complete(id);
}

int cm_reject_request(struct cm_id *id, uint32_t reason, const void *data, uint8_t length)
{
	struct wire_rdma_fields say = cm_rejection(cm_is_ud(id) ? WIRE_RDMA_LOOKUP : WIRE_RDMA_REQUEST, reason);
	int err;

	say.length = length;
	say.data = data;
	if (id->state == ID_ANSWERED) {
		err = vb_cm_say(id->cm, &say);
		cm_enter(id, ID_OVER);
		return err == ENOTCONN ? 0 : err;
	}
	err = vb_cm_reject(&id->request, &say);
	if (!err)
		cm_request_over(id, ID_OVER);
	return err;
}

/* V211 */
static int reject(struct cm_id *id, uint32_t reason, const void *data, uint8_t length, const char *call)
{
	int most = id && cm_is_ud(id) ? WIRE_RDMA_FOUND_DATA : WIRE_RDMA_REJECT_DATA, err;

	if (length > most || (length && !data))
		return cm_refuse(EINVAL, call, "private_data_len is %u, and private data has at most %d bytes here.", length, most);
	cm_hold();
	err = cm_check(id, 1 << ID_REQUESTED | 1 << ID_ANSWERED, call,
		       "A request is rejected once, and so is a reply (RDMA_CM_EVENT_CONNECT_RESPONSE).")
		      ? EINVAL
		      : cm_reject_request(id, reason, data, length);
	cm_let_go();
	return cm_result(err);
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t length)
{
	return reject(cm_id_of(id), CM_REJECT_CONSUMER, data, length, "rdma_reject");
}

int rdma_reject_ece(struct rdma_cm_id *id, const void *data, uint8_t length)
{
	return reject(cm_id_of(id), CM_REJECT_VENDOR, data, length, "rdma_reject_ece");
}

/* With cm_lock. 0 or an errno: EISCONN is the program's to pass over. */
static int notify(struct cm_id *id, enum ibv_event_type event)
{
	const char *call = "rdma_notify";

	if (cm_check(id, 1 << ID_ACCEPTED | 1 << ID_CONNECTED, call, "There is no connection."))
		return EINVAL;
	if (event != IBV_EVENT_COMM_EST)
		return vb_refuse(EINVAL, call, "event is %s, and IBV_EVENT_COMM_EST is the one that is told here.",
				 ibv_event_type_str(event));
	if (id->state == ID_CONNECTED) {
		vb_inform(call, "the id is connected already (EISCONN).");
		return EISCONN;
	}
	cm_enter(id, ID_CONNECTED);
	return cm_tell(id, RDMA_CM_EVENT_ESTABLISHED, 0);
}

/* The program has seen by its queue pair that the asking side is ready. V230. */
int rdma_notify(struct rdma_cm_id *pub, enum ibv_event_type event)
{
	int err;

	cm_hold();
	err = notify(cm_id_of(pub), event);
	cm_let_go();
	return cm_result(err);
}

/* --- leaving --- */

/* The peer is told; DISCONNECTED comes when it was, or is gone. */
static void say_leave(struct cm_id *id)
{
	const struct wire_rdma_fields say = { .kind = WIRE_RDMA_LEAVE };

	if (id->leaves || id->state == ID_OVER)
		return;
	id->leaves = true;
	if (!vb_cm_say(id->cm, &say))
		return;
	if (!vb_cm_leave(id->cm)) { /* rdma_accept(), and rdma_notify(), may be ahead of the device's connection */
		cm_enter(id, ID_OVER);
		(void)cm_tell(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	}
}

int rdma_disconnect(struct rdma_cm_id *pub) /* V215 */
{
	struct cm_id *id = cm_id_of(pub);
	uint32_t without = 1 << ID_CONNECTING | 1 << ID_REQUESTED | 1 << ID_OVER; /* the queue pair is stopped, no more */
	bool over = id && without & 1u << id->state;
	int err;

	cm_hold();
	err = cm_check(id, without | 1 << ID_ANSWERED | 1 << ID_ACCEPTED | 1 << ID_CONNECTED, "rdma_disconnect",
		       "There is no connection to leave.")
		      ? EINVAL
		      : 0;
	if (!err) {
		cm_qp_err(id);
		over |= cm_is_ud(id); /* it has no connection: nobody is told, and no event comes */
		if (!over)
			say_leave(id);
	}
	cm_let_go();
	return err || over ? cm_result(err) : cm_complete(id);
}
