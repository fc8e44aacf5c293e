/* SPDX-License-Identifier: BSD-2-Clause */
/* cut.c - the same script again and again, with its connection cut after every single byte of either direction.
 *
 * The script makes every kind of frame there is. Wherever the cut falls, every op must still end once and well, every message
 * arrive once and in order, memory be right. Which frame a cut falls into is taken from the script's run without
 * cuts: a run is the same up to its cut. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/harness/bed.h"

enum { SMALL_EAGER = 300, SMALL_KEPT = 600, SMALL_ENVELOPES = 3, STAGE_NS = 3000000, PART_BYTES = 70000 };

static const struct nic_config small_config = {
	.eager = SMALL_EAGER,
	.unexpected_bytes = SMALL_KEPT,
	.envelopes = SMALL_ENVELOPES,
};

static void post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
}

static void one_sided(struct party *a, struct region *theirs)
{
	post(job_rma(a, theirs, OP_WRITE, 0, 40, POST_COMPLETE, 1));
	post(job_rma(a, theirs, OP_READ, 64, 40, POST_COMPLETE, 1));
	post(job_refused(a, theirs->owner, OP_WRITE, theirs->key, 4090, 10, REFUSAL_RANGE));
	post(job_rma(a, theirs, OP_WRITE, 128, 30, POST_COMPLETE | POST_CQ_DATA, 1));
	post(job_refused(a, theirs->owner, OP_READ, theirs->key + 1, 0, 10, REFUSAL_UNKNOWN_KEY));
	post(job_rma(a, theirs, OP_WRITE, 192, 20, POST_COMPLETE | POST_FENCE, 2));
	post(job_rma(a, theirs, OP_READ, 256, 0, POST_COMPLETE, 1));
}

/* More messages than the receiver will keep, of which some are too long to be sent without being asked for. */
static void unexpected(struct party *a, struct party *b)
{
	post(job_message(a, b, 250, POST_COMPLETE, 1));
	post(job_message(a, b, 290, POST_COMPLETE, 1));
	post(job_message(a, b, 200, POST_COMPLETE | POST_CQ_DATA, 1));
	post(job_message(a, b, 20, POST_COMPLETE | POST_INJECT, 1));
	post(job_message(a, b, 900, POST_COMPLETE, 2));
}

/* Every kind of frame but a WRITE of several segments, both ways. */
static void small_script(struct bed *bed, struct region *region[2])
{
	struct party *a = bed->party[0], *b = bed->party[1];
	struct job *late;

	intake_post(b, 400, 1, NULL);
	post(job_message(a, b, 24, POST_COMPLETE, 1));
	one_sided(a, region[1]);
	model_pass(bed->model, STAGE_NS);
	one_sided(b, region[0]);
	unexpected(a, b);
	unexpected(b, a);
	model_pass(bed->model, STAGE_NS);
	model_end(bed->model, BED_LIMIT_NS);
	party_close(b);
	late = job_rma(a, region[1], OP_WRITE, 320, 8, POST_COMPLETE, 1);
	late->may.good = false;
	job_may(late, REFUSAL_PEER_GONE);
	post(late);
	model_finish(bed->model, SIM_SECOND);
}

/* Messages of several segments, both ways and both sorts. */
static void part_script(struct bed *bed, struct region *region[2])
{
	post(job_rma(bed->party[0], region[1], OP_WRITE, 0, PART_BYTES, POST_COMPLETE | POST_CQ_DATA, 2));
	post(job_rma(bed->party[0], region[1], OP_READ, PART_BYTES + 64, PART_BYTES, POST_COMPLETE, 1));
	post(job_message(bed->party[0], bed->party[1], PART_BYTES, POST_COMPLETE, 1));
	model_end(bed->model, BED_LIMIT_NS);
}

/* WRITEs that are durable before they are answered, whole and of several segments, with ops behind them that are not.
 * Flushes end while nothing else goes on, so that their verdicts come alone. */
static void commit_script(struct bed *bed, struct region *region[2])
{
	struct party *a = bed->party[0], *b = bed->party[1];

	post(job_rma(a, region[1], OP_WRITE, 0, 40, POST_COMPLETE | POST_COMMIT, 1));
	post(job_rma(a, region[1], OP_WRITE, 64, 40, POST_COMPLETE, 1));
	model_pass(bed->model, STAGE_NS);
	post(job_rma(a, region[1], OP_WRITE, 128, PART_BYTES, POST_COMPLETE | POST_COMMIT | POST_CQ_DATA, 1));
	post(job_rma(a, region[1], OP_WRITE, PART_BYTES + 1024, 0, POST_COMPLETE | POST_COMMIT, 1));
	post(job_rma(b, region[0], OP_WRITE, 0, 30, POST_COMPLETE | POST_COMMIT, 1));
	post(job_rma(a, region[1], OP_WRITE, PART_BYTES + 2048, 50, POST_COMPLETE | POST_COMMIT | POST_FENCE, 1));
	model_end(bed->model, BED_LIMIT_NS);
}

static void only_good(struct job *job)
{
	cr_assert(job);
	job->may = (struct outcomes){ .good = true };
	cr_assert(!job_post(job));
}

/* Regions of single use: the op that has one gets it back after a cut, even if none of it had arrived whole; no other
 * op does. */
static void single_script(struct bed *bed, struct region *region[2])
{
	struct party *a = bed->party[0];
	struct region *single[3];

	(void)region;
	for (int i = 0; i < 3; i++) {
		single[i] = region_open(bed->party[1], PART_BYTES, 1, BED_BOTH, false, 0);
		region_make_single(single[i]);
	}
	only_good(job_rma(a, single[0], OP_WRITE, 0, 40, POST_COMPLETE, 1));
	only_good(job_rma(a, single[1], OP_WRITE, 0, PART_BYTES, POST_COMPLETE | POST_CQ_DATA, 2));
	only_good(job_rma(a, single[2], OP_READ, 0, PART_BYTES, POST_COMPLETE, 1));
	model_end(bed->model, BED_LIMIT_NS);
	for (int i = 0; i < 3; i++)
		post(job_rma(a, single[i], i ? OP_READ : OP_WRITE, 0, 8, POST_COMPLETE, 1));
	model_end(bed->model, BED_LIMIT_NS);
}

/* Executed once, however often they are cut: a sum shows each time that it is made. */
static void atomic_script(struct bed *bed, struct region *region[2])
{
	struct party *a = bed->party[0], *b = bed->party[1];

	for (int which = 0; which < JOB_ATOMICS; which++)
		only_good(job_atomic(a, region[1], (enum job_atomic)which, (uint64_t)which * 64, 24, POST_COMPLETE, 1));
	model_pass(bed->model, STAGE_NS);
	for (int which = 0; which < JOB_ATOMICS; which++) {
		only_good(
			job_atomic(b, region[0], (enum job_atomic)which, (uint64_t)which * 64, 8, POST_COMPLETE | POST_CQ_DATA, 1));
		only_good(job_atomic(a, region[1], (enum job_atomic)which, (uint64_t)which * 64 + 512, 16,
				     POST_COMPLETE | POST_COMMIT, 1));
	}
	only_good(job_atomic(a, region[1], JOB_SWAP, 1024, 400, POST_COMPLETE | POST_FENCE, 2));
	only_good(job_rma(a, region[1], OP_WRITE, 2048, 40, POST_COMPLETE, 1));
	model_end(bed->model, BED_LIMIT_NS);
}

static void tagged(struct party *from, struct party *to, uint64_t length, uint64_t tag, uint32_t flags)
{
	struct job *job = job_message(from, to, length, POST_COMPLETE | flags, 1);

	job_tag(job, tag);
	post(job);
}

/* Tagged messages that are expected and not, kept, parked, pulled and held back, in another order than they are asked
 * for. */
static void tag_script(struct bed *bed, struct region *region[2])
{
	struct party *a = bed->party[0], *b = bed->party[1];

	(void)region;
	intake_post_tagged(b, 1000, 1, a, 7, 0);
	intake_post_tagged(b, 1000, 2, NULL, 8, 1);
	tagged(a, b, 40, 9, 0);
	tagged(a, b, 280, 7, POST_CQ_DATA);
	model_pass(bed->model, STAGE_NS);
	tagged(a, b, 290, 1, 0);
	tagged(a, b, 280, 2, 0);
	tagged(a, b, 270, 1, 0);
	tagged(a, b, 900, 3, 0);
	post(job_message(a, b, 30, POST_COMPLETE, 1));
	tagged(b, a, 900, 1ull << 63, POST_FENCE);
	model_pass(bed->model, STAGE_NS);
	intake_post_tagged(b, 1000, 1, NULL, 3, 0);
	intake_post_tagged(b, 1000, 1, a, 2, 0);
	model_pass(bed->model, STAGE_NS);
	model_end(bed->model, BED_LIMIT_NS);
}

/* The receiver of the message may change the bytes that were to be read before it: by then the reader has them all. */
static void order_script(struct bed *bed, struct region *region[2])
{
	struct party *a = bed->party[0], *b = bed->party[1];
	struct intake *intake = intake_post(b, 400, 1, NULL);
	struct job *reads[] = {
		job_rma(a, region[1], OP_READ, 0, PART_BYTES, POST_COMPLETE, 1),
		job_rma(a, region[1], OP_READ, PART_BYTES + 64, 40, POST_COMPLETE, 1),
	};

	post(reads[0]);
	post(reads[1]);
	post(job_message(a, b, 24, POST_COMPLETE, 1));
	while (!intake->done)
		model_step(bed->model);
	model_read(a);
	WORLD_CHECK(bed->world, reads[0]->done && reads[1]->done, "a message has overtaken a READ (send after read)");
	model_end(bed->model, BED_LIMIT_NS);
}

/* Both ways, so that each has to go on whichever side dials. */
static void greeting_script(struct bed *bed, struct region *region[2])
{
	for (int i = 0; i < 2; i++) {
		only_good(job_rma(bed->party[i], region[!i], OP_WRITE, 0, 40, POST_COMPLETE, 1));
		only_good(job_atomic(bed->party[i], region[!i], JOB_FETCH_SUM, 64, 8, POST_COMPLETE, 1));
		only_good(job_message(bed->party[i], bed->party[!i], 40, POST_COMPLETE, 1));
		model_pass(bed->model, STAGE_NS);
	}
	model_end(bed->model, BED_LIMIT_NS);
}

/* Messages and writes that take receives, in one segment and in several, some of which wait for theirs; and what comes behind. */
static void queue_script(struct bed *bed, struct region *region[2])
{
	struct party *a = bed->party[0], *b = bed->party[1];

	intake_post(b, PART_BYTES, 2, NULL);
	intake_post(b, PART_BYTES, 1, NULL);
	only_good(job_message(a, b, PART_BYTES, POST_COMPLETE | POST_SOLICITED, 2));
	only_good(job_rma(a, region[1], OP_WRITE, 0, PART_BYTES, POST_COMPLETE | POST_CQ_DATA, 1));
	only_good(job_rma(a, region[1], OP_WRITE, PART_BYTES + 1024, 40, POST_COMPLETE, 1));
	only_good(job_message(a, b, 30, POST_COMPLETE, 1));
	only_good(job_rma(a, region[1], OP_WRITE, PART_BYTES + 2048, 40, POST_COMPLETE | POST_CQ_DATA | POST_SOLICITED, 1));
	only_good(job_message(a, b, PART_BYTES, POST_COMPLETE | POST_CQ_DATA, 1));
	model_pass(bed->model, STAGE_NS);
	only_good(job_message(b, a, 40, POST_COMPLETE, 1));
	model_pass(bed->model, STAGE_NS);
	WORLD_CHECK(bed->world, bed->model->open == 4, "%u ops wait for receives", (unsigned)bed->model->open);
	model_end(bed->model, BED_LIMIT_NS);
}

struct script {
	const struct nic_config *config;
	uint64_t region_bytes;
	uint32_t chunk_max;
	void (*run)(struct bed *bed, struct region *region[2]);
	uint32_t order;
	uint32_t rules;
};

static const struct script small = { &small_config, 4096, 700, small_script, 0, 0 };
static const struct nic_config parts_config = { .segment = WIRE_SEGMENT_MIN };
static const struct script parts = { &parts_config, 2 * PART_BYTES + 64, 0, part_script, 0, 0 };

static const struct script commits = { &parts_config, 2 * PART_BYTES, 0, commit_script, 0, 0 };

static const struct script singles = { &parts_config, 64, 0, single_script, 0, 0 };

static const struct script atomics = { &parts_config, 4096, 0, atomic_script, 0, 0 };

static const struct script send_after_read = { &parts_config, 2 * PART_BYTES, 0, order_script, EP_ORDER_SAR, 0 };

static const struct script tags = { &small_config, 64, 700, tag_script, 0, 0 };

static const struct script queues = { &parts_config, 2 * PART_BYTES, 0, queue_script,
				      .rules = EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES };

static const struct nic_config secret_config = { .secret = "a secret of 16 B", .secret_length = 16 };
static const struct script secrets = { &secret_config, 4096, 0, greeting_script, 0, 0 };

static void script_open(struct bed *bed, const struct script *script, struct region *region[2], uint64_t seed)
{
	bed_open(bed, seed, 2, script->config, &(struct party_config){ .order = script->order, .rules = script->rules });
	bed->world->weather.chunk_max = script->chunk_max;
	bed->model->counts_exact = false; /* reads are executed again */
	for (int i = 0; i < 2; i++)
		region[i] = region_open(bed->party[i], script->region_bytes, 1, BED_BOTH, false, 0);
}

/* Where the frames of cable 0 lie, in the run that nothing disturbs. */
struct map {
	struct tap_frame *frame;
	uint32_t frames;
	uint64_t total;
};

static void map_open(struct map map[2], const struct script *script, uint64_t seed)
{
	struct region *region[2];
	struct bed bed;

	script_open(&bed, script, region, seed);
	script->run(&bed, region);
	for (uint8_t dir = 0; dir < 2; dir++) {
		const struct tap *tap = tap_find(bed.world, 0, dir);

		cr_assert(tap);
		map[dir].frames = tap->frames;
		map[dir].total = tap->offset;
		map[dir].frame = malloc(tap->frames * sizeof(*tap->frame));
		memcpy(map[dir].frame, tap->frame, tap->frames * sizeof(*tap->frame));
	}
	bed_close(&bed);
}

static const struct tap_frame *frame_at(const struct map *map, uint64_t at)
{
	for (uint32_t i = 0; i < map->frames; i++)
		if (at >= map->frame[i].offset && at - map->frame[i].offset < map->frame[i].length)
			return &map->frame[i];
	return NULL;
}

/* A run with one cut, or with a second one in the connection that follows (NO_CUT: none). */
#define NO_CUT UINT64_MAX
static bool run_cut(const struct script *script, uint64_t seed, uint8_t dir, uint64_t at, uint8_t next_dir, uint64_t next_at)
{
	struct region *region[2];
	struct bed bed;
	bool spent;

	script_open(&bed, script, region, seed);
	world_fault(bed.world, FAULT_CUT, 0, dir, at);
	if (next_at != NO_CUT)
		world_fault(bed.world, FAULT_CUT, 1, next_dir, next_at);
	script->run(&bed, region);
	WORLD_CHECK(bed.world, bed.world->fault[0].spent, "the cut did not happen");
	spent = next_at != NO_CUT && bed.world->fault[1].spent;
	bed_close(&bed);
	return spent;
}

/* Cuts at every byte of a direction and says how often each kind of frame was cut. */
static void cut_everywhere(uint8_t dir, const bool must[TAP_KINDS])
{
	uint32_t cuts[TAP_KINDS] = { 0 };
	struct map map[2];
	uint64_t seed = 100 + dir;

	map_open(map, &small, seed);
	for (uint64_t at = 0; at <= map[dir].total; at++) {
		const struct tap_frame *frame = frame_at(&map[dir], at);

		run_cut(&small, seed, dir, at, 0, NO_CUT);
		if (frame)
			cuts[frame->kind]++;
	}
	for (int kind = 0; kind < TAP_KINDS; kind++) {
		if (cuts[kind])
			fprintf(stderr, "direction %u: %u cuts in %s\n", dir, cuts[kind], tap_kind_name((enum tap_kind)kind));
		cr_assert(!must[kind] || cuts[kind] >= sizeof(struct wire_head) + 8, "%s was not cut", tap_kind_name(kind));
	}
	free(map[0].frame);
	free(map[1].frame);
}

/* WIRE-52, WIRE-53, WIRE-66 */
Test(sim_cut, every_byte_from_the_dialler)
{
	static const bool must[TAP_KINDS] = {
		[TAP_HELLO] = true, [TAP_ACK] = true,  [TAP_WRITE] = true, [TAP_READ] = true, [TAP_SEND] = true, [TAP_RTS] = true,
		[TAP_DATA] = true,  [TAP_PULL] = true, [TAP_RNR] = true,   [TAP_NAK] = true,  [TAP_PARK] = true, [TAP_DONE] = true,
	};

	cut_everywhere(0, must);
}

Test(sim_cut, every_byte_from_the_accepter)
{
	static const bool must[TAP_KINDS] = {
		[TAP_HELLO] = true, [TAP_BYE] = true,  [TAP_ACK] = true,  [TAP_WRITE] = true, [TAP_READ] = true,
		[TAP_SEND] = true,  [TAP_RTS] = true,  [TAP_DATA] = true, [TAP_PULL] = true,  [TAP_RNR] = true,
		[TAP_NAK] = true,   [TAP_PARK] = true, [TAP_DONE] = true,
	};

	cut_everywhere(1, must);
}

/* Of long payloads the ends, and places in between; of all else every byte. */
static bool worth_a_cut(const struct tap_frame *frame, uint64_t at)
{
	uint64_t in = frame ? at - frame->offset : 0, head;

	if (!frame || !frame->payload)
		return true;
	head = frame->length - frame->payload - sizeof(struct wire_trailer);
	return in < head + 3 || in + 3 >= head + frame->payload || at % 4999 == 0;
}

static void cut_where_it_matters(const struct script *script, uint64_t seed, uint32_t cuts[TAP_KINDS])
{
	struct map map[2];

	map_open(map, script, seed);
	for (uint8_t dir = 0; dir < 2; dir++)
		for (uint64_t at = 0; at <= map[dir].total; at++) {
			const struct tap_frame *frame = frame_at(&map[dir], at);

			if (!worth_a_cut(frame, at))
				continue;
			run_cut(script, seed, dir, at, 0, NO_CUT);
			if (frame)
				cuts[frame->kind]++;
		}
	free(map[0].frame);
	free(map[1].frame);
}

enum { PART_FRAME = sizeof(struct wire_head) + sizeof(struct wire_write) + sizeof(struct wire_trailer) };

Test(sim_cut, messages_of_several_segments)
{
	uint32_t cuts[TAP_KINDS] = { 0 };

	cut_where_it_matters(&parts, 102, cuts);
	cr_assert_geq(cuts[TAP_WRITE_PART], 2 * PART_FRAME);
}

/* WIRE-66, WIRE-149: whatever is cut, each receive is taken once, in order. */
Test(sim_cut, messages_that_take_receives)
{
	uint32_t cuts[TAP_KINDS] = { 0 };

	cut_where_it_matters(&queues, 108, cuts);
	cr_assert_geq(cuts[TAP_RSEND], 2 * PART_FRAME);
	cr_assert_geq(cuts[TAP_RSEND_PART], 2 * PART_FRAME);
	cr_assert_geq(cuts[TAP_WRITE_PART], 2 * PART_FRAME);
	cr_assert_gt(cuts[TAP_RNR], 0);
}

/* S133: never two answers, and never none. */
Test(sim_cut, durable_writes)
{
	uint32_t cuts[TAP_KINDS] = { 0 };

	cut_where_it_matters(&commits, 104, cuts);
	cr_assert_geq(cuts[TAP_WRITE_PART], 2 * PART_FRAME);
	cr_assert_geq(cuts[TAP_DONE], 4 * (sizeof(struct wire_head) + sizeof(struct wire_verdict)));
}

/* WIRE-51. */
Test(sim_cut, atomics)
{
	uint32_t cuts[TAP_KINDS] = { 0 };

	cut_where_it_matters(&atomics, 106, cuts);
	cr_assert_geq(cuts[TAP_ATOMIC], 16 * (sizeof(struct wire_head) + sizeof(struct wire_atomic)));
	cr_assert_geq(cuts[TAP_RESULT], 13 * (sizeof(struct wire_head) + sizeof(struct wire_verdict) + 8));
}

Test(sim_cut, messages_behind_reads)
{
	uint32_t cuts[TAP_KINDS] = { 0 };

	cut_where_it_matters(&send_after_read, 107, cuts);
	cr_assert_geq(cuts[TAP_READ], 2 * (sizeof(struct wire_head) + sizeof(struct wire_read)));
	cr_assert_geq(cuts[TAP_DATA], 3 * (sizeof(struct wire_head) + sizeof(struct wire_data)));
}

/* S130: the op that has the region keeps it, and no other gets it. */
Test(sim_cut, regions_of_single_use)
{
	uint32_t cuts[TAP_KINDS] = { 0 };

	cut_where_it_matters(&singles, 105, cuts);
	cr_assert_geq(cuts[TAP_WRITE_PART], 2 * PART_FRAME);
	cr_assert_geq(cuts[TAP_DATA], PART_FRAME);
}

Test(sim_cut, tagged_messages)
{
	uint32_t cuts[TAP_KINDS] = { 0 };

	cut_where_it_matters(&tags, 106, cuts);
	cr_assert_geq(cuts[TAP_SEND], 4 * PART_FRAME);
	cr_assert_geq(cuts[TAP_RTS], 2 * (sizeof(struct wire_head) + sizeof(struct wire_send)));
	cr_assert(cuts[TAP_PULL] && cuts[TAP_PARK] && cuts[TAP_RNR] && cuts[TAP_DONE] && cuts[TAP_DATA]);
}

enum {
	HELLO = sizeof(struct wire_head) + sizeof(struct wire_hello),
	CHALLENGE = sizeof(struct wire_head) + sizeof(struct wire_challenge),
	PROOF = sizeof(struct wire_head) + sizeof(struct wire_proof)
};

/* WIRE-102: whatever of the greeting is cut, and of that of the connection that resumes. */
Test(sim_cut, proofs_of_a_secret)
{
	uint32_t cuts[TAP_KINDS] = { 0 }, twice = 0;
	struct map map[2];

	cut_where_it_matters(&secrets, 107, cuts);
	cr_assert_eq(cuts[TAP_CHALLENGE], 2 * CHALLENGE);
	cr_assert_eq(cuts[TAP_PROOF], 2 * PROOF);
	map_open(map, &secrets, 107);
	for (uint64_t next = 0; next < 2 * (HELLO + CHALLENGE + PROOF); next++) {
		uint8_t dir = next % 3 & 1;

		twice += run_cut(&secrets, 107, dir, map[dir].total - 1 - next % 200, next & 1, next / 2);
	}
	cr_assert_geq(twice, 300);
	free(map[0].frame);
	free(map[1].frame);
}

/* A first cut anywhere, and a second at every byte of what the resumed connection begins with; some runs end before either. */
Test(sim_cut, resuming_is_cut_again)
{
	enum { TWICE = 600, RUNS = 3000 };
	struct map map[2];
	struct rnd rnd = { 103 };
	uint32_t twice = 0;
	uint64_t next;

	map_open(map, &small, 103);
	for (next = 0; twice < TWICE && next < RUNS; next++) {
		uint8_t dir = (uint8_t)rnd_below(&rnd, 2);

		twice += run_cut(&small, 103, dir, rnd_below(&rnd, map[dir].total / 2), next & 1, next / 2);
	}
	fprintf(stderr, "%u of %llu runs were cut twice\n", twice, (unsigned long long)next);
	cr_assert_eq(twice, TWICE);
	free(map[0].frame);
	free(map[1].frame);
}
