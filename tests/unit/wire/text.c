/* SPDX-License-Identifier: BSD-2-Clause */
/* text.c - each golden frame as a line. */
#include <criterion/criterion.h>

#include "wire/frame_text.h"
#include "golden.h"
#include "wire/codec.h"

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
