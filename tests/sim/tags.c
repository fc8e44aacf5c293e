/* SPDX-License-Identifier: BSD-2-Clause */
/* tags.c - tagged messages where it matters what has arrived when: full budgets, and receives that come free again. */
#include <criterion/criterion.h>
#include <errno.h>

#include "emu/nic/transport/session.h"
#include "tests/sim/harness/bed.h"
#include "tests/sim/harness/scarce.h"

enum { HOLD_NS = 20000000, LONG = 30000 };

static struct job *send_tagged(struct party *from, struct party *to, uint64_t length, uint64_t tag)
{
	struct job *job = job_message(from, to, length, POST_COMPLETE, 1);

	job_tag(job, tag);
	cr_assert(!job_post(job));
	return job;
}

/* Its sender dies in the middle of a message; another's message has found no receive meanwhile. */
static void set_free(bool tagged)
{
	static const uint8_t untouched[] = { 0x5a, 0x5a, 0x5a, 0x5a };
	struct nic_config config = { .eager = LONG };
	struct intake *intake;
	struct job *job;
	struct bed bed;

	bed_open(&bed, 40, 3, &config, NULL);
	bed.world->weather.capacity = 1000;
	intake = tagged ? intake_post_tagged(bed.party[1], LONG, 1, NULL, 5, 2) : intake_post(bed.party[1], LONG, 1, NULL);
	job = job_message(bed.party[0], bed.party[1], LONG, POST_COMPLETE, 1);
	if (tagged)
		job_tag(job, 7);
	cr_assert(!job_post(job));
	while (!memcmp(intake->iov[0].iov_base, untouched, sizeof(untouched)))
		model_step(bed.model);
	bed.node[0]->asleep = true;
	job = job_message(bed.party[2], bed.party[1], 100, POST_COMPLETE, 1);
	if (tagged)
		job_tag(job, 5);
	cr_assert(!job_post(job));
	while (!job->done)
		model_step(bed.model);
	cr_assert(!intake->done);
	model_kill(bed.model, bed.node[0]);
	model_pass(bed.model, HOLD_NS);
	cr_assert(intake->done, "free, but idle");
	cr_assert(intake->got == job);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

Test(sim_tags, a_receive_set_free_takes_what_waits)
{
	set_free(false);
	set_free(true);
}

/* Budgets are shared by messages with tags and without; what finds none waits at its sender, in its order. */
Test(sim_tags, no_envelopes_left)
{
	struct nic_config config = { .envelopes = 4 };
	struct bed bed;

	bed_open(&bed, 41, 2, &config, NULL);
	for (uint64_t i = 0; i < 60; i++) {
		struct job *job = job_message(bed.party[0], bed.party[1], 8 + i, POST_COMPLETE, 1);

		if (i % 3)
			job_tag(job, i);
		cr_assert(!job_post(job));
	}
	model_pass(bed.model, HOLD_NS);
	cr_assert_eq(bed.model->open, 56);
	cr_assert_gt(tap_count(bed.world, TAP_RNR), 0);
	for (uint64_t i = 10; i; i--) /* in another order than they come */
		if (i % 3)
			intake_post_tagged(bed.party[1], 100, 1, NULL, i, 0);
	model_pass(bed.model, HOLD_NS);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Payload past the budget stays at its sender, whatever its tag; envelopes are matched all the same. */
Test(sim_tags, no_payload_kept)
{
	struct nic_config config = { .unexpected_bytes = 1000 };
	struct bed bed;

	bed_open(&bed, 42, 2, &config, NULL);
	for (uint64_t i = 0; i < 40; i++)
		send_tagged(bed.party[0], bed.party[1], i % 5 == 4 ? 40000 : 300, i % 7);
	model_pass(bed.model, HOLD_NS);
	cr_assert_gt(tap_count(bed.world, TAP_PARK), 20);
	cr_assert_eq(tap_count(bed.world, TAP_PULL), 0);
	for (uint64_t i = 0; i < 40; i++)
		intake_post_tagged(bed.party[1], 40000, 1, bed.party[0], 6 - i % 7, i & 1 ? 0 : 1ull << 40);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* A whole queue of other tags is no obstacle, and stays in order. */
Test(sim_tags, thousands_of_tags)
{
	enum { MANY = 3000 };
	struct party_config config = { .tx_size = MANY, .rx_size = MANY };
	struct bed bed;

	bed_open(&bed, 43, 2, NULL, &config);
	for (uint64_t i = 0; i < MANY; i++)
		send_tagged(bed.party[0], bed.party[1], 8, (i * 0x9e3779b97f4a7c15u) >> (i % 3 * 20));
	model_finish(bed.model, BED_LIMIT_NS);
	for (uint64_t i = MANY; i--;)
		intake_post_tagged(bed.party[1], 8, 1, NULL, (i * 0x9e3779b97f4a7c15u) >> (i % 3 * 20), 0);
	while (bed.party[1]->intakes_open)
		cr_assert(model_step(bed.model));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* An endpoint that takes no tagged messages refuses them, whatever else it takes. */
Test(sim_tags, refused_without_the_capability)
{
	struct party_config config = { .caps = EP_SEND | EP_RECV | EP_TSEND | EP_SOURCE };
	struct bed bed;
	struct job *job;

	bed_open(&bed, 44, 2, NULL, &config);
	for (int i = 0; i < 2; i++) {
		job = job_message(bed.party[0], bed.party[1], i ? 40000 : 40, POST_COMPLETE, 1);
		job_tag(job, 1);
		job->may.good = false;
		job_may(job, REFUSAL_CAPABILITY);
		cr_assert(!job_post(job));
	}
	cr_assert(!job_post(job_message(bed.party[0], bed.party[1], 40, POST_COMPLETE, 1)));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* --- a program that peeks: its completions are read here, the model sees none of them --- */

static struct cq_error ask(struct party *party, uint32_t flags, uint64_t tag, void *context)
{
	static uint8_t into[40000];
	struct iovec iov = { into, sizeof(into) };
	struct recv_post post = {
		.iov = &iov,
		.iov_count = flags & (POST_PEEK | POST_DISCARD) ? 0 : 1,
		.source = AV_NONE,
		.tag = tag,
		.flags = POST_TAGGED | POST_COMPLETE | flags,
		.context = context,
		.cq_flags = CQ_F_RECV | CQ_F_TAGGED,
	};
	struct cq_error error = { .err = 0 };
	ssize_t got = -EAGAIN;

	cr_assert(!ep_recv(party->ep, &post));
	for (int i = 0; i < 1000000 && got == -EAGAIN; i++) {
		model_step(party->model);
		got = cq_take(party->rx, &error.c, 1);
	}
	cr_assert(got == 1 || cq_take_error(party->rx, &error) == 1, "no answer");
	cr_assert(error.c.context == context);
	return error;
}

/* The payload of a claimed message stays at its sender, which dies: the claiming receive fails. */
Test(sim_tags, claimed_from_the_dead)
{
	int context[3];
	struct bed bed;

	bed_open(&bed, 45, 2, NULL, NULL);
	bed.party[1]->deaf = true;
	for (uint64_t i = 0; i < 3; i++)
		send_tagged(bed.party[0], bed.party[1], i ? 100000 : 100, i);
	model_pass(bed.model, HOLD_NS);
	for (uint64_t i = 0; i < 3; i++)
		cr_assert_eq(ask(bed.party[1], POST_PEEK | POST_CLAIM, i, &context[i]).c.length, i ? 100000 : 100);
	model_kill(bed.model, bed.node[0]);
	model_pass(bed.model, 60 * SIM_SECOND);
	cr_assert(!ask(bed.party[1], POST_CLAIM, 0, &context[0]).err, "its payload was here");
	cr_assert_eq(ask(bed.party[1], POST_CLAIM, 0, &context[1]).prov_errno, REFUSAL_UNREACHABLE);
	cr_assert(!ask(bed.party[1], POST_CLAIM | POST_DISCARD, 0, &context[2]).err);
	cr_assert_eq(ask(bed.party[1], POST_CLAIM, 0, &context[2]).err, ENOMSG);
	bed_close(&bed);
}

/* Party 1 has heard of a long message of party 0's, which falls asleep, and has an op of its own under way with it. */
static void open_unanswered(struct bed *bed, uint64_t seed)
{
	struct region *region;
	int context;

	bed_open(bed, seed, 2, NULL, NULL);
	region = region_open(bed->party[0], 4096, 1, BED_BOTH, false, 0);
	bed->party[1]->deaf = true;
	send_tagged(bed->party[0], bed->party[1], 100000, 0);
	model_pass(bed->model, HOLD_NS);
	cr_assert_eq(ask(bed->party[1], POST_PEEK, 0, &context).c.length, 100000);
	bed->node[0]->asleep = true;
	cr_assert(!job_post(job_rma(bed->party[1], region, OP_WRITE, 0, 100, POST_COMPLETE, 1)));
}

static void ask_and_answer(struct bed *bed, uint32_t flags)
{
	struct recv_post post = { .source = AV_NONE, .flags = POST_TAGGED | POST_COMPLETE | flags };

	cr_assert(!ep_recv(bed->party[1]->ep, &post));
}

/* The op fails, as the session has ended. */
static void close_unanswered(struct bed *bed, enum refusal_cause cause)
{
	struct cq_error error;

	cr_assert_eq(cq_take_error(bed->party[1]->tx, &error), 1);
	cr_assert_eq(error.prov_errno, (int)cause, "%s", error.text);
	bed->node[0]->asleep = false;
	bed_close(bed);
}

/* That a message was discarded, or taken by a receive of no bytes, cannot be said for want of memory: the session ends, and ops
 * fail for that and no other reason. */
Test(sim_tags, no_memory_to_answer)
{
	static const uint32_t ways[] = { POST_PEEK | POST_DISCARD, 0 };

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct bed bed;

		open_unanswered(&bed, 47 + i);
		bed.world->weather.scarce_permille = 1000;
		bed.world->weather.scarce_left = 1;
		scarce_begin(bed.world);
		ask_and_answer(&bed, ways[i]);
		scarce_end();
		cr_assert_eq(bed.world->weather.scarce_left, 0);
		bed.world->weather.scarce_permille = 0;
		close_unanswered(&bed, REFUSAL_NO_SESSION);
	}
}

/* Nor can it where the peer has acknowledged no verdict for as long as they are kept: it broke the protocol. */
Test(sim_tags, no_room_to_answer)
{
	struct bed bed;

	open_unanswered(&bed, 49);
	party_session(bed.party[1], bed.party[0])->rsp.verdict_count = LIMIT_VERDICTS;
	ask_and_answer(&bed, POST_PEEK | POST_DISCARD);
	close_unanswered(&bed, REFUSAL_PROTOCOL);
}

/* A cut anywhere: what was discarded or claimed stays so, each sender's op completes once. */
static void peek_through_cuts(uint8_t dir, uint64_t at)
{
	struct nic_config config = { .eager = 300, .unexpected_bytes = 600 };
	int context;
	struct bed bed;

	bed_open(&bed, 46, 2, &config, NULL);
	bed.party[1]->deaf = true;
	world_fault(bed.world, FAULT_CUT, 0, dir, at);
	for (uint64_t i = 0; i < 8; i++) /* kept, parked, and by rendezvous */
		send_tagged(bed.party[0], bed.party[1], i % 4 == 3 ? 900 : 250, i / 4);
	model_pass(bed.model, SIM_SECOND);
	for (uint64_t i = 0; i < 4; i++)
		cr_assert_eq(ask(bed.party[1], POST_PEEK | POST_DISCARD, 0, &context).c.length, i == 3 ? 900 : 250);
	for (uint64_t i = 0; i < 4; i++)
		cr_assert(!ask(bed.party[1], POST_PEEK | POST_CLAIM, 1, &context).err);
	model_pass(bed.model, HOLD_NS);
	cr_assert_eq(ask(bed.party[1], POST_PEEK, 1, &context).err, ENOMSG);
	for (uint64_t i = 0; i < 4; i++)
		cr_assert_eq(ask(bed.party[1], POST_CLAIM, 0, &context).c.length, i == 3 ? 900 : 250);
	cr_assert_eq(ask(bed.party[1], POST_CLAIM, 0, &context).err, ENOMSG);
	model_finish(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

Test(sim_tags, peeks_through_cuts)
{
	for (uint64_t at = 0; at < 4000; at += 7) {
		peek_through_cuts(0, at);
		peek_through_cuts(1, at / 4);
	}
}
