/* SPDX-License-Identifier: BSD-2-Clause */
/* two_devices.c - two devices of one process (EMU_DEVICES), as of a host with two adapters: what is of one is none of the other's,
 * they reach each other, and what happens to the NIC happens to both. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, BYTES = 64 };

static struct qp_pair on[2]; /* the first and the second device */

static struct verbs open_second(void)
{
	struct verbs verbs = { .list = ibv_get_device_list(NULL) };

	verbs.context = ibv_open_device(verbs.list[1]);
	verbs.pd = ibv_alloc_pd(verbs.context);
	cr_assert(verbs.context && verbs.pd);
	cr_assert_str_eq(ibv_get_device_name(verbs.context->device), "right");
	return verbs;
}

static void begin(const char *plan)
{
	static const unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	setenv("EMU_DEVICES", "left,right", 1);
	if (plan)
		fault_plan(plan);
	said_begin();
	qp_pair_open(&on[0]);
	on[1] = on[0];
	on[1].verbs = open_second();
	for (int side = A; side <= B; side++) {
		on[1].memory[side] = calloc(1, QP_SPAN);
		on[1].mr[side] = ibv_reg_mr(on[1].verbs.pd, on[1].memory[side], QP_SPAN, access);
		on[1].cq[side] = ibv_create_cq(on[1].verbs.context, QP_WR, NULL, NULL, 0);
		cr_assert(on[1].mr[side] && on[1].cq[side]);
		on[1].qp[side] = ibv_create_qp(on[1].verbs.pd, &(struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC,
											   .send_cq = on[1].cq[side],
											   .recv_cq = on[1].cq[side],
											   .cap = { QP_WR, QP_WR, 1, 1, 0 },
											   .sq_sig_all = 1 });
		cr_assert_not_null(on[1].qp[side]);
	}
	for (int i = 0; i < 2; i++)
		cr_assert_eq(fcntl(on[i].verbs.context->async_fd, F_SETFL, O_NONBLOCK), 0);
}

static void end(void)
{
	for (int i = 0; i < 2; i++)
		qp_pair_close(&on[i]);
}

TestSuite(verbs_two_devices, .timeout = 120);

/* Side A of the first device, side B of the second. */
static struct qp_pair across(void)
{
	struct qp_pair both = on[0];

	both.qp[B] = on[1].qp[B];
	both.cq[B] = on[1].cq[B];
	both.mr[B] = on[1].mr[B];
	both.memory[B] = on[1].memory[B];
	return both;
}

static void talks(struct qp_pair *pair, int side)
{
	qp_receive(pair, !side, BYTES, 70);
	qp_post(pair, side, IBV_WR_SEND, 0, BYTES, 1);
	qp_done(pair, side, 1, IBV_WC_SUCCESS);
	qp_done(pair, !side, 70, IBV_WC_SUCCESS);
	qp_post(pair, side, IBV_WR_RDMA_WRITE, 0, BYTES, 2);
	qp_done(pair, side, 2, IBV_WC_SUCCESS);
}

static bool next_event(int device, struct ibv_async_event *event)
{
	do {
		if (ibv_get_async_event(on[device].verbs.context, event))
			return false;
		ibv_ack_async_event(event);
	} while (event->event_type == IBV_EVENT_COMM_EST);
	return true;
}

Test(verbs_two_devices, reach_each_other)
{
	struct qp_pair both;

	begin(NULL);
	both = across();
	qp_pair_meet(&both);
	talks(&both, A);
	talks(&both, B);
	end();
}

/* libibverbs: objects of one device are no input for another's. */
Test(verbs_two_devices, share_no_objects)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_comp_channel *channel;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	begin(NULL);
	init.send_cq = on[0].cq[A];
	init.recv_cq = on[1].cq[A];
	errno = 0;
	cr_assert_null(ibv_create_qp(on[0].verbs.pd, &init));
	cr_assert_eq(errno, EINVAL);
	cr_assert(said_has("no completion queue of this context"));
	channel = ibv_create_comp_channel(on[1].verbs.context);
	errno = 0;
	cr_assert_null(ibv_create_cq(on[0].verbs.context, 1, NULL, channel, 0));
	cr_assert_eq(errno, EINVAL);
	cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
	qp_pair_meet(&on[0]);
	wr = qp_request(&on[0], A, IBV_WR_RDMA_WRITE, 0, BYTES, &sge);
	sge.lkey = on[1].mr[A]->lkey;
	sge.addr = (uintptr_t)on[1].memory[A];
	cr_assert_eq(ibv_post_send(on[0].qp[A], &wr, &bad), 0);
	qp_done(&on[0], A, 0, IBV_WC_LOC_PROT_ERR);
	end();
}

/* The rkey of the other device's PD is none of this queue pair's. */
Test(verbs_two_devices, share_no_remote_keys)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	begin(NULL);
	qp_pair_meet(&on[0]);
	wr = qp_request(&on[0], A, IBV_WR_RDMA_WRITE, 0, BYTES, &sge);
	wr.wr.rdma.rkey = on[1].mr[B]->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)on[1].memory[B];
	cr_assert_eq(ibv_post_send(on[0].qp[A], &wr, &bad), 0);
	qp_done(&on[0], A, 0, IBV_WC_REM_ACCESS_ERR);
	end();
}

/* --- events --- */

Test(verbs_two_devices, tell_of_their_own_queue_pairs)
{
	struct ibv_async_event event;
	struct ibv_port_attr port;

	begin("[x]\nfault = event\nevent = QP_FATAL\nqp = 3\ncall = ibv_query_port\n"); /* the first one of the second device */
	for (int i = 0; i < 2; i++)
		qp_pair_meet(&on[i]);
	cr_assert_eq(ibv_query_port(on[0].verbs.context, 1, &port), 0);
	cr_assert_not(next_event(0, &event));
	cr_assert(next_event(1, &event) && event.event_type == IBV_EVENT_QP_FATAL && event.element.qp == on[1].qp[A]);
	talks(&on[0], A);
	end();
}

Test(verbs_two_devices, tell_both_of_the_port)
{
	struct ibv_async_event event;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;

	begin("[x]\nfault = event\nevent = PORT_ERR\ncall = ibv_query_device\n");
	cr_assert_eq(ibv_query_device(on[1].verbs.context, &attr), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert(next_event(i, &event) && event.event_type == IBV_EVENT_PORT_ERR);
		cr_assert_eq(ibv_query_port(on[i].verbs.context, 1, &port), 0);
		cr_assert_eq(port.state, IBV_PORT_DOWN);
	}
	end();
}

/* Both fail; each can be opened again. */
Test(verbs_two_devices, fail_together)
{
	struct ibv_async_event event;
	struct ibv_device_attr attr;
	struct verbs again;

	begin("[x]\nfault = event\nevent = DEVICE_FATAL\ncall = ibv_query_device\nmost = 1\n");
	for (int i = 0; i < 2; i++)
		qp_pair_meet(&on[i]);
	cr_assert_eq(ibv_query_device(on[0].verbs.context, &attr), EIO);
	for (int i = 0; i < 2; i++) {
		cr_assert(next_event(i, &event) && event.event_type == IBV_EVENT_DEVICE_FATAL);
		cr_assert_eq(on[i].qp[A]->state, IBV_QPS_ERR);
		cr_assert_null(ibv_alloc_pd(on[i].verbs.context));
		cr_assert_eq(errno, EIO);
	}
	again = open_second();
	cr_assert_eq(ibv_query_device(again.context, &attr), 0);
	verbs_close(&again);
	end();
}

/* One that is closed takes nothing from the other. */
Test(verbs_two_devices, end_one_after_the_other)
{
	begin(NULL);
	qp_pair_meet(&on[1]);
	qp_pair_close(&on[0]);
	talks(&on[1], A);
	qp_pair_close(&on[1]);
}
