/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma.c - questions for a service and rdma_cm's words: byte for byte, and every flaw that they may have (WIRE-180, WIRE-182,
 * WIRE-183, WIRE-185). */
#include <criterion/criterion.h>
#include <string.h>

#include "wire/digest.h"
#include "wire/rdma.h"

static const struct wire_service_fields asked = { .kind = WIRE_SERVICE_QUESTION,
						  .nonce = 0x0123456789abcdef,
						  .at = { .family = 4, .port = 7174, .addr = { 10, 0, 0, 2 } } };

static const uint8_t golden_question[44] = {
	0x65, 0x6d, 0x75, 0x73, 0x72, 0x76, 0x63, 0x0a, /* magic */
	0x00, 0x01, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, /* version, kind, port */
	0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, /* nonce */
	0x00, 0x04, 0x1c, 0x06, 10,   0,    0,    2,    /* at: family, number, address */
};

Test(rdma, a_question_byte_for_byte)
{
	struct wire_service_fields fields;
	struct wire_service bytes;

	wire_put_service(&bytes, &asked);
	cr_assert_arr_eq(&bytes, golden_question, sizeof(golden_question));
	cr_assert_eq(wire_get64(bytes.digest), digest_bytes(golden_question, sizeof(golden_question)));
	cr_assert(wire_get_service(&bytes, sizeof(bytes), &fields));
	cr_assert(fields.kind == asked.kind && !fields.port && fields.nonce == asked.nonce);
	cr_assert(!memcmp(&fields.at, &asked.at, sizeof(asked.at)));
}

static bool passes(struct wire_service bytes)
{
	struct wire_service_fields fields;

	bytes.digest = wire_put64(digest_bytes(&bytes, offsetof(struct wire_service, digest)));
	return wire_get_service(&bytes, sizeof(bytes), &fields);
}

Test(rdma, flaws_of_questions)
{
	struct wire_service_fields fields;
	struct wire_service good, bad;

	wire_put_service(&good, &asked);
	cr_assert(passes(good));
	for (size_t length = 0; length < sizeof(good); length++)
		cr_assert(!wire_get_service(&good, length, &fields));
	for (size_t bit = 0; bit < 8 * sizeof(good); bit++) {
		bad = good;
		((uint8_t *)&bad)[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert(!wire_get_service(&bad, sizeof(bad), &fields), "bit %zu", bit);
	}
	bad = good, bad.magic[0] ^= 1;
	cr_assert(!passes(bad));
	bad = good, bad.version = wire_put16(2);
	cr_assert(!passes(bad));
	bad = good, bad.kind = wire_put16(3);
	cr_assert(!passes(bad));
	bad = good, bad.zero[1] = 1;
	cr_assert(!passes(bad));
	bad = good, bad.service = wire_put16(0);
	cr_assert(!passes(bad));
	bad = good, bad.port = wire_put16(1);
	cr_assert(!passes(bad), "a question with a port");
	bad = good, bad.kind = wire_put16(WIRE_SERVICE_ANSWER);
	cr_assert(!passes(bad), "an answer without a port");
	bad.port = wire_put16(1);
	cr_assert(passes(bad));
	bad = good, bad.nonce = wire_put64(0);
	cr_assert(!passes(bad));
}

/* --- words --- */

static const uint8_t request[] = {
	1,   1,   2,    2, 0,  0x12, 0x34, 0x56, 0, 0xab, 0xcd, 0xef, /* version, kind, length, qp_type; qpn; psn */
	3,   4,   1,    7, 6,  1,    0,    0,                         /* resources, depth, flow control, retries, RNR, srq */
	0,   0,   0,    9, 0,  0,    0,    8,                         /* ECE */
	0,   4,   0x10, 1, 10, 0,    0,    1,    0, 0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, /* from */
	0,   4,   0x10, 2, 10, 0,    0,    2,    0, 0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, /* to */
	'h', 'i',
};
static const uint8_t reply[] = {
	1, 2, 1, 0, 0, 0, 0, 5, 0, 0, 0, 6, 1, 2, 0, 7, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 'x',
};
static const uint8_t reject[] = { 1, 3, 3, 0, 0, 0, 0, 28, 'n', 'o', 0 };
static const uint8_t ready[] = { 1, 4, 0, 0, 0, 0, 0, 0 };
static const uint8_t leave[] = { 1, 5, 0, 0, 0, 0, 0, 0 };

static const uint8_t lookup[] = {
	1,   6,   2,    0, 1,  0x11, 0, 0,                                     /* version, kind, length; space */
	0,   4,   0x10, 1, 10, 0,    0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* from */
	0,   4,   0x10, 2, 10, 0,    0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* to */
	'h', 'i',
};
static const uint8_t found[] = { 1, 7, 1, 0, 0, 1, 2, 3, 0x01, 0x23, 0x45, 0x67, 'x' };
static const uint8_t not_found[] = { 1, 7, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 'x' };

static const struct {
	const uint8_t *bytes;
	size_t length;
} words[] = {
	{ request, sizeof(request) }, { reply, sizeof(reply) },   { reject, sizeof(reject) }, { ready, sizeof(ready) },
	{ leave, sizeof(leave) },     { lookup, sizeof(lookup) }, { found, sizeof(found) },   { not_found, sizeof(not_found) },
};
enum { WORDS = sizeof(words) / sizeof(words[0]) };

Test(rdma, words_byte_for_byte)
{
	for (int i = 0; i < WORDS; i++) {
		struct wire_rdma_fields fields;
		uint8_t bytes[WIRE_CM_DATA_MAX];

		cr_assert_null(wire_get_rdma(words[i].bytes, words[i].length, &fields));
		cr_assert_eq(wire_put_rdma(bytes, &fields), words[i].length);
		cr_assert_arr_eq(bytes, words[i].bytes, words[i].length);
	}
}

Test(rdma, fields_of_a_request)
{
	struct wire_rdma_fields fields;
	uint8_t bytes[sizeof(request)];

	cr_assert_null(wire_get_rdma(request, sizeof(request), &fields));
	cr_assert(fields.kind == WIRE_RDMA_REQUEST && fields.qp_type == 2 && fields.qpn == 0x123456 && fields.psn == 0xabcdef);
	cr_assert(fields.responder_resources == 3 && fields.initiator_depth == 4 && fields.flow_control == 1);
	cr_assert(fields.retry_count == 7 && fields.rnr_retry_count == 6 && fields.srq == 1);
	cr_assert(fields.ece_vendor == 9 && fields.ece_options == 8 && fields.from.port == 0x1001 && fields.to.port == 0x1002);
	cr_assert(fields.length == 2 && !memcmp(fields.data, "hi", 2));
	memcpy(bytes, request, sizeof(bytes));
	bytes[3] = 9;
	cr_assert(!wire_get_rdma(bytes, sizeof(bytes), &fields) && fields.qp_type == WIRE_RDMA_XRC_SEND);
}

Test(rdma, fields_of_a_lookup_and_its_answer)
{
	struct wire_rdma_fields fields;

	cr_assert_null(wire_get_rdma(lookup, sizeof(lookup), &fields));
	cr_assert(fields.kind == WIRE_RDMA_LOOKUP && fields.space == 0x111 && fields.length == 2 && !memcmp(fields.data, "hi", 2));
	cr_assert(fields.from.port == 0x1001 && fields.to.port == 0x1002);
	cr_assert_null(wire_get_rdma(found, sizeof(found), &fields));
	cr_assert(fields.status == WIRE_SIDR_SUCCESS && fields.qpn == 0x10203 && fields.qkey == 0x1234567);
	cr_assert_null(wire_get_rdma(not_found, sizeof(not_found), &fields));
	cr_assert(fields.status == WIRE_SIDR_REJECT && !fields.qpn && !fields.qkey);
}

Test(rdma, other_lengths_are_flaws)
{
	struct wire_rdma_fields fields;
	uint8_t longer[sizeof(request) + 1] = { 0 };

	for (int i = 0; i < WORDS; i++) {
		for (size_t length = 0; length < words[i].length; length++)
			cr_assert_not_null(wire_get_rdma(words[i].bytes, length, &fields));
		memcpy(longer, words[i].bytes, words[i].length);
		cr_assert_not_null(wire_get_rdma(longer, words[i].length + 1, &fields));
	}
}

/* A word with one byte changed is flawed. */
static void flawed(const uint8_t *word, size_t length, size_t at, uint8_t byte)
{
	struct wire_rdma_fields fields;
	uint8_t bytes[WIRE_CM_DATA_MAX];

	memcpy(bytes, word, length);
	bytes[at] = byte;
	cr_assert_not_null(wire_get_rdma(bytes, length, &fields), "%u at %zu", byte, at);
}

Test(rdma, flaws_of_words)
{
	for (int i = 0; i < WORDS; i++) {
		flawed(words[i].bytes, words[i].length, 0, 2);
		flawed(words[i].bytes, words[i].length, 1, 0);
		flawed(words[i].bytes, words[i].length, 1, 8);
		flawed(words[i].bytes, words[i].length, 2, 200);
	}
	flawed(request, sizeof(request), 3, 3);  /* UC */
	flawed(request, sizeof(request), 3, 10); /* XRC_RECV */
	flawed(request, sizeof(request), 4, 1);  /* QPN */
	flawed(request, sizeof(request), 8, 1);  /* PSN */
	flawed(request, sizeof(request), 18, 1); /* reserved */
	flawed(request, sizeof(request), 29, 5); /* family */
	flawed(request, sizeof(request), 29, 6); /* another than that of `to` */
	flawed(request, sizeof(request), 37, 1); /* behind an IPv4 address */
	flawed(reply, sizeof(reply), 3, 1);
	flawed(reply, sizeof(reply), 4, 1);
	flawed(reply, sizeof(reply), 17, 1);
	flawed(reject, sizeof(reject), 3, 1);
	flawed(reject, sizeof(reject), 7, 0); /* no reason */
	flawed(reject, sizeof(reject), 5, 1); /* more than 16 bits of it */
	flawed(ready, sizeof(ready), 7, 1);   /* one where none belongs */
	flawed(lookup, sizeof(lookup), 3, 1); /* reserved */
	flawed(lookup, sizeof(lookup), 7, 1);
	flawed(lookup, sizeof(lookup), 9, 6); /* another family than that of `to` */
	flawed(found, sizeof(found), 4, 1);   /* QPN */
	flawed(found, sizeof(found), 3, 1);   /* a queue pair of a service that there is not */
	flawed(not_found, sizeof(not_found), 3, 6);
	flawed(not_found, sizeof(not_found), 11, 1);
}

Test(rdma, data_up_to_the_limits)
{
	static const uint8_t data[WIRE_CM_DATA_MAX] = { 1 };

	for (enum wire_rdma_kind kind = WIRE_RDMA_REQUEST; kind <= WIRE_RDMA_FOUND; kind++) {
		struct wire_rdma_fields fields, got;
		uint8_t bytes[WIRE_CM_DATA_MAX + 1];
		size_t length;

		cr_assert_null(wire_get_rdma(words[kind - 1].bytes, words[kind - 1].length, &fields));
		fields.length = (uint8_t)wire_rdma_room(kind);
		fields.data = data;
		length = wire_put_rdma(bytes, &fields);
		cr_assert_leq(length, (size_t)WIRE_CM_DATA_MAX);
		cr_assert_null(wire_get_rdma(bytes, length, &got));
		bytes[2]++;
		cr_assert_not_null(wire_get_rdma(bytes, length + 1, &got), "one byte more");
	}
}
