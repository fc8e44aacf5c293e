/* SPDX-License-Identifier: BSD-2-Clause */
/* stranger.c - what is said, what that permits, and what is heard. */
#include "tests/fuzz/stranger.h"

#include "tests/fuzz/fuzz.h"
#include "wire/digest.h"

static const struct permit nothing;

void stranger_init(struct stranger *stranger, struct plug *plug, struct memory *memory, uint8_t who)
{
	memset(stranger, 0, sizeof(*stranger));
	stranger->plug = plug;
	stranger->memory = memory;
	stranger->who = who;
}

/* --- what a frame permits --- */

static struct permit permit_write(struct stranger *stranger, const struct wire_head *head)
{
	const struct wire_write *body = wire_body(head);
	uint64_t rest = wire_get64(body->rest);
	uint32_t payload = wire_get32(head->payload);
	struct wire_target_fields to;
	struct permit part;

	wire_get_target(&body->to, &to);
	if (head->flags & WIRE_F_FIRST) {
		stranger->write.permit = stranger->caps & EP_REMOTE_WRITE
						 ? memory_permit(stranger->memory, &to, rest, MR_REMOTE_WRITE)
						 : nothing;
		stranger->write.offset = 0;
		stranger->write.life = stranger->write.permit.region ? stranger->write.permit.region->life : 0;
	} else if (stranger->write.rest != rest || memcmp(&to, &stranger->write.to, sizeof(to))) {
		stranger->muddled = true;
		return nothing;
	}
	stranger->write.to = to;
	stranger->write.to.addr += payload;
	stranger->write.rest = rest - payload;
	if (!stranger->write.permit.region || stranger->write.permit.region->closed ||
	    stranger->write.permit.region->life != stranger->write.life)
		return nothing;
	part = permit_part(&stranger->write.permit, stranger->write.offset, payload);
	stranger->write.offset += payload;
	return part;
}

static void ask(struct stranger *stranger, uint64_t seq, uint64_t length, const struct permit *permit)
{
	stranger->asked[seq % ASKED] = (struct asked){ .seq = seq, .length = length, .permit = *permit };
}

static void permit_read(struct stranger *stranger, const struct wire_head *head)
{
	const struct wire_read *body = wire_body(head);
	uint64_t length = wire_get64(body->length);
	struct wire_target_fields from;
	struct permit permit;

	wire_get_target(&body->from, &from);
	permit = stranger->caps & EP_REMOTE_READ ? memory_permit(stranger->memory, &from, length, MR_REMOTE_READ) : nothing;
	ask(stranger, wire_get64(head->seq), length, &permit);
}

static struct permit permit_atomic(struct stranger *stranger, const struct wire_head *head)
{
	struct wire_atomic_fields fields;
	struct permit permit = nothing;
	bool reads;

	wire_get_atomic(head, &fields);
	reads = fields.op == WIRE_ATOMIC_OP_READ;
	if (stranger->caps & (reads ? EP_REMOTE_ATOMIC_READ : EP_REMOTE_ATOMIC_WRITE))
		permit = memory_permit(stranger->memory, &fields.to, fields.length, MR_REMOTE_WRITE);
	ask(stranger, wire_get64(head->seq), fields.length, &permit);
	return reads ? nothing : permit;
}

static bool is_flawless(const struct stranger *stranger, const struct wire_head *head)
{
	return wire_check_head(head, LIMIT_SEGMENT) == WIRE_FLAWLESS && wire_check_body(head) == WIRE_FLAWLESS &&
	       !wire_greets(head->op) && wire_get64(head->digest) == digest_head(head) && !stranger->muddled;
}

/* Which bytes may be others when the device has had this frame. */
static struct permit permit_frame(struct stranger *stranger, const struct wire_head *head)
{
	uint64_t seq = wire_get64(head->seq);

	stranger->now = 0;
	if (!is_flawless(stranger, head)) {
		stranger->muddled = true;
		return nothing;
	}
	if (!wire_is_request(head->op) || seq > stranger->executed + 1)
		return nothing;
	if (seq <= stranger->executed) {
		if (head->op == WIRE_READ)
			permit_read(stranger, head);
		return nothing;
	}
	stranger->now = seq;
	if (head->op == WIRE_WRITE)
		return permit_write(stranger, head);
	stranger->write.rest = 0;
	if (head->op == WIRE_READ)
		permit_read(stranger, head);
	return head->op == WIRE_ATOMIC ? permit_atomic(stranger, head) : nothing;
}

/* --- what is heard --- */

static void hear_data(struct stranger *stranger, const struct wire_head *head, const uint8_t *payload)
{
	const struct wire_data *data = wire_body(head);
	uint64_t ref = wire_get64(data->ref), offset = wire_get64(data->offset);
	uint32_t length = wire_get32(head->payload);
	const struct asked *asked = &stranger->asked[ref % ASKED];
	const struct wire_trailer *trailer = (const struct wire_trailer *)(payload + length);
	struct permit part;

	if (head->flags & WIRE_F_PULLED)
		return;
	FUZZ_CHECK(asked->seq == ref && asked->permit.region);
	FUZZ_CHECK(offset <= asked->length && length <= asked->length - offset);
	if (!length || wire_get32(trailer->status) != WIRE_GOOD)
		return;
	part = permit_part(&asked->permit, offset, length);
	FUZZ_CHECK(permit_holds(&part, payload, length));
}

static void hear_result(struct stranger *stranger, const struct wire_head *head, const uint8_t *payload)
{
	const struct wire_verdict *verdict = wire_body(head);
	uint64_t ref = wire_get64(verdict->ref);
	const struct asked *asked = &stranger->asked[ref % ASKED];
	uint32_t length = wire_get32(head->payload);

	if (asked->seq != ref && ref + ASKED <= stranger->executed)
		return; /* told again long after */
	FUZZ_CHECK(asked->seq == ref && asked->permit.region && asked->length == length);
	FUZZ_CHECK(ref != stranger->now || permit_holds(&asked->permit, payload, length));
}

static void hear_request(struct stranger *stranger, const struct wire_head *head)
{
	const struct wire_send *send = wire_body(head);
	const struct wire_read *read = wire_body(head);
	uint64_t length = wire_get32(head->payload);

	if (head->op == WIRE_RTS)
		length = wire_get64(send->length);
	if (head->op == WIRE_READ)
		length = wire_get64(read->length);
	stranger->heard = wire_get64(head->seq) > stranger->heard ? wire_get64(head->seq) : stranger->heard;
	stranger->wanted[stranger->wants++ % WANTED] = (struct wanted){ .op = head->op,
									.seq = wire_get64(head->seq),
									.length = length };
}

static void hear_hello(struct stranger *stranger, const struct wire_head *head)
{
	struct wire_hello_fields hello;

	wire_get_hello(head, &hello);
	memcpy(stranger->instance, hello.instance, sizeof(hello.instance));
	stranger->executed = hello.seen;
	stranger->muddled = false;
}

static void hear_frame(struct stranger *stranger, const struct wire_head *head)
{
	const uint8_t *payload = (const uint8_t *)(head + 1) + wire_body_len(head->op);
	const struct wire_verdict *verdict = wire_body(head);

	FUZZ_CHECK(wire_check_head(head, WIRE_SEGMENT_MAX) == WIRE_FLAWLESS && wire_check_body(head) == WIRE_FLAWLESS);
	FUZZ_CHECK(wire_get64(head->digest) == digest_head(head));
	if (head->op == WIRE_HELLO)
		hear_hello(stranger, head);
	else if (head->op == WIRE_DATA)
		hear_data(stranger, head, payload);
	else if (head->op == WIRE_RESULT)
		hear_result(stranger, head, payload);
	else if (wire_is_request(head->op))
		hear_request(stranger, head);
	if (head->op >= WIRE_NAK && wire_get64(verdict->verdict) > stranger->verdict_heard)
		stranger->verdict_heard = wire_get64(verdict->verdict);
	if (!wire_greets(head->op) && head->op != WIRE_BYE && wire_get64(head->ack) > stranger->executed)
		stranger->executed = wire_get64(head->ack);
}

static void hear(struct stranger *stranger)
{
	struct line *line = stranger->line;
	size_t at = 0, frame;

	while (line && fuzz_frame(line->out + at, line->said - at, &frame)) {
		hear_frame(stranger, (const struct wire_head *)(line->out + at));
		at += frame;
	}
	if (line && line->note > stranger->executed)
		stranger->executed = line->note;
	if (!at)
		return;
	line->said -= at;
	memmove(line->out, line->out + at, line->said);
}

void stranger_pause(struct stranger *stranger)
{
	size_t said;

	do {
		plug_run(stranger->plug);
		said = stranger->line ? stranger->line->said : 0;
		hear(stranger);
	} while (said > sizeof(stranger->line->out) / 2);
	if (stranger->line && !stranger->line->used)
		stranger->line = NULL;
}

/* --- what is said --- */

static size_t frame_length(const uint8_t *frame)
{
	const struct wire_head *head = (const struct wire_head *)frame;
	uint64_t payload = wire_get32(head->payload);

	return (size_t)(sizeof(*head) + wire_body_len(head->op) + payload + (payload ? sizeof(struct wire_trailer) : 0));
}

static void spoil(struct stranger *stranger, bool sealed)
{
	size_t most = sizeof(struct wire_head) + wire_body_len(stranger->frame[0]);

	if (!stranger->spoil.mask || stranger->spoil.sealed != sealed)
		return;
	stranger->frame[stranger->spoil.at % most] ^= stranger->spoil.mask;
	stranger->spoil.mask = 0;
	stranger->muddled |= sealed;
}

void stranger_say(struct stranger *stranger)
{
	struct line *line = stranger->line;
	const struct wire_head *head = (const struct wire_head *)stranger->frame;
	const uint8_t *payload;
	struct permit permit;
	size_t length;

	if (!line)
		return;
	spoil(stranger, false);
	length = frame_length(stranger->frame);
	if (length <= FRAME_ROOM)
		fuzz_redigest(stranger->frame, true, stranger->full);
	spoil(stranger, true);
	permit = length <= FRAME_ROOM ? permit_frame(stranger, head) : nothing;
	payload = (const uint8_t *)(head + 1) + wire_body_len(head->op);
	line->in = stranger->frame;
	line->left = length <= FRAME_ROOM ? length : FRAME_ROOM;
	line->piece = stranger->piece;
	line->ended |= length > FRAME_ROOM;
	stranger_pause(stranger);
	FUZZ_CHECK(!line->used || !line->left);
	memory_check(stranger->memory, &permit, head->op == WIRE_WRITE ? payload : NULL);
}

void stranger_greet(struct stranger *stranger, uint64_t seen)
{
	struct wire_hello_fields fields = {
		.version_min = 1,
		.version_max = 1,
		.instance = { 1, stranger->who },
		.session = 90u + stranger->who,
		.epoch = ++stranger->epoch,
		.seen = seen,
		.verdict_seen = stranger->verdict_heard,
		.requests = 64,
		.reads = 8,
		.segment = WIRE_SEGMENT_MIN,
		.features = stranger->full ? WIRE_WANT_PAYLOAD_DIGEST : 0,
		.at = { .family = 4, .port = (uint16_t)(100 + stranger->who), .addr = { 10, 9, 9, 9 } },
	};
	struct line *line = plug_dial(stranger->plug);

	stranger->line = line;
	stranger->muddled = true;
	if (!line)
		return;
	memcpy(fields.expected, stranger->instance, WIRE_ID_LEN);
	wire_put_hello(stranger->frame, &fields);
	wire_seal((struct wire_head *)stranger->frame, 0, true);
	line->in = stranger->frame;
	line->left = frame_length(stranger->frame);
	line->piece = stranger->piece;
	stranger_pause(stranger);
	memory_check(stranger->memory, &nothing, NULL);
}
