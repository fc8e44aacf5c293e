/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel.h - small arithmetic, containers, and what most kernel code expects of this header. */
#ifndef EMU_KERNEL_LINUX_KERNEL_H
#define EMU_KERNEL_LINUX_KERNEL_H

#include_next <linux/kernel.h>
#include <emu_kernel.h>
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/printk.h>
#include <linux/types.h>
#include <limits.h>
#include <stdio.h>

#define U8_MAX UINT8_MAX
#define U16_MAX UINT16_MAX
#define U32_MAX UINT32_MAX
#define U64_MAX ((u64)~0ULL)
#define S32_MAX INT32_MAX
#define S64_MAX ((s64)(U64_MAX >> 1))

#define ARRAY_SIZE(array)                     \
	(sizeof(array) / sizeof((array)[0]) + \
	 0 * sizeof(char[1 - 2 * __builtin_types_compatible_p(__typeof__(array), __typeof__(&(array)[0]))]))
#define sizeof_field(type, member) sizeof(((type *)0)->member)
#define FIELD_SIZEOF(type, member) sizeof_field(type, member)

#define container_of(pointer, type, member)                                                                             \
	({                                                                                                              \
		__typeof__(((type *)0)->member) *emu_member = (__typeof__(((type *)0)->member) *)(uintptr_t)(pointer);  \
		_Static_assert(__builtin_types_compatible_p(__typeof__(*(pointer)), __typeof__(((type *)0)->member)) || \
				       __builtin_types_compatible_p(__typeof__(*(pointer)), void),                      \
			       "pointer type mismatch in container_of()");                                              \
		(type *)((char *)emu_member - offsetof(type, member));                                                  \
	})

/* Names of their own for each use, as uses nest. */
#define EMU_KERNEL_PICK_(a, b, op, x, y) \
	({                               \
		__typeof__(a) x = (a);   \
		__typeof__(b) y = (b);   \
		x op y ? x : y;          \
	})
#define EMU_KERNEL_PICK__(a, b, op, n) EMU_KERNEL_PICK_(a, b, op, emu_x##n, emu_y##n)
#define EMU_KERNEL_PICK(a, b, op, n) EMU_KERNEL_PICK__(a, b, op, n)
#define min(a, b) EMU_KERNEL_PICK(a, b, <, __COUNTER__)
#define max(a, b) EMU_KERNEL_PICK(a, b, >, __COUNTER__)
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define min3(a, b, c) min(min(a, b), c)
#define max3(a, b, c) max(max(a, b), c)
#define clamp(value, low, high) min(max(value, low), high)
#define clamp_t(type, value, low, high) min_t(type, max_t(type, value, low), high)
#define swap(a, b)                               \
	do {                                     \
		__typeof__(a) emu_swapped = (a); \
		(a) = (b);                       \
		(b) = emu_swapped;               \
	} while (0)

#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
#define roundup(x, y) ((((x) + ((y)-1)) / (y)) * (y))
#define rounddown(x, y) ((x) - (x) % (y))
/* Powers of two. */
#define ALIGN(x, a) (((x) + ((__typeof__(x))(a)-1)) & ~((__typeof__(x))(a)-1))
#define ALIGN_DOWN(x, a) ((x) & ~((__typeof__(x))(a)-1))
#define PTR_ALIGN(p, a) ((__typeof__(p))ALIGN((unsigned long)(p), (a)))
#define IS_ALIGNED(x, a) (((x) & ((__typeof__(x))(a)-1)) == 0)
#define round_up(x, a) ALIGN(x, a)
#define round_down(x, a) ALIGN_DOWN(x, a)

#define BITS_PER_LONG __LONG_WIDTH__
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define GENMASK(high, low) ((~0UL << (low)) & (~0UL >> (BITS_PER_LONG - 1 - (high))))
#define GENMASK_ULL(high, low) ((~0ULL << (low)) & (~0ULL >> (63 - (high))))
#define lower_32_bits(x) ((u32)((x)&0xffffffff))
#define upper_32_bits(x) ((u32)(((x) >> 16) >> 16))

static inline bool is_power_of_2(unsigned long x)
{
	return x && !(x & (x - 1));
}

static inline int ilog2(u64 x)
{
	return 63 - __builtin_clzll(x);
}

/* x is not 0. */
static inline unsigned long roundup_pow_of_two(unsigned long x)
{
	return x == 1 ? 1 : 1UL << (ilog2(x - 1) + 1);
}

#define might_sleep() EMU_KERNEL_SLEEPS("might_sleep")
#define might_sleep_if(condition)      \
	do {                           \
		if (condition)         \
			might_sleep(); \
	} while (0)

/* These give -EINVAL for what is no number and -ERANGE for one too large; a newline may end the text. */
int kstrtoull(const char *text, unsigned int base, unsigned long long *value);
int kstrtoll(const char *text, unsigned int base, long long *value);
int kstrtoul(const char *text, unsigned int base, unsigned long *value);
int kstrtol(const char *text, unsigned int base, long *value);
int kstrtouint(const char *text, unsigned int base, unsigned int *value);
int kstrtoint(const char *text, unsigned int base, int *value);
int kstrtobool(const char *text, bool *value);

/* The bytes that were written, in contrast to snprintf(). */
int scnprintf(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
char *kasprintf(gfp_t flags, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
