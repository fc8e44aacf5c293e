/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_ids.c - ids of rdma_cm: their states, numbers and options, and what is refused: V200 to V209. */
#include <stdio.h>
#include <unistd.h>

#include "tests/rules/verbs/rworld.h"

static struct sockaddr *any_of(struct sockaddr_in *at)
{
	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	return (struct sockaddr *)at;
}

RIDS(V200_an_id_is_bound_once)
{
	struct rdma_cm_id *id = r_id(w);
	struct sockaddr_in at;

	R_RC(0, rdma_bind_addr(id, any_of(&at)));
	R_RC(EINVAL, rdma_bind_addr(id, any_of(&at)));
	R_RC(EINVAL, rdma_bind_addr(w->asks, any_of(&at)));
	r_end(&id);
}

RIDS(V201_port_0_is_a_number_that_is_free)
{
	struct rdma_cm_id *id = r_id(w);
	struct sockaddr_in at;

	R_RC(0, rdma_bind_addr(id, any_of(&at)));
	CHECK(rdma_get_src_port(id) && rdma_get_src_port(id) != w->at.sin_port, "number %u", ntohs(rdma_get_src_port(id)));
	CHECK(rdma_get_dst_port(w->asks) == w->at.sin_port, "the peer's number is another one");
	r_end(&id);
}

RIDS(V202_a_number_has_one_listener)
{
	struct rdma_cm_id *id = r_id(w);

	R_RC(EADDRINUSE, rdma_bind_addr(id, (struct sockaddr *)&w->at));
	r_end(&w->listens);
	R_RC(0, rdma_bind_addr(id, (struct sockaddr *)&w->at));
	r_end(&id);
}

RIDS(V203_a_number_is_no_port_of_TCP)
{
	int tcp = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(tcp >= 0 && !bind(tcp, (struct sockaddr *)&w->at, sizeof(w->at)) && !listen(tcp, 1), "the port of TCP is taken: %s",
	      strerror(errno));
	close(tcp);
}

RIDS(V204_a_route_is_resolved_after_the_address)
{
	struct rdma_cm_id *id = r_id(w);

	R_RC(EINVAL, rdma_resolve_route(id, R_TIMEOUT_MS));
	R_RC(EINVAL, rdma_resolve_route(w->asks, R_TIMEOUT_MS));
	R_RC(EINVAL, rdma_resolve_addr(w->asks, NULL, (struct sockaddr *)&w->at, R_TIMEOUT_MS));
	r_end(&id);
}

RIDS(V204_an_id_with_an_address_has_its_device)
{
	struct rdma_cm_id *id = r_id(w);

	CHECK(!id->verbs && w->asks->verbs && w->asks->pd && w->asks->port_num, "verbs, pd and port_num of the ids");
	r_end(&id);
}

RIDS(V205_an_id_connects_after_its_route)
{
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_cm_id *id = r_id(w);

	R_RC(EINVAL, rdma_connect(id, &param));
	R_RC(EINVAL, rdma_connect(w->listens, &param));
	r_meet(w);
	R_RC(EINVAL, rdma_connect(w->asks, &param));
	r_end(&id);
}

RIDS(V206_a_request_is_answered_once)
{
	R_RC(EINVAL, rdma_accept(w->asks, NULL));
	R_RC(EINVAL, rdma_reject(w->asks, NULL, 0));
	r_meet(w);
	R_RC(EINVAL, rdma_accept(w->answers, NULL));
	R_RC(EINVAL, rdma_reject(w->answers, NULL, 0));
}

RIDS(V206_one_that_is_rejected_is_not_accepted)
{
	r_ask(w, NULL, 0);
	R_RC(0, rdma_reject(w->answers, NULL, 0));
	R_RC(EINVAL, rdma_accept(w->answers, NULL));
}

RIDS(V207_an_id_listens_once)
{
	R_RC(EINVAL, rdma_listen(w->listens, 1));
	R_RC(EINVAL, rdma_listen(w->asks, 1));
}

RIDS(V208_an_id_has_one_queue_pair_of_its_type)
{
	struct ibv_qp_init_attr attr = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct rdma_cm_id *id = r_id(w);

	R_RC(EINVAL, rdma_create_qp(id, NULL, &attr));
	attr.qp_type = IBV_QPT_UD;
	R_RC(EINVAL, rdma_create_qp(w->asks, NULL, &attr));
	r_give_qp(w->asks);
	CHECK(v_state(w->asks->qp) == IBV_QPS_INIT, "the queue pair is in state %d", (int)v_state(w->asks->qp));
	attr.qp_type = IBV_QPT_RC;
	R_RC(EINVAL, rdma_create_qp(w->asks, NULL, &attr));
	rdma_destroy_qp(w->asks);
	CHECK(!w->asks->qp && !w->asks->send_cq && !w->asks->recv_cq, "what was destroyed is still in the id");
	r_give_qp(w->asks);
	r_end(&id);
}

static int set(struct rdma_cm_id *id, int name, int value)
{
	return rdma_set_option(id, RDMA_OPTION_ID, name, &value, sizeof(value));
}

RIDS(V209_ids_share_a_number_that_want_it)
{
	struct rdma_cm_id *one = r_id(w), *other = r_id(w);
	struct sockaddr_in at;

	R_RC(0, set(one, RDMA_OPTION_ID_REUSEADDR, 1));
	R_RC(0, rdma_bind_addr(one, any_of(&at)));
	at.sin_port = rdma_get_src_port(one);
	R_RC(0, set(other, RDMA_OPTION_ID_REUSEADDR, 1));
	R_RC(0, rdma_bind_addr(other, (struct sockaddr *)&at));
	R_RC(EINVAL, set(w->listens, RDMA_OPTION_ID_REUSEADDR, 1));
	r_end(&other);
	r_end(&one);
}

RIDS(V209_datagrams_have_no_acknowledgements)
{
	struct rdma_cm_id *id;
	uint8_t timeout = 14;

	R_RC(0, rdma_create_id(w->channel, &id, NULL, RDMA_PS_UDP));
	R_RC(0, rdma_set_option(w->asks, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof(timeout)));
	R_RC(EINVAL, rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof(timeout)));
	r_end(&id);
}

RIDS(V209_options_have_their_lengths)
{
	uint8_t tos = 32;

	R_RC(0, rdma_set_option(w->asks, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
	R_RC(EINVAL, rdma_set_option(w->asks, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 2));
	R_RC(ENOSYS, rdma_set_option(w->asks, RDMA_OPTION_ID, 99, &tos, sizeof(tos)));
}
