/* SPDX-License-Identifier: BSD-2-Clause */
/* collective_hostile.c - what can go wrong around a collective: forged messages, memory and regions that go away, no memory. Its
 * members get the right result or an error each. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/nic/base/pool.h"
#include "emu/nic/collectives/coll_impl.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/endpoint/ep_impl.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/transport/session.h"
#include "tests/sim/harness/flock.h"

enum { SIZE = 4 };

/* The last of the flock sends a message of a collective to the first, whatever it says. */
static void forge(struct flock *flock, uint64_t id, uint64_t cq_data, const void *bytes, size_t length)
{
	struct bird *liar = &flock->bird[flock->size - 1];
	struct ep *ep = liar->ep;
	struct sockaddr_storage to;
	struct op *op;

	ep_name(flock->bird[0].ep, &to);
	node_enter(liar->node);
	op = pool_take(ep->collectives->ops);
	cr_assert(op);
	*op = (struct op){ .ep = ep,
			   .pool = ep->collectives->ops,
			   .leader = op,
			   .group_left = 1,
			   .kind = OP_COLLECTIVE,
			   .tag = id,
			   .cq_data = cq_data,
			   .length = length,
			   .total = length,
			   .iov_count = 1,
			   .iov = { { (void *)(uintptr_t)bytes, length } } };
	requester_post(session_get(ep, &to), op);
	node_leave(liar->node);
}

static bool all_done(void *arg)
{
	struct act *act = arg;

	act_done(act);
	for (int i = 0; i < SIZE - 1; i++)
		if (!act->done[i])
			return false;
	return true;
}

/* All but the last are members. */
static void join_without_last(struct flock *flock, struct seat *seat)
{
	struct wait wait = { seat, SIZE - 1 };

	for (int i = 0; i < SIZE - 1; i++)
		cr_assert(!flock_join(flock, i, everybody, SIZE - 1, &seat[i]));
	cr_assert(world_run(flock->world, seats_told, &wait, FLOCK_S * SIM_SECOND));
}

/* WIRE-122: an endpoint that is no member changes nothing, whatever it knows of the group; and it has no more room than granted. */
Test(sim_collective_hostile, stranger)
{
	static const uint8_t bytes[3000];
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;

	for (uint64_t seed = 0; seed < 10; seed++) {
		struct coll_post post = act_plain(COLL_REDUCE, seed % 2 ? 10 : 600);

		flock_open(&flock, 9000 + seed, SIZE);
		flock.bird[0].ep->collectives->srx->envelopes = 100;
		join_without_last(&flock, seat);
		for (int i = 0; i < 150; i++) {
			forge(&flock, seat[0].group->id, WIRE_COLL_ABORT | (uint64_t)i << WIRE_COLL_STEP_BITS, NULL, 0);
			forge(&flock, seat[0].group->id, (uint64_t)i << 40 | rnd_below(&flock.world->rnd, 1 << 20), bytes,
			      rnd_below(&flock.world->rnd, sizeof(bytes)));
			forge(&flock, seat[0].group->id + (uint64_t)i, UINT64_MAX - 2 - (uint64_t)i, bytes, 1);
		}
		world_pass(flock.world, SIM_SECOND / 100);
		cr_assert_eq(flock.bird[0].ep->collectives->srx->match.envelopes, 100);
		act_open(&act, &flock, &post);
		for (int i = 0; i < SIZE - 1; i++)
			cr_assert_eq(act_begin(&act, i, &seat[i]), 0);
		WORLD_CHECK(flock.world, world_run(flock.world, all_done, &act, FLOCK_S * SIM_SECOND), "a member hangs");
		for (int i = 0; i < SIZE - 1; i++)
			cr_assert_eq(act.done[i], 1, "member %d: %d", i, act.cause[i]);
		act_close(&act);
		for (int i = 0; i < SIZE - 1; i++)
			seat_leave(&flock, i, &seat[i]);
		flock_close(&flock);
	}
}

/* The same of a group that is left: the others hear the cause that the member has, not the stranger's, and not since that waits. */
Test(sim_collective_hostile, stranger_of_a_group_that_is_left)
{
	struct coll_post post = act_plain(COLL_BARRIER, 0);
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;
	uint64_t id;

	flock_open(&flock, 9050, SIZE);
	join_without_last(&flock, seat);
	id = seat[0].group->id;
	seat_leave(&flock, 0, &seat[0]);
	forge(&flock, id, WIRE_COLL_ABORT | (uint64_t)REFUSAL_PROTOCOL << WIRE_COLL_STEP_BITS, NULL, 0);
	forge(&flock, id, WIRE_COLL_WAIT | 1ull << (64 - WIRE_COLL_NUMBER_BITS), NULL, 0);
	world_pass(flock.world, SIM_SECOND / 100);
	cr_assert_eq(flock.bird[0].ep->collectives->left->why.cause, REFUSAL_NONE);
	act_open(&act, &flock, &post);
	act.done[0] = 1;
	for (int i = 1; i < SIZE - 1; i++)
		cr_assert_eq(act_begin(&act, i, &seat[i]), 0);
	WORLD_CHECK(flock.world, world_run(flock.world, all_done, &act, FLOCK_S * SIM_SECOND), "a member hangs");
	for (int i = 1; i < SIZE - 1; i++)
		cr_assert_eq(seat[i].group->why.excess, REFUSAL_CANCELLED, "member %d", i);
	act_close(&act);
	for (int i = 1; i < SIZE - 1; i++)
		seat_leave(&flock, i, &seat[i]);
	flock_close(&flock);
}

/* A member that sends what comes later, for ever: the collectives before that are right. Its other call is a disagreement. */
Test(sim_collective_hostile, member)
{
	struct coll_post post = act_plain(COLL_ALLREDUCE, 10);
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;

	flock_open(&flock, 9100, SIZE);
	flock_join_all(&flock, seat);
	for (uint64_t i = 0; i < 500; i++)
		forge(&flock, seat[0].group->id, (i + 2) << 40 | i, NULL, 0);
	act_run(&flock, seat, &post);
	world_pass(flock.world, SIM_SECOND);
	act_open(&act, &flock, &post); /* number 2, of which another call has come */
	for (int i = 0; i < SIZE; i++)
		cr_assert_eq(act_begin(&act, i, &seat[i]), 0);
	WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act, FLOCK_S * SIM_SECOND), "a member hangs");
	cr_assert(act.done[0] == -1 && act.cause[0] == REFUSAL_DISAGREE);
	act_close(&act);
	flock_leave_all(&flock, seat);
	/* What was left of the group is gone with it. */
	cr_assert_eq(flock.bird[0].ep->collectives->srx->match.envelopes, 0);
	flock_close(&flock);
}

/* A member's message that fits in all but its length. */
Test(sim_collective_hostile, wrong_length)
{
	struct coll_post post = act_plain(COLL_ALLTOALL, 10);
	static const uint8_t bytes[100];
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;

	for (size_t length = 39; length <= 41; length += 2) {
		flock_open(&flock, 9150, SIZE);
		flock_join_all(&flock, seat);
		act_open(&act, &flock, &post);
		for (int i = 0; i < SIZE - 1; i++)
			cr_assert_eq(act_begin(&act, i, &seat[i]), 0);
		forge(&flock, seat[0].group->id, flock.bird[0].ep->collectives->running->call, bytes, length);
		WORLD_CHECK(flock.world, world_run(flock.world, all_done, &act, FLOCK_S * SIM_SECOND), "a member hangs");
		cr_assert_eq(act.cause[0], REFUSAL_DISAGREE, "%d", act.cause[0]);
		act_close(&act);
		flock_leave_all(&flock, seat);
		flock_close(&flock);
	}
}

/* A region that the call names is closed, with messages under way and between them. */
Test(sim_collective_hostile, region_closed)
{
	struct coll_post post = act_plain(COLL_ALLTOALL, 40000);
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;

	post.desc[1] = (void *)0x7001;
	for (uint64_t seed = 0; seed < 20; seed++) {
		flock_open(&flock, 9200 + seed, SIZE);
		flock_join_all(&flock, seat);
		act_open(&act, &flock, &post);
		for (int i = seed % 2; i < SIZE; i++)
			cr_assert_eq(act_begin(&act, i, &seat[i]), 0);
		world_pass(flock.world, 5000 * seed);
		node_enter(flock.bird[2].node);
		recall_region(flock.bird[2].node->nic, 0x7001);
		node_leave(flock.bird[2].node);
		if (seed % 2)
			cr_assert_eq(act_begin(&act, 0, &seat[0]), 0);
		WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act, FLOCK_S * SIM_SECOND), "a member hangs");
		if (seed % 2)
			cr_assert_eq(act.cause[2], REFUSAL_LOCAL_CLOSED, "%d", act.cause[2]);
		act_close(&act);
		flock_leave_all(&flock, seat);
		flock_close(&flock);
	}
}

/* Likewise before the first message. */
Test(sim_collective_hostile, region_closed_at_once)
{
	struct coll_post post = act_plain(COLL_ALLTOALL, 40000);
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;

	post.desc[0] = (void *)0x7001;
	flock_open(&flock, 9250, SIZE);
	flock_join_all(&flock, seat);
	act_open(&act, &flock, &post);
	for (int i = 1; i < SIZE; i++)
		cr_assert_eq(act_begin(&act, i, &seat[i]), 0);
	node_enter(flock.bird[0].node);
	post.flags = POST_COMPLETE;
	post.buf = act.in[0];
	post.result = act.out[0];
	post.context = &act;
	cr_assert_eq(coll_begin(seat[0].group, &post), 0);
	recall_region(flock.bird[0].node->nic, 0x7001);
	node_leave(flock.bird[0].node);
	WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act, FLOCK_S * SIM_SECOND), "a member hangs");
	cr_assert_eq(act.cause[0], REFUSAL_LOCAL_CLOSED, "%d", act.cause[0]);
	act_close(&act);
	flock_leave_all(&flock, seat);
	flock_close(&flock);
}

/* A buffer whose memory is not there, of what is sent and of a result. */
Test(sim_collective_hostile, no_pages)
{
	enum { PAGES = 40 * 4096 };
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;

	for (int kind = COLL_BROADCAST; kind < COLL_KINDS; kind++) {
		struct coll_post post = act_plain((enum coll_kind)kind, 8000);
		uint8_t *mine, *pages = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		bool in = kind == COLL_BROADCAST || kind % 2;

		flock_open(&flock, 9300, SIZE);
		flock_join_all(&flock, seat);
		act_open(&act, &flock, &post);
		mine = in ? act.in[0] : act.out[0];
		*(in ? &act.in[0] : &act.out[0]) = pages;
		world_poison(flock.world, pages, PAGES);
		for (int i = 0; i < SIZE; i++)
			cr_assert_eq(act_begin(&act, i, &seat[i]), 0);
		WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act, FLOCK_S * SIM_SECOND), "kind %d: a member hangs",
			    kind);
		cr_assert_eq(act.done[0], -1, "kind %d", kind);
		world_heal(flock.world, pages);
		*(in ? &act.in[0] : &act.out[0]) = mine;
		act_close(&act);
		flock_leave_all(&flock, seat);
		flock_close(&flock);
		munmap(pages, PAGES);
	}
}

/* Memory runs out now and then. */
Test(sim_collective_hostile, scarce)
{
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;
	int failed = 0;

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct coll_post post = act_plain((enum coll_kind)(seed % COLL_KINDS), seed % 2 ? 30 : 30000);

		flock_open(&flock, 9400 + seed, SIZE);
		flock.world->weather.cut_mean = 100000;
		flock.world->weather.cuts_left = 5;
		flock_join_all(&flock, seat);
		act_open(&act, &flock, &post);
		for (int i = 0; i < SIZE; i++)
			cr_assert_eq(act_begin(&act, i, &seat[i]), 0);
		flock.world->weather.scarce_permille = 300;
		flock.world->weather.scarce_left = (uint32_t)(seed % 8);
		WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act, FLOCK_S * SIM_SECOND), "a member hangs");
		flock.world->weather.scarce_permille = 0;
		for (int i = 0; i < SIZE; i++)
			failed += act.done[i] < 0;
		act_close(&act);
		flock_leave_all(&flock, seat);
		flock_close(&flock);
	}
	cr_log_info("%d calls have failed", failed);
}
