/* SPDX-License-Identifier: BSD-2-Clause */
/* codec.c - encoders give the golden bytes, decoders give back what was encoded. */
#include <criterion/criterion.h>

#include "golden.h"
#include "wire/codec.h"
#include "wire/digest.h"

static const struct wire_hello_fields hello4 = {
	.version_min = 1,
	.version_max = 1,
	.features = WIRE_WANT_PAYLOAD_DIGEST | WIRE_OFFER_NO_DIGEST,
	.instance = { 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 },
	.expected = { 160, 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175 },
	.session = 0x1122334455667788,
	.epoch = 2,
	.seen = 41,
	.verdict_seen = 5,
	.requests = 1024,
	.reads = 128,
	.segment = WIRE_SEGMENT_MIN,
	.at = { .family = 4, .port = 7471, .addr = { 192, 0, 2, 9 } },
};

static const struct wire_hello_fields hello6 = {
	.version_min = 1,
	.version_max = 9,
	.instance = { 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 },
	.session = 7,
	.epoch = 1,
	.requests = 16,
	.reads = 4,
	.segment = WIRE_SEGMENT_MAX,
	.at = { .family = 6, .port = 65535, .addr = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xfe, 0, 0, 1 }, .scope = 3 },
};

static const struct wire_hello_fields hello_pair = {
	.version_min = 2,
	.version_max = 2,
	.features = WIRE_TRUNKS,
	.instance = { 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 },
	.session = 7,
	.epoch = 1,
	.requests = 1024,
	.reads = 128,
	.segment = 128 << 10,
	.at = { .family = 4, .port = 7471, .addr = { 192, 0, 2, 9 } },
	.index = 26,
	.peer_index = 3,
};

static const struct wire_pair_fields paired = { .sq_psn = WIRE_PSN_UNKNOWN, .rq_psn = 0x123456, .path_mtu = 1024 };

static const struct wire_hello_fields hello_known = {
	.version_min = 1,
	.version_max = 1,
	.instance = { 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 },
	.expected = { 160, 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175 },
	.session = 0x1122334455667788,
	.epoch = 2,
	.seen = 41,
	.verdict_seen = 5,
	.requests = 1024,
	.reads = 128,
	.segment = WIRE_SEGMENT_MIN,
	.at = { .family = 4, .port = 7473, .addr = { 192, 0, 2, 9 } },
	.known_port = 7471,
};

static const struct wire_nak_fields nak = {
	.verdict = 7,
	.ref = 15,
	.cause = 2,
	.access = 0x30,
	.region = 4096,
	.excess = 32,
	.age_ns = 3100000,
};

static const struct wire_target_fields write_to = { .key = 0x9f3c000000000001, .addr = 0x7f0000001000 };
static const struct wire_target_fields part_to = { .key = 0x2a, .key_tail = 0x7461696c00000001, .auth = 0x6175746800000002 };
static const struct wire_target_fields empty_to = { .key = 1, .addr = 2 };
static const struct wire_target_fields tagged_from = { .key = 0x77, .addr = 0x40 };
static const struct wire_target_fields read_from = { .key = 0x2a, .key_tail = 0x7461696c00000003, .addr = 4096 };
static const struct wire_message_fields sent = { .tag = 0x77, .cq_data = 0x88 };
static const struct wire_message_fields sent_empty = { 0 };
static const struct wire_message_fields grouped = { .tag = 0x67726f7570000001, .cq_data = 0x3abcd000002 };
static const struct wire_message_fields waiting = { .tag = 0x67726f7570000001, .cq_data = 0x3abcd000000 | WIRE_COLL_WAIT };
static const struct wire_message_fields begun = { .cq_data = 0xfeedface, .auth = 0x6175746800000007 };
static const struct wire_message_fields ending = { .cq_data = 0x2a77, .invalidate = true };
static const struct wire_message_fields announced = { .tag = 9, .auth = 0x6175746800000004 };

static const struct wire_atomic_fields changed = {
	.to = { .key = 0x2a, .key_tail = 0x7461696c00000005, .auth = 0x6175746800000006, .addr = 4104 },
	.length = 8,
	.cq_data = 0xfeed,
	.kind = WIRE_ATOMIC_COMPARE,
	.op = 12,
	.type = 7,
};
static const struct wire_atomic_fields fetched = {
	.to = { .key = 0x2a, .addr = 0x7f0000002000 },
	.length = 1024,
	.kind = WIRE_ATOMIC_FETCH,
	.op = 10,
	.type = 9,
};

static const struct wire_address_fields challenged = { .family = 4, .port = 7471, .addr = { 192, 0, 2, 9 } };

/* clang-format off */
/* Encodes golden frame `name` from its values. */
static size_t encode(enum golden_name name, void *at)
{
	const uint8_t first_cq = WIRE_F_FIRST | WIRE_F_CQ_DATA, tag_cq = WIRE_F_TAGGED | WIRE_F_CQ_DATA;

	switch (name) {
	case GOLDEN_CHALLENGE: return wire_put_challenge(at, goldens[name].bytes + sizeof(struct wire_head), &challenged);
	case GOLDEN_PROOF: return wire_put_proof(at, goldens[name].bytes + sizeof(struct wire_head));
	case GOLDEN_HELLO4: return wire_put_hello(at, &hello4);
	case GOLDEN_HELLO6: return wire_put_hello(at, &hello6);
	case GOLDEN_HELLO_KNOWN: return wire_put_hello(at, &hello_known);
	case GOLDEN_HELLO_PAIR: return wire_put_hello(at, &hello_pair);
	case GOLDEN_BYE: return wire_put_bye(at, WIRE_BYE_CLOSED, "receiver closed the endpoint");
	case GOLDEN_ACK: return wire_put_ack(at, 6);
	case GOLDEN_PAIR: return wire_put_pair(at, &paired);
	case GOLDEN_WRITE:
		return wire_put_write(at, WIRE_F_FIRST, 8, 7, &write_to, 8, 0);
	case GOLDEN_WRITE_PART: return wire_put_write(at, first_cq, 3, 8, &part_to, 0x100000003, 0xfeedface);
	case GOLDEN_WRITE_EMPTY: return wire_put_write(at, WIRE_F_FIRST, 0, 9, &empty_to, 0, 0);
	case GOLDEN_READ: return wire_put_read(at, 0, 10, &read_from, 1ULL << 40);
	case GOLDEN_READ_TAGGED: return wire_put_read(at, WIRE_F_TAGGED, 22, &tagged_from, 4096);
	case GOLDEN_TAKEN: return wire_put_taken(at, 23, 22, WIRE_CANCELLED);
	case GOLDEN_SEND: return wire_put_send(at, tag_cq, 5, 11, &sent);
	case GOLDEN_SEND_EMPTY: return wire_put_send(at, 0, 0, 12, &sent_empty);
	case GOLDEN_RTS: return wire_put_rts(at, WIRE_F_TAGGED, 1 << 20, 13, &announced);
	case GOLDEN_SEND_GROUP: return wire_put_send(at, WIRE_F_COLLECTIVE, 0, 45, &grouped);
	case GOLDEN_SEND_WAIT: return wire_put_send(at, WIRE_F_COLLECTIVE, 0, 46, &waiting);
	case GOLDEN_RSEND_PART: return wire_put_rsend(at, first_cq | WIRE_F_SOLICITED, 3, 24, 0x100000003, &begun);
	case GOLDEN_RSEND: return wire_put_rsend(at, WIRE_F_FIRST, 2, 25, 2, &ending);
	case GOLDEN_ATOMIC: return wire_put_atomic(at, WIRE_F_CQ_DATA | WIRE_F_COMMIT, 14, &changed);
	case GOLDEN_ATOMIC_READ: return wire_put_atomic(at, 0, 15, &fetched);
	case GOLDEN_CONNECT: return wire_put_cm(at, WIRE_CONNECT, 4, 16, 0x7265710000000001);
	case GOLDEN_ACCEPT: return wire_put_cm(at, WIRE_ACCEPT, 2, 17, 0x7265710000000001);
	case GOLDEN_REJECT: return wire_put_cm(at, WIRE_REJECT, 0, 18, 0x7265710000000002);
	case GOLDEN_DATA: return wire_put_data(at, 0, 17, 10, 65536, 17);
	case GOLDEN_DATA_EMPTY: return wire_put_data(at, 0, 0, 11, 0, 0);
	case GOLDEN_DATA_PULLED: return wire_put_data(at, WIRE_F_PULLED, 6, 13, 4096, 1000000);
	case GOLDEN_PULL: return wire_put_pull(at, 13, 4096, (1 << 20) - 4096);
	case GOLDEN_RNR: return wire_put_rnr(at, 14, 1000);
	case GOLDEN_NAK: return wire_put_nak(at, &nak);
	case GOLDEN_PARK: return wire_put_verdict(at, WIRE_PARK, 8, 16);
	case GOLDEN_DONE: return wire_put_verdict(at, WIRE_DONE, 9, 13);
	case GOLDEN_RESULT: return wire_put_result(at, 8, 10, 14);
	case GOLDENS: break;
	}
	cr_assert_fail("no encoding of golden frame %d", name);
	return 0;
}
/* clang-format on */

/* head.ack of a golden frame, as the text has it. */
static uint64_t golden_ack(const struct golden *golden)
{
	return wire_get64(((const struct wire_head *)golden->bytes)->ack);
}

Test(codec, accessors_are_big_endian)
{
	cr_assert_eq(wire_put16(0x0102).b[0], 1);
	cr_assert_eq(wire_put32(0x01020304).b[3], 4);
	cr_assert_eq(wire_put64(0x0102030405060708).b[1], 2);
	cr_assert_eq(wire_get16(wire_put16(0xfffe)), 0xfffe);
	cr_assert_eq(wire_get32(wire_put32(0xfffefdfc)), 0xfffefdfc);
	cr_assert_eq(wire_get64(wire_put64(0xfffefdfcfbfaf9f8)), 0xfffefdfcfbfaf9f8);
}

/* WIRE-1 to WIRE-9: head and body of every op, digest included. */
Test(codec, encoders_give_the_golden_bytes)
{
	for (int name = 0; name < GOLDENS; name++) {
		uint8_t frame[WIRE_FRAME_MAX];
		size_t length;

		memset(frame, 0xee, sizeof(frame)); /* an encoder writes every byte */
		length = encode((enum golden_name)name, frame);
		wire_seal((struct wire_head *)frame, golden_ack(&goldens[name]), true);
		cr_assert_leq(length, goldens[name].length);
		cr_assert_arr_eq(frame, goldens[name].bytes, length, "%s", goldens[name].text);
		if (length < sizeof(frame))
			cr_assert_eq(frame[length], 0xee, "%s writes behind its end", goldens[name].text);
	}
}

/* WIRE-10, WIRE-11: the status is in the digest, also where the payload is not. */
Test(codec, trailer_bytes)
{
	static const uint8_t golden[] = { 0, 0, 0, 2, 0, 0, 0, 0, 3, 4, 5, 6, 7, 8, 9, 10 };
	static const uint8_t without[] = { 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1 };
	uint8_t trailer[sizeof(struct wire_trailer)];

	cr_assert_eq(wire_put_trailer(trailer, WIRE_CANCELLED, 0x0102030405060708), sizeof(golden));
	cr_assert_arr_eq(trailer, golden, sizeof(golden));
	wire_put_trailer(trailer, WIRE_SOURCE_FAULT, 0);
	cr_assert_arr_eq(trailer, without, sizeof(without));
}

Test(codec, sealing_again_replaces_ack_and_digest)
{
	uint8_t once[WIRE_FRAME_MAX], twice[WIRE_FRAME_MAX];
	size_t length = wire_put_ack(once, 4);

	wire_put_ack(twice, 4);
	wire_seal((struct wire_head *)once, 9, true);
	wire_seal((struct wire_head *)twice, 8, true);
	cr_assert_arr_neq(once, twice, length);
	wire_seal((struct wire_head *)twice, 9, true);
	cr_assert_arr_eq(once, twice, length);
	wire_seal((struct wire_head *)twice, 9, false);
	cr_assert_eq(wire_get64(((struct wire_head *)twice)->digest), 0);
}

Test(codec, hello_decodes)
{
	const struct wire_hello_fields *both[] = { &hello4, &hello6, &hello_known };

	for (int i = 0; i < 3; i++) {
		struct wire_hello_fields got;

		memset(&got, 0, sizeof(got));
		wire_get_hello((const struct wire_head *)goldens[GOLDEN_HELLO4 + i].bytes, &got);
		cr_assert_arr_eq(got.instance, both[i]->instance, WIRE_ID_LEN);
		cr_assert_arr_eq(got.expected, both[i]->expected, WIRE_ID_LEN);
		cr_assert_arr_eq(got.at.addr, both[i]->at.addr, sizeof(got.at.addr));
		cr_assert(got.version_min == both[i]->version_min && got.version_max == both[i]->version_max);
		cr_assert(got.features == both[i]->features && got.session == both[i]->session);
		cr_assert(got.epoch == both[i]->epoch && got.seen == both[i]->seen);
		cr_assert(got.verdict_seen == both[i]->verdict_seen && got.requests == both[i]->requests);
		cr_assert(got.reads == both[i]->reads && got.segment == both[i]->segment);
		cr_assert(got.at.family == both[i]->at.family && got.at.port == both[i]->at.port);
		cr_assert_eq(got.at.scope, both[i]->at.scope);
		cr_assert_eq(got.known_port, both[i]->known_port);
	}
}

Test(codec, nak_decodes)
{
	struct wire_nak_fields got;

	wire_get_nak((const struct wire_head *)goldens[GOLDEN_NAK].bytes, &got);
	cr_assert(got.verdict == nak.verdict && got.ref == nak.ref && got.cause == nak.cause);
	cr_assert(got.access == nak.access && got.region == nak.region && got.excess == nak.excess);
	cr_assert_eq(got.age_ns, nak.age_ns);
}

/* WIRE-40: what a caller may put in a sentence, a peer must be able to print. */
Test(codec, bye_text_is_cut_and_cleaned)
{
	uint8_t frame[WIRE_FRAME_MAX + 1] = { 0 };
	struct wire_bye_fields bye;
	char text[200];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	memcpy(text, "tab\t, bell\a, \xc3\xa9", 15);
	wire_put_bye(frame, WIRE_BYE_LIMIT, text);
	cr_assert_eq(frame[WIRE_FRAME_MAX], 0, "writes behind its end");
	cr_assert_eq(wire_check_body((struct wire_head *)frame), WIRE_FLAWLESS);
	wire_get_bye((struct wire_head *)frame, &bye);
	cr_assert_eq(bye.reason, WIRE_BYE_LIMIT);
	cr_assert_eq(strlen(bye.text), WIRE_TEXT_LEN);
	cr_assert_eq(strncmp(bye.text, "tab?, bell?, ??", 15), 0, "%s", bye.text);

	wire_put_bye(frame, WIRE_BYE_CLOSED, "");
	wire_get_bye((struct wire_head *)frame, &bye);
	cr_assert_str_eq(bye.text, "");
}

Test(codec, last_follows_from_rest)
{
	uint8_t frame[WIRE_FRAME_MAX];
	struct wire_head *head = (struct wire_head *)frame;

	wire_put_write(frame, 0, 64, 2, &write_to, 65, 0);
	cr_assert_eq(head->flags, 0);
	wire_put_write(frame, 0, 64, 2, &write_to, 64, 0);
	cr_assert_eq(head->flags, WIRE_F_LAST);
	wire_put_data(frame, 0, 64, 2, 0, 65);
	cr_assert_eq(head->flags, 0);
	wire_put_data(frame, 0, 64, 2, 0, 64);
	cr_assert_eq(head->flags, WIRE_F_LAST);
}
