/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_target.c - orders come over the control channel; threads serve them. */
#include "tools/perf/perf_side.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct served {
	struct perf_side *side;
	bool inherited;
};

__attribute__((noreturn)) static void gone(const struct served *t)
{
	if (t->inherited)
		_exit(2);
	perf_die("the initiator closed the connection before it had ended");
}

static void target_answer(const struct served *t, enum perf_kind kind, const struct perf_answer *answer)
{
	if (!channel_send(&t->side->channel, kind, answer, sizeof(*answer)))
		gone(t);
}

static bool plausible(const struct perf_plan *plan)
{
	return plan->test < perf_tests_count && plan->threads >= 1 && plan->threads <= THREADS_MAX && plan->peers >= 1 &&
	       plan->peers <= PEERS_MAX && plan->wait <= LOOP_CNTR && plan->window_max <= WINDOW_MAX && plan->span <= 1ull << 44 &&
	       memchr(plan->provider, 0, sizeof(plan->provider));
}

/* Opens what the plan says, and exchanges cards: first the initiator's, then our own. */
static void target_candidate(struct served *t, const struct perf_plan *plan)
{
	struct perf_side *side = t->side;
	struct perf_candidate *cand = &side->candidates[side->candidates_count];
	struct perf_answer opened = { 0 };
	struct fabric_card cards[THREADS_MAX];

	if (side->candidates_count == PROVIDERS_MAX || !plausible(plan))
		perf_die("the initiator's plan makes no sense");
	cand->plan = *plan;
	for (unsigned i = 0; i < plan->threads; i++)
		channel_expect(&side->channel, PERF_CARD, &cards[i], sizeof(cards[i]), "the address of an endpoint");
	side->candidates_count++;
	opened.status = side_open(side, cand, opened.why, sizeof(opened.why));
	for (unsigned i = 0; i < cand->fabrics_count && !opened.status; i++) {
		opened.status = fabric_meet(cand->fabrics[i], &cards[i / cand->each]);
		if (opened.status)
			snprintf(opened.why, sizeof(opened.why), "it does not take the initiator's address");
	}
	target_answer(t, PERF_OPENED, &opened);
	for (unsigned i = 0; i < cand->fabrics_count && !opened.status; i++) {
		struct fabric_card card = { 0 };

		if (fabric_card(cand->fabrics[i], &card))
			perf_die("%s: an endpoint has no name", plan->provider);
		if (!channel_send(&side->channel, PERF_CARD, &card, sizeof(card)))
			gone(t);
	}
}

/* One message of the initiator's while threads serve. True: the block is over. */
static bool target_hear(struct served *t)
{
	union {
		struct perf_count count;
		char bytes[1024];
	} body;

	switch (channel_next(&t->side->channel, &body, sizeof(body))) {
	case PERF_GOAL:
		if (body.count.thread < t->side->workers_count)
			atomic_store_explicit(&t->side->workers[body.count.thread].wanted, body.count.count, memory_order_release);
		return false;
	case PERF_STOP:
		return true;
	default:
		gone(t);
	}
}

static void serve_block(struct served *t, const struct perf_order *order)
{
	struct perf_answer ready = { 0 }, done = { 0 };
	struct perf_side *side = t->side;
	bool over = false, told = false;

	if (order->candidate >= side->candidates_count || order->window > WINDOW_MAX || order->window == 0 || order->sources == 0 ||
	    order->size * order->window > side->candidates[order->candidate].plan.span)
		perf_die("the initiator's order makes no sense");
	side_prepare(side, order);
	target_answer(t, PERF_READY, &ready);
	side_start(side);
	while (!over) {
		struct pollfd waits[2] = { { .fd = side->channel.fd, .events = POLLIN },
					   { .fd = side->wake[0], .events = POLLIN } };

		if (poll(waits, told ? 1 : 2, -1) < 0)
			continue;
		if (waits[0].revents)
			over = target_hear(t);
		if (over || told || !waits[1].revents)
			continue;
		/* A thread that ends before it is told to has failed. */
		told = true;
		atomic_store(&side->stop, 1);
		done.status = side_join(side, order, &done.bad, done.why, sizeof(done.why));
		target_answer(t, PERF_DONE, &done);
	}
	if (told)
		return;
	atomic_store_explicit(&side->stop, 1, memory_order_release);
	done.status = side_join(side, order, &done.bad, done.why, sizeof(done.why));
	target_answer(t, PERF_DONE, &done);
}

void target_serve(struct perf_side *side, bool inherited)
{
	struct served t = { .side = side, .inherited = inherited };
	union {
		struct perf_plan plan;
		struct perf_order order;
		char bytes[1024];
	} body;

	for (;;) {
		struct pollfd wait = { .fd = side->channel.fd, .events = POLLIN };

		if (poll(&wait, 1, -1) < 0)
			continue;
		switch (channel_next(&side->channel, &body, sizeof(body))) {
		case PERF_PLAN:
			target_candidate(&t, &body.plan);
			break;
		case PERF_ORDER:
			serve_block(&t, &body.order);
			break;
		case PERF_STOP: /* of a block that had failed */
			break;
		case PERF_QUIT:
			return;
		default:
			gone(&t);
		}
	}
}
