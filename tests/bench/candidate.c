/* SPDX-License-Identifier: BSD-2-Clause */
/* candidate.c - opening every candidate in both processes, in the same order, with one exchange each. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "peer.h"
#include "raw.h"

struct introduction {
	int32_t status;
	char why[160];
	struct fabric_card card;
};

static void open_raw(struct candidate *cand, const struct raw *raw)
{
	uint8_t *memory = aligned_alloc(4096, 2 * SPAN_MAX);

	cand->raw = malloc(sizeof(*raw));
	if (!cand->raw || !memory)
		err(1, "memory");
	*cand->raw = *raw;
	memset(memory, 0, 2 * SPAN_MAX);
	cand->inbox = memory;
	cand->outbox = memory + SPAN_MAX;
}

static void open_fabric(struct candidate *cand, struct introduction *own)
{
	own->status = fabric_open(&cand->fabric, cand->name, own->why, sizeof(own->why));
	if (own->status)
		return;
	cand->inbox = cand->fabric->memory;
	cand->outbox = cand->fabric->memory + SPAN_MAX;
	own->status = fabric_card(cand->fabric, &own->card);
	if (own->status)
		snprintf(own->why, sizeof(own->why), "fi_getname: %s", fi_strerror(-own->status));
}

static void give_up(struct candidate *cand, const char *why)
{
	cand->state = CANDIDATE_ABSENT;
	snprintf(cand->why, sizeof(cand->why), "%s", why);
	if (cand->fabric)
		fabric_close(cand->fabric);
	cand->fabric = NULL;
}

static void introduce(struct pair *pair, struct candidate *cand)
{
	struct introduction own = { 0 }, other;

	open_fabric(cand, &own);
	if (!control_send(&pair->host, &own, sizeof(own)) || !control_receive(&pair->host, &other, sizeof(other)))
		errx(1, "%s: the other process is gone", cand->name);
	if (own.status || other.status)
		give_up(cand, own.status ? own.why : other.why);
	else if (fabric_meet(cand->fabric, &other.card))
		errx(1, "%s: fi_av_insert refused the peer's address", cand->name);
}

void pair_open(struct pair *pair, const struct raw *raw)
{
	open_raw(&pair->cands[0], raw);
	for (unsigned i = 1; i < pair->count; i++)
		introduce(pair, &pair->cands[i]);
}

void pair_close(struct pair *pair)
{
	for (unsigned i = 0; i < pair->count; i++) {
		struct candidate *cand = &pair->cands[i];

		if (cand->fabric)
			fabric_close(cand->fabric);
		if (cand->raw) {
			free(cand->inbox);
			free(cand->raw);
		}
	}
}
