/* SPDX-License-Identifier: BSD-2-Clause */
/* hostile.c - strangers and liars at the listener: each is shown the door with one log line that names the reason, and
 * nobody else notices. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/sim/bed.h"
#include "tests/sim/lines.h"

enum { ROOM = 16384, SEGMENT = WIRE_SEGMENT_MIN };

/* The bytes that a stranger says, built up frame by frame. */
struct words {
	struct bed *bed;
	struct region *target;
	uint32_t who;			/* each stranger is another peer */
	size_t length;
	uint8_t bytes[ROOM];
};

static uint8_t *here(struct words *words)
{
	assert(words->length + WIRE_FRAME_MAX <= ROOM);
	return words->bytes + words->length;
}

static void seal(struct words *words, size_t length, uint64_t ack)
{
	wire_seal((struct wire_head *)here(words), ack, true);
	words->length += length;
}

static void add_payload(struct words *words, size_t length, uint32_t status)
{
	memset(here(words), 0x77, length);
	words->length += length;
	words->length += wire_put_trailer(here(words), (enum wire_status)status, 0);
}

static struct wire_hello_fields plain_hello(struct words *words)
{
	struct wire_hello_fields fields = {
		.version_min = 1, .version_max = 1, .instance = { 1, 2, 3 }, .session = 99, .epoch = 1, .requests = 64,
		.reads = 8, .segment = SEGMENT, .family = 4, .port = (uint16_t)(100 + words->who), .addr = { 10, 9, 9, 9 },
	};

	memcpy(fields.instance + 4, &words->who, sizeof(words->who));
	return fields;
}

static void say_hello(struct words *words, const struct wire_hello_fields *fields)
{
	seal(words, wire_put_hello(here(words), fields), 0);
}

/* --- before HELLO --- */

static void garbage(struct words *words)
{
	rnd_fill(&words->bed->world->rnd, words->bytes, 500);
	words->bytes[0] = 0xa5;
	words->length = 500;
}

static void http(struct words *words)
{
	words->length = (size_t)snprintf((char *)words->bytes, ROOM, "GET / HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n");
}

static void request_first(struct words *words)
{
	seal(words, wire_put_read(here(words), 1, words->target->key, 0, 64), 0);
}

static void wrong_magic(struct words *words)
{
	struct wire_hello_fields fields = plain_hello(words);

	say_hello(words, &fields);
	words->bytes[sizeof(struct wire_head)] ^= 1;
}

static void wrong_digest(struct words *words)
{
	struct wire_hello_fields fields = plain_hello(words);

	say_hello(words, &fields);
	words->bytes[100] ^= 1;
}

static void future_version(struct words *words)
{
	struct wire_hello_fields fields = plain_hello(words);

	fields.version_min = 7;
	fields.version_max = 9;
	say_hello(words, &fields);
}

static void hello_with_payload(struct words *words)
{
	struct wire_hello_fields fields = plain_hello(words);

	say_hello(words, &fields);
	((struct wire_head *)words->bytes)->payload = wire_put32(UINT32_MAX);
}

static void nobody(struct words *words)
{
	struct wire_hello_fields fields = plain_hello(words);

	memset(fields.instance, 0, sizeof(fields.instance));
	say_hello(words, &fields);
}

static void tiny_segment(struct words *words)
{
	struct wire_hello_fields fields = plain_hello(words);

	fields.segment = 1;
	say_hello(words, &fields);
}

static void silence(struct words *words)
{
	words->length = 0;
}

static void half_hello(struct words *words)
{
	struct wire_hello_fields fields = plain_hello(words);

	say_hello(words, &fields);
	words->length = 70;
}

/* --- after HELLO; the stranger says his own HELLO first --- */

static void second_hello(struct words *words)
{
	struct wire_hello_fields fields = plain_hello(words);

	say_hello(words, &fields);
}

static void unknown_op(struct words *words)
{
	seal(words, wire_put_ack(here(words), 0), 0);
	words->bytes[words->length - sizeof(struct wire_head) - sizeof(struct wire_ack)] = 77;
}

static void changed_head(struct words *words)
{
	seal(words, wire_put_read(here(words), 1, words->target->key, 0, 64), 0);
	words->bytes[words->length - 1 - 8] ^= 4;
}

static void number_left_out(struct words *words)
{
	seal(words, wire_put_read(here(words), 2, words->target->key, 0, 64), 0);
}

static void absurd_payload(struct words *words)
{
	seal(words, wire_put_write(here(words), WIRE_F_FIRST, 0xfffffff0u, 1, words->target->key, 0, UINT64_MAX, 0), 0);
}

static void ack_of_nothing(struct words *words)
{
	seal(words, wire_put_ack(here(words), 0), 5);
}

static void verdict_ack_of_nothing(struct words *words)
{
	seal(words, wire_put_ack(here(words), 3), 0);
}

static void data_for_nobody(struct words *words)
{
	seal(words, wire_put_data(here(words), 0, 32, 9, 0, 32), 0);
	add_payload(words, 32, WIRE_GOOD);
}

static void pulled_data_for_nobody(struct words *words)
{
	seal(words, wire_put_data(here(words), WIRE_F_PULLED, 32, 9, 0, 32), 0);
	add_payload(words, 32, WIRE_GOOD);
}

static void pull_of_nothing(struct words *words)
{
	seal(words, wire_put_pull(here(words), 1, 0, 100), 0);
}

static void rnr_for_nothing(struct words *words)
{
	seal(words, wire_put_rnr(here(words), 1, 1000), 0);
}

static void nak_for_nothing(struct words *words)
{
	struct wire_nak_fields fields = { .verdict = 1, .ref = 1, .cause = 1 };

	seal(words, wire_put_nak(here(words), &fields), 0);
}

static void verdict_left_out(struct words *words)
{
	seal(words, wire_put_verdict(here(words), WIRE_DONE, 4, 1), 0);
}

static void no_first_segment(struct words *words)
{
	seal(words, wire_put_write(here(words), 0, 64, 1, words->target->key, 0, 64, 0), 0);
	add_payload(words, 64, WIRE_GOOD);
}

static void jumps(struct words *words)
{
	seal(words, wire_put_write(here(words), WIRE_F_FIRST, 64, 1, words->target->key, 0, 192, 0), 0);
	add_payload(words, 64, WIRE_GOOD);
	seal(words, wire_put_write(here(words), 0, 64, 2, words->target->key, 3000, 128, 0), 0);
	add_payload(words, 64, WIRE_GOOD);
}

static void strange_status(struct words *words)
{
	seal(words, wire_put_write(here(words), WIRE_F_FIRST, 64, 1, words->target->key, 0, 64, 0), 0);
	add_payload(words, 64, 9);
}

static void too_many_reads(struct words *words)
{
	for (uint64_t seq = 1; seq <= LIMIT_READS + 60 && words->length + WIRE_FRAME_MAX <= ROOM; seq++)
		seal(words, wire_put_read(here(words), seq, words->target->key, 0, 65536), 0);
}

struct stranger {
	const char *name;
	void (*words)(struct words *words);
	bool greets;		/* says a good HELLO first */
	const char *reason;	/* what the log line must contain */
};

static const struct stranger strangers[] = {
	{ "garbage", garbage, false, "WIRE-20" },
	{ "http", http, false, "WIRE-20" },
	{ "request first", request_first, false, "WIRE-20" },
	{ "wrong magic", wrong_magic, false, "WIRE-21" },
	{ "wrong digest", wrong_digest, false, "WIRE-9" },
	{ "future version", future_version, false, "version" },
	{ "hello with payload", hello_with_payload, false, "WIRE-6" },
	{ "no instance", nobody, false, "WIRE-23" },
	{ "tiny segment", tiny_segment, false, "WIRE-25" },
	{ "silence", silence, false, "no HELLO" },
	{ "half a hello", half_hello, false, "no HELLO" },
	{ "second hello", second_hello, true, "HELLO" },
	{ "unknown op", unknown_op, true, "WIRE-3" },
	{ "changed head", changed_head, true, "WIRE-9" },
	{ "number left out", number_left_out, true, "WIRE-55" },
	{ "absurd payload", absurd_payload, true, "WIRE-7" },
	{ "ack of nothing", ack_of_nothing, true, "WIRE-60" },
	{ "verdict ack of nothing", verdict_ack_of_nothing, true, "WIRE-46" },
	{ "data for nobody", data_for_nobody, true, "WIRE-59" },
	{ "pulled data for nobody", pulled_data_for_nobody, true, "WIRE-59" },
	{ "pull of nothing", pull_of_nothing, true, "WIRE-72" },
	{ "rnr for nothing", rnr_for_nothing, true, "WIRE-73" },
	{ "nak for nothing", nak_for_nothing, true, "WIRE-46" },
	{ "verdict left out", verdict_left_out, true, "WIRE-46" },
	{ "no first segment", no_first_segment, true, "WIRE-56" },
	{ "jumps", jumps, true, "WIRE-56" },
	{ "strange status", strange_status, true, "WIRE-10" },
	{ "too many reads", too_many_reads, true, "WIRE-25" },
};
enum { STRANGERS = sizeof(strangers) / sizeof(strangers[0]) };

static bool is_closed(void *raw)
{
	uint8_t heard[1024];

	while (raw_recv(raw, heard, sizeof(heard)))
		;
	return raw_closed(raw);
}

/* Says it all while another peer writes and reads. */
static void meet(struct bed *bed, struct region *target, uint32_t who)
{
	const struct stranger *stranger = &strangers[who];
	struct words words = { .bed = bed, .target = target, .who = who };
	struct node *victim = bed->node[1];
	uint32_t warns = victim->warns;
	const char *line;
	struct raw *raw;

	for (uint64_t i = 0; i < 8; i++)
		job_post(job_rma(bed->party[0], target, i & 1 ? OP_READ : OP_WRITE, 4096 + i * 8192, 8000, POST_COMPLETE, 1));
	if (stranger->greets) {
		struct wire_hello_fields fields = plain_hello(&words);

		say_hello(&words, &fields);
	}
	stranger->words(&words);
	if (stranger->words == too_many_reads)	/* if they came piecemeal, each would be answered before the next */
		bed->world->weather.chunk_max = 0;
	raw = raw_dial(bed->world, party_port(bed->party[1]));
	raw_send(raw, words.bytes, words.length);
	WORLD_CHECK(bed->world, world_run(bed->world, is_closed, raw, TIME_HELLO_NS + SIM_SECOND),
		    "%s: the connection was not closed", stranger->name);
	raw_close(raw);
	line = victim->log[warns % NODE_LOG_LINES];
	WORLD_CHECK(bed->world, victim->warns == warns + 1, "%s: %u log lines, the last: %s", stranger->name,
		    victim->warns - warns, victim->log[(victim->warns - 1) % NODE_LOG_LINES]);
	WORLD_CHECK(bed->world, strstr(line, stranger->reason), "%s: not the reason expected: %s", stranger->name, line);
	model_end(bed->model, BED_LIMIT_NS);
}

static void meet_all(uint64_t seed, uint32_t chunk_max)
{
	struct region *target;
	struct bed bed;

	bed_open(&bed, seed, 2, NULL, NULL);
	bed.world->weather.chunk_max = chunk_max;
	target = region_open(bed.party[1], 128 * 1024, 1, BED_BOTH, false, 0);
	/* Liars who know the key may write where it allows. */
	region_claim(target, 0, 4096);
	for (uint32_t who = 0; who < STRANGERS; who++)
		meet(&bed, target, who);
	cr_assert_eq(tap_find(bed.world, 0, 0)->frame[0].kind, TAP_HELLO);
	bed_close(&bed);
}

Test(sim_hostile, strangers_and_liars)
{
	meet_all(80, 0);
}

Test(sim_hostile, in_small_pieces)
{
	meet_all(81, 7);
}

/* A request that was executed is dropped when it comes again (WIRE-54): one CQ data of three, the bytes of the first. */
Test(sim_hostile, repeats_itself)
{
	struct wire_hello_fields fields;
	struct completion c[4];
	struct words words;
	struct party *victim;
	struct bed bed;
	struct raw *raw;

	bed_open(&bed, 83, 2, NULL, NULL);
	victim = bed.party[1];
	victim->deaf = true;
	words = (struct words){ .bed = &bed, .target = region_open(victim, 4096, 1, BED_BOTH, false, 0) };
	region_claim(words.target, 0, 4096);
	fields = plain_hello(&words);
	say_hello(&words, &fields);
	for (uint8_t i = 0; i < 3; i++) {
		seal(&words, wire_put_write(here(&words), WIRE_F_FIRST | WIRE_F_CQ_DATA, 64, 1, words.target->key, 0, 64, 5), 0);
		memset(here(&words), 'a' + i, 64);
		words.length += 64;
		words.length += wire_put_trailer(here(&words), WIRE_GOOD, 0);
	}
	raw = raw_dial(bed.world, party_port(victim));
	raw_send(raw, words.bytes, words.length);
	world_pass(bed.world, SIM_SECOND);
	cr_assert_eq(cq_take(victim->rx, c, 4), 1);
	cr_assert_eq(c[0].data, 5);
	cr_assert_eq(words.target->block[0], 'a');
	cr_assert_eq(words.target->block[63], 'a');
	raw_close(raw);
	bed_close(&bed);
}

/* Random bytes behind a good HELLO, and good frames of which some bytes are random. */
Test(sim_hostile, noise)
{
	struct rnd rnd = { 82 };

	for (uint32_t round = 0; round < 300; round++) {
		struct words words;
		struct bed bed;
		struct wire_hello_fields fields;
		struct raw *raw;

		bed_open(&bed, 1000 + round, 2, NULL, NULL);
		words = (struct words){
			.bed = &bed, .target = region_open(bed.party[1], 8192, 1, BED_BOTH, false, 0), .who = round,
		};
		region_claim(words.target, 0, 4096);
		fields = plain_hello(&words);
		say_hello(&words, &fields);
		strangers[rnd_below(&rnd, STRANGERS)].words(&words);
		for (uint64_t n = rnd_below(&rnd, 4); n && words.length > 152; n--)
			words.bytes[152 + rnd_below(&rnd, words.length - 152)] = (uint8_t)rnd_next(&rnd);
		raw = raw_dial(bed.world, party_port(bed.party[1]));
		raw_send(raw, words.bytes, words.length);
		job_post(job_rma(bed.party[0], words.target, OP_WRITE, 4096, 4096, POST_COMPLETE, 1));
		world_pass(bed.world, SIM_SECOND);
		raw_close(raw);
		model_end(bed.model, BED_LIMIT_NS);
		bed_close(&bed);
	}
}
