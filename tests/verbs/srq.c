/* SPDX-License-Identifier: BSD-2-Clause */
/* srq.c - shared receive queues without any message: sizes, changes, the limit, order of destruction, bad input. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "tests/verbs/world.h"

TestSuite(verbs_srq, .timeout = 60);

static struct verbs verbs;
static struct ibv_device_attr device;

static struct ibv_srq *open_srq(uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_srq_init_attr attr = { .srq_context = &verbs, .attr = { .max_wr = max_wr, .max_sge = max_sge } };

	return ibv_create_srq(verbs.pd, &attr);
}

static void open_all(void)
{
	verbs_open(&verbs);
	cr_assert_eq(ibv_query_device(verbs.context, &device), 0);
	cr_assert_eq(fcntl(verbs.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	said_begin();
}

Test(verbs_srq, fields)
{
	struct ibv_srq_init_attr attr = { .srq_context = &verbs, .attr = { .max_wr = 10, .max_sge = 2, .srq_limit = 5 } };
	struct ibv_srq_attr now;
	struct ibv_srq *srq;

	open_all();
	srq = ibv_create_srq(verbs.pd, &attr);
	cr_assert_not_null(srq);
	cr_assert(srq->context == verbs.context && srq->srq_context == &verbs && srq->pd == verbs.pd);
	cr_assert(attr.attr.max_wr >= 10 && attr.attr.max_sge >= 2);
	cr_assert_eq(ibv_query_srq(srq, &now), 0);
	cr_assert(now.max_wr == attr.attr.max_wr && now.max_sge == attr.attr.max_sge && !now.srq_limit);
	cr_assert_eq(ibv_dealloc_pd(verbs.pd), EBUSY);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	verbs_close(&verbs);
}

static void refused(uint32_t max_wr, uint32_t max_sge, const char *why)
{
	errno = 0;
	cr_assert_null(open_srq(max_wr, max_sge));
	cr_assert_eq(errno, EINVAL);
	cr_assert(said_has(why), "%s", why);
}

Test(verbs_srq, sizes)
{
	struct ibv_srq *srq;

	open_all();
	refused(0, 1, "ibv_create_srq: max_wr is 0");
	refused((uint32_t)device.max_srq_wr + 1, 1, "(max_srq_wr)");
	refused(1, (uint32_t)device.max_srq_sge + 1, "(max_srq_sge)");
	srq = open_srq((uint32_t)device.max_srq_wr, (uint32_t)device.max_srq_sge);
	cr_assert_not_null(srq);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	verbs_close(&verbs);
}

static int change(struct ibv_srq *srq, uint32_t max_wr, uint32_t limit, int mask)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr, .srq_limit = limit };

	return ibv_modify_srq(srq, &attr, mask);
}

static void is_now(struct ibv_srq *srq, uint32_t max_wr, uint32_t limit)
{
	struct ibv_srq_attr attr;

	cr_assert_eq(ibv_query_srq(srq, &attr), 0);
	cr_assert_eq(attr.max_wr, max_wr);
	cr_assert_eq(attr.srq_limit, limit);
}

/* What is refused changes nothing. */
Test(verbs_srq, changes)
{
	struct ibv_srq *srq;

	open_all();
	srq = open_srq(10, 1);
	cr_assert_eq(change(srq, 20, 0, IBV_SRQ_MAX_WR), 0);
	is_now(srq, 20, 0);
	cr_assert_eq(change(srq, 0, 0, IBV_SRQ_MAX_WR), EINVAL);
	cr_assert_eq(change(srq, (uint32_t)device.max_srq_wr + 1, 0, IBV_SRQ_MAX_WR), EINVAL);
	cr_assert_eq(change(srq, 0, 21, IBV_SRQ_LIMIT), EINVAL);
	cr_assert(said_has("srq_limit is 21, and max_wr 20"));
	cr_assert_eq(change(srq, 30, 31, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
	cr_assert_eq(change(srq, 30, 1, 1 << 5), EINVAL);
	cr_assert(said_has("srq_attr_mask 0x20"));
	is_now(srq, 20, 0);
	cr_assert_eq(change(srq, (uint32_t)device.max_srq_wr, 21, IBV_SRQ_MAX_WR), 0, "attributes that the mask does not name");
	is_now(srq, (uint32_t)device.max_srq_wr, 0);
	cr_assert_eq(change(srq, 5, 5, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0, "told at once, as none waits");
	is_now(srq, 5, 0);
	cr_assert_eq(change(srq, 9, 9, 0), 0);
	is_now(srq, 5, 0);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	verbs_close(&verbs);
}

/* As of rdma_rxe: the event would come with the first message. */
Test(verbs_srq, no_smaller_than_its_limit)
{
	struct ibv_recv_wr wr = { 0 }, *bad;
	struct ibv_srq *srq;

	open_all();
	srq = open_srq(10, 1);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(ibv_post_srq_recv(srq, &wr, &bad), 0);
	cr_assert_eq(change(srq, 0, 4, IBV_SRQ_LIMIT), 0);
	cr_assert_eq(change(srq, 20, 0, IBV_SRQ_MAX_WR), 0);
	is_now(srq, 20, 4);
	cr_assert_eq(change(srq, 4, 0, IBV_SRQ_MAX_WR), 0);
	is_now(srq, 4, 4);
	cr_assert_eq(change(srq, 3, 0, IBV_SRQ_MAX_WR), EINVAL);
	cr_assert(said_has("srq_limit is 4, and max_wr 3"));
	is_now(srq, 4, 4);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	verbs_close(&verbs);
}

/* Fewer receives wait than that, since none does: told at once, and once. */
Test(verbs_srq, limit_of_an_empty_queue)
{
	struct ibv_async_event event;
	struct ibv_srq *srq;

	open_all();
	srq = open_srq(10, 1);
	cr_assert_eq(ibv_get_async_event(verbs.context, &event), -1);
	cr_assert_eq(change(srq, 0, 3, IBV_SRQ_LIMIT), 0);
	is_now(srq, 10, 0);
	cr_assert_eq(ibv_get_async_event(verbs.context, &event), 0);
	cr_assert(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == srq);
	ibv_ack_async_event(&event);
	cr_assert_eq(ibv_get_async_event(verbs.context, &event), -1);
	cr_assert_eq(errno, EAGAIN);
	cr_assert_eq(change(srq, 0, 0, IBV_SRQ_LIMIT), 0);
	cr_assert_eq(ibv_get_async_event(verbs.context, &event), -1);
	cr_assert_eq(change(srq, 0, 1, IBV_SRQ_LIMIT), 0);
	cr_assert_eq(ibv_destroy_srq(srq), 0, "with an event that nobody has read");
	cr_assert_eq(ibv_get_async_event(verbs.context, &event), -1);
	verbs_close(&verbs);
}

Test(verbs_srq, handle_of_none)
{
	struct ibv_srq_attr attr;
	struct ibv_srq *srq;

	open_all();
	srq = open_srq(10, 1);
	srq->handle ^= 0x5a5a;
	cr_assert_eq(ibv_destroy_srq(srq), ENOENT);
	cr_assert_eq(ibv_query_srq(srq, &attr), ENOENT);
	cr_assert_eq(change(srq, 1, 0, IBV_SRQ_MAX_WR), ENOENT);
	srq->handle ^= 0x5a5a;
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	verbs.pd->handle ^= 0x5a5a;
	errno = 0;
	cr_assert_null(open_srq(10, 1));
	cr_assert_eq(errno, ENOENT, "of no PD");
	verbs.pd->handle ^= 0x5a5a;
	verbs_close(&verbs);
}

static void refused_ex(struct ibv_srq_init_attr_ex attr, int err)
{
	errno = 0;
	attr.attr.max_wr = 1;
	cr_assert_null(ibv_create_srq_ex(verbs.context, &attr));
	cr_assert_eq(errno, err);
}

Test(verbs_srq, extended)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 3 }, .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD };
	struct ibv_srq *srq;
	uint32_t one = 0, two = 0;

	open_all();
	refused_ex((struct ibv_srq_init_attr_ex){ .comp_mask = IBV_SRQ_INIT_ATTR_TYPE, .srq_type = IBV_SRQT_XRC }, EINVAL);
	refused_ex((struct ibv_srq_init_attr_ex){ .comp_mask = IBV_SRQ_INIT_ATTR_TYPE, .srq_type = IBV_SRQT_TM }, EOPNOTSUPP);
	refused_ex((struct ibv_srq_init_attr_ex){ .comp_mask = IBV_SRQ_INIT_ATTR_TYPE }, EINVAL);
	refused_ex((struct ibv_srq_init_attr_ex){ .comp_mask = IBV_SRQ_INIT_ATTR_TYPE, .pd = verbs.pd }, EINVAL);
	refused_ex((struct ibv_srq_init_attr_ex){ .comp_mask = IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD }, EINVAL);
	refused_ex((struct ibv_srq_init_attr_ex){ .comp_mask = IBV_SRQ_INIT_ATTR_PD | 1 << 9, .pd = verbs.pd }, EOPNOTSUPP);
	attr.pd = verbs.pd;
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_CQ; /* which a basic queue has no use for, and no inline function takes */
	srq = ibv_create_srq_ex(verbs.context, &attr);
	cr_assert_not_null(srq);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	attr.comp_mask = IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD;
	attr.srq_type = IBV_SRQT_XRC; /* which comp_mask does not name */
	srq = ibv_create_srq_ex(verbs.context, &attr);
	cr_assert_not_null(srq);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	attr.srq_type = IBV_SRQT_BASIC;
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	srq = ibv_create_srq_ex(verbs.context, &attr);
	cr_assert_not_null(srq);
	is_now(srq, 3, 0);
	cr_assert_eq(ibv_get_srq_num(srq, &one), 0);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	srq = open_srq(1, 1);
	cr_assert_eq(ibv_get_srq_num(srq, &two), 0);
	cr_assert_neq(one, two);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	verbs_close(&verbs);
}

enum { OPENERS = 4, OPENED = 4096 };
static struct ibv_srq *opened[OPENERS][OPENED];

static void *open_many(void *arg)
{
	struct ibv_srq **srqs = arg;
	size_t count = 0;

	while (count < OPENED && (srqs[count] = open_srq(1, 1)))
		count++;
	return (void *)count;
}

/* Also where several threads are at the last one. */
Test(verbs_srq, as_many_as_the_device_tells)
{
	pthread_t threads[OPENERS];
	size_t all = 0;
	void *count[OPENERS];

	open_all();
	for (int i = 0; i < OPENERS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, open_many, opened[i]), 0);
	for (int i = 0; i < OPENERS; i++)
		cr_assert_eq(pthread_join(threads[i], &count[i]), 0);
	for (int i = 0; i < OPENERS; i++) {
		all += (size_t)count[i];
		for (size_t at = 0; at < (size_t)count[i]; at++)
			cr_assert_eq(ibv_destroy_srq(opened[i][at]), 0);
	}
	cr_assert_eq(all, (size_t)device.max_srq);
	cr_assert(said_has("4096 shared receive queues are open"));
	verbs_close(&verbs);
}
