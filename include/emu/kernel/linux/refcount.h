/* SPDX-License-Identifier: BSD-2-Clause */
/* refcount.h - reference counts: an increment of 0, or a decrement below it, is a WARN() and sticks. */
#ifndef EMU_KERNEL_LINUX_REFCOUNT_H
#define EMU_KERNEL_LINUX_REFCOUNT_H

#include <linux/atomic.h>
#include <linux/bug.h>

typedef struct {
	atomic_t refs;
} refcount_t;

#define REFCOUNT_INIT(n)               \
	{                              \
		.refs = ATOMIC_INIT(n) \
	}
#define EMU_REFCOUNT_STUCK (INT32_MIN / 2)

static inline void refcount_set(refcount_t *r, int n)
{
	atomic_set(&r->refs, n);
}

static inline unsigned int refcount_read(const refcount_t *r)
{
	return (unsigned int)atomic_read(&r->refs);
}

static inline bool refcount_inc_not_zero(refcount_t *r)
{
	return atomic_inc_not_zero(&r->refs);
}

static inline void refcount_inc(refcount_t *r)
{
	if (WARN_ON(atomic_fetch_add(1, &r->refs) <= 0))
		atomic_set(&r->refs, EMU_REFCOUNT_STUCK);
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	int left = atomic_dec_return(&r->refs);

	if (WARN_ON(left < 0))
		atomic_set(&r->refs, EMU_REFCOUNT_STUCK);
	return left == 0;
}

/* The last reference is not given up by this call. */
static inline void refcount_dec(refcount_t *r)
{
	if (WARN_ON(atomic_dec_return(&r->refs) <= 0))
		atomic_set(&r->refs, EMU_REFCOUNT_STUCK);
}

#endif
