/* SPDX-License-Identifier: BSD-2-Clause */
/* flood.c - two peers that write and send to each other as fast as they can, at the same time: nothing stops, nothing
 * is lost. */
#include <criterion/criterion.h>

#include "tests/rules/harness/harness.h"

#include <stdlib.h>

enum { ROUNDS = 4000, WINDOW = 64, LEN = 4096, SLOTS = WINDOW };

/* Where the other side takes writes, one slot a write. */
struct slots {
	uint64_t key, addr;
};

/* One side of the flood. */
struct side {
	struct peer *peer;
	fi_addr_t other;
	struct slots far;
	struct region near;   /* the other side's writes land here */
	struct region source; /* of the writes */
	struct region outbox, inbox;
	struct op writes[WINDOW], sends[WINDOW], recvs[WINDOW];
	uint64_t wrote, sent, received;
};

static const struct region_want near_want = { .len = { SLOTS * LEN }, .access = ALL_LOCAL | ALL_REMOTE };

static void side_open(struct side *s, struct peer *peer, fi_addr_t other)
{
	memset(s, 0, sizeof(*s));
	s->peer = peer;
	s->other = other;
	region_open(&s->near, peer, &near_want, 1);
	region_open(&s->source, peer, &near_want, 2);
	region_open(&s->outbox, peer, &near_want, 3);
	region_open(&s->inbox, peer, &near_want, 4);
}

static void side_close(struct side *s)
{
	region_close(&s->near);
	region_close(&s->source);
	region_close(&s->outbox);
	region_close(&s->inbox);
}

static struct slots side_slots(const struct side *s)
{
	return (struct slots){ .key = fi_mr_key(s->near.mr), .addr = region_base(&s->near, s->peer, 0) };
}

static uint8_t *slot(struct region *region, uint64_t n)
{
	return (uint8_t *)region->iov[0].iov_base + n % SLOTS * LEN;
}

static void post_recv(struct side *s, uint64_t n)
{
	CHECK_RC(0, peer_recv(s->peer, slot(&s->inbox, n), LEN, fi_mr_desc(s->inbox.mr), &s->recvs[n % WINDOW]));
}

static void next_write(struct side *s)
{
	struct iovec iov = { slot(&s->source, s->wrote), LEN };
	void *desc = fi_mr_desc(s->source.mr);
	struct fi_rma_iov rma = { .addr = s->far.addr + s->wrote % SLOTS * LEN, .len = LEN, .key = s->far.key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = s->other, .rma_iov = &rma, .rma_iov_count = 1
	};
	struct op *op = &s->writes[s->wrote % WINDOW];

	if (s->wrote >= WINDOW) {
		if (!op->done)
			return;
		CHECK(!op->err, "write %llu failed: %s", (unsigned long long)s->wrote - WINDOW, s->peer->text);
	}
	pattern_fill(iov.iov_base, 64, (uint32_t)s->wrote);
	CHECK_RC(0, peer_rma(s->peer, RMA_WRITE, &msg, 0, op));
	s->wrote++;
}

static void next_send(struct side *s)
{
	struct op *op = &s->sends[s->sent % WINDOW];
	uint8_t *bytes = slot(&s->outbox, s->sent);

	if (s->sent >= WINDOW) {
		if (!op->done)
			return;
		CHECK(!op->err, "send %llu failed: %s", (unsigned long long)s->sent - WINDOW, s->peer->text);
	}
	memcpy(bytes, &s->sent, sizeof(s->sent));
	CHECK_RC(0, peer_send(s->peer, s->other, bytes, 512, fi_mr_desc(s->outbox.mr), op));
	s->sent++;
}

static void take_recv(struct side *s)
{
	struct op *op = &s->recvs[s->received % WINDOW];
	uint64_t number;

	if (!op->done)
		return;
	memcpy(&number, slot(&s->inbox, s->received), sizeof(number));
	CHECK(!op->err && op->len == 512, "receive %llu: err %d, %zu B", (unsigned long long)s->received, op->err, op->len);
	CHECK(number == s->received, "message %llu came in place of %llu", (unsigned long long)number,
	      (unsigned long long)s->received);
	s->received++;
	if (s->received + WINDOW <= ROUNDS)
		post_recv(s, s->received + WINDOW - 1);
}

/* Both sides run this at the same time. */
static void flood(struct side *s)
{
	struct deadline guard = deadline_start();
	uint64_t before = 0, moved;
	size_t i;

	while (s->wrote < ROUNDS || s->sent < ROUNDS || s->received < ROUNDS) {
		if (s->wrote < ROUNDS)
			next_write(s);
		if (s->sent < ROUNDS)
			next_send(s);
		peer_progress(s->peer);
		if (s->received < ROUNDS)
			take_recv(s);
		moved = s->wrote + s->sent + s->received;
		if (moved != before)
			guard = deadline_start();
		else
			deadline_check(&guard, "the flood's next step");
		before = moved;
	}
	for (i = 0; i < WINDOW; i++) {
		peer_wait(s->peer, &s->writes[i]);
		peer_wait(s->peer, &s->sends[i]);
		CHECK(!s->writes[i].err && !s->sends[i].err, "one of the last operations failed: %s", s->peer->text);
	}
}

/* The other side's last writes are all there. */
static void check_landed(struct side *s)
{
	uint8_t want[64];
	uint64_t n;

	for (n = ROUNDS - SLOTS; n < ROUNDS; n++) {
		pattern_fill(want, sizeof(want), (uint32_t)n);
		CHECK(!memcmp(want, slot(&s->near, n), sizeof(want)), "write %llu did not land", (unsigned long long)n);
	}
}

static struct side target_side;

static void step_side_open(const void *arg, void *reply)
{
	uint64_t n;

	(void)arg;
	side_open(&target_side, &target_peer, target_tester);
	for (n = 0; n < WINDOW; n++)
		post_recv(&target_side, n);
	*(struct slots *)reply = side_slots(&target_side);
}

static void step_flood(const void *arg, void *reply)
{
	(void)reply;
	target_side.far = *(const struct slots *)arg;
	flood(&target_side);
}

static void step_side_close(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	check_landed(&target_side);
	side_close(&target_side);
}

Test(process, two_peers_flood_each_other)
{
	static const struct peer_want plain = { 0 };
	struct side *mine = malloc(sizeof(*mine));
	struct slots own;
	struct pair p = { 0 };
	uint64_t n;

	CHECK(mine, "no memory");
	target_start(&p.target);
	pair_open(&p, &plain, 0);
	side_open(mine, &p.peer, p.to);
	for (n = 0; n < WINDOW; n++)
		post_recv(mine, n);
	target_do(&p.target, step_side_open, NULL, 0, &mine->far, sizeof(mine->far));
	own = side_slots(mine);
	target_begin(&p.target, step_flood, &own, sizeof(own), 0);
	flood(mine);
	target_end(&p.target, NULL, 0);
	target_do(&p.target, step_side_close, NULL, 0, NULL, 0);
	check_landed(mine);
	live(&p);
	side_close(mine);
	free(mine);
	pair_close(&p);
	target_stop(&p.target);
}
