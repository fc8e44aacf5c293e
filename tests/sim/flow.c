/* SPDX-License-Identifier: BSD-2-Clause */
/* flow.c - receivers that are not ready, budgets that are full, and peers that flood each other. */
#include <criterion/criterion.h>
#include <errno.h>

#include "emu/nic/device/nic_impl.h"
#include "tests/sim/harness/bed.h"

enum { HOLD_NS = 20000000 };

static struct job *post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
	return job;
}

/* Envelopes for two messages only: the others wait at the sender, and come in order when receives are posted (WIRE-70). */
Test(sim_flow, no_envelopes_left)
{
	struct nic_config config = { .envelopes = 2 };
	struct bed bed;

	bed_open(&bed, 20, 2, &config, NULL);
	for (int i = 0; i < 60; i++)
		post(job_message(bed.party[0], bed.party[1], 8 + 20 * (uint64_t)i, POST_COMPLETE | (i & 1 ? POST_CQ_DATA : 0), 1));
	model_pass(bed.model, HOLD_NS);
	cr_assert_eq(bed.model->open, 58);
	cr_assert_gt(tap_count(bed.world, TAP_RNR), 0);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* FI_EMU_RNR_RETRY: the third and the fourth message end, those before them do not, and the next goes when there is room. */
Test(sim_flow, tries_as_often_as_told)
{
	struct nic_config config = { .envelopes = 2, .rnr_most = 3 };
	struct job *jobs[4];
	struct bed bed;

	bed_open(&bed, 20, 2, &config, NULL);
	for (int i = 0; i < 4; i++) {
		jobs[i] = job_message(bed.party[0], bed.party[1], 8, POST_COMPLETE, 1);
		cr_assert(jobs[i]);
		if (i >= 2)
			job_may(jobs[i], REFUSAL_NOT_READY);
		post(jobs[i]);
	}
	model_pass(bed.model, HOLD_NS);
	cr_assert_eq(bed.model->open, 0);
	cr_assert_eq(tap_count(bed.world, TAP_RNR), 6, "%u", tap_count(bed.world, TAP_RNR));
	model_end(bed.model, BED_LIMIT_NS);
	post(job_message(bed.party[0], bed.party[1], 8, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

static void held(uint32_t order, bool passes)
{
	struct nic_config config = { .envelopes = 1 };
	struct party_config party = { .order = order };
	struct bed bed;
	struct region *target;
	struct job *write, *read;

	bed_open(&bed, 21, 2, &config, &party);
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	for (int i = 0; i < 5; i++)
		post(job_message(bed.party[0], bed.party[1], 100, POST_COMPLETE, 1));
	model_pass(bed.model, HOLD_NS);
	write = post(job_rma(bed.party[0], target, OP_WRITE, 0, 100, POST_COMPLETE, 1));
	read = post(job_rma(bed.party[0], target, OP_READ, 128, 100, POST_COMPLETE, 1));
	post(job_rma(bed.party[1], region_open(bed.party[0], 64, 1, BED_BOTH, false, 0), OP_READ, 0, 64, POST_COMPLETE, 1));
	model_pass(bed.model, HOLD_NS);
	cr_assert_eq(write->done, passes);
	cr_assert_eq(read->done, passes);
	cr_assert_eq(bed.model->open, passes ? 4 : 6, "the peer's own read waits, too");
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* An op that may pass a held message does; one that the order forbids to pass it waits. */
Test(sim_flow, passes_held_messages)
{
	held(0, true);
}

Test(sim_flow, order_forbids_to_pass)
{
	held(EP_ORDER_RAS | EP_ORDER_WAS, false);
}

/* Where no order is promised each message waits for its own receive, and a fenced one for all before it. */
Test(sim_flow, without_order_none_holds_another)
{
	struct nic_config config = { .receives_first = true };
	struct party_config party = { .order = EP_ORDER_NONE };

	for (uint64_t seed = 60; seed < 70; seed++) {
		struct job *jobs[8];
		struct bed bed;

		bed_open(&bed, seed, 2, &config, &party);
		intake_post_tagged(bed.party[1], 100, 1, NULL, 5, 0);
		for (uint64_t i = 0; i < 8; i++) {
			jobs[i] = job_message(bed.party[0], bed.party[1], 8, POST_COMPLETE | (i == 7 ? POST_FENCE : 0), 1);
			cr_assert(jobs[i]);
			job_tag(jobs[i], i);
			post(jobs[i]);
		}
		intake_post_tagged(bed.party[1], 100, 1, NULL, 7, 0);
		model_pass(bed.model, HOLD_NS);
		for (int i = 0; i < 8; i++)
			cr_assert_eq(jobs[i]->done, i == 5, "message %d", i);
		for (uint64_t i = 6; i; i--)
			if (i != 5)
				intake_post_tagged(bed.party[1], 100, 1, NULL, i, 0);
		model_pass(bed.model, 10 * HOLD_NS);
		for (int i = 0; i < 8; i++)
			cr_assert_eq(jobs[i]->done, i && i != 7, "message %d", i);
		intake_post_tagged(bed.party[1], 100, 1, NULL, 0, 0);
		model_end(bed.model, BED_LIMIT_NS);
		bed_close(&bed);
	}
}

/* Remote CQ data needs a slot in the target's queue before a byte is placed. */
Test(sim_flow, no_slot_for_cq_data)
{
	struct party_config config = { .cq_size = 1 };
	struct bed bed;
	struct region *target;

	bed_open(&bed, 22, 2, NULL, &config);
	target = region_open(bed.party[1], 40 * 64, 1, BED_BOTH, false, 0);
	bed.party[1]->deaf = true;
	for (uint64_t i = 0; i < 40; i++)
		post(job_rma(bed.party[0], target, OP_WRITE, 64 * i, 60, POST_COMPLETE | POST_CQ_DATA, 1));
	model_pass(bed.model, HOLD_NS);
	cr_assert_geq(bed.model->open, 38);
	cr_assert_gt(tap_count(bed.world, TAP_RNR), 0);
	region_release(target, 128, 38 * 64);
	region_check(target); /* not a byte of those that wait */
	bed.party[1]->deaf = false;
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* The slot was free when the write began; another's message takes it before the last byte is here (WIRE-63). */
Test(sim_flow, slot_for_cq_data_is_kept)
{
	struct party_config config = { .cq_size = 1 };
	struct bed bed;
	struct region *target;

	bed_open(&bed, 28, 3, NULL, &config);
	bed.world->weather.chunk_max = 4000;
	target = region_open(bed.party[1], 1 << 20, 1, BED_BOTH, false, 0);
	bed.party[1]->deaf = true;
	for (int i = 0; i < 3; i++)
		intake_post(bed.party[1], 100, 1, NULL);
	post(job_rma(bed.party[0], target, OP_WRITE, 0, 1 << 20, POST_COMPLETE | POST_CQ_DATA, 1));
	while (!memcmp(target->block, target->shadow, 64))
		model_step(bed.model);
	for (int i = 0; i < 3; i++)
		post(job_message(bed.party[2], bed.party[1], 50, POST_COMPLETE, 1));
	model_finish(bed.model, BED_LIMIT_NS);
	bed.party[1]->deaf = false;
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Messages from strangers are reported as errors (EP_SOURCE_ERR), which no queue holds back: CQ data waits once too many are
 * unread. */
Test(sim_flow, errors_that_nobody_reads)
{
	enum { MORE = 50, ALL = LIMIT_CQ_ERRORS + 1 + MORE };
	struct party_config config = { .caps = EP_WRITE | EP_REMOTE_WRITE | EP_SOURCE | EP_SOURCE_ERR, .tx_size = ALL };
	struct cq_error error;
	struct region *target;
	struct bed bed;
	uint64_t read = 0;

	bed_open(&bed, 29, 2, NULL, &config);
	target = region_open(bed.party[1], 64 * ALL, 1, BED_BOTH, false, 0);
	bed.party[1]->deaf = true;
	cr_assert(!av_remove(bed.party[1]->av, bed.party[1]->index[0]));
	for (uint64_t i = 0; i < ALL; i++)
		post(job_rma(bed.party[0], target, OP_WRITE, 64 * i, 1, POST_COMPLETE | POST_CQ_DATA, 1));
	model_pass(bed.model, HOLD_NS);
	cr_assert_eq(bed.model->open, MORE);
	while (read < ALL) {
		if (cq_take_error(bed.party[1]->rx, &error) == 1)
			cr_assert(error.c.data == ++read && error.err == EADDRNOTAVAIL);
		else
			cr_assert(model_step(bed.model));
	}
	model_finish(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* No budget for payloads: envelopes are kept, the payload is pulled when a receive comes (WIRE-71). */
Test(sim_flow, no_payload_kept)
{
	struct nic_config config = { .unexpected_bytes = 1000 };
	struct bed bed;

	bed_open(&bed, 23, 2, &config, NULL);
	for (int i = 0; i < 40; i++) {
		post(job_message(bed.party[0], bed.party[1], i % 5 == 4 ? 40000 : 300, POST_COMPLETE, 1));
		post(job_message(bed.party[1], bed.party[0], i % 5 == 4 ? 0 : 900, POST_COMPLETE, 1));
	}
	model_pass(bed.model, HOLD_NS);
	cr_assert_gt(tap_count(bed.world, TAP_PARK), 50);
	cr_assert_eq(tap_count(bed.world, TAP_PULL), 0);
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert_gt(tap_count(bed.world, TAP_PULL), 60);
	bed_close(&bed);
}

/* Both at once, and receives too short for what they get. */
Test(sim_flow, both_budgets_small)
{
	struct nic_config config = { .unexpected_bytes = 500, .envelopes = 3, .eager = 2000 };
	struct bed bed;

	bed_open(&bed, 24, 2, &config, NULL);
	for (int i = 0; i < 100; i++) {
		post(job_message(bed.party[0], bed.party[1], 16 + rnd_below(&bed.world->rnd, 4000), POST_COMPLETE, 2));
		if (i % 3 == 0)
			intake_post(bed.party[1], 16 + rnd_below(&bed.world->rnd, 4000), 2, NULL);
		model_pass(bed.model, rnd_below(&bed.world->rnd, 100000));
	}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

static void flood(uint64_t seed, uint32_t capacity, uint32_t chunk_max, const struct nic_config *config)
{
	struct party_config party = { .cq_size = 4 };
	struct bed bed;
	struct workload load;

	bed_open(&bed, seed, 2, config, &party);
	bed.world->weather.capacity = capacity;
	bed.world->weather.chunk_max = chunk_max;
	workload_init(&load, bed.model, 1500);
	load.outstanding_max = 1000;
	load.big_max = 300000;
	load.churn_permille = 0;
	workload_run(&load, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Both sides ask for all they can, through streams that hold next to nothing (WIRE-64). */
Test(sim_flow, flood_through_tiny_streams)
{
	flood(25, 200, 0, NULL);
}

Test(sim_flow, flood_with_small_budgets)
{
	struct nic_config config = { .unexpected_bytes = 5000, .envelopes = 8 };

	flood(26, 3000, 1000, &config);
}

/* The initiator's own bound: posts beyond it are refused, none is lost. */
Test(sim_flow, more_than_tx_size)
{
	struct party_config config = { .tx_size = 4, .rx_size = 4, .cq_size = 2 };
	struct bed bed;
	struct workload load;

	bed_open(&bed, 27, 3, NULL, &config);
	workload_init(&load, bed.model, 1500);
	workload_run(&load, BED_LIMIT_NS);
	bed_close(&bed);
}

static struct link_ops link_under;
static int sends;

static ssize_t count_send(struct line *line, const struct iovec *iov, int count)
{
	sends++;
	return link_under.send(line, iov, count);
}

static bool keep_bytes(void *link, bool all)
{
	(void)link;
	(void)all;
	return true;
}

/* That the link keeps bytes for lines that share a stream hurries no others: posts in a row still share a send. */
Test(sim_flow, is_not_hurried_by_bytes_that_are_kept)
{
	struct region *region;
	struct bed bed;

	bed_open(&bed, 28, 2, NULL, NULL);
	region = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	post(job_rma(bed.party[0], region, OP_WRITE, 0, 64, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	link_under = bed.node[0]->nic->link;
	bed.node[0]->nic->link.send = count_send;
	bed.node[0]->nic->link.flush = keep_bytes;
	for (uint64_t i = 0; i < 8; i++)
		post(job_rma(bed.party[0], region, OP_WRITE, i * 64, 64, POST_COMPLETE, 1));
	cr_assert_eq(sends, 1, "the first, as its peer is idle");
	model_end(bed.model, BED_LIMIT_NS);
	bed.node[0]->nic->link = link_under;
	bed_close(&bed);
}
