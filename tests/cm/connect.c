/* SPDX-License-Identifier: BSD-2-Clause */
/* connect.c - the life of a connection of rdma_cm, and what forbids it. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <rdma/rdma_verbs.h>
#include <string.h>
#include <unistd.h>

#include "tests/cm/meeting.h"

static uint8_t bytes[256];

static void fill_bytes(void)
{
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i + 1);
}

static bool host_has_ipv6(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	bool has = fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof(at));

	close(fd);
	return has;
}

Test(cm_connect, both_are_told_with_all_the_data_that_may_go_along)
{
	struct meeting m;

	fill_bytes();
	meeting_open(&m);
	meeting_ask(&m, bytes, 56);
	meeting_accept(&m, bytes, 196);
	cr_assert_eq(rdma_get_dst_port(m.asks), rdma_get_src_port(m.listens));
	cr_assert_eq(rdma_get_dst_port(m.answers), rdma_get_src_port(m.asks));
	cr_assert(m.answers->verbs == m.asks->verbs && m.answers->route.num_paths == 1);
	cr_assert_eq(m.answers->route.path_rec->mtu, m.asks->route.path_rec->mtu);
	cr_assert(!memcmp(&m.answers->route.path_rec->dgid, &m.asks->route.path_rec->sgid, sizeof(union ibv_gid)));
	cr_assert_eq(rdma_disconnect(m.asks), 0);
	meeting_part(&m);
	cr_assert_eq(rdma_disconnect(m.answers), 0, "it is late, and no error");
	cr_assert_eq(m.answers->qp->state, IBV_QPS_ERR);
	meeting_close(&m);
}

/* "localhost" may be ::1. */
Test(cm_connect, at_each_address_of_IPv6)
{
	struct ibv_gid_entry table[32];
	struct ibv_context **devices = rdma_get_devices(NULL);
	ssize_t count = ibv_query_gid_table(devices[0], table, 32, 0);
	struct meeting m;
	int loopback = 0;

	for (ssize_t i = 0; i < count; i++) {
		struct sockaddr_in6 at = { .sin6_family = AF_INET6 };

		memcpy(&at.sin6_addr, table[i].gid.raw, sizeof(at.sin6_addr));
		if (IN6_IS_ADDR_V4MAPPED(&at.sin6_addr))
			continue;
		loopback += IN6_IS_ADDR_LOOPBACK(&at.sin6_addr);
		at.sin6_scope_id = IN6_IS_ADDR_LINKLOCAL(&at.sin6_addr) ? table[i].ndev_ifindex : 0;
		meeting_open_at(&m, &at, RDMA_PS_TCP, RDMA_PS_TCP);
		meeting_meet(&m);
		cr_assert(!memcmp(&m.asks->route.path_rec->dgid, &table[i].gid, sizeof(union ibv_gid)));
		cr_assert_eq(rdma_disconnect(m.asks), 0);
		meeting_part(&m);
		meeting_close(&m);
	}
	rdma_free_devices(devices);
	cr_assert_eq(loopback, host_has_ipv6());
}

Test(cm_connect, the_accepting_side_may_leave_first)
{
	struct meeting m;

	meeting_open(&m);
	meeting_meet(&m);
	cr_assert_eq(rdma_disconnect(m.answers), 0);
	meeting_part(&m);
	meeting_close(&m);
}

Test(cm_connect, a_destroyed_id_disconnects_its_peer)
{
	struct meeting m;

	meeting_open(&m);
	meeting_meet(&m);
	rdma_destroy_qp(m.asks);
	cr_assert_eq(rdma_destroy_id(m.asks), 0);
	m.asks = NULL;
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_DISCONNECTED, NULL), m.answers);
	meeting_close(&m);
}

Test(cm_connect, messages_go_by_the_queue_pairs)
{
	static char out[32] = "by rdma_post_send", in[32];
	struct ibv_mr *from, *to;
	struct ibv_wc wc;
	struct meeting m;

	meeting_open(&m);
	meeting_ask(&m, "", 0);
	from = rdma_reg_msgs(m.asks, out, sizeof(out));
	to = rdma_reg_msgs(m.answers, in, sizeof(in));
	cr_assert(from && to);
	cr_assert_eq(rdma_post_recv(m.answers, NULL, in, sizeof(in), to), 0);
	meeting_accept(&m, "", 0);
	cr_assert_eq(rdma_post_send(m.asks, NULL, out, sizeof(out), from, IBV_SEND_SIGNALED), 0);
	cr_assert(rdma_get_send_comp(m.asks, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	cr_assert(rdma_get_recv_comp(m.answers, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	cr_assert_str_eq(in, out);
	cr_assert_eq(rdma_disconnect(m.asks), 0);
	meeting_part(&m);
	rdma_destroy_qp(m.asks);
	rdma_destroy_qp(m.answers);
	cr_assert(!rdma_dereg_mr(from) && !rdma_dereg_mr(to));
	meeting_close(&m);
}

/* Of queue pairs that the programs made themselves, and know how to apply. */
Test(cm_connect, options_of_ECE_come_to_the_peer)
{
	struct ibv_ece own = { .vendor_id = 0x1234, .options = 5 }, theirs = { .vendor_id = 0x4321, .options = 6 }, got;
	struct rdma_conn_param param = { .qp_num = 77 };
	struct meeting m;

	meeting_open(&m);
	cr_assert_eq(rdma_set_local_ece(m.asks, &own), 0);
	cr_assert_eq(rdma_connect(m.asks, &param), 0);
	m.answers = meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	cr_assert_eq(rdma_get_remote_ece(m.answers, &got), 0);
	cr_assert(got.vendor_id == own.vendor_id && got.options == own.options && !got.comp_mask);
	cr_assert_eq(rdma_set_local_ece(m.answers, &theirs), 0);
	cr_assert_eq(rdma_accept(m.answers, &param), 0);
	meeting_expect(&m, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
	cr_assert_eq(rdma_get_remote_ece(m.asks, &got), 0);
	cr_assert(got.vendor_id == theirs.vendor_id && got.options == theirs.options && !got.comp_mask);
	cr_assert_eq(rdma_establish(m.asks), 0);
	meeting_expect(&m, RDMA_CM_EVENT_ESTABLISHED, NULL);
	meeting_close(&m);
}

Test(cm_connect, wrong_options_of_ECE)
{
	struct ibv_ece none = { .options = 5 }, masked = { .vendor_id = 1, .comp_mask = 1 }, good = { .vendor_id = 1 };
	struct meeting m;

	meeting_open(&m);
	cr_assert(rdma_set_local_ece(m.asks, &none) == -1 && errno == EINVAL);
	cr_assert(rdma_set_local_ece(m.asks, &masked) == -1 && errno == EINVAL);
	cr_assert(rdma_set_local_ece(m.asks, NULL) == -1 && errno == EINVAL);
	cr_assert(rdma_get_remote_ece(m.asks, NULL) == -1 && errno == EINVAL);
	meeting_give_qp(m.asks);
	cr_assert(rdma_set_local_ece(m.asks, &good) == -1 && errno == EINVAL);
	cr_assert(rdma_get_remote_ece(m.asks, &good) == -1 && errno == EINVAL);
	meeting_close(&m);
}

Test(cm_connect, a_rejection_has_its_reason_and_data)
{
	struct rdma_cm_event *event;
	struct meeting m;

	fill_bytes();
	meeting_open(&m);
	meeting_ask(&m, "", 0);
	cr_assert(rdma_reject(m.answers, bytes, 149) == -1 && errno == EINVAL);
	cr_assert_eq(rdma_reject(m.answers, bytes, 148), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_REJECTED, &event), m.asks);
	cr_assert_eq(event->status, 28, "the consumer has rejected it");
	cr_assert(event->param.conn.private_data_len == 148 && !memcmp(event->param.conn.private_data, bytes, 148));
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	cr_assert_eq(m.asks->qp->state, IBV_QPS_ERR);
	cr_assert(rdma_accept(m.answers, NULL) == -1 && errno == EINVAL);
	meeting_close(&m);
}

Test(cm_connect, a_request_that_is_destroyed_is_rejected)
{
	struct rdma_cm_event *event;
	struct meeting m;

	meeting_open(&m);
	meeting_ask(&m, "", 0);
	rdma_destroy_qp(m.answers);
	cr_assert_eq(rdma_destroy_id(m.answers), 0);
	m.answers = NULL;
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_REJECTED, &event), m.asks);
	cr_assert_eq(event->status, 28);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	meeting_close(&m);
}

Test(cm_connect, a_request_outlives_its_listener)
{
	struct meeting m;

	meeting_open(&m);
	meeting_ask(&m, "", 0);
	cr_assert_eq(rdma_destroy_id(m.listens), 0);
	m.listens = NULL;
	meeting_accept(&m, "", 0);
	meeting_close(&m);
}

Test(cm_connect, nobody_listens)
{
	struct rdma_cm_event *event;
	struct meeting m;

	meeting_open(&m);
	cr_assert_eq(rdma_destroy_id(m.listens), 0);
	m.listens = NULL;
	meeting_give_qp(m.asks);
	cr_assert_eq(rdma_connect(m.asks, NULL), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_REJECTED, &event), m.asks);
	cr_assert_eq(event->status, 8, "no such service");
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	meeting_close(&m);
}

/* As UCX and NCCL's plugins do it: the accepting side before rdma_accept(). Tells the packet sequence numbers. */
static void to_states(struct rdma_cm_id *id, struct ibv_qp *qp, uint32_t *sq_psn, uint32_t *rq_psn)
{
	static const enum ibv_qp_state ways[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

	for (int i = 0; i < 3; i++) {
		struct ibv_qp_attr attr = { .qp_state = ways[i] };
		int mask;

		cr_assert_eq(rdma_init_qp_attr(id, &attr, &mask), 0);
		cr_assert_eq(ibv_modify_qp(qp, &attr, mask), 0);
		*(ways[i] == IBV_QPS_RTR ? rq_psn : sq_psn) = ways[i] == IBV_QPS_RTR ? attr.rq_psn : attr.sq_psn;
	}
}

Test(cm_connect, programs_may_make_the_queue_pairs)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct ibv_qp_init_attr attr = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	uint32_t sends[2], expects[2];
	struct rdma_cm_event *event;
	struct ibv_qp *qp[2];
	struct meeting m;

	meeting_open(&m);
	attr.send_cq = attr.recv_cq = ibv_create_cq(m.asks->verbs, 16, NULL, NULL, 0);
	qp[0] = ibv_create_qp(m.asks->pd, &attr);
	qp[1] = ibv_create_qp(m.asks->pd, &attr);
	cr_assert(qp[0] && qp[1]);
	param.qp_num = qp[0]->qp_num;
	cr_assert_eq(rdma_connect(m.asks, &param), 0);
	m.answers = meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	to_states(m.answers, qp[1], &sends[1], &expects[1]);
	param.qp_num = qp[1]->qp_num;
	cr_assert_eq(rdma_accept(m.answers, &param), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_CONNECT_RESPONSE, &event), m.asks);
	cr_assert_eq(event->param.conn.qp_num, qp[1]->qp_num);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	to_states(m.asks, qp[0], &sends[0], &expects[0]);
	cr_assert(sends[0] == expects[1] && sends[1] == expects[0], "packet sequence numbers");
	cr_assert_eq(rdma_establish(m.asks), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_ESTABLISHED, NULL), m.answers);
	cr_assert_eq(rdma_disconnect(m.answers), 0);
	meeting_part(&m);
	cr_assert(!ibv_destroy_qp(qp[0]) && !ibv_destroy_qp(qp[1]) && !ibv_destroy_cq(attr.send_cq));
	meeting_close(&m);
}

/* Numbers of queue pairs are said, which the ids do not have. The asking side has the reply. */
static void meet_without_pairs(struct meeting *m)
{
	struct rdma_conn_param param = { .qp_num = 0x10001 };

	meeting_open(m);
	cr_assert_eq(rdma_connect(m->asks, &param), 0);
	m->answers = meeting_expect(m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	cr_assert_eq(rdma_accept(m->answers, &param), 0);
	meeting_expect(m, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
}

/* rdma_create_qp() comes before rdma_connect(): one that comes later is led nowhere. */
Test(cm_connect, a_queue_pair_of_the_id_comes_too_late)
{
	struct meeting m;

	meet_without_pairs(&m);
	meeting_give_qp(m.asks);
	cr_assert(rdma_establish(m.asks) == -1 && errno == EINVAL);
	rdma_destroy_qp(m.asks);
	cr_assert_eq(rdma_establish(m.asks), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_ESTABLISHED, NULL), m.answers);
	meeting_close(&m);
}

Test(cm_connect, a_reply_may_be_rejected)
{
	struct rdma_cm_event *event;
	struct meeting m;

	meet_without_pairs(&m);
	cr_assert_eq(rdma_reject(m.asks, "no", 3), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_REJECTED, &event), m.answers);
	cr_assert(event->status == 28 && !strcmp(event->param.conn.private_data, "no"));
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	meeting_close(&m);
}

/* As with the kernel's, whose side that asks says so when it gives up. */
Test(cm_connect, a_reply_that_nobody_waits_for_is_rejected)
{
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_cm_event *event;
	struct meeting m;

	meeting_open(&m);
	cr_assert_eq(rdma_connect(m.asks, &param), 0);
	m.answers = meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	cr_assert_eq(rdma_destroy_id(m.asks), 0);
	m.asks = NULL;
	cr_assert_eq(rdma_accept(m.answers, &param), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_REJECTED, &event), m.answers);
	cr_assert_eq(event->status, 4);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	meeting_close(&m);
}

/* Also those that are made while the number is still sought. */
Test(cm_connect, requests_come_in_the_order_in_which_they_were_made)
{
	enum { ASKING = 5 };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_cm_id *ids[ASKING], *asked[ASKING];
	struct meeting m;

	meeting_open(&m);
	at.sin_port = rdma_get_src_port(m.listens);
	for (int i = 0; i < ASKING; i++) {
		cr_assert_eq(rdma_create_id(m.channel, &ids[i], NULL, RDMA_PS_TCP), 0);
		cr_assert_eq(rdma_resolve_addr(ids[i], NULL, (struct sockaddr *)&at, 2000), 0);
		meeting_expect(&m, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
		cr_assert_eq(rdma_resolve_route(ids[i], 2000), 0);
		meeting_expect(&m, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	}
	for (int i = 0; i < ASKING; i++) {
		struct rdma_conn_param param = { .qp_num = (uint32_t)i + 1 };

		cr_assert_eq(rdma_connect(ids[i], &param), 0);
	}
	for (int i = 0; i < ASKING; i++) {
		struct rdma_cm_event *event;

		asked[i] = meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, &event);
		cr_assert_eq(event->param.conn.qp_num, (uint32_t)i + 1);
		cr_assert_eq(rdma_ack_cm_event(event), 0);
	}
	for (int i = 0; i < ASKING; i++)
		cr_assert_eq(rdma_destroy_id(asked[i]), 0); /* which rejects: the channel is that of the asking ids, too */
	for (int i = 0; i < ASKING; i++)
		cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_REJECTED, NULL), ids[i]);
	for (int i = 0; i < ASKING; i++)
		cr_assert_eq(rdma_destroy_id(ids[i]), 0);
	meeting_close(&m);
}
