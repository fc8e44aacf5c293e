/* SPDX-License-Identifier: BSD-2-Clause */
/* liars.c - peers that are greeted, and addressed, and then say of this side's own requests, or of their memory, what cannot
 * be. Their words must cost no other peer anything. */
#include <criterion/criterion.h>
#include <errno.h>
#include <malloc.h>
#include <netinet/in.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/conn.h"
#include "tests/sim/harness/words.h"

enum { BREAKS = 3 }; /* until a peer is given up */
enum { SHORT_NS = SIM_SECOND / 100, HELLO_BYTES = sizeof(struct wire_head) + sizeof(struct wire_hello) };

/* A victim that has greeted a liar, and may address it. */
struct lie {
	struct bed bed;
	struct words words;
	struct party *victim;
	struct raw *raw;
	struct wire_hello_fields heard; /* the victim's HELLO */
	uint64_t index;                 /* of the liar */
};

static void say(struct lie *lie)
{
	raw_send(lie->raw, lie->words.bytes, lie->words.length);
	lie->words.length = 0;
	world_pass(lie->bed.world, SHORT_NS);
}

static void greet(struct lie *lie)
{
	struct wire_hello_fields fields = plain_hello(&lie->words);
	uint8_t hello[HELLO_BYTES];

	lie->raw = raw_dial(lie->bed.world, party_port(lie->victim));
	say_hello(&lie->words, &fields);
	say(lie);
	cr_assert_eq(raw_recv(lie->raw, hello, sizeof(hello)), sizeof(hello));
	wire_get_hello((struct wire_head *)hello, &lie->heard);
}

static void lie_open(struct lie *lie, uint64_t seed)
{
	struct sockaddr_storage at = { .ss_family = AF_INET };
	struct sockaddr_in *in = (struct sockaddr_in *)&at;

	memset(lie, 0, sizeof(*lie));
	bed_open(&lie->bed, seed, 2, NULL, NULL);
	lie->victim = lie->bed.party[1];
	lie->victim->deaf = true;
	lie->words.bed = &lie->bed;
	in->sin_addr.s_addr = htonl(0x0a090909);
	in->sin_port = htons(100);
	cr_assert_eq(av_insert(lie->victim->av, &at, 0, &lie->index), 0);
	greet(lie);
}

static void lie_close(struct lie *lie)
{
	raw_close(lie->raw);
	world_pass(lie->bed.world, SIM_SECOND);
	bed_close(&lie->bed);
}

static void post(struct lie *lie, enum op_kind kind, void *bytes, uint64_t length)
{
	struct iovec iov = { bytes, length };
	struct remote remote = { .length = length, .key = 1 };
	struct post_atomic atomic = {
		.what = { ATOMIC_FETCH, ATOMIC_SUM, ATOMIC_UINT64 },
		.result = &iov,
		.result_count = 1,
	};
	struct post post = {
		.kind = kind,
		.flags = POST_COMPLETE,
		.dest = lie->index,
		.iov = &iov,
		.iov_count = 1,
		.remote = &remote,
		.remote_count = kind != OP_SEND,
		.atomic = kind == OP_ATOMIC ? &atomic : NULL,
	};

	cr_assert_eq(ep_post(lie->victim->ep, &post), 0);
	world_pass(lie->bed.world, SHORT_NS);
}

static void expect_told(const struct lie *lie, const char *rule)
{
	const struct node *node = lie->bed.node[1];

	cr_assert_eq(node->warns, 1, "%u lines, the first: %s", node->warns, node->log[0]);
	cr_assert(strstr(node->log[0], rule), "%s", node->log[0]);
}

/* A peer that the NIC thread lets in, after the device has done nothing for long, has as much time for HELLO as any other. */
Test(sim_liars, takes_its_time)
{
	struct lie lie;
	struct node *node;
	struct raw *raw;

	lie_open(&lie, 6);
	node = lie.bed.node[1];
	node->asleep = true;
	lie.bed.world->now_ns += 3 * TIME_HELLO_NS;
	raw = raw_dial(lie.bed.world, party_port(lie.victim));
	node_enter(node);
	cr_assert_eq(lines_ops.poll(node), 1);
	node_leave(node);
	node->asleep = false;
	world_pass(lie.bed.world, TIME_HELLO_NS / 2);
	cr_assert_not(raw_closed(raw), "%s", node->log[0]);
	world_pass(lie.bed.world, TIME_HELLO_NS);
	cr_assert(raw_closed(raw));
	expect_told(&lie, "no HELLO");
	raw_close(raw);
	lie_close(&lie);
}

/* An acknowledgement of what has not been sent whole: the op completes, and the buffer is the program's: none of what it
 * holds from then on is sent. */
Test(sim_liars, acknowledges_too_early)
{
	enum { LONG = 100000, RUN = 16 };
	static uint8_t bytes[LONG], heard[2 * LONG];
	struct completion c;
	struct lie lie;
	size_t got = 0, n, run = 0;

	lie_open(&lie, 1);
	memset(bytes, 'a', LONG);
	post(&lie, OP_WRITE, bytes, LONG);
	cr_assert_eq(cq_take(lie.victim->tx, &c, 1), -EAGAIN);
	seal(&lie.words, wire_put_ack(here(&lie.words), 0), 2);
	say(&lie);
	cr_assert_eq(cq_take(lie.victim->tx, &c, 1), 1);
	memset(bytes, 0xee, LONG);
	while ((n = raw_recv(lie.raw, heard + got, sizeof(heard) - got))) {
		got += n;
		world_pass(lie.bed.world, SHORT_NS);
	}
	cr_assert_gt(got, LONG, "the stream stays framed");
	for (size_t i = 0; i < got; i++) {
		run = heard[i] == 0xee ? run + 1 : 0;
		cr_assert_lt(run, RUN, "byte %zu is none that was posted", i);
	}
	lie_close(&lie);
}

/* Peers that have come and gone under ever new addresses leave room for others; not those that are still there. */
Test(sim_liars, comes_under_ever_new_addresses)
{
	struct wire_hello_fields fields;
	struct lie lie;
	struct ep *ep;

	lie_open(&lie, 7);
	raw_close(lie.raw);
	lie.words.who = 1;
	greet(&lie);
	world_pass(lie.bed.world, 2 * TIME_RETRY_BUDGET_NS + SIM_SECOND); /* the first one is given up */
	ep = lie.victim->ep;
	ep->session_count += LIMIT_SESSIONS - 2; /* as if so many others were there */
	for (lie.words.who = 2; lie.words.who < 4; lie.words.who++) {
		struct raw *kept = lie.raw;
		uint8_t op = 0;

		fields = plain_hello(&lie.words);
		say_hello(&lie.words, &fields);
		lie.raw = raw_dial(lie.bed.world, party_port(lie.victim));
		say(&lie);
		cr_assert_eq(raw_recv(lie.raw, &op, 1), 1);
		cr_assert_eq(op, lie.words.who == 2 ? WIRE_HELLO : WIRE_BYE);
		cr_assert_not(raw_closed(kept));
		if (lie.words.who == 2)
			raw_close(kept);
	}
	ep->session_count -= LIMIT_SESSIONS - 2;
	lie_close(&lie);
}

/* READs that are to be asked again after a cut, and RNR for one of them: HELLO has said that it was executed. */
Test(sim_liars, is_not_ready_for_what_it_has_executed)
{
	struct wire_hello_fields fields;
	uint8_t bytes[2][64];
	struct lie lie;

	lie_open(&lie, 2);
	post(&lie, OP_READ, bytes[0], 64);
	post(&lie, OP_READ, bytes[1], 64);
	raw_close(lie.raw);
	fields = plain_hello(&lie.words);
	fields.epoch = 9;
	fields.seen = 2;
	memcpy(fields.expected, lie.heard.instance, WIRE_ID_LEN);
	say_hello(&lie.words, &fields);
	seal(&lie.words, wire_put_rnr(here(&lie.words), 1, 1000), 0);
	lie.raw = raw_dial(lie.bed.world, party_port(lie.victim));
	say(&lie);
	expect_told(&lie, "WIRE-73");
	lie_close(&lie);
}

/* The receives of empty messages are answered one by one, and the answers never acknowledged. */
Test(sim_liars, hears_no_answer)
{
	const struct wire_message_fields fields = { 0 };
	uint8_t heard[4096];
	struct lie lie;

	lie_open(&lie, 3);
	mallopt(M_PERTURB, 0x5a); /* what is freed is not what it was */
	for (uint64_t seq = 1; seq <= LIMIT_VERDICTS + 1; seq++) {
		struct completion c;

		seal(&lie.words, wire_put_rts(here(&lie.words), 0, 0, seq, &fields), 0);
		say(&lie);
		cr_assert_not(raw_closed(lie.raw), "message %d: %s", (int)seq, lie.bed.node[1]->log[0]);
		cr_assert_eq(ep_recv(lie.victim->ep, &(struct recv_post){ .flags = POST_COMPLETE, .source = AV_NONE }), 0);
		world_pass(lie.bed.world, SHORT_NS);
		cr_assert_eq(cq_take(lie.victim->rx, &c, 1), 1);
		while (raw_recv(lie.raw, heard, sizeof(heard)))
			;
	}
	cr_assert(raw_closed(lie.raw));
	lie_close(&lie);
}

/* Pulled bytes come from the offset that was asked for (WIRE-72). */
Test(sim_liars, sends_another_part_than_was_pulled)
{
	const struct wire_message_fields fields = { 0 };
	struct lie lie;

	for (uint64_t offset = 0; offset <= 8; offset += 8) {
		uint8_t bytes[64];
		struct iovec iov = { bytes, sizeof(bytes) };
		struct recv_post receive = { .iov = &iov, .iov_count = 1, .flags = POST_COMPLETE, .source = AV_NONE };

		lie_open(&lie, 12);
		cr_assert_eq(ep_recv(lie.victim->ep, &receive), 0);
		seal(&lie.words, wire_put_rts(here(&lie.words), 0, 64, 1, &fields), 0);
		say(&lie);
		seal(&lie.words, wire_put_data(here(&lie.words), WIRE_F_PULLED, 32, 1, offset, offset ? 64 : 56), 0);
		add_payload(&lie.words, 32, WIRE_GOOD);
		say(&lie);
		expect_told(&lie, "WIRE-72");
		lie_close(&lie);
	}
}

/* DONE has no result, which an ATOMIC that fetches waits for; a WRITE of several segments is not parked (WIRE-192). */
Test(sim_liars, answers_by_another_verdict)
{
	uint64_t bytes[WIRE_SEGMENT_MIN / sizeof(uint64_t) + 1] = { 1 };
	struct lie lie;

	for (int park = 0; park < 2; park++) {
		struct completion c;

		lie_open(&lie, 4);
		post(&lie, park ? OP_WRITE : OP_ATOMIC, bytes, park ? sizeof(bytes) : sizeof(bytes[0]));
		seal(&lie.words, wire_put_verdict(here(&lie.words), park ? WIRE_PARK : WIRE_DONE, 1, 1), 0);
		say(&lie);
		expect_told(&lie, "WIRE-45");
		cr_assert_neq(cq_take(lie.victim->tx, &c, 1), 1);
		lie_close(&lie);
	}
}

/* The bytes of a result are the answer, so they cannot be missing; and it is a verdict, with a number. */
Test(sim_liars, gives_no_result)
{
	uint64_t bytes = 1;
	struct lie lie;

	for (int gap = 0; gap < 2; gap++) {
		lie_open(&lie, 11);
		post(&lie, OP_ATOMIC, &bytes, sizeof(bytes));
		seal(&lie.words, wire_put_result(here(&lie.words), sizeof(bytes), gap ? 2 : 1, 1), 0);
		add_payload(&lie.words, sizeof(bytes), gap ? WIRE_GOOD : WIRE_CANCELLED);
		say(&lie);
		expect_told(&lie, gap ? "WIRE-46" : "WIRE-76");
		cr_assert_neq(cq_take(lie.victim->tx, &(struct completion){ .data = 0 }, 1), 1);
		lie_close(&lie);
	}
}

/* A greeted peer knows the instance id, but not the ids of the endpoint's sessions with itself (WIRE-37). */
Test(sim_liars, is_the_endpoint_itself)
{
	struct wire_hello_fields fields;
	struct region *own;
	struct lie lie;
	uint8_t bye[sizeof(struct wire_head) + sizeof(struct wire_bye)];

	lie_open(&lie, 5);
	raw_close(lie.raw);
	fields = plain_hello(&lie.words);
	memcpy(fields.instance, lie.heard.instance, WIRE_ID_LEN);
	fields.epoch = UINT64_MAX;
	say_hello(&lie.words, &fields);
	lie.raw = raw_dial(lie.bed.world, party_port(lie.victim));
	say(&lie);
	cr_assert_eq(raw_recv(lie.raw, bye, sizeof(bye)), sizeof(bye));
	cr_assert_eq(bye[0], WIRE_BYE);
	lie.victim->deaf = false;
	own = region_open(lie.victim, 4096, 1, BED_BOTH, false, 0);
	cr_assert(!job_post(job_rma(lie.victim, own, OP_WRITE, 0, 1000, POST_COMPLETE, 1)));
	model_end(lie.bed.model, BED_LIMIT_NS);
	lie_close(&lie);
}

static const enum wire_bye_reason nonsense; /* zeros, in the place of a goodbye */

/* A peer that answers each dial and sends it away at once. The ops fail all the same, in time, and the dials do not follow
 * each other without a pause. */
static void turn_away(bool greets, enum wire_bye_reason reason, enum refusal_cause cause)
{
	uint64_t budget_ns = TIME_RETRY_BUDGET_NS, end_ns;
	uint8_t hello[HELLO_BYTES];
	unsigned int dials = 0;
	struct cq_error error;
	struct completion c;
	struct raw *raw;
	struct lie lie;
	uint8_t byte;

	memset(&lie, 0, sizeof(lie));
	bed_open(&lie.bed, 7, 2, NULL, NULL);
	lie.victim = lie.bed.party[0];
	lie.words.bed = &lie.bed;
	lie.bed.node[1]->asleep = true;
	cr_assert_eq(av_insert(lie.victim->av, &lie.bed.party[1]->name, 0, &lie.index), 0);
	end_ns = lie.bed.world->now_ns + 2 * budget_ns;
	post(&lie, OP_WRITE, &byte, 1);
	while (cq_take(lie.victim->tx, &c, 1) == -EAGAIN) {
		struct wire_hello_fields fields = plain_hello(&lie.words);

		WORLD_CHECK(lie.bed.world, lie.bed.world->now_ns < end_ns, "the op does not end");
		raw = raw_answer(lie.bed.world, party_port(lie.bed.party[1]));
		if (!raw) {
			lie.bed.world->now_ns += TIME_MS(1);
			world_pass(lie.bed.world, TIME_MS(1));
			continue;
		}
		dials++;
		cr_assert_eq(raw_recv(raw, hello, sizeof(hello)), sizeof(hello));
		wire_get_hello((struct wire_head *)hello, &lie.heard);
		fields.session = lie.heard.session;
		fields.epoch = lie.heard.epoch;
		if (greets)
			say_hello(&lie.words, &fields);
		if (reason == nonsense)
			lie.words.length += HELLO_BYTES;
		else
			seal(&lie.words, wire_put_bye(here(&lie.words), reason, "not now"), 0);
		raw_send(raw, lie.words.bytes, lie.words.length);
		lie.words.length = 0;
		world_pass(lie.bed.world, TIME_MS(1));
		raw_close(raw);
	}
	cr_assert_eq(cq_take_error(lie.victim->tx, &error), 1);
	cr_assert_eq(error.prov_errno, (int)cause, "%s", error.text);
	if (cause == REFUSAL_PROTOCOL)
		cr_assert_eq(dials, BREAKS, "%u dials", dials);
	cr_assert_leq(dials, budget_ns / TIME_REDIAL_NS, "%u dials", dials);
	lie.bed.node[1]->asleep = false;
	bed_close(&lie.bed);
}

Test(sim_liars, turns_each_dial_away)
{
	turn_away(false, WIRE_BYE_DUPLICATE, REFUSAL_UNREACHABLE);
	turn_away(true, WIRE_BYE_DUPLICATE, REFUSAL_UNREACHABLE);
}

/* A session that begins anew each time, as the peer says that it has given it up. */
Test(sim_liars, forgets_each_session)
{
	turn_away(false, WIRE_BYE_SESSION, REFUSAL_PROTOCOL);
	turn_away(true, WIRE_BYE_SESSION, REFUSAL_PROTOCOL);
	turn_away(false, WIRE_BYE_INSTANCE, REFUSAL_PROTOCOL);
}

/* Delivers what is on its way; no timer of the session's ends meanwhile. */
static void let_arrive(struct world *world)
{
	while (!world_idle(world) || lines_next_ns(world) < world->now_ns + SHORT_NS)
		world_step(world);
}

/* The op of the frame that the victim answers a HELLO with. */
static uint8_t answer_to(struct lie *lie, const struct wire_hello_fields *hello)
{
	struct wire_head head = { .op = 0 };

	raw_close(lie->raw);
	let_arrive(lie->bed.world);
	lie->raw = raw_dial(lie->bed.world, party_port(lie->victim));
	say_hello(&lie->words, hello);
	raw_send(lie->raw, lie->words.bytes, lie->words.length);
	lie->words.length = 0;
	let_arrive(lie->bed.world);
	raw_recv(lie->raw, &head, sizeof(head));
	return head.op;
}

/* WIRE-34: a HELLO that was under way while another connection of its count was open, and was cut, says what is out of date. */
Test(sim_liars, late_hello)
{
	struct wire_hello_fields hello;
	struct lie lie;

	lie_open(&lie, 490);
	hello = plain_hello(&lie.words);
	memcpy(hello.expected, lie.heard.instance, sizeof(hello.expected));
	cr_assert_eq(answer_to(&lie, &hello), WIRE_BYE);
	hello.epoch++;
	cr_assert_eq(answer_to(&lie, &hello), WIRE_HELLO);
	cr_assert_eq(answer_to(&lie, &hello), WIRE_BYE);
	lie_close(&lie);
}

Test(sim_liars, says_that_each_dial_breaks_the_protocol)
{
	turn_away(false, WIRE_BYE_PROTOCOL, REFUSAL_PROTOCOL);
	turn_away(true, WIRE_BYE_PROTOCOL, REFUSAL_PROTOCOL);
}

Test(sim_liars, breaks_the_protocol_at_each_dial)
{
	turn_away(false, nonsense, REFUSAL_PROTOCOL);
	turn_away(true, nonsense, REFUSAL_PROTOCOL);
}

/* A message may have been sent in half: what it is cut in may not change under it. */
Test(sim_liars, grants_other_segments_than_before)
{
	struct wire_hello_fields fields;
	struct lie lie;

	lie_open(&lie, 8);
	raw_close(lie.raw);
	fields = plain_hello(&lie.words);
	fields.epoch = 2;
	fields.segment = 2 * WIRE_SEGMENT_MIN;
	memcpy(fields.expected, lie.heard.instance, WIRE_ID_LEN);
	say_hello(&lie.words, &fields);
	lie.raw = raw_dial(lie.bed.world, party_port(lie.victim));
	say(&lie);
	expect_told(&lie, "WIRE-25");
	lie_close(&lie);
}

/* Requests sent to it are lost with the session; without requests no other session begins. */
Test(sim_liars, forgets_what_it_was_sent)
{
	struct cq_error error;
	uint32_t cables;
	struct lie lie;
	uint8_t byte;

	lie_open(&lie, 9);
	post(&lie, OP_WRITE, &byte, 1);
	cables = lie.bed.world->cables_made;
	seal(&lie.words, wire_put_bye(here(&lie.words), WIRE_BYE_SESSION, "given up"), 0);
	say(&lie);
	cr_assert_eq(cq_take_error(lie.victim->tx, &error), 1);
	cr_assert_eq(error.prov_errno, REFUSAL_PEER_GONE, "%s", error.text);
	cr_assert_eq(lie.bed.world->cables_made, cables, "dials");
	lie_close(&lie);
}

/* Each reason for what it is: the connection's end, or the session's and its ops'; the usual ones are nothing to warn of. */
Test(sim_liars, says_goodbye)
{
	static const struct {
		enum wire_bye_reason reason;
		enum refusal_cause comes_to;
		bool warned;
	} byes[] = {
		{ WIRE_BYE_CLOSED, REFUSAL_PEER_GONE, false },  { WIRE_BYE_VERSION, REFUSAL_PROTOCOL, true },
		{ WIRE_BYE_INSTANCE, REFUSAL_PEER_GONE, true }, { WIRE_BYE_PROTOCOL, REFUSAL_NONE, true },
		{ WIRE_BYE_DUPLICATE, REFUSAL_NONE, false },    { WIRE_BYE_LIMIT, REFUSAL_UNREACHABLE, true },
		{ WIRE_BYE_SESSION, REFUSAL_PEER_GONE, true },  { WIRE_BYE_SECRET, REFUSAL_SECRET, true },
		{ WIRE_BYE_CLAIM, REFUSAL_NONE, true },
	};

	for (size_t i = 0; i < sizeof(byes) / sizeof(byes[0]); i++) {
		struct cq_error error = { .prov_errno = 0 };
		struct session *session;
		struct lie lie;
		uint8_t byte;

		lie_open(&lie, 10);
		session = lie.bed.node[1]->nic->conns->session;
		post(&lie, OP_WRITE, &byte, 1);
		seal(&lie.words, wire_put_bye(here(&lie.words), byes[i].reason, "so it is"), 0);
		say(&lie);
		cr_expect_eq(cq_take_error(lie.victim->tx, &error) == 1, byes[i].comes_to != REFUSAL_NONE);
		cr_expect_eq(error.prov_errno, (int)byes[i].comes_to, "reason %d: %d", byes[i].reason, (int)error.prov_errno);
		cr_expect_eq(session->peer_is == PEER_KNOWN, byes[i].comes_to == REFUSAL_NONE);
		cr_expect_eq(session->failed_conns, byes[i].reason == WIRE_BYE_PROTOCOL);
		cr_expect_eq(lie.bed.node[1]->warns, byes[i].warned, "reason %d", byes[i].reason);
		cr_expect_eq(node_logged(lie.bed.node[1], "so it is"), byes[i].warned, "reason %d", byes[i].reason);
		lie_close(&lie);
	}
}
