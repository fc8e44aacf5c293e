/* SPDX-License-Identifier: BSD-2-Clause */
/* grants.c - peers that go past what HELLO granted them: how far they get, and what they leave. */
#include <criterion/criterion.h>

#include "tests/sim/harness/words.h"

/* As many requests as were granted may wait for their acknowledgement, one more breaks the protocol (WIRE-25). This peer
 * reads nothing, so the answer to its READ leaves no room to acknowledge what follows. */
Test(sim_grants, more_requests_than_granted)
{
	struct wire_hello_fields fields;
	struct words words;
	struct bed bed;
	struct raw *raw;

	bed_open(&bed, 87, 2, NULL, NULL);
	bed.world->weather.capacity = 4000;
	words = (struct words){ .bed = &bed, .target = region_open(bed.party[1], 128 * 1024, 1, BED_BOTH, false, 0) };
	fields = plain_hello(&words);
	say_hello(&words, &fields);
	seal(&words, wire_put_read(here(&words), 0, 1, at(&words, 0), 128 * 1024), 0);
	raw = raw_dial(bed.world, party_port(bed.party[1]));
	for (uint64_t seq = 2; seq <= LIMIT_REQUESTS + 2; seq++) {
		raw_send(raw, words.bytes, words.length);
		words.length = 0;
		world_pass(bed.world, SIM_SECOND / 1000);
		cr_assert_eq(bed.node[1]->warns, 0, "request %d: %s", (int)seq - 1, bed.node[1]->log[0]);
		seal(&words, wire_put_write(here(&words), WIRE_F_FIRST, 0, seq, at(&words, 0), 0, 0), 0);
	}
	raw_send(raw, words.bytes, words.length);
	world_pass(bed.world, SIM_SECOND / 1000);
	cr_assert_eq(bed.node[1]->warns, 1);
	cr_assert(strstr(bed.node[1]->log[0], "WIRE-25"), "%s", bed.node[1]->log[0]);
	raw_close(raw);
	bed_close(&bed);
}

/* A region of single use is not spent by the READ that goes past the grant and is never executed (S130, WIRE-25). */
Test(sim_grants, a_read_too_many_spends_nothing)
{
	enum { LONG = 8 << 20 }; /* more than leaves before the peer reads */
	struct wire_hello_fields fields;
	struct region *single;
	struct words words;
	struct job *job;
	struct bed bed;
	struct raw *raw;

	bed_open(&bed, 88, 2, NULL, NULL);
	bed.world->weather.capacity = 4000;
	words = (struct words){ .bed = &bed, .target = region_open(bed.party[1], LONG, 1, BED_BOTH, false, 0) };
	single = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	region_make_single(single);
	fields = plain_hello(&words);
	say_hello(&words, &fields);
	for (uint64_t seq = 1; seq <= LIMIT_READS; seq++)
		seal(&words, wire_put_read(here(&words), 0, seq, at(&words, 0), LONG), 0);
	words.target = single;
	seal(&words, wire_put_read(here(&words), 0, LIMIT_READS + 1, at(&words, 0), 64), 0);
	raw = raw_dial(bed.world, party_port(bed.party[1]));
	raw_send(raw, words.bytes, words.length);
	world_pass(bed.world, SIM_SECOND / 100);
	cr_assert_eq(bed.node[1]->warns, 1, "%u: %s", bed.node[1]->warns, bed.node[1]->log[0]);
	cr_assert(strstr(bed.node[1]->log[0], "WIRE-25"), "%s", bed.node[1]->log[0]);
	raw_close(raw);
	job = job_rma(bed.party[0], single, OP_READ, 0, 64, POST_COMPLETE, 1);
	cr_assert(job && job->may.good);
	job->may = (struct outcomes){ .good = true };
	cr_assert(!job_post(job));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Verdicts that are not acknowledged are kept up to a bound; the request that would need one more is not executed
 * (WIRE-47). */
Test(sim_grants, more_verdicts_than_are_kept)
{
	struct wire_atomic_fields atomic = { .length = 8, .kind = WIRE_ATOMIC_FETCH, .op = ATOMIC_SUM, .type = ATOMIC_UINT64 };
	struct wire_hello_fields fields;
	uint64_t one = 1, sum = 0;
	uint8_t heard[4096];
	struct words words;
	struct bed bed;
	struct raw *raw;

	bed_open(&bed, 89, 2, NULL, NULL);
	words = (struct words){ .bed = &bed, .target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0) };
	region_claim(words.target, 0, 8);
	memcpy(words.target->block, &sum, sizeof(sum));
	fields = plain_hello(&words);
	say_hello(&words, &fields);
	atomic.to = *at(&words, 0);
	raw = raw_dial(bed.world, party_port(bed.party[1]));
	for (uint64_t seq = 1; seq <= LIMIT_VERDICTS + 1; seq++) {
		cr_assert_eq(bed.node[1]->warns, 0, "request %d: %s", (int)seq, bed.node[1]->log[0]);
		seal(&words, wire_put_atomic(here(&words), 0, seq, &atomic), 0);
		add_bytes(&words, &one, sizeof(one), WIRE_GOOD);
		if (seq % 64 && seq < LIMIT_VERDICTS)
			continue;
		raw_send(raw, words.bytes, words.length);
		words.length = 0;
		world_pass(bed.world, SIM_SECOND / 1000);
		while (raw_recv(raw, heard, sizeof(heard)))
			;
	}
	cr_assert_eq(bed.node[1]->warns, 1);
	cr_assert(strstr(bed.node[1]->log[0], "WIRE-47"), "%s", bed.node[1]->log[0]);
	memcpy(&sum, words.target->block, sizeof(sum));
	cr_assert_eq(sum, LIMIT_VERDICTS);
	raw_close(raw);
	bed_close(&bed);
}

/* Refused requests, from `seq` on. */
static void say_refused(struct words *words, struct raw *raw, uint64_t seq, unsigned count)
{
	uint8_t heard[4096];

	for (uint64_t end = seq + count; seq < end; seq++) {
		seal(words, wire_put_write(here(words), WIRE_F_FIRST, 4, seq, at(words, 4096), 4, 0), 0);
		add_payload(words, 4, WIRE_GOOD);
		if (seq % 64 && seq + 2 < end)
			continue;
		raw_send(raw, words->bytes, words->length);
		words->length = 0;
		world_pass(words->bed->world, SIM_SECOND / 1000);
		while (raw_recv(raw, heard, sizeof(heard)))
			;
	}
}

/* However much a peer does to be refused: the log has the first lines, one more a second, and how many there are not. */
Test(sim_grants, refusals_do_not_flood_the_log)
{
	enum { MANY = 3000, LOGS = 12 }; /* powers of two among those that are left out */
	struct wire_hello_fields fields;
	struct words words;
	struct node *victim;
	const char *last;
	struct bed bed;
	struct raw *raw;

	static_assert(MANY - LIMIT_LOG_LINES >= 1 << (LOGS - 1) && MANY - LIMIT_LOG_LINES < 1 << LOGS, "so many are left out");
	bed_open(&bed, 91, 2, NULL, NULL);
	victim = bed.node[1];
	words = (struct words){ .bed = &bed, .target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0) };
	fields = plain_hello(&words);
	say_hello(&words, &fields);
	raw = raw_dial(bed.world, party_port(bed.party[1]));
	say_refused(&words, raw, 1, LIMIT_LOG_LINES);
	cr_assert_eq(victim->warns, LIMIT_LOG_LINES, "%u", victim->warns);
	say_refused(&words, raw, LIMIT_LOG_LINES + 1, MANY - LIMIT_LOG_LINES);
	cr_assert_eq(victim->warns, LIMIT_LOG_LINES + LOGS, "%u", victim->warns);
	last = victim->log[(victim->warns - 1) % NODE_LOG_LINES];
	cr_assert(strstr(last, "more requests of peers are refused than are logged") && strstr(last, "2048 left out"), "%s", last);
	bed.world->now_ns += 3 * SIM_SECOND; /* nothing else is due */
	say_refused(&words, raw, MANY + 1, 3);
	cr_assert_eq(victim->warns, LIMIT_LOG_LINES + LOGS + 3, "%u", victim->warns);
	last = victim->log[(victim->warns - 1) % NODE_LOG_LINES];
	cr_assert(strstr(last, "S65"), "%s", last);
	raw_close(raw);
	bed_close(&bed);
}

/* A refusal is a verdict like any other. Nor do refusals, of which most are not logged, keep this from being so. */
Test(sim_grants, more_refusals_than_are_kept)
{
	struct wire_hello_fields fields;
	struct words words;
	struct node *victim;
	const char *last;
	struct bed bed;
	struct raw *raw;

	bed_open(&bed, 90, 2, NULL, NULL);
	victim = bed.node[1];
	words = (struct words){ .bed = &bed, .target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0) };
	fields = plain_hello(&words);
	say_hello(&words, &fields);
	raw = raw_dial(bed.world, party_port(bed.party[1]));
	say_refused(&words, raw, 1, LIMIT_VERDICTS + 1);
	last = victim->log[(victim->warns - 1) % NODE_LOG_LINES];
	cr_assert(victim->warns < LIMIT_VERDICTS, "%u: %s", victim->warns, last);
	cr_assert(strstr(last, "WIRE-47"), "%s", last);
	raw_close(raw);
	bed_close(&bed);
}

/* A READ that is refused half way, as its region is closed, where there is no room to say so: it is not left without an answer,
 * but the connection ends. */
Test(sim_grants, a_refusal_half_way_that_cannot_be_kept)
{
	enum { LONG = 8 << 20 };
	struct wire_hello_fields fields;
	uint8_t heard[4096];
	struct words words;
	struct node *victim;
	struct bed bed;
	struct raw *raw;

	bed_open(&bed, 92, 2, NULL, NULL);
	victim = bed.node[1];
	words = (struct words){ .bed = &bed, .target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0) };
	fields = plain_hello(&words);
	say_hello(&words, &fields);
	raw = raw_dial(bed.world, party_port(bed.party[1]));
	say_refused(&words, raw, 1, LIMIT_VERDICTS);
	bed.world->weather.capacity = 4000; /* the READ's data stop half way until they are read */
	words.target = region_open(bed.party[1], LONG, 1, BED_BOTH, false, 0);
	seal(&words, wire_put_read(here(&words), 0, LIMIT_VERDICTS + 1, at(&words, 0), LONG), 0);
	raw_send(raw, words.bytes, words.length);
	world_pass(bed.world, SIM_SECOND / 1000);
	region_end(words.target);
	while (raw_recv(raw, heard, sizeof(heard)))
		world_pass(bed.world, SIM_SECOND / 1000);
	cr_assert(raw_closed(raw), "the READ has no answer, and its reader waits");
	cr_assert(node_logged(victim, "WIRE-47"), "%s", victim->log[(victim->warns - 1) % NODE_LOG_LINES]);
	raw_close(raw);
	bed_close(&bed);
}
