/* SPDX-License-Identifier: BSD-2-Clause */
/* hidden.h - memory for what comes of a shared secret: a fork's child finds zeros there, and core dumps leave it out. It is not
 * locked: who may lock how much is the program's to spend, and may be nothing.
 * Owner: the nic. Thread: holder of the driver role. */
#ifndef EMU_NIC_HIDDEN_H
#define EMU_NIC_HIDDEN_H

#include <stddef.h>

enum { HIDDEN_CELL = 128 };	/* bytes of one piece */

struct hidden {
	struct hidden_cell *free;
	struct hidden_chunk *chunks;
};

/* A piece of zeros; NULL without memory, or without a kernel that can do this (MADV_WIPEONFORK, Linux 4.14). */
void *hidden_take(struct hidden *hidden);
/* Wipes it. NULL: nothing. */
void hidden_give(struct hidden *hidden, void *piece);
/* Every piece is gone. */
void hidden_fini(struct hidden *hidden);

#endif
