/* SPDX-License-Identifier: BSD-2-Clause */
/* in_order.c - the ops of a queue pair complete in the order of posts, and the first failure ends both queue pairs. */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nic/endpoint/pair.h"
#include "tests/sim/harness/couple.h"
#include "tests/sim/harness/lines.h"

enum { LONG = 200 << 10 };

static void good(struct couple *c, int side, uintptr_t context)
{
	enum refusal_cause cause;
	uintptr_t seen = couple_next(c, side, &cause);

	WORLD_CHECK(c->world, seen == context && cause == REFUSAL_NONE, "op %lu (cause %d) came, and not %lu", (unsigned long)seen,
		    cause, (unsigned long)context);
}

static void bad(struct couple *c, int side, uintptr_t context, enum refusal_cause wanted)
{
	enum refusal_cause cause;
	uintptr_t seen = couple_next(c, side, &cause);

	WORLD_CHECK(c->world, seen == context && cause == wanted, "op %lu (cause %d) came, and not %lu (cause %d)",
		    (unsigned long)seen, cause, (unsigned long)context, wanted);
}

static void post(struct couple *c, int side, enum op_kind kind, uint64_t addr, size_t length, uintptr_t context)
{
	int rc = couple_post(c, side, kind, addr, length, context);

	WORLD_CHECK(c->world, !rc, "op %lu was not taken: %d", (unsigned long)context, rc);
}

static void receive(struct couple *c, int side, size_t length, uintptr_t context)
{
	WORLD_CHECK(c->world, !couple_receive(c, side, length, context), "receive %lu was not taken", (unsigned long)context);
}

/* A write is acknowledged long before the data of the read that was posted before it is here. */
Test(sim_in_order, a_read_before_a_write)
{
	struct couple c;

	couple_open(&c, 1700);
	c.world->weather.chunk_max = 1000;
	couple_meet(&c);
	post(&c, 0, OP_READ, 0, LONG, 1);
	post(&c, 0, OP_WRITE, COUPLE_SPAN - 8, 8, 2);
	post(&c, 0, OP_READ, 0, 8, 3);
	for (uintptr_t i = 1; i <= 3; i++)
		good(&c, 0, i);
	couple_close(&c);
}

/* The refused op is told when its turn has come; nothing behind it is carried out; both sides are in error. */
static void refused_script(struct couple *c)
{
	couple_meet(c);
	memset(c->memory[0], 7, LONG);
	receive(c, 0, 8, 90);
	receive(c, 1, 8, 91);
	post(c, 1, OP_READ, 0, LONG, 50);
	good(c, 1, 50);
	memset(c->memory[0], 7, LONG);
	post(c, 0, OP_WRITE, 8, 8, 1);
	post(c, 0, OP_WRITE, COUPLE_SPAN - 4, 8, 2);
	post(c, 0, OP_WRITE, 64, 8, 3);
	post(c, 0, OP_READ, 0, 8, 4);
	good(c, 0, 1);
	bad(c, 0, 2, REFUSAL_RANGE);
	for (int side = 0; side < 2; side++)
		end_await(c->world, &c->qp[side], CM_HALTED);
	WORLD_CHECK(c->world, c->qp[1].cause == REFUSAL_RANGE && c->qp[0].cause == REFUSAL_NONE, "another cause was told");
	bad(c, 0, 3, REFUSAL_CANCELLED);
	bad(c, 0, 4, REFUSAL_CANCELLED);
	bad(c, 0, 90, REFUSAL_CANCELLED);
	bad(c, 1, 91, REFUSAL_CANCELLED);
	WORLD_CHECK(c->world, c->memory[1][8] == 7 && c->memory[1][64] == 7, "not what was to be there");
}

static void check_ends(struct couple *c)
{
	/* What is posted from now on comes back. */
	post(c, 0, OP_WRITE, 0, 8, 5);
	bad(c, 0, 5, REFUSAL_CANCELLED);
	receive(c, 1, 8, 92);
	bad(c, 1, 92, REFUSAL_CANCELLED);
	post(c, 1, OP_WRITE, 0, 8, 6);
	bad(c, 1, 6, REFUSAL_CANCELLED);
	for (int side = 0; side < 2; side++)
		couple_nothing(c, side);
}

static void refused_for_good(struct couple *c)
{
	refused_script(c);
	check_ends(c);
}

Test(sim_in_order, a_refusal_ends_both)
{
	struct couple c;

	couple_open(&c, 1701);
	refused_for_good(&c);
	couple_close(&c);
}

Test(sim_in_order, a_refusal_cut_at_every_byte)
{
	couple_cut_everywhere(refused_for_good, 1702, 0);
}

static void hold(struct end *end, bool held)
{
	node_enter(end->node);
	ep_hold(end->ep, held);
	node_leave(end->node);
}

/* In SQD nothing begins, whatever a cut sends back. */
static void held_script(struct couple *c)
{
	couple_meet(c);
	memset(c->memory[0], 7, LONG);
	post(c, 0, OP_WRITE, 0, LONG, 1);
	hold(&c->qp[0], true);
	post(c, 0, OP_WRITE, LONG, 8, 2);
	end_await(c->world, &c->qp[0], CM_DRAINED);
	post(c, 1, OP_WRITE, 8, 8, 50);
	good(c, 1, 50);
	WORLD_CHECK(c->world, c->memory[1][LONG] == 0, "an op has begun that was to be held");
	hold(&c->qp[0], false);
	good(c, 0, 1);
	good(c, 0, 2);
	WORLD_CHECK(c->world, c->memory[1][LONG] == 7 && c->qp[0].told[CM_DRAINED] == 1, "not what was to be there");
}

Test(sim_in_order, held_and_let_go)
{
	couple_cut_everywhere(held_script, 1721, 0);
}

/* An op that its front end refuses, in its turn: those before it are carried out. */
Test(sim_in_order, refused_here)
{
	struct post here = { .kind = OP_WRITE, .context = (void *)2, .refused = REFUSAL_SOURCE_FAULT };
	struct couple c;

	couple_open(&c, 1703);
	couple_meet(&c);
	memset(c.memory[0], 7, 64);
	post(&c, 0, OP_READ, 64, LONG, 1);
	cr_assert_eq(ep_post(c.qp[0].ep, &here), 0);
	post(&c, 0, OP_WRITE, 8, 8, 3);
	good(&c, 0, 1);
	bad(&c, 0, 2, REFUSAL_SOURCE_FAULT);
	bad(&c, 0, 3, REFUSAL_CANCELLED);
	end_await(c.world, &c.qp[0], CM_HALTED);
	cr_assert_eq(c.memory[1][8], 0);
	/* The peer finds that nobody answers. */
	post(&c, 1, OP_WRITE, 8, 8, 4);
	post(&c, 1, OP_WRITE, 8, 8, 5);
	bad(&c, 1, 4, REFUSAL_UNREACHABLE);
	bad(&c, 1, 5, REFUSAL_CANCELLED);
	couple_close(&c);
}

/* Ends the region of a side for peers, by its own queue pair. */
static void invalidate(struct couple *c, int side, uintptr_t context)
{
	struct post here = { .kind = OP_SEND,
			     .flags = POST_COMPLETE | POST_FENCE | POST_LOCAL_INV,
			     .cq_data = c->key[side],
			     .context = (void *)context };

	WORLD_CHECK(c->world, !ep_post(c->qp[side].ep, &here), "op %lu was not taken", (unsigned long)context);
}

/* A write or read is half through when its region is invalidated: no further byte of that is touched. */
static void invalidated_half_way(enum op_kind kind, enum refusal_cause cause)
{
	struct couple c;
	uint8_t *to;

	couple_open(&c, 1707);
	c.world->weather.chunk_max = 1000;
	to = c.memory[kind == OP_WRITE];
	memset(c.memory[kind == OP_READ], 7, LONG);
	couple_meet(&c);
	post(&c, 0, kind, 0, LONG, 1);
	while (!to[LONG / 2])
		WORLD_CHECK(c.world, world_step(c.world), "the bytes do not come");
	invalidate(&c, 1, 2);
	good(&c, 1, 2);
	memset(c.memory[1], 9, LONG);
	bad(&c, 0, 1, cause);
	for (int i = 0; i < LONG; i++)
		WORLD_CHECK(c.world, c.memory[1][i] == 9 && c.memory[0][i] != 9, "byte %d was touched", i);
	couple_close(&c);
}

Test(sim_in_order, invalidated_half_way)
{
	invalidated_half_way(OP_WRITE, REFUSAL_INVALIDATED);
	invalidated_half_way(OP_READ, REFUSAL_CLOSED); /* its answer was begun, and is broken off */
}

/* Nothing of it goes to the peer, which need not be there. What is before it is carried out first. */
Test(sim_in_order, invalidates_without_a_peer)
{
	struct couple c;

	couple_open(&c, 1708);
	couple_rtr(&c, 0);
	couple_rts(&c, 0);
	couple_end(&c, 1);
	invalidate(&c, 0, 1);
	good(&c, 0, 1);
	invalidate(&c, 0, 2);
	bad(&c, 0, 2, REFUSAL_NO_REGION);
	couple_close(&c);

	couple_open(&c, 1709);
	couple_meet(&c);
	post(&c, 0, OP_READ, 0, LONG, 1);
	invalidate(&c, 0, 2);
	post(&c, 1, OP_WRITE, 0, 8, 3);
	good(&c, 0, 1);
	good(&c, 0, 2);
	couple_next(&c, 1, &(enum refusal_cause){ 0 });
	post(&c, 1, OP_WRITE, 0, 8, 4);
	bad(&c, 1, 4, REFUSAL_INVALIDATED);
	couple_close(&c);
}

/* An op that its front end refuses comes back as all others from a queue pair in error, where none is looked at. */
Test(sim_in_order, refused_in_error)
{
	struct post here = { .kind = OP_WRITE, .context = (void *)1, .refused = REFUSAL_SOURCE_FAULT };
	struct couple c;

	couple_open(&c, 1710);
	couple_meet(&c);
	node_enter(c.qp[0].node);
	ep_halt(c.qp[0].ep);
	node_leave(c.qp[0].node);
	cr_assert_eq(ep_post(c.qp[0].ep, &here), 0);
	bad(&c, 0, 1, REFUSAL_CANCELLED);
	couple_close(&c);
}

static void halt(struct end *end)
{
	node_enter(end->node);
	ep_halt(end->ep);
	node_leave(end->node);
}

static void reset(struct end *end)
{
	node_enter(end->node);
	ep_reset(end->ep);
	node_leave(end->node);
}

/* To ERR by the program, with ops and receives under way; and before there is a peer. */
Test(sim_in_order, halted)
{
	struct couple c;

	couple_open(&c, 1704);
	receive(&c, 1, 8, 90);
	halt(&c.qp[1]);
	bad(&c, 1, 90, REFUSAL_CANCELLED);
	receive(&c, 1, 8, 91);
	bad(&c, 1, 91, REFUSAL_CANCELLED);
	reset(&c.qp[1]);
	couple_meet(&c);
	receive(&c, 0, 8, 92);
	post(&c, 0, OP_READ, 0, LONG, 1);
	post(&c, 0, OP_WRITE, 0, 8, 2);
	halt(&c.qp[0]);
	bad(&c, 0, 1, REFUSAL_CANCELLED);
	bad(&c, 0, 2, REFUSAL_CANCELLED);
	bad(&c, 0, 92, REFUSAL_CANCELLED);
	cr_assert_eq(c.qp[0].told[CM_HALTED], 0); /* the program knows */
	couple_close(&c);
}

static void overran(void *arg)
{
	const struct end *end = arg;

	nic_overran(end->node->nic, end->cq);
}

/* A queue that has lost a completion brings its queue pairs to ERR, and their peers find that nobody answers. */
Test(sim_in_order, queue_overruns)
{
	struct couple c;

	couple_open(&c, 1714);
	cq_overrun_at(c.qp[0].cq, 2);
	cq_tell_overrun(c.qp[0].cq, overran, &c.qp[0]);
	couple_meet(&c);
	receive(&c, 0, 8, 90);
	for (uintptr_t i = 1; i <= 3; i++)
		post(&c, 0, OP_WRITE, 0, 8, i);
	end_await(c.world, &c.qp[0], CM_HALTED);
	cr_assert_eq(c.qp[0].cause, REFUSAL_RESOURCE);
	good(&c, 0, 1);
	good(&c, 0, 2);
	couple_nothing(&c, 0);
	post(&c, 0, OP_WRITE, 0, 8, 4);
	bad(&c, 0, 4, REFUSAL_CANCELLED);
	couple_nothing(&c, 0);
	post(&c, 1, OP_WRITE, 0, 8, 5);
	bad(&c, 1, 5, REFUSAL_UNREACHABLE);
	couple_close(&c);
}

/* Reset with all under way: nothing is told, and both go on with a new session, over and over. */
Test(sim_in_order, reset_and_paired_again)
{
	struct couple c;

	couple_open(&c, 1705);
	for (uintptr_t round = 0; round < 20; round++) {
		couple_meet(&c);
		for (int side = 0; side < 2; side++) {
			post(&c, side, OP_WRITE, 0, 8, round);
			good(&c, side, round);
			receive(&c, side, 8, 90);
			post(&c, side, OP_READ, 0, LONG, 100);
		}
		world_pass(c.world, round * 10000);
		for (int side = 0; side < 2; side++)
			reset(&c.qp[side]);
		for (int side = 0; side < 2; side++)
			while (cq_ready(c.qp[side].cq)) /* completed before the reset */
				good(&c, side, 100);
	}
	couple_nothing(&c, 0);
	couple_nothing(&c, 1);
	couple_close(&c);
}

/* The peer has left. As on hardware the first op fails when its retries are spent, and not at once: a program may end meanwhile.
 * The others are cancelled. */
Test(sim_in_order, left)
{
	struct couple c;

	couple_open(&c, 1706);
	couple_meet(&c);
	post(&c, 0, OP_WRITE, 0, 8, 1);
	good(&c, 0, 1);
	couple_end(&c, 1);
	post(&c, 0, OP_READ, 0, 8, 2);
	post(&c, 0, OP_WRITE, 0, 8, 3);
	post(&c, 0, OP_READ, 0, 8, 4);
	bad(&c, 0, 2, REFUSAL_UNREACHABLE);
	bad(&c, 0, 3, REFUSAL_CANCELLED);
	bad(&c, 0, 4, REFUSAL_CANCELLED);
	end_await(c.world, &c.qp[0], CM_HALTED);
	couple_close(&c);
}

/* All kinds at random from both sides, in bad weather: each op completes once, in the order of posts. With an op somewhere that is
 * refused, what was posted before it is good, and what was posted later is cancelled. */
static void storm(uint64_t seed, unsigned wrong)
{
	enum { OPS = 120 };
	struct couple c;
	unsigned told[2] = { 0, 0 };

	couple_open(&c, seed);
	c.world->weather.cut_mean = 3000;
	c.world->weather.cuts_left = 10;
	c.world->weather.chunk_max = 700;
	couple_meet(&c);
	for (unsigned i = 0; i < OPS; i++)
		for (int side = 0; side < 2; side++) {
			static const enum op_kind kinds[] = { OP_WRITE, OP_READ, OP_WRITE, OP_READ };
			size_t length = rnd_below(&c.world->rnd, 8) ? rnd_below(&c.world->rnd, 64)
								    : rnd_below(&c.world->rnd, 20000);
			bool breaks = side == 0 && i == wrong;

			post(&c, side, kinds[rnd_below(&c.world->rnd, 4)], breaks ? COUPLE_SPAN : 0, breaks ? 1 : length, i);
			if (!rnd_below(&c.world->rnd, 4))
				world_pass(c.world, rnd_below(&c.world->rnd, 200000));
		}
	for (int side = 0; side < 2; side++)
		for (bool over = false; told[side] < OPS; told[side]++) {
			enum refusal_cause cause;
			uintptr_t seen = couple_next(&c, side, &cause);

			WORLD_CHECK(c.world, seen == told[side], "op %lu came, and not %u", (unsigned long)seen, told[side]);
			if (side == 0 && seen <= wrong)
				WORLD_CHECK(c.world, cause == (seen == wrong ? REFUSAL_RANGE : REFUSAL_NONE), "op %lu: cause %d",
					    (unsigned long)seen, cause);
			over |= cause != REFUSAL_NONE;
			WORLD_CHECK(c.world, !over || cause != REFUSAL_NONE, "op %lu is good, behind one that failed",
				    (unsigned long)seen);
		}
	couple_close(&c);
}

Test(sim_in_order, storms)
{
	for (uint64_t seed = 1710; seed < 1770; seed++)
		storm(seed, 1000);
}

Test(sim_in_order, storms_with_a_refusal)
{
	for (uint64_t seed = 1800; seed < 1860; seed++)
		storm(seed, (unsigned)(seed % 120));
}
