/* SPDX-License-Identifier: BSD-2-Clause */
/* message.c - the target's half of a message. */
#include "tests/rules/harness/message.h"

struct expected {
	size_t len;
	uint32_t seed;
};

static struct region buffer;
static struct op posted;

static void *buffer_desc(void)
{
	return peer_has(&target_peer, FI_MR_LOCAL) ? fi_mr_desc(buffer.mr) : NULL;
}

static void step_buffer_open(const void *arg, void *reply)
{
	static const struct region_want want = { .len = { PAIR_LOCAL_LEN }, .access = ALL_LOCAL };

	(void)arg;
	(void)reply;
	region_open(&buffer, &target_peer, &want, 0);
}

static void step_buffer_close(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	region_close(&buffer);
}

static void step_post_recv(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	CHECK_RC(0, peer_recv(&target_peer, buffer.iov[0].iov_base, PAIR_LOCAL_LEN, buffer_desc(), &posted));
}

static void step_expect(const void *arg, void *reply)
{
	static uint8_t want[PAIR_LOCAL_LEN];
	const struct expected *expected = arg;

	(void)reply;
	peer_wait(&target_peer, &posted);
	CHECK(!posted.err, "a receive failed: err %d, %s", posted.err, target_peer.text);
	CHECK(posted.len == expected->len, "a message of %zu B came, %zu B expected", posted.len, expected->len);
	pattern_fill(want, expected->len, expected->seed);
	CHECK(!memcmp(want, buffer.iov[0].iov_base, expected->len), "a message of %zu B came with other bytes", expected->len);
}

static void step_send(const void *arg, void *reply)
{
	const struct expected *message = arg;
	struct op op;

	(void)reply;
	pattern_fill(buffer.iov[0].iov_base, message->len, message->seed);
	CHECK_RC(0, peer_send(&target_peer, target_tester, buffer.iov[0].iov_base, message->len, buffer_desc(), &op));
	peer_wait(&target_peer, &op);
	CHECK(!op.err, "a send failed: err %d, %s", op.err, target_peer.text);
}

void message_open(struct pair *p)
{
	target_do(&p->target, step_buffer_open, NULL, 0, NULL, 0);
}

void message_close(struct pair *p)
{
	target_do(&p->target, step_buffer_close, NULL, 0, NULL, 0);
}

static void step_tagged(const void *arg, void *reply)
{
	(void)reply;
	target_peer.tagged = *(const bool *)arg;
}

void messages_tagged(struct pair *p, bool tagged)
{
	p->peer.tagged = tagged;
	target_do(&p->target, step_tagged, &tagged, sizeof(tagged), NULL, 0);
}

void target_post_recv(struct pair *p)
{
	target_do(&p->target, step_post_recv, NULL, 0, NULL, 0);
}

void target_expect_message(struct pair *p, size_t len, uint32_t seed)
{
	struct expected expected = { .len = len, .seed = seed };

	target_do(&p->target, step_expect, &expected, sizeof(expected), NULL, 0);
}

void target_send_message(struct pair *p, size_t len, uint32_t seed)
{
	struct expected message = { .len = len, .seed = seed };

	target_do(&p->target, step_send, &message, sizeof(message), NULL, 0);
}
