/* SPDX-License-Identifier: BSD-2-Clause */
/* loop_message.c - latency of what comes with a completion: messages, tagged messages, writes that the other side is told of.
 * Each side waits for the other's and answers. A receive is posted before the message that asks for it is sent; the one
 * that is left over at the end serves the next run, or is taken back by the caller. */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "tools/perf/core/loop.h"

/* A message of one kind never lands in what another has left. */
enum { TAG_WORD = 0x74, TAG_STREAM };

static int post_tagged(struct fabric *f, size_t from, size_t size)
{
	return fabric_tsend(f, from, size, TAG_WORD);
}

static int expect_tagged(struct fabric *f, size_t to, size_t size)
{
	return fabric_trecv(f, to, size, TAG_WORD);
}

static int post_streamed(struct fabric *f, size_t from, size_t size)
{
	return fabric_tsend(f, from, size, TAG_STREAM);
}

static int expect_streamed(struct fabric *f, size_t to, size_t size)
{
	return fabric_trecv(f, to, size, TAG_STREAM);
}

static int post_written(struct fabric *f, size_t from, size_t size)
{
	return f->tx_cntr ? fabric_write(f, from, 0, size) : fabric_write_told(f, from, 0, size);
}

const struct loop_message loop_tagged = { post_tagged, expect_tagged };
const struct loop_message loop_tagged_stream = { post_streamed, expect_streamed };
const struct loop_message loop_sent = { fabric_send, fabric_recv };
const struct loop_message loop_written = { post_written, NULL };

/* The message's bytes: a word, or with `verify` all of them. */
static void answer_fill(const struct loop *loop, void *out)
{
	uint64_t seed = pattern_word(loop->seed, loop->serial);
	size_t size = loop->size;

	if (loop->verify)
		pattern_fill(out, size, seed);
	else
		memcpy(out, &seed, size < sizeof(seed) ? size : sizeof(seed));
}

/* 1, or -EBADMSG. With `verify` what is wrong is counted, and the run goes on. */
static int answer_check(struct loop *loop, const void *in)
{
	uint64_t seed = pattern_word(loop->seed, loop->serial);
	size_t size = loop->size < sizeof(seed) ? loop->size : sizeof(seed);

	if (!loop->verify)
		return memcmp(in, &seed, size) ? -EBADMSG : 1;
	loop->bad += pattern_differs(in, loop->size, seed, 0);
	return 1;
}

/* Polls while the call says -FI_EAGAIN, or too many sends are outstanding. */
static int answer_post(struct loop *loop, const struct loop_message *message)
{
	struct patience patience = patience_for(loop->patience_ns);
	size_t slot = loop->size < sizeof(uint64_t) ? sizeof(uint64_t) : loop->size;
	struct fabric *f = loop->fabric;
	size_t at = (size_t)(loop->serial % loop->sources) * slot;
	int rc = -FI_EAGAIN;

	while (rc == -FI_EAGAIN) {
		if (f->pending < loop->sources) {
			answer_fill(loop, f->memory + f->span + at);
			rc = message->post(f, at, loop->size);
		}
		if (rc != -FI_EAGAIN)
			return rc;
		rc = f->tx_cntr ? fabric_count(f) : fabric_poll(f);
		if (rc < 0)
			return rc;
		if (loop_stopped(loop))
			return 0;
		if (!patience_left(&patience))
			return -ETIMEDOUT;
		rc = -FI_EAGAIN;
	}
	return rc;
}

/* 1: the message came, and is right; 0: the work is over; else a negative errno. */
static int answer_await(struct loop *loop)
{
	struct patience patience = patience_for(loop->patience_ns);
	struct fabric *f = loop->fabric;

	while (f->received == f->consumed) {
		int n = loop_look(loop, true);

		if (n < 0)
			return n;
		if (loop_stopped(loop))
			return 0;
		if (n == 0 && !loop_patient(loop, &patience))
			return -ETIMEDOUT;
	}
	f->consumed++;
	return answer_check(loop, f->memory);
}

/* One at a time. */
static int answer_expect(struct loop *loop, const struct loop_message *message)
{
	struct fabric *f = loop->fabric;

	return !message->expect || f->receives ? 0 : message->expect(f, 0, loop->size);
}

int loop_message_run(struct loop *loop, const struct loop_message *message)
{
	uint64_t since = now_ns(), ops = 0, before = since, now;

	loop->fabric->consumed = loop->fabric->received;
	do {
		int rc = answer_expect(loop, message);

		if (loop->peers > 1)
			fabric_turn(loop->fabric, (unsigned)(loop->serial % loop->peers));
		if (!rc)
			rc = answer_post(loop, message);
		if (!rc)
			rc = answer_await(loop);
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

static void endpoint_turn(struct loop *loop)
{
	if (loop->peers > 1)
		loop->fabric = loop->fabrics[loop->serial % loop->peers];
}

int loop_message_serve(struct loop *loop, const struct loop_message *message)
{
	int rc;

	for (unsigned i = 0; i < loop->peers && loop->fabrics; i++)
		loop->fabrics[i]->consumed = loop->fabrics[i]->received;
	if (!loop->fabrics)
		loop->fabric->consumed = loop->fabric->received;
	do {
		endpoint_turn(loop);
		rc = answer_expect(loop, message);
		if (!rc)
			rc = answer_await(loop);
		if (rc == 1 && answer_post(loop, message))
			return -FI_EIO;
		loop->serial++;
	} while (rc == 1);
	return rc < 0 ? rc : loop_drain(loop);
}
