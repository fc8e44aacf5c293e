/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic.h - atomic counters.
 * As in the kernel: what returns a new or old value is a full barrier, atomic_read(), atomic_set() and the others are none. */
#ifndef EMU_KERNEL_LINUX_ATOMIC_H
#define EMU_KERNEL_LINUX_ATOMIC_H

#include <linux/compiler.h>
#include <linux/types.h>

#define ATOMIC_INIT(i) \
	{              \
		(i)    \
	}
#define ATOMIC64_INIT(i) \
	{                \
		(i)      \
	}

#define EMU_KERNEL_ATOMICS(name, atomic, number)                                                                                \
	static inline number name##_read(const atomic *v)                                                                       \
	{                                                                                                                       \
		return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);                                                          \
	}                                                                                                                       \
	static inline void name##_set(atomic *v, number i)                                                                      \
	{                                                                                                                       \
		__atomic_store_n(&v->counter, i, __ATOMIC_RELAXED);                                                             \
	}                                                                                                                       \
	static inline number name##_read_acquire(const atomic *v)                                                               \
	{                                                                                                                       \
		return __atomic_load_n(&v->counter, __ATOMIC_ACQUIRE);                                                          \
	}                                                                                                                       \
	static inline void name##_set_release(atomic *v, number i)                                                              \
	{                                                                                                                       \
		__atomic_store_n(&v->counter, i, __ATOMIC_RELEASE);                                                             \
	}                                                                                                                       \
	static inline void name##_add(number i, atomic *v)                                                                      \
	{                                                                                                                       \
		__atomic_fetch_add(&v->counter, i, __ATOMIC_RELAXED);                                                           \
	}                                                                                                                       \
	static inline void name##_sub(number i, atomic *v)                                                                      \
	{                                                                                                                       \
		__atomic_fetch_sub(&v->counter, i, __ATOMIC_RELAXED);                                                           \
	}                                                                                                                       \
	static inline void name##_inc(atomic *v)                                                                                \
	{                                                                                                                       \
		name##_add(1, v);                                                                                               \
	}                                                                                                                       \
	static inline void name##_dec(atomic *v)                                                                                \
	{                                                                                                                       \
		name##_sub(1, v);                                                                                               \
	}                                                                                                                       \
	static inline number name##_add_return(number i, atomic *v)                                                             \
	{                                                                                                                       \
		return __atomic_add_fetch(&v->counter, i, __ATOMIC_SEQ_CST);                                                    \
	}                                                                                                                       \
	static inline number name##_sub_return(number i, atomic *v)                                                             \
	{                                                                                                                       \
		return __atomic_sub_fetch(&v->counter, i, __ATOMIC_SEQ_CST);                                                    \
	}                                                                                                                       \
	static inline number name##_inc_return(atomic *v)                                                                       \
	{                                                                                                                       \
		return name##_add_return(1, v);                                                                                 \
	}                                                                                                                       \
	static inline number name##_dec_return(atomic *v)                                                                       \
	{                                                                                                                       \
		return name##_sub_return(1, v);                                                                                 \
	}                                                                                                                       \
	static inline number name##_fetch_add(number i, atomic *v)                                                              \
	{                                                                                                                       \
		return __atomic_fetch_add(&v->counter, i, __ATOMIC_SEQ_CST);                                                    \
	}                                                                                                                       \
	static inline bool name##_dec_and_test(atomic *v)                                                                       \
	{                                                                                                                       \
		return name##_sub_return(1, v) == 0;                                                                            \
	}                                                                                                                       \
	static inline bool name##_inc_and_test(atomic *v)                                                                       \
	{                                                                                                                       \
		return name##_add_return(1, v) == 0;                                                                            \
	}                                                                                                                       \
	static inline bool name##_sub_and_test(number i, atomic *v)                                                             \
	{                                                                                                                       \
		return name##_sub_return(i, v) == 0;                                                                            \
	}                                                                                                                       \
	static inline number name##_xchg(atomic *v, number i)                                                                   \
	{                                                                                                                       \
		return __atomic_exchange_n(&v->counter, i, __ATOMIC_SEQ_CST);                                                   \
	}                                                                                                                       \
	static inline number name##_cmpxchg(atomic *v, number old, number i)                                                    \
	{                                                                                                                       \
		__atomic_compare_exchange_n(&v->counter, &old, i, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
		return old;                                                                                                     \
	}                                                                                                                       \
	static inline bool name##_add_unless(atomic *v, number i, number unless)                                                \
	{                                                                                                                       \
		number old = name##_read(v);                                                                                    \
                                                                                                                                \
		while (old != unless)                                                                                           \
			if (__atomic_compare_exchange_n(&v->counter, &old, old + i, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) \
				return true;                                                                                    \
		return false;                                                                                                   \
	}                                                                                                                       \
	static inline bool name##_inc_not_zero(atomic *v)                                                                       \
	{                                                                                                                       \
		return name##_add_unless(v, 1, 0);                                                                              \
	}

EMU_KERNEL_ATOMICS(atomic, atomic_t, int)
EMU_KERNEL_ATOMICS(atomic64, atomic64_t, s64)

#define xchg(p, value) __atomic_exchange_n((p), (value), __ATOMIC_SEQ_CST)
#define cmpxchg(p, old, value)                                                                                  \
	({                                                                                                      \
		__typeof__(*(p)) emu_old = (old);                                                               \
		__atomic_compare_exchange_n((p), &emu_old, (value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
		emu_old;                                                                                        \
	})

#endif
