/* SPDX-License-Identifier: BSD-2-Clause */
/* hmem_space.h - the addresses of one device: which pages belong to which allocation.
 *
 * Owner:  hmem.c. Thread: holder of its lock; the fault handler, too: a thread that faults does not hold it. */
#ifndef EMU_HMEM_SPACE_H
#define EMU_HMEM_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hmem_block {
	char *base;
	size_t size;  /* as asked for */
	size_t pages; /* of EMU_HMEM_PAGE; the one behind them is nobody's, so that an overrun meets no other allocation */
	size_t named; /* pages whose owner it is; a freed block stays until others have taken them, to be told from none */
	int fd;       /* its bytes; -1: freed */
};

struct hmem_space {
	unsigned int iface;
	int device; /* or EMU_HMEM_HOST */
	char *base;
	size_t pages;              /* of addresses: one more than the device's memory has */
	size_t free;               /* pages of memory that no allocation has */
	size_t next;               /* where the search for room begins: freed addresses are used again late */
	struct hmem_block **owner; /* of each page; NULL: none */
};

/* Makes a space of addresses that the caller has reserved. 0 or -ENOMEM. */
int hmem_space_open(struct hmem_space *space, char *base, size_t pages);
/* Finds room and takes it: 0 and *block, without bytes yet; -ENOMEM. */
int hmem_space_take(struct hmem_space *space, size_t size, struct hmem_block **block);
/* Gives it back; its memory is the caller's to end. The block may be gone then. */
void hmem_space_give(struct hmem_space *space, struct hmem_block *block);
/* The block, live or freed, whose pages have this byte of the space; NULL: none. */
struct hmem_block *hmem_space_at(const struct hmem_space *space, const void *addr);

#endif
