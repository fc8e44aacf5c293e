/* SPDX-License-Identifier: BSD-2-Clause */
/* killed.c - a peer that dies in the middle of a transfer: its partner's operations end in errors, all else goes on. */
#include <criterion/criterion.h>

#include "tests/process/big.h"
#include "tests/rules/harness/message.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

/* All operations end; says how long that took and how many had been in flight. */
static void expect_errors(struct pair *victim, struct op *ops, size_t count)
{
	uint64_t start_ms = check_now_ms();
	size_t i, failed = 0;

	for (i = 0; i < count; i++) {
		peer_wait(&victim->peer, &ops[i]);
		failed += ops[i].err != 0;
	}
	CHECK(failed, "all operations in flight to a killed peer succeeded");
	cr_log_info("%zu of %zu operations ended with errors, the last %llu ms after the kill: %s", failed, count,
		    (unsigned long long)(check_now_ms() - start_ms), victim->peer.text);
}

/* A victim and a bystander, both targets of one endpoint, and a large buffer for it. */
struct scene {
	struct pair victim, bystander;
	struct region source;
	struct big_told told;
};

static void scene_open(struct scene *s)
{
	static const struct region_want want = { .len = { BIG }, .access = ALL_LOCAL | ALL_REMOTE };
	static const struct peer_want plain = { 0 };

	memset(s, 0, sizeof(*s));
	target_start(&s->victim.target);
	target_start(&s->bystander.target);
	pair_open(&s->victim, &plain, 0);
	pair_open_beside(&s->bystander, &s->victim);
	region_open(&s->source, &s->victim.peer, &want, 2);
	memset(s->source.iov[0].iov_base, 0x22, BIG);
	target_do(&s->victim.target, step_big, NULL, 0, &s->told, sizeof(s->told));
}

static void scene_close(struct scene *s)
{
	live(&s->bystander);
	pair_close(&s->bystander);
	target_stop(&s->bystander.target);
	region_close(&s->source);
	pair_close_killed(&s->victim);
}

static void fly(struct scene *s, enum rma_dir dir, struct op *ops)
{
	size_t i;

	for (i = 0; i < FLIGHT; i++)
		CHECK_RC(0, pair_post(&s->victim, dir, s->source.iov[0].iov_base, BIG, s->told.addr, s->told.key, &ops[i]));
}

/* An op posted to the victim later fails as well, at the post or by completion. */
static void expect_unreachable(struct scene *s)
{
	struct op op;
	ssize_t rc = pair_post(&s->victim, RMA_WRITE, s->source.iov[0].iov_base, 64, s->told.addr, s->told.key, &op);

	if (rc)
		return;
	peer_wait(&s->victim.peer, &op);
	CHECK(op.err, "a write to a killed peer succeeded");
}

Test(process, killed_while_written_to)
{
	struct scene s;
	struct op ops[FLIGHT];

	scene_open(&s);
	live(&s.bystander);
	target_begin(&s.victim.target, step_wait_touched, NULL, 0, 0);
	fly(&s, RMA_WRITE, ops);
	target_end(&s.victim.target, NULL, 0);
	target_kill(&s.victim.target);
	live(&s.bystander); /* while the victim's operations may still be failing */
	expect_errors(&s.victim, ops, FLIGHT);
	live(&s.bystander);
	expect_unreachable(&s);
	scene_close(&s);
}

static void step_leave_child(const void *arg, void *reply)
{
	pid_t *child = reply;

	(void)arg;
	*child = fork();
	CHECK(*child >= 0, "no fork");
	if (*child)
		return;
	for (;;)
		pause();
}

/* A child that the dead process has left behind has none of its connections, and does not listen: a peer that dials is
 * told at once, instead of trying until the retry budget is spent. */
Test(process, killed_and_survived_by_its_child)
{
	struct scene s;
	pid_t child;
	struct op op;

	scene_open(&s);
	live(&s.victim);
	target_do(&s.victim.target, step_leave_child, NULL, 0, &child, sizeof(child));
	live(&s.victim);
	target_kill(&s.victim.target);
	CHECK_RC(0, pair_post(&s.victim, RMA_WRITE, s.source.iov[0].iov_base, 64, s.told.addr, s.told.key, &op));
	peer_wait(&s.victim.peer, &op);
	kill(child, SIGKILL);
	CHECK(op.err && strstr(s.victim.peer.text, "no endpoint, or another than before, answers"),
	      "a write to a dead process with a living child: err %d, %s", op.err, s.victim.peer.text);
	scene_close(&s);
}

Test(process, killed_while_read_from)
{
	struct scene s;
	struct op ops[FLIGHT];
	volatile uint8_t *first;
	struct deadline guard = deadline_start();

	scene_open(&s);
	first = s.source.iov[0].iov_base;
	fly(&s, RMA_READ, ops);
	while (*first == 0x22) {
		peer_progress(&s.victim.peer);
		deadline_check(&guard, "the first byte of a large read");
	}
	target_kill(&s.victim.target);
	expect_errors(&s.victim, ops, FLIGHT);
	scene_close(&s);
}

/* The victim writes to the tester and never looks at what becomes of it. */
static void step_write_without_end(const void *arg, void *reply)
{
	const struct big_told *to = arg;
	struct iovec iov = { big.iov[0].iov_base, BIG };
	void *desc = fi_mr_desc(big.mr);
	struct fi_rma_iov rma = { .addr = to->addr, .len = BIG, .key = to->key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = target_tester, .rma_iov = &rma, .rma_iov_count = 1
	};
	static struct op ops[FLIGHT];
	size_t i;

	(void)reply;
	for (i = 0; i < FLIGHT; i++)
		CHECK_RC(0, peer_rma(&target_peer, RMA_WRITE, &msg, 0, &ops[i]));
	for (i = 0; i < FLIGHT; i++)
		peer_wait(&target_peer, &ops[i]);
}

Test(process, killed_while_writing)
{
	struct deadline guard = deadline_start();
	volatile uint8_t *first;
	struct big_told mine;
	struct scene s;

	scene_open(&s);
	first = s.source.iov[0].iov_base;
	mine.key = fi_mr_key(s.source.mr);
	mine.addr = region_base(&s.source, &s.victim.peer, 0);
	target_begin(&s.victim.target, step_write_without_end, &mine, sizeof(mine), 0);
	while (*first == 0x22) {
		peer_progress(&s.victim.peer);
		deadline_check(&guard, "the first byte of a large write");
	}
	target_kill(&s.victim.target);
	live(&s.bystander);
	scene_close(&s);
}

/* A message half of which has come is as good as none: the receive stays for the next sender. */
static void step_send_big(const void *arg, void *reply)
{
	struct op op;

	(void)arg;
	(void)reply;
	CHECK_RC(0, peer_send(&target_peer, target_tester, big.iov[0].iov_base, BIG, fi_mr_desc(big.mr), &op));
	peer_wait(&target_peer, &op);
}

/* It ends by _exit() with the last message that it waited for: so do children of test frameworks. */
static void step_hear_and_end(const void *arg, void *reply)
{
	struct op op;

	(void)arg;
	(void)reply;
	CHECK_RC(0, peer_recv(&target_peer, big.iov[0].iov_base, 100, fi_mr_desc(big.mr), &op));
	peer_wait(&target_peer, &op);
	_exit(op.err != 0);
}

/* Neighbours share memory, where the message is noted as executed before its receiver hears of it. */
Test(process, ended_with_the_last_word)
{
	const char *local = getenv("FI_EMU_LOCAL");
	struct scene s;
	struct op op;

	if (!peer_is_emu() || (local && !strcmp(local, "tcp")))
		cr_skip_test("an acknowledgement that is not sent is lost with its process over TCP");
	scene_open(&s);
	live(&s.victim);
	target_begin(&s.victim.target, step_hear_and_end, NULL, 0, 0);
	CHECK_RC(0, peer_send(&s.victim.peer, s.victim.to, s.source.iov[0].iov_base, 100, fi_mr_desc(s.source.mr), &op));
	peer_wait(&s.victim.peer, &op);
	CHECK(!op.err, "a message that was received: err %d, %s", op.err, s.victim.peer.text);
	target_kill(&s.victim.target);
	scene_close(&s);
}

Test(process, killed_while_sending)
{
	struct deadline guard = deadline_start();
	volatile uint8_t *first;
	struct scene s;
	struct op recv, next;

	scene_open(&s);
	first = s.source.iov[0].iov_base;
	CHECK_RC(0, peer_recv(&s.victim.peer, s.source.iov[0].iov_base, BIG, fi_mr_desc(s.source.mr), &recv));
	target_begin(&s.victim.target, step_send_big, NULL, 0, 0);
	while (*first == 0x22) {
		peer_progress(&s.victim.peer);
		deadline_check(&guard, "the first byte of a large message");
	}
	target_kill(&s.victim.target);
	CHECK_RC(0, peer_recv(&s.victim.peer, s.victim.local.iov[0].iov_base, 100, s.victim.desc, &next));
	target_send_message(&s.bystander, 100, 5);
	while (!recv.done && !next.done) {
		peer_progress(&s.victim.peer);
		deadline_check(&guard, "the bystander's message");
	}
	CHECK(!recv.done || recv.err || recv.len == 100 || recv.len == BIG, "a receive ended with %zu B", recv.len);
	live(&s.bystander);
	scene_close(&s);
}
