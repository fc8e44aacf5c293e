/* SPDX-License-Identifier: BSD-2-Clause */
/* tokens.c - authorization keys where there is a shared secret: a peer that has a key is taken, through every cut. A peer that
 * knows the secret, but has no more of a key than the wire has shown, is not. */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/regions/auth.h"
#include "emu/nic/transport/session.h"
#include "tests/sim/harness/words.h"
#include "wire/digest.h"
#include "wire/secret.h"

enum {
	HEAD = sizeof(struct wire_head),
	HELLO = HEAD + sizeof(struct wire_hello),
	CHALLENGE = HEAD + sizeof(struct wire_challenge),
	PROOF = HEAD + sizeof(struct wire_proof),
	LONG = 100000
};

static const struct nic_config config = { .secret = "a secret of 16 B", .secret_length = 16, .segment = WIRE_SEGMENT_MIN };

static uint64_t job_key(void)
{
	return auth_proof("the key of this job", 19);
}

static struct region *open_two(struct bed *bed, uint64_t seed)
{
	struct region *region;

	bed_open(bed, seed, 2, &config, NULL);
	for (int i = 0; i < 2; i++)
		bed->party[i]->ep->attr.auth = job_key();
	region = region_open(bed->party[1], 4 * LONG, 1, BED_BOTH, false, 0);
	region->mr->auth = job_key();
	return region;
}

static void good(struct job *job)
{
	job->may = (struct outcomes){ .good = true };
	cr_assert(!job_post(job));
}

/* Every kind of request, some of several segments, on connections that break. */
Test(sim_tokens, the_key_is_known_on_every_connection)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct region *region;
		struct bed bed;

		region = open_two(&bed, seed);
		bed.model->counts_exact = false;
		bed.world->weather.cut_mean = 60000;
		bed.world->weather.cuts_left = 20;
		good(job_rma(bed.party[0], region, OP_WRITE, 0, LONG, POST_COMPLETE | POST_CQ_DATA, 1));
		good(job_rma(bed.party[0], region, OP_READ, 2 * LONG, LONG, POST_COMPLETE, 1));
		good(job_atomic(bed.party[0], region, JOB_FETCH_SUM, LONG + 96, 8, POST_COMPLETE, 1));
		good(job_message(bed.party[0], bed.party[1], 100, POST_COMPLETE, 1));
		good(job_message(bed.party[0], bed.party[1], LONG, POST_COMPLETE, 1));
		good(job_message(bed.party[1], bed.party[0], LONG, POST_COMPLETE, 1));
		model_end(bed.model, BED_LIMIT_NS);
		cr_assert_eq(bed.node[0]->warns + bed.node[1]->warns, 0);
		bed_close(&bed);
	}
}

/* WIRE-74 */
Test(sim_tokens, another_key_is_refused)
{
	struct region *region;
	struct job *job;
	struct bed bed;

	region = open_two(&bed, 30);
	bed.party[0]->ep->attr.auth = auth_proof("the key of another job", 22);
	for (int read = 0; read < 2; read++) {
		job = job_rma(bed.party[0], region, read ? OP_READ : OP_WRITE, 0, LONG, POST_COMPLETE, 1);
		job->may = (struct outcomes){ .good = false };
		job_may(job, REFUSAL_AUTH);
		cr_assert(!job_post(job));
		model_finish(bed.model, BED_LIMIT_NS);
	}
	job = job_message(bed.party[0], bed.party[1], 100, POST_COMPLETE, 1);
	job->may = (struct outcomes){ .good = false };
	job_may(job, REFUSAL_AUTH);
	cr_assert(!job_post(job));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* --- a peer with the secret, and no key --- */

struct insider {
	struct bed bed;
	struct words words;
	struct raw *raw;
	uint64_t seq;
	struct wire_secret secret;
	uint8_t salt[WIRE_PROOF_LEN];
};

static void hear(struct insider *in, size_t length)
{
	raw_hear(in->raw, here(&in->words), length);
	in->words.length += length;
}

/* The words are those of both sides, and so what the proofs are about. */
static void meet(struct insider *in)
{
	struct wire_hello_fields fields = plain_hello(&in->words);
	uint8_t nonce[WIRE_NONCE_LEN] = { 3 };
	struct wire_address_fields to;

	secret_take(&in->secret, config.secret, config.secret_length);
	in->words.length = 0;
	in->seq = 1;
	in->raw = raw_dial(in->bed.world, party_port(in->bed.party[1]));
	fields.features = WIRE_ASK_PROOF;
	say_hello(&in->words, &fields);
	address_put(&in->bed.party[1]->name, &to);
	seal(&in->words, wire_put_challenge(here(&in->words), nonce, &to), 0);
	raw_send(in->raw, in->words.bytes, in->words.length);
	hear(in, CHALLENGE);
}

static void prove(struct insider *in)
{
	uint8_t proof[WIRE_PROOF_LEN];

	secret_prove(&in->secret, SECRET_DIALLER, in->words.bytes, in->words.length, proof);
	seal(&in->words, wire_put_proof(here(&in->words), proof), 0);
	raw_send(in->raw, in->words.bytes + in->words.length - PROOF, PROOF);
}

static void greet(struct insider *in)
{
	meet(in);
	prove(in);
	hear(in, HELLO + PROOF);
	secret_salt(&in->secret, in->words.bytes, in->words.length, in->salt);
	in->words.length = 0;
}

/* Asks in every way, showing that; how many were refused. */
static uint32_t ask(struct insider *in, uint64_t shown)
{
	struct wire_target_fields to = *at(&in->words, 0);
	struct wire_message_fields message = { .auth = shown };
	struct wire_atomic_fields atomic = { .length = 8, .kind = WIRE_ATOMIC_FETCH, .op = ATOMIC_SUM, .type = ATOMIC_UINT64 };
	uint32_t before = in->bed.node[1]->warns;

	to.auth = shown;
	atomic.to = to;
	seal(&in->words, wire_put_write(here(&in->words), WIRE_F_FIRST, 8, in->seq++, &to, 8, 0), 0);
	add_payload(&in->words, 8, WIRE_GOOD);
	seal(&in->words, wire_put_read(here(&in->words), 0, in->seq++, &to, 8), 0);
	seal(&in->words, wire_put_atomic(here(&in->words), 0, in->seq++, &atomic), 0);
	add_payload(&in->words, 8, WIRE_GOOD);
	seal(&in->words, wire_put_send(here(&in->words), 0, 8, in->seq++, &message), 0);
	add_payload(&in->words, 8, WIRE_GOOD);
	raw_send(in->raw, in->words.bytes, in->words.length);
	in->words.length = 0;
	raw_pause(in->raw);
	return in->bed.node[1]->warns - before;
}

/* WIRE-106: the token of this connection and direction alone. */
Test(sim_tokens, what_was_heard_is_no_key)
{
	enum { ALL = 4 };
	struct insider in = { .seq = 1 };
	uint64_t token;

	in.words.target = open_two(&in.bed, 31);
	in.words.bed = &in.bed;
	in.bed.party[1]->deaf = true;
	region_claim(in.words.target, 0, 8);
	greet(&in);
	cr_assert_eq(ask(&in, 0), ALL);
	cr_assert(node_logged(in.bed.node[1], "S158"), "%s", in.bed.node[1]->log[0]);
	cr_assert_eq(ask(&in, job_key()), ALL, "what stands for the key inside is no token");
	cr_assert_eq(ask(&in, AUTH_STRANGE), ALL);
	cr_assert_eq(ask(&in, secret_token(in.salt, SECRET_ACCEPTER, job_key())), ALL, "the other direction's token");
	token = secret_token(in.salt, SECRET_DIALLER, job_key());
	cr_assert_eq(ask(&in, token ^ 1), ALL);
	cr_assert_eq(ask(&in, token), 0, "%s", in.bed.node[1]->log[in.bed.node[1]->warns - 1]);
	raw_close(in.raw);
	in.words.who++;
	greet(&in);
	cr_assert_neq(token, secret_token(in.salt, SECRET_DIALLER, job_key()));
	cr_assert_eq(ask(&in, token), ALL, "another connection's token");
	raw_close(in.raw);
	bed_close(&in.bed);
}

/* A message that was refused since the endpoint had not the key goes on as it began when the endpoint gets the key. */
Test(sim_tokens, a_key_that_comes_to_be_known)
{
	struct wire_target_fields to;
	struct insider in = { .seq = 1 };
	const char *late = "a key that comes late";

	in.words.target = open_two(&in.bed, 32);
	in.words.bed = &in.bed;
	region_claim(in.words.target, 0, 16);
	greet(&in);
	to = *at(&in.words, 0);
	to.auth = secret_token(in.salt, SECRET_DIALLER, digest_bytes(late, strlen(late)));
	seal(&in.words, wire_put_write(here(&in.words), WIRE_F_FIRST, 8, 1, &to, 16, 0), 0);
	add_payload(&in.words, 8, WIRE_GOOD);
	raw_send(in.raw, in.words.bytes, in.words.length);
	raw_pause(in.raw);
	cr_assert_eq(in.bed.node[1]->warns, 1);
	cr_assert_eq(auth_proof(late, strlen(late)), digest_bytes(late, strlen(late)));
	in.words.length = 0;
	to.addr += 8;
	seal(&in.words, wire_put_write(here(&in.words), 0, 8, 2, &to, 8, 0), 0);
	add_payload(&in.words, 8, WIRE_GOOD);
	raw_send(in.raw, in.words.bytes, in.words.length);
	raw_pause(in.raw);
	cr_assert_eq(in.bed.node[1]->warns, 1, "%s", in.bed.node[1]->log[1]);
	raw_close(in.raw);
	bed_close(&in.bed);
}

/* No connection opens that could show no tokens. */
Test(sim_tokens, no_memory_for_them)
{
	struct insider in = { .seq = 1 };
	struct sockaddr_storage at;
	struct session *session;
	struct weather *weather;

	in.words.target = open_two(&in.bed, 33);
	in.words.bed = &in.bed;
	meet(&in);
	address_get(&(struct wire_address_fields){ .family = 4, .port = 100, .addr = { 10, 9, 9, 9 } }, &at);
	node_enter(in.bed.node[1]);
	session = session_get(in.bed.party[1]->ep, &at);
	node_leave(in.bed.node[1]);
	weather = &in.bed.world->weather;
	weather->scarce_permille = 1000;
	weather->scarce_left = 1;
	prove(&in);
	world_pass(in.bed.world, SIM_SECOND);
	cr_assert_eq(weather->scarce_left, 0);
	cr_assert_neq(session->id, 0, "it was let in");
	cr_assert_null(session->conn);
	raw_close(in.raw);
	bed_close(&in.bed);
}
