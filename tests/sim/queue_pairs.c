/* SPDX-License-Identifier: BSD-2-Clause */
/* queue_pairs.c - queue pairs with all their rules in bad weather: connections break, receivers are late.
 *
 * Ops and receives complete in the order of posts. Each message and write with data takes the next receive, and when that completes
 * the bytes of all writes posted before are there. A read has those of the last write before it, and of none behind it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "emu/nic/device/nic.h"
#include "tests/sim/harness/ends.h"
#include "tests/sim/harness/lines.h"
#include "tests/sim/harness/tap.h"

enum { OPS = 150, SLOTS = 16, SLOT = 70000, LONGEST = 150000, PSN = 5, MTU = 1024, PATIENCE = 20 };

/* One op of a side, and what its end must show. */
struct deed {
	enum op_kind kind;
	bool takes; /* a receive of the peer */
	bool solicited;
	uint32_t length;
	unsigned slot;
	uint64_t before[SLOTS]; /* the last write to each slot that was posted before it, 0: none */
	uint8_t *bytes;
};

struct flank {
	struct end pairs, qp;
	struct mr *mr;
	uint8_t *region; /* SLOTS of SLOT bytes, where the peer writes */
	struct deed deed[OPS + 1];
	unsigned posted, done;  /* ops; their contexts are 1, 2, ... */
	unsigned takers, heard; /* of the ops, that take receives; of the peer's, that have */
	unsigned receives;      /* posted; their contexts are the buffers */
	uint8_t *buffer[OPS + 1];
	uint64_t last[SLOTS]; /* as in struct deed, of what is to be posted next */
};

struct field {
	struct world *world;
	struct flank flank[2];
};

static uint64_t draw(struct field *field, uint64_t n)
{
	return rnd_below(&field->world->rnd, n);
}

static void flank_open(struct field *field, int side)
{
	const uint32_t rules = EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES | EP_RULE_ALIGNED;
	struct flank *flank = &field->flank[side];
	struct mr_attr attr = { .iov_count = 1, .access = MR_REMOTE_READ | MR_REMOTE_WRITE, .key = 9, .key_bytes = 4 };
	struct iovec iov = { .iov_len = SLOTS * SLOT };
	int rc;

	node_open(field->world, NULL);
	end_open_pairs(&flank->pairs, field->world->node[side]);
	end_open_ruled(&flank->qp, &flank->pairs, rules, NULL, 0);
	flank->region = iov.iov_base = calloc(SLOTS, SLOT);
	cr_assert(iov.iov_base);
	attr.iov = &iov;
	node_enter(field->world->node[side]);
	rc = mr_add(pd_regions(flank->qp.pd), &attr, &flank->mr);
	node_leave(field->world->node[side]);
	WORLD_CHECK(field->world, !rc, "mr_add: %d", rc);
}

static void field_open(struct field *field, uint64_t seed)
{
	memset(field, 0, sizeof(*field));
	field->world = world_open(world_seed(seed));
	field->world->tapped = true;
	field->world->weather.delay_max_ns = 20000;
	field->world->weather.chunk_max = seed % 3 ? 0 : 20000;
	field->world->weather.cut_mean = 100000 + seed % 7 * 100000;
	field->world->weather.cuts_left = 20;
	for (int side = 0; side < 2; side++)
		flank_open(field, side);
	for (int side = 0; side < 2; side++) {
		end_pair(&field->flank[side].qp, &field->flank[!side].qp, PSN, MTU);
		end_pair_send(&field->flank[side].qp, PSN);
	}
}

static void field_close(struct field *field)
{
	for (int side = 0; side < 2; side++) {
		struct flank *flank = &field->flank[side];

		node_enter(field->world->node[side]);
		pd_remove_region(flank->qp.pd, flank->mr);
		node_leave(field->world->node[side]);
		end_close(&flank->qp);
		for (unsigned i = 1; i <= flank->posted; i++)
			free(flank->deed[i].bytes);
		for (unsigned i = 1; i <= flank->receives; i++)
			free(flank->buffer[i]);
		free(flank->region);
	}
	for (int side = 0; side < 2; side++)
		end_close(&field->flank[side].pairs);
	world_close(field->world);
}

/* The number of the op that wrote there last. */
static uint64_t written(const uint8_t *at)
{
	uint64_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

static void post_op(struct field *field, int side)
{
	static const enum op_kind kinds[] = { OP_SEND, OP_SEND, OP_WRITE, OP_WRITE, OP_READ };
	struct flank *flank = &field->flank[side];
	uint64_t number = flank->posted + 1;
	struct deed *deed = &flank->deed[number];
	struct iovec iov;
	struct remote remote;
	struct post post = {
		.flags = POST_COMPLETE, .context = deed, .iov = &iov, .iov_count = 1, .remote = &remote, .cq_data = number
	};

	deed->kind = kinds[draw(field, 5)];
	deed->slot = (unsigned)draw(field, SLOTS);
	deed->length = 8 + (uint32_t)draw(field, draw(field, 5) ? 500 : deed->kind == OP_SEND ? LONGEST - 8 : SLOT - 8);
	deed->takes = deed->kind == OP_SEND || (deed->kind == OP_WRITE && draw(field, 3) == 0);
	deed->solicited = draw(field, 4) == 0;
	memcpy(deed->before, flank->last, sizeof(deed->before));
	deed->bytes = malloc(deed->length);
	cr_assert(deed->bytes);
	memset(deed->bytes, (int)number, deed->length);
	memcpy(deed->bytes, &number, sizeof(number));
	iov = (struct iovec){ deed->bytes, deed->length };
	remote = (struct remote){ .addr = (uint64_t)deed->slot * SLOT, .length = deed->length, .key = 9 };
	post.kind = deed->kind;
	post.remote_count = deed->kind != OP_SEND;
	if (deed->takes)
		post.flags |= POST_CQ_DATA | (deed->solicited ? POST_SOLICITED : 0);
	WORLD_CHECK(field->world, !ep_post(flank->qp.ep, &post), "not posted");
	if (deed->kind == OP_WRITE)
		flank->last[deed->slot] = number;
	flank->takers += deed->takes;
	flank->posted++;
}

static void post_receive(struct field *field, int side)
{
	struct flank *flank = &field->flank[side];
	struct iovec iov = { malloc(LONGEST), LONGEST };
	struct recv_post post = { .iov = &iov, .iov_count = 1, .flags = POST_COMPLETE, .source = AV_NONE, .context = iov.iov_base };

	cr_assert(iov.iov_base);
	flank->buffer[++flank->receives] = iov.iov_base;
	WORLD_CHECK(field->world, !ep_recv(flank->qp.ep, &post), "not posted");
}

static void judge_op(struct field *field, int side, const struct deed *deed)
{
	struct flank *flank = &field->flank[side];

	WORLD_CHECK(field->world, deed == &flank->deed[++flank->done], "op %d of side %d came in the place of %u",
		    (int)(deed - flank->deed), side, flank->done);
	if (deed->kind == OP_READ)
		WORLD_CHECK(field->world, written(deed->bytes) == deed->before[deed->slot], "a read has write %lu, and not %lu",
			    (unsigned long)written(deed->bytes), (unsigned long)deed->before[deed->slot]);
}

/* A receive has ended, by an op of the peer. */
static void judge_receive(struct field *field, int side, const struct completion *c)
{
	struct flank *flank = &field->flank[side];
	const struct deed *deed = &field->flank[!side].deed[c->data];
	bool sent = deed->kind == OP_SEND;
	uint64_t flags = CQ_F_REMOTE_CQ_DATA | (sent ? 0 : CQ_F_RMA | CQ_F_REMOTE_WRITE) | (deed->solicited ? CQ_F_SOLICITED : 0);
	const uint8_t *at = sent ? c->context : flank->region + (size_t)deed->slot * SLOT;

	WORLD_CHECK(field->world, c->context == flank->buffer[++flank->heard], "receive %u is out of order", flank->heard);
	WORLD_CHECK(field->world, deed->takes && c->length == deed->length && c->flags == flags, "op %lu has taken it, flags %lx",
		    (unsigned long)c->data, (unsigned long)c->flags);
	WORLD_CHECK(field->world, sent ? !memcmp(at, deed->bytes, deed->length) : written(at) >= c->data, "the bytes of op %lu",
		    (unsigned long)c->data);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		WORLD_CHECK(field->world, written(flank->region + (size_t)slot * SLOT) >= deed->before[slot],
			    "op %lu has overtaken write %lu", (unsigned long)c->data, (unsigned long)deed->before[slot]);
}

static void read_queue(struct field *field, int side)
{
	struct flank *flank = &field->flank[side];
	struct completion c;
	struct cq_error error;

	if (cq_take_error(flank->qp.cq, &error) == 1)
		world_fail(field->world, "side %d: %s", side, error.text);
	while (cq_take(flank->qp.cq, &c, 1) == 1) {
		const struct deed *deed = c.context;

		if (deed >= flank->deed && deed <= &flank->deed[OPS])
			judge_op(field, side, deed);
		else
			judge_receive(field, side, &c);
	}
}

static bool is_over(const struct field *field)
{
	bool over = true;

	for (int side = 0; side < 2; side++) {
		const struct flank *flank = &field->flank[side];

		over &= flank->done == OPS && field->flank[!side].heard == flank->takers;
	}
	return over;
}

/* How often receivers were not ready, and connections cut. */
static void fight(uint64_t seed, uint64_t *late, uint64_t *cuts)
{
	struct field field;

	field_open(&field, seed);
	while (!is_over(&field)) {
		for (int side = 0; side < 2; side++) {
			struct flank *flank = &field.flank[side];

			if (flank->posted < OPS && flank->posted - flank->done < 20 && draw(&field, 3) == 0)
				post_op(&field, side);
			if (flank->receives < field.flank[!side].takers && draw(&field, 80) == 0)
				post_receive(&field, side);
			read_queue(&field, side);
		}
		world_step(field.world);
		WORLD_CHECK(field.world, field.world->now_ns < PATIENCE * 60 * SIM_SECOND, "it does not end");
	}
	*late += tap_count(field.world, TAP_RNR);
	*cuts += field.world->cuts;
	field_close(&field);
}

Test(sim_queue_pairs, in_bad_weather)
{
	uint64_t late = 0, cuts = 0;

	for (uint64_t seed = 1800; seed < 1860; seed++)
		fight(seed, &late, &cuts);
	fprintf(stderr, "%lu times not ready, %lu cuts\n", (unsigned long)late, (unsigned long)cuts);
	cr_assert(late > 200 && cuts > 200);
}
