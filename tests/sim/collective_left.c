/* SPDX-License-Identifier: BSD-2-Clause */
/* collective_left.c - members that leave their group and live on: what others call there ends, in an error if it needs them
 * (WIRE-122, WIRE-124). */
#include <criterion/criterion.h>

#include "emu/nic/collectives/coll_impl.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/transport/session.h"
#include "tests/sim/harness/flock.h"

enum { LONG_S = 10 /* more than it takes until a member that waits says so */ };

enum when { BEFORE, SOON, LATE, WHENS }; /* the member leaves before the others call, or after that */

static struct coll_post call_of(enum coll_kind kind, bool is_long)
{
	bool pieces = kind == COLL_BROADCAST || kind == COLL_ALLREDUCE;

	return act_plain(kind, kind == COLL_BARRIER ? 0 : !is_long ? 10 : pieces ? 20000 : 3000);
}

/* Has the member no result without the one that has left? */
static bool needs(const struct coll_post *post, int member, int leaver)
{
	switch (post->kind) {
	case COLL_BROADCAST:
	case COLL_SCATTER:
		return (uint32_t)leaver == post->root;
	case COLL_REDUCE:
	case COLL_GATHER:
		return (uint32_t)member == post->root;
	default:
		return true;
	}
}

static void begin_all_but(struct act *act, struct seat *seat, int member)
{
	for (int i = 0; i < act->flock->size; i++)
		if (i != member)
			cr_assert_eq(act_begin(act, i, &seat[i]), 0);
}

struct gone {
	struct flock *flock;
	struct seat *seat;
	int leaver;
};

/* Do all other members know that the group is at its end? */
static bool all_know(void *arg)
{
	const struct gone *gone = arg;

	for (int i = 0; i < gone->flock->size; i++)
		if (i != gone->leaver && gone->seat[i].group->why.cause != REFUSAL_GROUP)
			return false;
	return true;
}

/* The others call what the leaver never will. */
static void leave_and_call(struct flock *flock, struct seat *seat, const struct coll_post *post, int leaver, enum when when)
{
	struct gone gone = { flock, seat, leaver };
	struct act act;

	act_open(&act, flock, post);
	if (when == BEFORE)
		seat_leave(flock, leaver, &seat[leaver]);
	begin_all_but(&act, seat, leaver);
	if (when != BEFORE) {
		world_pass(flock->world, when == SOON ? SIM_SECOND / 1000 : LONG_S * SIM_SECOND);
		seat_leave(flock, leaver, &seat[leaver]);
	}
	act.done[leaver] = 1;
	WORLD_CHECK(flock->world, world_run(flock->world, act_done, &act, FLOCK_S * SIM_SECOND),
		    "kind %d of %d, member %d has left (%d): a member hangs", post->kind, flock->size, leaver, when);
	WORLD_CHECK(flock->world, world_run(flock->world, all_know, &gone, FLOCK_S * SIM_SECOND),
		    "kind %d of %d, member %d has left (%d): a member does not know", post->kind, flock->size, leaver, when);
	for (int i = 0; i < flock->size; i++)
		if (i != leaver && (act.done[i] < 0 || needs(post, i, leaver)))
			WORLD_CHECK(flock->world, act.done[i] < 0 && act.cause[i] == REFUSAL_GROUP,
				    "kind %d of %d, member %d has left (%d): member %d: %d, cause %d", post->kind, flock->size,
				    leaver, when, i, act.done[i], act.cause[i]);
	act_close(&act);
	for (int i = 0; i < flock->size; i++)
		if (i != leaver)
			seat_leave(flock, i, &seat[i]);
}

/* Whichever member leaves, before or after the others call. The next group of the same members is as good as new. */
Test(sim_collective_left, every_kind_and_leaver)
{
	struct seat seat[MEMBERS];
	struct flock flock;

	for (int size = 2; size <= 8; size++) {
		flock_open(&flock, 8700 + (uint64_t)size, size);
		flock.world->weather.delay_max_ns = 50000;
		for (int kind = 0; kind < COLL_KINDS; kind++) {
			for (int leaver = 0; leaver < size; leaver++) {
				for (int when = 0; when < WHENS; when++) {
					struct coll_post post = call_of((enum coll_kind)kind, (leaver + when) % 2);

					flock_join_all(&flock, seat);
					leave_and_call(&flock, seat, &post, leaver, (enum when)when);
				}
			}
		}
		flock_close(&flock);
	}
}

/* The same while connections break. */
Test(sim_collective_left, cuts)
{
	enum { SIZE = 5 };
	struct seat seat[SIZE];
	struct flock flock;

	for (uint64_t seed = 0; seed < COLL_KINDS * SIZE; seed++) {
		struct coll_post post = call_of((enum coll_kind)(seed / SIZE), rnd_below(&(struct rnd){ seed }, 2));
		enum when when = (enum when)(seed / 3 % WHENS);

		flock_open(&flock, 8900 + seed, SIZE);
		flock.world->weather.cut_mean = 2000;
		flock.world->weather.cuts_left = 200;
		flock.world->weather.delay_max_ns = 100000;
		flock_join_all(&flock, seat);
		leave_and_call(&flock, seat, &post, (int)(seed % SIZE), when);
		flock_close(&flock);
	}
}

/* Members that are through leave; `left` says which have. True: all. */
static bool leave_if_through(struct act *act, struct seat *seat, bool *left)
{
	bool all = true;

	flock_read(act->flock);
	for (int i = 0; i < act->flock->size; i++) {
		if (act->done[i] && !left[i])
			seat_leave(act->flock, i, &seat[i]);
		left[i] = act->done[i];
		all = all && left[i];
	}
	return all;
}

/* Each member leaves as soon as it is through itself, while others are not: that breaks nothing. */
Test(sim_collective_left, when_it_is_through)
{
	enum { SIZE = 6 };
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;

	for (uint64_t seed = 0; seed < 60; seed++) {
		enum coll_kind kind = (enum coll_kind)(seed % COLL_KINDS);
		struct coll_post post = act_plain(kind, kind == COLL_BARRIER ? 0 : seed % 2 ? 10 : 30000);
		bool left[SIZE] = { false };

		flock_open(&flock, 8800 + seed, SIZE);
		flock.world->weather.delay_max_ns = 50000;
		flock_join_all(&flock, seat);
		act_open(&act, &flock, &post);
		for (int i = 0; i < SIZE; i++)
			cr_assert_eq(act_begin(&act, i, &seat[i]), 0);
		while (!leave_if_through(&act, seat, left))
			world_pass(flock.world, 20000);
		act_check(&act);
		act_close(&act);
		flock_close(&flock);
	}
}

/* The same with a member that is late: others wait, and say so. It leaves, too, as soon as it is through. */
Test(sim_collective_left, when_it_is_through_and_was_late)
{
	enum { SIZE = 6 };
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;

	for (uint64_t seed = 0; seed < COLL_KINDS * SIZE; seed++) {
		struct coll_post post = call_of((enum coll_kind)(seed / SIZE), seed % 2);
		int late = (int)(seed % SIZE);
		bool left[SIZE] = { false };

		flock_open(&flock, 9500 + seed, SIZE);
		flock.world->weather.delay_max_ns = 50000;
		flock_join_all(&flock, seat);
		act_open(&act, &flock, &post);
		begin_all_but(&act, seat, late);
		for (int times = 0; times < LONG_S; times++) {
			world_pass(flock.world, SIM_SECOND);
			cr_assert(!leave_if_through(&act, seat, left));
		}
		cr_assert_eq(act_begin(&act, late, &seat[late]), 0);
		while (!leave_if_through(&act, seat, left))
			world_pass(flock.world, 20000);
		act_check(&act);
		act_close(&act);
		flock_close(&flock);
	}
}

/* Requests that a member has sent to another one. */
static uint64_t sent_to(struct flock *flock, int member, int other)
{
	struct sockaddr_storage name;
	uint64_t sent;

	ep_name(flock->bird[other].ep, &name);
	node_enter(flock->bird[member].node);
	sent = session_get(flock->bird[member].ep, &name)->req.next_seq;
	node_leave(flock->bird[member].node);
	return sent;
}

/* A wait is told once, is not kept at the member that hears of it, and then no timer is set for it. */
Test(sim_collective_left, tells_once)
{
	enum { SIZE = 3 };
	struct coll_post post = act_plain(COLL_SCATTER, 10);
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;
	uint64_t before[SIZE];

	flock_open(&flock, 9600, SIZE);
	flock_join_all(&flock, seat);
	world_pass(flock.world, LONG_S * SIM_SECOND);
	cr_assert_eq(flock.bird[1].node->nic->coll_look_ns, 0);
	for (int i = 1; i < SIZE; i++)
		before[i] = sent_to(&flock, i, 0);
	act_open(&act, &flock, &post);
	begin_all_but(&act, seat, 0);
	for (int times = 0; times < 5; times++) {
		world_pass(flock.world, LONG_S * SIM_SECOND);
		for (int i = 1; i < SIZE; i++) {
			cr_assert_eq(sent_to(&flock, i, 0), before[i] + 1);
			cr_assert_eq(flock.bird[i].node->nic->coll_look_ns, 0);
		}
		cr_assert_eq(flock.bird[0].ep->collectives->srx->match.envelopes, 0);
	}
	cr_assert_eq(act_begin(&act, 0, &seat[0]), 0);
	WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act, FLOCK_S * SIM_SECOND), "a member hangs");
	act_check(&act);
	act_close(&act);
	flock_leave_all(&flock, seat);
	flock_close(&flock);
}

/* To a peer whose HELLO has no such feature, nothing is said. */
Test(sim_collective_left, spares_an_older_peer)
{
	struct coll_post post = act_plain(COLL_SCATTER, 10);
	struct seat seat[2];
	struct flock flock;
	struct act act;
	uint64_t before;

	flock_open(&flock, 9650, 2);
	flock_join_all(&flock, seat);
	before = sent_to(&flock, 1, 0);
	node_enter(flock.bird[1].node);
	flock.bird[1].ep->sessions->hears_waits = false;
	node_leave(flock.bird[1].node);
	act_open(&act, &flock, &post);
	begin_all_but(&act, seat, 0);
	world_pass(flock.world, LONG_S * SIM_SECOND);
	cr_assert_eq(sent_to(&flock, 1, 0), before);
	cr_assert_eq(flock.bird[1].node->nic->counts.failed[REFUSAL_CAPABILITY], 0);
	cr_assert_eq(act_begin(&act, 0, &seat[0]), 0);
	WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act, FLOCK_S * SIM_SECOND), "a member hangs");
	act_check(&act);
	act_close(&act);
	flock_leave_all(&flock, seat);
	flock_close(&flock);
}

static void join_agreed(struct flock *flock, int member, struct seat *seat)
{
	struct coll_join join = { .members = flock->bird[member].index,
				  .count = (uint32_t)flock->size,
				  .agreed = true,
				  .joined = seat_joined,
				  .owner = seat };

	*seat = (struct seat){ 0 };
	node_enter(flock->bird[member].node);
	cr_assert_eq(coll_join(flock->bird[member].ep, &join, &seat->group), 0);
	node_leave(flock->bird[member].node);
}

/* A join without messages: a member may wait for one that is in the group later, and has left it by the call. */
Test(sim_collective_left, joins_later)
{
	enum { SIZE = 3 };
	struct coll_post post = act_plain(COLL_BROADCAST, 10);
	struct wait wait = { NULL, 1 };
	struct seat seat[SIZE];
	struct flock flock;
	struct act act;

	flock_open(&flock, 9700, SIZE);
	act_open(&act, &flock, &post);
	for (int i = 1; i < SIZE; i++) {
		join_agreed(&flock, i, &seat[i]);
		wait.seat = &seat[i];
		WORLD_CHECK(flock.world, world_run(flock.world, seats_told, &wait, FLOCK_S * SIM_SECOND), "a join hangs");
	}
	begin_all_but(&act, seat, 0);
	world_pass(flock.world, LONG_S * SIM_SECOND);
	join_agreed(&flock, 0, &seat[0]);
	wait.seat = &seat[0];
	WORLD_CHECK(flock.world, world_run(flock.world, seats_told, &wait, FLOCK_S * SIM_SECOND), "a join hangs");
	cr_assert_eq(flock.bird[0].ep->collectives->srx->match.envelopes, 0);
	seat_leave(&flock, 0, &seat[0]);
	act.done[0] = 1;
	WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act, FLOCK_S * SIM_SECOND), "a member hangs");
	for (int i = 1; i < SIZE; i++)
		cr_assert(act.done[i] < 0 && act.cause[i] == REFUSAL_GROUP, "%d: %d", i, act.cause[i]);
	act_close(&act);
	for (int i = 1; i < SIZE; i++)
		seat_leave(&flock, i, &seat[i]);
	flock_close(&flock);
}
