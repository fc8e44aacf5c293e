/* SPDX-License-Identifier: BSD-2-Clause */
/* receive_first.c - endpoints whose messages find their receives posted, or a receiver that is not ready (EP_RULE_RECEIVE_FIRST). */
#include <criterion/criterion.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/messages/srx.h"
#include "tests/sim/harness/bed.h"

enum { HOLD_NS = 20000000 };

static const struct party_config receive_first = { .rules = EP_RULE_RECEIVE_FIRST };

static struct job *post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
	return job;
}

/* Each message waits at its sender, however short it is, and none is kept. */
Test(sim_receive_first, messages_wait_for_receives)
{
	struct job *jobs[4];
	struct bed bed;

	bed_open(&bed, 700, 2, NULL, &receive_first);
	intake_post(bed.party[1], 100, 1, NULL);
	for (int i = 0; i < 4; i++)
		jobs[i] = post(job_message(bed.party[0], bed.party[1], 8, POST_COMPLETE, 1));
	model_pass(bed.model, HOLD_NS);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(jobs[i]->done, i == 0, "message %d", i);
	cr_assert_eq(bed.party[1]->ep->srx->match.envelopes, 0);
	cr_assert_eq(bed.party[1]->ep->srx->match.bytes, 0);
	cr_assert_gt(tap_count(bed.world, TAP_RNR), 0);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Completions of receives tell the endpoint's tag, where they tell no sender. */
Test(sim_receive_first, completions_tell_the_tag)
{
	struct party_config config = { .caps = EP_SEND | EP_RECV, .tag = 77 };
	uint8_t bytes[8] = { 1 };
	struct iovec iov = { bytes, sizeof(bytes) };
	struct recv_post recv = { .iov = &iov, .iov_count = 1, .flags = POST_COMPLETE, .source = AV_NONE };
	struct post send = { .kind = OP_SEND, .iov = &iov, .iov_count = 1 };
	struct completion done;
	struct cq_error error;
	struct bed bed;

	bed_open(&bed, 701, 2, NULL, &config);
	bed.party[0]->deaf = bed.party[1]->deaf = true;
	for (int i = 0; i < 2; i++)
		cr_assert(!ep_recv(bed.party[1]->ep, &recv));
	send.dest = bed.party[0]->index[1];
	cr_assert(!ep_post(bed.party[0]->ep, &send));
	model_pass(bed.model, HOLD_NS);
	cr_assert_eq(cq_take(bed.party[1]->rx, &done, 1), 1);
	cr_assert_eq(done.source, 77);
	node_enter(bed.node[1]);
	cr_assert(!ep_cancel(bed.party[1]->ep, NULL));
	node_leave(bed.node[1]);
	cr_assert_eq(cq_take_error(bed.party[1]->rx, &error), 1);
	cr_assert_eq(error.c.source, 77);
	bed_close(&bed);
}
