/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_side.c - endpoints, blocks and threads of one side. */
#include "tools/perf/perf_side.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/perf/core/core_pin.h"

#define MR_MODES (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

enum { SPAN_UNIT = 4096 };

void side_init(struct perf_side *side, bool initiator)
{
	side->initiator = initiator;
	side->workers = calloc(THREADS_MAX, sizeof(*side->workers));
	if (!side->workers)
		perf_die("out of memory");
	if (pipe2(side->wake, O_CLOEXEC))
		perf_die("pipe: %s", strerror(errno));
}

static struct fabric_world world_of(const struct perf_side *side, const struct perf_candidate *cand)
{
	const struct perf_plan *plan = &cand->plan;
	const struct perf_test *test = cand->test;
	bool told = test->messages && !test->no_rma && (plan->size_max > sizeof(uint64_t) || plan->wait != LOOP_SPIN);
	struct fabric_world world = { .mr_mode = MR_MODES,
				      .mr_mode_more = FI_MR_ENDPOINT | FI_MR_RAW,
				      .mode = FI_CONTEXT | FI_CONTEXT2,
				      .caps = test->caps,
				      .span = (plan->span + SPAN_UNIT - 1) / SPAN_UNIT * SPAN_UNIT,
				      .wait = plan->wait == LOOP_SPIN ? FI_WAIT_NONE : FI_WAIT_UNSPEC,
				      .counters = plan->wait == LOOP_CNTR,
				      .no_rma = test->no_rma,
				      .any_address = true,
				      .in_order = test->no_rma,
				      .node = side->node,
				      .size_max = test->alone ? 0 : plan->size_max,
				      .peers = plan->peers };
	size_t entries = 4 * (size_t)plan->window_max + LOOP_SOURCES;

	if (told)
		world.caps |= world.counters ? FI_RMA_EVENT : FI_MSG;
	if (entries > 1024)
		world.cq_size = entries;
	return world;
}

/* What the provider offers is enough, or why not. */
static int suits(const struct perf_candidate *cand, struct fabric *f, char *why, size_t why_size)
{
	if (cand->test->atomic && fabric_fetch_add_offered(f, cand->plan.size_max)) {
		snprintf(why, why_size, "it has no fetching sum of %llu bytes in words of 64 bits",
			 (unsigned long long)cand->plan.size_max);
		return -FI_EOPNOTSUPP;
	}
	if (f->contexts && f->tx_cntr) {
		snprintf(why, why_size, "it wants contexts of its own (FI_CONTEXT), with which --wait cntr does not go");
		return -FI_EOPNOTSUPP;
	}
	return 0;
}

int side_open(struct perf_side *side, struct perf_candidate *cand, char *why, size_t why_size)
{
	struct fabric_world world;
	unsigned count;

	cand->test = &perf_tests[cand->plan.test];
	cand->each = side->initiator ? 1 : cand->plan.peers;
	count = cand->each * cand->plan.threads;
	/* The provider's own threads run where the one does that opens it. */
	if (cand->plan.pin && cand->plan.threads == 1)
		(void)core_pin(!side->initiator);
	world = world_of(side, cand);
	if (!side->initiator)
		world.peers = 1;
	cand->fabrics = calloc(count, sizeof(struct fabric *));
	if (!cand->fabrics)
		return -FI_ENOMEM;
	for (; cand->fabrics_count < count; cand->fabrics_count++) {
		struct fabric **f = &cand->fabrics[cand->fabrics_count];
		int rc = fabric_open(f, cand->plan.provider, &world, why, why_size);

		if (rc)
			return rc;
		rc = suits(cand, *f, why, why_size);
		if (rc) {
			fabric_close(*f);
			return rc;
		}
	}
	return 0;
}

void side_close(struct perf_side *side)
{
	for (unsigned c = 0; c < side->candidates_count; c++) {
		struct perf_candidate *cand = &side->candidates[c];

		for (unsigned i = 0; i < cand->fabrics_count; i++)
			fabric_close(cand->fabrics[i]);
		free(cand->fabrics);
	}
	free(side->workers);
}

/* The target of a stream has all that was sent. */
static void stream_reached(struct loop *loop)
{
	struct perf_worker *w = (struct perf_worker *)((char *)loop - offsetof(struct perf_worker, loop));
	struct perf_count count = { .thread = w->nth, .count = loop->told };

	(void)channel_send(&w->side->channel, PERF_ARRIVED, &count, sizeof(count));
}

/* The initiator of a stream has sent so many. */
static int stream_sent(struct loop *loop)
{
	struct perf_worker *w = (struct perf_worker *)((char *)loop - offsetof(struct perf_worker, loop));
	struct perf_count count = { .thread = w->nth, .count = loop->serial };

	return channel_send(&w->side->channel, PERF_GOAL, &count, sizeof(count)) ? 0 : -ECONNRESET;
}

static void prepare_loop(struct perf_worker *w, const struct perf_candidate *cand, const struct perf_order *order)
{
	struct perf_side *side = w->side;
	/* A target that only polls waits for as long as the initiator likes; the channel tells that one is gone. */
	bool patient = !side->initiator && cand->test->serve && (!cand->test->messages || cand->plan.threads > 1);

	w->loop = (struct loop){ .fabric = cand->fabrics[w->nth * cand->each],
				 .fabrics = side->initiator || cand->each == 1 ? NULL : &cand->fabrics[w->nth * cand->each],
				 .peers = cand->plan.peers,
				 .stop = &side->stop,
				 .wanted = side->initiator ? NULL : &w->wanted,
				 .reached = stream_reached,
				 .arrived = &w->arrived,
				 .await = side->initiator ? stream_sent : NULL,
				 .latency = side->initiator && cand->test->one ? &w->latency : NULL,
				 .size = order->size,
				 .window = order->window,
				 .sources = order->sources,
				 .wait = cand->plan.wait,
				 .verify = cand->plan.verify,
				 .seed = order->seed + w->nth,
				 .patience_ns = patient ? UINT64_MAX / 4 : cand->plan.timeout_ns };
	atomic_store(&w->wanted, 0);
	atomic_store(&w->arrived, 0);
	atomic_store(&w->measuring, 0);
	w->rc = 0;
}

void side_prepare(struct perf_side *side, const struct perf_order *order)
{
	struct perf_candidate *cand = &side->candidates[order->candidate];

	side->workers_count = cand->plan.threads;
	atomic_store(&side->stop, 0);
	for (unsigned i = 0; i < side->workers_count; i++) {
		struct perf_worker *w = &side->workers[i];

		w->side = side;
		w->nth = i;
		prepare_loop(w, cand, order);
		for (unsigned e = 0; e < cand->each && !cand->test->alone; e++) {
			struct fabric *f = cand->fabrics[i * cand->each + e];

			memset(f->memory, 0, f->span);
			if (!cand->test->one || !cand->test->messages)
				pattern_fill(f->memory + f->span, f->span, w->loop.seed);
		}
	}
}

static int run_block(struct perf_worker *w, const struct perf_test *test)
{
	int rc;

	w->loop.length_ns = w->side->warmup_ns;
	rc = test->run(&w->loop);
	if (rc || loop_stopped(&w->loop))
		return rc;
	histogram_clear(&w->latency);
	w->loop.ops = 0;
	w->loop.elapsed_ns = 0;
	w->loop.ops_max = w->side->ops;
	w->loop.length_ns = w->side->ops ? UINT64_MAX : w->side->length_ns;
	atomic_store(&w->measuring, 1);
	return test->run(&w->loop);
}

/* Receives that nobody will answer are not left to a block of another size. */
static int receives_take_back(const struct perf_worker *w, const struct perf_candidate *cand)
{
	int rc = 0;

	for (unsigned e = 0; e < cand->each && !rc && cand->test->messages; e++)
		rc = fabric_recv_cancel(cand->fabrics[w->nth * cand->each + e]);
	return rc;
}

struct start {
	struct perf_worker *worker;
	struct perf_candidate *cand;
};

static void *worker_run(void *arg)
{
	struct start start = *(struct start *)arg;
	struct perf_worker *w = start.worker;
	struct perf_side *side = w->side;
	int rc;

	free(arg);
	if (start.cand->plan.pin)
		(void)core_pin(2 * w->nth + !side->initiator);
	rc = side->initiator ? run_block(w, start.cand->test) : start.cand->test->serve(&w->loop);
	w->rc = rc ? rc : receives_take_back(w, start.cand);
	atomic_fetch_sub(&side->running, 1);
	while (write(side->wake[1], "", 1) < 0 && errno == EINTR)
		;
	return NULL;
}

void side_start(struct perf_side *side)
{
	atomic_store(&side->running, side->workers_count);
	for (unsigned i = 0; i < side->workers_count; i++) {
		struct perf_worker *w = &side->workers[i];
		struct start *start = malloc(sizeof(*start));
		int rc = start ? 0 : ENOMEM;

		if (start) {
			/* The order's candidate is the one whose fabric the loop has. */
			*start = (struct start){ .worker = w };
			for (unsigned c = 0; c < side->candidates_count; c++)
				if (side->candidates[c].fabrics[i * side->candidates[c].each] == w->loop.fabric)
					start->cand = &side->candidates[c];
			rc = pthread_create(&w->handle, NULL, worker_run, start);
		}
		if (rc)
			perf_die("cannot start a thread: %s", strerror(rc));
	}
}

/* The bytes of a window, where they have landed. */
static uint64_t wrong_bytes(const struct perf_worker *w, const struct perf_candidate *cand, const struct perf_order *order)
{
	unsigned peers = cand->plan.peers;
	uint64_t wrong = w->loop.bad;
	bool here = w->side->initiator ? cand->test->to_initiator : cand->test->to_target;

	if (!here || !cand->plan.verify)
		return wrong;
	for (unsigned slot = 0; slot < order->window; slot++) {
		const struct fabric *f = cand->fabrics[w->nth * cand->each + (cand->each > 1 ? slot % peers : 0)];

		/* With -n there may be fewer ops than slots. */
		if (w->side->initiator && slot >= w->loop.serial)
			break;
		wrong += pattern_differs(f->memory + slot * order->size, order->size, w->loop.seed, slot * order->size);
	}
	return wrong;
}

int side_join(struct perf_side *side, const struct perf_order *order, uint64_t *bad, char *why, size_t why_size)
{
	struct perf_candidate *cand = &side->candidates[order->candidate];
	const char *by = side->initiator ? "the other side's answer" : "what the initiator was to send";
	int rc = 0;

	for (unsigned i = 0; i < side->workers_count; i++) {
		struct perf_worker *w = &side->workers[i];
		const struct fabric *f = w->loop.fabric;

		pthread_join(w->handle, NULL);
		*bad += wrong_bytes(w, cand, order);
		if (!w->rc || rc)
			continue;
		rc = w->rc;
		if (rc == -ETIMEDOUT)
			snprintf(why, why_size, "waited %.3g s in vain for %s", (double)w->loop.patience_ns / 1e9, by);
		else if (rc == -EBADMSG)
			snprintf(why, why_size, "the bytes that arrived are not those that were sent");
		else
			snprintf(why, why_size, "%.180s", f->why[0] ? f->why : fi_strerror(-rc));
	}
	while (side->workers_count) {
		char byte;

		side->workers_count -= read(side->wake[0], &byte, 1) == 1;
	}
	return rc;
}
