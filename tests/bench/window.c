/* SPDX-License-Identifier: BSD-2-Clause */
/* window.c - rate, bandwidth and read latency: a fixed number of ops kept outstanding. */
#include <errno.h>
#include <rdma/fi_errno.h>

#include "bench.h"
#include "fabric.h"

static int fill_window(struct block *block, window_post post)
{
	struct fabric *f = block->fabric;

	while (f->pending < block->bench->window) {
		size_t slot = block_slot(block, block->serial);
		int rc = post(f, slot, slot, block->bench->size);

		if (rc == -FI_EAGAIN)
			return 0;
		if (rc)
			return rc;
		block->serial++;
	}
	return 0;
}

int window_keep_full(struct block *block, window_post post)
{
	struct patience patience = patience_for(HANG_GUARD_NS);
	uint64_t since = now_ns(), first = block->serial;

	for (;;) {
		int rc = fill_window(block, post);

		if (rc)
			return rc;
		rc = fabric_poll(block->fabric);
		if (rc < 0)
			return rc;
		if (rc == 0 && !patience_left(&patience))
			return -ETIMEDOUT;
		if (rc == 0)
			continue;
		patience_renew(&patience);
		if (now_ns() - since >= block->length_ns && block->serial - first >= block->bench->window)
			return fabric_drain(block->fabric, HANG_GUARD_NS);
	}
}

/* A write's completion may mean no more than that the bytes have left (libfabric's default level). A read behind
 * the writes ends the measurement when they have arrived, for every provider alike. */
static int flush_writes(struct fabric *f)
{
	struct patience patience = patience_for(HANG_GUARD_NS);
	int rc;

	while ((rc = fabric_read(f, 0, 0, sizeof(uint64_t))) == -FI_EAGAIN) {
		rc = fabric_poll(f);
		if (rc < 0)
			return rc;
		if (!patience_left(&patience))
			return -ETIMEDOUT;
	}
	return rc ? rc : fabric_drain(f, HANG_GUARD_NS);
}

int window_write_run(struct block *block)
{
	uint64_t since = now_ns(), first = block->serial;
	int rc = window_keep_full(block, fabric_write);

	if (!rc)
		rc = flush_writes(block->fabric);
	if (!rc)
		block_count(block, block->serial - first, since);
	return rc;
}

int window_read_run(struct block *block)
{
	uint64_t since = now_ns(), first = block->serial;
	int rc = window_keep_full(block, fabric_read);

	if (!rc)
		block_count(block, block->serial - first, since);
	return rc;
}

int window_add_run(struct block *block)
{
	uint64_t since = now_ns(), first = block->serial;
	int rc = window_keep_full(block, fabric_fetch_add);

	if (!rc)
		block_count(block, block->serial - first, since);
	return rc;
}

/* The target has nothing to do but to poll, for the providers that need it. */
int window_serve(struct block *block)
{
	struct patience patience = patience_for(HANG_GUARD_NS);

	while (!block_stopped(block)) {
		int rc = fabric_poll(block->fabric);

		if (rc < 0)
			return rc;
		if (!patience_left(&patience))
			return -ETIMEDOUT;
	}
	return 0;
}
