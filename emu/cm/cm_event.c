/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_event.c - what the device tells becomes an event of the program's, when the program asks for one. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cm/cm_id.h"
#include "wire/gid.h"

/* --- from the device, with the driver role --- */

static struct told_event *event_of_told(const struct vb_cm_told *told)
{
	struct told_event *event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	event->kind = told->kind;
	event->err = told->err;
	event->has_said = told->said;
	if (told->said) {
		event->said = *told->said;
		memcpy(event->data, told->said->data, told->said->length);
		event->said.data = event->data;
	}
	if (told->request)
		event->request = *told->request;
	return event;
}

/* Both sides may leave at a time, and the peer end besides. */
static bool is_end(const struct told_event *event)
{
	return event->kind == VB_CM_HEARD || event->kind == VB_CM_GONE ||
	       (event->kind == VB_CM_SAID && event->said.kind == WIRE_RDMA_LEAVE);
}

/* Without memory for an event nothing is told. The end is told once: a channel that is readable has an event. */
bool cm_connection_told(void *owner, const struct vb_cm_told *told)
{
	struct cm_id *id = owner;
	struct told_event *event = event_of_told(told);

	if (!event)
		return false;
	event->id = id;
	event->link.told = &id->told;
	if (!cm_plan_told(event, id) || (is_end(event) && atomic_exchange(&id->end_told, true))) {
		free(event);
		return true;
	}
	pthread_mutex_lock(&told_lock);
	cm_deliver(event);
	pthread_mutex_unlock(&told_lock);
	return true;
}

/* With told_lock: the one that it is for, else any, by which it is rejected. NULL: none hears. */
static struct cm_listener *listener_of(const struct cm_number *number, const struct wire_rdma_fields *said)
{
	struct cm_listener *any = NULL;

	for (struct cm_listener *listener = number->listeners; listener; listener = listener->next) {
		if (!listener->id)
			continue;
		if (cm_is_wanted(listener->id, said))
			return listener;
		any = listener;
	}
	return any;
}

bool cm_number_told(void *owner, const struct vb_cm_told *told)
{
	struct cm_number *number = owner;
	struct cm_listener *listener;
	struct told_event *event;
	bool takes;

	if (told->kind == VB_CM_SOUGHT)
		return cm_plan_answers(number, told->seeks);
	event = event_of_told(told);
	if (!event)
		return false;
	(void)cm_plan_told(event, NULL); /* what is lost is not asked */
	pthread_mutex_lock(&told_lock);
	listener = listener_of(number, told->said);
	takes = listener && listener->unread < CM_UNREAD_MOST; /* V227 */
	if (takes) {
		event->listener = listener;
		listener->unread++;
		listener->users++;
		event->id = listener->id;
		event->link.told = &listener->id->told;
		cm_deliver(event);
	}
	pthread_mutex_unlock(&told_lock);
	if (!takes)
		free(event);
	return takes;
}

/* --- to the program --- */

static void fill(struct told_event *event, struct rdma_cm_id *id, enum rdma_cm_event_type type, int status)
{
	event->pub = (struct rdma_cm_event){ .id = id, .event = type, .status = status };
}

/* buffers as long as InfiniBand's, with zeros behind what the peer gave. They stand at one place in param.conn and param.ud. */
static void fill_data(struct told_event *event, uint8_t room)
{
	event->pub.param.conn.private_data = event->data;
	event->pub.param.conn.private_data_len = room;
}

/* what the peer answers is what may be begun here, and the other way round (V213). */
static void fill_conn(struct told_event *event, struct cm_id *id)
{
	const struct wire_rdma_fields *said = &event->said;
	struct rdma_conn_param *conn = &event->pub.param.conn;

	conn->responder_resources = said->initiator_depth;
	conn->initiator_depth = said->responder_resources;
	conn->flow_control = said->flow_control;
	if (event->kind == VB_CM_ASKED)
		conn->retry_count = cm_retries(said->retry_count);
	conn->rnr_retry_count = cm_retries(said->rnr_retry_count);
	conn->srq = said->srq;
	conn->qp_num = said->qpn;
	id->responder_resources = conn->responder_resources;
	id->initiator_depth = conn->initiator_depth;
	id->rnr_retry_count = conn->rnr_retry_count;
	id->peer_qpn = said->qpn;
	id->peer_psn = said->psn;
	id->remote_ece = (struct ibv_ece){ .vendor_id = said->ece_vendor, .options = said->ece_options };
	id->knows_peer = true;
}

static void socket_address(const struct wire_address_fields *from, uint32_t scope, struct sockaddr_storage *at)
{
	union ibv_gid gid;

	wire_gid_get(from, gid.raw);
	vb_gid_address(&gid, scope, at);
	*(at->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)at)->sin6_port
				    : &((struct sockaddr_in *)at)->sin_port) = htons(from->port);
}

/* The place of the address that the peer has asked. -1: it is none of this host's. */
static int own_place(const struct wire_address_fields *to, struct vb_gid *own)
{
	union ibv_gid gid;

	wire_gid_get(to, gid.raw);
	for (unsigned int i = 0; i < VB_GIDS; i++)
		if (vb_gid_get(i, own) && !memcmp(&own->gid, &gid, sizeof(gid)))
			return (int)i;
	return -1;
}

/* The id of a request. NULL: it cannot be made. */
static struct cm_id *request_id(struct told_event *event, struct cm_id *listens)
{
	const struct wire_rdma_fields *said = &event->said;
	struct vb_gid own;
	int place = own_place(&said->to, &own);
	struct cm_channel *channel = listens->sync ? cm_channel_new() : listens->channel;
	struct cm_id *id = place >= 0 && channel ? cm_id_new(channel, listens->id.context, listens->id.ps, listens->id.qp_type)
						 : NULL;

	if (!id || cm_take_device(id, &own, (unsigned int)place)) {
		if (id)
			vb_cm_closed(id->check);
		free(id);
		if (listens->sync && channel)
			cm_channel_free(channel);
		return NULL;
	}
	id->sync = listens->sync;
	id->listener = event->listener;
	id->request = event->request;
	id->retry_count = cm_retries(said->retry_count);
	wire_gid_get(&said->from, id->peer_gid.raw);
	socket_address(&said->to, own.ifindex, &id->id.route.addr.src_storage);
	socket_address(&said->from, own.ifindex, &id->id.route.addr.dst_storage);
	id->id.route.addr.addr.ibaddr.sgid = own.gid;
	id->id.route.addr.addr.ibaddr.dgid = id->peer_gid;
	id->id.route.addr.addr.ibaddr.pkey = htons(0xffff);
	id->tos = listens->tos;
	cm_make_path(id);
	cm_enter(id, ID_REQUESTED);
	return id;
}

static bool told_request(struct told_event *event)
{
	struct cm_id *listens = event->id, *id;
	bool wanted = cm_is_wanted(listens, &event->said);

	id = wanted ? request_id(event, listens) : NULL;

	pthread_mutex_lock(&told_lock);
	event->listener->unread--;
	pthread_mutex_unlock(&told_lock);
	if (!id) {
		vb_inform("rdma_get_cm_event", "a request is rejected: %s.",
			  wanted ? "there is no memory, or it asks for an address of another host"
				 : "it is for another port space or type of queue pairs than those of the id that listens");
		cm_event_reject(event, wanted ? CM_REJECT_CONSUMER : CM_REJECT_NOBODY);
		return false;
	}
	fill(event, &id->id, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	event->pub.listen_id = &listens->id;
	if (!cm_is_ud(id))
		fill_conn(event, id);
	fill_data(event, cm_is_ud(id) ? WIRE_RDMA_LOOKUP_DATA : WIRE_RDMA_REQUEST_DATA);
	return true;
}

static bool told_reply(struct told_event *event, struct cm_id *id)
{
	struct wire_rdma_fields say = { .kind = WIRE_RDMA_READY };
	int err;

	if (id->state != ID_CONNECTING)
		return false;
	fill(event, &id->id, id->id.qp ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	fill_conn(event, id);
	fill_data(event, WIRE_RDMA_REPLY_DATA);
	if (!id->id.qp) { /* V217 */
		cm_enter(id, ID_ANSWERED);
		return true;
	}
	err = cm_qp_ready(id); /* V214 */
	if (!err) {
		cm_enter(id, ID_CONNECTED);
		(void)vb_cm_say(id->cm, &say); /* if the peer has gone, that is told next */
		return true;
	}
	say = (struct wire_rdma_fields){ .kind = WIRE_RDMA_REJECT, .reason = CM_REJECT_CONSUMER };
	(void)vb_cm_say(id->cm, &say);
	cm_enter(id, ID_OVER);
	cm_qp_err(id); /* its receives come back */
	fill(event, &id->id, RDMA_CM_EVENT_CONNECT_ERROR, -err);
	return true;
}

static void fill_rejected(struct told_event *event, struct cm_id *id, int reason)
{
	fill(event, &id->id, RDMA_CM_EVENT_REJECTED, reason);
	fill_data(event, WIRE_RDMA_REJECT_DATA);
}

static bool told_failure(struct told_event *event, struct cm_id *id)
{
	if (id->state != ID_CONNECTING && id->state != ID_ACCEPTED)
		return false;
	if (event->has_said && event->said.kind == WIRE_RDMA_FOUND) /* the answer to what was not asked */
		fill(event, &id->id, RDMA_CM_EVENT_UNREACHABLE, -EPROTO);
	else if (event->has_said)
		fill_rejected(event, id, (int)event->said.reason);
	else if (event->err == ECONNREFUSED) /* V212; or nobody waits for the reply any more */
		fill_rejected(event, id, id->state == ID_CONNECTING ? CM_REJECT_NOBODY : CM_REJECT_GIVEN_UP);
	else
		fill(event, &id->id, RDMA_CM_EVENT_UNREACHABLE, -event->err);
	cm_enter(id, ID_OVER);
	cm_qp_err(id);
	return true;
}

/* The peer leaves or has gone, or has heard that this side leaves. There is no time of waiting, so TIMEWAIT_EXIT is next. */
static bool told_end(struct told_event *event, struct cm_id *id)
{
	bool unmet = id->state == ID_CONNECTING || (id->state == ID_ACCEPTED && !id->leaves);

	if (unmet && event->kind == VB_CM_GONE)
		fill(event, &id->id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	else if (id->state == ID_CONNECTED || id->state == ID_ANSWERED || id->state == ID_ACCEPTED)
		fill(event, &id->id, RDMA_CM_EVENT_DISCONNECTED, 0);
	else
		goto none;
	cm_enter(id, ID_OVER);
	if (event->pub.event == RDMA_CM_EVENT_UNREACHABLE)
		cm_qp_err(id);
	else
		(void)cm_tell(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	return true;

none:
	atomic_store(&id->end_told, false); /* there is no connection yet, which may end again */
	return false;
}

static bool told_word(struct told_event *event, struct cm_id *id)
{
	if (event->said.kind == WIRE_RDMA_LEAVE)
		return told_end(event, id);
	if (id->state != ID_ACCEPTED)
		return false;
	if (event->said.kind == WIRE_RDMA_REJECT)
		return told_failure(event, id);
	cm_enter(id, ID_CONNECTED);
	fill(event, &id->id, RDMA_CM_EVENT_ESTABLISHED, 0);
	return true;
}

/* In the place of what has happened. The peer finds that the connection has ended. */
static bool told_planned(struct told_event *event, struct cm_id *id)
{
	if (!event->plain && id->state != ID_CONNECTING && id->state != ID_ACCEPTED)
		return false;
	if (event->planned.becomes == RDMA_CM_EVENT_REJECTED)
		fill_rejected(event, id, event->planned.status);
	else
		fill(event, &id->id, (enum rdma_cm_event_type)event->planned.becomes, event->planned.status);
	cm_enter(id, ID_OVER);
	if (!cm_is_ud(id)) {
		cm_qp_err(id);
		(void)vb_cm_leave(id->cm);
	}
	return true;
}

bool cm_event_take(struct told_event *event)
{
	struct cm_id *id = event->id;

	if (event->group)
		return cm_group_take(event);
	if (event->planned.replaced)
		return told_planned(event, id);
	if (event->plain)
		return true;
	if (event->kind != VB_CM_ASKED && cm_is_ud(id))
		return cm_told_found(event, id);
	switch (event->kind) {
	case VB_CM_ASKED:
		return told_request(event);
	case VB_CM_REPLIED:
		return told_reply(event, id);
	case VB_CM_FAILED: /* rdma_notify() may have made it a connection before the device had one */
		return id->state == ID_CONNECTED ? told_end(event, id) : told_failure(event, id);
	case VB_CM_SAID:
		return told_word(event, id);
	default:
		return told_end(event, id);
	}
}
