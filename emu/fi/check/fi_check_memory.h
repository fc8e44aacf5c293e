/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_memory.h - a look at the program's bytes, which may be gone at any time. Any thread, with or without the driver role;
 * nothing sleeps but for page faults. */
#ifndef EMU_FI_CHECK_MEMORY_H
#define EMU_FI_CHECK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Buffers together longer than this are looked at in part: their first and last CHECK_ENDS bytes, and CHECK_SAMPLES places of
 * CHECK_SAMPLE bytes between. */
enum { CHECK_WHOLE = 64 * 1024, CHECK_ENDS = 16 * 1024, CHECK_SAMPLES = 256, CHECK_SAMPLE = 64 };

/* The digest of the bytes. False: some cannot be read. */
bool check_digest(const struct iovec *iov, size_t count, uint64_t *digest);
/* Is there a mapping at each page? False sets *hole to the first address without. Memory that was given back to the allocator is
 * still mapped. */
bool check_is_mapped(const void *at, size_t length, const void **hole);

#endif
