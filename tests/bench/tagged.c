/* SPDX-License-Identifier: BSD-2-Clause */
/* tagged.c - tagged messages.
 * Latency: each side waits for the other's and answers. The receive is posted before the message that asks for it is sent;
 * the one that is left over at the end of a block serves the next.
 * Bandwidth: a window of messages one way, with twice as many receives, which are taken back at the end of a block. */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "bench.h"
#include "fabric.h"

/* A source word is not touched again before its completion was read: hence more than one of them. */
enum { SOURCE_WORDS = 64 };
/* A word never lands in what a block of messages has left, nor the other way round. */
enum { TAG_WORD = 0x74, TAG_WINDOW };

/* Polls while the call says -FI_EAGAIN, or too many sends are outstanding. */
static int post_word(struct fabric *f, uint64_t nth, uint64_t word)
{
	struct patience patience = patience_for(HANG_GUARD_NS);
	size_t at = (size_t)(nth % SOURCE_WORDS) * sizeof(word);
	int rc = -FI_EAGAIN;

	while (rc == -FI_EAGAIN) {
		if (f->pending < SOURCE_WORDS) {
			memcpy(f->memory + f->span + at, &word, sizeof(word));
			rc = fabric_tsend(f, at, sizeof(word), TAG_WORD);
		}
		if (rc == -FI_EAGAIN && fabric_poll(f) < 0)
			return -FI_EIO;
		if (rc == -FI_EAGAIN && !patience_left(&patience))
			return -ETIMEDOUT;
	}
	return rc;
}

/* 1: the word came; 0: the block is over; else a negative errno. */
static int await_word(struct block *block, uint64_t before, uint64_t word)
{
	struct patience patience = patience_for(HANG_GUARD_NS);
	struct fabric *f = block->fabric;

	while (f->received == before) {
		int n = fabric_poll(f);

		if (n < 0)
			return n;
		if (block_stopped(block))
			return 0;
		if (n == 0 && !patience_left(&patience))
			return -ETIMEDOUT;
	}
	return memcmp(block->inbox, &word, sizeof(word)) ? -FI_EIO : 1;
}

/* One at a time. */
static int post_receive(struct fabric *f)
{
	return f->receives ? 0 : fabric_trecv(f, 0, sizeof(uint64_t), TAG_WORD);
}

int tagged_run(struct block *block)
{
	struct fabric *f = block->fabric;
	uint64_t since = now_ns(), ops = 0;

	do {
		uint64_t word = pattern_word(block->seed, block->serial);
		uint64_t before = f->received;
		int rc = post_receive(f);

		if (!rc)
			rc = post_word(f, block->serial, word);
		if (!rc)
			rc = await_word(block, before, word);
		if (rc < 0)
			return rc;
		block->serial++;
		ops++;
	} while (now_ns() - since < block->length_ns);
	block_count(block, ops, since);
	return fabric_drain(f, HANG_GUARD_NS);
}

int tagged_serve(struct block *block)
{
	struct fabric *f = block->fabric;
	int rc;

	do {
		uint64_t word = pattern_word(block->seed, block->serial);
		uint64_t before = f->received;

		rc = post_receive(f);
		if (!rc)
			rc = await_word(block, before, word);
		if (rc == 1 && post_word(f, block->serial, word))
			return -FI_EIO;
		block->serial++;
	} while (rc == 1);
	return rc < 0 ? rc : fabric_drain(f, HANG_GUARD_NS);
}

/* All that was sent has been received: a completion may mean no more than that the bytes have left. */
static int await_arrival(struct block *block)
{
	struct patience patience = patience_for(HANG_GUARD_NS);

	while (atomic_load_explicit(&block->host->shared->arrived, memory_order_acquire) != block->serial) {
		int rc = fabric_poll(block->fabric);

		if (rc < 0)
			return rc;
		if (!patience_left(&patience))
			return -ETIMEDOUT;
	}
	return 0;
}

static int send_next(struct fabric *f, size_t from, size_t to, size_t size)
{
	(void)to;
	return fabric_tsend(f, from, size, TAG_WINDOW);
}

int tagged_window_run(struct block *block)
{
	uint64_t since = now_ns(), first = block->serial;
	int rc = window_keep_full(block, send_next);

	if (!rc)
		rc = await_arrival(block);
	if (!rc)
		block_count(block, block->serial - first, since);
	return rc;
}

int tagged_window_serve(struct block *block)
{
	struct patience patience = patience_for(HANG_GUARD_NS);
	struct fabric *f = block->fabric;
	uint64_t first = f->received;
	int rc = 0;

	while (!rc && !block_stopped(block)) {
		while (!rc && f->receives < 2 * block->bench->window) {
			rc = fabric_trecv(f, block_slot(block, block->serial), block->bench->size, TAG_WINDOW);
			block->serial += !rc;
		}
		if (!rc)
			rc = fabric_poll(f);
		if (rc < 0)
			return rc;
		if (rc == 0 && !patience_left(&patience))
			return -ETIMEDOUT;
		rc = 0;
		atomic_store_explicit(&block->host->shared->arrived, f->received - first, memory_order_release);
	}
	return rc ? rc : fabric_trecv_cancel(f);
}
