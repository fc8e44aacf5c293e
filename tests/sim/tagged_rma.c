/* SPDX-License-Identifier: BSD-2-Clause */
/* tagged_rma.c - RMA that takes posted tagged receives, and events of accesses to regions, with the connection cut after every
 * byte: each receive ends once and well, each event comes once, and bytes are right although the target's program has its buffer
 * back, and uses it, as soon as it is told. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/harness/bed.h"

enum { SMALL = 40, LONG = 70000, KEY = 7, RECEIVES = 5, OPS = 9, DATA = 0xfeed };

static const struct party_config everything = {
	.caps = EP_SEND | EP_RECV | EP_READ | EP_WRITE | EP_REMOTE_READ | EP_REMOTE_WRITE | EP_REMOTE_ATOMIC_READ |
		EP_REMOTE_ATOMIC_WRITE | EP_TSEND | EP_TRECV | EP_REGION_EVENTS | EP_TAGGED_WRITE | EP_TAGGED_READ,
	.order = EP_ORDER_RAS | EP_ORDER_WAS | EP_ORDER_WAR | EP_ORDER_SAR,
};

/* An op of the initiator's, or a receive of the target's. */
struct deed {
	uint8_t bytes[LONG];
	uint32_t ends, errors;
	struct completion c;
	int err;
};

struct tagged_scene {
	struct bed bed;
	struct party *a, *b;
	struct deed *op, *receive;
	uint8_t *region;
	struct mr *mr;
	uint32_t events, seen[OPS]; /* of the region; by the length that only one op has */
};

static void fill(uint8_t *bytes, size_t length, unsigned with)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(i * 7 + with);
}

static bool filled(const uint8_t *bytes, size_t length, unsigned with)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != (uint8_t)(i * 7 + with))
			return false;
	return true;
}

static void tagged_scene_open(struct tagged_scene *s, uint64_t seed)
{
	struct iovec iov;
	struct mr_attr attr = { .iov = &iov, .iov_count = 1, .access = BED_BOTH, .key = KEY, .key_bytes = 8 };

	*s = (struct tagged_scene){ 0 };
	bed_open(&s->bed, seed, 2, &(struct nic_config){ .segment = WIRE_SEGMENT_MIN }, &everything);
	s->bed.world->weather.chunk_max = 4096;
	s->a = s->bed.party[0];
	s->b = s->bed.party[1];
	s->op = calloc(OPS, sizeof(*s->op));
	s->receive = calloc(RECEIVES, sizeof(*s->receive));
	s->region = calloc(1, LONG);
	iov = (struct iovec){ s->region, LONG };
	attr.context = s->region;
	node_enter(s->b->node);
	cr_assert(!mr_add(pd_regions(s->b->pd), &attr, &s->mr));
	node_leave(s->b->node);
	for (unsigned i = 0; i < RECEIVES; i++)
		fill(s->receive[i].bytes, LONG, 100 + i);
	fill(s->region, LONG, 50);
}

static void tagged_scene_close(struct tagged_scene *s)
{
	node_enter(s->b->node);
	pd_remove_region(s->b->pd, s->mr);
	node_leave(s->b->node);
	bed_close(&s->bed);
	free(s->op);
	free(s->receive);
	free(s->region);
}

static void receive(struct tagged_scene *s, unsigned i, size_t length)
{
	struct iovec iov[2] = { { s->receive[i].bytes, 8 }, { s->receive[i].bytes + 8, length - 8 } };
	struct recv_post post = {
		.iov = iov,
		.iov_count = 2,
		.flags = POST_TAGGED | POST_COMPLETE,
		.source = AV_NONE,
		.tag = i,
		.ignore = i % 2 ? 0xff00 : 0,
		.context = &s->receive[i],
		.cq_flags = CQ_F_TAGGED | CQ_F_RECV,
	};

	cr_assert(!ep_recv(s->b->ep, &post));
}

static void start(struct tagged_scene *s, unsigned i, enum op_kind kind, uint32_t flags, uint64_t key, size_t length)
{
	struct iovec iov = { s->op[i].bytes, length };
	struct remote remote = { .length = length, .key = key };
	struct post_atomic atomic = { .what = { ATOMIC_PLAIN, ATOMIC_SUM, ATOMIC_UINT64 } };
	struct post post = {
		.kind = kind,
		.flags = POST_COMPLETE | flags,
		.dest = s->a->index[s->b->id],
		.iov = &iov,
		.iov_count = 1,
		.remote = &remote,
		.remote_count = 1,
		.cq_data = flags & POST_CQ_DATA ? DATA : 0,
		.context = &s->op[i],
		.atomic = kind == OP_ATOMIC ? &atomic : NULL,
	};

	if (kind != OP_READ)
		fill(s->op[i].bytes, length, i);
	cr_assert(!ep_post(s->a->ep, &post));
}

static void note(struct tagged_scene *s, const struct completion *c, int err)
{
	struct deed *deed = c->context;

	if (c->context == s->region) {
		s->events++;
		for (unsigned i = 0; i < OPS; i++)
			s->seen[i] += c->length == SMALL + i;
		return;
	}
	deed->ends++;
	deed->errors += !!err;
	deed->err = err;
	deed->c = *c;
	if (deed >= s->receive && deed < s->receive + RECEIVES && c->flags & CQ_F_REMOTE_READ)
		memset(deed->bytes, 0xee, LONG); /* its program has it back */
}

static void take(struct tagged_scene *s, struct cq *cq)
{
	struct completion c;
	struct cq_error error;

	while (cq_take(cq, &c, 1) == 1)
		note(s, &c, 0);
	while (cq_take_error(cq, &error) == 1)
		note(s, &error.c, error.err);
}

static bool all_ended(void *arg)
{
	struct tagged_scene *s = arg;
	uint32_t left = 0;

	take(s, s->a->tx);
	take(s, s->b->rx);
	for (int i = 0; i < OPS; i++)
		left += s->op[i].c.context == NULL && s->op[i].bytes[0] != 0xff;
	for (int i = 0; i < RECEIVES; i++)
		left += s->receive[i].c.context == NULL;
	return !left;
}

/* Ops 0 to 3 take receives; 4 to 8 are of the region and have lengths that no other has. The receive of op 3 comes late. */
static void play(struct tagged_scene *s)
{
	receive(s, 0, SMALL);
	receive(s, 1, LONG);
	receive(s, 2, SMALL);
	start(s, 0, OP_WRITE, POST_TAGGED, 0, SMALL);
	start(s, 1, OP_WRITE, POST_TAGGED | POST_CQ_DATA, 0x5500 | 1, LONG);
	start(s, 4, OP_WRITE, 0, KEY, SMALL + 4);
	start(s, 5, OP_READ, 0, KEY, SMALL + 5);
	start(s, 2, OP_READ, POST_TAGGED, 2, SMALL);
	start(s, 6, OP_WRITE, POST_CQ_DATA, KEY, SMALL + 6);
	start(s, 3, OP_READ, POST_TAGGED, 3, LONG);
	start(s, 7, OP_READ, 0, KEY, SMALL + 7);
	start(s, 8, OP_ATOMIC, 0, KEY, SMALL + 8);
	world_pass(s->bed.world, 3000000);
	receive(s, 4, SMALL); /* none asks for it */
	receive(s, 3, LONG);
}

static bool but_one(void *arg)
{
	struct tagged_scene *s = arg;

	s->receive[4].c.context = s;
	return all_ended(s);
}

static void expect_receive(const struct tagged_scene *s, unsigned i, uint64_t flags, size_t length)
{
	const struct deed *deed = &s->receive[i];

	WORLD_CHECK(s->bed.world, deed->ends == 1 && !deed->errors, "receive %u ends %u times, %u errors", i, deed->ends,
		    deed->errors);
	WORLD_CHECK(s->bed.world, deed->c.flags == flags && deed->c.length == length, "receive %u: flags %#llx, %zu B", i,
		    (unsigned long long)deed->c.flags, deed->c.length);
}

static void judge(const struct tagged_scene *s)
{
	uint64_t written = CQ_F_TAGGED | CQ_F_RECV | CQ_F_RMA | CQ_F_REMOTE_WRITE;

	for (int i = 0; i < OPS; i++)
		WORLD_CHECK(s->bed.world, s->op[i].ends == 1 && !s->op[i].errors, "op %d ends %u times, with %d", i, s->op[i].ends,
			    s->op[i].err);
	expect_receive(s, 0, written, SMALL);
	expect_receive(s, 1, written | CQ_F_REMOTE_CQ_DATA, LONG);
	expect_receive(s, 2, CQ_F_TAGGED | CQ_F_RECV | CQ_F_RMA | CQ_F_REMOTE_READ, SMALL);
	expect_receive(s, 3, CQ_F_TAGGED | CQ_F_RECV | CQ_F_RMA | CQ_F_REMOTE_READ, LONG);
	WORLD_CHECK(s->bed.world, s->receive[1].c.data == DATA && s->receive[1].c.tag == 0x5501, "what came with it");
	WORLD_CHECK(s->bed.world, filled(s->receive[0].bytes, SMALL, 0) && filled(s->receive[1].bytes, LONG, 1), "bytes written");
	WORLD_CHECK(s->bed.world, filled(s->op[2].bytes, SMALL, 102) && filled(s->op[3].bytes, LONG, 103), "bytes read");
	WORLD_CHECK(s->bed.world, s->events == 5, "%u events", s->events);
	for (int i = 4; i < OPS; i++)
		WORLD_CHECK(s->bed.world, s->seen[i] == 1, "%u events of op %d", s->seen[i], i);
}

/* One run; UINT64_MAX: without a cut. Returns the bytes of both directions. */
static void run(uint64_t seed, int dir, uint64_t at, uint64_t total[2])
{
	struct tagged_scene s;

	tagged_scene_open(&s, seed);
	if (at != UINT64_MAX)
		world_fault(s.bed.world, FAULT_CUT, 0, (uint8_t)dir, at);
	play(&s);
	WORLD_CHECK(s.bed.world, world_run(s.bed.world, but_one, &s, BED_LIMIT_NS), "something does not end");
	s.receive[4].c.context = NULL;
	world_pass(s.bed.world, SIM_SECOND / 100);
	take(&s, s.a->tx);
	take(&s, s.b->rx);
	judge(&s);
	if (at == UINT64_MAX)
		cr_assert(tap_count(s.bed.world, TAP_RNR) && tap_count(s.bed.world, TAP_WRITE_PART) == 2 &&
			  tap_count(s.bed.world, TAP_TAKEN) == 2);
	for (uint8_t d = 0; total && d < 2; d++)
		total[d] = tap_find(s.bed.world, 0, d)->offset;
	tagged_scene_close(&s);
}

Test(sim_tagged_rma, cut_after_every_byte)
{
	uint64_t total[2] = { 0 };

	run(1700, 0, UINT64_MAX, total);
	for (int dir = 0; dir < 2; dir++)
		for (uint64_t at = 0; at<total[dir]; at += at> 1200 && at + 1500 < total[dir] && at % 65536 > 600 ? 997 : 1)
			run(1700, dir, at, NULL);
}
