/* SPDX-License-Identifier: BSD-2-Clause */
/* collective_ends.c - collectives that cannot end well: each member hears of it, and none hangs. */
#include <criterion/criterion.h>
#include <errno.h>

#include "emu/nic/collectives/coll_impl.h"
#include "emu/nic/device/ep.h"
#include "tests/sim/harness/flock.h"

/* A member dies at any time: each other ends, well or for a cause. */
Test(sim_collective_ends, death)
{
	enum { SIZE = 6, DEATH_S = 5 /* less than any retry budget: the dials of those that wait are refused */ };
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;
	int failed = 0;

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct coll_post post = act_plain((enum coll_kind)(seed % COLL_KINDS), seed % 2 ? 10 : 30000);
		int victim = (int)(seed % SIZE);

		flock_open(&flock, 8100 + seed, SIZE);
		flock.world->weather.delay_max_ns = 50000;
		flock_join_all(&flock, seat);
		act_open(&act, &flock, &post);
		for (int i = 0; i < SIZE; i++)
			if (i != victim || seed % 3)
				cr_assert_eq(act_begin(&act, i, &seat[i]), 0);
		world_pass(flock.world, seed * 4000);
		node_kill(flock.bird[victim].node);
		act.done[victim] = 1;
		WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act, DEATH_S * SIM_SECOND), "a member hangs");
		for (int i = 0; i < SIZE; i++)
			failed += act.done[i] < 0;
		for (int i = 0; i < SIZE; i++)
			if (i != victim)
				seat_leave(&flock, i, &seat[i]);
		act_close(&act);
		flock_close(&flock);
	}
	cr_assert_gt(failed, 60);
}

/* A member that leaves in the middle breaks the group for the others, and so does one that never joins. */
Test(sim_collective_ends, leaves)
{
	enum { SIZE = 5 };
	struct seat seat[SIZE], again[SIZE];
	struct flock flock;
	struct act act;
	struct wait wait = { again, 1 };
	struct coll_post post = act_plain(COLL_ALLREDUCE, 30000);

	flock_open(&flock, 8200, SIZE);
	flock_join_all(&flock, seat);
	act_open(&act, &flock, &post);
	for (int i = 1; i < SIZE; i++)
		cr_assert_eq(act_begin(&act, i, &seat[i]), 0);
	seat_leave(&flock, 2, &seat[2]);
	act.done[0] = 1;
	WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act, FLOCK_S * SIM_SECOND), "a member hangs");
	for (int i = 1; i < SIZE; i++)
		cr_assert(act.done[i] < 0 && act.cause[i] == (i == 2 ? REFUSAL_CANCELLED : REFUSAL_GROUP), "%d: %d", i,
			  act.cause[i]);
	act_close(&act);
	/* Member 0 hears of it when it calls. */
	act_open(&act, &flock, &post);
	cr_assert_eq(act_begin(&act, 0, &seat[0]), 0);
	for (int i = 1; i < SIZE; i++)
		act.done[i] = 1;
	WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act, FLOCK_S * SIM_SECOND), "a member hangs");
	cr_assert_eq(act.cause[0], REFUSAL_GROUP);
	act_close(&act);
	for (int i = 0; i < SIZE; i++)
		if (i != 2)
			seat_leave(&flock, i, &seat[i]);
	/* Another group of the same is as good as new; one of its members gives up before the others join. */
	flock_join_all(&flock, seat);
	act_run(&flock, seat, &post);
	cr_assert_eq(flock_join(&flock, 3, everybody, SIZE, &again[3]), 0);
	seat_leave(&flock, 3, &again[3]);
	world_pass(flock.world, SIM_SECOND);
	cr_assert_eq(flock_join(&flock, 0, everybody, SIZE, &again[0]), 0);
	WORLD_CHECK(flock.world, world_run(flock.world, seats_told, &wait, FLOCK_S * SIM_SECOND), "the join hangs");
	cr_assert(!again[0].good && again[0].why.cause == REFUSAL_GROUP);
	seat_leave(&flock, 0, &again[0]);
	flock_leave_all(&flock, seat);
	flock_close(&flock);
}

/* Endpoints close with a collective under way. */
Test(sim_collective_ends, closes)
{
	enum { SIZE = 4 };
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;
	struct coll_post post = act_plain(COLL_ALLTOALL, 30000);

	flock_open(&flock, 8300, SIZE);
	flock_join_all(&flock, seat);
	act_open(&act, &flock, &post);
	for (int i = 1; i < SIZE; i++)
		cr_assert_eq(act_begin(&act, i, &seat[i]), 0);
	world_pass(flock.world, 100000);
	node_enter(flock.bird[1].node);
	ep_close(flock.bird[1].ep);
	cr_assert(!pd_close(flock.bird[1].pd));
	node_leave(flock.bird[1].node);
	flock_read(&flock);
	cr_assert_eq(act.done[1], -1);
	flock.bird[1].ep = NULL;
	/* The others may wait for member 0 alone by now: it finds that member 1 is gone. */
	cr_assert_eq(act_begin(&act, 0, &seat[0]), 0);
	WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act, FLOCK_S * SIM_SECOND), "a member hangs");
	cr_assert(act.done[0] == -1 && act.done[2] && act.done[3]);
	act_close(&act);
	flock_close(&flock);
}

/* Members that disagree about the length are told. */
Test(sim_collective_ends, disagreement)
{
	struct seat seat[3];
	struct flock flock;
	struct act act;
	struct coll_post post = act_plain(COLL_ALLREDUCE, 40);

	for (size_t other = 20; other <= 30000; other *= 1500) {
		flock_open(&flock, 8400, 3);
		flock_join_all(&flock, seat);
		post.count = other > 40 ? other : 40;
		act_open(&act, &flock, &post);
		act.post.count = 40;
		cr_assert_eq(act_begin(&act, 0, &seat[0]), 0);
		cr_assert_eq(act_begin(&act, 1, &seat[1]), 0);
		act.post.count = other;
		cr_assert_eq(act_begin(&act, 2, &seat[2]), 0);
		WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act, FLOCK_S * SIM_SECOND), "a member hangs: %d %d %d",
			    act.done[0], act.done[1], act.done[2]);
		for (int i = 0; i < 3; i++)
			cr_assert(act.cause[i] == REFUSAL_DISAGREE || act.cause[i] == REFUSAL_GROUP, "%d: %d", i, act.cause[i]);
		act_close(&act);
		flock_leave_all(&flock, seat);
		flock_close(&flock);
	}
}

static bool all_collectives_over(void *arg)
{
	struct flock *flock = arg;
	bool over = true;

	for (int i = 0; i < flock->size; i++) {
		node_enter(flock->bird[i].node);
		over = over && !flock->bird[i].ep->collectives->running;
		node_leave(flock->bird[i].node);
	}
	return over;
}

/* Barriers without a completion, until no more can be out. */
static int barriers(struct flock *flock, int member, struct seat *seat, int most)
{
	const struct coll_post post = { .kind = COLL_BARRIER };
	int count = 0;

	node_enter(flock->bird[member].node);
	while (count < most && !coll_begin(seat->group, &post))
		count++;
	node_leave(flock->bird[member].node);
	return count;
}

/* A join that finds too many collectives out changes nothing: it can be tried again, and the numbers of joins still agree. */
Test(sim_collective_ends, joins_tried_again)
{
	enum { SIZE = 3, TRIES = 5 };
	struct seat seat[SIZE], again[SIZE];
	struct coll_post post = act_plain(COLL_ALLREDUCE, 10);
	struct flock flock;
	int out;

	flock_open(&flock, 8600, SIZE);
	flock_join_all(&flock, seat);
	out = barriers(&flock, 0, &seat[0], LIMIT_COLLECTIVES + 1);
	cr_assert_eq(out, LIMIT_COLLECTIVES);
	for (int i = 0; i < TRIES; i++)
		cr_assert_eq(flock_join(&flock, 0, everybody, SIZE, &again[0]), -EAGAIN);
	for (int i = 1; i < SIZE; i++)
		cr_assert_eq(barriers(&flock, i, &seat[i], out), out);
	WORLD_CHECK(flock.world, world_run(flock.world, all_collectives_over, &flock, FLOCK_S * SIM_SECOND), "a barrier hangs");
	flock_join_all(&flock, again);
	act_run(&flock, again, &post);
	flock_leave_all(&flock, again);
	flock_leave_all(&flock, seat);
	flock_close(&flock);
}

/* Arguments of a join that cannot be. */
Test(sim_collective_ends, bad_joins)
{
	static const int others[] = { 1, 2 };
	uint64_t index[] = { 0, 77 };
	struct coll_join strange = { .members = index, .count = 2, .joined = seat_joined };
	struct coll_group *group;
	struct flock flock;
	struct seat seat;

	flock_open(&flock, 8500, 3);
	cr_assert_eq(flock_join(&flock, 0, others, 2, &seat), -EINVAL);
	node_enter(flock.bird[0].node);
	cr_assert_eq(coll_join(flock.bird[0].ep, &strange, &group), -EINVAL);
	node_leave(flock.bird[0].node);
	flock_close(&flock);
}
