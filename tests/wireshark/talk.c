/* SPDX-License-Identifier: BSD-2-Clause */
/* talk.c - a conversation with each frame in its place, as two endpoints have it. Payloads are zeros where none is given. */
#include "tests/wireshark/talk.h"

#include <string.h>

#include "tests/wireshark/talk_impl.h"
#include "wire/codec.h"
#include "wire/datagram.h"
#include "wire/digest.h"

enum { A, B, PAYLOAD_MAX = WIRE_SEGMENT_MIN };

static uint8_t frame[WIRE_FRAME_MAX + PAYLOAD_MAX + sizeof(struct wire_trailer)];

/* Seals what an encoder has written, and puts it on the wire with its payload: these bytes, or zeros. */
static void say_bytes(struct capture_stream *stream, int side, uint64_t ack, size_t length, const void *bytes)
{
	struct wire_head *head = (struct wire_head *)frame;
	uint32_t payload = wire_get32(head->payload);

	wire_seal(head, ack, true);
	if (payload) {
		uint64_t digest = head->op == WIRE_ATOMIC || head->op == WIRE_RESULT ? digest_bytes(frame + length, payload) : 0;

		if (bytes)
			memcpy(frame + length, bytes, payload);
		else
			memset(frame + length, 0, payload);
		length += payload;
		length += wire_put_trailer(frame + length, WIRE_GOOD, digest);
	}
	capture_stream_put(stream, side, frame, length);
}

static void say(struct capture_stream *stream, int side, uint64_t ack, size_t length)
{
	say_bytes(stream, side, ack, length, NULL);
}

static const struct wire_target_fields there = { .key = 0x9f3c000000000001, .addr = 0x7f0000001000 };
const struct wire_address_fields talk_at[] = { { .family = 4, .port = 4710, .addr = { 192, 0, 2, 1 } },
					       { .family = 4, .port = 4711, .addr = { 192, 0, 2, 2 } } };

static struct wire_hello_fields hello_fields(int side, uint32_t features, uint64_t epoch)
{
	return (struct wire_hello_fields){
		.version_min = 1,
		.version_max = 1,
		.features = features,
		.instance = { (uint8_t)(side + 1) },
		.session = 0x1122334455667788,
		.epoch = epoch,
		.requests = 64,
		.reads = 16,
		.segment = WIRE_SEGMENT_MIN,
		.at = talk_at[side],
	};
}

void talk_hello(struct capture_stream *stream, int side, uint32_t features, uint64_t epoch)
{
	struct wire_hello_fields fields = hello_fields(side, features, epoch);

	say(stream, side, 0, wire_put_hello(frame, &fields));
}

void talk_hello_pair(struct capture_stream *stream, int side, uint32_t features, uint8_t index)
{
	struct wire_hello_fields fields = hello_fields(side, features, 1);

	fields.version_min = fields.version_max = WIRE_VERSION_PAIRS;
	fields.index = index;
	say(stream, side, 0, wire_put_hello(frame, &fields));
}

void talk_pair(struct capture_stream *stream, int side, uint32_t sq_psn)
{
	const struct wire_pair_fields fields = { .sq_psn = sq_psn, .rq_psn = 0x800000, .path_mtu = 1024 };

	say(stream, side, 0, wire_put_pair(frame, &fields));
}

void talk_cm(struct capture_stream *stream, int side, uint8_t op, uint64_t seq, uint64_t request, const void *bytes, size_t length)
{
	say_bytes(stream, side, 0, wire_put_cm(frame, op, (uint32_t)length, seq, request), bytes);
}

void talk_rsend(struct capture_stream *stream, int side, uint64_t seq, const struct wire_message_fields *fields)
{
	say(stream, side, 0, wire_put_rsend(frame, WIRE_F_FIRST, 8, seq, 8, fields));
}

static void greet(struct capture_stream *stream)
{
	static const uint8_t random[WIRE_NONCE_LEN] = { 1, 2, 3 };

	talk_hello(stream, A, WIRE_ASK_PROOF | WIRE_TAGGED_RMA, 1);
	say(stream, A, 0, wire_put_challenge(frame, random, &talk_at[B]));
	say(stream, B, 0, wire_put_challenge(frame, random, &talk_at[A]));
	say(stream, A, 0, wire_put_proof(frame, random));
	talk_hello(stream, B, WIRE_ASK_PROOF | WIRE_TAGGED_RMA, 1);
	say(stream, B, 0, wire_put_proof(frame, random));
}

/* Requests 1 to 4. The last two are a WRITE of `whole` bytes, the first `part` of them in one segment. */
static void talk_regions(struct capture_stream *stream, uint32_t part, uint32_t whole)
{
	struct wire_target_fields next = there;

	next.addr += part;
	say(stream, A, 0, wire_put_write(frame, WIRE_F_FIRST, 8, 1, &there, 8, 0));
	say(stream, A, 0, wire_put_read(frame, 0, 2, &there, 64));
	say(stream, B, 1, wire_put_data(frame, 0, 40, 2, 0, 64));
	say(stream, B, 2, wire_put_data(frame, 0, 24, 2, 40, 24));
	say(stream, A, 0, wire_put_write(frame, WIRE_F_FIRST | WIRE_F_COMMIT, part, 3, &there, whole, 0));
	say(stream, A, 0, wire_put_write(frame, WIRE_F_COMMIT, whole - part, 4, &next, whole - part, 0));
	say(stream, B, 4, wire_put_verdict(frame, WIRE_DONE, 1, 3));
	say(stream, A, 0, wire_put_ack(frame, 1));
}

/* Requests 5 and 6: a SEND that is parked, and an RTS that is sent twice. */
static void talk_messages(struct capture_stream *stream)
{
	const struct wire_message_fields tagged = { .tag = 0x77 };

	say(stream, A, 0, wire_put_send(frame, WIRE_F_TAGGED, 5, 5, &tagged));
	say(stream, B, 4, wire_put_verdict(frame, WIRE_PARK, 2, 5));
	say(stream, B, 5, wire_put_pull(frame, 5, 0, 5));
	say(stream, A, 0, wire_put_data(frame, WIRE_F_PULLED, 5, 5, 0, 5));
	say(stream, B, 5, wire_put_verdict(frame, WIRE_DONE, 3, 5));
	say(stream, A, 0, wire_put_rts(frame, 0, 100, 6, &(struct wire_message_fields){ 0 }));
	say(stream, B, 5, wire_put_rnr(frame, 6, 1000));
	say(stream, A, 0, wire_put_rts(frame, 0, 100, 6, &(struct wire_message_fields){ 0 }));
	say(stream, B, 6, wire_put_pull(frame, 6, 0, 100));
	say(stream, A, 0, wire_put_data(frame, WIRE_F_PULLED, 100, 6, 0, 100));
	say(stream, B, 6, wire_put_verdict(frame, WIRE_DONE, 4, 6));
}

/* Requests 7 to 14, and B's first two. The last two are an RSEND in two segments. */
static void talk_others(struct capture_stream *stream)
{
	const struct wire_atomic_fields swap = { .to = there, .length = 8, .kind = WIRE_ATOMIC_COMPARE, .op = 12, .type = 7 };
	const struct wire_nak_fields refused = {
		.verdict = 6, .ref = 8, .cause = 4, .access = 0x3000, .region = 4096, .excess = 32
	};
	const struct wire_target_fields tag = { .key = 0x77, .addr = 0x40 };
	const struct wire_message_fields ends = { .cq_data = 0x2a77, .invalidate = true };
	const struct wire_message_fields group = { .tag = 0x67726f7570000001, .cq_data = 0x3abcd000002 };

	say(stream, A, 0, wire_put_atomic(frame, 0, 7, &swap));
	say(stream, B, 7, wire_put_result(frame, 8, 5, 7));
	say(stream, A, 0, wire_put_write(frame, WIRE_F_FIRST, 64, 8, &there, 64, 0));
	say(stream, B, 7, wire_put_nak(frame, &refused));
	say(stream, A, 0, wire_put_cm(frame, WIRE_CONNECT, 4, 9, 0x7265710000000001));
	say(stream, B, 9, wire_put_cm(frame, WIRE_ACCEPT, 2, 1, 0x7265710000000001));
	say(stream, B, 9, wire_put_cm(frame, WIRE_REJECT, 0, 2, 0x7265710000000002));
	say(stream, A, 2, wire_put_read(frame, WIRE_F_TAGGED, 10, &tag, 16));
	say(stream, B, 10, wire_put_data(frame, 0, 16, 10, 0, 16));
	say(stream, A, 2, wire_put_taken(frame, 11, 10, WIRE_GOOD));
	say(stream, A, 2, wire_put_send(frame, WIRE_F_COLLECTIVE, 0, 12, &group));
	say(stream, A, 2, wire_put_rsend(frame, WIRE_F_FIRST | WIRE_F_SOLICITED, 6, 13, 8, &ends));
	say(stream, A, 2, wire_put_rsend(frame, WIRE_F_SOLICITED, 2, 14, 2, &ends));
	say(stream, B, 14, wire_put_ack(frame, 0));
	say(stream, A, 2, wire_put_verdict(frame, WIRE_DONE, 1, 7)); /* about a request of its own side */
	say(stream, A, 2, wire_put_bye(frame, WIRE_BYE_LIMIT, "no more of this"));
}

void talk(struct capture_stream *stream)
{
	bool bytes = stream->cut == 1; /* tshark's time for these grows with the square of a frame's length */

	greet(stream);
	talk_regions(stream, bytes ? 100 : WIRE_SEGMENT_MIN, bytes ? 150 : 70000);
	talk_messages(stream);
	talk_others(stream);
}

void talk_resumed(struct capture *capture)
{
	struct capture_stream stream;

	capture_stream_open(&stream, capture, 30000);
	talk_hello(&stream, A, 0, 1);
	talk_hello(&stream, B, 0, 1);
	say(&stream, A, 0, wire_put_read(frame, 0, 1, &there, 16));
	say(&stream, A, 0, wire_put_write(frame, WIRE_F_FIRST, 8, 2, &there, 8, 0));
	capture_stream_end(&stream, A);
	capture_stream_end(&stream, B);
	capture_stream_open(&stream, capture, 30000);
	talk_hello(&stream, A, 0, 2);
	talk_hello(&stream, B, 0, 2);
	say(&stream, A, 0, wire_put_read(frame, 0, 1, &there, 16));
	say(&stream, B, 2, wire_put_data(frame, 0, 16, 1, 0, 16));
	say(&stream, A, 0, wire_put_send(frame, 0, 8, 4, &(struct wire_message_fields){ 0 })); /* 3 is left out */
	talk_hello(&stream, A, 0, 2);
	say(&stream, A, 0, wire_put_bye(frame, WIRE_BYE_CLOSED, "closed"));
	say(&stream, A, 0, wire_put_ack(frame, 1));
}

void talk_midstream(struct capture_stream *stream)
{
	talk_regions(stream, WIRE_SEGMENT_MIN, 70000);
}

void talk_datagrams(struct capture *capture)
{
	struct wire_datagram_fields fields = { .from = talk_at[A], .payload = 12, .auth = 7 };
	struct wire_pair_datagram_fields pair = {
		.dest_qpn = 0x126842, .src_qpn = 4710 << 8 | 7, .qkey = 0x11111111, .hop_limit = 64
	};
	uint8_t bytes[WIRE_DATAGRAM_MAX] = { 0 };

	capture_datagram(capture, 4710, 4712, bytes, wire_put_datagram(bytes, &fields));
	fields.flags = WIRE_DG_CQ_DATA | WIRE_DG_WHOLE;
	fields.cq_data = 0xfeedface;
	fields.from = (struct wire_address_fields){ .family = 6, .port = 4710, .addr = { 0xfe, 0x80, [15] = 1 }, .scope = 3 };
	capture_datagram(capture, 4710, 4712, bytes, wire_put_datagram(bytes, &fields));
	capture_datagram(capture, 4710, 4712, bytes, sizeof(struct wire_datagram) + 5); /* shorter than its head says */
	fields.flags = WIRE_DG_CQ_DATA | WIRE_DG_SOLICITED;
	fields.auth = 0;
	capture_datagram(capture, 4710, 4712, bytes, wire_put_pair_datagram(bytes, &fields, &pair));
}
