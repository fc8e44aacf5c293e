/* SPDX-License-Identifier: BSD-2-Clause */
/* cq_nodes.c - entries for the tests of completion queues. */
#include "tests/unit/nic/cq_nodes.h"

#include <criterion/criterion.h>

#include "emu/nic/base/errno.h"

struct test_node nodes[64];
struct cq *cq;

static void release(struct cq_node *node)
{
	((struct test_node *)node)->released++;
}

void push(uint64_t number)
{
	nodes[number] = (struct test_node){ .node = { .c = { .data = number }, .release = release } };
	cq_push(cq, &nodes[number].node);
}

void push_flagged(uint64_t number, uint64_t flags)
{
	nodes[number] = (struct test_node){ .node = { .c = { .data = number, .flags = flags }, .release = release } };
	cq_push(cq, &nodes[number].node);
}

void push_error(uint64_t number)
{
	struct cq_error error = { .c = { .data = number }, .err = EACCES, .prov_errno = 4, .text = "why" };

	cq_push_error(cq, &error);
}

void count_wake(void *arg)
{
	(*(int *)arg)++;
}

void open_of(size_t size)
{
	cr_assert_eq(cq_open(&cq, size, NULL, NULL), 0);
}

void take(ssize_t wanted, size_t count, uint64_t first)
{
	struct completion out[64];

	cr_assert_eq(cq_take(cq, out, count), wanted);
	for (ssize_t i = 0; i < wanted; i++)
		cr_assert_eq(out[i].data, first + (uint64_t)i);
}

void take_error(uint64_t number)
{
	struct cq_error error;

	cr_assert_eq(cq_take_error(cq, &error), 1);
	cr_assert_eq(error.c.data, number);
	cr_assert_eq(error.err, EACCES);
	cr_assert_eq(error.prov_errno, 4);
	cr_assert_str_eq(error.text, "why");
}
