/* SPDX-License-Identifier: BSD-2-Clause */
/* port_down.c - FI_EMU_FAULT: nothing passes while the port is down. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/verbs/qp_pair.h"

enum { A, B };

static struct qp_pair pair;

/* Calls that nothing else makes here. */
static const char down_and_up[] = "[a]\nfault = event\nevent = PORT_ERR\ncall = ibv_query_device\nmost = 1\n"
				  "[b]\nfault = event\nevent = PORT_ACTIVE\ncall = ibv_query_port\nmost = 1\n";

static void have_port_down(void)
{
	struct ibv_device_attr attr;

	cr_assert_eq(ibv_query_device(pair.verbs.context, &attr), 0);
}

static void have_port_up(void)
{
	struct ibv_port_attr attr;

	cr_assert_eq(ibv_query_port(pair.verbs.context, 1, &attr), 0);
	cr_assert_eq(attr.state, IBV_PORT_ACTIVE);
}

/* Two queue pairs beside those of the pair, with the least of timeouts, which are half a second: their request fails. */
static void pass_half_a_second(void)
{
	struct qp_pair beside = pair;

	for (int side = A; side <= B; side++) {
		struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
						 .send_cq = pair.cq[side],
						 .recv_cq = pair.cq[side],
						 .cap = { 4, 4, 1, 1, 0 },
						 .sq_sig_all = 1 };

		beside.qp[side] = ibv_create_qp(pair.verbs.pd, &init);
		cr_assert_not_null(beside.qp[side]);
	}
	beside.timeout = 14;
	qp_pair_meet(&beside);
	qp_post(&beside, A, IBV_WR_RDMA_WRITE, 0, 8, 99);
	qp_done(&beside, A, 99, IBV_WC_RETRY_EXC_ERR);
	for (int side = A; side <= B; side++)
		cr_assert_eq(ibv_destroy_qp(beside.qp[side]), 0);
}

/* The timeouts leave half a minute. */
Test(verbs_port_down, holds_up_what_is_posted)
{
	fault_plan(down_and_up);
	qp_pair_open(&pair);
	pair.timeout = 20;
	qp_pair_meet(&pair);
	qp_receive(&pair, B, 8, 70);
	memset(pair.memory[A], 0xa5, 8);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 64, 8, 1);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	have_port_down();
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 128, 8, 2);
	qp_post(&pair, A, IBV_WR_SEND, 0, 8, 3);
	pass_half_a_second();
	cr_assert(pair.memory[B][64] == 0xa5 && pair.memory[B][128] == 0);
	have_port_up();
	qp_done(&pair, A, 2, IBV_WC_SUCCESS);
	qp_done(&pair, A, 3, IBV_WC_SUCCESS);
	qp_done(&pair, B, 70, IBV_WC_SUCCESS);
	cr_assert_eq(pair.memory[B][128], 0xa5);
	qp_pair_close(&pair);
}

Test(verbs_port_down, outlasts_the_retries)
{
	fault_plan(down_and_up);
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
	have_port_down();
	qp_post(&pair, A, IBV_WR_RDMA_READ, 0, 8, 1);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, 2);
	qp_done(&pair, A, 1, IBV_WC_RETRY_EXC_ERR);
	qp_done(&pair, A, 2, IBV_WC_WR_FLUSH_ERR);
	cr_assert(pair.qp[A]->state == IBV_QPS_ERR && pair.qp[B]->state == IBV_QPS_RTS);
	qp_pair_close(&pair);
}

/* timeout 0: for ever, and not the least there is. */
Test(verbs_port_down, is_waited_for)
{
	fault_plan(down_and_up);
	qp_pair_open(&pair);
	pair.timeout = 0;
	qp_pair_meet(&pair);
	have_port_down();
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, 1);
	pass_half_a_second();
	pass_half_a_second();
	have_port_up();
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	qp_pair_close(&pair);
}

/* Before there is a NIC, too. */
Test(verbs_port_down, is_down_at_open)
{
	fault_plan("[a]\nfault = unplugged\n[b]\nfault = event\nevent = PORT_ACTIVE\ncall = ibv_query_port\nmost = 1\n");
	qp_pair_open(&pair);
	pair.timeout = 20;
	qp_pair_meet(&pair);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, 1);
	pass_half_a_second();
	have_port_up();
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	qp_pair_close(&pair);
}

/* A connection that the plan has cut stays away as long as the plan says, whatever the port does meanwhile. */
Test(verbs_port_down, leaves_a_cut_as_it_is)
{
	char plan[400];

	snprintf(plan, sizeof(plan), "%s[c]\nfault = cut\nwhen = before\ndown = 3600s\n", down_and_up);
	setenv("EMU_LOG_LEVEL", "info", 1);
	fault_plan(plan);
	said_begin();
	qp_pair_open(&pair);
	pair.timeout = 20;
	qp_pair_meet(&pair);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 64, 8, 1);
	while (!said_has("cut by the fault plan"))
		cr_assert_eq(ibv_poll_cq(pair.cq[A], 1, &(struct ibv_wc){ 0 }), 0);
	have_port_down();
	have_port_up();
	pass_half_a_second();
	cr_assert_eq(ibv_poll_cq(pair.cq[A], 1, &(struct ibv_wc){ 0 }), 0);
	qp_pair_close(&pair);
}
