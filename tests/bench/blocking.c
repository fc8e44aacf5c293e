/* SPDX-License-Identifier: BSD-2-Clause */
/* blocking.c - a word each way, and both sides sleep until theirs has come: in fi_cq_sread(), in poll() on the queue's
 * descriptor, or in fi_cntr_wait(), as the world says. The word BLOCK_OVER ends a block, since a sleeper sees no flag. */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "bench.h"
#include "tools/perf/core/fabric.h"

#define BLOCK_OVER UINT64_MAX
/* A source word is not touched again before its completion was read: hence more than one of them. */
enum { SOURCE_WORDS = 64, TAG_WORD = 0x62, SLEEP_MS = 500 };

typedef int (*word_post)(struct fabric *f, size_t from);

static int post_write(struct fabric *f, size_t from)
{
	return f->cntr ? fabric_write(f, from, 0, sizeof(uint64_t)) : fabric_write_told(f, from, 0, sizeof(uint64_t));
}

static int post_tagged(struct fabric *f, size_t from)
{
	return fabric_tsend(f, from, sizeof(uint64_t), TAG_WORD);
}

static int post_word(struct fabric *f, word_post post, uint64_t nth, uint64_t word)
{
	struct patience patience = patience_for(HANG_GUARD_NS);
	size_t from = (size_t)(nth % SOURCE_WORDS) * sizeof(word);
	int rc = -FI_EAGAIN;

	while (rc == -FI_EAGAIN) {
		if (f->pending < SOURCE_WORDS) {
			memcpy(f->memory + f->span + from, &word, sizeof(word));
			rc = post(f, from);
		}
		if (rc == -FI_EAGAIN && fabric_poll(f) < 0)
			return -FI_EIO;
		if (rc == -FI_EAGAIN && !patience_left(&patience))
			return -ETIMEDOUT;
	}
	return rc;
}

/* The receive for a tagged word; one at a time. A write needs none. */
static int expect(struct fabric *f, word_post post)
{
	return post == post_tagged && !f->receives ? fabric_trecv(f, 0, sizeof(uint64_t), TAG_WORD) : 0;
}

static uint64_t arrived(const struct fabric *f)
{
	return f->cntr ? fi_cntr_read(f->cntr) : f->received;
}

/* Sleeps until the next word has come. Words are counted over all blocks, as the first of a block may be there already. */
static int await(struct block *block, uint64_t *word)
{
	uint64_t deadline = now_ns() + (block->bench->may_starve ? STARVED_NS : HANG_GUARD_NS);
	struct fabric *f = block->fabric;

	while (arrived(f) == f->consumed) {
		int rc;

		if (f->cntr)
			rc = fabric_wait_count(f, f->consumed + 1, SLEEP_MS);
		else if (block->bench->world == WORLD_SREAD)
			rc = fabric_sread(f, SLEEP_MS);
		else
			rc = fabric_wait_fd(f, SLEEP_MS);
		if (rc < 0 && rc != -FI_ETIMEDOUT)
			return rc;
		if (now_ns() > deadline)
			return -ETIMEDOUT;
	}
	f->consumed++;
	memcpy(word, block->inbox, sizeof(*word));
	return f->cntr && fabric_poll(f) < 0 ? -FI_EIO : 0; /* the counter's sleeper reads the queue for its room */
}

static int run(struct block *block, word_post post)
{
	struct fabric *f = block->fabric;
	uint64_t since = now_ns(), ops = 0;

	do {
		uint64_t word = pattern_word(block->seed, block->serial), back;
		int rc = expect(f, post);

		if (!rc)
			rc = post_word(f, post, block->serial, word);
		if (!rc)
			rc = await(block, &back);
		if (rc)
			return rc;
		if (back != word)
			return -EBADMSG;
		block->serial++;
		ops++;
	} while (now_ns() - since < block->length_ns);
	block_count(block, ops, since);
	return fabric_drain(f, HANG_GUARD_NS);
}

static int serve(struct block *block, word_post post)
{
	struct fabric *f = block->fabric;

	for (;;) {
		uint64_t word;
		int rc = expect(f, post);

		if (!rc)
			rc = await(block, &word);
		if (rc)
			return rc;
		if (word == BLOCK_OVER)
			return fabric_drain(f, HANG_GUARD_NS);
		if (word != pattern_word(block->seed, block->serial))
			return -EBADMSG;
		rc = post_word(f, post, block->serial++, word);
		if (rc)
			return rc;
	}
}

static int end(struct block *block, word_post post)
{
	int rc = post_word(block->fabric, post, block->serial, BLOCK_OVER);

	return rc ? rc : fabric_drain(block->fabric, HANG_GUARD_NS);
}

int blocking_write_run(struct block *block)
{
	return run(block, post_write);
}

int blocking_write_serve(struct block *block)
{
	return serve(block, post_write);
}

int blocking_write_end(struct block *block)
{
	return end(block, post_write);
}

int blocking_tagged_run(struct block *block)
{
	return run(block, post_tagged);
}

int blocking_tagged_serve(struct block *block)
{
	return serve(block, post_tagged);
}

int blocking_tagged_end(struct block *block)
{
	return end(block, post_tagged);
}
