/* SPDX-License-Identifier: BSD-2-Clause */
/* secret_memory.h - memory for data made from a shared secret: a fork's child finds zeros there, and core dumps leave it out.
 * It is not locked: how much may be locked is the program's to spend, and may be nothing.
 * Owner: the nic. Thread: holder of the driver role. */
#ifndef EMU_NIC_SECRET_MEMORY_H
#define EMU_NIC_SECRET_MEMORY_H

#include <stddef.h>

#include "emu/nic/base/must_use.h"

enum { SECRET_MEMORY_CELL = 128 }; /* bytes of one piece */

struct secret_memory {
	struct secret_memory_cell *free;
	struct secret_memory_chunk *chunks;
};

/* A piece of zeros; NULL without memory, or without a kernel that can do this (MADV_WIPEONFORK, Linux 4.14). */
MUST_USE void *secret_memory_take(struct secret_memory *memory);
/* Wipes it. NULL: nothing. */
void secret_memory_give(struct secret_memory *memory, void *piece);
/* Every piece is gone. */
void secret_memory_fini(struct secret_memory *memory);

#endif
