/* SPDX-License-Identifier: BSD-2-Clause */
/* loop_pingpong.c - write latency: each side writes a word into the other's memory and watches its own.
 * The watcher polls its completion queue between two looks, which reaps its own completions and drives providers
 * whose progress is manual. Words come from the run's seed, so a wrong or torn word is never taken for the next. */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "tools/perf/core/loop.h"

/* The first bytes of it are written. Short words differ from the one before by their number. */
static uint64_t nth_word(const struct loop *loop)
{
	uint64_t word = pattern_word(loop->seed, loop->serial);

	if (loop->size < sizeof(word)) {
		uint8_t nth = (uint8_t)(loop->serial + 1);

		memcpy(&word, &nth, sizeof(nth));
	}
	return word;
}

static uint64_t word_mask(const struct loop *loop)
{
	uint64_t mask = 0;

	memset(&mask, 0xff, loop->size);
	return mask;
}

static int post_word(struct loop *loop, uint64_t word)
{
	struct patience patience = patience_for(loop->patience_ns);
	struct fabric *f = loop->fabric;
	size_t at = (size_t)(loop->serial % LOOP_SOURCES) * sizeof(word);
	int rc;

	while (f->pending >= LOOP_SOURCES) {
		rc = fabric_poll(f);
		if (rc < 0)
			return rc;
		if (rc == 0 && !patience_left(&patience))
			return -ETIMEDOUT;
	}
	memcpy(f->memory + f->span + at, &word, sizeof(word));
	while ((rc = fabric_write(f, at, 0, loop->size)) == -FI_EAGAIN) {
		rc = fabric_poll(f);
		if (rc < 0)
			return rc;
		if (loop_stopped(loop))
			return 0;
		if (!patience_left(&patience))
			return -ETIMEDOUT;
	}
	return rc;
}

/* 1: the word is there; 0: the work is over; else a negative errno. */
static int await_word(struct loop *loop, uint64_t word, uint64_t mask)
{
	const _Atomic uint64_t *inbox = (const _Atomic uint64_t *)loop->fabric->memory;
	struct patience patience = patience_for(loop->patience_ns);

	while (((atomic_load_explicit(inbox, memory_order_acquire) ^ word) & mask) != 0) {
		int n = fabric_poll(loop->fabric);

		if (n < 0)
			return n;
		if (loop_stopped(loop))
			return 0;
		if (n == 0 && !patience_left(&patience))
			return -ETIMEDOUT;
	}
	return 1;
}

int loop_pingpong_run(struct loop *loop)
{
	uint64_t since = now_ns(), ops = 0, mask = word_mask(loop), before = since, now;
	int rc;

	do {
		uint64_t word = nth_word(loop);

		if (loop->peers > 1)
			fabric_turn(loop->fabric, (unsigned)(loop->serial % loop->peers));
		rc = post_word(loop, word);
		if (rc)
			return rc;
		rc = await_word(loop, word, mask);
		if (rc <= 0)
			return rc;
		loop->serial++;
		ops++;
		atomic_store_explicit(&loop->seen, loop->serial, memory_order_relaxed);
		now = now_ns();
		if (loop->latency)
			histogram_add(loop->latency, now - before);
		before = now;
	} while (loop_goes_on(loop, ops, since, now));
	loop_count(loop, ops, since);
	return loop_drain(loop);
}

int loop_pingpong_serve(struct loop *loop)
{
	uint64_t mask = word_mask(loop);
	int rc;

	for (;;) {
		uint64_t word = nth_word(loop);

		if (loop->peers > 1)
			loop->fabric = loop->fabrics[loop->serial % loop->peers];
		rc = await_word(loop, word, mask);
		if (rc != 1)
			break;
		rc = post_word(loop, word);
		if (rc)
			return rc;
		loop->serial++;
	}
	return rc < 0 ? rc : loop_drain(loop);
}
