/* SPDX-License-Identifier: BSD-2-Clause */
/* digest.c - the three digest modes, every pair of them, and bytes that change on their way. */
#include <criterion/criterion.h>

#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/sendq.h"
#include "tests/sim/harness/scarce.h"
#include "tests/sim/harness/words.h"

static void modes(enum nic_digest one, enum nic_digest other)
{
	struct nic_config config = { .digest = one };
	struct workload load;
	struct bed bed;

	bed_open(&bed, 60 + 3 * (uint64_t)one + (uint64_t)other, 1, &config, NULL);
	config.digest = other;
	bed.node[1] = node_open(bed.world, &config);
	bed.party[1] = party_open(bed.model, bed.node[1], NULL);
	bed_meet(&bed);
	bed.world->weather.cut_mean = 30000;
	bed.world->weather.cuts_left = 10;
	bed.model->counts_exact = false;
	workload_init(&load, bed.model, 300);
	load.big_max = 300000;
	workload_run(&load, BED_LIMIT_NS);
	bed_close(&bed);
}

Test(sim_digest, every_pair_of_modes)
{
	for (int one = NIC_DIGEST_HEAD; one <= NIC_DIGEST_OFF; one++)
		for (int other = NIC_DIGEST_HEAD; other <= NIC_DIGEST_OFF; other++)
			modes((enum nic_digest)one, (enum nic_digest)other);
}

/* Goes at once up to this length, and by rendezvous beyond. */
static void at_once_up_to(uint64_t longest, enum nic_digest other)
{
	struct nic_config config = { .digest = NIC_DIGEST_HEAD };
	struct bed bed;

	bed_open(&bed, 80, 1, &config, NULL);
	config.digest = other;
	bed.node[1] = node_open(bed.world, &config);
	bed.party[1] = party_open(bed.model, bed.node[1], NULL);
	bed_meet(&bed);
	for (uint64_t beyond = 0; beyond < 2; beyond++) {
		intake_post(bed.party[1], longest + beyond, 1, NULL);
		cr_assert(!job_post(job_message(bed.party[0], bed.party[1], longest + beyond, POST_COMPLETE, 1)));
		model_finish(bed.model, BED_LIMIT_NS);
		cr_assert_eq(tap_count(bed.world, TAP_SEND), 1);
		cr_assert_eq(tap_count(bed.world, TAP_RTS), beyond);
	}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* A sender copies no more than a bound. With payload digests, which either side may ask for, it may copy everything. */
Test(sim_digest, messages_that_go_at_once)
{
	at_once_up_to(LIMIT_EAGER, NIC_DIGEST_HEAD);
	at_once_up_to(LIMIT_EAGER, NIC_DIGEST_FULL);
}

/* The cost of digests beside themselves: bytes that leave or arrive by few calls, and payload that is level with its place. */
static void few_calls(enum op_kind kind, uint32_t digested)
{
	enum { LARGE = 8 << 20 };
	struct nic_config config = { .digest = NIC_DIGEST_FULL };
	struct node *from, *to;
	struct region *region;
	struct bed bed;

	bed_open(&bed, 81, 2, &config, NULL);
	bed.world->weather.capacity = 2 * LARGE;
	region = region_open(bed.party[1], LARGE, 1, BED_BOTH, false, 0);
	from = bed.node[kind == OP_READ];
	to = bed.node[kind != OP_READ];
	from->digested = digested;
	for (int round = 0; round < 2; round++) { /* in the first they connect */
		from->sends = to->receives = to->level = 0;
		cr_assert(!job_post(job_rma(bed.party[0], region, kind, 0, LARGE, POST_COMPLETE, 1)));
		model_finish(bed.model, BED_LIMIT_NS);
	}
	cr_assert_geq(from->sends, LARGE / digested, "%llu sends", (unsigned long long)from->sends);
	cr_assert_leq(from->sends, LARGE / digested + 8, "%llu sends", (unsigned long long)from->sends);
	cr_assert_leq(to->receives, LARGE / LIMIT_SEGMENT * 9 / 8 + 8, "%llu receives", (unsigned long long)to->receives);
	cr_assert_geq(to->level, LARGE - LARGE / 64, "%llu bytes level", (unsigned long long)to->level);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

Test(sim_digest, large_payload_by_few_calls)
{
	few_calls(OP_WRITE, LIMIT_DIGESTED_LOCAL);
	few_calls(OP_WRITE, LIMIT_DIGESTED);
	few_calls(OP_READ, LIMIT_DIGESTED_LOCAL);
	few_calls(OP_READ, LIMIT_DIGESTED);
}

static struct link_ops link_below;
static struct nic *receiver;
static size_t longest;  /* that was given for what is copied */
static unsigned wholes; /* writes whose last payload was digested and copied in one pass */

static ssize_t check_room(struct line *line, const struct iovec *iov, int count)
{
	const struct iovec *room = &iov[count - 1];
	size_t before = (size_t)((uint8_t *)room->iov_base - receiver->scratch);

	cr_assert_leq(before, sizeof(receiver->scratch));
	cr_assert_leq(room->iov_len, sizeof(receiver->scratch) - before);
	longest = room->iov_len > longest ? room->iov_len : longest;
	wholes += receiver->conns->stream.hash == STREAM_HASH_KNOWN;
	return link_below.recv(line, iov, count);
}

/* However long the rest of a payload is, and wherever it is level with its place, it stays inside of the scratch. */
Test(sim_digest, room_of_what_is_copied)
{
	enum { LARGE = 4 * LIMIT_SEGMENT };
	struct nic_config config = { .digest = NIC_DIGEST_FULL };
	struct region *region;
	struct bed bed;

	bed_open(&bed, 84, 2, &config, NULL);
	bed.world->weather.capacity = 2 * LARGE;
	region = region_open(bed.party[1], LARGE + CACHE_LINE, 1, BED_BOTH, false, 0);
	receiver = bed.node[1]->nic;
	link_below = receiver->link;
	receiver->link.recv = check_room;
	for (uint64_t skew = 0; skew < CACHE_LINE; skew++) {
		cr_assert(!job_post(job_rma(bed.party[0], region, OP_WRITE, skew, LARGE, POST_COMPLETE, 1)));
		model_finish(bed.model, BED_LIMIT_NS);
	}
	cr_assert_geq(wholes, CACHE_LINE - 1, "%u whole payloads", wholes);
	cr_assert_eq(longest, LIMIT_SEGMENT + sizeof(struct wire_trailer) + sizeof(struct wire_head) + sizeof(struct wire_write));
	receiver->link = link_below;
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* A payload that arrives whole goes to a place that lies in pieces, too. */
Test(sim_digest, whole_into_pieces)
{
	enum { LARGE = 4 * LIMIT_SEGMENT };
	struct nic_config config = { .digest = NIC_DIGEST_FULL };
	struct region *region;
	struct bed bed;

	for (size_t segs = 2; segs <= LIMIT_IOV; segs++) {
		bed_open(&bed, 86 + segs, 2, &config, NULL);
		bed.world->weather.capacity = 2 * LARGE;
		region = region_open(bed.party[1], LARGE, segs, BED_BOTH, false, 0);
		for (int round = 0; round < 2; round++) {
			cr_assert(!job_post(job_rma(bed.party[0], region, OP_WRITE, 0, LARGE, POST_COMPLETE, 1)));
			model_finish(bed.model, BED_LIMIT_NS);
		}
		model_end(bed.model, BED_LIMIT_NS);
		bed_close(&bed);
	}
}

/* Received bytes are digested before a program can write to them: its write would look like a broken wire. */
Test(sim_digest, nothing_goes_straight_to_its_place)
{
	enum { LONG = 1 << 20 };
	struct nic_config config = { .digest = NIC_DIGEST_FULL };
	struct region *region;
	struct bed bed;

	bed_open(&bed, 82, 2, &config, NULL);
	region = region_open(bed.party[1], LONG, 1, BED_BOTH, false, 0);
	cr_assert(!job_post(job_rma(bed.party[0], region, OP_WRITE, 0, LONG, POST_COMPLETE, 1)));
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert_geq(bed.node[1]->aside, LONG);
	bed_close(&bed);
}

/* Was the change found of byte `at` of a write of two segments that arrive whole, counted from the second one's payload? */
static bool flipped_whole(uint64_t at)
{
	const uint64_t frame = sizeof(struct wire_head) + sizeof(struct wire_write);
	const uint64_t second = sizeof(struct wire_head) + sizeof(struct wire_hello) + frame + LIMIT_SEGMENT +
				sizeof(struct wire_trailer) + frame;
	struct nic_config config = { .digest = NIC_DIGEST_FULL };
	struct region *region;
	struct bed bed;
	bool said;

	bed_open(&bed, 85, 2, &config, NULL);
	bed.world->weather.capacity = 4 * LIMIT_SEGMENT;
	region = region_open(bed.party[1], 2 * LIMIT_SEGMENT, 1, BED_BOTH, false, 0);
	world_fault(bed.world, FAULT_FLIP, 0, 0, second + at);
	cr_assert(!job_post(job_rma(bed.party[0], region, OP_WRITE, 0, 2 * LIMIT_SEGMENT, POST_COMPLETE, 1)));
	model_end(bed.model, BED_LIMIT_NS);
	WORLD_CHECK(bed.world, bed.world->fault[0].spent, "no byte was changed");
	said = bed.node[1]->warns > 0;
	bed_close(&bed);
	return said;
}

Test(sim_digest, full_finds_flips_of_what_arrives_whole)
{
	for (uint64_t at = 0; at < LIMIT_SEGMENT - 1; at += LIMIT_SEGMENT / 32 - 1)
		cr_assert(flipped_whole(at), "the change of byte %llu was not found", (unsigned long long)at);
	for (uint64_t at = LIMIT_SEGMENT - 1; at < LIMIT_SEGMENT + sizeof(struct wire_trailer); at++)
		cr_assert(flipped_whole(at), "the change of byte %llu was not found", (unsigned long long)at);
}

/* A script of small ops with one byte changed; true if a NIC said so. All ops must end well whatever happens. */
static bool flipped(enum nic_digest mode, uint64_t seed, uint8_t dir, uint64_t at)
{
	struct nic_config config = { .digest = mode, .eager = 300 };
	struct region *target;
	struct bed bed;
	bool said;

	bed_open(&bed, seed, 2, &config, NULL);
	bed.model->counts_exact = false;
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	if (at != UINT64_MAX)
		world_fault(bed.world, FAULT_FLIP, 0, dir, at);
	job_post(job_rma(bed.party[0], target, OP_WRITE, 0, 100, POST_COMPLETE, 1));
	job_post(job_rma(bed.party[0], target, OP_READ, 1024, 300, POST_COMPLETE, 1));
	job_post(job_message(bed.party[0], bed.party[1], 200, POST_COMPLETE | POST_CQ_DATA, 1));
	job_post(job_message(bed.party[0], bed.party[1], 400, POST_COMPLETE | POST_CQ_DATA, 1));
	model_end(bed.model, BED_LIMIT_NS);
	WORLD_CHECK(bed.world, at == UINT64_MAX || bed.world->fault[0].spent, "no byte was changed");
	said = bed.node[0]->warns || bed.node[1]->warns;
	bed_close(&bed);
	return said;
}

/* All bytes of HELLO and of the frames behind it, payloads and trailers among them. */
static void flip_everywhere(uint64_t seed, uint8_t dir, uint64_t bytes)
{
	cr_assert(!flipped(NIC_DIGEST_FULL, seed, dir, UINT64_MAX));
	for (uint64_t at = 0; at < bytes; at++)
		cr_assert(flipped(NIC_DIGEST_FULL, seed, dir, at), "the change of byte %llu was not found", (unsigned long long)at);
}

/* With payload digests no changed byte gets by. */
Test(sim_digest, full_finds_every_flip)
{
	flip_everywhere(70, 0, 152 + 64 + 100 + 16 + 64 + 64 + 200 + 16);
	flip_everywhere(71, 1, 152 + 64 + 300 + 16);
}

/* The same of atomics and a write by the default setting. */
static bool flipped_atomic(uint8_t dir, uint64_t at)
{
	struct nic_config config = { .digest = NIC_DIGEST_HEAD };
	struct region *target;
	struct bed bed;
	bool said;

	bed_open(&bed, 72, 2, &config, NULL);
	bed.model->counts_exact = false;
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	if (at != UINT64_MAX)
		world_fault(bed.world, FAULT_FLIP, 0, dir, at);
	job_post(job_atomic(bed.party[0], target, JOB_SUM, 0, 8, POST_COMPLETE, 1));
	job_post(job_atomic(bed.party[0], target, JOB_SWAP, 64, 64, POST_COMPLETE, 1));
	job_post(job_atomic(bed.party[0], target, JOB_FETCH_SUM, 512, 2048, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	WORLD_CHECK(bed.world, at == UINT64_MAX || bed.world->fault[0].spent, "no byte was changed");
	said = bed.node[0]->warns || bed.node[1]->warns;
	bed_close(&bed);
	return said;
}

/* WIRE-11: what an atomic carries there and back has a digest wherever heads have one. */
Test(sim_digest, no_flipped_atomic_is_executed)
{
	const uint64_t head = sizeof(struct wire_head), trailer = sizeof(struct wire_trailer);
	const uint64_t asks = 3 * (head + sizeof(struct wire_atomic) + trailer) + 8 + 2 * 64 + 2048;
	const uint64_t answers = 2 * (head + sizeof(struct wire_verdict) + trailer) + 64 + 2048;

	cr_assert(!flipped_atomic(0, UINT64_MAX));
	for (uint64_t at = 0; at < asks; at += at < 1024 ? 1 : 61)
		cr_assert(flipped_atomic(0, 152 + at), "the change of byte %llu was not found", (unsigned long long)at);
	for (uint64_t at = 0; at < answers; at += at < 256 ? 1 : 61)
		cr_assert(flipped_atomic(1, 152 + at), "the change of answers' byte %llu was not found", (unsigned long long)at);
}

/* Was it found that byte `at` of the trailer of a write of 100 bytes has another bit? Of the status: another one that there is. */
static bool flipped_trailer(enum nic_digest mode, uint64_t at)
{
	const uint64_t before = 2 * sizeof(struct wire_head) + sizeof(struct wire_hello) + sizeof(struct wire_write) + 100;
	struct nic_config config = { .digest = mode };
	struct bed bed;
	bool said;

	bed_open(&bed, 73, 2, &config, NULL);
	world_fault(bed.world, FAULT_FLIP, 0, 0, before + at);
	bed.world->fault[0].bits = 1;
	job_post(job_rma(bed.party[0], region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0), OP_WRITE, 0, 100, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	said = bed.world->fault[0].spent && bed.node[1]->warns > 0;
	bed_close(&bed);
	return said;
}

/* WIRE-11: a good payload is not taken for one that is not, by any setting. */
Test(sim_digest, no_flipped_trailer_is_believed)
{
	for (int mode = NIC_DIGEST_HEAD; mode <= NIC_DIGEST_OFF; mode++)
		for (uint64_t at = 0; at < sizeof(struct wire_trailer); at++)
			cr_assert(flipped_trailer((enum nic_digest)mode, at), "mode %d: byte %llu", mode, (unsigned long long)at);
}

/* A payload that comes in pieces needs memory to be digested: without it the connection ends, and nothing is executed. */
Test(sim_digest, no_memory_for_pieces)
{
	struct wire_atomic_fields atomic = { .length = 8, .op = ATOMIC_SUM, .type = ATOMIC_UINT64 };
	const size_t head = sizeof(struct wire_head) + sizeof(struct wire_atomic);
	struct wire_hello_fields hello;
	uint64_t value = 41, one = 1;
	struct words words;
	struct raw *raw;
	struct bed bed;

	bed_open(&bed, 74, 2, NULL, NULL);
	words = (struct words){ .bed = &bed, .target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0) };
	region_claim(words.target, 0, 8);
	memcpy(words.target->block, &value, sizeof(value));
	hello = plain_hello(&words);
	say_hello(&words, &hello);
	raw = raw_dial(bed.world, party_port(bed.party[1]));
	raw_send(raw, words.bytes, words.length);
	words.length = 0;
	atomic.to = *at(&words, 0);
	seal(&words, wire_put_atomic(here(&words), 0, 1, &atomic), 0);
	add_bytes(&words, &one, sizeof(one), WIRE_GOOD);
	raw_send(raw, words.bytes, head);
	raw_pause(raw);
	cr_assert_eq(bed.node[1]->nic->conn_count, 1);
	bed.world->weather.scarce_permille = 1000;
	bed.world->weather.scarce_left = 1;
	scarce_begin(bed.world);
	raw_send(raw, words.bytes + head, 4);
	raw_pause(raw);
	scarce_end();
	cr_assert_eq(bed.node[1]->nic->conn_count, 0);
	memcpy(&value, words.target->block, sizeof(value));
	cr_assert_eq(value, 41);
	raw_close(raw);
	bed_close(&bed);
}
