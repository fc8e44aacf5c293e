/* SPDX-License-Identifier: BSD-2-Clause */
/* messages.c - what FI_MSG promises: nothing is lost, all comes in order, every length, the buffers reusable as
 * said. */
#include <criterion/criterion.h>

#include "tests/rules/harness/message.h"

#include <stdlib.h>

enum { FLOOD = 10000, FLOOD_LEN = 100, LARGE = 200, LARGE_LEN = 1 << 20 };

/* ---- the target receives a numbered series ---- */

struct series {
	size_t count, len;
};

static void *series_buffers;
static struct fid_mr *series_mr;

static void series_alloc(const struct series *s)
{
	struct iovec iov = { .iov_len = s->count * s->len };
	struct mr_args args = { .attr = { .mr_iov = &iov, .iov_count = 1, .access = FI_RECV } };

	series_buffers = calloc(s->count, s->len);
	CHECK(series_buffers, "no memory for %zu messages of %zu B", s->count, s->len);
	iov.iov_base = series_buffers;
	args.attr.requested_key = region_fresh_key(&target_peer);
	CHECK_RC(0, mr_register(target_peer.domain, REG_ATTR, &args, 0, &series_mr));
}

static void series_free(void)
{
	CHECK_RC(0, fi_close(&series_mr->fid));
	free(series_buffers);
}

/* Posts all receives and checks that message i went to receive i, whole. */
static void step_receive_series(const void *arg, void *reply)
{
	const struct series *s = arg;
	struct op *ops = calloc(s->count, sizeof(*ops));
	uint8_t *want = malloc(s->len), *at;
	size_t i;

	(void)reply;
	CHECK(ops && want, "no memory");
	series_alloc(s);
	at = series_buffers;
	for (i = 0; i < s->count; i++)
		CHECK_RC(0, peer_recv(&target_peer, at + i * s->len, s->len, fi_mr_desc(series_mr), &ops[i]));
	for (i = 0; i < s->count; i++) {
		peer_wait(&target_peer, &ops[i]);
		CHECK(!ops[i].err && ops[i].len == s->len, "message %zu: err %d, %zu B: %s", i, ops[i].err, ops[i].len,
		      target_peer.text);
		pattern_fill(want, s->len, (uint32_t)i);
		CHECK(!memcmp(want, at + i * s->len, s->len), "message %zu holds other bytes than were sent", i);
	}
	series_free();
	free(ops);
	free(want);
}

static void open_plain(struct pair *p)
{
	static const struct peer_want plain = { 0 };

	memset(p, 0, sizeof(*p));
	target_start(&p->target);
	pair_open(p, &plain, 0);
}

static void close_plain(struct pair *p)
{
	pair_close(p);
	target_stop(&p->target);
}

/* Sends them all before the target has posted a single receive. */
static void send_unexpected(struct pair *p, const struct series *s)
{
	uint8_t *bytes = malloc(s->count * s->len);
	struct op *ops = calloc(s->count, sizeof(*ops));
	size_t i;

	CHECK(bytes && ops, "no memory");
	for (i = 0; i < s->count; i++) {
		pattern_fill(bytes + i * s->len, s->len, (uint32_t)i);
		CHECK_RC(0, peer_send(&p->peer, p->to, bytes + i * s->len, s->len, NULL, &ops[i]));
	}
	target_begin(&p->target, step_receive_series, s, sizeof(*s), 0);
	for (i = 0; i < s->count; i++) {
		peer_wait(&p->peer, &ops[i]);
		CHECK(!ops[i].err, "send %zu failed: err %d, %s", i, ops[i].err, p->peer.text);
	}
	target_end(&p->target, NULL, 0);
	free(bytes);
	free(ops);
}

Test(process, unexpected_messages_are_never_lost)
{
	const struct series s = { .count = FLOOD, .len = FLOOD_LEN };
	struct pair p;

	open_plain(&p);
	send_unexpected(&p, &s);
	live(&p);
	close_plain(&p);
}

Test(process, unexpected_tagged_messages_are_never_lost)
{
	const struct series few = { .count = FLOOD, .len = FLOOD_LEN }, large = { .count = LARGE, .len = LARGE_LEN };
	struct pair p;

	open_plain(&p);
	messages_tagged(&p, true);
	send_unexpected(&p, &few);
	send_unexpected(&p, &large);
	live(&p);
	close_plain(&p);
}

/* More bytes than a receiver will buffer: 200 MiB. */
Test(process, unexpected_bytes_past_all_buffers_are_never_lost)
{
	const struct series s = { .count = LARGE, .len = LARGE_LEN };
	struct pair p;

	open_plain(&p);
	send_unexpected(&p, &s);
	live(&p);
	close_plain(&p);
}

/* ---- every length ---- */

struct message_arg {
	size_t len;
};

static uint8_t *big_buffer;
static struct op big_recv;

static void step_post_big(const void *arg, void *reply)
{
	const struct message_arg *m = arg;

	(void)reply;
	big_buffer = malloc(m->len + 1);
	CHECK(big_buffer, "no memory for %zu B", m->len);
	memset(big_buffer, 0x5a, m->len + 1);
	CHECK_RC(0, peer_recv(&target_peer, big_buffer, m->len, NULL, &big_recv));
}

/* Answers the digest of what came. */
static void step_take_big(const void *arg, void *reply)
{
	const struct message_arg *m = arg;

	peer_wait(&target_peer, &big_recv);
	CHECK(!big_recv.err && big_recv.len == m->len, "a message of %zu B: err %d, %zu B: %s", m->len, big_recv.err, big_recv.len,
	      target_peer.text);
	CHECK(big_buffer[m->len] == 0x5a, "a byte after the receive buffer was written");
	*(uint64_t *)reply = pattern_hash(big_buffer, m->len);
	free(big_buffer);
}

Test(process, messages_of_every_length)
{
	static const size_t lengths[] = {
		0,       1,    2,     7,     8,     63,     64,     65,     255,     256,      257,
		4095,    4096, 65535, 65536, 65537, 262143, 262144, 262145, 1000003, 16 << 20, (64 << 20) - 1,
		64 << 20
	};
	uint8_t *bytes = malloc(64 << 20);
	struct pair p;
	size_t i;

	open_plain(&p);
	CHECK(bytes, "no memory");
	for (i = 0; i < 2 * sizeof(lengths) / sizeof(*lengths); i++) {
		struct message_arg m = { .len = lengths[i / 2] };
		bool expected = i % 2; /* each once before and once after the receive is posted */
		uint64_t digest;
		struct op op;

		pattern_fill(bytes, m.len, (uint32_t)i);
		if (expected)
			target_do(&p.target, step_post_big, &m, sizeof(m), NULL, 0);
		CHECK_RC(0, peer_send(&p.peer, p.to, bytes, m.len, NULL, &op));
		if (!expected)
			target_do(&p.target, step_post_big, &m, sizeof(m), NULL, 0);
		target_begin(&p.target, step_take_big, &m, sizeof(m), sizeof(digest));
		peer_wait(&p.peer, &op);
		target_end(&p.target, &digest, sizeof(digest));
		CHECK(!op.err, "a send of %zu B failed: %s", m.len, p.peer.text);
		CHECK(digest == pattern_hash(bytes, m.len), "a message of %zu B came with other bytes", m.len);
	}
	free(bytes);
	close_plain(&p);
}

/* A message longer than its receive buffer is an error at the receiver, says how much is missing, and spoils nothing
 * after it. */
Test(process, message_longer_than_its_buffer)
{
	struct message_arg m = { .len = 50 };
	uint8_t bytes[200], small[50];
	struct op op, recv;
	struct pair p;

	open_plain(&p);
	CHECK_RC(0, peer_recv(&p.peer, small, sizeof(small), NULL, &recv));
	target_send_message(&p, sizeof(bytes), 1);
	peer_wait(&p.peer, &recv);
	CHECK(recv.err == FI_ETRUNC || recv.err == FI_EMSGSIZE, "a truncated receive ended with err %d: %s", recv.err, p.peer.text);
	pattern_fill(bytes, sizeof(bytes), 1);
	target_do(&p.target, step_post_big, &m, sizeof(m), NULL, 0);
	CHECK_RC(0, peer_send(&p.peer, p.to, bytes, m.len, NULL, &op));
	peer_wait(&p.peer, &op);
	target_do(&p.target, step_take_big, &m, sizeof(m), &(uint64_t){ 0 }, sizeof(uint64_t));
	live(&p);
	close_plain(&p);
}

/* ---- inject, data, lists ---- */

/* The buffer of an injected operation is the program's again when the call returns. */
Test(process, injected_buffers_can_be_reused_at_once)
{
	enum { COUNT = 500 };
	struct series s = { .count = COUNT };
	struct deadline guard = deadline_start();
	uint8_t bytes[256];
	struct remote *r;
	struct pair p;
	size_t i;
	ssize_t rc;

	open_plain(&p);
	s.len = p.peer.info->tx_attr->inject_size < sizeof(bytes) ? p.peer.info->tx_attr->inject_size : sizeof(bytes);
	r = remote_reg(&p, COUNT * s.len, ALL_REMOTE);
	for (i = 0; i < COUNT; i++) {
		pattern_fill(bytes, s.len, (uint32_t)i);
		memcpy(r->image + REGION_GUARD + i * s.len, bytes, s.len);
		do
			rc = fi_inject_write(p.peer.ep, bytes, s.len, p.to, r->base[0] + i * s.len, r->key);
		while (peer_again(&p.peer, rc, &guard));
		CHECK_RC(0, rc);
		do
			rc = fi_inject(p.peer.ep, bytes, s.len, p.to);
		while (peer_again(&p.peer, rc, &guard));
		CHECK_RC(0, rc);
		memset(bytes, 0xEE, sizeof(bytes));
	}
	target_do(&p.target, step_receive_series, &s, sizeof(s), NULL, 0);
	remote_verify(&p, r); /* the messages came after the writes before them */
	CHECK_REFUSED(fi_inject(p.peer.ep, r->image, p.peer.info->tx_attr->inject_size + 1, p.to));
	close_plain(&p);
}

struct data_arg {
	uint64_t first;
	size_t count;
};

/* Waits for the data of `count` remote writes, which must count up from `first`. */
static void step_expect_data(const void *arg, void *reply)
{
	const struct data_arg *want = arg;
	struct deadline guard = deadline_start();
	size_t i;

	(void)reply;
	while (target_peer.remote_data_count < want->count)
		if (!peer_progress(&target_peer))
			deadline_check(&guard, "the data of a remote write");
	CHECK(target_peer.remote_data_count == want->count, "%zu events for %zu writes", target_peer.remote_data_count,
	      want->count);
	for (i = 0; i < want->count; i++)
		CHECK(target_peer.remote_data[i] == want->first + i, "event %zu has data 0x%llx", i,
		      (unsigned long long)target_peer.remote_data[i]);
	target_peer.remote_data_count = 0;
}

/* fi_writedata: the bytes, and an event with 8 bytes of data; a refused one brings no event. */
Test(process, remote_writes_bring_their_data)
{
	struct data_arg want = { .first = 0x8000000000000001ULL, .count = 100 };
	struct deadline guard = deadline_start();
	struct remote *r, *ro;
	struct op ops[101] = { 0 };
	struct pair p;
	size_t i;
	ssize_t rc;

	open_plain(&p);
	r = remote_reg(&p, 100 * 8, ALL_REMOTE);
	ro = remote_reg(&p, 64, FI_REMOTE_READ);
	pattern_fill(p.local.iov[0].iov_base, 800, 5);
	memcpy(r->image + REGION_GUARD, p.local.iov[0].iov_base, 800);
	for (i = 0; i <= 100; i++) {
		struct remote *to = i < 100 ? r : ro;
		uint8_t *from = p.local.iov[0].iov_base;

		do
			rc = fi_writedata(p.peer.ep, from + i * 8, 8, NULL, want.first + i, p.to,
					  to->base[0] + (i < 100 ? i * 8 : 0), to->key, &ops[i]);
		while (peer_again(&p.peer, rc, &guard));
		CHECK_RC(0, rc);
	}
	for (i = 0; i <= 100; i++) {
		peer_wait(&p.peer, &ops[i]);
		CHECK(!ops[i].err == (i < 100), "write %zu ended with err %d", i, ops[i].err);
	}
	target_do(&p.target, step_expect_data, &want, sizeof(want), NULL, 0);
	remote_verify(&p, r);
	remote_verify(&p, ro);
	close_plain(&p);
}

static void step_expect_senddata(const void *arg, void *reply)
{
	uint8_t bytes[64];
	struct op op;

	(void)reply;
	CHECK_RC(0, peer_recv(&target_peer, bytes, sizeof(bytes), NULL, &op));
	peer_wait(&target_peer, &op);
	CHECK(!op.err && op.len == 16, "err %d, %zu B", op.err, op.len);
	CHECK(op.flags & FI_REMOTE_CQ_DATA && op.flags & FI_RECV && op.flags & FI_MSG, "flags 0x%llx",
	      (unsigned long long)op.flags);
	CHECK(op.data == *(const uint64_t *)arg, "data 0x%llx", (unsigned long long)op.data);
}

Test(process, messages_bring_their_data)
{
	uint64_t data = 0xfedcba9876543210ULL;
	struct deadline guard = deadline_start();
	struct op op = { 0 };
	struct pair p;
	ssize_t rc;

	open_plain(&p);
	do
		rc = fi_senddata(p.peer.ep, p.local.iov[0].iov_base, 16, NULL, data, p.to, &op);
	while (peer_again(&p.peer, rc, &guard));
	CHECK_RC(0, rc);
	peer_wait(&p.peer, &op);
	CHECK(!op.err, "the send failed: %s", p.peer.text);
	target_do(&p.target, step_expect_senddata, &data, sizeof(data), NULL, 0);
	do
		rc = fi_injectdata(p.peer.ep, p.local.iov[0].iov_base, 16, data, p.to);
	while (peer_again(&p.peer, rc, &guard));
	CHECK_RC(0, rc);
	target_do(&p.target, step_expect_senddata, &data, sizeof(data), NULL, 0);
	close_plain(&p);
}
