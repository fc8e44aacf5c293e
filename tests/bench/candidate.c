/* SPDX-License-Identifier: BSD-2-Clause */
/* candidate.c - opening every candidate in both processes, in the same order, with one exchange each. */
#include <err.h>
#include <rdma/fi_domain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/perf/core/fabric.h"
#include "peer.h"
#include "raw.h"

struct introduction {
	int32_t status; /* of the worlds that are needed */
	char why[160];
	bool there[WORLDS];
	struct fabric_card card[WORLDS];
};

#define USUAL_MODE (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

static const struct fabric_world worlds[WORLDS] = {
	[WORLD_USUAL] = { .mr_mode = USUAL_MODE },
	[WORLD_SCALABLE] = { .keys = 10 },
	[WORLD_MANY_KEYS] = { .keys = 1000000 },
	[WORLD_TAGGED] = { .mr_mode = USUAL_MODE, .caps = FI_TAGGED },
	[WORLD_ATOMIC] = { .mr_mode = USUAL_MODE, .caps = FI_ATOMIC },
	[WORLD_SREAD] = { .mr_mode = USUAL_MODE, .caps = FI_TAGGED, .wait = FI_WAIT_UNSPEC },
	[WORLD_WAIT_FD] = { .mr_mode = USUAL_MODE, .caps = FI_TAGGED, .wait = FI_WAIT_FD },
	[WORLD_COUNTER] = { .mr_mode = USUAL_MODE, .caps = FI_RMA_EVENT, .wait = FI_WAIT_UNSPEC, .counter = true },
};

/* The greeting is in the usual world. */
size_t world_span(const struct pair *pair, enum world world)
{
	size_t span = world == WORLD_USUAL ? SPAN_MIN : 0;

	if (pair->world != world)
		return 0;
	for (unsigned b = 0; b < benches_count; b++) {
		size_t needed = benches[b].fabric.serve ? bench_span(&benches[b]) : SPAN_MIN;

		if (benches[b].world != world || !bench_chosen(&benches[b], pair->only))
			continue;
		needed = (needed + SPAN_MIN - 1) / SPAN_MIN * SPAN_MIN;
		span = needed > span ? needed : span;
	}
	return span;
}

static void open_raw(const struct pair *pair, struct candidate *cand, const struct raw *raw)
{
	size_t span = SPAN_MIN;
	uint8_t *memory;

	for (unsigned w = 0; w < WORLDS; w++)
		span = world_span(pair, w) > span ? world_span(pair, w) : span;
	memory = aligned_alloc(4096, 2 * span);
	cand->raw = malloc(sizeof(*raw));
	if (!cand->raw || !memory)
		err(1, "memory");
	*cand->raw = *raw;
	memset(memory, 0, 2 * span);
	cand->inbox = memory;
	cand->outbox = memory + span;
}

static void open_fabric(const struct pair *pair, struct candidate *cand, struct introduction *own)
{
	for (unsigned w = 0; w < WORLDS && !own->status; w++) {
		struct fabric_world world = worlds[w];
		int rc;

		world.span = world_span(pair, w);
		if (!world.span)
			continue;
		world.any_address = true; /* shm's are names */
		rc = fabric_open(&cand->fabric[w], cand->name, &world, own->why, sizeof(own->why));
		if (!rc) {
			rc = fabric_card(cand->fabric[w], &own->card[w]);
			if (rc)
				snprintf(own->why, sizeof(own->why), "fi_getname: %s", fi_strerror(-rc));
		}
		own->there[w] = !rc;
		if (w < WORLDS_NEEDED)
			own->status = rc;
	}
}

static void close_world(struct candidate *cand, unsigned w)
{
	if (cand->fabric[w])
		fabric_close(cand->fabric[w]);
	cand->fabric[w] = NULL;
}

static void close_worlds(struct candidate *cand)
{
	for (unsigned w = 0; w < WORLDS; w++)
		close_world(cand, w);
}

static void introduce(struct pair *pair, struct candidate *cand)
{
	struct introduction own = { 0 }, other;

	open_fabric(pair, cand, &own);
	if (!control_send(&pair->host, &own, sizeof(own)) || !control_receive(&pair->host, &other, sizeof(other)))
		errx(1, "%s: the other process is gone", cand->name);
	snprintf(cand->why, sizeof(cand->why), "%s", own.why[0] ? own.why : other.why);
	if (own.status || other.status) {
		cand->state = CANDIDATE_ABSENT;
		close_worlds(cand);
	}
	for (unsigned w = 0; w < WORLDS; w++) {
		if (!own.there[w] || !other.there[w])
			close_world(cand, w);
		else if (cand->state == CANDIDATE_OPEN && fabric_meet(cand->fabric[w], &other.card[w]))
			errx(1, "%s: fi_av_insert refused the peer's address", cand->name);
	}
}

void pair_open(struct pair *pair, const struct raw *raw)
{
	open_raw(pair, &pair->cands[0], raw);
	for (unsigned i = 1; i < pair->count; i++)
		if (!pair->cands[i].elsewhere)
			introduce(pair, &pair->cands[i]);
}

void pair_close(struct pair *pair)
{
	for (unsigned i = 0; i < pair->count; i++) {
		struct candidate *cand = &pair->cands[i];

		close_worlds(cand);
		if (cand->raw) {
			free(cand->inbox);
			free(cand->raw);
		}
	}
}
