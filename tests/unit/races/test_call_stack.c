/* SPDX-License-Identifier: BSD-2-Clause */
/* test_call_stack.c - stacks that are taken again: of the same place, and of others that have the same frame. */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/process/report/call_stack.h"

#define APART __attribute__((noinline))

enum { TIMES = 3, DEEP = 40 };

static struct call_stack stack[TIMES];

static APART void take(int n)
{
	call_stack_take(&stack[n]);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static APART void take_by_another(int n)
{
	take(n);
	__asm__ volatile("nop" ::: "memory");
}

static APART void take_by_a_third(int n)
{
	take(n);
	__asm__ volatile("nop" ::: "memory");
}

static APART void take_below(int n, int depth)
{
	if (depth)
		take_below(n, depth - 1);
	else
		take(n);
	__asm__ volatile("" ::: "memory");
}

static bool equal(int a, int b)
{
	return stack[a].count == stack[b].count && !memcmp(stack[a].frame, stack[b].frame, stack[a].count * sizeof(uintptr_t));
}

TestSuite(call_stack, .init = call_stack_prime);

Test(call_stack, same_place)
{
	for (volatile int i = 0; i < TIMES; i++) /* one place of call */
		take(i);
	cr_assert(stack[0].count > 2 && equal(0, 1) && equal(1, 2));
}

/* The frames are where they were, and stand for other callers. */
Test(call_stack, other_caller)
{
	void (*const callers[])(int n) = { take_by_another, take_by_a_third, take_by_another };

	for (volatile int i = 0; i < TIMES; i++) /* one place of call */
		callers[i](i);
	cr_assert(stack[0].count > 2 && !equal(0, 1) && equal(0, 2));
	cr_assert_eq(stack[0].frame[0], stack[1].frame[0]);
	cr_assert_neq(stack[0].frame[1], stack[1].frame[1]);
	cr_assert_eq(stack[0].frame[2], stack[1].frame[2]);
}

Test(call_stack, other_line)
{
	take_by_another(0);
	take_by_another(1);
	cr_assert(!equal(0, 1));
	cr_assert_eq(stack[0].frame[1], stack[1].frame[1]);
	cr_assert_neq(stack[0].frame[2], stack[1].frame[2]);
}

Test(call_stack, depths)
{
	for (int depth = 0; depth < DEEP; depth++) {
		for (volatile int i = 0; i < TIMES; i++) /* one place of call */
			take_below(i, depth);
		cr_assert(stack[0].count > 2 && equal(0, 1) && equal(1, 2));
	}
	cr_assert_eq(stack[0].count, CALL_STACK_FRAMES);
}
