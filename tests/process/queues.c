/* SPDX-License-Identifier: BSD-2-Clause */
/* queues.c - small completion queues that are not read hold operations back and lose nothing; four threads post at
 * once. */
#include <criterion/criterion.h>

#include "tests/rules/harness/message.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { SMALL_CQ = 16, POSTS = 3000, THREADS = 4, PER_THREAD = 2000 };

static void open_small(struct pair *p)
{
	static const struct peer_want want = { .cq_size = SMALL_CQ };

	memset(p, 0, sizeof(*p));
	target_start(&p->target);
	pair_open(p, &want, 0);
}

/* Posts without reading the queue until the provider says -FI_EAGAIN; then reads. Each completes once. */
Test(process, full_queue_holds_the_initiator_back)
{
	struct op *ops = calloc(POSTS, sizeof(*ops));
	struct deadline guard = deadline_start();
	size_t posted = 0, refused = 0, i;
	struct remote *r;
	struct pair p;

	open_small(&p);
	r = remote_reg(&p, 8 * POSTS, ALL_REMOTE);
	pattern_fill(p.local.iov[0].iov_base, 8 * POSTS, 4);
	while (posted < POSTS) {
		uint8_t *from = p.local.iov[0].iov_base;
		ssize_t rc = fi_write(p.peer.ep, from + posted * 8, 8, p.desc, p.to, r->base[0] + posted * 8, r->key, &ops[posted]);

		CHECK(!rc || rc == -FI_EAGAIN, "post %zu: %zd (%s)", posted, rc, fi_strerror((int)-rc));
		if (!rc) {
			posted++;
			continue;
		}
		refused++;
		if (!peer_progress(&p.peer))
			deadline_check(&guard, "room in the queue");
	}
	for (i = 0; i < POSTS; i++) {
		peer_wait(&p.peer, &ops[i]);
		CHECK(!ops[i].err, "write %zu failed: %s", i, p.peer.text);
	}
	memcpy(r->image + REGION_GUARD, p.local.iov[0].iov_base, 8 * POSTS);
	remote_verify(&p, r);
	CHECK(refused || !peer_is_emu(), "%d operations were taken while nobody read the queue", POSTS);
	free(ops);
	pair_close(&p);
	target_stop(&p.target);
}

/* Waits for the data of all writes, in order; before it ran, nobody read this queue. */
static void step_read_data(const void *arg, void *reply)
{
	struct deadline guard = deadline_start();
	size_t seen = 0;

	(void)arg;
	(void)reply;
	while (seen < POSTS) {
		if (!peer_progress(&target_peer))
			deadline_check(&guard, "the data of a write");
		for (; seen < target_peer.remote_data_count; seen++)
			CHECK(target_peer.remote_data[seen % PEER_REMOTE_DATA_MAX] == seen, "event %zu has data %llu", seen,
			      (unsigned long long)target_peer.remote_data[seen % PEER_REMOTE_DATA_MAX]);
	}
}

/* More writes with data than the target's queue holds, while the target reads none: all events come in the end. */
Test(process, full_queue_of_the_target_loses_no_event)
{
	struct op *ops = calloc(POSTS, sizeof(*ops));
	struct deadline guard = deadline_start();
	size_t posted = 0, refused = 0, i;
	bool reading = false;
	struct remote *r;
	struct pair p;
	ssize_t rc;

	open_small(&p);
	r = remote_reg(&p, 8, ALL_REMOTE);
	while (posted < POSTS) {
		if (!reading && (refused >= POSTS || posted == POSTS / 2)) { /* the target's queue is full by now */
			target_begin(&p.target, step_read_data, NULL, 0, 0);
			reading = true;
		}
		rc = fi_writedata(p.peer.ep, p.local.iov[0].iov_base, 8, p.desc, posted, p.to, r->base[0], r->key, &ops[posted]);
		if (peer_again(&p.peer, rc, &guard)) {
			refused++;
			continue;
		}
		CHECK_RC(0, rc);
		posted++;
	}
	for (i = 0; i < POSTS; i++) {
		peer_wait(&p.peer, &ops[i]);
		CHECK(!ops[i].err, "write %zu failed: %s", i, p.peer.text);
	}
	target_end(&p.target, NULL, 0);
	free(ops);
	pair_close(&p);
	target_stop(&p.target);
}

/* ---- threads ---- */

struct poster {
	struct pair *p;
	struct remote *r;
	struct op *ops;
	size_t number;
	int failed; /* a post's errno */
};

/* Writes its own slice of the region, 8 bytes an operation, round and round. */
static void *post_writes(void *arg)
{
	struct poster *me = arg;
	uint8_t *from = (uint8_t *)me->p->local.iov[0].iov_base + me->number * 4096;
	size_t i;

	for (i = 0; i < PER_THREAD; i++) {
		uint64_t off = me->number * 4096 + i % 512 * 8;
		ssize_t rc;

		do {
			rc = fi_write(me->p->peer.ep, from + i % 512 * 8, 8, me->p->desc, me->p->to, me->r->base[0] + off,
				      me->r->key, &me->ops[i]);
			if (rc == -FI_EAGAIN)
				sched_yield();
		} while (rc == -FI_EAGAIN);
		if (rc) {
			me->failed = (int)-rc;
			return NULL;
		}
	}
	return NULL;
}

Test(process, four_threads_post_at_once)
{
	static const struct peer_want want = { .threading = FI_THREAD_SAFE };
	struct poster posters[THREADS];
	pthread_t threads[THREADS];
	struct pair p = { 0 };
	struct remote *r;
	size_t t, i;

	target_start(&p.target);
	pair_open(&p, &want, 0);
	r = remote_reg(&p, THREADS * 4096, ALL_REMOTE);
	pattern_fill(p.local.iov[0].iov_base, THREADS * 4096, 6);
	memcpy(r->image + REGION_GUARD, p.local.iov[0].iov_base, THREADS * 4096);
	for (t = 0; t < THREADS; t++) {
		posters[t] = (struct poster){ .p = &p, .r = r, .number = t, .ops = calloc(PER_THREAD, sizeof(struct op)) };
		CHECK(!pthread_create(&threads[t], NULL, post_writes, &posters[t]), "no thread");
	}
	for (t = 0; t < THREADS; t++)
		for (i = 0; i < PER_THREAD && !posters[t].failed; i++)
			peer_wait(&p.peer, &posters[t].ops[i]);
	for (t = 0; t < THREADS; t++) {
		pthread_join(threads[t], NULL);
		CHECK(!posters[t].failed, "thread %zu: %s", t, fi_strerror(posters[t].failed));
		for (i = 0; i < PER_THREAD; i++)
			CHECK(!posters[t].ops[i].err, "thread %zu, write %zu: err %d", t, i, posters[t].ops[i].err);
		free(posters[t].ops);
	}
	remote_verify(&p, r);
	pair_close(&p);
	target_stop(&p.target);
}
