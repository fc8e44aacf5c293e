/* SPDX-License-Identifier: BSD-2-Clause */
/* windows.c - memory windows that are bound, and bound anew, while a peer writes through them; and cuts. Side 1 binds, side 0
 * writes, but where side 0 has a fault plan. */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/regions/mr_window.h"
#include "tests/sim/harness/couple.h"

enum { LONG = 100 << 10, SHORT = 64, CHUNK = 1000 };

/* A window of a side, and the region to which it is bound: all memory of its side. */
struct glass {
	struct couple *c;
	int side;
	struct mr *mr;
	uint32_t key;
};

static void glass_open_at(struct glass *glass, struct couple *c, int side, uint32_t access)
{
	struct iovec iov = { c->memory[side], COUPLE_SPAN };
	struct mr_attr attr = { .iov = &iov,
				.iov_count = 1,
				.access = access,
				.provider_key = true,
				.key_bytes = MR_WINDOW_KEY_BYTES,
				.virtual_addr = true,
				.windows = true,
				.names = pd_windows(c->qp[side].pd) };
	int rc;

	*glass = (struct glass){ .c = c, .side = side };
	node_enter(c->qp[side].node);
	rc = pd_open_window(c->qp[side].pd, false, &glass->key);
	if (!rc)
		rc = mr_add(pd_regions(c->qp[side].pd), &attr, &glass->mr);
	node_leave(c->qp[side].node);
	WORLD_CHECK(c->world, !rc, "no window: %d", rc);
}

static void glass_open(struct glass *glass, struct couple *c, uint32_t access)
{
	glass_open_at(glass, c, 1, access);
}

static void glass_close(struct glass *glass)
{
	node_enter(glass->c->qp[glass->side].node);
	pd_close_window(glass->c->qp[glass->side].pd, glass->key);
	pd_remove_region(glass->c->qp[glass->side].pd, glass->mr);
	node_leave(glass->c->qp[glass->side].node);
}

/* The next bind: peers reach `length` bytes from 0 on, by glass->key. */
static void glass_bind(struct glass *glass, uint64_t length, uint32_t access, uintptr_t context)
{
	struct mr_bind bind = { .key = (glass->key & ~0xffu) | ((glass->key + 1) & 0xff),
				.access = access,
				.desc = glass->mr->desc,
				.addr = (uintptr_t)glass->c->memory[glass->side],
				.length = length,
				.zero_based = true };
	struct iovec payload = { &bind, sizeof(bind) };
	struct post post = { .kind = OP_SEND,
			     .flags = POST_COMPLETE | POST_FENCE | POST_BIND | POST_INJECT,
			     .iov = &payload,
			     .iov_count = 1,
			     .context = (void *)context };

	glass->key = bind.key;
	WORLD_CHECK(glass->c->world, !ep_post(glass->c->qp[glass->side].ep, &post), "bind %lu was not taken",
		    (unsigned long)context);
}

static void write_by(struct couple *c, uint32_t key, size_t length, uintptr_t context)
{
	c->key[1] = key;
	WORLD_CHECK(c->world, !couple_post(c, 0, OP_WRITE, 0, length, context), "write %lu was not taken", (unsigned long)context);
}

static enum refusal_cause ends(struct couple *c, int side, uintptr_t context)
{
	enum refusal_cause cause;
	uintptr_t seen = couple_next(c, side, &cause);

	WORLD_CHECK(c->world, seen == context, "op %lu (cause %d) came, and not %lu", (unsigned long)seen, cause,
		    (unsigned long)context);
	return cause;
}

static void ends_so(struct couple *c, int side, uintptr_t context, enum refusal_cause wanted)
{
	enum refusal_cause cause = ends(c, side, context);

	WORLD_CHECK(c->world, cause == wanted, "op %lu ended with cause %d, and not %d", (unsigned long)context, cause, wanted);
}

/* Once a bind has completed, no byte comes by the key before it, wherever the connection is cut. */
static void bound_anew_script(struct couple *c)
{
	enum refusal_cause cause;
	struct glass glass;

	glass_open(&glass, c, MR_RECV);
	couple_meet(c);
	memset(c->memory[0], 7, LONG);
	glass_bind(&glass, LONG, MR_REMOTE_WRITE, 50);
	ends_so(c, 1, 50, REFUSAL_NONE);
	write_by(c, glass.key, SHORT, 1);
	ends_so(c, 0, 1, REFUSAL_NONE);
	WORLD_CHECK(c->world, c->memory[1][SHORT - 1] == 7 && !c->memory[1][SHORT], "not what was written");
	write_by(c, glass.key, LONG, 2);
	while (!c->memory[1][LONG / 2])
		WORLD_CHECK(c->world, world_step(c->world), "the bytes do not come");
	glass_bind(&glass, LONG, MR_REMOTE_WRITE, 51);
	ends_so(c, 1, 51, REFUSAL_NONE);
	memset(c->memory[1], 9, LONG);
	cause = ends(c, 0, 2);
	WORLD_CHECK(c->world, cause == REFUSAL_CLOSED || cause == REFUSAL_NONE, "the write ended with cause %d", cause);
	for (int i = 0; i < LONG; i++)
		WORLD_CHECK(c->world, c->memory[1][i] == 9, "byte %d was written after the bind", i);
	glass_close(&glass);
}

Test(sim_windows, bound_anew_under_a_write)
{
	struct couple c;

	couple_open(&c, 1750);
	c.world->weather.chunk_max = CHUNK;
	bound_anew_script(&c);
	couple_close(&c);
}

Test(sim_windows, bound_anew_and_cut_at_every_byte)
{
	couple_cut_everywhere(bound_anew_script, 1751, CHUNK);
}

/* Each is bound in its turn: the message between two writes tells nothing yet, and a cut executes no bind twice. */
static void in_turn_script(struct couple *c)
{
	struct glass glass;
	uint32_t first;

	glass_open(&glass, c, MR_RECV);
	couple_meet(c);
	memset(c->memory[0], 7, SHORT);
	WORLD_CHECK(c->world, !couple_receive(c, 0, SHORT, 90), "no receive");
	WORLD_CHECK(c->world, !couple_post(c, 1, OP_SEND, 0, SHORT, 50), "no message");
	glass_bind(&glass, SHORT, MR_REMOTE_WRITE, 51);
	first = glass.key;
	glass_bind(&glass, SHORT, MR_REMOTE_WRITE, 52);
	for (uintptr_t i = 50; i <= 52; i++)
		ends_so(c, 1, i, REFUSAL_NONE);
	ends_so(c, 0, 90, REFUSAL_NONE);
	write_by(c, glass.key, SHORT, 1);
	ends_so(c, 0, 1, REFUSAL_NONE);
	write_by(c, first, SHORT, 2);
	ends_so(c, 0, 2, REFUSAL_CLOSED);
	glass_close(&glass);
}

Test(sim_windows, bound_in_turn)
{
	struct couple c;

	couple_open(&c, 1752);
	in_turn_script(&c);
	couple_close(&c);
}

Test(sim_windows, bound_in_turn_and_cut_at_every_byte)
{
	couple_cut_everywhere(in_turn_script, 1753, 0);
}

/* A bind that is refused fails as any op of a queue pair does: what is behind it is flushed, and the window stays as it was. */
Test(sim_windows, refused)
{
	struct couple c;
	struct glass glass;
	uint32_t first;

	couple_open(&c, 1754);
	glass_open(&glass, &c, MR_SEND);
	couple_meet(&c);
	glass_bind(&glass, SHORT, MR_REMOTE_READ, 50);
	first = glass.key;
	ends_so(&c, 1, 50, REFUSAL_NONE);
	c.key[1] = first;
	cr_assert_eq(couple_post(&c, 0, OP_READ, 0, SHORT, 1), 0);
	ends_so(&c, 0, 1, REFUSAL_NONE);
	glass_bind(&glass, SHORT, MR_REMOTE_WRITE, 51); /* its owner may not write */
	glass_bind(&glass, SHORT, MR_REMOTE_READ, 52);
	ends_so(&c, 1, 51, REFUSAL_BIND);
	ends_so(&c, 1, 52, REFUSAL_CANCELLED);
	node_enter(c.qp[1].node);
	cr_assert_eq(glass.mr->subs, 1);
	cr_assert_not_null(mr_find(pd_regions(c.qp[1].pd), first));
	node_leave(c.qp[1].node);
	glass_close(&glass);
	couple_close(&c);
}

/* A write is complete before its bytes are seen; a bind that takes its key away is complete after. */
Test(sim_windows, bytes_that_are_held_come_before_its_end)
{
	const struct fault_plan plan = { .rules = 1,
					 .rule = { { .sort = PLAN_HOLD,
						     .kinds = 1u << OP_WRITE,
						     .first = 1,
						     .every = 1,
						     .most = UINT64_MAX,
						     .chance = FAULT_CERTAIN,
						     .wait_ns = TIME_MS(60000) } } };
	struct glass glass;
	struct couple c;

	couple_open_ruled(&c, 1752, NULL, &plan);
	glass_open_at(&glass, &c, 0, MR_RECV);
	couple_meet(&c);
	memset(c.memory[1], 7, SHORT);
	glass_bind(&glass, SHORT, MR_REMOTE_WRITE, 50);
	ends_so(&c, 0, 50, REFUSAL_NONE);
	c.key[0] = glass.key;
	cr_assert(!couple_post(&c, 1, OP_WRITE, 0, SHORT, 1));
	ends_so(&c, 1, 1, REFUSAL_NONE);
	cr_assert_eq(c.memory[0][0], 0);
	glass_bind(&glass, SHORT, MR_REMOTE_WRITE, 51);
	ends_so(&c, 0, 51, REFUSAL_NONE);
	cr_assert(!memcmp(c.memory[0], c.memory[1], SHORT));
	glass_close(&glass);
	couple_close(&c);
}
