/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_initiator.c - blocks of all providers, in turn: the other side gets ready, both run, the other side is told to stop. */
#include "tools/perf/perf_side.h"

#include <errno.h>
#include <poll.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW_USUAL = 64, SOURCES_BYTES = 4 << 20, WINDOW_BYTES = 64 << 20, SPAN_LEAST = 4096, PROGRESS_MS = 1000 };

static unsigned window_of(const struct perf_options *o, size_t size)
{
	unsigned window = WINDOW_USUAL, fits = (unsigned)(size < WINDOW_BYTES ? WINDOW_BYTES / size : 1);

	if (o->test->one)
		return 1;
	if (o->window)
		return o->window;
	window = fits < window ? fits : window;
	return window < o->peers ? o->peers : window;
}

static unsigned sources_of(size_t size)
{
	size_t fits = SOURCES_BYTES / size;

	return fits < 2 ? 2 : fits < LOOP_SOURCES ? (unsigned)fits : LOOP_SOURCES;
}

static uint64_t span_of(const struct perf_options *o, size_t size)
{
	uint64_t span = (uint64_t)size * window_of(o, size);

	if (o->test->alone)
		return SPAN_LEAST;
	if (o->test->one && o->test->messages)
		span = (uint64_t)(size < sizeof(uint64_t) ? sizeof(uint64_t) : size) * sources_of(size);
	return span < SPAN_LEAST ? SPAN_LEAST : span;
}

static struct perf_plan plan_of(const struct perf_options *o, unsigned provider)
{
	struct perf_plan plan = { .test = (uint32_t)(o->test - perf_tests),
				  .threads = o->threads,
				  .peers = o->peers,
				  .wait = o->wait,
				  .verify = o->verify,
				  .pin = o->pin,
				  .timeout_ns = o->timeout_ns };

	memcpy(plan.provider, o->providers[provider], sizeof(plan.provider));
	for (unsigned s = 0; s < o->sizes_count; s++) {
		uint64_t span = span_of(o, o->sizes[s]);

		plan.span = span > plan.span ? span : plan.span;
		plan.size_max = o->sizes[s] > plan.size_max ? o->sizes[s] : plan.size_max;
		plan.window_max = window_of(o, o->sizes[s]) > plan.window_max ? window_of(o, o->sizes[s]) : plan.window_max;
	}
	return plan;
}

static void cannot(const struct perf_candidate *cand, const char *where, int status, const char *why)
{
	if (status == -FI_ENODATA)
		perf_die("%s over %s: no such provider %s, or it does not offer what this test needs (%s)", cand->test->name,
			 cand->plan.provider, where, why);
	perf_die("%s over %s: %s: %s", cand->test->name, cand->plan.provider, where, why[0] ? why : fi_strerror(-status));
}

static void initiator_candidate(struct perf_side *side, struct perf_candidate *cand)
{
	struct perf_answer opened;
	struct fabric_card card;
	char why[160] = "";
	int rc = side_open(side, cand, why, sizeof(why));

	if (rc)
		cannot(cand, "here", rc, why);
	if (!channel_send(&side->channel, PERF_PLAN, &cand->plan, sizeof(cand->plan)))
		channel_gone(&side->channel, "before it had opened anything");
	for (unsigned i = 0; i < cand->fabrics_count; i++) {
		memset(&card, 0, sizeof(card));
		if (fabric_card(cand->fabrics[i], &card))
			perf_die("%s: an endpoint has no name", cand->plan.provider);
		(void)channel_send(&side->channel, PERF_CARD, &card, sizeof(card));
	}
	channel_expect(&side->channel, PERF_OPENED, &opened, sizeof(opened), "the other side to open its endpoints");
	if (opened.status)
		cannot(cand, "at the other side", opened.status, opened.why);
	for (unsigned i = 0; i < cand->plan.threads * cand->plan.peers; i++) {
		channel_expect(&side->channel, PERF_CARD, &card, sizeof(card), "the address of an endpoint");
		if (fabric_meet(cand->fabrics[i / cand->plan.peers], &card))
			perf_die("%s does not take the other side's address", cand->plan.provider);
	}
}

void initiator_open(struct perf_side *side, const struct perf_options *o)
{
	for (unsigned p = 0; p < o->providers_count; p++) {
		struct perf_candidate *cand = &side->candidates[side->candidates_count++];

		cand->plan = plan_of(o, p);
		initiator_candidate(side, cand);
	}
}

struct block {
	struct perf_side *side;
	const struct perf_options *options;
	const struct perf_candidate *cand;
	struct perf_order order;
	struct perf_answer done;
	bool failed; /* the other side said so before its time */
};

static void complain(const struct block *b, const char *side, const char *why)
{
	perf_die("%s over %s, %llu B: %s: %s", b->cand->test->name, b->cand->plan.provider, (unsigned long long)b->order.size, side,
		 why);
}

/* The other side is gone; threads that measure are not waited for. */
static void lost(const struct block *b)
{
	char when[96];

	snprintf(when, sizeof(when), "while %s over %s was measured", b->cand->test->name, b->cand->plan.provider);
	channel_gone(&b->side->channel, when);
}

static void initiator_hear(struct block *b)
{
	union {
		struct perf_count count;
		struct perf_answer answer;
		char bytes[1024];
	} body;

	switch (channel_next(&b->side->channel, &body, sizeof(body))) {
	case PERF_ARRIVED:
		if (body.count.thread < b->side->workers_count)
			atomic_store_explicit(&b->side->workers[body.count.thread].arrived, body.count.count, memory_order_release);
		break;
	case PERF_DONE:
		b->done = body.answer;
		b->failed = true;
		atomic_store(&b->side->stop, 1);
		break;
	default:
		lost(b);
	}
}

static void progress(const struct block *b, uint64_t since)
{
	bool measuring = true;
	uint64_t ops = 0;

	for (unsigned i = 0; i < b->side->workers_count; i++) {
		ops += atomic_load_explicit(&b->side->workers[i].loop.seen, memory_order_relaxed);
		measuring &= atomic_load(&b->side->workers[i].measuring) != 0;
	}
	fprintf(stderr, "emu_perf: %s over %s, %llu B: %s, %.0f s of %.3g, %llu ops\n", b->cand->test->name, b->cand->plan.provider,
		(unsigned long long)b->order.size, measuring ? "measuring" : "warming up", (double)(now_ns() - since) / 1e9,
		(double)(b->side->warmup_ns + b->side->length_ns) / 1e9, (unsigned long long)ops);
}

static void watch(struct block *b)
{
	uint64_t since = now_ns(), next = since + PROGRESS_MS * MSEC;

	while (atomic_load(&b->side->running)) {
		struct pollfd waits[2] = { { .fd = b->side->channel.fd, .events = POLLIN },
					   { .fd = b->side->wake[0], .events = POLLIN } };
		int n;

		/* With several threads the pipe has a byte when the first has ended: the others are looked at now and then. */
		n = poll(waits, b->side->workers_count > 1 ? 1 : 2, b->side->workers_count > 1 ? 2 : PROGRESS_MS);
		if (n > 0 && waits[0].revents)
			initiator_hear(b);
		if (b->options->progress && now_ns() >= next) {
			progress(b, since);
			next += PROGRESS_MS * MSEC;
		}
	}
}

/* Counts what the threads have measured. */
static void block_take(struct block *b, struct perf_cell *cell)
{
	uint64_t ops = 0, elapsed = 0;

	for (unsigned i = 0; i < b->order.threads; i++) {
		const struct perf_worker *w = &b->side->workers[i];

		ops += w->loop.ops;
		elapsed = w->loop.elapsed_ns > elapsed ? w->loop.elapsed_ns : elapsed;
		if (w->loop.latency)
			histogram_merge(&cell->latency, &w->latency);
	}
	if (ops == 0)
		complain(b, "here", "nothing was measured");
	cell->ops += ops;
	cell->elapsed_ns += elapsed;
	cell->window = b->order.window;
	/* Ops of one at a time take as long as each does, however many threads there are. */
	cell->blocks[cell->blocks_count++] = (double)elapsed / (double)ops *
					     (b->cand->test->one && b->cand->test->unit == PERF_LATENCY ? b->order.threads : 1);
}

static void measure_block(struct block *b, struct perf_cell *cell)
{
	struct perf_channel *channel = &b->side->channel;
	struct perf_answer ready;
	char why[200] = "";
	uint64_t bad = 0;
	int rc;

	if (!b->cand->test->alone) {
		if (!channel_send(channel, PERF_ORDER, &b->order, sizeof(b->order)))
			lost(b);
		side_prepare(b->side, &b->order);
		channel_expect(channel, PERF_READY, &ready, sizeof(ready), "the other side to get ready");
	} else {
		side_prepare(b->side, &b->order);
	}
	b->order.threads = b->side->workers_count;
	side_start(b->side);
	watch(b);
	rc = side_join(b->side, &b->order, &bad, why, sizeof(why));
	if (!b->cand->test->alone) {
		if (!channel_send(channel, PERF_STOP, NULL, 0))
			lost(b);
		/* It may have failed at the same time. */
		while (!b->failed)
			initiator_hear(b);
		if (b->done.status)
			complain(b, "the other side", b->done.why);
	}
	if (rc)
		complain(b, "here", why);
	block_take(b, cell);
	cell->bad += bad + b->done.bad;
}

static void measure_size(struct perf_side *side, struct perf_result *result, unsigned s)
{
	const struct perf_options *o = result->options;

	for (unsigned round = 0; round < o->blocks; round++) {
		for (unsigned p = 0; p < o->providers_count; p++) {
			struct block b = { .side = side, .options = o, .cand = &side->candidates[p] };

			b.order = (struct perf_order){ .candidate = p,
						       .window = window_of(o, o->sizes[s]),
						       .sources = sources_of(o->sizes[s]),
						       .size = o->sizes[s],
						       .seed = pattern_word((uint64_t)s << 32 | p, round) };
			measure_block(&b, result_cell(result, p, s));
		}
	}
}

void initiator_measure(struct perf_side *side, struct perf_result *result, FILE *out)
{
	const struct perf_options *o = result->options;

	side->ops = o->ops;
	side->length_ns = o->duration_ns / o->blocks;
	side->warmup_ns = o->warmup_ns == UINT64_MAX ? side->length_ns / 5 : o->warmup_ns;
	for (unsigned s = 0; s < o->sizes_count; s++) {
		measure_size(side, result, s);
		if (out)
			result_text_size(out, result, s);
	}
	(void)channel_send(&side->channel, PERF_QUIT, NULL, 0);
}
