/* SPDX-License-Identifier: BSD-2-Clause */
/* test_cq_change.c - completion queue: other sizes, and entries that leave unread. */
#include <criterion/criterion.h>

#include "emu/nic/base/errno.h"
#include "tests/unit/nic/cq_nodes.h"

/* What is unread moves over with its order, errors and overflow too, wherever the ring began. */
Test(cq, resizes)
{
	open_of(4);
	cr_assert_eq(cq_resize(cq, 0), -EINVAL);
	cr_assert_eq(cq_resize(cq, LIMIT_CQ_SIZE_MAX + 1), -EINVAL);
	for (uint64_t i = 0; i < 3; i++)
		push(i);
	take(3, 8, 0);
	for (uint64_t i = 3; i < 6; i++)
		push(i);
	push_error(100);
	for (uint64_t i = 6; i < 9; i++)
		push(i);
	cr_assert_eq(nodes[8].released, 0, "in overflow");
	cr_assert_eq(cq_resize(cq, 6), -EINVAL, "six completions and an error are unread");
	cr_assert_eq(cq_resize(cq, 7), 0);
	cr_assert_eq(nodes[7].released, 1);
	cr_assert_eq(nodes[8].released, 1);
	cr_assert(cq_has_room(cq));
	push(9);
	push(10);
	cr_assert_eq(nodes[9].released, 1);
	cr_assert_eq(nodes[10].released, 0);
	take(3, 8, 3);
	take_error(100);
	take(5, 8, 6);
	cr_assert_eq(cq_resize(cq, 1), 0);
	push(11);
	push(12);
	take(1, 8, 11);
	take(1, 8, 12);
	cr_assert_eq(cq_close(cq), 0);
}

Test(cq, resizes_where_it_overruns)
{
	open_of(2);
	cq_overrun_at(cq, 2);
	push(0);
	push(1);
	cr_assert_eq(cq_resize(cq, 3), 0);
	push(2);
	cr_assert_eq(cq_lost(cq), 0);
	push(3);
	cr_assert_eq(cq_lost(cq), 1);
	take(3, 8, 0);
	cr_assert_eq(cq_resize(cq, 1), 0);
	push(4);
	push(5);
	cr_assert_eq(cq_lost(cq), 2);
	cr_assert_eq(cq_close(cq), 0);
}

static bool divides(const struct completion *c, void *arg)
{
	return c->data % *(const uint64_t *)arg == 0;
}

/* The others keep their order, from ring to overflow, and errors their place between them. */
Test(cq, purges)
{
	static uint64_t two = 2, five = 5, one = 1;

	open_of(4);
	cr_assert_eq(cq_purge(cq, divides, &one), 0);
	push(60);
	take(1, 8, 60);
	push(1);
	push(2);
	push_error(101);
	push_error(102);
	push(3);
	push(4);
	push(5);
	push(6);
	push_error(103);
	push(7);
	cr_assert_eq(cq_purge(cq, divides, &two), 4, "2, 4 and 6, and the error 102");
	cr_assert(nodes[2].released == 1 && nodes[4].released == 1 && nodes[6].released == 1);
	cr_assert(nodes[5].released == 1 && nodes[7].released == 1, "moved into the ring");
	take(1, 8, 1);
	take_error(101);
	take(1, 1, 3);
	cr_assert_eq(cq_purge(cq, divides, &five), 1);
	take(-NIC_EAVAIL, 8, 0);
	take_error(103);
	take(1, 8, 7);
	push(8);
	push_error(104);
	push(9);
	cr_assert_eq(cq_purge(cq, divides, &one), 3);
	cr_assert_not(cq_ready(cq));
	push_error(105);
	push(10);
	take_error(105);
	take(1, 8, 10);
	cr_assert_eq(cq_close(cq), 0);
}
