/* SPDX-License-Identifier: BSD-2-Clause */
/* unproved.c - an endpoint that answers at a peer's address and has not proved the secret ends a connection, and no session in
 * which a peer has. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/sim/harness/cable.h"
#include "tests/sim/harness/words.h"

static const char secret[] = "a secret of 16 B";
static const struct nic_config config = { .secret = secret, .secret_length = sizeof(secret) - 1 };

/* Two endpoints that have greeted each other and got on. Their connection is cut, and party 1 falls asleep. */
static void open_met(struct bed *bed, uint64_t seed, struct region **region)
{
	bed_open(bed, seed, 2, &config, NULL);
	*region = region_open(bed->party[1], 4096, 1, BED_BOTH, false, 0);
	cr_assert(!job_post(job_rma(bed->party[0], *region, OP_WRITE, 0, 100, POST_COMPLETE, 1)));
	model_end(bed->model, BED_LIMIT_NS);
	cable_break(bed->world->cable[0], false);
	while (lines_open(bed->node[0]) + lines_open(bed->node[1]))
		cr_assert(world_step(bed->world));
	bed->node[1]->asleep = true;
}

static struct raw *answer(struct bed *bed)
{
	struct raw *raw;

	while (!(raw = raw_answer(bed->world, party_port(bed->party[1]))))
		cr_assert(world_step(bed->world), "party 0 does not dial again");
	return raw;
}

static void bye(struct words *words, int reason)
{
	seal(words, wire_put_bye(here(words), (enum wire_bye_reason)reason, "by nobody"), 0);
}

static void no_secret(struct words *words, int turn)
{
	struct wire_hello_fields fields = plain_hello(words);

	(void)turn;
	say_hello(words, &fields);
}

static void bad_proof(struct words *words, int turn)
{
	static const uint8_t nonce[WIRE_NONCE_LEN] = { 9 }, guess[WIRE_PROOF_LEN] = { 1 };
	struct wire_address_fields to = { .family = 4, .addr = { 10, 0, 0, 1 }, .port = party_port(words->bed->party[0]) };
	struct wire_hello_fields fields = plain_hello(words);

	fields.features = WIRE_ASK_PROOF;
	seal(words, wire_put_challenge(here(words), nonce, &to), 0);
	if (turn & 1)
		say_hello(words, &fields);
	seal(words, wire_put_proof(here(words), guess), 0);
	bye(words, WIRE_BYE_CLOSED);
}

static void garbage(struct words *words, int turn)
{
	(void)turn;
	memset(here(words), 0xee, 64);
	words->length += 64;
}

static void (*const impostors[])(struct words *words, int turn) = { bye, no_secret, bad_proof, garbage };

Test(sim_unproved, an_impostor_ends_the_connection_alone)
{
	enum { TURNS = 8 }; /* all reasons of BYE, and more than breaches in a row end a session */

	for (size_t i = 0; i < sizeof(impostors) / sizeof(*impostors); i++) {
		struct region *region;
		struct bed bed;

		open_met(&bed, 60 + i, &region);
		cr_assert(!job_post(job_rma(bed.party[0], region, OP_WRITE, 1024, 100, POST_COMPLETE, 1)));
		cr_assert(!job_post(job_rma(bed.party[0], region, OP_READ, 2048, 100, POST_COMPLETE, 1)));
		for (int turn = 0; turn < TURNS; turn++) {
			struct words words = { .bed = &bed, .target = region };
			struct raw *raw;

			raw = answer(&bed);
			impostors[i](&words, turn + 1);
			raw_send(raw, words.bytes, words.length);
			raw_close(raw);
		}
		bed.node[1]->asleep = false;
		model_end(bed.model, BED_LIMIT_NS); /* both went well */
		bed_close(&bed);
	}
}

/* Whereas one that has proved it, and refuses, is believed: no op waits for a peer that has gone. */
Test(sim_unproved, another_that_knows_the_secret_is_believed)
{
	for (uint64_t seed = 70; seed < 90; seed++) {
		struct party *again;
		struct region *region;
		struct node *node;
		struct job *job;
		struct bed bed;

		open_met(&bed, seed, &region);
		job = job_rma(bed.party[0], region, OP_WRITE, 1024, 100, POST_COMPLETE, 1);
		job_may(job, REFUSAL_PEER_GONE);
		job_may(job, REFUSAL_UNKNOWN_KEY); /* or it is told to the new one */
		job->may.good = false;
		cr_assert(!job_post(job));
		bed.node[1]->asleep = false;
		node_kill(bed.node[1]);
		node = node_open(bed.world, &config);
		again = party_again(bed.party[1], node, NULL);
		model_end(bed.model, 2 * SIM_SECOND);
		cr_assert(node_logged(bed.node[0], "the endpoint that was here has gone") ||
				  node_logged(bed.node[0], "it was restarted"),
			  "%s", bed.node[0]->log[0]);
		cr_assert(!job_post(job_message(bed.party[0], again, 100, POST_COMPLETE, 1)));
		model_end(bed.model, 2 * SIM_SECOND);
		bed_close(&bed);
	}
}
