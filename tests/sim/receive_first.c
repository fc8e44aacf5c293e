/* SPDX-License-Identifier: BSD-2-Clause */
/* receive_first.c - endpoints whose messages find their receives posted, or a receiver that is not ready
 * (EP_RULE_RECEIVE_FIRST), and what goes with that. */
#include <criterion/criterion.h>
#include <errno.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/endpoint/pair.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/messages/srx.h"
#include "tests/sim/harness/bed.h"
#include "tests/sim/harness/ends.h"

enum { HOLD_NS = 20000000, LONG = 300000 };

static const struct party_config receive_first = { .rules = EP_RULE_RECEIVE_FIRST };
static const struct party_config data_receives = { .rules = EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES };

static struct job *post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
	return job;
}

static struct job *message(struct bed *bed, uint64_t length, uint32_t flags)
{
	return job_message(bed->party[0], bed->party[1], length, POST_COMPLETE | flags, 1);
}

/* Each message waits at its sender, however short it is, and none is kept. */
Test(sim_receive_first, messages_wait_for_receives)
{
	struct job *jobs[4];
	struct bed bed;

	bed_open(&bed, 700, 2, NULL, &receive_first);
	intake_post(bed.party[1], 100, 1, NULL);
	for (int i = 0; i < 4; i++)
		jobs[i] = post(message(&bed, 8, 0));
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

/* WIRE-147: in segments, and no request behind it is executed before its last byte is there; nothing passes one that waits. */
Test(sim_receive_first, long_messages_keep_the_order)
{
	struct region *target;
	struct intake *intake;
	struct job *write;
	struct bed bed;

	bed_open(&bed, 702, 2, NULL, &receive_first);
	bed.world->weather.chunk_max = 5000;
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	post(message(&bed, LONG, POST_CQ_DATA));
	write = post(job_rma(bed.party[0], target, OP_WRITE, 0, 64, POST_COMPLETE, 1));
	post(job_rma(bed.party[0], target, OP_READ, 128, 64, POST_COMPLETE, 1));
	model_pass(bed.model, HOLD_NS);
	cr_assert_eq(bed.model->open, 3);
	intake = intake_post(bed.party[1], LONG, 3, NULL);
	while (!memcmp(target->block, target->shadow, target->size))
		cr_assert(model_step(bed.model));
	cr_assert(!write->done);
	model_read(bed.party[1]);
	cr_assert(intake->done);
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert_geq(tap_count(bed.world, TAP_RSEND_PART), LONG / WIRE_SEGMENT_MAX + 1);
	cr_assert_eq(tap_count(bed.world, TAP_SEND) + tap_count(bed.world, TAP_RTS), 0);
	bed_close(&bed);
}

/* Both fail, before a byte is placed; the next message has the next receive. */
Test(sim_receive_first, longer_than_its_receive)
{
	static const uint64_t lengths[] = { 101, LONG };

	for (int i = 0; i < 2; i++) {
		struct intake *intake;
		struct job *job;
		struct bed bed;

		bed_open(&bed, 703, 2, NULL, &receive_first);
		intake = intake_post(bed.party[1], 100, 2, NULL);
		job = message(&bed, lengths[i], 0);
		job->may.good = false;
		job_may(job, REFUSAL_MESSAGE_LONG);
		post(job);
		post(message(&bed, lengths[i], 0));
		model_pass(bed.model, HOLD_NS);
		cr_assert(job->done && intake->failed);
		model_end(bed.model, BED_LIMIT_NS);
		bed_close(&bed);
	}
}

/* So often, and after just the time that the receiver asks for. */
Test(sim_receive_first, is_tried_as_often_as_told)
{
	static const uint8_t retries[] = { 0, 1, 6, RNR_EVER };

	for (int i = 0; i < 4; i++) {
		struct ep_timing timing = { .rnr_most = retries[i], .rnr_wait_us = 4000 };
		struct job *job;
		struct bed bed;

		bed_open(&bed, 704, 2, NULL, &receive_first);
		for (int n = 0; n < 2; n++) {
			node_enter(bed.node[n]);
			ep_set_timing(bed.party[n]->ep, &timing);
			node_leave(bed.node[n]);
		}
		job = message(&bed, 100, 0);
		job->may.good = retries[i] == RNR_EVER;
		if (retries[i] != RNR_EVER)
			job_may(job, REFUSAL_NOT_READY);
		post(job);
		model_pass(bed.model, 1002000000);
		cr_assert_eq(job->done, retries[i] != RNR_EVER);
		if (job->done)
			cr_assert_eq(tap_count(bed.world, TAP_RNR), retries[i] + 1u);
		else
			cr_assert_geq(tap_count(bed.world, TAP_RNR), 200, "%u", tap_count(bed.world, TAP_RNR));
		model_end(bed.model, BED_LIMIT_NS);
		bed_close(&bed);
	}
}

/* The endpoint's own budget, and not its device's. */
Test(sim_receive_first, gives_up_in_its_own_time)
{
	struct ep_timing timing = { .budget_ns = SIM_SECOND / 2, .rnr_most = RNR_AS_DEVICE };
	struct job *job;
	struct bed bed;

	bed_open(&bed, 705, 2, NULL, &receive_first);
	node_enter(bed.node[0]);
	ep_set_timing(bed.party[0]->ep, &timing);
	node_leave(bed.node[0]);
	node_cut_off(bed.node[1], true);
	job = message(&bed, 8, 0);
	job->may.good = false;
	job_may(job, REFUSAL_UNREACHABLE);
	post(job);
	model_pass(bed.model, SIM_SECOND);
	cr_assert(job->done);
	node_cut_off(bed.node[1], false);
	bed_close(&bed);
}

/* WIRE-149: the receive that was posted first, and its buffer stays as it was. */
Test(sim_receive_first, data_takes_a_receive)
{
	struct region *target;
	struct intake *first;
	struct job *writes[2];
	struct bed bed;

	bed_open(&bed, 706, 2, NULL, &data_receives);
	target = region_open(bed.party[1], 2 * LONG, 1, BED_BOTH, false, 0);
	first = intake_post(bed.party[1], 0, 1, NULL);
	for (uint64_t i = 0; i < 2; i++)
		writes[i] = post(job_rma(bed.party[0], target, OP_WRITE, i * LONG, LONG - 64,
					 POST_COMPLETE | POST_CQ_DATA | POST_SOLICITED, 1));
	model_pass(bed.model, HOLD_NS);
	cr_assert(writes[0]->done && first->done && !writes[1]->done);
	region_release(target, LONG, LONG - 64);
	region_check(target); /* not a byte of the one that waits */
	cr_assert(region_claim(target, LONG, LONG - 64));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* A write that is refused leaves the receive, at its place. */
Test(sim_receive_first, refused_data_takes_none)
{
	struct intake *intakes[2];
	struct region *target;
	struct job *wrong;
	struct bed bed;

	bed_open(&bed, 707, 2, NULL, &data_receives);
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	for (int i = 0; i < 2; i++)
		intakes[i] = intake_post(bed.party[1], 100, 1, NULL);
	wrong = job_refused(bed.party[0], bed.party[1], OP_WRITE, target->key, 4090, 10, REFUSAL_RANGE);
	wrong->flags |= POST_CQ_DATA;
	post(wrong);
	post(message(&bed, 50, 0));
	model_pass(bed.model, HOLD_NS);
	cr_assert(wrong->done && intakes[0]->done && !intakes[1]->done);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Posts a message that invalidates, with a context that the model does not know. */
static void post_invalidating(struct bed *bed, uint64_t key, struct iovec *iov)
{
	struct post send = { .kind = OP_SEND,
			     .flags = POST_COMPLETE | POST_INVALIDATE,
			     .iov = iov,
			     .iov_count = 1,
			     .dest = bed->party[0]->index[1],
			     .cq_data = key };

	cr_assert(!ep_post(bed->party[0]->ep, &send));
}

/* WIRE-148: the region ends before the receive completes, and a key that names none is refused. */
Test(sim_receive_first, invalidates_a_region)
{
	uint8_t bytes[2][64] = { { 0 } };
	struct iovec to = { bytes[0], 64 }, from = { bytes[1], 64 };
	struct recv_post recv = { .iov = &to, .iov_count = 1, .flags = POST_COMPLETE, .source = AV_NONE, .context = bytes };
	struct region *target, *other;
	struct completion done;
	struct cq_error error;
	struct bed bed;

	bed_open(&bed, 708, 2, NULL, &receive_first);
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	other = region_open(bed.party[0], 4096, 1, BED_BOTH, false, 4712);
	bed.party[0]->deaf = bed.party[1]->deaf = true;
	for (int i = 0; i < 2; i++)
		cr_assert(!ep_recv(bed.party[1]->ep, &recv));
	post_invalidating(&bed, target->key, &from);
	model_pass(bed.model, HOLD_NS);
	cr_assert_eq(cq_take(bed.party[0]->tx, &done, 1), 1);
	cr_assert_eq(cq_take(bed.party[1]->rx, &done, 1), 1);
	cr_assert(done.flags == CQ_F_INVALIDATED && done.data == target->key && done.length == 64);
	post_invalidating(&bed, target->key, &from); /* it is closed now */
	post_invalidating(&bed, other->key, &from);  /* another domain's */
	model_pass(bed.model, HOLD_NS);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(cq_take_error(bed.party[0]->tx, &error), 1);
		cr_assert_eq(error.prov_errno, REFUSAL_NO_REGION);
	}
	cr_assert_eq(cq_take(bed.party[1]->rx, &done, 1), -EAGAIN);
	bed.party[0]->posted[EP_CNTR_SEND] += 3;
	bed.party[0]->good[EP_CNTR_SEND] += 1;
	bed.party[0]->bad[EP_CNTR_SEND] += 2;
	bed.party[0]->deaf = false;
	post(job_refused(bed.party[0], bed.party[1], OP_READ, target->key, 0, 8, REFUSAL_INVALIDATED));
	model_finish(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Aligned, and by a right of its own. */
Test(sim_receive_first, atomics_are_aligned)
{
	struct party_config config = { .rules = EP_RULE_ALIGNED };
	struct region *target, *writable;
	struct job *job;
	struct bed bed;

	bed_open(&bed, 709, 2, NULL, &config);
	target = region_open(bed.party[1], 4096, 1, MR_REMOTE_ATOMIC, true, 0);
	writable = region_open(bed.party[1], 4096, 1, BED_BOTH, true, 0);
	post(job_atomic(bed.party[0], target, JOB_FETCH_SUM, 8, 8, POST_COMPLETE, 1));
	job = job_atomic(bed.party[0], target, JOB_SWAP, 68, 8, POST_COMPLETE, 1);
	job->may.good = false;
	job_may(job, REFUSAL_MISALIGNED);
	post(job);
	job = job_atomic(bed.party[0], writable, JOB_SUM, 0, 8, POST_COMPLETE, 1);
	job->may.good = false;
	job_may(job, REFUSAL_RIGHT);
	post(job);
	post(job_refused(bed.party[0], bed.party[1], OP_WRITE, target->key, region_addr(target, 0), 8, REFUSAL_RIGHT));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* What peers may do is changed while they are connected. */
Test(sim_receive_first, rights_come_and_go)
{
	struct region *target;
	uint32_t caps;
	struct bed bed;

	bed_open(&bed, 710, 2, NULL, &receive_first);
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	caps = bed.party[1]->ep->attr.caps;
	for (uint64_t i = 0; i < 3; i++) {
		struct job *job = job_rma(bed.party[0], target, OP_WRITE, i * 64, 8, POST_COMPLETE, 1);

		node_enter(bed.node[1]);
		ep_set_caps(bed.party[1]->ep, i == 1 ? caps & ~(uint32_t)EP_REMOTE_WRITE : caps);
		node_leave(bed.node[1]);
		if (i == 1) {
			job->may.good = false;
			job_may(job, REFUSAL_CAPABILITY);
		}
		post(job);
		model_pass(bed.model, HOLD_NS);
	}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* A fault plan's faults are those of other messages: refused, late or cut, each is received once or not at all. */
Test(sim_receive_first, faults_are_injected)
{
	static const struct fault_rule faults[] = {
		{ .sort = PLAN_REFUSE, .cause = REFUSAL_RESOURCE },
		{ .sort = PLAN_RNR, .times = 3 },
		{ .sort = PLAN_CUT, .before = true, .times = 2, .down_ns = 1000 },
		{ .sort = PLAN_CUT, .down_ns = 1000 },
	};

	for (size_t fault = 0; fault < sizeof(faults) / sizeof(faults[0]); fault++) {
		struct fault_plan plan = { .rules = 1, .rule = { faults[fault] } };
		struct nic_config nic = { .fault = &plan };
		unsigned refused = 0;
		struct job *jobs[12];
		struct bed bed;

		plan.rule[0].kinds = FAULT_ALL_KINDS;
		plan.rule[0].first = plan.rule[0].every = 3;
		plan.rule[0].most = UINT64_MAX;
		plan.rule[0].chance = FAULT_CERTAIN;
		bed_open(&bed, 714, 2, &nic, &receive_first);
		bed.model->counts_exact = false;
		for (int i = 0; i < 12; i++) {
			jobs[i] = message(&bed, i % 2 ? 100 : LONG, 0);
			job_may(jobs[i], plan.rule[0].cause);
			post(jobs[i]);
		}
		model_end(bed.model, BED_LIMIT_NS);
		for (int i = 0; i < 12; i++)
			refused += jobs[i]->failed;
		cr_assert_eq(refused, faults[fault].sort == PLAN_REFUSE ? 4 : 0);
		cr_assert(faults[fault].sort != PLAN_RNR || tap_count(bed.world, TAP_RNR) >= 12);
		cr_assert(faults[fault].sort != PLAN_CUT || bed.world->cables_made > 4);
		bed_close(&bed);
	}
}

/* As many as queues of hardware have: no pool ends before. */
Test(sim_receive_first, queues_are_long)
{
	enum { MANY = 32768 };
	const struct party_config config = { .rules = EP_RULE_RECEIVE_FIRST, .tx_size = MANY, .rx_size = MANY };
	struct recv_post recv = { .flags = POST_COMPLETE, .source = AV_NONE };
	struct post send = { .kind = OP_SEND };
	struct completion done;
	uintptr_t received = 0;
	struct bed bed;

	bed_open(&bed, 711, 2, NULL, &config);
	bed.party[0]->deaf = bed.party[1]->deaf = true;
	send.dest = bed.party[0]->index[1];
	for (uintptr_t i = 1; i <= MANY; i++) {
		recv.context = (void *)i; /* NOLINT(performance-no-int-to-ptr) */
		cr_assert(!ep_recv(bed.party[1]->ep, &recv));
	}
	cr_assert_eq(ep_recv(bed.party[1]->ep, &recv), -EAGAIN);
	node_cut_off(bed.node[1], true); /* none is acknowledged */
	for (int i = 0; i < MANY; i++)
		cr_assert(!ep_post(bed.party[0]->ep, &send));
	cr_assert_eq(ep_post(bed.party[0]->ep, &send), -EAGAIN);
	node_cut_off(bed.node[1], false);
	while (received < MANY) {
		cr_assert(world_step(bed.world));
		while (cq_take(bed.party[1]->rx, &done, 1) == 1)
			cr_assert_eq((uintptr_t)done.context, ++received);
	}
	bed_close(&bed);
}

/* Queue pairs that share receives: each message takes the next one, which tells whose it was. */
Test(sim_receive_first, receives_are_shared)
{
	enum { QPS = 3, PSN = 5, MTU = 1024, ROUNDS = 12 };
	const uint32_t rules = EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES;
	struct world *world = world_open(world_seed(712));
	struct end pairs[2], qp[2][QPS];
	uint8_t from[70000] = { 1 }, to[ROUNDS][70000];
	struct iovec iov = { from, sizeof(from) };
	struct completion done;
	struct srx *srx;

	world->tapped = true;
	for (int side = 0; side < 2; side++) {
		node_open(world, NULL);
		end_open_pairs(&pairs[side], world->node[side]);
	}
	cr_assert(!srx_open(world->node[1]->nic, 100, false, &srx));
	for (uint64_t i = 0; i < QPS; i++) {
		end_open_ruled(&qp[0][i], &pairs[0], rules, NULL, 0);
		end_open_ruled(&qp[1][i], &pairs[1], rules, srx, 100 + i);
		for (int side = 0; side < 2; side++) {
			end_pair(&qp[side][i], &qp[!side][i], PSN, MTU);
			end_pair_send(&qp[side][i], PSN);
		}
	}
	for (int i = 0; i < ROUNDS; i++)
		cr_assert(!srx_recv(srx, &(struct recv_post){ .iov = &(struct iovec){ to[i], sizeof(to[i]) },
							      .iov_count = 1,
							      .flags = POST_COMPLETE,
							      .source = AV_NONE,
							      .context = to[i] }));
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t which = i * i % QPS;

		cr_assert(!ep_post(qp[0][which].ep, &(struct post){ .kind = OP_SEND, .iov = &iov, .iov_count = 1 }));
		world_pass(world, SIM_SECOND / 100);
		cr_assert_eq(cq_take(qp[1][which].cq, &done, 1), 1, "message %d", (int)i);
		cr_assert(done.context == to[i] && done.source == 100 + which && done.length == sizeof(from));
		cr_assert(!memcmp(to[i], from, sizeof(from)));
	}
	cr_assert(!ep_post(qp[0][0].ep, &(struct post){ .kind = OP_SEND, .iov = &iov, .iov_count = 1 }));
	world_pass(world, SIM_SECOND / 100);
	cr_assert_eq(cq_take(qp[1][0].cq, &done, 1), -EAGAIN);
	for (int i = 0; i < QPS; i++) {
		end_close(&qp[0][i]);
		end_close(&qp[1][i]);
	}
	node_enter(world->node[1]);
	cr_assert(!srx_close(srx));
	node_leave(world->node[1]);
	for (int side = 0; side < 2; side++)
		end_close(&pairs[side]);
	world_close(world);
}

enum halt { BY_HALT, BY_RESET, BY_CLOSE, HALTS };
enum { PART = 300000, RECEIVES = 3, PAIR_TAG = 7 };

/* Two queue pairs, of which the second has posted receives, and a region. */
struct half_way {
	struct world *world;
	struct end pairs[2], qp[2];
	struct mr *mr;
};

static uint8_t part_from[PART], part_to[RECEIVES][PART], part_into[PART];

static void half_way_open(struct half_way *h)
{
	struct mr_attr attr = {
		.iov = &(struct iovec){ part_into, PART }, .iov_count = 1, .access = BED_BOTH, .key = 9, .key_bytes = 4
	};

	h->world = world_open(world_seed(713));
	h->world->tapped = true;
	h->world->weather.chunk_max = 1000;
	memset(part_from, 1, sizeof(part_from));
	memset(part_to, 0, sizeof(part_to));
	memset(part_into, 0, sizeof(part_into));
	for (int side = 0; side < 2; side++) {
		node_open(h->world, NULL);
		end_open_pairs(&h->pairs[side], h->world->node[side]);
		end_open_ruled(&h->qp[side], &h->pairs[side], EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES, NULL, PAIR_TAG);
	}
	for (int side = 0; side < 2; side++) {
		end_pair(&h->qp[side], &h->qp[!side], 5, 1024);
		end_pair_send(&h->qp[side], 5);
	}
	node_enter(h->world->node[1]);
	cr_assert(!mr_add(pd_regions(h->qp[1].pd), &attr, &h->mr));
	node_leave(h->world->node[1]);
	for (int i = 0; i < RECEIVES; i++)
		cr_assert(!ep_recv(h->qp[1].ep, &(struct recv_post){ .iov = &(struct iovec){ part_to[i], PART },
								     .iov_count = 1,
								     .flags = POST_COMPLETE,
								     .source = AV_NONE,
								     .context = part_to[i] }));
}

/* Posts a message, or a write with data, of which half comes. */
static void half_way_go(struct half_way *h, enum op_kind kind)
{
	const struct remote remote = { .length = PART, .key = 9 };
	struct iovec iov = { part_from, PART };
	struct post post = { .kind = kind, .flags = POST_COMPLETE, .iov = &iov, .iov_count = 1 };
	const uint8_t *seen = kind == OP_SEND ? part_to[0] : part_into;

	if (kind == OP_WRITE) {
		post.flags |= POST_CQ_DATA;
		post.remote = &remote;
		post.remote_count = 1;
	}
	cr_assert(!ep_post(h->qp[0].ep, &post));
	while (!seen[PART / 2])
		cr_assert(world_step(h->world));
}

static void half_way_end(struct half_way *h, enum halt how)
{
	node_enter(h->world->node[1]);
	pd_remove_region(h->qp[1].pd, h->mr);
	if (how == BY_HALT)
		ep_halt(h->qp[1].ep);
	else if (how == BY_RESET)
		ep_reset(h->qp[1].ep);
	else
		ep_close(h->qp[1].ep);
	if (how == BY_CLOSE) {
		h->qp[1].ep = NULL;
		cr_assert(!pd_close(h->qp[1].pd));
	}
	node_leave(h->world->node[1]);
}

static void half_way_close(struct half_way *h)
{
	end_close(&h->qp[0]);
	if (h->qp[1].ep)
		end_close(&h->qp[1]);
	else
		cr_assert(!cq_close(h->qp[1].cq));
	for (int side = 0; side < 2; side++)
		end_close(&h->pairs[side]);
	world_close(h->world);
}

static void end_in_the_middle(enum op_kind kind, enum halt how)
{
	struct completion done;
	struct cq_error error;
	struct half_way h;

	half_way_open(&h);
	half_way_go(&h, kind);
	half_way_end(&h, how);
	for (int i = 0; i < RECEIVES && how != BY_RESET; i++) {
		cr_assert_eq(cq_take_error(h.qp[1].cq, &error), 1, "receive %d", i);
		cr_assert(error.prov_errno == REFUSAL_CANCELLED && error.c.context == part_to[i] && error.c.source == PAIR_TAG);
	}
	world_pass(h.world, 60 * SIM_SECOND);
	cr_assert_eq(cq_take(h.qp[1].cq, &done, 1), -EAGAIN);
	cr_assert_eq(cq_take_error(h.qp[1].cq, &error), -EAGAIN);
	cr_assert_eq(cq_take_error(h.qp[0].cq, &error), 1, "the sender's op has failed");
	half_way_close(&h);
}

/* The receive that it has ends with the others, in their order; of a queue pair that is reset nobody hears. */
Test(sim_receive_first, ends_in_the_middle)
{
	for (enum halt how = 0; how < HALTS; how++) {
		end_in_the_middle(OP_SEND, how);
		end_in_the_middle(OP_WRITE, how);
	}
}
