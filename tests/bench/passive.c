/* SPDX-License-Identifier: BSD-2-Clause */
/* passive.c - a target that sleeps in read() and calls nothing of libfabric while its memory is read.
 * Whether it is served at all depends on the provider; the wait is bounded, and starving is a result. */
#include <errno.h>
#include <rdma/fi_errno.h>

#include "bench.h"
#include "tools/perf/core/fabric.h"

int passive_run(struct block *block)
{
	struct fabric *f = block->fabric;
	uint64_t since = now_ns(), ops = 0;
	int rc;

	do {
		rc = fabric_read(f, 0, 0, block->bench->size);
		if (!rc)
			rc = fabric_drain(f, STARVED_NS);
		if (rc)
			return rc == -FI_EAGAIN ? -ETIMEDOUT : rc;
		ops++;
	} while (now_ns() - since < block->length_ns);
	block_count(block, ops, since);
	return 0;
}

int passive_serve(struct block *block)
{
	uint8_t wake;

	if (!control_receive(block->host, &wake, sizeof(wake)))
		return -ECONNRESET;
	return window_serve(block);
}

/* Wakes the target; a read that starved is finished now that the target polls. */
int passive_end(struct block *block)
{
	uint8_t wake = 1;

	if (!control_send(block->host, &wake, sizeof(wake)))
		return -ECONNRESET;
	return fabric_drain(block->fabric, HANG_GUARD_NS);
}
