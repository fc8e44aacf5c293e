/* SPDX-License-Identifier: BSD-2-Clause */
/* talk_rdma.c - a connection of rdma_cm, and queue pairs of types XRC and UC, as their endpoints have it. */
#include <string.h>

#include "tests/wireshark/talk.h"
#include "tests/wireshark/talk_impl.h"
#include "wire/rdma.h"

enum { A, B, NUMBER = 18515, PORT = 4711, ASKED_AT = 40000 };

static void put_service(struct capture *capture, enum wire_service_kind kind, uint16_t port)
{
	struct wire_service_fields fields = {
		.kind = kind, .port = port, .nonce = 0x6e6f6e6365, .at = { .family = 4, .port = NUMBER, .addr = { 192, 0, 2, 2 } }
	};
	bool asks = kind == WIRE_SERVICE_QUESTION;
	struct wire_service bytes;

	wire_put_service(&bytes, &fields);
	capture_datagram(capture, asks ? ASKED_AT : NUMBER, asks ? NUMBER : ASKED_AT, &bytes, sizeof(bytes));
}

/* A word, of which `changed` is another byte than it should be; SIZE_MAX: none. */
static void say_word(struct capture_stream *stream, int side, uint8_t op, const struct wire_rdma_fields *word, size_t changed)
{
	static uint64_t seq[2];
	uint8_t bytes[WIRE_CM_DATA_MAX];
	size_t length = wire_put_rdma(bytes, word);

	if (op == WIRE_CONNECT && word->kind == WIRE_RDMA_REQUEST)
		seq[A] = seq[B] = 0;
	if (changed < length)
		bytes[changed] ^= 0x80;
	talk_cm(stream, side, op, ++seq[side], 0x7265710000000002 + (uint64_t)side, bytes, length);
}

static void talk_words(struct capture *capture)
{
	static const uint8_t private[WIRE_RDMA_REPLY_DATA] = "private";
	const struct wire_rdma_fields request = { .kind = WIRE_RDMA_REQUEST,
						  .qp_type = WIRE_RDMA_RC,
						  .qpn = 0x126607,
						  .psn = 0xabcdef,
						  .from = { .family = 4, .port = ASKED_AT, .addr = { 192, 0, 2, 1 } },
						  .to = { .family = 4, .port = NUMBER, .addr = { 192, 0, 2, 2 } },
						  .length = WIRE_RDMA_REQUEST_DATA,
						  .data = private };
	const struct wire_rdma_fields reply = {
		.kind = WIRE_RDMA_REPLY, .qpn = 0x126842, .psn = 1, .length = 196, .data = private
	};
	const struct wire_rdma_fields reject = { .kind = WIRE_RDMA_REJECT, .reason = 28, .length = 7, .data = private };
	const struct wire_rdma_fields lookup = { .kind = WIRE_RDMA_LOOKUP, .space = 0x111, .from = request.from, .to = request.to };
	const struct wire_rdma_fields found = {
		.kind = WIRE_RDMA_FOUND, .qpn = 0x126842, .qkey = 0x1234567, .length = 3, .data = private
	};
	const struct wire_rdma_fields failed = { .kind = WIRE_RDMA_FOUND, .status = 2 };
	const struct wire_rdma_fields ready = { .kind = WIRE_RDMA_READY }, leave = { .kind = WIRE_RDMA_LEAVE };
	struct capture_stream stream;

	capture_stream_open(&stream, capture, 31000);
	talk_hello(&stream, A, 0, 1);
	talk_hello(&stream, B, 0, 1);
	say_word(&stream, A, WIRE_CONNECT, &request, SIZE_MAX);
	say_word(&stream, B, WIRE_CONNECT, &reply, SIZE_MAX);
	say_word(&stream, A, WIRE_CONNECT, &ready, SIZE_MAX);
	say_word(&stream, B, WIRE_CONNECT, &leave, SIZE_MAX);
	say_word(&stream, B, WIRE_CONNECT, &reject, SIZE_MAX);
	say_word(&stream, A, WIRE_CONNECT, &reject, SIZE_MAX);
	say_word(&stream, A, WIRE_CONNECT, &lookup, SIZE_MAX);
	say_word(&stream, B, WIRE_CONNECT, &found, SIZE_MAX);
	say_word(&stream, B, WIRE_CONNECT, &failed, SIZE_MAX);
	say_word(&stream, A, WIRE_REJECT, &leave, SIZE_MAX); /* with another frame than its own */
	for (size_t byte = 0; byte < 4; byte++)              /* version, kind, length, the reserved one */
		say_word(&stream, A, WIRE_CONNECT, &ready, byte);
	say_word(&stream, B, WIRE_CONNECT, &reply, offsetof(struct wire_rdma_reply, qpn));
	say_word(&stream, B, WIRE_CONNECT, &reply, offsetof(struct wire_rdma_reply, zeros));
	say_word(&stream, B, WIRE_CONNECT, &found, offsetof(struct wire_rdma_found, status));
	say_word(&stream, B, WIRE_CONNECT, &failed, offsetof(struct wire_rdma_found, qkey));
}

static void talk_request_flaws(struct capture *capture)
{
	struct wire_rdma_fields request = {
		.kind = WIRE_RDMA_REQUEST, .qp_type = WIRE_RDMA_RC, .from = talk_at[A], .to = talk_at[B]
	};
	static const size_t flaws[] = { offsetof(struct wire_rdma_request, qp_type), offsetof(struct wire_rdma_request, psn),
					offsetof(struct wire_rdma_request, zero), offsetof(struct wire_rdma_request, from),
					offsetof(struct wire_rdma_request, to.addr) + 15 };
	struct capture_stream stream;

	for (size_t i = 0; i < sizeof(flaws) / sizeof(*flaws); i++) {
		capture_stream_open(&stream, capture, (uint16_t)(31100 + i));
		talk_hello(&stream, A, 0, 1);
		talk_hello(&stream, B, 0, 1);
		say_word(&stream, A, WIRE_CONNECT, &request, flaws[i]);
	}
	request.to = (struct wire_address_fields){ .family = 6, .port = 1, .addr = { 1 } }; /* not of one family */
	capture_stream_open(&stream, capture, 31099);
	talk_hello(&stream, A, 0, 1);
	talk_hello(&stream, B, 0, 1);
	say_word(&stream, A, WIRE_CONNECT, &request, SIZE_MAX);
}

static void talk_pairs(struct capture *capture)
{
	const struct wire_message_fields message = { .auth = 0x2a };
	struct capture_stream stream;

	capture_stream_open(&stream, capture, 32000);
	talk_hello_pair(&stream, A, WIRE_XRC_SEND, 7);
	talk_hello_pair(&stream, B, WIRE_XRC_RECV, 66);
	talk_pair(&stream, A, 0x123456);
	talk_pair(&stream, B, WIRE_PSN_UNKNOWN);
	talk_rsend(&stream, A, 1, &message);
	talk_rsend(&stream, B, 1, &message); /* which asks for no context */
	capture_stream_open(&stream, capture, 32001);
	talk_hello_pair(&stream, A, WIRE_UNRELIABLE, 7);
	talk_hello_pair(&stream, B, WIRE_UNRELIABLE, 66);
	talk_rsend(&stream, A, 1, &(struct wire_message_fields){ .cq_data = 0x2a77, .invalidate = true });
}

void talk_rdma(struct capture *capture)
{
	put_service(capture, WIRE_SERVICE_QUESTION, 0);
	put_service(capture, WIRE_SERVICE_ANSWER, PORT);
	put_service(capture, WIRE_SERVICE_ANSWER, 0); /* without what it is to say */
	talk_words(capture);
	talk_request_flaws(capture);
	talk_pairs(capture);
}
