/* SPDX-License-Identifier: BSD-2-Clause */
/* random.h - random numbers of getrandom(2). */
#ifndef EMU_KERNEL_LINUX_RANDOM_H
#define EMU_KERNEL_LINUX_RANDOM_H

#include_next <linux/random.h>
#include <linux/types.h>

void get_random_bytes(void *buf, size_t len);

static inline u32 get_random_u32(void)
{
	u32 number;

	get_random_bytes(&number, sizeof(number));
	return number;
}

static inline u64 get_random_u64(void)
{
	u64 number;

	get_random_bytes(&number, sizeof(number));
	return number;
}

/* Below `end`, which is not 0. */
static inline u32 get_random_u32_below(u32 end)
{
	return (u32)(((u64)get_random_u32() * end) >> 32);
}

#define get_random_int() get_random_u32()
#define prandom_u32() get_random_u32()
#define prandom_u32_max(end) get_random_u32_below(end)

#endif
