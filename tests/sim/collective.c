/* SPDX-License-Identifier: BSD-2-Clause */
/* collective.c - groups and their collectives: each result, whatever the number of members, the timing and the cuts (WIRE-123). */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>

#include "emu/nic/collectives/coll_impl.h"
#include "tests/sim/harness/flock.h"
#include "wire/digest.h"

/* WIRE-121: the group's id. */
Test(sim_collective, id)
{
	uint8_t bytes[2 * 20 + 8] = { 10, 0, 0, 1, [20] = 10, 0, 0, 2 };
	struct seat seat[2];
	struct flock flock;

	flock_open(&flock, 8600, 2);
	for (int i = 0; i < 2; i++) {
		struct sockaddr_storage name;

		ep_name(flock.bird[i].ep, &name);
		bytes[20 * i + 17] = 4;
		memcpy(bytes + 20 * i + 18, &((struct sockaddr_in *)&name)->sin_port, 2);
	}
	for (uint8_t times = 1; times <= 3; times++) {
		bytes[40] = times;
		flock_join_all(&flock, seat);
		cr_assert_eq(seat[0].group->id, digest_bytes(bytes, sizeof(bytes)));
		cr_assert_eq(seat[1].group->id, seat[0].group->id);
		flock_leave_all(&flock, seat);
	}
	flock_close(&flock);
}

/* Every kind, every number of members, roots at both ends and between, no element, few and many. */
Test(sim_collective, every_kind)
{
	static const size_t counts[] = { 0, 1, 5, 20000 };
	struct seat seat[MEMBERS];
	struct flock flock;

	for (int size = 1; size <= MEMBERS; size++) {
		flock_open(&flock, 7700 + (uint64_t)size, size);
		flock_join_all(&flock, seat);
		for (int kind = 0; kind < COLL_KINDS; kind++) {
			for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
				struct coll_post post = act_plain((enum coll_kind)kind, counts[c]);

				if (kind == COLL_ALLTOALL && counts[c] > 5)
					post.count = 700;
				for (uint32_t root = 0; root < (uint32_t)size; root += 3) {
					post.root = kind == COLL_BROADCAST || kind >= COLL_REDUCE ? root : 0;
					act_run(&flock, seat, &post);
					if (post.root != root)
						break;
				}
			}
		}
		flock_leave_all(&flock, seat);
		flock_close(&flock);
	}
}

/* Every reduction that is offered, on every datatype. */
Test(sim_collective, every_reduction)
{
	struct seat seat[MEMBERS];
	struct flock flock;

	for (int size = 3; size <= 8; size += 5) {
		flock_open(&flock, 7800, size);
		flock_join_all(&flock, seat);
		for (uint8_t type = 0; type < ATOMIC_TYPES; type++) {
			for (uint8_t op = 0; op < ATOMIC_OPS; op++) {
				struct coll_post post = { .kind = COLL_ALLREDUCE, .count = 3, .type = type, .op = op };

				if (!coll_reduces(type, op))
					continue;
				act_run(&flock, seat, &post);
				post.kind = COLL_REDUCE;
				act_run(&flock, seat, &post);
				post.kind = COLL_REDUCE_SCATTER;
				act_run(&flock, seat, &post);
			}
		}
		flock_leave_all(&flock, seat);
		flock_close(&flock);
	}
}

/* Connections break at any byte. */
Test(sim_collective, cuts)
{
	struct seat seat[MEMBERS];
	struct flock flock;

	for (uint64_t seed = 0; seed < 40; seed++) {
		flock_open(&flock, 7900 + seed, 2 + (int)(seed % 6));
		flock.world->weather.cut_mean = (seed % 2 ? 2000 : 100000) + 4000 * (seed % 5);
		flock.world->weather.cuts_left = 200;
		flock.world->weather.delay_max_ns = 100000;
		flock.world->weather.chunk_max = 5000;
		flock_join_all(&flock, seat);
		for (int kind = 0; kind < COLL_KINDS; kind++) {
			struct coll_post post = act_plain((enum coll_kind)kind, seed % 2 ? 30 : 20000);

			act_run(&flock, seat, &post);
		}
		flock_leave_all(&flock, seat);
		flock_close(&flock);
	}
}

/* Many at once, in two groups of other order; one member is late, and messages are long and short. */
Test(sim_collective, overlapping)
{
	enum { SIZE = 5, AT_ONCE = 8 };
	static const int backwards[] = { 4, 3, 2, 1, 0 };
	struct seat seat[2][SIZE];
	struct act act[2 * AT_ONCE];
	struct flock flock;
	struct wait wait = { seat[1], SIZE };

	for (uint64_t seed = 0; seed < 10; seed++) {
		flock_open(&flock, 8000 + seed, SIZE);
		/* Joins under way at the same time, called in another order by each. */
		for (int i = 0; i < SIZE; i++)
			for (int k = 0; k < 2; k++)
				cr_assert(!flock_join(&flock, i, (k ^ i) & 1 ? backwards : everybody, SIZE, &seat[(k ^ i) & 1][i]));
		WORLD_CHECK(flock.world, world_run(flock.world, seats_told, &wait, FLOCK_S * SIM_SECOND), "a join hangs");
		wait.seat = seat[0];
		WORLD_CHECK(flock.world, world_run(flock.world, seats_told, &wait, FLOCK_S * SIM_SECOND), "a join hangs");
		for (int a = 0; a < 2 * AT_ONCE; a++) {
			struct coll_post post = act_plain(a % 3 ? COLL_ALLREDUCE : COLL_BROADCAST, a % 2 ? 50000 : 4);

			act_open(&act[a], &flock, &post);
			if (a >= AT_ONCE) /* the second group: its rank 0 is the last member */
				act[a].post.kind = COLL_ALLREDUCE;
			for (int i = 0; i < SIZE - 1; i++)
				cr_assert_eq(act_begin(&act[a], i, &seat[a / AT_ONCE][i]), 0);
		}
		world_pass(flock.world, SIM_SECOND);
		for (int a = 0; a < 2 * AT_ONCE; a++) {
			int order = (a + AT_ONCE) % (2 * AT_ONCE);

			cr_assert_eq(act_begin(&act[order], SIZE - 1, &seat[order / AT_ONCE][SIZE - 1]), 0);
		}
		for (int a = 0; a < 2 * AT_ONCE; a++) {
			WORLD_CHECK(flock.world, world_run(flock.world, act_done, &act[a], FLOCK_S * SIM_SECOND), "act %d hangs",
				    a);
			if (a < AT_ONCE)
				act_check(&act[a]);
			act_close(&act[a]);
		}
		flock_leave_all(&flock, seat[0]);
		flock_leave_all(&flock, seat[1]);
		flock_close(&flock);
	}
}
