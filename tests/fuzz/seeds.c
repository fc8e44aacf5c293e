/* SPDX-License-Identifier: BSD-2-Clause */
/* seeds.c - the first inputs, from the golden frames: fuzz_seeds FOLDER, in which there is a folder for each target. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/record.h"
#include "tests/unit/wire/golden.h"
#include "wire/datagram.h"
#include "wire/rdma.h"

static void put(const char *folder, const char *target, int number, const uint8_t *bytes, size_t length, uint8_t first)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/golden-%02d-%02x", folder, target, number, first);
	file = fopen(path, "wb");
	if (!file || (first != 0xff && fputc(first, file) == EOF) || fwrite(bytes, 1, length, file) != length || fclose(file)) {
		perror(path);
		exit(1);
	}
}

/* The whole stream, and each frame alone. */
static void put_streams(const char *folder)
{
	uint8_t all[8192] = { 7 }; /* the second byte of the stream's input: pieces */
	size_t length = 1;

	for (int i = 0; i < GOLDENS; i++) {
		if (i == GOLDEN_HELLO6 || i == GOLDEN_HELLO_KNOWN || i == GOLDEN_HELLO_PAIR || i == GOLDEN_BYE)
			continue;
		memcpy(all + length, goldens[i].bytes, goldens[i].length);
		length += goldens[i].length;
	}
	for (uint8_t how = 0; how < 16; how++)
		put(folder, "stream", 0, all, length, how);
	for (int i = 0; i < GOLDENS; i++) {
		put(folder, "codec", i, goldens[i].bytes, goldens[i].length < 176 ? goldens[i].length : 176, 0xff);
	}
}

/* How, and a record of each kind, its bytes all alike; and frames as they stand. */
static void put_records(const char *folder)
{
	uint8_t bytes[2 * RECORD + 256] = { 0 };

	for (uint8_t kind = 0; kind < RECORD_RAW; kind++) {
		for (uint8_t fill = 0; fill < 24; fill += 8) {
			memset(bytes + RECORD, fill, RECORD);
			bytes[RECORD] = kind;
			put(folder, "responder", kind, bytes + 1, 2 * RECORD - 1, fill);
			put(folder, "responder", kind, bytes + 1, 2 * RECORD - 1, 64 + fill);
		}
	}
	memset(bytes + RECORD, 0xff, RECORD);
	bytes[RECORD] = RECORD_RAW;
	for (int i = 0; i < GOLDENS; i++) {
		size_t length = goldens[i].length < 256 ? goldens[i].length : 256;

		memcpy(bytes + 2 * RECORD, goldens[i].bytes, length);
		put(folder, "responder", RECORD_RAW + i, bytes + 1, 2 * RECORD - 1 + length, 0);
	}
}

static void put_datagrams(const char *folder)
{
	static const uint16_t flags[] = { 0, WIRE_DG_CQ_DATA, WIRE_DG_WHOLE };
	struct wire_pair_datagram_fields pair = {
		.dest_qpn = 0x708, .src_qpn = 0x709, .qkey = 1, .hop_limit = 1, .dgid = { 0xfe, 0x80 }
	};
	uint8_t bytes[WIRE_DATAGRAM_MAX] = { 0 };

	for (int i = 0; i < 3; i++) {
		struct wire_datagram_fields fields = {
			.flags = flags[i],
			.from = { .family = 4, .port = 7, .addr = { 10, 0, 0, 1 } },
			.payload = 40u * (unsigned)i,
			.cq_data = flags[i] & WIRE_DG_CQ_DATA ? 77 : 0,
			.auth = 5,
		};

		put(folder, "datagram", i, bytes, wire_put_datagram(bytes, &fields), 1);
		fields.auth = 0;
		put(folder, "datagram", 3 + i, bytes, wire_put_pair_datagram(bytes, &fields, &pair), 1);
	}
}

/* A question, and a word of each kind with some of the program's bytes. */
static void put_rdma(const char *folder)
{
	struct wire_service_fields question = { .kind = WIRE_SERVICE_QUESTION,
						.nonce = 7,
						.at = { .family = 4, .port = 7174, .addr = { 10, 0, 0, 2 } } };
	struct wire_service service;
	uint8_t bytes[WIRE_CM_DATA_MAX];

	wire_put_service(&service, &question);
	put(folder, "rdma", 0, (const uint8_t *)&service, sizeof(service), 3);
	for (enum wire_rdma_kind kind = WIRE_RDMA_REQUEST; kind <= WIRE_RDMA_FOUND; kind++) {
		struct wire_rdma_fields word = {
			.kind = kind,
			.qp_type = kind == WIRE_RDMA_REQUEST ? WIRE_RDMA_RC : 0,
			.qpn = 0x10001,
			.reason = kind == WIRE_RDMA_REJECT ? 28 : 0,
			.space = 0x111,
			.qkey = 7,
			.from = { .family = 4, .port = 7, .addr = { 10, 0, 0, 1 } },
			.to = { .family = 4, .port = 8, .addr = { 10, 0, 0, 2 } },
			.length = (uint8_t)(wire_rdma_room(kind) / 2),
			.data = bytes,
		};
		uint8_t to[WIRE_CM_DATA_MAX];

		memset(bytes, kind, sizeof(bytes));
		put(folder, "rdma", (int)kind, to, wire_put_rdma(to, &word), 0);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
		return 2;
	}
	put_streams(argv[1]);
	put_records(argv[1]);
	put_datagrams(argv[1]);
	put_rdma(argv[1]);
	return 0;
}
