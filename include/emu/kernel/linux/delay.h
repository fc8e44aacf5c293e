/* SPDX-License-Identifier: BSD-2-Clause */
/* delay.h - sleeps, and delays that spin. */
#ifndef EMU_KERNEL_LINUX_DELAY_H
#define EMU_KERNEL_LINUX_DELAY_H

#include <emu_kernel.h>
#include <linux/jiffies.h>

#define msleep(ms) (EMU_KERNEL_SLEEPS("msleep"), emu_kernel_sleep_ns((ms)*1000000ULL))
#define ssleep(seconds) (EMU_KERNEL_SLEEPS("ssleep"), emu_kernel_sleep_ns((seconds)*1000000000ULL))
#define fsleep(us) (EMU_KERNEL_SLEEPS("fsleep"), emu_kernel_sleep_ns((us)*1000ULL))
/* It takes the longer time, as the kernel may. */
#define usleep_range(least_us, most_us) \
	(EMU_KERNEL_SLEEPS("usleep_range"), (void)(least_us), emu_kernel_sleep_ns((most_us)*1000ULL))
/* No signal comes: nothing is left of the time. */
#define msleep_interruptible(ms) \
	({                       \
		msleep(ms);      \
		0UL;             \
	})

#define ndelay(ns) emu_kernel_spin_ns(ns)
#define udelay(us) emu_kernel_spin_ns((us)*1000ULL)
#define mdelay(ms) emu_kernel_spin_ns((ms)*1000000ULL)

#endif
