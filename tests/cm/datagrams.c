/* SPDX-License-Identifier: BSD-2-Clause */
/* datagrams.c - datagram services of rdma_cm (RDMA_PS_UDP): found, rejected, not there; and the messages that follow. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <string.h>

#include "tests/cm/meeting.h"

enum { TIMEOUT_MS = 2000, GRH = 40, LENGTH = 64 };

#define FAILS(call, error) cr_assert((call) == -1 && errno == (error), #call ": errno %d", errno)

static void give_ud_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_UD,
					 .sq_sig_all = 1 };
	struct ibv_qp_attr attr;

	cr_assert_eq(rdma_create_qp(id, NULL, &init), 0, "errno %d", errno);
	cr_assert_eq(id->qp->state, IBV_QPS_RTS, "it needs no peer");
	cr_assert_eq(ibv_query_qp(id->qp, &attr, IBV_QP_QKEY, &init), 0);
	cr_assert_eq(attr.qkey, RDMA_UDP_QKEY);
}

static void look_up(struct meeting *m, const char *data)
{
	struct rdma_conn_param param = { .private_data = data, .private_data_len = (uint8_t)(data ? strlen(data) : 0) };

	cr_assert_eq(rdma_connect(m->asks, &param), 0, "errno %d", errno);
}

static void take_lookup(struct meeting *m, const char *data)
{
	struct rdma_cm_event *event;

	m->answers = meeting_expect(m, RDMA_CM_EVENT_CONNECT_REQUEST, &event);
	cr_assert(event->listen_id == m->listens && m->answers->ps == RDMA_PS_UDP && m->answers->qp_type == IBV_QPT_UD);
	cr_assert_eq(event->param.ud.private_data_len, 180);
	cr_assert(!memcmp(event->param.ud.private_data, data, strlen(data)));
	cr_assert_eq(rdma_ack_cm_event(event), 0);
}

/* The end of a lookup, whose answer has these bytes. */
static struct rdma_ud_param lookup_ends(struct meeting *m, enum rdma_cm_event_type type, int status, const char *data)
{
	struct rdma_ud_param ud;
	struct rdma_cm_event *event;

	cr_assert_eq(meeting_expect(m, type, &event), m->asks);
	cr_assert_eq(event->status, status, "status %d", event->status);
	ud = event->param.ud;
	if (data) {
		cr_assert_eq(ud.private_data_len, 136);
		cr_assert(!memcmp(ud.private_data, data, strlen(data)));
	}
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	return ud;
}

static void send_to(struct rdma_cm_id *from, const struct rdma_ud_param *to, char *bytes)
{
	struct ibv_ah_attr way = to->ah_attr;
	struct ibv_mr *mr = rdma_reg_msgs(from, bytes, LENGTH);
	struct ibv_ah *ah = ibv_create_ah(from->pd, &way);
	struct ibv_wc wc;

	cr_assert(mr && ah);
	cr_assert_eq(to->qkey, RDMA_UDP_QKEY);
	cr_assert_eq(rdma_post_ud_send(from, NULL, bytes, LENGTH, mr, 0, ah, to->qp_num), 0);
	cr_assert(rdma_get_send_comp(from, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	cr_assert(!ibv_destroy_ah(ah) && !rdma_dereg_mr(mr));
}

Test(cm_datagrams, found_and_sent_to)
{
	static char out[LENGTH] = "to a service", in[GRH + LENGTH];
	struct rdma_conn_param param = { .private_data = "here", .private_data_len = 4 };
	struct rdma_ud_param ud;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	struct meeting m;

	meeting_open_spaces(&m, RDMA_PS_UDP, RDMA_PS_UDP);
	give_ud_qp(m.asks);
	look_up(&m, "who has it?");
	take_lookup(&m, "who has it?");
	give_ud_qp(m.answers);
	mr = rdma_reg_msgs(m.answers, in, sizeof(in));
	cr_assert_eq(rdma_post_recv(m.answers, NULL, in, sizeof(in), mr), 0);
	cr_assert_eq(rdma_accept(m.answers, &param), 0, "errno %d", errno);
	ud = lookup_ends(&m, RDMA_CM_EVENT_ESTABLISHED, 0, "here");
	cr_assert_eq(ud.qp_num, m.answers->qp->qp_num);
	cr_assert(ud.ah_attr.is_global && ud.ah_attr.port_num == 1);
	send_to(m.asks, &ud, out);
	cr_assert(rdma_get_recv_comp(m.answers, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	cr_assert(wc.byte_len == sizeof(in) && wc.src_qp == m.asks->qp->qp_num && wc.wc_flags & IBV_WC_GRH);
	cr_assert_str_eq(in + GRH, out);
	cr_assert_eq(rdma_dereg_mr(mr), 0);
	FAILS(rdma_connect(m.asks, NULL), EINVAL); /* once */
	cr_assert_eq(rdma_disconnect(m.asks), 0);  /* there is no connection, but the queue pair is stopped */
	cr_assert_eq(m.asks->qp->state, IBV_QPS_ERR);
	meeting_close(&m);
}

Test(cm_datagrams, rejected_by_the_program)
{
	struct meeting m;

	meeting_open_spaces(&m, RDMA_PS_UDP, RDMA_PS_UDP);
	look_up(&m, "may I?");
	take_lookup(&m, "may I?");
	cr_assert_eq(rdma_reject(m.answers, "no", 2), 0);
	FAILS(rdma_accept(m.answers, NULL), EINVAL);
	lookup_ends(&m, RDMA_CM_EVENT_UNREACHABLE, 2, "no");
	meeting_close(&m);
}

Test(cm_datagrams, an_unanswered_lookup_is_rejected)
{
	struct meeting m;

	meeting_open_spaces(&m, RDMA_PS_UDP, RDMA_PS_UDP);
	look_up(&m, NULL);
	take_lookup(&m, "");
	cr_assert_eq(rdma_destroy_id(m.answers), 0);
	m.answers = NULL;
	lookup_ends(&m, RDMA_CM_EVENT_UNREACHABLE, 2, "");
	meeting_close(&m);
}

Test(cm_datagrams, an_unread_lookup_is_rejected)
{
	struct meeting m, other = { .channel = rdma_create_event_channel() };
	struct pollfd look;

	meeting_open_spaces(&m, RDMA_PS_UDP, RDMA_PS_UDP);
	cr_assert_eq(rdma_migrate_id(m.asks, other.channel), 0);
	look_up(&m, NULL);
	look = (struct pollfd){ .fd = m.channel->fd, .events = POLLIN };
	cr_assert_eq(poll(&look, 1, 60000), 1);
	cr_assert_eq(rdma_destroy_id(m.listens), 0);
	m.listens = NULL;
	other.asks = m.asks;
	lookup_ends(&other, RDMA_CM_EVENT_UNREACHABLE, 2, "");
	meeting_close(&m);
	rdma_destroy_event_channel(other.channel);
}

Test(cm_datagrams, nobody_has_the_service)
{
	struct meeting m;

	meeting_open_spaces(&m, RDMA_PS_UDP, RDMA_PS_UDP);
	cr_assert_eq(rdma_destroy_id(m.listens), 0);
	m.listens = NULL;
	look_up(&m, NULL);
	lookup_ends(&m, RDMA_CM_EVENT_UNREACHABLE, 1, NULL);
	meeting_close(&m);
}

/* Those of one number: each kind is told apart (WIRE-185). */
Test(cm_datagrams, a_listener_of_another_port_space)
{
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_cm_event *event;
	struct meeting m;

	meeting_open_spaces(&m, RDMA_PS_TCP, RDMA_PS_UDP);
	look_up(&m, NULL);
	lookup_ends(&m, RDMA_CM_EVENT_UNREACHABLE, 1, "");
	meeting_close(&m);

	meeting_open_spaces(&m, RDMA_PS_UDP, RDMA_PS_TCP);
	cr_assert_eq(rdma_connect(m.asks, &param), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_REJECTED, &event), m.asks);
	cr_assert_eq(event->status, 8);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	meeting_close(&m);
}

Test(cm_datagrams, limits_of_private_data)
{
	static const char bytes[256];
	struct rdma_conn_param param = { .private_data = bytes, .private_data_len = 181, .qp_num = 1 };
	struct meeting m;

	meeting_open_spaces(&m, RDMA_PS_UDP, RDMA_PS_UDP);
	FAILS(rdma_connect(m.asks, &param), EINVAL);
	param.private_data_len = 180;
	cr_assert_eq(rdma_connect(m.asks, &param), 0, "no queue pair is needed");
	take_lookup(&m, "");
	param.private_data_len = 137;
	FAILS(rdma_accept(m.answers, &param), EINVAL);
	FAILS(rdma_reject(m.answers, bytes, 137), EINVAL);
	param.private_data_len = 136;
	param.qp_num = 0;
	FAILS(rdma_accept(m.answers, &param), EINVAL);
	param.qp_num = 7;
	cr_assert_eq(rdma_accept(m.answers, &param), 0);
	cr_assert_eq(lookup_ends(&m, RDMA_CM_EVENT_ESTABLISHED, 0, "").qp_num, 7);
	meeting_close(&m);
}

Test(cm_datagrams, ids_of_ipoib_have_no_device)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_IPOIB), 0);
	cr_assert_eq(id->qp_type, IBV_QPT_UD);
	FAILS(rdma_bind_addr(id, (struct sockaddr *)&at), EINVAL);
	at.sin_port = htons(1);
	cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&at, TIMEOUT_MS), 0);
	cr_assert_eq(rdma_get_cm_event(channel, &event), 0);
	cr_assert(event->event == RDMA_CM_EVENT_ADDR_ERROR && event->status == -EINVAL);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	cr_assert_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

/* What a program's own queue pair takes (rdma_init_qp_attr()). */
Test(cm_datagrams, a_queue_pair_of_the_programs_own)
{
	struct ibv_qp_init_attr init = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_UD };
	struct ibv_qp_attr attr = { 0 };
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct meeting m;
	int mask;

	meeting_open_spaces(&m, RDMA_PS_UDP, RDMA_PS_UDP);
	cq = ibv_create_cq(m.asks->verbs, 2, NULL, NULL, 0);
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(m.asks->pd, &init);
	cr_assert(cq && qp);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		attr.qp_state = state;
		cr_assert_eq(rdma_init_qp_attr(m.asks, &attr, &mask), 0);
		cr_assert_eq(ibv_modify_qp(qp, &attr, mask), 0);
	}
	attr.qp_state = IBV_QPS_SQD;
	FAILS(rdma_init_qp_attr(m.asks, &attr, &mask), EINVAL);
	cr_assert_eq(ibv_destroy_qp(qp), 0);
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	meeting_close(&m);
}

/* --- calls that wait --- */

static void *answers_once(void *listens)
{
	struct rdma_cm_id *id;

	cr_assert_eq(rdma_get_request(listens, &id), 0, "errno %d", errno);
	cr_assert(id->qp && id->qp->state == IBV_QPS_RTS);
	cr_assert_eq(rdma_accept(id, NULL), 0, "errno %d", errno);
	rdma_destroy_ep(id);
	return NULL;
}

static struct rdma_addrinfo *info_of_ud(const char *port, int flags, int space)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = space, .ai_qp_type = IBV_QPT_UD }, *info;

	cr_assert_eq(rdma_getaddrinfo("127.0.0.1", port, &hints, &info), 0);
	cr_assert(info->ai_qp_type == IBV_QPT_UD && info->ai_port_space == (space ? space : RDMA_PS_UDP));
	return info;
}

static void one_call_for_each_step(int space)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 } };
	struct rdma_addrinfo *info = info_of_ud("0", RAI_PASSIVE, space);
	struct rdma_cm_id *listens, *id;
	pthread_t thread;
	char port[8];

	cr_assert_eq(rdma_create_ep(&listens, info, NULL, &init), 0, "errno %d", errno);
	rdma_freeaddrinfo(info);
	cr_assert_eq(rdma_listen(listens, 1), 0);
	snprintf(port, sizeof(port), "%u", ntohs(rdma_get_src_port(listens)));
	cr_assert_eq(pthread_create(&thread, NULL, answers_once, listens), 0);
	info = info_of_ud(port, 0, space);
	cr_assert_eq(rdma_create_ep(&id, info, NULL, &init), 0, "errno %d", errno);
	rdma_freeaddrinfo(info);
	cr_assert_eq(rdma_connect(id, NULL), 0, "errno %d", errno);
	cr_assert(id->event->event == RDMA_CM_EVENT_ESTABLISHED && id->event->param.ud.qkey == RDMA_UDP_QKEY);
	cr_assert_eq(rdma_disconnect(id), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listens);
}

Test(cm_datagrams, calls_that_wait)
{
	one_call_for_each_step(0);
}

/* Of RDMA_PS_IB the type of queue pairs is the program's. */
Test(cm_datagrams, in_the_port_space_of_infiniband)
{
	one_call_for_each_step(RDMA_PS_IB);
}

Test(cm_datagrams, a_port_space_is_told_from_infinibands)
{
	struct rdma_cm_event *event;
	struct rdma_addrinfo *info;
	struct rdma_cm_id *id;
	struct meeting m;
	char port[8];

	meeting_open_spaces(&m, RDMA_PS_UDP, RDMA_PS_UDP);
	snprintf(port, sizeof(port), "%u", ntohs(rdma_get_src_port(m.listens)));
	info = info_of_ud(port, 0, RDMA_PS_IB);
	cr_assert_eq(rdma_create_ep(&id, info, NULL, NULL), 0, "errno %d", errno);
	rdma_freeaddrinfo(info);
	cr_assert_eq(rdma_ack_cm_event(id->event), 0);
	id->event = NULL;
	cr_assert_eq(rdma_migrate_id(id, m.channel), 0);
	cr_assert_eq(rdma_connect(id, NULL), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_UNREACHABLE, &event), id);
	cr_assert_eq(event->status, 1);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	cr_assert_eq(rdma_destroy_id(id), 0);
	meeting_close(&m);
}
