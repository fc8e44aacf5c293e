/* SPDX-License-Identifier: BSD-2-Clause */
/* xrc.c - a queue pair whose requests name the receive context that they are for (ep_attr.xrc, WIRE-164, WIRE-165): each is done
 * once, there, whatever is cut. */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/endpoint/pair.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/transport/session.h"
#include "tests/sim/harness/couple.h"
#include "tests/sim/harness/lines.h"

enum { RULES = EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES, LONG = 70 << 10 };

/* Side 1 of a couple, with two contexts of one domain; each has a domain of regions with the couple's memory, and a queue. */
static struct xrc *xrc;
static struct context {
	struct srx *srx;
	struct pd *pd;
	struct cq *cq;
	struct mr *mr;
	uint64_t key;
} contexts[2];

static void context_open(struct couple *c, int i)
{
	struct iovec iov = { c->memory[1], COUPLE_SPAN };
	struct mr_attr attr = {
		.iov = &iov, .iov_count = 1, .access = MR_REMOTE_READ | MR_REMOTE_WRITE, .provider_key = true, .key_bytes = 4
	};
	struct context *of = &contexts[i];
	struct node *node = c->qp[1].node;

	cr_assert(!cq_open(&of->cq, 0, NULL, NULL) && !pd_open(node->nic, &of->pd));
	node_enter(node);
	cr_assert(!srx_open(node->nic, 0, false, &of->srx));
	srx_offer(of->srx, &(struct srx_offer){ .xrc = xrc, .number = 10 + (uint32_t)i, .cq = of->cq, .pd = of->pd });
	cr_assert(!mr_add(pd_regions(of->pd), &attr, &of->mr));
	of->key = of->mr->key;
	node_leave(node);
}

static void context_close(struct couple *c, int i)
{
	struct context *of = &contexts[i];

	node_enter(c->qp[1].node);
	cr_assert(!srx_close(of->srx));
	pd_remove_region(of->pd, of->mr);
	cr_assert(!pd_close(of->pd));
	node_leave(c->qp[1].node);
	cr_assert(!cq_close(of->cq));
}

static void open_xrc(struct couple *c, uint64_t seed)
{
	const uint32_t rules[2] = { RULES | EP_RULE_NAMES_SRX, RULES };

	couple_open_ruled(c, seed, rules, NULL);
	couple_end(c, 1);
	c->memory[1] = calloc(1, COUPLE_SPAN);
	cr_assert(c->memory[1] && !xrc_open(c->qp[1].node->nic, &xrc));
	end_open_xrc(&c->qp[1], &c->pairs[1], RULES, xrc);
	for (int i = 0; i < 2; i++)
		context_open(c, i);
	couple_meet(c);
}

static void close_xrc(struct couple *c)
{
	end_close(&c->qp[1]);
	for (int i = 0; i < 2; i++)
		context_close(c, i);
	node_enter(c->qp[1].node);
	xrc_close(xrc);
	node_leave(c->qp[1].node);
	free(c->memory[1]);
	couple_close(c);
}

static void post(struct couple *c, enum op_kind kind, int to, uint64_t at, size_t length, uintptr_t context)
{
	struct iovec here = { c->memory[0], length };
	struct remote there = { .addr = at, .length = length, .key = to < 2 ? contexts[to].key : 0 };

	WORLD_CHECK(c->world,
		    !ep_post(c->qp[0].ep, &(struct post){ .kind = kind,
							  .dest = 10 + (uint64_t)to,
							  .flags = POST_COMPLETE,
							  .iov = &here,
							  .iov_count = 1,
							  .remote = &there,
							  .remote_count = kind != OP_SEND,
							  .context = (void *)context }),
		    "op %lu was not taken", (unsigned long)context);
}

static void receive(struct couple *c, int at, size_t length, uintptr_t context)
{
	struct iovec here = { c->memory[1], length };

	WORLD_CHECK(c->world,
		    !srx_recv(contexts[at].srx, &(struct recv_post){ .iov = &here,
								     .iov_count = 1,
								     .flags = POST_COMPLETE,
								     .source = AV_NONE,
								     .context = (void *)context }),
		    "receive %lu was not taken", (unsigned long)context);
}

static void ends(struct couple *c, uintptr_t context, enum refusal_cause wanted)
{
	enum refusal_cause cause;
	uintptr_t seen = couple_next(c, 0, &cause);

	WORLD_CHECK(c->world, seen == context && cause == wanted, "op %lu (cause %d) came, and not %lu (cause %d)",
		    (unsigned long)seen, cause, (unsigned long)context, wanted);
}

static bool has_completion(void *arg)
{
	return cq_ready(arg);
}

static void received(struct couple *c, int at, uintptr_t context)
{
	struct completion done;

	WORLD_CHECK(c->world, world_run(c->world, has_completion, contexts[at].cq, 60 * SIM_SECOND), "nothing is received");
	WORLD_CHECK(c->world, cq_take(contexts[at].cq, &done, 1) == 1 && done.context == (void *)context, "another receive came");
}

static void nothing_else(struct couple *c)
{
	couple_nothing(c, 0);
	for (int i = 0; i < 2; i++)
		WORLD_CHECK(c->world, !cq_ready(contexts[i].cq), "context %d has received more", i);
}

static void script(struct couple *c)
{
	memset(c->memory[0], 7, LONG);
	receive(c, 0, LONG, 50);
	receive(c, 1, 8, 51);
	receive(c, 0, 8, 52);
	post(c, OP_SEND, 0, 0, LONG, 1);
	post(c, OP_SEND, 1, 0, 8, 2);
	post(c, OP_WRITE, 1, LONG, 8, 3);
	post(c, OP_READ, 0, LONG, 8, 4);
	post(c, OP_READ, 1, 0, LONG, 5);
	post(c, OP_SEND, 0, 0, 8, 6);
	post(c, OP_WRITE, 0, LONG + 8, 8, 7);
	for (uintptr_t i = 1; i <= 7; i++)
		ends(c, i, REFUSAL_NONE);
	received(c, 0, 50);
	received(c, 1, 51);
	received(c, 0, 52);
	WORLD_CHECK(c->world, c->memory[1][LONG - 1] == 7 && c->memory[1][LONG] == 7 && c->memory[1][LONG + 8] == 7,
		    "not all came");
	nothing_else(c);
}

Test(sim_xrc, each_has_its_own)
{
	struct couple c;

	open_xrc(&c, 2000);
	script(&c);
	close_xrc(&c);
}

Test(sim_xrc, cut_at_every_byte)
{
	uint64_t total[2];
	struct couple c;

	open_xrc(&c, 2001);
	script(&c);
	for (uint8_t dir = 0; dir < 2; dir++)
		total[dir] = tap_find(c.world, 0, dir)->offset;
	close_xrc(&c);
	for (uint8_t dir = 0; dir < 2; dir++)
		for (uint64_t at = 0; at < total[dir]; at += at < 700 || at + 700 > total[dir] ? 1 : 211) {
			open_xrc(&c, 2001);
			world_fault(c.world, FAULT_CUT, 0, dir, at);
			script(&c);
			close_xrc(&c);
		}
}

/* A read of the one is answered while the payload of a write to the other arrives. */
Test(sim_xrc, answers_while_another_context_has_its_turn)
{
	struct couple c;

	open_xrc(&c, 2004);
	c.world->weather.chunk_max = 700;
	memset(c.memory[0], 7, LONG);
	for (uintptr_t i = 1; i <= 20; i++) {
		post(&c, OP_READ, 1, COUPLE_SPAN - LONG, LONG, 2 * i);
		post(&c, OP_WRITE, 0, 0, LONG, 2 * i + 1);
	}
	for (uintptr_t i = 1; i <= 20; i++) {
		ends(&c, 2 * i, REFUSAL_NONE);
		ends(&c, 2 * i + 1, REFUSAL_NONE);
	}
	close_xrc(&c);
}

/* WIRE-164. What the first segment named is taken for another one. */
Test(sim_xrc, a_message_names_two_contexts)
{
	struct responder *rsp;
	struct couple c;

	open_xrc(&c, 2104);
	rsp = &c.qp[1].ep->cm.peer->rsp;
	receive(&c, 0, COUPLE_SPAN, 50);
	receive(&c, 1, COUPLE_SPAN, 51);
	post(&c, OP_SEND, 0, 0, COUPLE_SPAN, 1);
	while (!rsp->rsend.open)
		cr_assert(world_step(c.world));
	cr_assert_eq(rsp->named, 10);
	rsp->named = 11;
	ends(&c, 1, REFUSAL_PROTOCOL);
	cr_assert(!cq_ready(contexts[1].cq));
	close_xrc(&c);
}

/* A region of another context's domain, and a context that is not there. */
Test(sim_xrc, refused)
{
	static const enum refusal_cause causes[] = { REFUSAL_UNKNOWN_KEY, REFUSAL_NO_SRX };

	for (int i = 0; i < 2; i++) {
		struct couple c;

		open_xrc(&c, 2002);
		contexts[0].key = contexts[1].key + 1;
		post(&c, i ? OP_SEND : OP_WRITE, i ? 5 : 0, 0, 8, 1);
		ends(&c, 1, causes[i]);
		end_await(c.world, &c.qp[1], CM_HALTED);
		nothing_else(&c);
		close_xrc(&c);
	}
}

/* A context that ends while a message of many segments arrives there. */
Test(sim_xrc, a_context_goes_in_the_middle)
{
	struct couple c;

	open_xrc(&c, 2003);
	c.world->weather.chunk_max = 5000;
	memset(c.memory[0], 7, LONG);
	receive(&c, 0, LONG, 50);
	post(&c, OP_SEND, 0, 0, LONG, 1);
	while (!c.memory[1][0])
		world_step(c.world);
	context_close(&c, 0);
	ends(&c, 1, REFUSAL_RECEIVE_BUFFER);
	context_open(&c, 0);
	close_xrc(&c);
}
