/* SPDX-License-Identifier: BSD-2-Clause */
/* race_stage.c - the layer above, which remembers. */
#include "tests/sim/race_stage.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct stage_told told;

struct seen {
	bool executed;
};

static struct race_opened arrived(const struct race_access *access)
{
	bool may_be_late = access->waits && access->whole && !access->tells;
	struct seen *seen;

	told.arrived++;
	told.last = *access;
	told.met = told.open;
	if ((access->tells && !access->waits && !access->told) || !told.hold_ns)
		return (struct race_opened){ .hold_ns = told.hold_ns };
	seen = calloc(1, sizeof(*seen));
	told.open++;
	return (struct race_opened){
		.open = seen, .hold_ns = told.hold_ns, .late_ns = may_be_late ? told.late_ns : 0, .apart = told.apart
	};
}

static bool store(void *open, void *to, const void *from, size_t length)
{
	cr_assert(open != NULL);
	told.stored += length;
	memcpy(to, from, length);
	return told.apart;
}

static void due(void *open)
{
	cr_assert(!((struct seen *)open)->executed);
	told.due++;
}

static void executed(void *open)
{
	((struct seen *)open)->executed = true;
	told.executed++;
}

static void closed(void *open)
{
	told.closed++;
	told.open--;
	told.closed_first += !((struct seen *)open)->executed;
	free(open);
}

static uint64_t leaves(const void *session, void *watch, uint64_t now_ns)
{
	(void)session;
	(void)watch;
	(void)now_ns;
	return told.stay_ns;
}

static uint64_t completes(const void *session, uint8_t op, uint64_t now_ns)
{
	(void)session;
	(void)op;
	(void)now_ns;
	return told.completes_ns;
}

static void ended(const void *session)
{
	cr_assert(session != NULL);
	told.ended++;
}

const struct race_ops stage_races = {
	.arrived = arrived,
	.store = store,
	.due = due,
	.executed = executed,
	.closed = closed,
	.leaves = leaves,
	.completes = completes,
	.ended = ended,
};

static void *receive(void *owner, const struct recv_post *post)
{
	(void)owner;
	return (void *)(uintptr_t)post->context;
}

static void posted(void *owner, int err)
{
	(void)owner;
	cr_assert(!err);
}

static void saw(void *watch)
{
	cr_assert(watch != NULL);
}

/* Messages are looked at where they go to watched receives. */
const struct watch_ops stage_watch = { .receive = receive, .posted = posted, .place = saw, .cancelled = saw, .end = saw };

void stage_open(struct stage *stage, uint64_t hold_ns, uint32_t order)
{
	struct party_config party = { .caps = STAGE_CAPS, .order = order };

	memset(&told, 0, sizeof(told));
	told.hold_ns = hold_ns;
	*stage = (struct stage){ .config = { .races = &stage_races, .watch = &stage_watch } };
	bed_open(&stage->bed, 2170, 2, &stage->config, &party);
	stage->target = region_open(stage->bed.party[1], PLACES * BYTES, 1, BED_BOTH, false, 0);
}

void stage_end(struct stage *stage)
{
	model_end(stage->bed.model, BED_LIMIT_NS);
	bed_close(&stage->bed);
	cr_assert(told.open == 0 && told.ended >= 2);
}

struct job *stage_post(struct stage *stage, enum op_kind kind, uint64_t place, uint32_t flags)
{
	struct job *job = bed_post(&stage->bed, kind, stage->target, place * BYTES, BYTES, flags);

	model_pass(stage->bed.model, LATE / 8);
	return job;
}

bool stage_has(struct stage *stage, const uint8_t *bytes, uint64_t place)
{
	uint8_t now[BYTES];

	region_get(stage->target, place * BYTES, now, BYTES);
	return !memcmp(now, bytes, BYTES);
}
