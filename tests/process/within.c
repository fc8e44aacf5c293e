/* SPDX-License-Identifier: BSD-2-Clause */
/* within.c - an endpoint that addresses itself, or another of its own process: same rules, and one thread is enough. */
#include <criterion/criterion.h>

#include "tests/rules/harness/harness.h"

enum { LEN = 100000 };

/* Write, read, a refusal and a message from one endpoint to the other, which may be the same. */
static void exercise(struct peer *from, struct peer *to, fi_addr_t addr)
{
	static const struct region_want want = { .len = { LEN }, .access = ALL_LOCAL | ALL_REMOTE };
	struct region near, far;
	struct iovec iov = { .iov_len = LEN };
	struct fi_rma_iov rma = { .len = LEN };
	void *desc;
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = addr, .rma_iov = &rma, .rma_iov_count = 1
	};
	struct key_card card;
	struct op op, recv;

	region_open(&near, from, &want, 1);
	region_open(&far, to, &want, 2);
	iov.iov_base = near.iov[0].iov_base;
	desc = fi_mr_desc(near.mr);
	rma.addr = region_base(&far, to, 0);
	key_show(to, far.mr, &card);
	rma.key = card.key;
	if (card.raw_len)
		CHECK_RC(0, fi_mr_map_raw(from->domain, 0, card.raw, card.raw_len, &rma.key, 0));

	CHECK_RC(0, peer_rma(from, RMA_WRITE, &msg, 0, &op));
	peer_wait(from, &op);
	CHECK(!op.err && !memcmp(near.iov[0].iov_base, far.iov[0].iov_base, LEN), "the write failed: %s", from->text);

	pattern_fill(far.iov[0].iov_base, LEN, 3);
	CHECK_RC(0, peer_rma(from, RMA_READ, &msg, 0, &op));
	peer_wait(from, &op);
	CHECK(!op.err && !memcmp(near.iov[0].iov_base, far.iov[0].iov_base, LEN), "the read failed: %s", from->text);

	rma.addr++;
	CHECK_RC(0, peer_rma(from, RMA_WRITE, &msg, FI_DELIVERY_COMPLETE, &op));
	peer_wait(from, &op);
	CHECK(op.err && (!peer_is_emu() || cites(from->text, "S65")), "a write past the end ended with err %d: %s", op.err,
	      from->text);

	pattern_fill(near.iov[0].iov_base, LEN, 4);
	CHECK_RC(0, peer_recv(to, far.iov[0].iov_base, LEN, fi_mr_desc(far.mr), &recv));
	CHECK_RC(0, peer_send(from, addr, near.iov[0].iov_base, LEN, desc, &op));
	while (!op.done || !recv.done) {
		peer_progress(from);
		peer_progress(to);
	}
	CHECK(!op.err && !recv.err && recv.len == LEN, "the message ended with err %d and %d, %zu B", op.err, recv.err, recv.len);
	CHECK(!memcmp(near.iov[0].iov_base, far.iov[0].iov_base, LEN), "the message brought wrong bytes");
	if (card.raw_len)
		CHECK_RC(0, fi_mr_unmap_key(from->domain, rma.key));
	region_close(&near);
	region_close(&far);
}

PEER_TEST(process, endpoint_addresses_itself)
{
	uint8_t name[PEER_ADDR_MAX];

	peer_name(p, name);
	exercise(p, p, peer_insert(p, name));
}

PEER_TEST(process, endpoint_addresses_another_of_its_process)
{
	struct peer other;
	uint8_t mine[PEER_ADDR_MAX], theirs[PEER_ADDR_MAX];
	fi_addr_t to_other, to_me;

	peer_open(&other, &p->want);
	peer_name(p, mine);
	peer_name(&other, theirs);
	to_other = peer_insert(p, theirs);
	to_me = peer_insert(&other, mine);
	exercise(p, &other, to_other);
	exercise(&other, p, to_me);
	peer_close(&other);
}
