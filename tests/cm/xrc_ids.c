/* SPDX-License-Identifier: BSD-2-Clause */
/* xrc_ids.c - ids of RDMA_PS_IB whose queue pairs are XRC: domains, queues and completion queues that the program leaves to the
 * library, messages between two of them, and what is refused. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH = 16, MESSAGES = 50 };

static struct ibv_qp_init_attr wish(void)
{
	return (struct ibv_qp_init_attr){
		.cap = { .max_send_wr = 4, .max_recv_wr = MESSAGES, .max_send_sge = 1, .max_recv_sge = 1 }, .sq_sig_all = 1
	};
}

/* 0, or the errno. */
static int open_ep(struct rdma_cm_id **id, const char *port, int flags, enum ibv_qp_type type, struct ibv_qp_init_attr *init)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_IB, .ai_qp_type = type }, *info;
	int rc;

	cr_assert_eq(rdma_getaddrinfo("127.0.0.1", port, &hints, &info), 0);
	cr_assert(info->ai_qp_type == (int)type && info->ai_port_space == RDMA_PS_IB);
	rc = rdma_create_ep(id, info, NULL, init);
	rdma_freeaddrinfo(info);
	return rc ? errno : 0;
}

/* One that listens at a free number. */
static struct rdma_cm_id *listener(enum ibv_qp_type type, char port[static 8])
{
	struct ibv_qp_init_attr init = wish();
	struct rdma_cm_id *id;

	cr_assert_eq(open_ep(&id, "0", RAI_PASSIVE, type, &init), 0);
	cr_assert_eq(rdma_listen(id, 1), 0);
	snprintf(port, 8, "%u", ntohs(rdma_get_src_port(id)));
	return id;
}

static void *answers(void *listens)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = MESSAGES, .max_sge = 1 } };
	static char bytes[MESSAGES][LENGTH];
	struct rdma_conn_param param = { .private_data_len = sizeof(uint32_t) };
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	uint32_t number;

	cr_assert_eq(rdma_get_request(listens, &id), 0, "errno %d", errno);
	cr_assert(id->qp && id->qp->qp_type == IBV_QPT_XRC_RECV && id->qp_type == IBV_QPT_XRC_RECV);
	cr_assert_eq(rdma_create_srq(id, NULL, &attr), 0, "errno %d", errno);
	cr_assert(id->srq && id->recv_cq && !ibv_get_srq_num(id->srq, &number));
	mr = rdma_reg_msgs(id, bytes, sizeof(bytes));
	cr_assert(mr);
	for (int i = 0; i < MESSAGES; i++)
		cr_assert_eq(rdma_post_recv(id, NULL, bytes[i], LENGTH, mr), 0);
	param.private_data = &number;
	cr_assert_eq(rdma_accept(id, &param), 0, "errno %d", errno);
	cr_assert_eq(id->qp->state, IBV_QPS_RTS);
	for (int i = 0; i < MESSAGES; i++) {
		cr_assert(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS && wc.qp_num == id->qp->qp_num);
		cr_assert_eq(bytes[i][0], i);
	}
	cr_assert_eq(rdma_disconnect(id), 0);
	/* What is left completes at a queue that the queue pair does not take with it. */
	rdma_destroy_qp(id);
	cr_assert(id->recv_cq && !id->send_cq);
	rdma_destroy_srq(id);
	cr_assert(!id->recv_cq && !id->recv_cq_channel);
	cr_assert_eq(rdma_dereg_mr(mr), 0);
	rdma_destroy_ep(id);
	return NULL;
}

static void send_to(struct rdma_cm_id *id, uint32_t number, char byte)
{
	static char bytes[LENGTH];
	struct ibv_sge sge = { .addr = (uintptr_t)bytes, .length = LENGTH };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .qp_type.xrc.remote_srqn = number }, *bad;
	struct ibv_mr *mr = rdma_reg_msgs(id, bytes, LENGTH);
	struct ibv_wc wc;

	cr_assert(mr);
	if (byte % 2)
		wr.send_flags = IBV_SEND_INLINE; /* which was not asked for */
	else
		sge.lkey = mr->lkey;
	bytes[0] = byte;
	cr_assert_eq(ibv_post_send(id->qp, &wr, &bad), 0);
	cr_assert(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "status %d", wc.status);
	cr_assert_eq(rdma_dereg_mr(mr), 0);
}

Test(cm_xrc, messages_by_the_number_that_private_data_has)
{
	struct ibv_qp_init_attr init = wish();
	struct rdma_cm_id *listens, *id;
	pthread_t thread;
	uint32_t number;
	char port[8];

	listens = listener(IBV_QPT_XRC_RECV, port);
	cr_assert_eq(pthread_create(&thread, NULL, answers, listens), 0);
	cr_assert_eq(open_ep(&id, port, 0, IBV_QPT_XRC_SEND, &init), 0);
	cr_assert_eq(id->qp->qp_type, IBV_QPT_XRC_SEND);
	cr_assert_eq(rdma_connect(id, NULL), 0, "errno %d", errno);
	memcpy(&number, id->event->param.conn.private_data, sizeof(number));
	for (int i = 0; i < MESSAGES; i++)
		send_to(id, number, (char)i);
	cr_assert_eq(rdma_disconnect(id), 0);
	rdma_destroy_ep(id);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	rdma_destroy_ep(listens);
}

/* A listener hears those that ask for its type of queue pairs alone. */
static void not_heard(enum ibv_qp_type listens_for, enum ibv_qp_type asks)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct ibv_qp_init_attr init = wish();
	struct rdma_cm_id *listens, *id;
	struct rdma_cm_event *event;
	char port[8];

	listens = listener(listens_for, port);
	cr_assert_eq(open_ep(&id, port, 0, asks, &init), 0);
	cr_assert(!rdma_migrate_id(listens, channel) && !rdma_migrate_id(id, channel));
	cr_assert_eq(rdma_connect(id, NULL), 0);
	cr_assert_eq(rdma_get_cm_event(channel, &event), 0);
	cr_assert(event->id == id && event->event == RDMA_CM_EVENT_REJECTED && event->status == 8, "%s, %d",
		  rdma_event_str(event->event), event->status);
	rdma_ack_cm_event(event);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listens);
	rdma_destroy_event_channel(channel);
}

Test(cm_xrc, other_types_are_rejected)
{
	not_heard(IBV_QPT_XRC_RECV, IBV_QPT_RC);
	not_heard(IBV_QPT_RC, IBV_QPT_XRC_SEND);
	not_heard(IBV_QPT_XRC_SEND, IBV_QPT_XRC_SEND);
}

Test(cm_xrc, one_that_receives_does_not_ask)
{
	struct ibv_qp_init_attr init = wish();
	struct rdma_cm_id *id;

	cr_assert_eq(open_ep(&id, "1", 0, IBV_QPT_XRC_RECV, &init), 0);
	cr_assert(rdma_connect(id, NULL) == -1 && errno == EINVAL);
	rdma_destroy_ep(id);
	cr_assert_eq(open_ep(&id, "1", 0, IBV_QPT_RAW_PACKET, NULL), EINVAL);
}

/* The program's domain and completion queue are taken, and stay the program's. */
Test(cm_xrc, own_domain_and_completion_queue)
{
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = -1,
					     .oflags = O_CREAT };
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 4, .max_sge = 1 },
					     .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					     .srq_type = IBV_SRQT_XRC };
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD };
	struct rdma_cm_id *id;

	cr_assert_eq(open_ep(&id, "1", 0, IBV_QPT_XRC_RECV, NULL), 0);
	attr.xrcd = init.xrcd = ibv_open_xrcd(id->verbs, &domain);
	attr.cq = ibv_create_cq(id->verbs, 4, NULL, NULL, 0);
	cr_assert(attr.xrcd && attr.cq);
	cr_assert_eq(rdma_create_srq_ex(id, &attr), 0, "errno %d", errno);
	cr_assert(id->srq && !id->recv_cq);
	cr_assert(rdma_create_srq_ex(id, &attr) == -1 && errno == EINVAL);
	cr_assert_eq(rdma_create_qp_ex(id, &init), 0, "errno %d", errno);
	cr_assert_eq(ibv_close_xrcd(attr.xrcd), EBUSY);
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	cr_assert(!ibv_destroy_cq(attr.cq) && !ibv_close_xrcd(attr.xrcd));
	rdma_destroy_ep(id);
}

/* A queue that cannot be made leaves nothing behind, and its completion queue outlives no call that fails. */
Test(cm_xrc, what_fails_leaves_nothing)
{
	struct ibv_srq_init_attr most = { .attr = { .max_wr = 1, .max_sge = 1u << 31 } }, one = { .attr = { 1, 1, 0 } };
	struct ibv_qp_init_attr init = wish();
	struct rdma_cm_id *id;

	cr_assert_eq(open_ep(&id, "1", 0, IBV_QPT_XRC_RECV, NULL), 0);
	cr_assert_eq(rdma_create_srq(id, NULL, &most), -1);
	cr_assert(!id->srq && !id->recv_cq && !id->recv_cq_channel);
	cr_assert_eq(rdma_create_srq(id, NULL, &one), 0, "errno %d", errno);
	cr_assert_not_null(id->recv_cq);
	init.qp_type = IBV_QPT_XRC_RECV;
	cr_assert_eq(rdma_create_qp(id, NULL, &init), 0, "errno %d", errno);
	rdma_destroy_srq(id);
	cr_assert(!id->srq && id->recv_cq);
	rdma_destroy_ep(id);
}
