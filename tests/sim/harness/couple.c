/* SPDX-License-Identifier: BSD-2-Clause */
/* couple.c - see couple.h. */
#include "tests/sim/harness/couple.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS (60 * SIM_SECOND) /* more than any retry budget */

static void region_add(struct couple *c, int side)
{
	struct iovec iov = { NULL, COUPLE_SPAN };
	struct mr_attr attr = {
		.iov = &iov, .iov_count = 1, .access = MR_REMOTE_READ | MR_REMOTE_WRITE, .provider_key = true, .key_bytes = 4
	};
	struct end *qp = &c->qp[side];
	int rc;

	c->memory[side] = iov.iov_base = calloc(1, COUPLE_SPAN);
	assert(iov.iov_base);
	node_enter(qp->node);
	rc = mr_add(pd_regions(qp->pd), &attr, &c->mr[side]);
	c->key[side] = c->mr[side]->key;
	node_leave(qp->node);
	WORLD_CHECK(c->world, !rc, "mr_add: %d", rc);
}

void couple_open_ruled(struct couple *c, uint64_t seed, const uint32_t rules[2], const struct fault_plan *plan)
{
	struct nic_config config = { .fault = plan };

	memset(c, 0, sizeof(*c));
	c->world = world_open(world_seed(seed));
	c->world->tapped = true;
	for (int i = 0; i < 2; i++) {
		node_open(c->world, plan && !i ? &config : NULL);
		end_open_pairs(&c->pairs[i], c->world->node[i]);
		if (rules)
			end_open_ruled(&c->qp[i], &c->pairs[i], rules[i], NULL, 0);
		else
			end_open_pair(&c->qp[i], &c->pairs[i]);
		region_add(c, i);
	}
}

void couple_open(struct couple *c, uint64_t seed)
{
	couple_open_ruled(c, seed, NULL, NULL);
}

void couple_end(struct couple *c, int side)
{
	struct end *qp = &c->qp[side];

	if (!qp->ep)
		return;
	node_enter(qp->node);
	pd_remove_region(qp->pd, c->mr[side]);
	node_leave(qp->node);
	end_close(qp);
	free(c->memory[side]);
}

void couple_close(struct couple *c)
{
	couple_end(c, 0);
	couple_end(c, 1);
	for (int i = 0; i < 2; i++)
		end_close(&c->pairs[i]);
	world_close(c->world);
}

void couple_rtr(struct couple *c, int side)
{
	end_pair(&c->qp[side], &c->qp[!side], side ? PSN_A : PSN_B, MTU);
}

void couple_rts(struct couple *c, int side)
{
	end_pair_send(&c->qp[side], side ? PSN_B : PSN_A);
}

void couple_meet(struct couple *c)
{
	for (int side = 0; side < 2; side++) {
		couple_rtr(c, side);
		couple_rts(c, side);
	}
}

int couple_post(struct couple *c, int side, enum op_kind kind, uint64_t addr, size_t length, uintptr_t context)
{
	struct iovec here = { c->memory[side], length };
	struct remote there = { .addr = addr, .length = length, .key = c->key[!side] };
	struct post post = { .kind = kind,
			     .flags = POST_COMPLETE,
			     .iov = &here,
			     .iov_count = 1,
			     .remote = &there,
			     .remote_count = kind != OP_SEND,
			     .context = (void *)context };

	return ep_post(c->qp[side].ep, &post);
}

int couple_receive(struct couple *c, int side, size_t length, uintptr_t context)
{
	struct iovec here = { c->memory[side], length };
	struct recv_post post = {
		.iov = &here, .iov_count = 1, .flags = POST_COMPLETE, .source = AV_NONE, .context = (void *)context
	};

	return ep_recv(c->qp[side].ep, &post);
}

static bool has_completion(void *arg)
{
	return cq_ready(arg);
}

uintptr_t couple_next(struct couple *c, int side, enum refusal_cause *cause)
{
	struct completion good;
	struct cq_error bad;

	WORLD_CHECK(c->world, world_run(c->world, has_completion, c->qp[side].cq, PATIENCE_NS), "nothing completes");
	*cause = REFUSAL_NONE;
	if (cq_take(c->qp[side].cq, &good, 1) == 1)
		return (uintptr_t)good.context;
	WORLD_CHECK(c->world, cq_take_error(c->qp[side].cq, &bad) == 1, "an entry that is neither good nor bad");
	*cause = (enum refusal_cause)bad.prov_errno;
	return (uintptr_t)bad.c.context;
}

void couple_nothing(struct couple *c, int side)
{
	WORLD_CHECK(c->world, !world_run(c->world, has_completion, c->qp[side].cq, SIM_SECOND), "something completes");
}

static void cut_open(struct couple *c, uint64_t seed, uint32_t chunk_max)
{
	couple_open(c, seed);
	if (chunk_max)
		c->world->weather.chunk_max = chunk_max;
}

void couple_cut_everywhere(void (*script)(struct couple *couple), uint64_t seed, uint32_t chunk_max)
{
	enum { NEAR = 2000, STRIDE = 1009 };
	uint64_t total[2];
	struct couple c;

	cut_open(&c, seed, chunk_max);
	script(&c);
	for (uint8_t dir = 0; dir < 2; dir++) {
		total[dir] = tap_find(c.world, 0, dir)->offset;
		WORLD_CHECK(c.world, total[dir] > sizeof(struct wire_head) + sizeof(struct wire_hello), "nothing was sent");
	}
	couple_close(&c);
	for (uint8_t dir = 0; dir < 2; dir++)
		for (uint64_t at = 0; at <= total[dir]; at += at < NEAR || at + NEAR > total[dir] ? 1 : STRIDE) {
			cut_open(&c, seed, chunk_max);
			world_fault(c.world, FAULT_CUT, 0, dir, at);
			script(&c);
			WORLD_CHECK(c.world, c.world->fault[0].spent, "the cut did not happen");
			couple_close(&c);
		}
}
