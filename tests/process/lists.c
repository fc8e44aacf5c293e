/* SPDX-License-Identifier: BSD-2-Clause */
/* lists.c - operations from and to several buffers, and the order that FI_FENCE asks for. */
#include <criterion/criterion.h>

#include "tests/rules/harness/message.h"

enum { PIECES = 4 };
static const size_t near_len[PIECES] = { 13, 200, 1, 300 }, far_len[PIECES] = { 250, 7, 157, 100 }; /* both 514 B */

/* Pieces of the local buffer, apart from each other. */
static void near_pieces(struct pair *p, struct iovec iov[PIECES])
{
	uint8_t *at = p->local.iov[0].iov_base;
	size_t i;

	for (i = 0; i < PIECES; i++)
		iov[i] = (struct iovec){ at + i * 1000, near_len[i] };
}

/* Pieces of a region, apart from each other and not in order. */
static void far_pieces(const struct remote *r, struct fi_rma_iov rma[PIECES], uint64_t off[PIECES])
{
	static const uint64_t order[PIECES] = { 2, 0, 3, 1 };
	size_t i;

	for (i = 0; i < PIECES; i++) {
		off[i] = order[i] * 500;
		rma[i] = (struct fi_rma_iov){ .addr = r->base[0] + off[i], .len = far_len[i], .key = r->key };
	}
}

static void gather(const struct iovec iov[PIECES], uint8_t *all)
{
	size_t i;

	for (i = 0; i < PIECES; all += iov[i++].iov_len)
		memcpy(all, iov[i].iov_base, iov[i].iov_len);
}

static bool too_few(struct pair *p)
{
	return p->peer.info->tx_attr->iov_limit < PIECES || p->peer.info->tx_attr->rma_iov_limit < PIECES;
}

PAIR_TEST(process, write_from_a_list_to_a_list)
{
	struct remote *r = remote_reg(p, 2000, FI_REMOTE_WRITE);
	struct iovec iov[PIECES];
	struct fi_rma_iov rma[PIECES];
	uint64_t off[PIECES];
	void *descs[PIECES] = { p->desc, p->desc, p->desc, p->desc };
	struct fi_msg_rma msg = {
		.msg_iov = iov, .desc = descs, .iov_count = PIECES, .addr = p->to, .rma_iov = rma, .rma_iov_count = PIECES
	};
	uint8_t all[514], *at = all;
	struct op op;
	size_t i;

	if (too_few(p))
		return; /* the provider takes no such lists */
	near_pieces(p, iov);
	far_pieces(r, rma, off);
	pattern_fill(p->local.iov[0].iov_base, PAGE, 3);
	gather(iov, all);
	CHECK_RC(0, peer_rma(&p->peer, RMA_WRITE, &msg, p->level, &op));
	peer_wait(&p->peer, &op);
	CHECK(!op.err, "the write failed: %s", p->peer.text);
	for (i = 0; i < PIECES; at += far_len[i++])
		memcpy(r->image + REGION_GUARD + off[i], at, far_len[i]);
	remote_verify(p, r);
}

PAIR_TEST(process, read_from_a_list_to_a_list)
{
	struct remote *r = remote_reg(p, 2000, FI_REMOTE_READ);
	struct iovec iov[PIECES];
	struct fi_rma_iov rma[PIECES];
	uint64_t off[PIECES];
	void *descs[PIECES] = { p->desc, p->desc, p->desc, p->desc };
	struct fi_msg_rma msg = {
		.msg_iov = iov, .desc = descs, .iov_count = PIECES, .addr = p->to, .rma_iov = rma, .rma_iov_count = PIECES
	};
	uint8_t want[514], all[514], *at = want;
	struct op op;
	size_t i;

	if (too_few(p))
		return; /* the provider takes no such lists */
	near_pieces(p, iov);
	far_pieces(r, rma, off);
	for (i = 0; i < PIECES; at += far_len[i++])
		memcpy(at, r->image + REGION_GUARD + off[i], far_len[i]);
	memset(p->local.iov[0].iov_base, 0x5A, PAGE);
	CHECK_RC(0, peer_rma(&p->peer, RMA_READ, &msg, p->level, &op));
	peer_wait(&p->peer, &op);
	CHECK(!op.err, "the read failed: %s", p->peer.text);
	gather(iov, all);
	CHECK(!memcmp(all, want, sizeof(all)), "the read brought wrong bytes");
	for (i = 0; i < PIECES; i++)
		CHECK(((uint8_t *)iov[i].iov_base)[near_len[i]] == 0x5A, "a byte after piece %zu was written", i);
}

/* The bytes that pieces of the region hold already, and for piece `bad` others. */
static void scatter_same(struct iovec iov[PIECES], const struct remote *r, const uint64_t off[PIECES], size_t bad)
{
	uint8_t all[514], *at = all;
	size_t i;

	for (i = 0; i < PIECES; at += far_len[i++])
		memcpy(at, r->image + REGION_GUARD + off[i], far_len[i]);
	for (i = 0, at = all; i < bad; at += far_len[i++])
		;
	for (i = 0; i < far_len[bad]; i++)
		at[i] = (uint8_t)~at[i];
	for (i = 0, at = all; i < PIECES; at += near_len[i++])
		memcpy(iov[i].iov_base, at, near_len[i]);
}

/* One bad piece of a list refuses the operation, and no byte of that piece moves. Each piece is judged by itself, so
 * good ones may have been written: here they bring what is there already. */
PAIR_TEST(process, S65_one_bad_piece_refuses_the_list)
{
	struct remote *r = remote_reg(p, 2000, ALL_REMOTE);
	struct iovec iov[PIECES];
	struct fi_rma_iov rma[PIECES];
	uint64_t off[PIECES];
	void *descs[PIECES] = { p->desc, p->desc, p->desc, p->desc };
	struct fi_msg_rma msg = {
		.msg_iov = iov, .desc = descs, .iov_count = PIECES, .addr = p->to, .rma_iov = rma, .rma_iov_count = PIECES
	};
	struct op op;
	size_t bad;

	for (bad = 0; bad < PIECES && !too_few(p); bad++) {
		near_pieces(p, iov);
		far_pieces(r, rma, off);
		scatter_same(iov, r, off, bad);
		rma[bad].addr = r->base[0] + 2000 - far_len[bad] + 1;
		CHECK_RC(0, peer_rma(&p->peer, RMA_WRITE, &msg, p->level, &op));
		peer_wait(&p->peer, &op);
		CHECK(op.err && (!peer_is_emu() || cites(p->peer.text, "S65")), "piece %zu past the end: err %d: %s", bad, op.err,
		      p->peer.text);
		remote_verify(p, r);
	}
	live(p);
}

/* fi_sendv, fi_recvv: the bytes run through both lists. */
PAIR_TEST(process, message_from_a_list)
{
	struct deadline guard = deadline_start();
	void *descs[PIECES] = { p->desc, p->desc, p->desc, p->desc };
	struct op op = { 0 }, recv = { 0 };
	struct iovec iov[PIECES];
	uint8_t want[514], all[514];
	ssize_t rc;
	size_t i;

	if (p->peer.info->tx_attr->iov_limit < PIECES || p->peer.info->rx_attr->iov_limit < PIECES)
		return; /* the provider takes no such lists */
	near_pieces(p, iov);
	memset(p->local.iov[0].iov_base, 0x5A, PAGE);
	CHECK_RC(0, fi_recvv(p->peer.ep, iov, descs, PIECES, FI_ADDR_UNSPEC, &recv));
	target_send_message(p, 514, 11);
	peer_wait(&p->peer, &recv);
	pattern_fill(want, sizeof(want), 11);
	gather(iov, all);
	CHECK(!recv.err && recv.len == 514 && !memcmp(want, all, 514), "the receive ended with err %d, %zu B", recv.err, recv.len);
	for (i = 0; i < PIECES; i++)
		CHECK(((uint8_t *)iov[i].iov_base)[near_len[i]] == 0x5A, "a byte after piece %zu was written", i);
	target_post_recv(p);
	do
		rc = fi_sendv(p->peer.ep, iov, descs, PIECES, p->to, &op);
	while (peer_again(&p->peer, rc, &guard));
	CHECK_RC(0, rc);
	peer_wait(&p->peer, &op);
	CHECK(!op.err, "the send failed: %s", p->peer.text);
	target_expect_message(p, 514, 11);
}

/* More pieces than the limits allow are refused at the call. */
PAIR_TEST(process, lists_past_the_limit_are_refused)
{
	size_t limit = p->peer.info->tx_attr->iov_limit, far = p->peer.info->tx_attr->rma_iov_limit, i;
	struct iovec iov[64];
	struct fi_rma_iov rma[64];
	void *descs[64];
	struct fi_msg_rma msg = { .msg_iov = iov, .desc = descs, .addr = p->to, .rma_iov = rma };
	struct op op;

	CHECK(limit < 64 && far < 64, "limits of %zu and %zu pieces", limit, far);
	for (i = 0; i < 64; i++) {
		iov[i] = (struct iovec){ p->local.iov[0].iov_base, 1 };
		rma[i] = (struct fi_rma_iov){ .addr = p->control->base[0], .len = 1, .key = p->control->key };
		descs[i] = p->desc;
	}
	msg.iov_count = limit + 1;
	msg.rma_iov_count = 1;
	CHECK_REFUSED(peer_rma(&p->peer, RMA_WRITE, &msg, 0, &op));
	msg.iov_count = 1;
	msg.rma_iov_count = far + 1;
	CHECK_REFUSED(peer_rma(&p->peer, RMA_READ, &msg, 0, &op));
	live(p);
}

/* FI_FENCE: a read with it begins when the writes before it are done, and so sees the last of them. */
PAIR_TEST(process, fence_waits_for_what_was_posted_before)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	uint8_t *local = p->local.iov[0].iov_base;
	struct iovec iov = { local + PAGE, 64 };
	struct fi_rma_iov rma = { .addr = r->base[0], .len = 64, .key = r->key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .desc = &p->desc, .iov_count = 1, .addr = p->to, .rma_iov = &rma, .rma_iov_count = 1
	};
	struct op writes[16], read;
	uint32_t round;
	size_t i;

	if (!(p->peer.info->caps & FI_FENCE))
		return; /* not granted: see fence_is_granted */
	for (round = 0; round < 50; round++) {
		for (i = 0; i < 16; i++) {
			pattern_fill(local + i * 64, 64, round * 16 + (uint32_t)i);
			CHECK_RC(0, pair_post(p, RMA_WRITE, local + i * 64, 64, r->base[0], r->key, &writes[i]));
		}
		CHECK_RC(0, peer_rma(&p->peer, RMA_READ, &msg, FI_FENCE | p->level, &read));
		peer_wait(&p->peer, &read);
		for (i = 0; i < 16; i++)
			peer_wait(&p->peer, &writes[i]);
		CHECK(!read.err && !memcmp(local + PAGE, local + 15 * 64, 64), "a fenced read overtook a write: err %d", read.err);
	}
}
