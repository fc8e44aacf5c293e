/* SPDX-License-Identifier: BSD-2-Clause */
/* meeting.c - see meeting.h. */
#include "tests/cm/meeting.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

enum { TIMEOUT_MS = 2000 };

struct rdma_cm_id *meeting_expect(struct meeting *meeting, enum rdma_cm_event_type type, struct rdma_cm_event **out)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	cr_assert_eq(rdma_get_cm_event(meeting->channel, &event), 0);
	cr_assert_eq(event->event, type, "%s in the place of %s, status %d", rdma_event_str(event->event), rdma_event_str(type),
		     event->status);
	id = event->id;
	if (out)
		*out = event;
	else
		cr_assert_eq(rdma_ack_cm_event(event), 0);
	return id;
}

void meeting_open(struct meeting *meeting)
{
	meeting_open_spaces(meeting, RDMA_PS_TCP, RDMA_PS_TCP);
}

void meeting_open_spaces(struct meeting *meeting, enum rdma_port_space listens, enum rdma_port_space asks)
{
	struct sockaddr_in6 at = { 0 };

	*(struct sockaddr_in *)&at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	meeting_open_at(meeting, &at, listens, asks);
}

void meeting_open_at(struct meeting *meeting, struct sockaddr_in6 *at, enum rdma_port_space listens, enum rdma_port_space asks)
{
	memset(meeting, 0, sizeof(*meeting));
	meeting->channel = rdma_create_event_channel();
	cr_assert(meeting->channel);
	cr_assert_eq(rdma_create_id(meeting->channel, &meeting->listens, NULL, listens), 0);
	cr_assert_eq(rdma_bind_addr(meeting->listens, (struct sockaddr *)at), 0);
	cr_assert_eq(rdma_listen(meeting->listens, 8), 0);
	at->sin6_port = rdma_get_src_port(meeting->listens); /* at one place in both families */
	cr_assert_neq(at->sin6_port, 0);
	cr_assert_eq(rdma_create_id(meeting->channel, &meeting->asks, meeting, asks), 0);
	cr_assert_eq(rdma_resolve_addr(meeting->asks, NULL, (struct sockaddr *)at, TIMEOUT_MS), 0);
	cr_assert_eq(meeting_expect(meeting, RDMA_CM_EVENT_ADDR_RESOLVED, NULL), meeting->asks);
	cr_assert_eq(rdma_resolve_route(meeting->asks, TIMEOUT_MS), 0);
	cr_assert_eq(meeting_expect(meeting, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL), meeting->asks);
}

static void end_id(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	cr_assert_eq(rdma_destroy_id(id), 0);
}

void meeting_close(struct meeting *meeting)
{
	end_id(meeting->asks);
	end_id(meeting->answers);
	end_id(meeting->listens);
	rdma_destroy_event_channel(meeting->channel);
}

void meeting_give_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_RC };

	cr_assert_eq(rdma_create_qp(id, NULL, &attr), 0, "errno %d", errno);
	cr_assert(id->qp && id->send_cq && id->recv_cq && id->pd);
	cr_assert_eq(id->qp->state, IBV_QPS_INIT);
}

void meeting_ask(struct meeting *meeting, const void *data, size_t length)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = (uint8_t)length,
		.responder_resources = 3,
		.initiator_depth = 5,
		.retry_count = 7,
		.rnr_retry_count = 6,
	};
	struct rdma_cm_event *event;

	meeting_give_qp(meeting->asks);
	cr_assert_eq(rdma_connect(meeting->asks, &param), 0);
	meeting->answers = meeting_expect(meeting, RDMA_CM_EVENT_CONNECT_REQUEST, &event);
	cr_assert_eq(event->listen_id, meeting->listens);
	cr_assert(event->param.conn.responder_resources == 5 && event->param.conn.initiator_depth == 3);
	cr_assert_eq(event->param.conn.qp_num, meeting->asks->qp->qp_num);
	cr_assert(event->param.conn.private_data_len == 56 && !memcmp(event->param.conn.private_data, data, length));
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	meeting_give_qp(meeting->answers);
}

void meeting_accept(struct meeting *meeting, const void *data, size_t length)
{
	struct rdma_conn_param param = { .private_data = data,
					 .private_data_len = (uint8_t)length,
					 .responder_resources = 2,
					 .initiator_depth = 1,
					 .rnr_retry_count = 7 };
	struct rdma_cm_event *event;

	cr_assert_eq(rdma_accept(meeting->answers, &param), 0);
	cr_assert_eq(meeting_expect(meeting, RDMA_CM_EVENT_ESTABLISHED, &event), meeting->asks);
	cr_assert(event->param.conn.private_data_len == 196 && !memcmp(event->param.conn.private_data, data, length));
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	cr_assert_eq(meeting_expect(meeting, RDMA_CM_EVENT_ESTABLISHED, NULL), meeting->answers);
	cr_assert(meeting->asks->qp->state == IBV_QPS_RTS && meeting->answers->qp->state == IBV_QPS_RTS);
}

void meeting_meet(struct meeting *meeting)
{
	meeting_ask(meeting, "hello", 6);
	meeting_accept(meeting, "welcome", 8);
}

void meeting_part(struct meeting *meeting)
{
	unsigned int told[2] = { 0 }; /* of asks and answers: 1 for DISCONNECTED, and then 2 for TIMEWAIT_EXIT */

	while (told[0] + told[1] < 2 * 3) {
		struct rdma_cm_event *event;
		unsigned int *of;

		cr_assert_eq(rdma_get_cm_event(meeting->channel, &event), 0);
		cr_assert(event->id == meeting->asks || event->id == meeting->answers);
		of = &told[event->id == meeting->answers];
		cr_assert_eq(event->event, *of ? RDMA_CM_EVENT_TIMEWAIT_EXIT : RDMA_CM_EVENT_DISCONNECTED, "%s",
			     rdma_event_str(event->event));
		*of += *of ? 2 : 1;
		cr_assert_eq(rdma_ack_cm_event(event), 0);
	}
}

bool meeting_own_ipv6(struct sockaddr_in6 *at)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct ibv_context **list = rdma_get_devices(NULL);
	struct ibv_gid_entry entry;
	bool found = false;

	for (uint32_t i = 0; !found && i < 32; i++) {
		found = !ibv_query_gid_ex(list[0], 1, i, &entry, 0) && !IN6_IS_ADDR_V4MAPPED((struct in6_addr *)entry.gid.raw);
		*at = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_scope_id = entry.ndev_ifindex };
		memcpy(&at->sin6_addr, entry.gid.raw, sizeof(at->sin6_addr));
	}
	rdma_free_devices(list);
	rdma_destroy_event_channel(channel);
	return found;
}
