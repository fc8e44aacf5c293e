/* SPDX-License-Identifier: BSD-2-Clause */
/* reach.c - receives of which a region is closed, or which name none that allows it, wait for their turn (POST_REACH): the message
 * that needs those bytes fails, and no other. */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nic/device/ep.h"
#include "tests/sim/harness/ends.h"

enum { PART = 60000, PSN = 5, MTU = 1024, TAG = 7, TARGET = 9 };

/* Two queue pairs. The second has two regions, a buffer in each, and one that its peer writes to. It may share its receives with
 * another, which has a peer, too. */
struct stage {
	struct world *world;
	struct end pairs[2], qp[2], other[2];
	struct srx *srx; /* NULL: it has receives of its own */
	struct mr *mr[2], *target;
};

static uint8_t from[2 * PART], into[2][PART], written[PART];

static struct mr *region(struct stage *s, void *bytes, size_t length, uint64_t key)
{
	struct iovec iov = { bytes, length };
	struct mr_attr attr = {
		.iov = &iov, .iov_count = 1, .access = MR_RECV | MR_REMOTE_WRITE, .key = key, .key_bytes = 4, .provider_key = !key
	};
	struct mr *mr;

	node_enter(s->qp[1].node);
	cr_assert(!mr_add(pd_regions(s->qp[1].pd), &attr, &mr));
	node_leave(s->qp[1].node);
	return mr;
}

static void shut(struct stage *s, struct mr **mr)
{
	node_enter(s->qp[1].node);
	pd_remove_region(s->qp[1].pd, *mr);
	node_leave(s->qp[1].node);
	*mr = NULL;
}

static void pair_open(struct stage *s, struct end qp[2], struct srx *srx)
{
	for (int side = 0; side < 2; side++)
		end_open_ruled(&qp[side], &s->pairs[side], EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES, side ? srx : NULL, TAG);
	for (int side = 0; side < 2; side++) {
		end_pair(&qp[side], &qp[!side], PSN, MTU);
		end_pair_send(&qp[side], PSN);
	}
}

static void stage_open(struct stage *s, uint64_t seed, bool shared)
{
	memset(s, 0, sizeof(*s));
	memset(into, 0, sizeof(into));
	memset(written, 0, sizeof(written));
	memset(from, 1, sizeof(from));
	s->world = world_open(world_seed(seed));
	s->world->tapped = true;
	s->world->weather.chunk_max = 1000;
	for (int side = 0; side < 2; side++) {
		node_open(s->world, NULL);
		end_open_pairs(&s->pairs[side], s->world->node[side]);
	}
	if (shared)
		cr_assert(!srx_open(s->world->node[1]->nic, 10, false, &s->srx));
	pair_open(s, s->qp, s->srx);
	if (shared)
		pair_open(s, s->other, s->srx);
	for (int i = 0; i < 2; i++)
		s->mr[i] = region(s, into[i], PART, 0);
	s->target = region(s, written, PART, TARGET);
}

static void stage_close(struct stage *s)
{
	for (int i = 0; i < 2; i++)
		if (s->mr[i])
			shut(s, &s->mr[i]);
	if (s->target)
		shut(s, &s->target);
	for (int side = 0; side < 2; side++) {
		end_close(&s->qp[side]);
		if (s->srx)
			end_close(&s->other[side]);
	}
	node_enter(s->world->node[1]);
	cr_assert(!s->srx || !srx_close(s->srx));
	node_leave(s->world->node[1]);
	for (int side = 0; side < 2; side++)
		end_close(&s->pairs[side]);
	world_close(s->world);
}

/* A receive into both buffers. */
static void receive(struct stage *s, uint64_t reach, uintptr_t context)
{
	struct iovec iov[] = { { into[0], PART }, { into[1], PART } };
	void *desc[] = { (void *)(uintptr_t)s->mr[0]->desc, (void *)(uintptr_t)s->mr[1]->desc };
	struct recv_post post = { .iov = iov,
				  .iov_count = 2,
				  .desc = desc,
				  .flags = POST_COMPLETE | POST_REACH,
				  .source = AV_NONE,
				  .reach = reach,
				  .context = (void *)context };

	cr_assert(!(s->srx ? srx_recv(s->srx, &post) : ep_recv(s->qp[1].ep, &post)));
}

static void post_at(struct end *end, enum op_kind kind, size_t length)
{
	struct iovec iov = { from, length };
	struct remote remote = { .length = length, .key = TARGET };
	struct post post = { .kind = kind,
			     .flags = POST_COMPLETE | (kind == OP_WRITE ? POST_CQ_DATA : 0),
			     .iov = &iov,
			     .iov_count = 1,
			     .remote = &remote,
			     .remote_count = kind == OP_WRITE };

	cr_assert(!ep_post(end->ep, &post));
}

static void post(struct stage *s, enum op_kind kind, size_t length)
{
	post_at(&s->qp[0], kind, length);
}

static bool has_entry(void *cq)
{
	return cq_ready(cq);
}

/* The next entry: its cause, and its receive, if it is one. */
static void ends_at(struct stage *s, struct end *end, enum refusal_cause cause, uintptr_t context)
{
	struct completion done = { 0 };
	struct cq_error error = { 0 };

	WORLD_CHECK(s->world, world_run(s->world, has_entry, end->cq, 60 * SIM_SECOND), "nothing ends");
	if (cq_take(end->cq, &done, 1) != 1) {
		cr_assert_eq(cq_take_error(end->cq, &error), 1);
		done = error.c;
	}
	WORLD_CHECK(s->world, error.prov_errno == (int)cause && (uintptr_t)done.context == context,
		    "cause %d and receive %lu, and not %d and %lu", error.prov_errno, (unsigned long)done.context, cause,
		    (unsigned long)context);
}

static void ends(struct stage *s, int side, enum refusal_cause cause, uintptr_t context)
{
	ends_at(s, &s->qp[side], cause, context);
}

/* Messages as long as the first buffer do not need the second one's region. */
Test(sim_reach, of_a_closed_region)
{
	struct stage s;

	stage_open(&s, 1900, false);
	for (uintptr_t i = 1; i <= 3; i++)
		receive(&s, UINT64_MAX, i);
	world_pass(s.world, SIM_SECOND);
	shut(&s, &s.mr[1]);
	post(&s, OP_SEND, PART);
	ends(&s, 1, REFUSAL_NONE, 1);
	ends(&s, 0, REFUSAL_NONE, 0);
	post(&s, OP_SEND, PART + 1);
	ends(&s, 1, REFUSAL_LOCAL_CLOSED, 2);
	ends(&s, 0, REFUSAL_RECEIVE_BUFFER, 0);
	ends(&s, 1, REFUSAL_CANCELLED, 3);
	for (int i = 0; i < PART; i++)
		cr_assert_eq(into[1][i], 0);
	stage_close(&s);
}

/* What the front end says that is allowed, when it is posted. */
Test(sim_reach, of_what_is_allowed)
{
	struct stage s;

	stage_open(&s, 1901, false);
	receive(&s, PART + 100, 1);
	receive(&s, PART + 100, 2);
	receive(&s, 0, 3);
	post(&s, OP_SEND, PART + 100);
	ends(&s, 1, REFUSAL_NONE, 1);
	post(&s, OP_WRITE, 100);
	ends(&s, 1, REFUSAL_NONE, 2);
	post(&s, OP_SEND, 0);
	ends(&s, 1, REFUSAL_NONE, 3);
	receive(&s, PART + 100, 4);
	post(&s, OP_SEND, PART + 101);
	ends(&s, 1, REFUSAL_RECEIVE_BUFFER, 4);
	stage_close(&s);
}

/* A message is half received. */
static void closed_half_way(size_t length, enum refusal_cause at_target, enum refusal_cause at_sender)
{
	struct stage s;

	stage_open(&s, 1902, false);
	receive(&s, UINT64_MAX, 1);
	post(&s, OP_SEND, length);
	while (!into[0][PART / 2])
		cr_assert(world_step(s.world));
	shut(&s, &s.mr[1]);
	ends(&s, 1, at_target, 1);
	ends(&s, 0, at_sender, 0);
	for (int i = 0; i < PART; i++)
		cr_assert_eq(into[1][i], 0);
	stage_close(&s);
}

Test(sim_reach, closed_half_way)
{
	closed_half_way(PART, REFUSAL_NONE, REFUSAL_NONE);
	closed_half_way(2 * PART, REFUSAL_LOCAL_CLOSED, REFUSAL_RECEIVE_BUFFER);
}

/* A write with data is half through, and so has a receive, when the region of that is closed. */
static void close_under_write(struct stage *s, bool shared)
{
	stage_open(s, 1903, shared);
	receive(s, UINT64_MAX, 1);
	receive(s, UINT64_MAX, 2);
	post(s, OP_WRITE, PART);
	while (!written[PART / 2])
		cr_assert(world_step(s->world));
	shut(s, &s->mr[0]);
}

/* It leaves the buffers alone. */
Test(sim_reach, closed_under_a_write)
{
	struct stage s;

	close_under_write(&s, false);
	ends(&s, 1, REFUSAL_NONE, 1);
	post(&s, OP_SEND, 1);
	ends(&s, 1, REFUSAL_LOCAL_CLOSED, 2);
	stage_close(&s);
}

/* It is refused, and gives the receive back: that is the next message's. */
Test(sim_reach, closed_and_given_back)
{
	struct stage s;

	close_under_write(&s, true);
	shut(&s, &s.target);
	ends(&s, 0, REFUSAL_CLOSED, 0);
	end_await(s.world, &s.qp[1], CM_HALTED);
	post_at(&s.other[0], OP_SEND, 1);
	ends_at(&s, &s.other[1], REFUSAL_LOCAL_CLOSED, 1);
	ends_at(&s, &s.other[0], REFUSAL_RECEIVE_BUFFER, 0);
	stage_close(&s);
}
