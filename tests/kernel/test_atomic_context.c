/* SPDX-License-Identifier: BSD-2-Clause */
/* test_atomic_context.c - reports of calls that may sleep, and the log. */
#include <criterion/criterion.h>
#include <linux/bug.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/kernel/said.h"

static DEFINE_SPINLOCK(lock);

Test(kernel_atomic, a_sleep_is_reported_once_for_each_call_site)
{
	setenv("FI_EMU_CHECK_ATOMIC", "1", 1);
	said_begin();
	msleep(0);
	cr_assert_eq(said_times("may sleep"), 0);
	emu_kernel_enter_atomic();
	for (int i = 0; i < 3; i++)
		msleep(0);
	kfree(kmalloc(1, GFP_ATOMIC));
	cr_assert_eq(said_times("may sleep"), 1);
	cr_assert_eq(said_times("err test_atomic_context.c: msleep() at line"), 1);
	kfree(kmalloc(1, GFP_KERNEL));
	cr_assert_eq(said_times("kmalloc() at line"), 1);
	emu_kernel_leave_atomic();
	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
	cr_assert_eq(said_times("might_sleep() at line"), 1);
	might_sleep_if(true);
	cr_assert_eq(said_times("may sleep"), 3);
}

Test(kernel_atomic, nothing_is_reported_unasked)
{
	unsetenv("FI_EMU_CHECK_ATOMIC");
	said_begin();
	emu_kernel_enter_atomic();
	msleep(0);
	emu_kernel_leave_atomic();
	cr_assert_str_eq(said(), "");
}

Test(kernel_atomic, to_leave_what_was_not_entered_is_a_bug, .signal = SIGABRT)
{
	emu_kernel_leave_atomic();
}

Test(kernel_printk, levels_are_those_of_the_call_or_of_the_text)
{
	said_begin();
	pr_err("number %d\n", 1);
	printk(KERN_INFO "text\n");
	printk("plain");
	pr_cont("more\n");
	pr_debug("not seen %d\n", 2);
	pr_notice("n\n");
	pr_emerg("e\n");
	pr_alert("a\n");
	pr_crit("c\n");
	pr_info("i\n");
	cr_assert_eq(said_times("] err test_atomic_context.c: number 1\n"), 1);
	cr_assert_eq(said_times("] info test_atomic_context.c: text\n"), 1);
	cr_assert_eq(said_times("] warning test_atomic_context.c: plain\nmore\n"), 1);
	cr_assert_eq(said_times("not seen"), 0);
	cr_assert_eq(said_times("test_atomic_context.c"), 8);
}

Test(kernel_printk, long_lines_are_cut)
{
	char text[3000];

	said_begin();
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	pr_warn("%s", text);
	cr_assert_eq(strlen(said()), 999);
	cr_assert_eq(said()[998], '\n');
}

Test(kernel_printk, repetitions_are_limited)
{
	said_begin();
	for (int i = 0; i < 50; i++) {
		pr_warn_once("once\n");
		pr_err_ratelimited("often\n");
		WARN_ON_ONCE(i >= 0);
		WARN_ONCE(i >= 0, "number %d\n", i);
	}
	cr_assert_eq(said_times("once\n"), 1);
	cr_assert_eq(said_times("often\n"), 10);
	cr_assert_eq(said_times("WARNING"), 2);
	cr_assert_eq(said_times("number 0\n"), 1);
	cr_assert(WARN_ON(1));
	cr_assert_not(WARN(0, "no"));
}

Test(kernel_printk, bug_says_where, .signal = SIGABRT)
{
	BUG_ON(1);
}
