/* SPDX-License-Identifier: BSD-2-Clause */
/* text.c - each golden frame as a line. */
#include <criterion/criterion.h>

#include "wire/frame_text.h"
#include "golden.h"
#include "wire/codec.h"
#include "wire/datagram.h"
#include "wire/rdma.h"

Test(text, golden_lines)
{
	for (int name = 0; name < GOLDENS; name++) {
		char line[WIRE_LINE_MAX];
		size_t length = wire_text(line, sizeof(line), (const struct wire_head *)goldens[name].bytes);

		cr_assert_str_eq(line, goldens[name].text);
		cr_assert_eq(length, strlen(line));
	}
}

Test(text, is_cut_to_the_buffer)
{
	for (int name = 0; name < GOLDENS; name++) {
		for (size_t size = 1; size <= strlen(goldens[name].text) + 1; size++) {
			char line[WIRE_LINE_MAX];

			memset(line, '#', sizeof(line));
			cr_assert_eq(wire_text(line, size, (const struct wire_head *)goldens[name].bytes), size - 1);
			cr_assert_eq(line[size - 1], 0);
			cr_assert_eq(line[size], '#', "writes behind the buffer");
			cr_assert_eq(strncmp(line, goldens[name].text, size - 1), 0);
		}
	}
}

/* A frame that no validator has seen fits too, whatever it holds. */
Test(text, of_frames_full_of_ones)
{
	for (int op = 0; op < 256; op++) {
		char line[WIRE_LINE_MAX];
		uint8_t frame[WIRE_FRAME_MAX];
		size_t length;

		memset(frame, 0xff, sizeof(frame));
		frame[0] = (uint8_t)op;
		length = wire_text(line, sizeof(line), (const struct wire_head *)frame);
		cr_assert_lt(length, sizeof(line) - 1, "%s", line);
		for (size_t i = 0; i < length; i++)
			cr_assert(line[i] >= ' ' && line[i] <= '~');
		cr_assert(wire_body_len((uint8_t)op) || strncmp(line, "op ", 3) == 0);
	}
}

Test(text, names_of_ops)
{
	cr_assert_str_eq(wire_op_name(WIRE_PARK), "PARK");
	cr_assert_str_eq(wire_op_name(77), "?");
}

/* A word's text, of which as many bytes are there, behind the head of such a frame. */
static const char *word_text(const struct wire_rdma_fields *word, uint8_t op, size_t kept)
{
	static char line[WIRE_LINE_MAX];
	uint8_t frame[WIRE_FRAME_MAX], bytes[WIRE_CM_DATA_MAX];
	uint32_t length = (uint32_t)wire_put_rdma(bytes, word);

	wire_put_cm(frame, op, length, 1, 1);
	cr_assert_eq(wire_word_text(line, sizeof(line), (const struct wire_head *)frame, bytes, kept < length ? kept : length),
		     strlen(line));
	return line;
}

Test(text, words_of_rdma_cm)
{
	static const uint8_t private[WIRE_RDMA_REPLY_DATA];
	const struct wire_rdma_fields request = { .kind = WIRE_RDMA_REQUEST,
						  .qp_type = WIRE_RDMA_RC,
						  .qpn = 0x126607,
						  .psn = 1,
						  .from = { .family = 4, .port = 9, .addr = { 192, 0, 2, 1 } },
						  .to = { .family = 4, .port = 18515, .addr = { 192, 0, 2, 2 } },
						  .length = 56,
						  .data = private };
	const struct wire_rdma_fields reply = {
		.kind = WIRE_RDMA_REPLY, .qpn = 0x126842, .psn = 0xabcdef, .length = WIRE_RDMA_REPLY_DATA, .data = private
	};

	cr_assert_str_eq(word_text(&request, WIRE_CONNECT, SIZE_MAX),
			 "REQUEST from 192.0.2.1:9 to 192.0.2.2:18515 QPN 0x126607 PSN 0x000001 data 56");
	cr_assert_str_eq(word_text(&reply, WIRE_CONNECT, 128), "REPLY QPN 0x126842 PSN 0xabcdef data 196");
	cr_assert_str_eq(word_text(&(struct wire_rdma_fields){ .kind = WIRE_RDMA_REJECT, .reason = 28 }, WIRE_CONNECT, SIZE_MAX),
			 "REJECT reason 28");
	cr_assert_str_eq(word_text(&(struct wire_rdma_fields){ .kind = WIRE_RDMA_READY }, WIRE_CONNECT, SIZE_MAX), "READY");
	cr_assert_str_eq(word_text(&(struct wire_rdma_fields){ .kind = WIRE_RDMA_LEAVE }, WIRE_CONNECT, SIZE_MAX), "LEAVE");
	cr_assert_str_eq(word_text(&(struct wire_rdma_fields){ .kind = WIRE_RDMA_LOOKUP,
							       .space = 0x111,
							       .from = request.from,
							       .to = request.to },
				   WIRE_CONNECT, SIZE_MAX),
			 "LOOKUP from 192.0.2.1:9 to 192.0.2.2:18515");
	cr_assert_str_eq(word_text(&(struct wire_rdma_fields){ .kind = WIRE_RDMA_FOUND, .qpn = 0x126607, .qkey = 0x1234567 },
				   WIRE_CONNECT, SIZE_MAX),
			 "FOUND QPN 0x126607 Q_Key 0x01234567");
	cr_assert_str_eq(word_text(&(struct wire_rdma_fields){ .kind = WIRE_RDMA_FOUND, .status = 1 }, WIRE_CONNECT, SIZE_MAX),
			 "FOUND status 1");
	cr_assert_str_eq(word_text(&reply, WIRE_CONNECT, 1), "", "not as much of it as shows that it is a word");
	cr_assert_str_eq(word_text(&request, WIRE_CONNECT, 0), "");
	cr_assert_str_eq(word_text(&request, WIRE_REJECT, SIZE_MAX), "", "with another frame");
}

Test(text, payloads_that_are_no_words)
{
	static const uint8_t bytes[WIRE_CM_DATA_MAX] = { 1, 4 };
	char line[WIRE_LINE_MAX];
	uint8_t frame[WIRE_FRAME_MAX];
	const struct wire_head *head = (const struct wire_head *)frame;

	wire_put_cm(frame, WIRE_CONNECT, 7, 1, 1);
	cr_assert_eq(wire_word_text(line, sizeof(line), head, bytes, 7), 0);
	wire_put_cm(frame, WIRE_CONNECT, WIRE_CM_DATA_MAX + 1, 1, 1);
	cr_assert_eq(wire_word_text(line, sizeof(line), head, bytes, 8), 0);
	wire_put_send(frame, 0, 8, 1, &(struct wire_message_fields){ 0 });
	cr_assert_eq(wire_word_text(line, sizeof(line), head, bytes, 8), 0);
}

static const char *datagram_text(const void *bytes, size_t kept, size_t whole)
{
	static char line[WIRE_LINE_MAX];

	cr_assert_eq(wire_datagram_text(line, sizeof(line), bytes, kept, whole), strlen(line));
	return line;
}

Test(text, datagrams)
{
	const struct wire_datagram_fields fields = { .from = { .family = 4, .port = 0x1266, .addr = { 192, 0, 2, 1 } },
						     .payload = 12,
						     .flags = WIRE_DG_CQ_DATA,
						     .cq_data = 0x2a };
	const struct wire_pair_datagram_fields pair = { .dest_qpn = 0x126842, .src_qpn = 0x126607, .qkey = 0x11111111 };
	struct wire_service_fields service = { .kind = WIRE_SERVICE_QUESTION,
					       .nonce = 1,
					       .at = { .family = 4, .port = 18515, .addr = { 192, 0, 2, 2 } } };
	uint8_t bytes[WIRE_DATAGRAM_MAX] = { 0 };
	size_t whole = wire_put_pair_datagram(bytes, &fields, &pair);

	cr_assert_str_eq(datagram_text(bytes, WIRE_PAIR_HEAD, whole),
			 "datagram of 112 bytes from QPN 0x126607 to 0x126842 Q_Key 0x11111111 cq_data 0x2a");
	cr_assert_str_eq(datagram_text(bytes, WIRE_PAIR_HEAD - 1, whole), "datagram of 112 bytes");
	whole = wire_put_datagram(bytes, &fields);
	cr_assert_str_eq(datagram_text(bytes, whole, whole), "datagram of 76 bytes");
	wire_put_service((struct wire_service *)bytes, &service);
	cr_assert_str_eq(datagram_text(bytes, 52, 52), "question for the port of service 192.0.2.2:18515");
	cr_assert_str_eq(datagram_text(bytes, 52, 53), "datagram of 53 bytes");
	service.kind = WIRE_SERVICE_ANSWER;
	service.port = 4711;
	wire_put_service((struct wire_service *)bytes, &service);
	cr_assert_str_eq(datagram_text(bytes, 52, 52), "answer: service 192.0.2.2:18515 is at port 4711");
}
