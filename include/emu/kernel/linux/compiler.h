/* SPDX-License-Identifier: BSD-2-Clause */
/* compiler.h - attributes, single accesses and barriers.
 * Marks for sparse (__user, __force) are nothing here, as in the compiler's view of the kernel. __init and __exit are in init.h. */
#ifndef EMU_KERNEL_LINUX_COMPILER_H
#define EMU_KERNEL_LINUX_COMPILER_H

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define __user
#define __kernel
#define __force
#define __iomem
#define __must_hold(x)
#define __acquires(x)
#define __releases(x)
#define __rcu

#define __packed __attribute__((packed))
#define __aligned(x) __attribute__((aligned(x)))
#define __maybe_unused __attribute__((unused))
#define __always_unused __attribute__((unused))
#define __must_check __attribute__((warn_unused_result))
#define __printf(a, b) __attribute__((format(printf, a, b)))
#define __weak __attribute__((weak))
#define __cold __attribute__((cold))
#define noinline __attribute__((noinline))
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define ____cacheline_aligned __attribute__((aligned(64)))
#define ____cacheline_aligned_in_smp ____cacheline_aligned
#if defined(__has_attribute) && __has_attribute(fallthrough)
#define fallthrough __attribute__((fallthrough))
#else
#define fallthrough \
	do {        \
	} while (0)
#endif

/* Of scalars: one access, which the thread sanitizer does not take for a race. A structure does not compile. */
#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value) __atomic_store_n(&(x), (value), __ATOMIC_RELAXED)
#define smp_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, value) __atomic_store_n((p), (value), __ATOMIC_RELEASE)

/* All of them are full barriers: the device is another thread. */
#define barrier() __asm__ __volatile__("" : : : "memory")
#define smp_mb() __sync_synchronize()
#define smp_rmb() smp_mb()
#define smp_wmb() smp_mb()
#define mb() smp_mb()
#define rmb() smp_mb()
#define wmb() smp_mb()

#endif
