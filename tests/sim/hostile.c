/* SPDX-License-Identifier: BSD-2-Clause */
/* hostile.c - strangers and liars at the listener: each is shown the door with one log line that names the reason, and
 * no other peer notices. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/sim/harness/words.h"

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
	seal(words, wire_put_read(here(words), 0, 1, at(words, 0), 64), 0);
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

/* WIRE-65: a session goes on behind what was said in it, and nothing was. */
static void heard_what_was_not_said(struct words *words)
{
	struct wire_hello_fields fields = plain_hello(words);

	fields.seen = 1;
	say_hello(words, &fields);
}

static void was_given_no_verdict(struct words *words)
{
	struct wire_hello_fields fields = plain_hello(words);

	fields.verdict_seen = 1;
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

/* --- after HELLO; the stranger says its own HELLO first --- */

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
	seal(words, wire_put_read(here(words), 0, 1, at(words, 0), 64), 0);
	words->bytes[words->length - 1 - 8] ^= 4;
}

static void number_left_out(struct words *words)
{
	seal(words, wire_put_read(here(words), 0, 2, at(words, 0), 64), 0);
}

static void absurd_payload(struct words *words)
{
	seal(words, wire_put_write(here(words), WIRE_F_FIRST, 0xfffffff0u, 1, at(words, 0), UINT64_MAX, 0), 0);
}

static void ack_of_nothing(struct words *words)
{
	seal(words, wire_put_ack(here(words), 0), 5);
}

static void verdict_ack_of_nothing(struct words *words)
{
	seal(words, wire_put_ack(here(words), 1), 0);
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

static void result_of_nothing(struct words *words)
{
	seal(words, wire_put_result(here(words), 8, 1, 1), 0);
	add_payload(words, 8, WIRE_GOOD);
}

static void no_first_segment(struct words *words)
{
	seal(words, wire_put_write(here(words), 0, 64, 1, at(words, 0), 64, 0), 0);
	add_payload(words, 64, WIRE_GOOD);
}

static void jumps(struct words *words)
{
	seal(words, wire_put_write(here(words), WIRE_F_FIRST, 64, 1, at(words, 0), 192, 0), 0);
	add_payload(words, 64, WIRE_GOOD);
	seal(words, wire_put_write(here(words), 0, 64, 2, at(words, 3000), 128, 0), 0);
	add_payload(words, 64, WIRE_GOOD);
}

static void goes_on_after_another(struct words *words)
{
	seal(words, wire_put_write(here(words), WIRE_F_FIRST, 64, 1, at(words, 0), 128, 0), 0);
	add_payload(words, 64, WIRE_GOOD);
	seal(words, wire_put_read(here(words), 0, 2, at(words, 0), 64), 0);
	seal(words, wire_put_write(here(words), 0, 64, 3, at(words, 64), 64, 0), 0);
	add_payload(words, 64, WIRE_GOOD);
}

static void strange_status(struct words *words)
{
	seal(words, wire_put_write(here(words), WIRE_F_FIRST, 64, 1, at(words, 0), 64, 0), 0);
	add_payload(words, 64, 9);
}

static void too_many_reads(struct words *words)
{
	for (uint64_t seq = 1; seq <= LIMIT_READS + 60 && words->length + WIRE_FRAME_MAX <= ROOM; seq++)
		seal(words, wire_put_read(here(words), 0, seq, at(words, 0), 65536), 0);
}

static void too_many_durable(struct words *words)
{
	for (uint64_t seq = 1; seq <= LIMIT_READS + 1; seq++) {
		seal(words, wire_put_write(here(words), WIRE_F_FIRST | WIRE_F_COMMIT, 4, seq, at(words, 0), 4, 0), 0);
		add_payload(words, 4, WIRE_GOOD);
	}
	words->bed->party[1]->remote_most += LIMIT_READS;
}

static void durable_in_part(struct words *words)
{
	seal(words, wire_put_write(here(words), WIRE_F_FIRST | WIRE_F_COMMIT, 64, 1, at(words, 0), 128, 0), 0);
	add_payload(words, 64, WIRE_GOOD);
	seal(words, wire_put_write(here(words), 0, 64, 2, at(words, 64), 64, 0), 0);
	add_payload(words, 64, WIRE_GOOD);
}

static void data_changes(struct words *words)
{
	seal(words, wire_put_write(here(words), WIRE_F_FIRST | WIRE_F_CQ_DATA, 64, 1, at(words, 0), 128, 5), 0);
	add_payload(words, 64, WIRE_GOOD);
	seal(words, wire_put_write(here(words), WIRE_F_CQ_DATA, 64, 2, at(words, 64), 64, 6), 0);
	add_payload(words, 64, WIRE_GOOD);
}

struct stranger {
	const char *name;
	void (*words)(struct words *words);
	bool greets;        /* says a good HELLO first */
	const char *reason; /* what the log line must contain */
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
	{ "request that was not sent", heard_what_was_not_said, false, "never was" },
	{ "verdict that was not given", was_given_no_verdict, false, "never was" },
	{ "silence", silence, false, "no HELLO" },
	{ "half a hello", half_hello, false, "no HELLO" },
	{ "second hello", second_hello, true, "HELLO" },
	{ "unknown op", unknown_op, true, "WIRE-3" },
	{ "changed head", changed_head, true, "WIRE-9" },
	{ "number left out", number_left_out, true, "WIRE-55" },
	{ "absurd payload", absurd_payload, true, "WIRE-7" },
	{ "ack of nothing", ack_of_nothing, true, "WIRE-60" },
	{ "verdict ack of nothing", verdict_ack_of_nothing, true, "WIRE-47" },
	{ "data for nobody", data_for_nobody, true, "WIRE-59" },
	{ "pulled data for nobody", pulled_data_for_nobody, true, "WIRE-59" },
	{ "pull of nothing", pull_of_nothing, true, "WIRE-72" },
	{ "rnr for nothing", rnr_for_nothing, true, "WIRE-73" },
	{ "nak for nothing", nak_for_nothing, true, "WIRE-46" },
	{ "verdict left out", verdict_left_out, true, "WIRE-46" },
	{ "result of nothing", result_of_nothing, true, "WIRE-59" },
	{ "no first segment", no_first_segment, true, "WIRE-56" },
	{ "jumps", jumps, true, "WIRE-56" },
	{ "goes on after another", goes_on_after_another, true, "WIRE-56" },
	{ "strange status", strange_status, true, "WIRE-10" },
	{ "too many reads", too_many_reads, true, "WIRE-25" },
	{ "too many durable writes", too_many_durable, true, "WIRE-25" },
	{ "durable in part", durable_in_part, true, "WIRE-56" },
	{ "data changes", data_changes, true, "WIRE-41" },
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
	/* If they came piecemeal, each would be answered before the next. */
	if (stranger->words == too_many_reads || stranger->words == too_many_durable)
		bed->world->weather.chunk_max = 0;
	raw = raw_dial(bed->world, party_port(bed->party[1]));
	raw_send(raw, words.bytes, words.length);
	WORLD_CHECK(bed->world, world_run(bed->world, is_closed, raw, TIME_HELLO_NS + SIM_SECOND),
		    "%s: the connection was not closed", stranger->name);
	raw_close(raw);
	line = victim->log[warns % NODE_LOG_LINES];
	WORLD_CHECK(bed->world, victim->warns == warns + 1, "%s: %u log lines, the last: %s", stranger->name, victim->warns - warns,
		    victim->log[(victim->warns - 1) % NODE_LOG_LINES]);
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
	/* Liars that know the key may write where it allows. */
	region_claim(target, 0, 4096);
	for (uint32_t who = 0; who < STRANGERS; who++)
		meet(&bed, target, who);
	cr_assert_eq(tap_find(bed.world, 0, 0)->frame[0].kind, TAP_HELLO);
	bed_close(&bed);
}

/* WIRE-36 */
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
		seal(&words, wire_put_write(here(&words), WIRE_F_FIRST | WIRE_F_CQ_DATA, 64, 1, at(&words, 0), 64, 5), 0);
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

/* The same of an ATOMIC: one sum of three (WIRE-51). */
Test(sim_hostile, repeats_an_atomic)
{
	struct wire_hello_fields fields;
	struct wire_atomic_fields atomic = { .length = 8, .kind = WIRE_ATOMIC_FETCH, .op = ATOMIC_SUM, .type = ATOMIC_UINT64 };
	struct words words;
	struct bed bed;
	struct raw *raw;
	uint64_t value = 41;

	bed_open(&bed, 86, 2, NULL, NULL);
	words = (struct words){ .bed = &bed, .target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0) };
	region_claim(words.target, 0, 8);
	memcpy(words.target->block, &value, sizeof(value));
	fields = plain_hello(&words);
	say_hello(&words, &fields);
	atomic.to = *at(&words, 0);
	for (int i = 0; i < 3; i++) {
		seal(&words, wire_put_atomic(here(&words), 0, 1, &atomic), 0);
		value = 1;
		add_bytes(&words, &value, sizeof(value), WIRE_GOOD);
	}
	raw = raw_dial(bed.world, party_port(bed.party[1]));
	raw_send(raw, words.bytes, words.length);
	world_pass(bed.world, SIM_SECOND);
	memcpy(&value, words.target->block, sizeof(value));
	cr_assert_eq(value, 42);
	cr_assert_eq(tap_count(bed.world, TAP_RESULT), 1);
	raw_close(raw);
	bed_close(&bed);
}

/* A READ may come again by its number, but not for other bytes of a region of single use, nor by another number (S130). */
Test(sim_hostile, reads_on)
{
	static const struct {
		uint64_t seq, addr;
		unsigned refused;
	} reads[] = { { 1, 64, 0 }, { 1, 64, 0 }, { 1, 65, 1 }, { 1, 0, 2 }, { 2, 64, 3 }, { 1, 64, 3 } };
	struct wire_hello_fields fields;
	struct words words;
	struct bed bed;
	struct raw *raw;

	bed_open(&bed, 84, 2, NULL, NULL);
	words = (struct words){ .bed = &bed, .target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0) };
	region_make_single(words.target);
	fields = plain_hello(&words);
	say_hello(&words, &fields);
	raw = raw_dial(bed.world, party_port(bed.party[1]));
	for (size_t i = 0; i < sizeof(reads) / sizeof(*reads); i++) {
		seal(&words, wire_put_read(here(&words), 0, reads[i].seq, at(&words, reads[i].addr), 64), 0);
		raw_send(raw, words.bytes, words.length);
		words.length = 0;
		world_pass(bed.world, SIM_SECOND / 100);
		cr_assert_eq(bed.node[1]->warns, reads[i].refused, "READ %zu: %u refusals", i, bed.node[1]->warns);
	}
	cr_assert(strstr(bed.node[1]->log[0], "S130"), "%s", bed.node[1]->log[0]);
	raw_close(raw);
	bed_close(&bed);
}

/* A peer that knows the key and makes up its second half (S53), or the authorization (S158), is refused: one bit off, all of them,
 * none shown. */
static void forge(bool of_auth, const char *rule)
{
	static const uint64_t off[] = { 0, 1, UINT64_C(1) << 63, UINT64_MAX, 7, 9 };
	uint64_t seq = 1;
	unsigned int refused = 0;
	struct wire_hello_fields fields;
	struct words words;
	struct bed bed;
	struct raw *raw;

	bed_open(&bed, 85, 2, NULL, NULL);
	words = (struct words){ .bed = &bed, .target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0) };
	words.target->mr->key_tail = 7;
	words.target->mr->auth = 9;
	region_claim(words.target, 0, 64);
	fields = plain_hello(&words);
	say_hello(&words, &fields);
	raw = raw_dial(bed.world, party_port(bed.party[1]));
	for (size_t i = 0; i < sizeof(off) / sizeof(*off); i++) {
		for (int read = 0; read < 2; read++) {
			struct wire_target_fields to = *at(&words, 0);

			to.key_tail = 7 ^ (of_auth ? 0 : off[i]);
			to.auth = 9 ^ (of_auth ? off[i] : 0);
			if (read) {
				seal(&words, wire_put_read(here(&words), 0, seq++, &to, 64), 0);
			} else {
				seal(&words, wire_put_write(here(&words), WIRE_F_FIRST, 64, seq++, &to, 64, 0), 0);
				add_payload(&words, 64, WIRE_GOOD);
			}
			raw_send(raw, words.bytes, words.length);
			words.length = 0;
			world_pass(bed.world, SIM_SECOND / 100);
			refused += i > 0;
			cr_assert_eq(bed.node[1]->warns, refused, "request %zu, read %d", i, read);
		}
	}
	cr_assert(strstr(bed.node[1]->log[0], rule), "%s", bed.node[1]->log[0]);
	raw_close(raw);
	bed_close(&bed);
}

Test(sim_hostile, forges_second_halves_and_authorization)
{
	forge(false, "S40");
	forge(true, "S158");
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
			.bed = &bed,
			.target = region_open(bed.party[1], 8192, 1, BED_BOTH, false, 0),
			.who = round,
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
