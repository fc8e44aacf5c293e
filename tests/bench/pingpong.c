/* SPDX-License-Identifier: BSD-2-Clause */
/* pingpong.c - write latency: each side writes a word into the other's memory and watches its own.
 * The watcher polls its completion queue between two looks, which reaps its own completions and drives providers
 * whose progress is manual. Words come from the block's seed, so a wrong or torn word is never taken for the next. */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "bench.h"
#include "fabric.h"

/* A source word is not touched again before its completion was read: hence more than one of them. */
enum { SOURCE_WORDS = 64 };

static int post_word(struct fabric *f, uint64_t nth, uint64_t word)
{
	struct patience patience = patience_for(HANG_GUARD_NS);
	size_t at = (size_t)(nth % SOURCE_WORDS) * sizeof(word);
	int rc;

	while (f->pending >= SOURCE_WORDS) {
		rc = fabric_poll(f);
		if (rc < 0)
			return rc;
		if (rc == 0 && !patience_left(&patience))
			return -ETIMEDOUT;
	}
	memcpy(f->memory + f->span + at, &word, sizeof(word));
	while ((rc = fabric_write(f, at, 0, sizeof(word))) == -FI_EAGAIN) {
		rc = fabric_poll(f);
		if (rc < 0)
			return rc;
		if (!patience_left(&patience))
			return -ETIMEDOUT;
	}
	return rc;
}

/* 1: the word is there; 0: the block is over; else a negative errno. */
static int await_word(struct block *block, uint64_t word)
{
	const _Atomic uint64_t *inbox = (const _Atomic uint64_t *)block->inbox;
	struct patience patience = patience_for(HANG_GUARD_NS);

	while (atomic_load_explicit(inbox, memory_order_acquire) != word) {
		int n = fabric_poll(block->fabric);

		if (n < 0)
			return n;
		if (block_stopped(block))
			return 0;
		if (n == 0 && !patience_left(&patience))
			return -ETIMEDOUT;
	}
	return 1;
}

int pingpong_run(struct block *block)
{
	struct fabric *f = block->fabric;
	uint64_t since = now_ns(), ops = 0;
	int rc;

	do {
		uint64_t word = pattern_word(block->seed, block->serial);

		rc = post_word(f, block->serial, word);
		if (rc)
			return rc;
		rc = await_word(block, word);
		if (rc < 0)
			return rc;
		block->serial++;
		ops++;
	} while (now_ns() - since < block->length_ns);
	block_count(block, ops, since);
	return fabric_drain(f, HANG_GUARD_NS);
}

int pingpong_serve(struct block *block)
{
	struct fabric *f = block->fabric;
	int rc;

	while ((rc = await_word(block, pattern_word(block->seed, block->serial))) == 1) {
		rc = post_word(f, block->serial, pattern_word(block->seed, block->serial));
		if (rc)
			return rc;
		block->serial++;
	}
	return rc < 0 ? rc : fabric_drain(f, HANG_GUARD_NS);
}
