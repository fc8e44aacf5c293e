/* SPDX-License-Identifier: BSD-2-Clause */
/* scene.c - records: eight bytes that say what is said or done next. A changed byte makes another frame of the same kind,
 * flawless most of the time, with a key that there is, and near a bound. */
#include "tests/fuzz/scene.h"

#include "emu/nic/base/errno.h"
#include "tests/fuzz/fuzz.h"

/* The names of a record's bytes. */
enum { KIND, WHOM, WAY, FIRST, SECOND, HOW, FILL, NUMBER };

enum { PAYLOAD_MAX = 1024, WRONG_KEY = 999 };

static uint64_t number(const struct stranger *stranger, uint8_t byte)
{
	uint64_t due = stranger->executed + 1;

	if (byte < 0xe0)
		return due;
	if (byte < 0xf0)
		return due - 1 - (byte & 3) < due ? due - 1 - (byte & 3) : due;
	return due + 1 + (byte & 3);
}

/* The target of a request: most often a region that there is, by its name, and near where it ends. */
static void aim(const struct scene *scene, const uint8_t *r, struct wire_target_fields *to, uint64_t *length)
{
	const struct region *region = &scene->memory.region[r[WHOM] % REGION_SPARE];
	uint64_t first = r[FIRST], second = r[SECOND], edge = first % 17 - 8, offset = first;

	*length = second;
	switch (r[WAY] & 7) {
	case 1: /* up to the end, or a little beyond */
		offset = REGION_BYTES - second;
		*length = second + edge;
		break;
	case 2: /* at the end */
		offset = REGION_BYTES + edge;
		break;
	case 3: /* before the start */
		offset = edge;
		break;
	case 4: /* all of it, or a little more */
		offset = 0;
		*length = REGION_BYTES + edge;
		break;
	case 5: /* around 2^64 */
		offset = first % 2 ? (uint64_t)0 - second : first;
		*length = first % 2 ? first : (uint64_t)0 - second;
		break;
	case 6: /* where two pieces meet */
		offset = REGION_BYTES / 2 + edge;
		break;
	case 7:
		*length = 8;
		offset = first & ~7u;
		break;
	default:
		break;
	}
	*to = (struct wire_target_fields){ .key = region->key, .auth = region->auth, .addr = region_name(region, offset) };
	if (r[WHOM] >= 0xf0)
		to->key = WRONG_KEY;
	else if (r[WHOM] >= 0xe0)
		to->auth ^= MEMORY_AUTH;
	else if (r[WHOM] >= 0xd8)
		to->key_tail = 1;
}

static void payload_put(struct scene *scene, size_t length, const uint8_t *r)
{
	uint8_t *at = scene->stranger.frame + sizeof(struct wire_head) + wire_body_len(scene->stranger.frame[0]);
	enum wire_status status = r[HOW] >= 0xf8 ? WIRE_CANCELLED : WIRE_GOOD;

	for (size_t i = 0; i < length; i++)
		at[i] = (uint8_t)(r[FILL] + i);
	if (length)
		wire_put_trailer(at + length, status, 0);
}

/* Acknowledges what was heard, or less, or what was not. */
static void say(struct scene *scene, const uint8_t *r)
{
	struct stranger *stranger = &scene->stranger;
	struct wire_head *head = (struct wire_head *)stranger->frame;
	uint64_t ack = stranger->heard;

	if (r[FILL] >= 0xf0)
		ack += r[FILL] == 0xff ? 1 : -(uint64_t)(r[FILL] & 3);
	if (!wire_greets(head->op))
		head->ack = wire_put64(ack);
	stranger_say(stranger);
}

static void do_write(struct scene *scene, const uint8_t *r)
{
	static const uint8_t flags[] = { 0, 0, WIRE_F_CQ_DATA, WIRE_F_COMMIT };
	struct wire_target_fields to;
	uint8_t flag = flags[r[HOW] & 3];
	uint64_t length, payload;

	aim(scene, r, &to, &length);
	payload = length <= PAYLOAD_MAX ? length : 64;
	if (r[HOW] & 4) /* in segments */
		payload /= 2;
	wire_put_write(scene->stranger.frame, WIRE_F_FIRST | flag, (uint32_t)payload, number(&scene->stranger, r[NUMBER]), &to,
		       length, flag & WIRE_F_CQ_DATA ? 5 : 0);
	payload_put(scene, payload, r);
	scene->to = to;
	scene->to.addr += payload;
	scene->rest = length - payload;
	say(scene, r);
}

/* Goes on with the WRITE that was begun last, as it must be or not quite. */
static void do_go_on(struct scene *scene, const uint8_t *r)
{
	static const uint8_t flags[] = { 0, 0, WIRE_F_CQ_DATA, WIRE_F_COMMIT };
	uint64_t payload = scene->rest < PAYLOAD_MAX ? scene->rest : 64;
	uint8_t flag = flags[r[HOW] & 3];

	if (!scene->rest)
		return;
	if (r[HOW] & 4)
		payload = payload > 1 ? payload / 2 : payload;
	if (r[WAY] >= 0xf0)
		scene->to.addr += r[FIRST];
	if (r[WHOM] >= 0xf0)
		scene->to.key = scene->memory.region[r[SECOND] % REGIONS].key;
	wire_put_write(scene->stranger.frame, flag, (uint32_t)payload, number(&scene->stranger, r[NUMBER]), &scene->to, scene->rest,
		       flag & WIRE_F_CQ_DATA ? 5 : 0);
	payload_put(scene, payload, r);
	scene->to.addr += payload;
	scene->rest -= payload;
	say(scene, r);
}

static void do_read(struct scene *scene, const uint8_t *r)
{
	struct wire_target_fields from;
	uint64_t length;

	aim(scene, r, &from, &length);
	wire_put_read(scene->stranger.frame, 0, number(&scene->stranger, r[NUMBER]), &from, length);
	say(scene, r);
}

static void do_atomic(struct scene *scene, const uint8_t *r)
{
	static const uint8_t types[] = { ATOMIC_UINT64, ATOMIC_UINT8, ATOMIC_UINT32, ATOMIC_DOUBLE_COMPLEX, ATOMIC_UINT128 };
	struct wire_atomic_fields fields = { .kind = r[HOW] % 3, .op = ATOMIC_SUM };
	uint64_t length, size;

	aim(scene, r, &fields.to, &length);
	fields.type = r[WAY] & 0x80 ? r[FILL] % WIRE_ATOMIC_TYPES : types[(r[WAY] >> 4) % 5];
	if (r[WAY] & 8)
		fields.op = r[FILL] % WIRE_ATOMIC_OPS;
	if (fields.kind == WIRE_ATOMIC_COMPARE)
		fields.op = (uint8_t)(ATOMIC_CSWAP + r[FILL] % 7);
	size = atomic_size(fields.type);
	fields.length = length % 512 / size * size + (r[HOW] >= 0xf0);
	if (!fields.length)
		fields.length = size;
	wire_put_atomic(scene->stranger.frame, r[HOW] & 0x10 ? WIRE_F_COMMIT : 0, number(&scene->stranger, r[NUMBER]), &fields);
	payload_put(scene, wire_atomic_payload(fields.kind, fields.op, fields.length), r);
	say(scene, r);
}

/* A message that takes a receive, or what goes on with the one begun last, as it must be or not quite. */
static void do_rsend(struct scene *scene, const uint8_t *r)
{
	struct wire_message_fields fields = { .auth = r[WHOM] >= 0xf0 };
	bool goes_on = r[HOW] & 0x20;
	uint8_t flags = (goes_on ? 0 : WIRE_F_FIRST) | (r[HOW] & 2 ? WIRE_F_CQ_DATA : 0) | (r[HOW] & 1 ? WIRE_F_SOLICITED : 0);
	uint64_t rest = goes_on ? scene->message_rest : r[FIRST] + 256u * (r[WAY] & 3), payload = rest;

	if (goes_on && !rest)
		return;
	fields.invalidate = r[HOW] & 4 && !(flags & WIRE_F_CQ_DATA);
	if (fields.invalidate)
		fields.cq_data = r[WHOM] >= 0xe0 ? WRONG_KEY : scene->memory.region[r[WHOM] % REGION_SPARE].key;
	if (flags & WIRE_F_CQ_DATA)
		fields.cq_data = 6;
	if (r[WAY] & 4) /* in segments */
		payload = rest > 1 ? rest / 2 : rest;
	if (r[WAY] >= 0xf0)
		rest += r[SECOND];
	wire_put_rsend(scene->stranger.frame, flags, (uint32_t)payload, number(&scene->stranger, r[NUMBER]), rest, &fields);
	payload_put(scene, payload, r);
	scene->message_rest = rest - payload;
	say(scene, r);
}

static void do_message(struct scene *scene, const uint8_t *r)
{
	struct wire_message_fields fields = { .auth = r[WHOM] >= 0xf0 };
	uint8_t flags = (r[HOW] & 1 ? WIRE_F_TAGGED : 0) | (r[HOW] & 2 ? WIRE_F_CQ_DATA : 0);
	uint64_t length = r[FIRST] + 256u * (r[WAY] & 3), seq = number(&scene->stranger, r[NUMBER]);

	if (r[HOW] & 0x10) {
		do_rsend(scene, r);
		return;
	}
	fields.tag = flags & WIRE_F_TAGGED ? r[SECOND] & 3 : 0;
	fields.cq_data = flags & WIRE_F_CQ_DATA ? 6 : 0;
	if (r[HOW] & 8) {
		wire_put_rts(scene->stranger.frame, flags, r[WAY] >= 0xf0 ? (uint64_t)0 - length : length, seq, &fields);
	} else {
		wire_put_send(scene->stranger.frame, flags, (uint32_t)length, seq, &fields);
		payload_put(scene, length, r);
	}
	say(scene, r);
}

static void do_ack(struct scene *scene, const uint8_t *r)
{
	uint64_t verdict = scene->stranger.verdict_heard + (r[WAY] >= 0xf0 ? r[FIRST] & 3 : 0);

	wire_put_ack(scene->stranger.frame, verdict);
	say(scene, r);
}

/* One of the device's requests, of the kind that this answers if there is one; now and then none. */
static struct wanted pick(const struct scene *scene, const uint8_t *r, uint32_t ops)
{
	const struct stranger *stranger = &scene->stranger;

	if (r[WHOM] >= 0xf8)
		return (struct wanted){ .seq = 1 + (r[WHOM] & 7), .length = r[SECOND] };
	for (uint32_t i = 0; i < WANTED; i++) {
		const struct wanted *wanted = &stranger->wanted[(r[WHOM] + i) % WANTED];

		if (wanted->op && ops & 1u << (wanted->op - WIRE_WRITE))
			return *wanted;
	}
	return (struct wanted){ .seq = stranger->heard + !stranger->heard, .length = r[SECOND] };
}

static void do_data(struct scene *scene, const uint8_t *r)
{
	bool pulled = r[HOW] & 1;
	struct wanted wanted = pick(scene, r, 1u << (WIRE_READ - WIRE_WRITE));
	uint64_t offset = r[WAY] & 1 ? r[FIRST] : 0, rest = wanted.length - offset;

	if (pulled) {
		/* A PULL of the device is for a request of ours. */
		wanted.seq = scene->stranger.executed - (r[WHOM] & 3);
		wanted.seq += !wanted.seq;
		rest = r[SECOND];
	}
	rest = r[WAY] >= 0xe0 ? rest + r[SECOND] : rest;
	wire_put_data(scene->stranger.frame, pulled ? WIRE_F_PULLED : 0, (uint32_t)(rest > PAYLOAD_MAX ? 64 : rest), wanted.seq,
		      offset, rest);
	payload_put(scene, rest > PAYLOAD_MAX ? 64 : rest, r);
	say(scene, r);
}

static void do_pull(struct scene *scene, const uint8_t *r)
{
	struct wanted wanted = pick(scene, r, 1u << (WIRE_RTS - WIRE_WRITE) | 1u << (WIRE_SEND - WIRE_WRITE));
	uint64_t offset = r[WAY] & 1 ? r[FIRST] : 0, length = wanted.length - offset;

	wire_put_pull(scene->stranger.frame, wanted.seq, offset, r[WAY] & 2 ? r[SECOND] : length);
	say(scene, r);
}

static void do_rnr(struct scene *scene, const uint8_t *r)
{
	wire_put_rnr(scene->stranger.frame, pick(scene, r, ~0u).seq, r[SECOND]);
	say(scene, r);
}

static uint64_t verdict(struct scene *scene, const uint8_t *r)
{
	return ++scene->stranger.verdict_said + (r[NUMBER] >= 0xf0 ? r[NUMBER] & 3 : 0);
}

static void do_nak(struct scene *scene, const uint8_t *r)
{
	struct wire_nak_fields fields = {
		.ref = pick(scene, r, ~0u).seq,
		.cause = 1u + r[FIRST],
		.access = r[SECOND],
		.region = r[WAY],
		.excess = r[FILL],
	};

	fields.verdict = verdict(scene, r);
	wire_put_nak(scene->stranger.frame, &fields);
	say(scene, r);
}

static void do_verdict(struct scene *scene, const uint8_t *r)
{
	uint64_t ref = pick(scene, r, 1u << (WIRE_RTS - WIRE_WRITE) | 1u << (WIRE_SEND - WIRE_WRITE)).seq;

	wire_put_verdict(scene->stranger.frame, r[HOW] & 1 ? WIRE_PARK : WIRE_DONE, verdict(scene, r), ref);
	say(scene, r);
}

static void do_result(struct scene *scene, const uint8_t *r)
{
	uint32_t length = r[WAY] & 1 ? r[SECOND] : 8;

	wire_put_result(scene->stranger.frame, length, verdict(scene, r), pick(scene, r, 1u << (WIRE_ATOMIC - WIRE_WRITE)).seq);
	payload_put(scene, length, r);
	say(scene, r);
}

static void do_bye(struct scene *scene, const uint8_t *r)
{
	wire_put_bye(scene->stranger.frame, (enum wire_bye_reason)(1 + r[WAY] % 8), "so long");
	say(scene, r);
}

static void do_cm(struct scene *scene, const uint8_t *r)
{
	wire_put_cm(scene->stranger.frame, (uint8_t)(WIRE_CONNECT + r[WAY] % 3), r[FIRST], number(&scene->stranger, r[NUMBER]),
		    r[SECOND]);
	payload_put(scene, r[FIRST], r);
	say(scene, r);
}

/* The connection breaks, or is just not used any more, and another goes on. */
static void do_greet(struct scene *scene, const uint8_t *r)
{
	struct stranger *stranger = &scene->stranger;

	if (stranger->line && !(r[WAY] & 1))
		plug_end(stranger->line);
	stranger_pause(stranger);
	stranger_greet(stranger, stranger->heard - (r[WAY] & 2 ? r[FIRST] & 3 : 0));
}

static void do_spoil(struct scene *scene, const uint8_t *r)
{
	scene->stranger.spoil.mask = r[FILL];
	scene->stranger.spoil.at = r[FIRST];
	scene->stranger.spoil.sealed = r[HOW] & 1;
	scene->stranger.piece = r[SECOND];
}

static void do_time(struct scene *scene, const uint8_t *r)
{
	scene->plug.now_ns += (uint64_t)r[FIRST] << (r[WAY] % 28);
	stranger_pause(&scene->stranger);
}

static void do_region(struct scene *scene, const uint8_t *r)
{
	struct region *region = &scene->memory.region[r[WHOM] % REGION_SPARE];

	if (r[WAY] & 1)
		region_close(&scene->memory, region);
	else
		region_renew(&scene->memory, region);
}

/* An op of the program's own, to the stranger, which may answer as it likes. */
static void do_post(struct scene *scene, const uint8_t *r)
{
	static const enum op_kind kinds[] = { OP_WRITE, OP_READ, OP_SEND, OP_ATOMIC };
	enum op_kind kind = kinds[r[WHOM] % 4];
	size_t length = kind == OP_ATOMIC ? 8 : r[FIRST];
	struct buffer *buffer = buffer_lend(&scene->memory, length, kind == OP_WRITE || kind == OP_SEND);
	struct iovec iov = { buffer ? buffer->bytes : NULL, length };
	struct remote remote = { .length = iov.iov_len, .key = 1 };
	struct post_atomic atomic = {
		.what = { ATOMIC_FETCH, ATOMIC_SUM, ATOMIC_UINT64 },
		.result = &iov,
		.result_count = 1,
	};
	struct post post = {
		.kind = kind,
		.flags = POST_COMPLETE | (r[HOW] & 1 ? POST_FENCE : 0),
		.dest = scene->known,
		.context = buffer,
		.iov = &iov,
		.iov_count = 1,
		.remote = &remote,
		.remote_count = kind != OP_SEND,
		.atomic = kind == OP_ATOMIC ? &atomic : NULL,
	};

	if (!buffer)
		return;
	if (kind == OP_SEND && r[HOW] & 2)
		post.flags |= POST_TAGGED;
	if (ep_post(scene->ep, &post))
		buffer_done(buffer);
	stranger_pause(&scene->stranger);
}

static void do_receive(struct scene *scene, const uint8_t *r)
{
	struct buffer *buffer = buffer_lend(&scene->memory, r[FIRST], false);
	struct iovec iov = { buffer ? buffer->bytes : NULL, r[FIRST] };
	struct recv_post post = {
		.iov = &iov,
		.iov_count = 1,
		.flags = POST_COMPLETE,
		.source = r[HOW] & 4 ? scene->known : AV_NONE,
		.context = buffer,
	};

	if (!buffer)
		return;
	if (r[HOW] & 1 && scene->stranger.caps & EP_TRECV) {
		post.flags |= POST_TAGGED;
		post.tag = r[SECOND] & 3;
		post.ignore = r[HOW] & 2 ? 1 : 0;
	}
	if (ep_recv(scene->ep, &post))
		buffer_done(buffer);
	stranger_pause(&scene->stranger);
}

static void do_cancel(struct scene *scene, const uint8_t *r)
{
	FUZZ_CHECK(driver_enter(nic_driver(scene->plug.nic)));
	(void)ep_cancel(scene->ep, &scene->memory.buffer[r[WHOM] % BUFFERS]);
	driver_leave(nic_driver(scene->plug.nic));
	stranger_pause(&scene->stranger);
}

static void (*const kinds[])(struct scene *scene, const uint8_t *r) = {
	do_write,   do_write,   do_read,  do_read, do_atomic, do_atomic, do_go_on,   do_go_on,  do_message, do_message,
	do_message, do_receive, do_ack,   do_data, do_pull,   do_nak,    do_verdict, do_result, do_rnr,     do_bye,
	do_cm,      do_greet,   do_spoil, do_time, do_region, do_post,   do_post,    do_cancel,
};
static_assert(sizeof(kinds) / sizeof(kinds[0]) == RECORD_RAW, "the last one is do_raw()");

/* A frame as it stands in the input. */
static size_t do_raw(struct scene *scene, const uint8_t *behind, size_t left)
{
	size_t length = left < FRAME_ROOM ? left : FRAME_ROOM;

	memset(scene->stranger.frame, 0, FRAME_ROOM);
	memcpy(scene->stranger.frame, behind, length);
	stranger_say(&scene->stranger);
	return length;
}

size_t scene_do(struct scene *scene, const uint8_t record[RECORD], const uint8_t *behind, size_t left)
{
	unsigned kind = record[KIND] % (RECORD_RAW + 1);
	size_t more = (size_t)record[FIRST] + 8;

	memset(scene->stranger.frame, 0, sizeof(struct wire_head));
	if (kind == RECORD_RAW)
		return do_raw(scene, behind, more < left ? more : left);
	kinds[kind](scene, record);
	if (!scene->deaf)
		scene_read(scene);
	return 0;
}

void scene_read(struct scene *scene)
{
	struct completion c[8];
	struct cq_error error;
	ssize_t n;

	while ((n = cq_take(scene->cq, c, 8)) != -EAGAIN) {
		if (n < 0) {
			FUZZ_CHECK(n == -NIC_EAVAIL && cq_take_error(scene->cq, &error) == 1);
			c[0] = error.c;
			n = 1;
		}
		for (ssize_t i = 0; i < n; i++)
			if (c[i].context) /* else CQ data of a peer's */
				buffer_done(c[i].context);
	}
}

void scene_open(struct scene *scene, bool full)
{
	const struct nic_config config = {
		.digest = full ? NIC_DIGEST_FULL : NIC_DIGEST_HEAD,
		.eager = 32,
		.unexpected_bytes = 256,
		.envelopes = 4,
	};

	plug_open(&scene->plug, &config);
	memory_open(&scene->memory, scene->plug.nic);
	FUZZ_CHECK(!av_open(&scene->av, 0));
	scene->opened = true;
}
