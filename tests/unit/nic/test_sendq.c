/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sendq.c - the send queue's buffers: what has room in one, and how many are kept. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/nic/device/nic_impl.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/transport/sendq.h"
#include "wire/codec.h"

/* A segment with its payload copied, as a connection asks for room. */
static bool add_segment(struct sendq *q, struct sendq_spares *spares, size_t payload)
{
	if (!sendq_room(q, spares, WIRE_FRAME_MAX + payload + sizeof(struct wire_trailer), 0))
		return false;
	sendq_add(q, sizeof(struct wire_head) + sizeof(struct wire_write));
	sendq_add(q, payload);
	sendq_add(q, sizeof(struct wire_trailer));
	return true;
}

Test(sendq, a_whole_segment)
{
	struct sendq_spares spares = { 0 };
	struct sendq q = { .copy_all = true };

	cr_assert(add_segment(&q, &spares, LIMIT_SEGMENT));
	sendq_drop(&q, &spares);
	sendq_spares_free(&spares);
}

/* To the byte, and to the piece. */
Test(sendq, room)
{
	struct sendq_spares spares = { 0 };

	for (int copy_all = 0; copy_all < 2; copy_all++) {
		struct sendq q = { .copy_all = copy_all };
		size_t bytes = copy_all ? SENDQ_LONG_BYTES : SENDQ_BYTES;

		cr_assert_not(sendq_room(&q, &spares, bytes + 1, 1));
		cr_assert(q.full);
		cr_assert(sendq_room(&q, &spares, bytes, SENDQ_PIECES - 2));
		cr_assert_not(q.full);
		cr_assert_not(sendq_room(&q, &spares, bytes, SENDQ_PIECES - 1));
		cr_assert(q.full);
		sendq_add(&q, 1);
		cr_assert_not(sendq_room(&q, &spares, bytes, 1));
		cr_assert(sendq_room(&q, &spares, bytes - 1, SENDQ_PIECES - 2));
		sendq_drop(&q, &spares);
		cr_assert_null(q.buffer);
		cr_assert_eq(q.copy_all, copy_all, "it is the connection's");
	}
	sendq_spares_free(&spares);
}

static int taken;

/* Takes all, and says how many pieces it was. */
static ssize_t take_pieces(struct line *line, const struct iovec *iov, int count)
{
	ssize_t bytes = 0;

	(void)line;
	taken = count;
	for (int i = 0; i < count; i++)
		bytes += (ssize_t)iov[i].iov_len;
	return bytes;
}

/* Bytes copied in a row leave as one piece, and lent bytes as one of their own, also once they are taken back. */
Test(sendq, pieces)
{
	const struct link_ops link = { .send = take_pieces };
	struct sendq_spares spares = { 0 };
	struct sendq q = { .copy_all = false };
	int owner;

	cr_assert(!guard_install());
	for (int lent = 0; lent < 3; lent++) {
		struct iovec run = { .iov_len = 8 };

		cr_assert(sendq_room(&q, &spares, 100, 8));
		for (uint32_t i = 1; i <= 3; i++) {
			sendq_add(&q, 10);
			cr_assert_eq(sendq_waiting(&q), 10 * i);
		}
		run.iov_base = q.buffer->bytes + q.used - run.iov_len; /* as if what is copied next lay right behind */
		if (lent > 0)
			sendq_lend(&q, &run, &owner);
		if (lent > 1)
			sendq_revoke(&q, &owner, WIRE_CANCELLED);
		for (int i = 0; i < 2; i++)
			sendq_add(&q, 10);
		cr_assert_eq(sendq_waiting(&q), 50 + (lent ? run.iov_len : 0));
		cr_assert_eq(sendq_flush(&q, &spares, &link, NULL), 0);
		cr_assert_eq(taken, lent ? 3 : 1);
		cr_assert_eq(sendq_waiting(&q), 0);
	}
	sendq_spares_free(&spares);
}

/* As many runs as there is said to be room for leave in one send, with what is copied before and behind them. */
Test(sendq, most_pieces)
{
	const struct link_ops link = { .send = take_pieces };
	struct sendq_spares spares = { 0 };
	struct sendq q = { .copy_all = false };
	struct iovec run = { &q, 1 };
	int frames = 0;

	for (; sendq_room(&q, &spares, 20, 3); frames++) {
		sendq_add(&q, 10);
		for (int i = 0; i < 3; i++)
			sendq_lend(&q, &run, &q);
		sendq_add(&q, 10);
	}
	cr_assert_eq(frames, (SENDQ_PIECES - 1) / 4);
	cr_assert(sendq_room(&q, &spares, 20, 1));
	sendq_add(&q, 10);
	sendq_lend(&q, &run, &q);
	sendq_add(&q, 10);
	cr_assert_not(sendq_room(&q, &spares, 20, 1));
	cr_assert_eq(sendq_flush(&q, &spares, &link, NULL), 0);
	cr_assert_eq(taken, 4 * frames + 3);
	cr_assert_leq(taken, SENDQ_PIECES);
	sendq_spares_free(&spares);
}

static size_t sent;

/* A payload with digests is lent for one send as long as it is likely to be in the cache still; one without, for as many
 * pieces as there may be. */
Test(sendq, as_much_as_is_digested)
{
	enum { EIGHTH = 1000 };
	static uint8_t lent[EIGHTH];
	struct sendq_spares spares = { 0 };

	for (uint32_t digest_batch = 0; digest_batch <= 8 * EIGHTH; digest_batch += 8 * EIGHTH) {
		const struct link_ops link = { .send = take_pieces };
		struct sendq q = { .digest_batch = digest_batch };
		struct iovec run = { lent, sizeof(lent) };
		int runs = 0;

		for (; sendq_room(&q, &spares, 10, 1); runs++)
			sendq_lend(&q, &run, lent);
		cr_assert_eq(runs, digest_batch ? 8 : SENDQ_PIECES - 2);
		cr_assert_eq(sendq_flush(&q, &spares, &link, NULL), 0);
		cr_assert_eq(q.digest_batch, digest_batch, "it is the connection's");
		cr_assert(sendq_room(&q, &spares, 10, 1));
		sendq_drop(&q, &spares);
	}
	sendq_spares_free(&spares);
}

enum { PAGE = 4096, ABOVE = 100, DIGEST = 4711 }; /* ABOVE: so many bytes of a run are in the page before */
static uint8_t *arrived;

/* Takes a byte of the first, and then all. */
static ssize_t take_away(struct line *line, const struct iovec *iov, int count)
{
	size_t before = sent;

	(void)line;
	for (int i = 0; i < count; i++) {
		size_t take_now = sent == 0 ? 1 : iov[i].iov_len;

		memcpy(arrived + sent, iov[i].iov_base, take_now);
		sent += take_now;
		if (sent == 1)
			break;
	}
	return (ssize_t)(sent - before);
}

/* Of memory that is taken back, or goes, after it was lent. */
static int revoke_lent(bool gone, uint32_t digest_batch, struct sendq_spares *spares)
{
	uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *lent = pages + PAGE - ABOVE;
	const struct link_ops link = { .send = take_away };
	struct sendq q = { .digest_batch = digest_batch };
	struct iovec run = { lent, 2 * ABOVE };
	struct wire_trailer *trailer;
	int err;

	cr_assert_neq(pages, MAP_FAILED);
	memset(lent, 0xee, run.iov_len);
	cr_assert(sendq_room(&q, spares, sizeof(*trailer), 1));
	sendq_lend(&q, &run, lent);
	trailer = sendq_add(&q, sizeof(*trailer));
	wire_put_trailer(trailer, WIRE_GOOD, DIGEST);
	sendq_trailer(&q, 1, trailer);
	if (gone)
		cr_assert(!mprotect(pages + PAGE, PAGE, PROT_NONE));
	sendq_revoke(&q, lent, WIRE_CANCELLED);
	cr_assert_eq(wire_get32(trailer->status), gone ? WIRE_GOOD : WIRE_CANCELLED);
	cr_assert_eq(wire_get64(trailer->digest), wire_trailer_digest(wire_get32(trailer->status), DIGEST));
	memset(lent, 0x11, ABOVE);
	sent = 0;
	err = sendq_flush(&q, spares, &link, NULL);
	sendq_drop(&q, spares);
	munmap(pages, 2 * PAGE);
	return err;
}

/* It leaves as it was when it was taken back, or nothing does. */
Test(sendq, revoked)
{
	static uint8_t bytes[2 * ABOVE + sizeof(struct wire_trailer)];
	struct sendq_spares spares = { 0 };

	cr_assert(!guard_install());
	arrived = bytes;
	for (uint32_t digest_batch = 0; digest_batch < 2; digest_batch++) {
		cr_assert_eq(revoke_lent(false, digest_batch, &spares), 0);
		cr_assert_eq(sent, sizeof(bytes));
		for (size_t i = 0; i < 2 * ABOVE; i++)
			cr_assert_eq(bytes[i], 0xee, "byte %zu", i);
		cr_assert_eq(revoke_lent(true, digest_batch, &spares), -ECANCELED);
		cr_assert_eq(sent, 0);
	}
	sendq_spares_free(&spares);
}

/* So many are kept for the next user, each sort by itself, and no more. */
static void keeps(bool copy_all, unsigned most)
{
	enum { MANY = SENDQ_SPARES + 2 };
	struct sendq_spares spares = { 0 };
	struct sendq q[MANY];
	unsigned *count = &spares.count[copy_all];
	struct sendq_buffer **first = &spares.first[copy_all], *kept;

	for (unsigned i = 0; i < MANY; i++) {
		q[i] = (struct sendq){ .copy_all = copy_all };
		cr_assert(sendq_room(&q[i], &spares, 1, 1));
	}
	for (unsigned i = 0; i < MANY; i++) {
		sendq_drop(&q[i], &spares);
		cr_assert_eq(*count, i < most ? i + 1 : most);
	}
	cr_assert_eq(spares.count[false] + spares.count[true], most);
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
