/* SPDX-License-Identifier: BSD-2-Clause */
/* passive.c - a target that does nothing of libfabric is served all the same; under manual progress it is not. */
#include <criterion/criterion.h>

#include "tests/rules/harness/message.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int wake[2]; /* made before the fork; a byte sent ends the target's step */

static void step_sleep(const void *arg, void *reply)
{
	char byte;

	(void)arg;
	(void)reply;
	CHECK(read(wake[0], &byte, 1) == 1, "reading the wake-up failed");
}

/* Computes, and gives the processor to no one of its own accord. */
static void step_compute(const void *arg, void *reply)
{
	uint8_t bytes[PAGE];
	uint32_t round = 0;
	char byte;

	(void)arg;
	(void)reply;
	do
		pattern_fill(bytes, sizeof(bytes), round++);
	while (recv(wake[0], &byte, 1, MSG_DONTWAIT) != 1);
}

static void wake_target(struct pair *p)
{
	CHECK(write(wake[1], "x", 1) == 1, "writing the wake-up failed");
	target_end(&p->target, NULL, 0);
}

static void one_read(struct pair *p, struct remote *r, uint64_t off)
{
	uint8_t *local = p->local.iov[0].iov_base;
	struct outcome out;

	memset(local, 0, 64);
	out = pair_try(p, RMA_READ, r->base[0] + off, r->key, 64);
	CHECK(!out.rc && !out.err, "a read at %llu failed: %s", (unsigned long long)off, out.text);
	CHECK(!memcmp(local, r->image + REGION_GUARD + off, 64), "a read at %llu brought wrong bytes", (unsigned long long)off);
}

static void one_write(struct pair *p, struct remote *r, uint64_t off)
{
	uint8_t *local = p->local.iov[0].iov_base;
	struct outcome out;

	pattern_fill(local, 64, ++p->seed);
	memcpy(r->image + REGION_GUARD + off, local, 64);
	out = pair_try(p, RMA_WRITE, r->base[0] + off, r->key, 64);
	CHECK(!out.rc && !out.err, "a write at %llu failed: %s", (unsigned long long)off, out.text);
}

static void serve_thousand(target_step *step)
{
	static const struct peer_want plain = { 0 };
	struct pair p = { 0 };
	struct remote *r;
	uint64_t i;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, wake), "no socket pair");
	target_start(&p.target);
	pair_open(&p, &plain, 0);
	r = remote_reg(&p, PAGE, ALL_REMOTE);
	target_begin(&p.target, step, NULL, 0, 0);
	for (i = 0; i < 1000; i++) {
		one_read(&p, r, i * 7 % (PAGE - 64));
		if (i % 10 == 0)
			one_write(&p, r, i * 11 % (PAGE - 64));
	}
	wake_target(&p);
	remote_verify(&p, r);
	pair_close(&p);
	target_stop(&p.target);
}

Test(process, sleeping_target_serves_a_thousand_reads)
{
	serve_thousand(step_sleep);
}

Test(process, computing_target_serves_a_thousand_reads)
{
	serve_thousand(step_compute);
}

/* A message to a sleeping target is taken in by its NIC: the send completes, and the target finds it when it wakes. */
Test(process, sleeping_target_takes_messages)
{
	static const struct peer_want plain = { 0 };
	struct pair p = { 0 };
	struct op op;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, wake), "no socket pair");
	target_start(&p.target);
	pair_open(&p, &plain, 0);
	target_post_recv(&p);
	target_begin(&p.target, step_sleep, NULL, 0, 0);
	pattern_fill(p.local.iov[0].iov_base, 3000, 9);
	CHECK_RC(0, peer_send(&p.peer, p.to, p.local.iov[0].iov_base, 3000, p.desc, &op));
	peer_wait(&p.peer, &op);
	CHECK(!op.err, "the send failed: %s", p.peer.text);
	wake_target(&p);
	target_expect_message(&p, 3000, 9);
	pair_close(&p);
	target_stop(&p.target);
}

/* FI_EMU_PROGRESS=manual: nothing moves at a target that does not poll, and all moves when both sides do. */
Test(process, manual_progress_needs_polling)
{
	static const struct peer_want want = { .progress = FI_PROGRESS_MANUAL };
	struct pair p = { 0 };
	struct remote *r;
	struct op op;
	int i;

	if (!peer_is_emu())
		cr_skip_test("FI_EMU_PROGRESS is a setting of emu");
	setenv("FI_EMU_PROGRESS", "manual", 1);
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, wake), "no socket pair");
	target_start(&p.target);
	pair_open(&p, &want, 0);
	CHECK(p.peer.info->domain_attr->data_progress == FI_PROGRESS_MANUAL, "data_progress is not FI_PROGRESS_MANUAL");
	r = remote_reg(&p, PAGE, ALL_REMOTE);
	ok_write(&p, r, 0, PAGE);
	ok_read(&p, r, 0, PAGE);
	target_begin(&p.target, step_sleep, NULL, 0, 0);
	memset(p.local.iov[0].iov_base, 1, 64);
	memset(r->image + REGION_GUARD, 1, 64);
	CHECK_RC(0, pair_post(&p, RMA_WRITE, p.local.iov[0].iov_base, 64, r->base[0], r->key, &op));
	for (i = 0; i < 20000 && !op.done; i++)
		peer_progress(&p.peer);
	CHECK(!op.done, "a write was served by a target that never polled");
	wake_target(&p);
	peer_wait(&p.peer, &op);
	CHECK(!op.err, "the write failed: %s", p.peer.text);
	remote_verify(&p, r);
	pair_close(&p);
	target_stop(&p.target);
}
