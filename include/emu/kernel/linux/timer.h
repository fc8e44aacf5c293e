/* SPDX-License-Identifier: BSD-2-Clause */
/* timer.h - timers. One thread runs their functions, in atomic context, one after the other. */
#ifndef EMU_KERNEL_LINUX_TIMER_H
#define EMU_KERNEL_LINUX_TIMER_H

#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <time.h> /* it declares a timer_delete() of its own, which the macro below must not meet */

struct timer_list {
	struct list_head emu_entry; /* next is NULL: not pending */
	unsigned long expires;
	void (*function)(struct timer_list *);
};

#define DEFINE_TIMER(name, run) struct timer_list name = { .function = (run) }
#define from_timer(holder, timer, member) container_of(timer, __typeof__(*(holder)), member)

void emu_kernel_timer_setup(struct timer_list *timer, void (*run)(struct timer_list *));
/* All timers can be deferred for others: TIMER_* flags but 0 are missing. */
#define timer_setup(timer, run, flags)              \
	do {                                        \
		BUILD_BUG_ON(flags);                \
		emu_kernel_timer_setup(timer, run); \
	} while (0)

/* These say whether the timer was pending. The _sync calls return when the function does not run any more,
 * and are a BUG() in it. */
int mod_timer(struct timer_list *timer, unsigned long expires);
void add_timer(struct timer_list *timer); /* a pending one is a BUG() */
int del_timer(struct timer_list *timer);
int del_timer_sync(struct timer_list *timer);
bool timer_pending(const struct timer_list *timer);

#define timer_delete(timer) del_timer(timer)
#define timer_delete_sync(timer) del_timer_sync(timer)

#endif
