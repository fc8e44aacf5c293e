/* SPDX-License-Identifier: BSD-2-Clause */
/* datagram.c - unreliable datagrams: byte for byte, and every flaw that one may have. Digests were made by another build of
 * xxHash. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "wire/datagram.h"
#include "wire/digest.h"

enum { HEAD = 64 };

static const uint8_t whole[] = {
	0x65, 0x6d, 0x75, 0x64, 0x67, 0x72, 0x6d, 0x0a, /* magic */
	0x00, 0x01, 0x00, 0x03, 0x00, 0x04, 0x1d, 0x2f, /* version, flags, family, port */
	0xc0, 0x00, 0x02, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* addr */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0c,                                                 /* scope, payload */
	0x00, 0x00, 0x00, 0x00, 0xfe, 0xed, 0xfa, 0xce,                                                 /* cq_data */
	0x61, 0x75, 0x74, 0x68, 0x00, 0x00, 0x00, 0x07,                                                 /* auth */
	0xf1, 0x2f, 0x1e, 0xa2, 0x52, 0x68, 0x15, 0xbf,                                                 /* digest */
	0x65, 0x6d, 0x75, 0x20, 0x64, 0x61, 0x74, 0x61, 0x67, 0x72, 0x61, 0x6d,                         /* payload */
};

static const uint8_t empty[] = {
	0x65, 0x6d, 0x75, 0x64, 0x67, 0x72, 0x6d, 0x0a, /* magic */
	0x00, 0x01, 0x00, 0x00, 0x00, 0x06, 0xff, 0xff, /* version, flags, family, port */
	0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0xff, 0xfe, 0x00, 0x00, 0x01, /* addr */
	0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00,                                                 /* scope, payload */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,                                                 /* cq_data */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,                                                 /* auth */
	0xae, 0x47, 0x43, 0xfe, 0x33, 0x90, 0x37, 0x1b,                                                 /* digest */
};

static const uint8_t plain[] = {
	0x65, 0x6d, 0x75, 0x64, 0x67, 0x72, 0x6d, 0x0a, /* magic */
	0x00, 0x01, 0x00, 0x00, 0x00, 0x04, 0x00, 0x01, /* version, flags, family, port */
	0x0a, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* addr */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0b,                                                 /* scope, payload */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,                                                 /* cq_data */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,                                                 /* auth */
	0xfe, 0xfc, 0x2c, 0xa0, 0x58, 0xd9, 0x40, 0xcb,                                                 /* digest */
	0x6e, 0x6f, 0x74, 0x20, 0x63, 0x6f, 0x76, 0x65, 0x72, 0x65, 0x64,                               /* payload */
};

static const struct {
	const uint8_t *bytes;
	size_t length;
	struct wire_datagram_fields fields;
} goldens[] = {
	{ whole,
	  sizeof(whole),
	  { .flags = WIRE_DG_CQ_DATA | WIRE_DG_WHOLE,
	    .from = { .family = 4, .port = 7471, .addr = { 192, 0, 2, 9 } },
	    .payload = 12,
	    .cq_data = 0xfeedface,
	    .auth = 0x6175746800000007 } },
	{ empty,
	  sizeof(empty),
	  { .from = { .family = 6,
		      .port = 65535,
		      .addr = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xfe, 0, 0, 1 },
		      .scope = 3 } } },
	{ plain, sizeof(plain), { .from = { .family = 4, .port = 1, .addr = { 10, 0, 0, 1 } }, .payload = 11 } },
};
enum { GOLDENS = sizeof(goldens) / sizeof(goldens[0]) };

Test(datagram, golden_ones_are_written)
{
	for (int i = 0; i < GOLDENS; i++) {
		uint8_t bytes[WIRE_DATAGRAM_MAX];

		memset(bytes, 0xee, sizeof(bytes));
		memcpy(bytes + HEAD, goldens[i].bytes + HEAD, goldens[i].length - HEAD);
		cr_assert_eq(wire_put_datagram(bytes, &goldens[i].fields), goldens[i].length);
		cr_assert_arr_eq(bytes, goldens[i].bytes, goldens[i].length, "golden %d", i);
	}
}

Test(datagram, golden_ones_are_read)
{
	for (int i = 0; i < GOLDENS; i++) {
		const struct wire_datagram_fields *want = &goldens[i].fields;
		struct wire_datagram_fields got;

		cr_assert_eq(wire_check_datagram(goldens[i].bytes, goldens[i].length), WIRE_DG_FLAWLESS, "golden %d", i);
		wire_get_datagram(goldens[i].bytes, &got);
		cr_assert(got.flags == want->flags && got.payload == want->payload && got.cq_data == want->cq_data);
		cr_assert(got.auth == want->auth && got.from.family == want->from.family && got.from.port == want->from.port);
		cr_assert_eq(got.from.scope, want->from.scope);
		cr_assert_arr_eq(got.from.addr, want->from.addr, 16);
	}
}

/* One byte changed, or another length, sealed anew or not. */
static const struct row {
	enum wire_datagram_flaw flaw;
	const uint8_t *bytes;
	size_t length; /* given to the validator */
	int offset;
	uint8_t value;
	bool seal;
} rows[] = {
	{ WIRE_DG_SHORT, whole, 0, 0, 'e', false },
	{ WIRE_DG_SHORT, whole, HEAD - 1, 0, 'e', false },
	{ WIRE_DG_MAGIC, whole, sizeof(whole), 0, 'E', true },
	{ WIRE_DG_MAGIC, whole, sizeof(whole), 7, 0, true },
	{ WIRE_DG_VERSION, whole, sizeof(whole), 9, 0, true },
	{ WIRE_DG_VERSION, whole, sizeof(whole), 9, 2, true },
	{ WIRE_DG_FLAGS, whole, sizeof(whole), 11, 7, true },
	{ WIRE_DG_FLAGS, whole, sizeof(whole), 11, 8, true },
	{ WIRE_DG_FLAGS, whole, sizeof(whole), 10, 1, true },
	{ WIRE_DG_LENGTH, whole, sizeof(whole) - 1, 0, 'e', true },
	{ WIRE_DG_LENGTH, whole, sizeof(whole), 39, 11, true },
	{ WIRE_DG_LENGTH, whole, sizeof(whole), 39, 13, true },
	{ WIRE_DG_LENGTH, whole, sizeof(whole), 36, 1, false },
	{ WIRE_DG_LENGTH, empty, sizeof(empty), 38, 1, false },
	{ WIRE_DG_ADDRESS, whole, sizeof(whole), 13, 5, true },
	{ WIRE_DG_ADDRESS, whole, sizeof(whole), 20, 1, true },
	{ WIRE_DG_ADDRESS, whole, sizeof(whole), 35, 1, true },
	{ WIRE_DG_ADDRESS, plain, sizeof(plain), 15, 0, true },
	{ WIRE_DG_CQ_DATA_FLAG, plain, sizeof(plain), 47, 1, true },
	{ WIRE_DG_DIGEST, whole, sizeof(whole), 12 + HEAD - 1, 0, false }, /* the last byte of the payload */
	{ WIRE_DG_DIGEST, whole, sizeof(whole), 63, 0, false },
	{ WIRE_DG_DIGEST, plain, sizeof(plain), 55, 1, false },
	{ WIRE_DG_DIGEST, whole, sizeof(whole), 11, 1, false }, /* no digest of the payload: it is none of the head alone */
	{ WIRE_DG_FLAWLESS, whole, sizeof(whole), 11, WIRE_DG_CQ_DATA | WIRE_DG_TAGGED, false }, /* not judged here */
	{ WIRE_DG_FLAWLESS, plain, sizeof(plain), HEAD, 'N', false },                            /* not covered */
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static enum wire_datagram_flaw judged(const struct row *row)
{
	/* To the byte, so that a sanitizer sees what is read past the end. */
	uint8_t *bytes = malloc(row->length ? row->length : 1), whole_one[WIRE_DATAGRAM_MAX];
	struct wire_datagram *head = (struct wire_datagram *)whole_one;
	enum wire_datagram_flaw flaw;

	memcpy(whole_one, row->bytes, row->bytes == whole ? sizeof(whole) : row->bytes == plain ? sizeof(plain) : HEAD);
	whole_one[row->offset] = row->value;
	if (row->seal) {
		size_t covered = head->flags.b[1] & WIRE_DG_WHOLE ? row->length : HEAD;

		memset(&head->digest, 0, sizeof(head->digest));
		head->digest = wire_put64(digest_bytes(whole_one, covered));
	}
	memcpy(bytes, whole_one, row->length);
	flaw = wire_check_datagram(bytes, row->length);
	free(bytes);
	return flaw;
}

/* WIRE-91, WIRE-92, WIRE-93 */
Test(datagram, each_flaw_is_named)
{
	bool reached[WIRE_DG_FLAWS] = { false };

	for (int i = 0; i < ROWS; i++) {
		enum wire_datagram_flaw flaw = judged(&rows[i]);

		cr_assert_eq(flaw, rows[i].flaw, "row %d: %s", i, wire_datagram_flaw_name(flaw));
		reached[flaw] = true;
	}
	reached[WIRE_DG_PAIR] = true; /* below */
	for (int flaw = 0; flaw < WIRE_DG_FLAWS; flaw++)
		cr_assert(reached[flaw], "no row for: %s", wire_datagram_flaw_name((enum wire_datagram_flaw)flaw));
}

/* WIRE-90: to the byte, and nothing is read behind it. */
Test(datagram, the_mtu)
{
	static uint8_t bytes[WIRE_DATAGRAM_MAX];
	struct wire_datagram_fields fields = goldens[0].fields;
	struct wire_datagram *head = (struct wire_datagram *)bytes;

	fields.payload = WIRE_MTU;
	cr_assert_eq(wire_put_datagram(bytes, &fields), WIRE_DATAGRAM_MAX);
	cr_assert_eq(wire_check_datagram(bytes, WIRE_DATAGRAM_MAX), WIRE_DG_FLAWLESS);
	head->payload = wire_put32(WIRE_MTU + 1);
	cr_assert_eq(wire_check_datagram(bytes, WIRE_DATAGRAM_MAX + 1), WIRE_DG_LENGTH);
	cr_assert_eq(WIRE_MTU, 1388);
}

Test(datagram, phrases_differ_and_cite_a_rule)
{
	for (int a = 0; a < WIRE_DG_FLAWS; a++) {
		const char *phrase = wire_datagram_flaw_name((enum wire_datagram_flaw)a);

		cr_assert_eq(strstr(phrase, "(WIRE-") != NULL, a != WIRE_DG_FLAWLESS, "%s", phrase);
		for (int b = 0; b < a; b++)
			cr_assert_str_neq(phrase, wire_datagram_flaw_name((enum wire_datagram_flaw)b));
	}
}

/* Bytes as they may come from anybody: none is taken that was not sealed. */
Test(datagram, noise)
{
	uint64_t state = 1;

	for (int round = 0; round < 200000; round++) {
		uint8_t bytes[HEAD + 32];
		size_t length = (size_t)round % (sizeof(bytes) + 1);

		for (size_t i = 0; i < length; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			bytes[i] = (uint8_t)(state >> 56);
		}
		if (round & 1 && length >= HEAD)
			memcpy(bytes, whole, 12 + (size_t)round % 40);
		cr_assert_neq(wire_check_datagram(bytes, length), WIRE_DG_FLAWLESS);
	}
}

/* --- between queue pairs --- */

static const struct wire_datagram_fields pair_head = { .flags = WIRE_DG_CQ_DATA | WIRE_DG_SOLICITED,
						       .from = { .family = 4, .port = 0x1234, .addr = { 192, 0, 2, 9 } },
						       .payload = 12,
						       .cq_data = 0xfeedface };
static const struct wire_pair_datagram_fields pair_more = {
	.dest_qpn = 0xabcdef,
	.src_qpn = 0x123456,
	.qkey = 0x11223344,
	.flow_label = 0x54321,
	.traffic_class = 7,
	.hop_limit = 64,
	.sl = 15,
	.dgid = { [10] = 0xff, 0xff, 192, 0, 2, 10 },
};

/* 36 bytes behind the head. */
static const uint8_t pair_bytes[] = {
	0x00, 0xab, 0xcd, 0xef, 0x00, 0x12, 0x34, 0x56, 0x11, 0x22, 0x33, 0x44, 0x00, 0x05, 0x43, 0x21, 0x07, 0x40,
	0x0f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xc0, 0x00, 0x02, 0x0a,
};

static size_t put_pair(uint8_t bytes[WIRE_DATAGRAM_MAX])
{
	memset(bytes, 0xee, WIRE_DATAGRAM_MAX);
	return wire_put_pair_datagram(bytes, &pair_head, &pair_more);
}

/* WIRE-150, WIRE-151 */
Test(datagram, of_a_queue_pair)
{
	struct wire_pair_datagram_fields pair;
	struct wire_datagram_fields fields;
	uint8_t bytes[WIRE_DATAGRAM_MAX];
	size_t length = put_pair(bytes);

	cr_assert_eq(length, HEAD + sizeof(pair_bytes) + 12);
	cr_assert(bytes[8] == 0 && bytes[9] == 2 && bytes[39] == sizeof(pair_bytes) + 12, "version and payload");
	cr_assert_arr_eq(bytes + HEAD, pair_bytes, sizeof(pair_bytes));
	cr_assert_eq(wire_check_pair_datagram(bytes, length), WIRE_DG_FLAWLESS);
	cr_assert_eq(wire_check_datagram(bytes, length), WIRE_DG_VERSION);
	wire_get_pair_datagram(bytes, &fields, &pair);
	cr_assert(fields.flags == pair_head.flags && fields.payload == 12 && fields.cq_data == pair_head.cq_data);
	cr_assert(pair.dest_qpn == pair_more.dest_qpn && pair.src_qpn == pair_more.src_qpn && pair.qkey == pair_more.qkey);
	cr_assert(pair.flow_label == pair_more.flow_label && pair.traffic_class == 7 && pair.hop_limit == 64 && pair.sl == 15);
	cr_assert_arr_eq(pair.dgid, pair_more.dgid, 16);
	cr_assert_eq(wire_check_pair_datagram(whole, sizeof(whole)), WIRE_DG_VERSION, "of another endpoint");
}

/* Each member out of its range, sealed anew; the flaw. */
Test(datagram, flaws_of_a_queue_pair)
{
	static const struct {
		size_t at;
		uint8_t value;
		enum wire_datagram_flaw flaw;
	} cases[] = {
		{ 11, 0x10, WIRE_DG_FLAGS },    { HEAD + 0, 1, WIRE_DG_PAIR },     { HEAD + 4, 1, WIRE_DG_PAIR },
		{ 15, 0x35, WIRE_DG_PAIR },     { HEAD + 13, 0x15, WIRE_DG_PAIR }, { HEAD + 18, 16, WIRE_DG_PAIR },
		{ HEAD + 19, 1, WIRE_DG_PAIR }, { 55, 1, WIRE_DG_PAIR },           { 43, 1, WIRE_DG_PAIR },
		{ 39, 47, WIRE_DG_LENGTH },     { HEAD + 8, 0, WIRE_DG_FLAWLESS },
	};
	uint8_t bytes[WIRE_DATAGRAM_MAX], covered[HEAD + sizeof(pair_bytes)];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t length = put_pair(bytes);
		wire_u64 digest;

		bytes[cases[i].at] = cases[i].value;
		cr_assert_neq(wire_check_pair_datagram(bytes, length), WIRE_DG_FLAWLESS, "case %zu is not covered", i);
		memset(bytes + 56, 0, 8);
		memcpy(covered, bytes, sizeof(covered));
		digest = wire_put64(digest_bytes(covered, sizeof(covered)));
		memcpy(bytes + 56, &digest, 8);
		cr_assert_eq(wire_check_pair_datagram(bytes, length), cases[i].flaw, "case %zu", i);
	}
	for (size_t length = 0; length < HEAD + sizeof(pair_bytes); length++) {
		uint8_t *exact = malloc(length ? length : 1);

		put_pair(bytes);
		memcpy(exact, bytes, length);
		cr_assert_eq(wire_check_pair_datagram(exact, length), WIRE_DG_SHORT, "%zu bytes", length);
		free(exact);
	}
}

/* WIRE-151. It has family 4, and is one sender in both. */
Test(datagram, of_a_queue_pair_with_a_mapped_address)
{
	static const uint8_t mapped[16] = { [10] = 0xff, 0xff, 192, 0, 2, 10 };
	struct wire_datagram_fields fields = pair_head;
	uint8_t bytes[WIRE_DATAGRAM_MAX];
	size_t length;

	fields.from.family = 6;
	memcpy(fields.from.addr, mapped, sizeof(mapped));
	length = wire_put_pair_datagram(bytes, &fields, &pair_more);
	cr_assert_eq(wire_check_pair_datagram(bytes, length), WIRE_DG_PAIR);
	fields.from.addr[10] = 0xfe;
	length = wire_put_pair_datagram(bytes, &fields, &pair_more);
	cr_assert_eq(wire_check_pair_datagram(bytes, length), WIRE_DG_FLAWLESS);
}
