/* SPDX-License-Identifier: BSD-2-Clause */
/* wireshark_capture.c - writes the captures that dissect.py has tshark read: wireshark_capture FOLDER
 *
 * On stdout go what each must show, a line each: `golden N OP TEXT`, `flaw PORT SENTENCE`, `table ...` for names.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/wire/golden.h"
#include "tests/wireshark/capture.h"
#include "tests/wireshark/talk.h"
#include "wire/codec.h"
#include "wire/datagram.h"
#include "wire/rdma.h"

enum { FIRST_PORT = 20000, BYTES_MAX = 300 * 1024 };

/* Each golden frame behind a greeting, each in a packet of its own; HELLOs are the first of their connection. */
static void write_goldens(const char *folder)
{
	struct capture capture;

	capture_open(&capture, folder, "goldens");
	for (int i = 0; i < GOLDENS; i++) {
		const struct golden *golden = &goldens[i];
		struct capture_stream stream;

		capture_stream_open(&stream, &capture, (uint16_t)(FIRST_PORT + i));
		if (golden->bytes[0] != WIRE_HELLO)
			capture_stream_put(&stream, 0, goldens[GOLDEN_HELLO4].bytes, goldens[GOLDEN_HELLO4].length);
		capture_stream_put(&stream, 0, golden->bytes, golden->length);
		printf("golden %d %d %s\n", FIRST_PORT + i, golden->bytes[0], golden->text);
	}
	capture_close(&capture);
}

/* A frame with one bit changed, and as many bytes of payload and trailer behind it as its head now says. */
static const char *flip(const struct golden *golden, size_t byte, int bit, uint8_t *bytes, size_t *length)
{
	struct wire_head *head = (struct wire_head *)bytes;
	enum wire_flaw flaw;
	size_t whole;

	memset(bytes, 0, BYTES_MAX);
	memcpy(bytes, golden->bytes, sizeof(*head) + wire_body_len(golden->bytes[0]));
	bytes[byte] ^= (uint8_t)(1 << bit);
	flaw = wire_check_head(head, WIRE_SEGMENT_MAX);
	whole = sizeof(*head) + wire_body_len(head->op);
	if (!flaw) {
		flaw = wire_check_body(head);
		if (wire_get32(head->payload))
			whole += wire_get32(head->payload) + sizeof(struct wire_trailer);
	}
	*length = whole;
	return wire_flaw_name(flaw);
}

/* Each byte of head and body of each golden frame with a bit changed, on a connection of its own. Digests stay as they were. */
static void write_flaws(const char *folder)
{
	static uint8_t bytes[BYTES_MAX];
	struct capture capture;
	int port = 1000;

	capture_open(&capture, folder, "flaws");
	for (int i = 0; i < GOLDENS; i++) {
		size_t end = sizeof(struct wire_head) + wire_body_len(goldens[i].bytes[0]);

		for (size_t byte = 0; byte < end; byte++) {
			struct capture_stream stream;
			size_t length;
			const char *flaw = flip(&goldens[i], byte, (int)(byte + (size_t)i) % 8, bytes, &length);

			if (port == 4711)
				port++;
			capture_stream_open(&stream, &capture, (uint16_t)port);
			if (goldens[i].bytes[0] != WIRE_HELLO)
				capture_stream_put(&stream, 0, goldens[GOLDEN_HELLO4].bytes, goldens[GOLDEN_HELLO4].length);
			capture_stream_put(&stream, 0, bytes, length);
			printf("flaw %d %s\n", port++, flaw);
		}
	}
	capture_close(&capture);
}

/* The talk, in segments of so many bytes. */
static void write_talk(const char *folder, const char *name, size_t cut, uint32_t snap)
{
	struct capture capture;
	struct capture_stream stream;

	capture_open(&capture, folder, name);
	capture.snap = snap;
	capture_stream_open(&stream, &capture, FIRST_PORT);
	stream.cut = cut;
	talk(&stream);
	talk_datagrams(&capture);
	capture_close(&capture);
}

/* The talk as a stream: segments begin and end anywhere. */
static void write_joined(const char *folder)
{
	struct capture capture;
	struct capture_stream stream;

	capture_open(&capture, folder, "joined");
	capture_stream_open(&stream, &capture, FIRST_PORT);
	stream.cut = 300;
	stream.joins = true;
	talk(&stream);
	capture_stream_flush(&stream);
	capture_close(&capture);
}

static void write_others(const char *folder)
{
	struct capture capture;
	struct capture_stream stream;

	capture_open(&capture, folder, "resumed");
	talk_resumed(&capture);
	capture_close(&capture);
	capture_open(&capture, folder, "midstream");
	capture_stream_open(&stream, &capture, FIRST_PORT);
	talk_midstream(&stream);
	capture_close(&capture);
	capture_open(&capture, folder, "rdma");
	talk_rdma(&capture);
	capture_close(&capture);
}

/* A frame that ends nowhere: the stream ends in each of its bytes. */
static void write_cut_off(const char *folder)
{
	const struct golden *golden = &goldens[GOLDEN_ATOMIC];
	struct capture capture;

	capture_open(&capture, folder, "cut_off");
	for (size_t length = 1; length <= golden->length; length++) {
		struct capture_stream stream;

		capture_stream_open(&stream, &capture, (uint16_t)(FIRST_PORT + length));
		capture_stream_put(&stream, 0, goldens[GOLDEN_HELLO4].bytes, goldens[GOLDEN_HELLO4].length);
		capture_stream_put(&stream, 0, golden->bytes, length);
		capture_stream_end(&stream, 0);
	}
	capture_close(&capture);
}

static uint32_t drawn(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

/* Bytes of no protocol; and goldens, one after the other, with bytes changed at random. */
static void write_garbage(const char *folder)
{
	struct capture capture;
	uint32_t state = 23;

	capture_open(&capture, folder, "garbage");
	for (int i = 0; i < 300; i++) {
		struct capture_stream stream;

		capture_stream_open(&stream, &capture, (uint16_t)(FIRST_PORT + i));
		for (int piece = 0; piece < 20; piece++) {
			const struct golden *golden = &goldens[drawn(&state) % GOLDENS];
			uint8_t bytes[512] = { 0 };
			size_t length = golden->length < sizeof(bytes) ? golden->length : sizeof(bytes);

			memcpy(bytes, golden->bytes, length);
			for (int change = i % 4; change > 0; change--)
				bytes[drawn(&state) % length] = (uint8_t)drawn(&state);
			for (size_t at = 0; i % 10 == 9 && at < length; at++)
				bytes[at] = (uint8_t)drawn(&state);
			capture_stream_put(&stream, (int)drawn(&state) % 2, bytes, 1 + drawn(&state) % length);
		}
		for (int piece = 0; piece < 4; piece++) {
			static const char *const magics[] = { WIRE_DATAGRAM_MAGIC, WIRE_SERVICE_MAGIC };
			uint8_t bytes[WIRE_DATAGRAM_MAX] = { 0 };

			memcpy(bytes, magics[piece % 2], 8);

			for (size_t at = 8; at < 80; at++)
				bytes[at] = (uint8_t)drawn(&state);
			capture_datagram(&capture, 4711, 4712, bytes, 8 + drawn(&state) % 100);
		}
	}
	capture_close(&capture);
}

/* What check.c and codec.c know, for names.py. */
static void write_tables(void)
{
	for (int op = 0; op < 256; op++) {
		const struct wire_form *form = &wire_forms[op];

		if (form->body)
			printf("table op %d %s %d %d %d %d\n", op, form->name, form->body, form->flags, form->payload != 0,
			       form->sequenced            ? 1
			       : wire_greets((uint8_t)op) ? 2
							  : 0);
	}
	for (int flaw = 1; flaw < WIRE_FLAWS; flaw++)
		printf("table flaw %s\n", wire_flaw_name((enum wire_flaw)flaw));
	for (int flaw = 1; flaw < WIRE_DG_FLAWS; flaw++)
		printf("table datagram_flaw %s\n", wire_datagram_flaw_name((enum wire_datagram_flaw)flaw));
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--tables")) {
		write_tables();
		return 0;
	}
	if (argc != 2) {
		fprintf(stderr, "wireshark_capture: name a folder to write to, or --tables\n");
		return 2;
	}
	write_goldens(argv[1]);
	write_flaws(argv[1]);
	write_talk(argv[1], "talk", 0, 0);
	write_talk(argv[1], "bytes", 1, 0);
	write_talk(argv[1], "odd", 39, 0);
	write_talk(argv[1], "snapped", 0, 100);
	write_joined(argv[1]);
	write_others(argv[1]);
	write_cut_off(argv[1]);
	write_garbage(argv[1]);
	return 0;
}
