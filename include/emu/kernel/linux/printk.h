/* SPDX-License-Identifier: BSD-2-Clause */
/* printk.h - the kernel's log goes to stderr: emu_kernel_printk().
 * pr_debug() prints where DEBUG is defined; there is no dynamic debugging. */
#ifndef EMU_KERNEL_LINUX_PRINTK_H
#define EMU_KERNEL_LINUX_PRINTK_H

#include <emu_kernel.h>

#define KERN_SOH "\001"
#define KERN_EMERG KERN_SOH "0"
#define KERN_ALERT KERN_SOH "1"
#define KERN_CRIT KERN_SOH "2"
#define KERN_ERR KERN_SOH "3"
#define KERN_WARNING KERN_SOH "4"
#define KERN_NOTICE KERN_SOH "5"
#define KERN_INFO KERN_SOH "6"
#define KERN_DEBUG KERN_SOH "7"
#define KERN_DEFAULT ""
#define KERN_CONT KERN_SOH "c"

#ifndef pr_fmt
#define pr_fmt(format) format
#endif

#define printk(...) emu_kernel_printk(EMU_KERNEL_LEVEL_IN_TEXT, __FILE__, __VA_ARGS__)

#define pr_emerg(format, ...) emu_kernel_printk(0, __FILE__, pr_fmt(format), ##__VA_ARGS__)
#define pr_alert(format, ...) emu_kernel_printk(1, __FILE__, pr_fmt(format), ##__VA_ARGS__)
#define pr_crit(format, ...) emu_kernel_printk(2, __FILE__, pr_fmt(format), ##__VA_ARGS__)
#define pr_err(format, ...) emu_kernel_printk(3, __FILE__, pr_fmt(format), ##__VA_ARGS__)
#define pr_warn(format, ...) emu_kernel_printk(4, __FILE__, pr_fmt(format), ##__VA_ARGS__)
#define pr_warning pr_warn
#define pr_notice(format, ...) emu_kernel_printk(5, __FILE__, pr_fmt(format), ##__VA_ARGS__)
#define pr_info(format, ...) emu_kernel_printk(6, __FILE__, pr_fmt(format), ##__VA_ARGS__)
#define pr_cont(format, ...) printk(KERN_CONT format, ##__VA_ARGS__)

/* The arguments are checked, and not evaluated. */
#define no_printk(format, ...)                                                 \
	do {                                                                   \
		if (0)                                                         \
			emu_kernel_printk(7, __FILE__, format, ##__VA_ARGS__); \
	} while (0)
#ifdef DEBUG
#define pr_debug(format, ...) emu_kernel_printk(7, __FILE__, pr_fmt(format), ##__VA_ARGS__)
#else
#define pr_debug(format, ...) no_printk(pr_fmt(format), ##__VA_ARGS__)
#endif
#define pr_devel pr_debug

#define EMU_KERNEL_ONCE(say, ...)                                         \
	do {                                                              \
		static int emu_said;                                      \
		if (!__atomic_exchange_n(&emu_said, 1, __ATOMIC_RELAXED)) \
			say(__VA_ARGS__);                                 \
	} while (0)
#define printk_once(...) EMU_KERNEL_ONCE(printk, __VA_ARGS__)
#define pr_err_once(...) EMU_KERNEL_ONCE(pr_err, __VA_ARGS__)
#define pr_warn_once(...) EMU_KERNEL_ONCE(pr_warn, __VA_ARGS__)
#define pr_info_once(...) EMU_KERNEL_ONCE(pr_info, __VA_ARGS__)

#define EMU_KERNEL_RATELIMITED(say, ...)                      \
	do {                                                  \
		static struct emu_kernel_ratelimit emu_limit; \
		if (emu_kernel_ratelimit(&emu_limit))         \
			say(__VA_ARGS__);                     \
	} while (0)
#define printk_ratelimited(...) EMU_KERNEL_RATELIMITED(printk, __VA_ARGS__)
#define pr_err_ratelimited(...) EMU_KERNEL_RATELIMITED(pr_err, __VA_ARGS__)
#define pr_warn_ratelimited(...) EMU_KERNEL_RATELIMITED(pr_warn, __VA_ARGS__)
#define pr_info_ratelimited(...) EMU_KERNEL_RATELIMITED(pr_info, __VA_ARGS__)

#endif
