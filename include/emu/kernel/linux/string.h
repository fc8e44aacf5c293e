/* SPDX-License-Identifier: BSD-2-Clause */
/* string.h - the C library's strings, and copies in kmalloc() memory. */
#ifndef EMU_KERNEL_LINUX_STRING_H
#define EMU_KERNEL_LINUX_STRING_H

#include_next <linux/string.h>
#include <linux/err.h>
#include <linux/types.h>
#include <string.h>

/* The bytes copied, or -E2BIG where the text was cut; it always ends in 0 (size above 0). */
ssize_t strscpy(char *to, const char *from, size_t size);

/* Newer C libraries have their own. */
#define strlcpy emu_kernel_strlcpy
size_t strlcpy(char *to, const char *from, size_t size);

char *kstrdup(const char *text, gfp_t flags);
char *kstrndup(const char *text, size_t max, gfp_t flags);
void *kmemdup(const void *from, size_t size, gfp_t flags);

static inline void memzero_explicit(void *memory, size_t size)
{
	memset(memory, 0, size);
	__asm__ __volatile__("" : : "r"(memory) : "memory");
}

#endif
