/* SPDX-License-Identifier: BSD-2-Clause */
/* types.h - integers of the kernel's names.
 * u64 is unsigned long long, as in the kernel; uint64_t is the C library's, unsigned long, and printf warns of %llu for it. */
#ifndef EMU_KERNEL_LINUX_TYPES_H
#define EMU_KERNEL_LINUX_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

typedef unsigned int gfp_t;
typedef u64 dma_addr_t; /* a virtual address: the device is in this process */
typedef struct {
	int counter;
} atomic_t;
typedef struct {
	s64 counter;
} atomic64_t;

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

#endif
