/* SPDX-License-Identifier: BSD-2-Clause */
/* sync.c - ids without a channel, whose calls wait: rdma_create_ep() and what goes with it, in two threads. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH = 32 };

static struct ibv_qp_init_attr wish(void)
{
	return (struct ibv_qp_init_attr){ .cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
					  .sq_sig_all = 1 };
}

static struct rdma_addrinfo *info_of(const char *port, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *info;

	cr_assert_eq(rdma_getaddrinfo("127.0.0.1", port, &hints, &info), 0);
	cr_assert(info->ai_family == AF_INET && info->ai_qp_type == IBV_QPT_RC);
	return info;
}

/* Answers one request with its bytes, and waits until the peer leaves. */
static void *serves(void *listens)
{
	static char bytes[LENGTH];
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	cr_assert_eq(rdma_get_request(listens, &id), 0, "errno %d", errno);
	mr = rdma_reg_msgs(id, bytes, LENGTH);
	cr_assert(mr && !rdma_post_recv(id, NULL, bytes, LENGTH, mr));
	cr_assert_eq(rdma_accept(id, NULL), 0, "errno %d", errno);
	cr_assert(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	cr_assert_eq(rdma_post_send(id, NULL, bytes, LENGTH, mr, 0), 0);
	cr_assert(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	cr_assert_eq(rdma_disconnect(id), 0);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	return NULL;
}

static void ask(const char *port)
{
	static char out[LENGTH] = "there and back", in[LENGTH];
	struct rdma_addrinfo *info = info_of(port, 0);
	struct ibv_qp_init_attr init = wish();
	struct ibv_mr *from, *to;
	struct rdma_cm_id *id;
	struct ibv_wc wc;

	cr_assert_eq(rdma_create_ep(&id, info, NULL, &init), 0, "errno %d", errno);
	from = rdma_reg_msgs(id, out, LENGTH);
	to = rdma_reg_msgs(id, in, LENGTH);
	cr_assert_eq(rdma_post_recv(id, NULL, in, LENGTH, to), 0);
	cr_assert_eq(rdma_connect(id, NULL), 0, "errno %d", errno);
	cr_assert_eq(rdma_post_send(id, NULL, out, LENGTH, from, 0), 0);
	cr_assert(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	cr_assert(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	cr_assert_str_eq(in, out);
	cr_assert_eq(rdma_disconnect(id), 0);
	cr_assert(!rdma_dereg_mr(from) && !rdma_dereg_mr(to));
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(info);
}

Test(cm_sync, one_call_for_each_step)
{
	struct rdma_addrinfo *info = info_of("0", RAI_PASSIVE);
	struct ibv_qp_init_attr init = wish();
	struct rdma_cm_id *listens;
	pthread_t thread;
	char port[8];

	cr_assert_eq(rdma_create_ep(&listens, info, NULL, &init), 0);
	cr_assert_eq(rdma_listen(listens, 1), 0);
	snprintf(port, sizeof(port), "%u", ntohs(rdma_get_src_port(listens)));
	cr_assert_eq(pthread_create(&thread, NULL, serves, listens), 0);
	ask(port);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	rdma_destroy_ep(listens);
	rdma_freeaddrinfo(info);
}

Test(cm_sync, failures_are_errnos)
{
	struct rdma_addrinfo *info = info_of("1", 0), *none;
	struct ibv_qp_init_attr init = wish();
	struct rdma_cm_id *id, *out;

	cr_assert_eq(rdma_create_ep(&id, info, NULL, &init), 0);
	cr_assert(rdma_connect(id, NULL) == -1 && errno == ECONNREFUSED, "errno %d", errno);
	cr_assert(id->event && id->event->event == RDMA_CM_EVENT_REJECTED && id->event->status == 8);
	cr_assert(rdma_get_request(id, &out) == -1 && errno == EINVAL, "it does not listen");
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(info);
	cr_assert_neq(rdma_getaddrinfo("not an address", NULL, &(struct rdma_addrinfo){ .ai_flags = RAI_NUMERICHOST }, &none), 0);
	cr_assert(rdma_getaddrinfo(NULL, NULL, NULL, &none) == -1 && errno == EINVAL);
}

Test(cm_sync, shared_receives_of_an_id)
{
	struct rdma_addrinfo *info = info_of("1", 0);
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr init = wish();
	struct rdma_cm_id *id;

	cr_assert_eq(rdma_create_ep(&id, info, NULL, NULL), 0);
	cr_assert_eq(rdma_create_srq(id, NULL, &attr), 0);
	cr_assert(id->srq && id->srq->pd == id->pd);
	cr_assert(rdma_create_srq(id, NULL, &attr) == -1 && errno == EINVAL);
	init.qp_type = IBV_QPT_RC;
	cr_assert_eq(rdma_create_qp(id, NULL, &init), 0);
	cr_assert_eq(id->qp->srq, id->srq);
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(info);
}

Test(cm_sync, options)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	uint8_t byte = 32;
	int flag = 1;

	cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &byte, 1), 0);
	cr_assert(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &flag, sizeof(flag)) == -1 && errno == EINVAL);
	cr_assert(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1) == -1 && errno == EINVAL);
	cr_assert_eq(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &flag, sizeof(flag)), 0);
	cr_assert_eq(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &flag, sizeof(flag)), 0);
	cr_assert(rdma_set_option(id, RDMA_OPTION_ID, 99, &flag, sizeof(flag)) == -1 && errno == ENOSYS);
	cr_assert_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

/* A number is shared by those that want it so; one of them listens. */
Test(cm_sync, a_bound_id_may_share_its_number)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	const int level = RDMA_OPTION_ID, name = RDMA_OPTION_ID_REUSEADDR;
	struct rdma_cm_id *ids[2];
	int on = 1, off = 0;

	for (int i = 0; i < 2; i++)
		cr_assert_eq(rdma_create_id(channel, &ids[i], NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_bind_addr(ids[0], (struct sockaddr *)&at), 0);
	cr_assert_eq(rdma_set_option(ids[0], level, name, &on, sizeof(on)), 0);
	cr_assert(rdma_set_option(ids[0], level, name, &off, sizeof(off)) == -1 && errno == EINVAL);
	at.sin_port = rdma_get_src_port(ids[0]);
	cr_assert_eq(rdma_set_option(ids[1], level, name, &on, sizeof(on)), 0);
	cr_assert_eq(rdma_bind_addr(ids[1], (struct sockaddr *)&at), 0);
	cr_assert_eq(rdma_listen(ids[0], 1), 0);
	cr_assert(rdma_listen(ids[1], 1) == -1 && errno == EADDRINUSE);
	cr_assert(rdma_set_option(ids[0], level, name, &on, sizeof(on)) == -1 && errno == EINVAL);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(rdma_destroy_id(ids[i]), 0);
	rdma_destroy_event_channel(channel);
}
