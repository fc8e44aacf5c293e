/* SPDX-License-Identifier: BSD-2-Clause */
/* loop_register.c - what it costs to register memory that is already there, and to close the region again. */
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/perf/core/loop.h"

enum { PAGE = 4096 };

int loop_register_run(struct loop *loop)
{
	uint64_t since, ops = 0, before, now;
	/* A size of whole pages: aligned_alloc() takes no other. */
	void *memory = aligned_alloc(PAGE, (loop->size + PAGE - 1) / PAGE * PAGE);
	int rc;

	if (!memory)
		return -FI_ENOMEM;
	memset(memory, 1, loop->size);
	since = before = now_ns();
	do {
		rc = fabric_register_once(loop->fabric, memory, loop->size);
		ops++;
		now = now_ns();
		atomic_store_explicit(&loop->seen, ops, memory_order_relaxed);
		if (loop->latency)
			histogram_add(loop->latency, now - before);
		before = now;
	} while (!rc && !loop_stopped(loop) && loop_goes_on(loop, ops, since, now));
	loop_count(loop, ops, since);
	free(memory);
	return rc;
}
