/* SPDX-License-Identifier: BSD-2-Clause */
/* bug.h - BUG() aborts the process, WARN() prints and goes on; each says where. */
#ifndef EMU_KERNEL_LINUX_BUG_H
#define EMU_KERNEL_LINUX_BUG_H

#include <emu_kernel.h>
#include <linux/compiler.h>
#include <linux/printk.h>

#define BUG() emu_kernel_bug(__FILE__, __LINE__, "BUG()")
#define BUG_ON(condition)                                               \
	do {                                                            \
		if (unlikely(condition))                                \
			emu_kernel_bug(__FILE__, __LINE__, #condition); \
	} while (0)

#define WARN_ON(condition)                                               \
	({                                                               \
		bool emu_warn_is = !!(condition);                        \
		if (unlikely(emu_warn_is))                               \
			emu_kernel_warn(__FILE__, __LINE__, #condition); \
		unlikely(emu_warn_is);                                   \
	})
#define WARN_ON_ONCE(condition)                                                                      \
	({                                                                                           \
		static int emu_warned;                                                               \
		bool emu_warn_is = !!(condition);                                                    \
		if (unlikely(emu_warn_is) && !__atomic_exchange_n(&emu_warned, 1, __ATOMIC_RELAXED)) \
			emu_kernel_warn(__FILE__, __LINE__, #condition);                             \
		unlikely(emu_warn_is);                                                               \
	})
#define WARN(condition, ...)                                             \
	({                                                               \
		bool emu_warn_is = !!(condition);                        \
		if (unlikely(emu_warn_is)) {                             \
			emu_kernel_warn(__FILE__, __LINE__, #condition); \
			emu_kernel_printk(4, __FILE__, __VA_ARGS__);     \
		}                                                        \
		unlikely(emu_warn_is);                                   \
	})
#define WARN_ONCE(condition, ...)                                                                    \
	({                                                                                           \
		static int emu_warned;                                                               \
		bool emu_once_is = !!(condition);                                                    \
		if (unlikely(emu_once_is) && !__atomic_exchange_n(&emu_warned, 1, __ATOMIC_RELAXED)) \
			WARN(1, __VA_ARGS__);                                                        \
		unlikely(emu_once_is);                                                               \
	})

#define BUILD_BUG_ON(condition) _Static_assert(!(condition), "BUILD_BUG_ON(" #condition ")")
#define BUILD_BUG_ON_MSG(condition, text) _Static_assert(!(condition), text)
#undef static_assert /* of assert.h */
#define static_assert(condition, ...) _Static_assert(condition, "" #condition)

#endif
