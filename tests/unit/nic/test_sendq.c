/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sendq.c - the send queue's buffers: what has room in one, and how many are kept. */
#include <criterion/criterion.h>

#include "emu/nic/sendq.h"
#include "wire/codec.h"

/* A segment with its payload copied, as a connection asks for room. */
static bool add_segment(struct sendq *q, struct sendq_spares *spares, size_t payload)
{
	if (!sendq_room(q, spares, WIRE_FRAME_MAX + payload + sizeof(struct wire_trailer), 2))
		return false;
	sendq_add(q, sizeof(struct wire_head) + sizeof(struct wire_write));
	sendq_add(q, payload);
	sendq_add(q, sizeof(struct wire_trailer));
	return true;
}

Test(sendq, eight_whole_segments)
{
	struct sendq_spares spares = { 0 };
	struct sendq q = { .copies = true };
	int segments = 0;

	while (add_segment(&q, &spares, LIMIT_SEGMENT))
		segments++;
	cr_assert_eq(segments, 8);
	sendq_drop(&q, &spares);
	sendq_spares_free(&spares);
}

/* To the byte, and to the piece. */
Test(sendq, room)
{
	struct sendq_spares spares = { 0 };

	for (int copies = 0; copies < 2; copies++) {
		struct sendq q = { .copies = copies };
		size_t bytes = copies ? SENDQ_LONG_BYTES : SENDQ_BYTES;

		cr_assert_not(sendq_room(&q, &spares, bytes + 1, 1));
		cr_assert(sendq_room(&q, &spares, bytes, SENDQ_PIECES));
		cr_assert_not(sendq_room(&q, &spares, bytes, SENDQ_PIECES + 1));
		sendq_add(&q, 1);
		cr_assert_not(sendq_room(&q, &spares, bytes, 1));
		cr_assert(sendq_room(&q, &spares, bytes - 1, SENDQ_PIECES - 1));
		cr_assert_not(sendq_room(&q, &spares, bytes - 1, SENDQ_PIECES));
		sendq_drop(&q, &spares);
		cr_assert_null(q.buffer);
		cr_assert_eq(q.copies, copies, "it is the connection's");
	}
	sendq_spares_free(&spares);
}

/* So many are kept for whoever comes next, each sort by itself, and no more. */
static void keeps(bool copies, unsigned most)
{
	enum { MANY = SENDQ_SPARES + 2 };
	struct sendq_spares spares = { 0 };
	struct sendq q[MANY];
	unsigned *count = copies ? &spares.count_long : &spares.count;
	struct sendq_buffer **first = copies ? &spares.first_long : &spares.first, *kept;

	for (unsigned i = 0; i < MANY; i++) {
		q[i] = (struct sendq){ .copies = copies };
		cr_assert(sendq_room(&q[i], &spares, 1, 1));
	}
	for (unsigned i = 0; i < MANY; i++) {
		sendq_drop(&q[i], &spares);
		cr_assert_eq(*count, i < most ? i + 1 : most);
	}
	cr_assert_eq(spares.count + spares.count_long, most);
	kept = *first;
	cr_assert(sendq_room(&q[0], &spares, 1, 1));
	cr_assert_eq(q[0].buffer, kept, "it is used again");
	cr_assert_eq(*count, most - 1);
	sendq_drop(&q[0], &spares);
	cr_assert_eq(*count, most);
	cr_assert_eq(*first, kept);
	sendq_spares_free(&spares);
	cr_assert_null(*first);
	cr_assert_eq(*count, 0);
}

Test(sendq, spares)
{
	keeps(false, SENDQ_SPARES);
	keeps(true, SENDQ_LONG_SPARES);
}
