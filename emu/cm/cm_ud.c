/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_ud.c - datagram services (SIDR): which queue pair has one is asked, found or rejected, and no connection comes of it. */
#include <arpa/inet.h>
#include <errno.h>

#include "emu/cm/cm_id.h"

static int check_private(const void *data, uint8_t length, uint8_t room, const char *call)
{
	if (length <= room && (data || !length))
		return 0;
	return vb_refuse(EINVAL, call, "private_data_len is %u, and private data has at most %u bytes here, at private_data.",
			 length, room);
}

int cm_look_up(struct cm_id *id, const struct rdma_conn_param *param)
{
	struct wire_rdma_fields say = {
		.kind = WIRE_RDMA_LOOKUP,
		.space = (uint16_t)id->id.ps,
		.length = param->private_data_len,
		.data = param->private_data,
	};
	int err = check_private(param->private_data, param->private_data_len, WIRE_RDMA_LOOKUP_DATA, "rdma_connect");

	if (err)
		return err;
	return cm_ask(id, &say);
}

int cm_say_found(struct cm_id *id, const struct rdma_conn_param *param)
{
	const struct wire_rdma_fields say = {
		.kind = WIRE_RDMA_FOUND,
		.qpn = (id->id.qp ? id->id.qp->qp_num : param->qp_num) & CM_PSN_MASK,
		.qkey = RDMA_UDP_QKEY,
		.length = param->private_data_len,
		.data = param->private_data,
	};
	int err = check_private(param->private_data, param->private_data_len, WIRE_RDMA_FOUND_DATA, "rdma_accept");

	if (err)
		return err;
	if (!say.qpn)
		return vb_refuse(EINVAL, "rdma_accept",
				 "there is no queue pair: neither rdma_create_qp() nor qp_num of conn_param has one.");
	err = vb_cm_reject(&id->request, &say);
	if (!err)
		cm_request_over(id, ID_CONNECTED);
	return err;
}

/* Of XRC one half asks for the other, so nobody asks for an XRC_SEND. */
static bool is_wanted_type(enum ibv_qp_type listens, uint8_t asks)
{
	return listens == IBV_QPT_XRC_RECV ? asks == WIRE_RDMA_XRC_SEND : listens == IBV_QPT_RC && asks == WIRE_RDMA_RC;
}

bool cm_is_wanted(const struct cm_id *listens, const struct wire_rdma_fields *said)
{
	if (!cm_is_ud(listens))
		return said->kind == WIRE_RDMA_REQUEST && is_wanted_type(listens->id.qp_type, said->qp_type);
	return said->kind == WIRE_RDMA_LOOKUP && said->space == listens->id.ps;
}

struct wire_rdma_fields cm_rejection(enum wire_rdma_kind asked, uint32_t reason)
{
	if (asked == WIRE_RDMA_LOOKUP)
		return (struct wire_rdma_fields){
			.kind = WIRE_RDMA_FOUND,
			.status = reason == CM_REJECT_NOBODY ? WIRE_SIDR_UNSUPPORTED : WIRE_SIDR_REJECT,
		};
	return (struct wire_rdma_fields){ .kind = WIRE_RDMA_REJECT, .reason = reason };
}

void cm_fill_ah(const struct cm_id *id, const union ibv_gid *to, struct ibv_ah_attr *ah)
{
	*ah = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = id->id.port_num,
		.sl = id->path.sl,
		.grh = { .dgid = *to,
			 .sgid_index = (uint8_t)id->own_index,
			 .hop_limit = CM_HOPS,
			 .traffic_class = id->tos,
			 .flow_label = ntohl(id->path.flow_label) },
	};
}

/* A peer that is no program of rdma_cm may have taken it for a connection. */
int cm_lookup_status(const struct told_event *event)
{
	if (event->kind != VB_CM_FAILED)
		return event->kind == VB_CM_GONE ? -ETIMEDOUT : -EPROTO;
	if (event->has_said)
		return event->said.kind == WIRE_RDMA_FOUND ? event->said.status : -EPROTO;
	return event->err == ECONNREFUSED ? WIRE_SIDR_UNSUPPORTED : -event->err;
}

bool cm_told_found(struct told_event *event, struct cm_id *id)
{
	int status = cm_lookup_status(event);
	struct rdma_ud_param *ud = &event->pub.param.ud;

	if (id->state != ID_CONNECTING)
		return false;
	event->pub = (struct rdma_cm_event){
		.id = &id->id,
		.event = status ? RDMA_CM_EVENT_UNREACHABLE : RDMA_CM_EVENT_ESTABLISHED,
		.status = status,
	};
	if (event->has_said) {
		ud->private_data = event->data;
		ud->private_data_len = WIRE_RDMA_FOUND_DATA;
	}
	cm_enter(id, status ? ID_OVER : ID_CONNECTED);
	if (status)
		return true;
	ud->qp_num = event->said.qpn;
	ud->qkey = event->said.qkey;
	cm_fill_ah(id, &id->peer_gid, &ud->ah_attr);
	return true;
}
