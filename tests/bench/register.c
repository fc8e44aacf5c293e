/* SPDX-License-Identifier: BSD-2-Clause */
/* register.c - what it costs to register memory that is already there, and to close the region again. */
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "fabric.h"

enum { PAGE = 4096 };

int register_run(struct block *block)
{
	uint64_t since, ops = 0;
	/* A size of whole pages: aligned_alloc() takes no other. */
	void *memory = aligned_alloc(PAGE, (block->bench->size + PAGE - 1) / PAGE * PAGE);
	int rc;

	if (!memory)
		return -FI_ENOMEM;
	memset(memory, 1, block->bench->size);
	since = now_ns();
	do {
		rc = fabric_register_once(block->fabric, memory, block->bench->size);
		ops++;
	} while (!rc && now_ns() - since < block->length_ns);
	block_count(block, ops, since);
	free(memory);
	return rc;
}
