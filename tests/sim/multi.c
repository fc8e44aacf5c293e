/* SPDX-License-Identifier: BSD-2-Clause */
/* multi.c - buffers that take many messages, through cuts and under pressure. Their completions are read here: the model
 * sees none of them. */
#include <criterion/criterion.h>
#include <errno.h>

#include "tests/sim/harness/bed.h"

enum { SPACE = 4000, LONGEST = 900, MESSAGES = 24 };

/* The bytes that one buffer holds. */
struct many {
	uint8_t bytes[SPACE];
	bool released;
	struct {
		size_t at, length;
	} piece[MESSAGES];
	int pieces;
};

static void many_post(struct party *party, struct many *many, uint64_t least)
{
	struct iovec iov = { many->bytes, SPACE };
	struct recv_post post = {
		.iov = &iov,
		.iov_count = 1,
		.source = AV_NONE,
		.flags = POST_MULTI | POST_COMPLETE,
		.least = least,
		.context = many,
		.cq_flags = CQ_F_RECV | CQ_F_MSG,
	};

	*many = (struct many){ 0 };
	cr_assert(!ep_recv(party->ep, &post));
}

/* It lies in its buffer, over no other, and is what was sent, once. */
static void take_message(struct bed *bed, struct many *many, const struct completion *c, uint64_t seen[2])
{
	struct world *world = bed->world;
	const struct job *job = c->data <= bed->model->jobs ? bed->model->job[c->data] : NULL;
	size_t at = (size_t)((uint8_t *)c->buf - many->bytes);

	WORLD_CHECK(world, !many->released, "a message in a buffer that was released");
	WORLD_CHECK(world, c->flags == (CQ_F_RECV | CQ_F_MSG | CQ_F_REMOTE_CQ_DATA) && job, "flags %llx data %llu",
		    (unsigned long long)c->flags, (unsigned long long)c->data);
	WORLD_CHECK(world, at <= SPACE && c->length <= SPACE - at, "outside of the buffer, at %zu", at);
	for (int i = 0; i < many->pieces; i++)
		WORLD_CHECK(world,
			    at >= many->piece[i].at + many->piece[i].length || many->piece[i].at >= at + c->length || !c->length,
			    "pieces overlap at %zu", at);
	WORLD_CHECK(world, c->length == job->length && !memcmp(c->buf, job->bytes, c->length), "job %llu: wrong bytes",
		    (unsigned long long)job->id);
	WORLD_CHECK(world, !(seen[job->id / 64] >> (job->id & 63) & 1), "job %llu came twice", (unsigned long long)job->id);
	seen[job->id / 64] |= 1ull << (job->id & 63);
	many->piece[many->pieces].at = at;
	many->piece[many->pieces++].length = c->length;
}

static void read_all(struct bed *bed, uint64_t seen[2], int *messages)
{
	struct completion c;

	while (cq_take(bed->party[0]->rx, &c, 1) == 1) {
		struct many *many = c.context;

		if (c.flags == CQ_F_MULTI_RECV) {
			WORLD_CHECK(bed->world, !many->released, "released twice");
			many->released = true;
			continue;
		}
		take_message(bed, many, &c, seen);
		++*messages;
	}
}

/* Two senders, messages that come with their payload, are parked, and are pulled; one connection is cut at one byte. Returns
 * how many buffers were used up. */
static int two_senders(uint64_t seed, uint32_t cable, uint8_t dir, uint64_t at, bool late)
{
	static const uint64_t lengths[] = { 40, 250, 0, 900, 299, 700 };
	struct nic_config config = { .eager = 300, .unexpected_bytes = 600, .envelopes = 5 };
	struct many many[8];
	uint64_t seen[2] = { 0, 0 };
	int posted = 0, messages = 0, used = 0;
	struct bed bed;

	bed_open(&bed, seed, 3, &config, NULL);
	bed.party[0]->deaf = true;
	world_fault(bed.world, FAULT_CUT, cable, dir, at);
	if (!late)
		many_post(bed.party[0], &many[posted++], LONGEST);
	for (int i = 0; i < MESSAGES; i++)
		cr_assert(!job_post(
			job_message(bed.party[1 + i % 2], bed.party[0], lengths[i / 2 % 6], POST_COMPLETE | POST_CQ_DATA, 1)));
	model_pass(bed.model, late ? 20000000 : 0);
	for (int steps = 0; messages < MESSAGES; steps++) {
		WORLD_CHECK(bed.world, steps < 1000000, "%d of %d messages came", messages, MESSAGES);
		if (posted == 0 || (many[posted - 1].released && posted < 8))
			many_post(bed.party[0], &many[posted++], LONGEST);
		model_step(bed.model);
		read_all(&bed, seen, &messages);
	}
	model_finish(bed.model, BED_LIMIT_NS);
	model_quiet(bed.model, BED_LIMIT_NS);
	read_all(&bed, seen, &messages);
	cr_assert_eq(messages, MESSAGES);
	for (int i = 0; i < posted; i++)
		used += many[i].released;
	bed_close(&bed);
	return used;
}

Test(sim_multi, packed_through_cuts)
{
	for (uint64_t at = 0; at < 6000; at += 5)
		cr_assert_geq(two_senders(50 + at, at & 1, at >> 1 & 1, at >> 1 & 1 ? at / 8 : at, at % 3 == 0), 2);
}

/* The sender dies in the middle of a piece: the space is used again, the buffer goes on. */
Test(sim_multi, a_piece_of_the_dead)
{
	struct nic_config config = { .eager = 3000 };
	struct many many;
	uint64_t seen[2] = { 0, 0 };
	int messages = 0;
	struct bed bed;

	bed_open(&bed, 60, 3, &config, NULL);
	bed.world->weather.capacity = 1000;
	bed.party[0]->deaf = true;
	many_post(bed.party[0], &many, 300);
	cr_assert(!job_post(job_message(bed.party[1], bed.party[0], 3000, POST_COMPLETE | POST_CQ_DATA, 1)));
	while (!many.bytes[0] && !many.bytes[1])
		model_step(bed.model);
	bed.node[1]->asleep = true;
	cr_assert(!job_post(job_message(bed.party[2], bed.party[0], 600, POST_COMPLETE | POST_CQ_DATA, 1)));
	while (!messages) {
		cr_assert(model_step(bed.model));
		read_all(&bed, seen, &messages);
	}
	cr_assert_eq(many.piece[0].at, 3000);
	for (int i = 0; i < 2; i++) /* 400 bytes are left: one more fits, the other waits */
		cr_assert(!job_post(job_message(bed.party[2], bed.party[0], 200, POST_COMPLETE | POST_CQ_DATA, 1)));
	while (messages < 2) {
		cr_assert(model_step(bed.model));
		read_all(&bed, seen, &messages);
	}
	cr_assert(!many.released, "a piece of it is in use");
	model_kill(bed.model, bed.node[1]);
	while (!many.released) {
		cr_assert(model_step(bed.model));
		read_all(&bed, seen, &messages);
	}
	cr_assert_eq(messages, 2);
	bed_close(&bed);
}

/* The same with a piece that used it up: it is open again, for what has waited meanwhile. */
Test(sim_multi, the_last_piece_of_the_dead)
{
	struct nic_config config = { .eager = 3900 };
	uint64_t seen[2] = { 0, 0 };
	struct many many;
	int messages = 0;
	struct bed bed;

	bed_open(&bed, 62, 3, &config, NULL);
	bed.world->weather.capacity = 1000;
	bed.party[0]->deaf = true;
	many_post(bed.party[0], &many, 300);
	cr_assert(!job_post(job_message(bed.party[1], bed.party[0], 3900, POST_COMPLETE | POST_CQ_DATA, 1)));
	while (!many.bytes[0] && !many.bytes[1])
		model_step(bed.model);
	bed.node[1]->asleep = true;
	for (int i = 0; i < 2; i++)
		cr_assert(!job_post(job_message(bed.party[2], bed.party[0], 1500, POST_COMPLETE | POST_CQ_DATA, 1)));
	model_pass(bed.model, 20000000);
	model_kill(bed.model, bed.node[1]);
	while (messages < 2) {
		cr_assert(model_step(bed.model));
		read_all(&bed, seen, &messages);
	}
	cr_assert_eq(many.piece[1].at, 1500);
	cr_assert(!many.released, "1000 bytes are left");
	bed_close(&bed);
}

/* Cancelled in the middle of a piece: told of when the last byte of that is in its place. */
Test(sim_multi, cancelled_in_use)
{
	struct nic_config config = { .eager = 3000 };
	struct cq_error error;
	struct many many;
	struct completion c;
	struct bed bed;
	int rc;

	bed_open(&bed, 63, 2, &config, NULL);
	bed.world->weather.capacity = 1000;
	bed.party[0]->deaf = true;
	many_post(bed.party[0], &many, 300);
	cr_assert(!job_post(job_message(bed.party[1], bed.party[0], 3000, POST_COMPLETE | POST_CQ_DATA, 1)));
	while (!many.bytes[0] && !many.bytes[1])
		model_step(bed.model);
	node_enter(bed.node[0]);
	rc = ep_cancel(bed.party[0]->ep, &many);
	cr_assert(!rc && !cq_ready(bed.party[0]->rx));
	rc = ep_cancel(bed.party[0]->ep, &many);
	node_leave(bed.node[0]);
	cr_assert_eq(rc, -ENOENT);
	while (cq_take(bed.party[0]->rx, &c, 1) != 1)
		cr_assert(model_step(bed.model));
	cr_assert(c.context == &many && c.length == 3000);
	cr_assert(cq_take_error(bed.party[0]->rx, &error) == 1 && error.prov_errno == REFUSAL_CANCELLED);
	cr_assert(error.c.context == &many);
	model_finish(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Unread completions are bounded: beyond the bound messages wait at their senders. */
Test(sim_multi, completions_that_nobody_reads)
{
	enum { RING = 16, MORE = 100, ALL = LIMIT_PIECES + RING + MORE };
	struct party_config config = { .tx_size = ALL, .cq_size = RING };
	static struct many many;
	struct completion c;
	struct bed bed;
	int messages = 0;

	bed_open(&bed, 61, 2, NULL, &config);
	bed.party[0]->deaf = true;
	many_post(bed.party[0], &many, 300);
	for (int i = 0; i < ALL; i++)
		cr_assert(!job_post(job_message(bed.party[1], bed.party[0], 0, POST_COMPLETE | POST_CQ_DATA, 1)));
	model_pass(bed.model, SIM_SECOND);
	cr_assert_eq(bed.model->open, MORE);
	cr_assert_gt(tap_count(bed.world, TAP_RNR), 0);
	while (messages < ALL) {
		if (cq_take(bed.party[0]->rx, &c, 1) == 1)
			cr_assert_eq(bed.model->job[c.data]->message, (uint64_t)++messages, "out of order");
		else
			cr_assert(model_step(bed.model));
	}
	model_finish(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}
