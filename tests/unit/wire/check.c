/* SPDX-License-Identifier: BSD-2-Clause */
/* check.c - the validators against PROTOCOL.md's table of ops, restated here. stream_flaw.c reaches every flaw. */
#include <criterion/criterion.h>

#include "golden.h"
#include "wire/codec.h"

static const struct {
	uint8_t op, body, flags;
	bool payload, request;
} ops[] = {
	{ 1, 120, 0x00, false, false }, /* HELLO */
	{ 2, 128, 0x00, false, false }, /* BYE */
	{ 3, 8, 0x00, false, false },   /* ACK */
	{ 4, 56, 0x00, false, false },  /* CHALLENGE */
	{ 5, 32, 0x00, false, false },  /* PROOF */
	{ 6, 16, 0x00, false, false },  /* PAIR */
	{ 16, 48, 0xff, true, true },   /* WRITE */
	{ 17, 40, 0x18, false, true },  /* READ */
	{ 18, 32, 0x5c, true, true },   /* SEND */
	{ 19, 32, 0x5c, false, true },  /* RTS */
	{ 20, 56, 0x74, true, true },   /* ATOMIC */
	{ 21, 16, 0x00, true, true },   /* CONNECT */
	{ 22, 16, 0x00, true, true },   /* ACCEPT */
	{ 23, 16, 0x00, true, true },   /* REJECT */
	{ 24, 16, 0x00, false, true },  /* TAKEN */
	{ 25, 32, 0x87, true, true },   /* RSEND */
	{ 32, 32, 0x12, true, false },  /* DATA */
	{ 33, 32, 0x00, false, false }, /* PULL */
	{ 34, 16, 0x00, false, false }, /* RNR */
	{ 48, 56, 0x00, false, false }, /* NAK */
	{ 49, 16, 0x00, false, false }, /* PARK */
	{ 50, 16, 0x00, false, false }, /* DONE */
	{ 51, 16, 0x00, true, false },  /* RESULT */
};
enum { OPS = sizeof(ops) / sizeof(ops[0]) };

Test(check, golden_frames_are_flawless)
{
	for (int name = 0; name < GOLDENS; name++) {
		const struct wire_head *head = (const struct wire_head *)goldens[name].bytes;

		cr_assert_eq(wire_check_head(head, WIRE_SEGMENT_MIN), WIRE_FLAWLESS, "%s", goldens[name].text);
		cr_assert_eq(wire_check_body(head), WIRE_FLAWLESS, "%s", goldens[name].text);
	}
}

/* WIRE-3 */
Test(check, ops_not_in_the_table_are_unknown)
{
	int known = 0;

	for (int op = 0; op < 256; op++) {
		struct wire_head head = { .op = (uint8_t)op, .seq = wire_put64(1) };
		size_t body = 0;

		for (int i = 0; i < OPS; i++)
			body += ops[i].op == op ? ops[i].body : 0;
		cr_assert_eq(wire_body_len((uint8_t)op), body, "op %d", op);
		cr_assert_eq(wire_check_head(&head, 0) == WIRE_FLAW_OP, body == 0, "op %d", op);
		known += body != 0;
	}
	cr_assert_eq(known, OPS);
}

/* WIRE-4 */
Test(check, each_op_has_its_flags)
{
	for (int i = 0; i < OPS; i++) {
		for (int flags = 0; flags < 256; flags++) {
			struct wire_head head = { .op = ops[i].op, .flags = (uint8_t)flags };
			bool fits = (flags & ~ops[i].flags) == 0;

			head.seq = wire_put64(ops[i].request);
			cr_assert_eq(wire_check_head(&head, 0), fits ? WIRE_FLAWLESS : WIRE_FLAW_FLAGS, "op %d flags %d", ops[i].op,
				     flags);
		}
	}
}

/* WIRE-6, WIRE-7: to the byte. */
Test(check, payload_where_allowed_and_as_granted)
{
	for (int i = 0; i < OPS; i++) {
		struct wire_head head = { .op = ops[i].op, .seq = wire_put64(ops[i].request) };
		enum wire_flaw beyond = ops[i].payload ? WIRE_FLAW_PAYLOAD_LONG : WIRE_FLAW_PAYLOAD;

		head.payload = wire_put32(70000);
		cr_assert_eq(wire_check_head(&head, 70000), ops[i].payload ? WIRE_FLAWLESS : WIRE_FLAW_PAYLOAD);
		cr_assert_eq(wire_check_head(&head, 69999), beyond);
		head.payload = wire_put32(UINT32_MAX);
		cr_assert_eq(wire_check_head(&head, WIRE_SEGMENT_MAX), beyond);
	}
}

/* WIRE-8 */
Test(check, requests_and_only_they_are_numbered)
{
	for (int i = 0; i < OPS; i++) {
		struct wire_head head = { .op = ops[i].op };

		cr_assert_eq(wire_is_request(ops[i].op), ops[i].request);
		cr_assert_eq(wire_check_head(&head, 0), ops[i].request ? WIRE_FLAW_SEQ_MISSING : WIRE_FLAWLESS);
		head.seq = wire_put64(1ULL << 63);
		cr_assert_eq(wire_check_head(&head, 0), ops[i].request ? WIRE_FLAWLESS : WIRE_FLAW_SEQ);
	}
}

/* WIRE-25, WIRE-22: the bounds themselves are good. */
Test(check, hello_bounds)
{
	struct wire_hello_fields fields;
	uint8_t frame[WIRE_FRAME_MAX];
	struct wire_head *head = (struct wire_head *)frame;

	wire_get_hello((const struct wire_head *)goldens[GOLDEN_HELLO4].bytes, &fields);
	for (uint32_t segment = WIRE_SEGMENT_MIN - 1; segment <= WIRE_SEGMENT_MAX + 1; segment += 98305) {
		bool fits = segment >= WIRE_SEGMENT_MIN && segment <= WIRE_SEGMENT_MAX;

		fields.segment = segment;
		wire_put_hello(frame, &fields);
		cr_assert_eq(wire_check_body(head), fits ? WIRE_FLAWLESS : WIRE_FLAW_SEGMENT, "segment %u", segment);
	}
	fields.segment = WIRE_SEGMENT_MIN;
	fields.requests = fields.reads = 1;
	fields.version_max = 65535;
	wire_put_hello(frame, &fields);
	cr_assert_eq(wire_check_body(head), WIRE_FLAWLESS);
	cr_assert_eq(wire_check_greeting(head), WIRE_FLAWLESS);
}

Test(check, every_flaw_has_its_own_phrase_with_a_rule)
{
	for (int a = 0; a < WIRE_FLAWS; a++) {
		const char *phrase = wire_flaw_name((enum wire_flaw)a);

		cr_assert_eq(strstr(phrase, "(WIRE-") != NULL, a != WIRE_FLAWLESS, "%s", phrase);
		for (int b = 0; b < a; b++)
			cr_assert_str_neq(phrase, wire_flaw_name((enum wire_flaw)b));
	}
}
