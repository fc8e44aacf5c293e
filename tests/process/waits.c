/* SPDX-License-Identifier: BSD-2-Clause */
/* waits.c - programs that sleep until something completes: fi_cq_sread, a descriptor to poll, counters and
 * fi_cq_signal. */
#include <criterion/criterion.h>

#include "tests/rules/harness/message.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "emu/nic/base/limits.h"

static void open_waiting(struct pair *p, enum fi_wait_obj wait, bool counters)
{
	struct peer_want want = { .wait = wait, .counters = counters };

	memset(p, 0, sizeof(*p));
	target_start(&p->target);
	pair_open(p, &want, 0);
}

static void close_waiting(struct pair *p)
{
	pair_close(p);
	target_stop(&p->target);
}

/* Posts a write that will be good, and notes what it writes. */
static void post_good(struct pair *p, struct remote *r, uint64_t off, struct op *op)
{
	uint8_t *local = p->local.iov[0].iov_base;

	pattern_fill(local, 64, ++p->seed);
	memcpy(r->image + REGION_GUARD + off, local, 64);
	CHECK_RC(0, pair_post(p, RMA_WRITE, local, 64, r->base[0] + off, r->key, op));
}

/* Sleeps in fi_cq_sread until the op has completed. */
static void sread_until_done(struct pair *p, struct op *op)
{
	struct deadline guard = deadline_start();

	while (!op->done) {
		peer_progress_wait(&p->peer, CHECK_GUARD_MS);
		deadline_check(&guard, "a completion through fi_cq_sread");
	}
	CHECK(!op->err, "err %d: %s", op->err, p->peer.text);
}

Test(process, sread_returns_with_the_completion)
{
	struct remote *r;
	struct pair p;
	struct op op;
	uint64_t i;

	open_waiting(&p, FI_WAIT_UNSPEC, false);
	r = remote_reg(&p, PAGE, ALL_REMOTE);
	for (i = 0; i < 200; i++) {
		post_good(&p, r, i * 8, &op);
		sread_until_done(&p, &op);
	}
	remote_verify(&p, r);
	close_waiting(&p);
}

/* The target sleeps in fi_cq_sread until messages come, while the tester sends them one after the other. */
static void step_sread_messages(const void *arg, void *reply)
{
	struct deadline guard = deadline_start();
	uint8_t bytes[8];
	struct op op;
	int i;

	(void)arg;
	(void)reply;
	for (i = 0; i < 100; i++) {
		CHECK_RC(0, peer_recv(&target_peer, bytes, sizeof(bytes), NULL, &op));
		while (!op.done) {
			peer_progress_wait(&target_peer, CHECK_GUARD_MS);
			deadline_check(&guard, "a message through fi_cq_sread");
		}
		CHECK(!op.err && op.len == 8 && bytes[0] == i, "message %d: err %d, %zu B", i, op.err, op.len);
	}
}

/* Sends a hundred messages to a target that sleeps in the step, one when the one before is through. */
static void wake_by_messages(enum fi_wait_obj wait, target_step *step)
{
	struct pair p;
	struct op op;
	int i;

	open_waiting(&p, wait, false);
	target_begin(&p.target, step, NULL, 0, 0);
	for (i = 0; i < 100; i++) {
		memset(p.local.iov[0].iov_base, i, 8);
		CHECK_RC(0, peer_send(&p.peer, p.to, p.local.iov[0].iov_base, 8, p.desc, &op));
		sread_until_done(&p, &op);
	}
	target_end(&p.target, NULL, 0);
	close_waiting(&p);
}

Test(process, sread_wakes_for_messages)
{
	wake_by_messages(FI_WAIT_UNSPEC, step_sread_messages);
}

enum { WRITES = 5, WRITE_LEN = 64 * 1024 };

static atomic_bool *all_sent; /* both processes' */

/* Polls while the tester sends, and then sleeps until the last of it is here. */
static void step_poll_then_sread(const void *arg, void *reply)
{
	struct deadline guard = deadline_start();
	uint8_t bytes[8];
	struct op op;

	(void)arg;
	(void)reply;
	CHECK_RC(0, peer_recv(&target_peer, bytes, sizeof(bytes), NULL, &op));
	while (!atomic_load(all_sent)) {
		peer_progress(&target_peer);
		deadline_check(&guard, "the tester");
	}
	while (!op.done) {
		peer_progress_wait(&target_peer, CHECK_GUARD_MS);
		deadline_check(&guard, "a message through fi_cq_sread");
	}
	CHECK(!op.err && op.len == 8, "err %d, %zu B", op.err, op.len);
}

/* A peer that has guessed at keys is not read for a while. The bytes that it sends meanwhile lie where the other process looks
 * as long as it polls. That process sleeps when they are read at last, and nothing else comes. */
Test(process, sread_wakes_for_what_was_sent_to_who_did_not_listen)
{
	struct op op, good[WRITES + 1];
	struct remote *r;
	struct pair p;

	all_sent = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(all_sent != MAP_FAILED, "no memory");
	open_waiting(&p, FI_WAIT_UNSPEC, false);
	r = remote_reg(&p, WRITES * WRITE_LEN, ALL_REMOTE);
	target_begin(&p.target, step_poll_then_sread, NULL, 0, 0);
	for (int i = 0; i <= LIMIT_GUESSES; i++) {
		CHECK_RC(0, pair_post(&p, RMA_WRITE, p.local.iov[0].iov_base, 8, r->base[0], r->key + 1, &op));
		peer_wait(&p.peer, &op);
		CHECK(op.err, "a write by a wrong key");
	}
	for (int i = 0; i < WRITES; i++)
		CHECK_RC(0, pair_post(&p, RMA_WRITE, p.local.iov[0].iov_base, WRITE_LEN, r->base[0] + (uint64_t)i * WRITE_LEN,
				      r->key, &good[i]));
	CHECK_RC(0, peer_send(&p.peer, p.to, p.local.iov[0].iov_base, 8, p.desc, &good[WRITES]));
	for (int i = 0; i < 100; i++)
		peer_progress(&p.peer);
	atomic_store(all_sent, true);
	for (int i = 0; i <= WRITES; i++)
		sread_until_done(&p, &good[i]);
	target_end(&p.target, NULL, 0);
	close_waiting(&p);
}

/* An empty queue: fi_cq_sread gives up when its time is over, and a refused operation ends it at once. */
Test(process, sread_times_out_and_reports_errors)
{
	struct fi_cq_tagged_entry entry;
	struct remote *r;
	struct pair p;
	struct op op;
	uint64_t start_ms;

	open_waiting(&p, FI_WAIT_UNSPEC, false);
	r = remote_reg(&p, PAGE, FI_REMOTE_READ);
	start_ms = check_now_ms();
	CHECK_RC(-FI_EAGAIN, fi_cq_sread(p.peer.cq, &entry, 1, NULL, 50));
	CHECK(check_now_ms() - start_ms >= 49, "fi_cq_sread gave up before its time");
	CHECK_RC(-FI_EAGAIN, fi_cq_sread(p.peer.cq, &entry, 1, NULL, 0));
	CHECK_RC(0, pair_post(&p, RMA_READ, p.local.iov[0].iov_base, 8, r->base[0] + PAGE, r->key, &op));
	CHECK_RC(-FI_EAVAIL, fi_cq_sread(p.peer.cq, &entry, 1, NULL, CHECK_GUARD_MS));
	peer_wait(&p.peer, &op);
	CHECK(op.err, "a read past the end succeeded");
	close_waiting(&p);
}

static void *signal_queue(void *arg)
{
	struct peer *peer = arg;

	fi_cq_signal(peer->cq);
	return NULL;
}

/* fi_cq_signal ends a fi_cq_sread that nothing else would end. */
Test(process, signal_ends_sread)
{
	struct fi_cq_tagged_entry entry;
	uint64_t start_ms = check_now_ms();
	pthread_t thread;
	struct pair p;
	ssize_t rc;

	open_waiting(&p, FI_WAIT_UNSPEC, false);
	CHECK(!pthread_create(&thread, NULL, signal_queue, &p.peer), "no thread");
	rc = fi_cq_sread(p.peer.cq, &entry, 1, NULL, CHECK_GUARD_MS);
	pthread_join(thread, NULL);
	CHECK(rc == -FI_EAGAIN || rc == -FI_ECANCELED, "fi_cq_sread returned %zd (%s)", rc, fi_strerror((int)-rc));
	CHECK(check_now_ms() - start_ms < CHECK_GUARD_MS, "fi_cq_sread was not ended by fi_cq_signal");
	close_waiting(&p);
}

/* Sleeps in poll on the queue's descriptor, as fi_poll(3) says: only after a good fi_trywait. */
static void poll_until_done(struct pair *p, int fd, struct op *op)
{
	struct fid *fids[] = { &p->peer.cq->fid };
	struct deadline guard = deadline_start();
	struct pollfd in = { .fd = fd, .events = POLLIN };

	while (!op->done) {
		int rc = fi_trywait(p->peer.fabric, fids, 1);

		CHECK(!rc || rc == -FI_EAGAIN, "fi_trywait: %d (%s)", rc, fi_strerror(-rc));
		if (!rc)
			CHECK(poll(&in, 1, CHECK_GUARD_MS) >= 0, "poll failed");
		peer_progress(&p->peer);
		deadline_check(&guard, "a completion through the queue's descriptor");
	}
	CHECK(!op->err, "err %d: %s", op->err, p->peer.text);
}

Test(process, descriptor_becomes_readable)
{
	struct remote *r;
	struct pair p;
	struct op op;
	uint64_t i;
	int fd = -1;

	open_waiting(&p, FI_WAIT_FD, false);
	CHECK_RC(0, fi_control(&p.peer.cq->fid, FI_GETWAIT, &fd));
	CHECK(fd >= 0, "no descriptor");
	r = remote_reg(&p, PAGE, ALL_REMOTE);
	for (i = 0; i < 200; i++) {
		post_good(&p, r, i * 8, &op);
		poll_until_done(&p, fd, &op);
	}
	remote_verify(&p, r);
	close_waiting(&p);
}

/* The target sleeps in poll until messages come. */
static void step_poll_messages(const void *arg, void *reply)
{
	struct pair here = { .peer = target_peer };
	uint8_t bytes[8];
	struct op op;
	int fd, i;

	(void)arg;
	(void)reply;
	CHECK_RC(0, fi_control(&target_peer.cq->fid, FI_GETWAIT, &fd));
	for (i = 0; i < 100; i++) {
		CHECK_RC(0, peer_recv(&target_peer, bytes, sizeof(bytes), NULL, &op));
		poll_until_done(&here, fd, &op);
		CHECK(op.len == 8 && bytes[0] == i, "message %d: %zu B, first byte %d", i, op.len, bytes[0]);
	}
}

Test(process, descriptor_wakes_for_messages)
{
	struct pair p;
	struct op op;
	int fd, i;

	open_waiting(&p, FI_WAIT_FD, false);
	CHECK_RC(0, fi_control(&p.peer.cq->fid, FI_GETWAIT, &fd));
	target_begin(&p.target, step_poll_messages, NULL, 0, 0);
	for (i = 0; i < 100; i++) {
		memset(p.local.iov[0].iov_base, i, 8);
		CHECK_RC(0, peer_send(&p.peer, p.to, p.local.iov[0].iov_base, 8, p.desc, &op));
		poll_until_done(&p, fd, &op);
	}
	target_end(&p.target, NULL, 0);
	close_waiting(&p);
}

/* The target sleeps on the queue's condition variable: there the NIC thread has to serve, and wake it. */
static void step_cond_messages(const void *arg, void *reply)
{
	struct fid *fids[] = { &target_peer.cq->fid };
	struct deadline guard = deadline_start();
	struct fi_mutex_cond object;
	uint8_t bytes[8];
	struct op op;
	int i;

	(void)arg;
	(void)reply;
	CHECK_RC(0, fi_control(&target_peer.cq->fid, FI_GETWAIT, &object));
	for (i = 0; i < 100; i++) {
		CHECK_RC(0, peer_recv(&target_peer, bytes, sizeof(bytes), NULL, &op));
		while (!op.done) {
			pthread_mutex_lock(object.mutex);
			if (!fi_trywait(target_peer.fabric, fids, 1))
				pthread_cond_wait(object.cond, object.mutex);
			pthread_mutex_unlock(object.mutex);
			peer_progress(&target_peer);
			deadline_check(&guard, "a message through the queue's condition variable");
		}
		CHECK(!op.err && op.len == 8 && bytes[0] == i, "message %d: err %d, %zu B", i, op.err, op.len);
	}
}

Test(process, condition_wakes_for_messages)
{
	wake_by_messages(FI_WAIT_MUTEX_COND, step_cond_messages);
}

/* Counters: fi_cntr_wait sleeps until the threshold; errors are counted apart, and end the wait. */
Test(process, counters_count_and_wake)
{
	struct remote *r, *ro;
	struct op ops[50], bad;
	struct pair p;
	size_t i;

	open_waiting(&p, FI_WAIT_UNSPEC, true);
	r = remote_reg(&p, PAGE, ALL_REMOTE);
	ro = remote_reg(&p, PAGE, FI_REMOTE_READ);
	fi_cntr_set(p.peer.tx_cntr, 0);
	for (i = 0; i < 50; i++)
		post_good(&p, r, 0, &ops[i]);
	CHECK_RC(0, fi_cntr_wait(p.peer.tx_cntr, 50, CHECK_GUARD_MS));
	CHECK(fi_cntr_read(p.peer.tx_cntr) == 50, "the counter stands at %llu", (unsigned long long)fi_cntr_read(p.peer.tx_cntr));
	CHECK_RC(-FI_ETIMEDOUT, fi_cntr_wait(p.peer.tx_cntr, 51, 20));
	CHECK_RC(0, pair_post(&p, RMA_WRITE, p.local.iov[0].iov_base, 8, ro->base[0], ro->key, &bad));
	CHECK_RC(-FI_EAVAIL, fi_cntr_wait(p.peer.tx_cntr, 51, CHECK_GUARD_MS));
	CHECK(fi_cntr_readerr(p.peer.tx_cntr) == 1, "%llu errors counted", (unsigned long long)fi_cntr_readerr(p.peer.tx_cntr));
	CHECK(fi_cntr_read(p.peer.tx_cntr) == 50, "an error was counted as a success");
	for (i = 0; i < 50; i++)
		peer_wait(&p.peer, &ops[i]);
	peer_wait(&p.peer, &bad);
	CHECK_RC(0, fi_cntr_add(p.peer.tx_cntr, 7));
	CHECK_RC(0, fi_cntr_wait(p.peer.tx_cntr, 57, CHECK_GUARD_MS));
	close_waiting(&p);
}
