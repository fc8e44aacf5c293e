/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vb_qp.c - changes of the state while requests are under way. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "emu/nic/device/nic.h"
#include "emu/nic/role/driver.h"
#include "emu/verbs/device/vb_context.h"
#include "tests/verbs/qp_pair.h"

enum { A, B };

static struct qp_pair pair;
static atomic_bool taken;

static void change(enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, IBV_QP_STATE), 0);
}

/* Has the driver role until a control action wants it: what is posted meanwhile is started by that. */
static void *hold_role(void *arg)
{
	struct driver *driver = arg;

	driver_take(driver);
	atomic_store(&taken, true);
	while (!atomic_load(&driver->waiting))
		sched_yield();
	driver_leave(driver);
	return NULL;
}

/* The change starts a request that fails. */
Test(vb_qp, an_error_outlives_the_change_to_SQD, .timeout = 120)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct driver *driver;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	pthread_t holder;
	int err;

	qp_pair_open(&pair);
	qp_pair_meet(&pair);
	driver = nic_driver(atomic_load(&vb_context_of(pair.verbs.context)->nic));
	cr_assert_eq(pthread_create(&holder, NULL, hold_role, driver), 0);
	while (!atomic_load(&taken))
		sched_yield();
	wr = qp_request(&pair, A, IBV_WR_SEND, 0, 8, &sge);
	sge.lkey ^= 1;
	wr.wr_id = 1;
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	err = ibv_modify_qp(pair.qp[A], &attr, IBV_QP_STATE);
	cr_assert(!err || err == EINVAL, "the NIC thread may wait for the role, too, and has then started the request before");
	pthread_join(holder, NULL);
	cr_assert_eq(pair.qp[A]->state, IBV_QPS_ERR);
	qp_done(&pair, A, 1, IBV_WC_LOC_PROT_ERR);
	qp_pair_close(&pair);
}

static int drains(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	cr_assert_eq(ibv_query_qp(pair.qp[A], &attr, IBV_QP_STATE, &init), 0);
	return attr.sq_draining;
}

/* A message for which nothing is posted ends never. It may not have begun at the first change. */
Test(vb_qp, drains_no_more_in_RESET, .timeout = 120)
{
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
	qp_post(&pair, A, IBV_WR_SEND, 0, 8, 1);
	for (change(IBV_QPS_SQD); !drains(); change(IBV_QPS_SQD))
		change(IBV_QPS_RTS);
	change(IBV_QPS_RESET);
	cr_assert_eq(drains(), 0);
	qp_pair_close(&pair);
}
