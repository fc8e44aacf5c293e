/* SPDX-License-Identifier: BSD-2-Clause */
/* secret.c - endpoints with a shared secret: those that know it notice nothing, and no other gets past the greeting,
 * whatever it has heard of theirs. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "tests/sim/harness/words.h"
#include "wire/secret.h"

enum {
	SHORT_NS = SIM_SECOND / 100,
	HEAD = sizeof(struct wire_head),
	HELLO = HEAD + sizeof(struct wire_hello),
	CHALLENGE = HEAD + sizeof(struct wire_challenge),
	PROOF = HEAD + sizeof(struct wire_proof)
};

enum { LONG = 16 };
static const char right[LONG + 1] = "a secret of 16 B", wrong[LONG + 1] = "another of 16 B.";

static const char *which(int n)
{
	return n == 0 ? NULL : n == 1 ? right : wrong;
}

/* Two parties of which each has its secret. */
static void open_two(struct bed *bed, uint64_t seed, const char *a, const char *b)
{
	const char *secret[] = { a, b };

	*bed = (struct bed){ .world = world_open(world_seed(seed)) };
	bed->model = model_open(bed->world);
	bed->world->tapped = true;
	for (int i = 0; i < 2; i++) {
		struct nic_config config = { .secret = secret[i], .secret_length = LONG };

		bed->node[i] = node_open(bed->world, &config);
		bed->party[i] = party_open(bed->model, bed->node[i], NULL);
	}
	bed_meet(bed);
}

/* Each in places of its own: `turn` below 4. */
static void post_both_ways(struct bed *bed, struct region *region[2], uint64_t turn)
{
	for (int i = 0; i < 2; i++) {
		cr_assert(!job_post(job_rma(bed->party[i], region[!i], OP_WRITE, turn * 1024, 100, POST_COMPLETE, 1)));
		cr_assert(!job_post(job_rma(bed->party[i], region[!i], OP_READ, turn * 1024 + 512, 100, POST_COMPLETE, 1)));
		cr_assert(!job_post(job_message(bed->party[i], bed->party[!i], 100, POST_COMPLETE, 1)));
	}
}

static void open_regions(struct bed *bed, struct region *region[2])
{
	for (int i = 0; i < 2; i++)
		region[i] = region_open(bed->party[i], 4096, 1, BED_BOTH, false, 0);
}

/* Both dial at once, too, and each connection of a session proves it again. */
Test(sim_secret, who_knows_it_is_let_in)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct region *region[2];
		struct bed bed;

		open_two(&bed, seed, which(1), which(1));
		open_regions(&bed, region);
		bed.model->counts_exact = false;
		bed.world->weather.dial_max_ns = 1000000;
		bed.world->weather.chunk_max = seed % 2 ? 0 : 11;
		bed.world->weather.cut_mean = seed % 4 ? 0 : 900;
		bed.world->weather.cuts_left = 20;
		for (uint64_t turn = 0; turn < 4; turn++)
			post_both_ways(&bed, region, turn);
		model_end(bed.model, BED_LIMIT_NS);
		cr_assert_geq(tap_count(bed.world, TAP_PROOF), 2);
		for (uint32_t cable = 0; cable < bed.world->cables_made; cable++)
			for (uint8_t dir = 0; dir < 2; dir++) {
				const struct tap *tap = tap_find(bed.world, cable, dir);

				for (uint32_t i = 0; tap && i < tap->frames; i++)
					cr_assert(i >= 3 || tap->frame[i].kind <= TAP_BYE, "a request before the proof");
			}
		bed_close(&bed);
	}
}

/* Itself, by a connection like any other. */
Test(sim_secret, an_endpoint_that_addresses_itself)
{
	struct region *region[2];
	struct bed bed;

	open_two(&bed, 3, which(1), which(1));
	open_regions(&bed, region);
	cr_assert(!job_post(job_rma(bed.party[0], region[0], OP_WRITE, 0, 100, POST_COMPLETE, 1)));
	cr_assert(!job_post(job_message(bed.party[0], bed.party[0], 100, POST_COMPLETE, 1)));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* A greeting in which memory runs out goes on by another connection, or ends. */
Test(sim_secret, memory_that_runs_out)
{
	uint64_t refused = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct region *region[2];
		struct bed bed;

		open_two(&bed, seed, which(1), which(1));
		open_regions(&bed, region);
		bed.model->counts_exact = false;
		model_scarce(bed.model);
		bed.world->weather.scarce_permille = 300;
		bed.world->weather.scarce_left = (uint32_t)(seed % 8);
		post_both_ways(&bed, region, 0);
		model_end(bed.model, BED_LIMIT_NS);
		refused += bed.world->refused_memory;
		bed_close(&bed);
	}
	cr_assert_gt(refused, 0);
}

static void expect_refused(struct job *job)
{
	job->may = (struct outcomes){ .good = false };
	job_may(job, REFUSAL_SECRET);
	cr_assert(!job_post(job));
}

/* Both are told in words, and the ops fail at once (WIRE-101). */
Test(sim_secret, others_are_told)
{
	static const int pairs[][2] = { { 1, 2 }, { 1, 0 }, { 0, 1 } };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct region *region[2];
		struct bed bed;

		open_two(&bed, 10 + i, which(pairs[i][0]), which(pairs[i][1]));
		open_regions(&bed, region);
		expect_refused(job_rma(bed.party[0], region[1], OP_WRITE, 0, 100, POST_COMPLETE, 1));
		expect_refused(job_rma(bed.party[0], region[1], OP_READ, 512, 100, POST_COMPLETE, 1));
		expect_refused(job_message(bed.party[0], bed.party[1], 100, POST_COMPLETE, 1));
		model_end(bed.model, SIM_SECOND);
		for (int n = 0; n < 2; n++)
			cr_assert(node_logged(bed.node[n], "(the secret)"), "pair %zu, node %d: %s", i, n, bed.node[n]->log[0]);
		cr_assert_eq(bed.party[1]->ep->session_count, 0);
		/* Nothing of it lasts: it is tried again by the next op. */
		expect_refused(job_rma(bed.party[0], region[1], OP_WRITE, 1024, 100, POST_COMPLETE, 1));
		model_end(bed.model, SIM_SECOND);
		bed_close(&bed);
	}
}

/* --- strangers --- */

static struct wire_hello_fields proving_hello(struct words *words)
{
	struct wire_hello_fields fields = plain_hello(words);

	fields.features = WIRE_ASK_PROOF;
	return fields;
}

static void say_challenge(struct words *words, const struct sockaddr_storage *to)
{
	static const uint8_t nonce[WIRE_NONCE_LEN] = { 9 };
	struct wire_address_fields fields;

	address_put(to, &fields);
	seal(words, wire_put_challenge(here(words), nonce, &fields), 0);
}

static void say_proof(struct words *words, const uint8_t *proof)
{
	static const uint8_t guess[WIRE_PROOF_LEN] = { 1, 2, 3 };

	seal(words, wire_put_proof(here(words), proof ? proof : guess), 0);
}

static void say_write(struct words *words)
{
	seal(words, wire_put_write(here(words), WIRE_F_FIRST, 64, 1, at(words, 0), 64, 0), 0);
	add_payload(words, 64, WIRE_GOOD);
}

static const struct sockaddr_storage *victim_name(const struct words *words)
{
	return &words->bed->party[1]->name;
}

static void greet(struct words *words)
{
	struct wire_hello_fields fields = proving_hello(words);

	say_hello(words, &fields);
}

static void asks_for_no_proof(struct words *words)
{
	struct wire_hello_fields fields = plain_hello(words);

	say_hello(words, &fields);
	say_write(words);
}

static void does_not_wait(struct words *words)
{
	greet(words);
	say_write(words);
}

static void does_not_wait_for_the_proof(struct words *words)
{
	greet(words);
	say_challenge(words, victim_name(words));
	say_write(words);
}

static void proves_without_challenge(struct words *words)
{
	greet(words);
	say_proof(words, NULL);
	say_write(words);
}

static void guesses(struct words *words)
{
	greet(words);
	say_challenge(words, victim_name(words));
	say_proof(words, NULL);
	say_write(words);
}

static void means_another(struct words *words)
{
	greet(words);
	say_challenge(words, &words->bed->party[0]->name);
	say_proof(words, NULL);
}

/* Of the same host. */
static void means_another_port(struct words *words)
{
	struct sockaddr_storage to = *victim_name(words);

	((struct sockaddr_in *)&to)->sin_port ^= 1;
	greet(words);
	say_challenge(words, &to);
	say_proof(words, NULL);
}

static void greets_twice(struct words *words)
{
	greet(words);
	say_challenge(words, victim_name(words));
	greet(words);
}

static void challenges_first(struct words *words)
{
	say_challenge(words, victim_name(words));
}

static void acknowledges(struct words *words)
{
	greet(words);
	say_challenge(words, victim_name(words));
	((struct wire_head *)(words->bytes + HELLO))->ack = wire_put64(1);
}

static void falls_silent(struct words *words)
{
	greet(words);
	say_challenge(words, victim_name(words));
}

static const struct {
	void (*words)(struct words *words);
	const char *reason; /* what the log says */
} strangers[] = {
	{ asks_for_no_proof, "the peer has none (the secret)" },
	{ does_not_wait, "WIRE-20" },
	{ does_not_wait_for_the_proof, "WIRE-20" },
	{ proves_without_challenge, "WIRE-102" },
	{ guesses, "not the same secret (the secret)" },
	{ means_another, "another address" },
	{ means_another_port, "another address" },
	{ greets_twice, "WIRE-102" },
	{ challenges_first, "WIRE-102" },
	{ acknowledges, "WIRE-27" },
	{ falls_silent, "no HELLO and proof of the secret" },
};

/* Expects that the connection ends for this reason, and that nothing is kept of it and nothing done. */
static void expect_out(struct bed *bed, struct raw *raw, const char *reason)
{
	struct node *victim = bed->node[1];
	uint8_t heard[1024];
	uint64_t end_ns = bed->world->now_ns + TIME_HELLO_NS + SIM_SECOND;

	while (!raw_closed(raw) && bed->world->now_ns < end_ns) {
		world_pass(bed->world, SHORT_NS);
		while (raw_recv(raw, heard, sizeof(heard)))
			;
	}
	cr_assert(raw_closed(raw), "%s", reason);
	raw_close(raw);
	cr_assert_eq(victim->warns, 1, "%s: %u lines, the first: %s", reason, victim->warns, victim->log[0]);
	cr_assert(strstr(victim->log[0], reason), "not %s: %s", reason, victim->log[0]);
	cr_assert_eq(bed->party[1]->ep->session_count, 0, "%s: a session is kept", reason);
}

Test(sim_secret, strangers_get_no_further_than_the_greeting)
{
	for (size_t i = 0; i < sizeof(strangers) / sizeof(*strangers); i++) {
		struct region *region[2];
		struct words words;
		struct bed bed;
		struct raw *raw;

		open_two(&bed, 20 + i, which(1), which(1));
		open_regions(&bed, region);
		words = (struct words){ .bed = &bed, .target = region[1] };
		strangers[i].words(&words);
		raw = raw_dial(bed.world, party_port(bed.party[1]));
		raw_send(raw, words.bytes, words.length);
		expect_out(&bed, raw, strangers[i].reason);
		post_both_ways(&bed, region, 0); /* the others did not notice */
		model_end(bed.model, BED_LIMIT_NS);
		bed_close(&bed);
	}
}

/* --- eavesdroppers --- */

static void expect_logged(struct bed *bed, struct raw *raw, int node, const char *words)
{
	for (int i = 0; i < 100 && !node_logged(bed->node[node], words); i++)
		raw_pause(raw);
	cr_assert(node_logged(bed->node[node], words), "%s", bed->node[node]->log[0]);
}

/* Takes a dial of party 0's for an op that must fail if `refused`; its peer is asleep from then on. */
static struct raw *intercept(struct bed *bed, struct region *region, uint64_t offset, bool refused)
{
	struct job *job = job_rma(bed->party[0], region, OP_WRITE, offset, 100, POST_COMPLETE, 1);
	struct raw *raw;

	bed->node[1]->asleep = true;
	if (refused)
		expect_refused(job);
	else
		cr_assert(!job_post(job));
	while (!(raw = raw_answer(bed->world, party_port(bed->party[1]))))
		cr_assert(world_step(bed->world));
	return raw;
}

static void end_interception(struct bed *bed, struct raw *raw)
{
	raw_close(raw);
	bed->node[1]->asleep = false;
	model_end(bed->model, BED_LIMIT_NS);
	bed_close(bed);
}

static const size_t greeting[] = { HELLO + CHALLENGE, CHALLENGE, PROOF, HELLO + PROOF }; /* in turns */
enum { DIALLER_SAYS = HELLO + CHALLENGE + PROOF, ACCEPTER_SAYS = CHALLENGE + HELLO + PROOF };

/* A stranger that has heard a whole greeting, as a forwarder does, says the same again: to the accepter, and to the dialler
 * (WIRE-103). */
Test(sim_secret, replayed_greetings)
{
	uint8_t said[2][ACCEPTER_SAYS + DIALLER_SAYS], *end[2] = { said[0], said[1] };
	struct region *region[2];
	struct raw *side[2];
	struct bed bed;

	open_two(&bed, 40, which(1), which(1));
	open_regions(&bed, region);
	side[0] = intercept(&bed, region[1], 0, false);
	bed.node[1]->asleep = false;
	side[1] = raw_dial(bed.world, party_port(bed.party[1]));
	for (int i = 0; i < 4; i++) {
		raw_hear(side[i & 1], end[i & 1], greeting[i]);
		raw_send(side[!(i & 1)], end[i & 1], greeting[i]);
		end[i & 1] += greeting[i];
	}
	raw_close(side[0]);
	raw_close(side[1]);
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert_eq(bed.node[0]->warns + bed.node[1]->warns, 0, "%s %s", bed.node[0]->log[0], bed.node[1]->log[0]);

	side[1] = raw_dial(bed.world, party_port(bed.party[1]));
	raw_send(side[1], said[0], DIALLER_SAYS);
	expect_logged(&bed, side[1], 1, "not the same secret");
	raw_close(side[1]);
	party_close(bed.party[1]);
	bed_close(&bed);
}

Test(sim_secret, a_replayed_accepter)
{
	uint8_t said[DIALLER_SAYS + ACCEPTER_SAYS];
	struct region *region[2];
	struct wire_hello_fields fields;
	struct wire_secret keys;
	struct words words;
	struct raw *raw, *other;
	struct bed bed;

	open_two(&bed, 44, which(1), which(1));
	open_regions(&bed, region);
	raw = intercept(&bed, region[1], 0, true);
	raw_hear(raw, said, HELLO + CHALLENGE);
	/* The accepter's answer to the words of a peer that knows the secret. */
	words = (struct words){ .bed = &bed, .target = region[1] };
	fields = proving_hello(&words);
	fields.at.addr[1] = fields.at.addr[2] = 0;
	fields.at.addr[3] = 1;
	fields.at.port = party_port(bed.party[0]);
	say_hello(&words, &fields);
	say_challenge(&words, victim_name(&words));
	bed.node[1]->asleep = false;
	other = raw_dial(bed.world, party_port(bed.party[1]));
	raw_send(other, words.bytes, words.length);
	raw_hear(other, said, CHALLENGE);
	memcpy(words.bytes + words.length, said, CHALLENGE);
	words.length += CHALLENGE;
	secret_take(&keys, right, LONG);
	secret_prove(&keys, SECRET_DIALLER, words.bytes, words.length, said + CHALLENGE);
	words.length = 0;
	say_proof(&words, said + CHALLENGE);
	raw_send(other, words.bytes, words.length);
	raw_hear(other, said + CHALLENGE, HELLO + PROOF);
	raw_close(other);
	/* The same to an accepter that has drawn another challenge. */
	bed.node[1]->asleep = true;
	raw_send(raw, said, ACCEPTER_SAYS);
	expect_logged(&bed, raw, 0, "not the same secret");
	end_interception(&bed, raw);
}

/* The dialler's own words back to it: its proof is no proof for the other role. */
Test(sim_secret, a_dialler_that_hears_itself)
{
	uint8_t hello[HELLO], challenge[CHALLENGE], proof[PROOF];
	struct wire_challenge *body = (struct wire_challenge *)(challenge + HEAD);
	struct wire_address_fields to;
	struct region *region[2];
	struct raw *raw;
	struct bed bed;

	open_two(&bed, 41, which(1), which(1));
	open_regions(&bed, region);
	raw = intercept(&bed, region[1], 0, true);
	raw_hear(raw, hello, HELLO);
	raw_hear(raw, challenge, CHALLENGE);
	address_put(&bed.party[0]->name, &to);
	body->port = wire_put16(to.port);
	memcpy(body->addr, to.addr, sizeof(to.addr));
	wire_seal((struct wire_head *)challenge, 0, true);
	raw_send(raw, challenge, CHALLENGE);
	raw_hear(raw, proof, PROOF);
	raw_send(raw, hello, HELLO);
	raw_send(raw, proof, PROOF);
	expect_logged(&bed, raw, 0, "not the same secret");
	end_interception(&bed, raw);
}

/* Its dial is led to another endpoint that knows the secret: here, to itself (WIRE-105). */
Test(sim_secret, a_dial_that_is_led_elsewhere)
{
	enum { BYE = HEAD + sizeof(struct wire_bye) };
	uint8_t bytes[HELLO + CHALLENGE];
	struct region *region[2];
	struct raw *raw, *elsewhere;
	struct bed bed;

	open_two(&bed, 42, which(1), which(1));
	open_regions(&bed, region);
	raw = intercept(&bed, region[1], 0, true);
	raw_hear(raw, bytes, HELLO + CHALLENGE);
	elsewhere = raw_dial(bed.world, party_port(bed.party[0]));
	raw_send(elsewhere, bytes, HELLO + CHALLENGE);
	raw_hear(elsewhere, bytes, BYE);
	cr_assert(node_logged(bed.node[0], "another address"), "%s", bed.node[0]->log[0]);
	raw_close(elsewhere);
	raw_send(raw, bytes, BYE);
	end_interception(&bed, raw);
}

/* A peer that answers and does not prove gets no request. */
Test(sim_secret, an_accepter_that_proves_nothing)
{
	for (int asks = 0; asks < 2; asks++) {
		struct wire_hello_fields fields;
		struct region *region[2];
		struct words words;
		uint8_t heard[HELLO + CHALLENGE];
		char who[64], line[160];
		struct raw *raw;
		struct bed bed;

		open_two(&bed, 43 + (uint64_t)asks, which(1), which(1));
		open_regions(&bed, region);
		raw = intercept(&bed, region[1], 0, true);
		raw_hear(raw, heard, HELLO + CHALLENGE);
		words = (struct words){ .bed = &bed, .target = region[1] };
		fields = asks ? proving_hello(&words) : plain_hello(&words);
		fields.session = wire_get64(((struct wire_hello *)(heard + HEAD))->session);
		if (asks)
			say_challenge(&words, &bed.party[0]->name);
		say_hello(&words, &fields);
		if (asks)
			say_proof(&words, NULL);
		raw_send(raw, words.bytes, words.length);
		address_text(victim_name(&words), who, sizeof(who)); /* as it was dialled, whatever it calls itself */
		snprintf(line, sizeof(line), "connection with %s refused: %s", who,
			 asks ? "the two have not the same secret" : "a secret is asked for here, and the peer has none");
		expect_logged(&bed, raw, 0, line);
		cr_assert_eq(tap_count(bed.world, TAP_WRITE), 0);
		end_interception(&bed, raw);
	}
}

/* The accepter that knows the secret and has something to refuse proves before its HELLO, and then says BYE. Once. */
Test(sim_secret, an_accepter_that_proves_twice)
{
	uint8_t said[DIALLER_SAYS + CHALLENGE], *mine = said + HELLO + CHALLENGE, proof[WIRE_PROOF_LEN];
	struct region *region[2];
	struct wire_secret keys;
	struct words words;
	struct raw *raw;
	struct bed bed;

	open_two(&bed, 45, which(1), which(1));
	open_regions(&bed, region);
	raw = intercept(&bed, region[1], 0, false);
	raw_hear(raw, said, HELLO + CHALLENGE);
	words = (struct words){ .bed = &bed, .target = region[1] };
	say_challenge(&words, &bed.party[0]->name);
	memcpy(mine, words.bytes, CHALLENGE);
	raw_send(raw, words.bytes, words.length);
	raw_hear(raw, mine + CHALLENGE, PROOF);
	secret_take(&keys, right, LONG);
	secret_prove(&keys, SECRET_ACCEPTER, said, sizeof(said), proof);
	words.length = 0;
	say_proof(&words, proof);
	raw_send(raw, words.bytes, words.length);
	raw_pause(raw);
	cr_assert_eq(bed.node[0]->warns, 0, "%s", bed.node[0]->log[0]);
	raw_send(raw, words.bytes, words.length);
	expect_logged(&bed, raw, 0, "WIRE-102");
	end_interception(&bed, raw);
}
