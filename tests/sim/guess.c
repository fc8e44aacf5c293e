/* SPDX-License-Identifier: BSD-2-Clause */
/* guess.c - a peer that tries key after key gets so far a second, and no other peer notices. */
#include <criterion/criterion.h>

#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/greeting.h"
#include "tests/sim/harness/bed.h"

enum {
	GUESSES = 3 * LIMIT_GUESSES,
	AT_ONCE = SLICE_RECV_MORE / (sizeof(struct wire_head) + sizeof(struct wire_read)), /* are judged that were received */
	EACH = 64,
};

static struct job *post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
	return job;
}

static uint32_t failed(struct job *const *jobs, int count)
{
	uint32_t failures = 0;

	for (int i = 0; i < count; i++)
		failures += jobs[i]->failed;
	return failures;
}

Test(sim_guess, is_held_back_alone)
{
	static struct job *guess[GUESSES];
	int posted = 0, others = 0;
	struct region *region;
	struct job *other;
	uint64_t from;
	struct bed bed;

	bed_open(&bed, 62, 3, NULL, NULL);
	region = region_open(bed.party[1], 64 * GUESSES, 1, BED_BOTH, false, 0);
	post(job_rma(bed.party[0], region, OP_READ, 0, 8, POST_COMPLETE, 1));
	other = post(job_rma(bed.party[2], region, OP_READ, 64, 8, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	from = bed.world->now_ns;
	while (posted < GUESSES && bed.world->now_ns - from < TIME_GUESSES_NS / 2) {
		for (int i = 0; i < EACH && posted < GUESSES && posted - (int)failed(guess, posted) < EACH; i++) {
			guess[posted] = post(
				job_refused(bed.party[0], bed.party[1], OP_READ, region->key + 1, 0, 8, REFUSAL_UNKNOWN_KEY));
			posted++;
		}
		if (other->done) {
			others++;
			other = post(job_rma(bed.party[2], region, OP_READ, 64 * (uint64_t)(1 + others % 99), 8, POST_COMPLETE, 1));
		}
		model_step(bed.model); /* never idle: the other one always has an op under way */
	}
	cr_assert_geq(failed(guess, posted), LIMIT_GUESSES);
	cr_assert_leq(failed(guess, posted), LIMIT_GUESSES + EACH, "those under way, which may have been received");
	cr_assert_geq(others, 300, "somebody else read %d times meanwhile", others);
	cr_assert(node_logged(bed.node[1], "guesses keys"));
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert_eq(failed(guess, posted), (uint32_t)posted, "its time comes again");
	cr_assert_eq(bed.world->cables_made, 2, "on the same connection");
	bed_close(&bed);
}

/* Each second by itself, to the nanosecond; the log tells of it once in each. */
Test(sim_guess, a_second)
{
	struct guesses *guesses;
	struct region *region;
	struct conn *conn;
	struct node *node;
	struct nic *nic;
	struct bed bed;

	bed_open(&bed, 63, 2, NULL, NULL);
	region = region_open(bed.party[1], 64, 1, BED_BOTH, false, 0);
	post(job_rma(bed.party[0], region, OP_READ, 0, 8, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	node = bed.node[1];
	nic = node->nic;
	guesses = &nic->guesses;
	conn = nic->conns;
	node_enter(node);
	for (uint32_t second = 1; second <= 2; second++) {
		for (int i = 0; i < LIMIT_GUESSES; i++)
			guess_made(conn);
		cr_assert_not(conn->throttled);
		cr_assert_eq(guess_tick(nic), UINT64_MAX, "nobody is held");
		for (int i = 0; i < AT_ONCE; i++)
			guess_made(conn);
		cr_assert(conn->throttled);
		cr_assert_eq(node->warns, second);
		bed.world->now_ns = guesses->until_ns - 1;
		nic_now(nic);
		cr_assert_eq(guess_tick(nic), guesses->until_ns);
		cr_assert(conn->throttled);
		bed.world->now_ns++;
		nic_now(nic);
		cr_assert_eq(guess_tick(nic), UINT64_MAX);
		cr_assert_not(conn->throttled);
	}
	node_leave(node);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}
