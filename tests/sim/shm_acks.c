/* SPDX-License-Identifier: BSD-2-Clause */
/* shm_acks.c - acknowledgements that go beside the stream (WIRE-39): which do, what they must not overtake, and what is not
 * believed. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/transport/session.h"
#include "tests/sim/harness/words.h"

enum { SHORT_NS = SIM_SECOND / 100, HELLO_BYTES = sizeof(struct wire_head) + sizeof(struct wire_hello) };

struct pair {
	struct bed bed;
	struct party *a, *b;
	struct region *region; /* of b's */
	uint32_t acks;         /* frames that do nothing but acknowledge, so far */
	uint64_t notes;        /* b's, so far */
};

static struct job *post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
	return job;
}

/* Connected, and nothing is owed. b does nothing but where the test says so; a looks for notes. */
static void pair_open(struct pair *pair, const struct nic_config *config)
{
	static const struct party_config usual;
	const struct nic_config *configs[] = { NULL, config };

	pair->bed = (struct bed){ .world = world_open(world_seed(71)) };
	pair->bed.model = model_open(pair->bed.world);
	pair->bed.world->tapped = true;
	for (int i = 0; i < 2; i++) {
		pair->bed.node[i] = node_open(pair->bed.world, configs[i]);
		pair->bed.party[i] = party_open(pair->bed.model, pair->bed.node[i], &usual);
	}
	bed_meet(&pair->bed);
	pair->bed.world->weather.notes = true;
	pair->a = pair->bed.party[0];
	pair->b = pair->bed.party[1];
	pair->region = region_open(pair->b, ACK_BYTES, 1, BED_BOTH, false, 0);
	post(job_message(pair->a, pair->b, 8, POST_COMPLETE, 1));
	post(job_message(pair->b, pair->a, 8, POST_COMPLETE, 1));
	model_end(pair->bed.model, BED_LIMIT_NS);
	model_pass(pair->bed.model, SHORT_NS);
	pair->b->node->asleep = true;
	node_look(pair->a->node, true);
	pair->acks = tap_count(pair->bed.world, TAP_ACK);
	pair->notes = pair->b->node->notes;
}

/* All that is under way. */
static void pair_end(struct pair *pair)
{
	pair->a->node->asleep = pair->b->node->asleep = false;
	model_end(pair->bed.model, BED_LIMIT_NS);
}

static void pair_close(struct pair *pair)
{
	pair_end(pair);
	bed_close(&pair->bed);
}

/* a's program polls, as b's; nobody's NIC thread serves. */
static bool poll(const struct party *party)
{
	return driver_run(nic_driver(party->node->nic));
}

static void arrive(struct pair *pair)
{
	pair->a->node->asleep = true;
	do {
		poll(pair->a);
		world_pass(pair->bed.world, SHORT_NS);
	} while (!poll(pair->b));
}

static void message_arrives(struct pair *pair, uint64_t length)
{
	intake_post(pair->b, length, 1, NULL);
	post(job_message(pair->a, pair->b, length, POST_COMPLETE, 1));
	arrive(pair);
}

/* The acknowledgements that b has stored since, and the frames that it has sent to acknowledge alone. */
static void expect(const struct pair *pair, uint64_t notes, uint32_t acks)
{
	cr_assert_eq(pair->b->node->notes - pair->notes, notes);
	cr_assert_eq(tap_count(pair->bed.world, TAP_ACK) - pair->acks, acks);
}

static void settle(const struct party *party)
{
	node_enter(party->node);
	nic_flush_acks(party->node->nic);
	node_leave(party->node);
}

/* Its sender could not inject it, and most likely waits. */
Test(sim_shm_acks, of_a_long_message_at_once)
{
	struct pair pair;
	struct completion c;

	pair_open(&pair, NULL);
	message_arrives(&pair, LIMIT_INJECT);
	expect(&pair, 0, 0); /* an answer may come */
	message_arrives(&pair, LIMIT_INJECT + 1);
	expect(&pair, 1, 0);
	cr_assert_eq(cq_take(pair.a->tx, &c, 1), -EAGAIN);
	cr_assert(poll(pair.a));
	model_read(pair.a);
	cr_assert_eq(pair.bed.model->open, 0, "both are done");
	pair_close(&pair);
}

Test(sim_shm_acks, of_what_is_settled)
{
	struct pair pair;

	pair_open(&pair, NULL);
	message_arrives(&pair, 8);
	settle(pair.b);
	settle(pair.b);
	expect(&pair, 1, 0);
	pair_close(&pair);
}

/* An answer would carry the acknowledgement, so one is waited for where there was one. */
Test(sim_shm_acks, at_once_where_nobody_answers)
{
	struct pair pair;

	pair_open(&pair, NULL);
	message_arrives(&pair, 8);
	settle(pair.b);
	expect(&pair, 1, 0);
	message_arrives(&pair, 8);
	expect(&pair, 2, 0);
	intake_post(pair.a, 8, 1, NULL);
	post(job_message(pair.b, pair.a, 8, POST_COMPLETE, 1));
	poll(pair.b);
	message_arrives(&pair, 8);
	expect(&pair, 2, 0);
	pair_close(&pair);
}

Test(sim_shm_acks, of_many_writes_in_between)
{
	struct pair pair;

	pair_open(&pair, NULL);
	for (int i = 0; i < 2 * ACK_STORED; i++)
		post(job_rma(pair.a, pair.region, OP_WRITE, (uint64_t)i * REGION_GRAIN, 8, POST_COMPLETE, 1));
	arrive(&pair);
	expect(&pair, 2, 0);
	pair_close(&pair);
}

/* Nothing else goes from b to a. */
Test(sim_shm_acks, free_the_window)
{
	struct pair pair;
	uint32_t cables;

	pair_open(&pair, NULL);
	cables = pair.bed.world->cables_made;
	for (int i = 0; i <= LIMIT_REQUESTS; i++) {
		message_arrives(&pair, LIMIT_INJECT + 1);
		poll(pair.a);
		model_read(pair.a);
	}
	expect(&pair, LIMIT_REQUESTS + 1, 0);
	cr_assert_eq(pair.bed.world->cables_made, cables, "a breach");
	pair_close(&pair);
}

/* A refusal for which there is no memory ends the connection: its request is not to pass for a good one. */
Test(sim_shm_acks, not_of_what_was_lost)
{
	struct region *gone;
	struct pair pair;
	struct job *refused;

	pair_open(&pair, NULL);
	model_scarce(pair.bed.model);
	gone = region_open(pair.b, 64, 1, BED_BOTH, false, 0);
	for (int i = 1; i < ACK_STORED; i++)
		post(job_rma(pair.a, pair.region, OP_WRITE, (uint64_t)i * REGION_GRAIN, 8, POST_COMPLETE, 1));
	refused = post(job_rma(pair.a, gone, OP_WRITE, 0, 8, POST_COMPLETE, 1));
	region_end(gone);
	pair.a->node->asleep = true;
	poll(pair.a);
	world_pass(pair.bed.world, SHORT_NS);
	pair.bed.world->weather.scarce_permille = 1000;
	pair.bed.world->weather.scarce_left = 1;
	while (node_run(pair.b->node))
		;
	cr_assert_eq(pair.bed.world->refused_memory, 1);
	cr_assert_eq(pair.b->node->notes, pair.notes);
	pair_end(&pair);
	cr_assert(refused->failed);
	pair_close(&pair);
}

Test(sim_shm_acks, for_nobody_who_does_not_look)
{
	struct pair pair;

	pair_open(&pair, NULL);
	node_look(pair.a->node, false);
	message_arrives(&pair, LIMIT_INJECT + 1);
	settle(pair.b);
	expect(&pair, 0, 1);
	pair_close(&pair);
}

/* A device that stops polling takes the acknowledgements stored until then. */
Test(sim_shm_acks, before_a_sleep)
{
	struct pair pair;

	pair_open(&pair, NULL);
	message_arrives(&pair, LIMIT_INJECT + 1);
	node_look(pair.a->node, false);
	model_read(pair.a);
	cr_assert_eq(pair.bed.model->open, 0);
	pair_close(&pair);
}

/* A verdict that the initiator may not have read yet: told that all is well it would believe that. */
Test(sim_shm_acks, overtake_no_verdict)
{
	struct pair pair;
	struct job *refused;

	pair_open(&pair, NULL);
	refused = post(job_rma(pair.a, pair.region, OP_WRITE, 0, 8, POST_COMPLETE, 1));
	region_end(pair.region);
	arrive(&pair);
	message_arrives(&pair, LIMIT_INJECT + 1);
	settle(pair.b);
	cr_assert_eq(pair.b->node->notes, pair.notes);
	for (int i = 0; i < 2; i++) {
		world_pass(pair.bed.world, SHORT_NS);
		poll(pair.a);
		settle(pair.a);
		world_pass(pair.bed.world, SHORT_NS);
		poll(pair.b);
	}
	model_read(pair.a);
	cr_assert(refused->done && refused->failed);
	message_arrives(&pair, LIMIT_INJECT + 1);
	cr_assert_eq(pair.b->node->notes, pair.notes + 1, "this one has been heard of");
	pair_close(&pair);
}

static void b_dies(struct pair *pair)
{
	model_read(pair->b);
	model_kill(pair->bed.model, pair->b->node);
	pair->a->node->asleep = false;
	model_finish(pair->bed.model, SIM_SECOND);
}

/* The program ends with what it waited for, before anything was acknowledged (WIRE-136). */
Test(sim_shm_acks, of_a_peer_that_dies_after_the_last_word)
{
	struct job *write, *message;
	struct pair pair;

	pair_open(&pair, NULL);
	write = post(job_rma(pair.a, pair.region, OP_WRITE, 0, 8, POST_COMPLETE, 1));
	message = post(job_message(pair.a, pair.b, 8, POST_COMPLETE, 1));
	intake_post(pair.b, 8, 1, NULL);
	arrive(&pair);
	expect(&pair, 0, 0);
	cr_assert(!write->done && !message->done);
	b_dies(&pair);
	cr_assert(write->done && !write->failed && message->done && !message->failed);
	bed_close(&pair.bed);
}

/* What was refused fails, with whichever cause, and so does what may have been executed behind it. */
Test(sim_shm_acks, of_a_peer_that_dies_after_a_refusal)
{
	struct job *refused, *behind;
	struct pair pair;

	pair_open(&pair, NULL);
	refused = post(job_rma(pair.a, pair.region, OP_WRITE, 0, 8, POST_COMPLETE, 1));
	behind = post(job_message(pair.a, pair.b, 8, POST_COMPLETE, 1));
	region_end(pair.region);
	arrive(&pair);
	b_dies(&pair);
	cr_assert(refused->failed && behind->done);
	bed_close(&pair.bed);
}

/* Its rules are for what goes by the stream. */
Test(sim_shm_acks, not_with_a_fault_plan)
{
	const struct fault_plan plan = { .seed = 1 };
	struct pair pair;

	pair_open(&pair, &(struct nic_config){ .fault = &plan }); /* b's */
	node_look(pair.b->node, true);
	cr_assert_not(nic_is_polling(pair.b->node->nic));
	message_arrives(&pair, LIMIT_INJECT + 1);
	settle(pair.b);
	expect(&pair, 0, 1);
	pair_close(&pair);
}

/* A victim that has greeted the test, and whose write of 8 bytes has come to it. */
struct lie {
	struct bed bed;
	struct words words;
	struct party *victim;
	struct raw *raw;
	uint8_t bytes[8];
};

static void lie_open(struct lie *lie)
{
	struct sockaddr_storage at = { .ss_family = AF_INET };
	struct sockaddr_in *in = (struct sockaddr_in *)&at;
	struct iovec iov = { lie->bytes, sizeof(lie->bytes) };
	struct remote remote = { .length = sizeof(lie->bytes), .key = 1 };
	struct post write = {
		.kind = OP_WRITE,
		.flags = POST_COMPLETE,
		.iov = &iov,
		.iov_count = 1,
		.remote = &remote,
		.remote_count = 1,
	};
	struct wire_hello_fields fields;

	memset(lie, 0, sizeof(*lie));
	bed_open(&lie->bed, 72, 2, NULL, NULL);
	lie->victim = lie->bed.party[1];
	lie->words.bed = &lie->bed;
	in->sin_addr.s_addr = htonl(0x0a090909);
	in->sin_port = htons(100);
	cr_assert_eq(av_insert(lie->victim->av, &at, 0, &write.dest), 0);
	fields = plain_hello(&lie->words);
	lie->raw = raw_dial(lie->bed.world, party_port(lie->victim));
	say_hello(&lie->words, &fields);
	raw_send(lie->raw, lie->words.bytes, lie->words.length);
	world_pass(lie->bed.world, SHORT_NS);
	cr_assert_eq(ep_post(lie->victim->ep, &write), 0);
	world_pass(lie->bed.world, SHORT_NS);
}

static void lie_close(struct lie *lie)
{
	raw_close(lie->raw);
	world_pass(lie->bed.world, SIM_SECOND);
	bed_close(&lie->bed);
}

static void look(const struct lie *lie)
{
	node_look(lie->victim->node, true);
	poll(lie->victim);
}

Test(sim_shm_acks, are_believed_as_frames_are)
{
	struct completion c;
	struct lie lie;

	lie_open(&lie);
	raw_note(lie.raw, 1);
	look(&lie);
	cr_assert_eq(cq_take(lie.victim->tx, &c, 1), 1);
	raw_note(lie.raw, 0);
	look(&lie);
	cr_assert_not(raw_closed(lie.raw), "what is known does no harm");
	lie_close(&lie);
}

Test(sim_shm_acks, of_what_was_not_sent_are_a_breach)
{
	const struct node *node;
	struct lie lie;

	lie_open(&lie);
	node = lie.victim->node;
	raw_note(lie.raw, 2);
	look(&lie);
	world_pass(lie.bed.world, SHORT_NS);
	cr_assert(node->warns == 1 && strstr(node->log[0], "WIRE-60"), "%s", node->log[0]);
	lie_close(&lie);
}

/* The peer has left one and gone, between two polls. */
Test(sim_shm_acks, are_heard_at_the_end)
{
	struct completion c;
	struct lie lie;

	lie_open(&lie);
	lie.victim->node->asleep = true;
	node_look(lie.victim->node, false);
	raw_note(lie.raw, 1);
	raw_close(lie.raw);
	world_pass(lie.bed.world, SHORT_NS);
	poll(lie.victim);
	lie.victim->node->asleep = false;
	cr_assert_eq(cq_take(lie.victim->tx, &c, 1), 1);
	bed_close(&lie.bed);
}

Test(sim_shm_acks, before_hello_say_nothing)
{
	struct raw *raw;
	struct lie lie;

	lie_open(&lie);
	raw = raw_dial(lie.bed.world, party_port(lie.victim));
	world_pass(lie.bed.world, SHORT_NS);
	raw_note(raw, 99);
	look(&lie);
	cr_assert_not(raw_closed(raw));
	raw_close(raw);
	lie_close(&lie);
}

/* Perhaps of an endpoint that has taken its place. */
Test(sim_shm_acks, before_the_peers_hello_say_nothing)
{
	struct bed bed;
	struct raw *raw;

	bed_open(&bed, 73, 2, NULL, NULL);
	bed.party[1]->node->asleep = true;
	post(job_message(bed.party[0], bed.party[1], 8, POST_COMPLETE, 1));
	do
		world_step(bed.world);
	while (!(raw = raw_answer(bed.world, party_port(bed.party[1]))));
	raw_note(raw, 1);
	for (int i = 0; i < 10; i++) {
		node_look(bed.node[0], true);
		poll(bed.party[0]);
	}
	cr_assert_not(raw_closed(raw));
	cr_assert_eq(bed.node[0]->warns, 0, "%s", bed.node[0]->log[0]);
	raw_close(raw);
	bed.party[1]->node->asleep = false;
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}
