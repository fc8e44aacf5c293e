/* SPDX-License-Identifier: BSD-2-Clause */
/* err.h - errors in pointers. */
#ifndef EMU_KERNEL_LINUX_ERR_H
#define EMU_KERNEL_LINUX_ERR_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/types.h>

#define MAX_ERRNO 4095
#define IS_ERR_VALUE(x) unlikely((unsigned long)(void *)(x) >= (unsigned long)-MAX_ERRNO)

static inline void *ERR_PTR(long error)
{
	return (void *)error;
}

static inline long PTR_ERR(const void *pointer)
{
	return (long)pointer;
}

static inline bool IS_ERR(const void *pointer)
{
	return IS_ERR_VALUE((unsigned long)pointer);
}

static inline bool IS_ERR_OR_NULL(const void *pointer)
{
	return !pointer || IS_ERR(pointer);
}

static inline int PTR_ERR_OR_ZERO(const void *pointer)
{
	return IS_ERR(pointer) ? (int)PTR_ERR(pointer) : 0;
}

static inline void *ERR_CAST(const void *pointer)
{
	return (void *)(uintptr_t)pointer;
}

#endif
