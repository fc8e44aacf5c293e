/* SPDX-License-Identifier: BSD-2-Clause */
/* tagged_rma.c - RMA that takes posted tagged receives, and events of accesses to regions, with the connection cut after every
 * byte: each receive ends once and well, each event comes once, and bytes are right although the target's program has its buffer
 * back, and uses it, as soon as it is told. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/device/ep.h"
#include "tests/sim/harness/words.h"

enum { SMALL = 40, LONG = 70000, KEY = 7, RECEIVES = 5, OPS = 10, DATA = 0xfeed };

static const struct party_config everything = {
	.caps = EP_SEND | EP_RECV | EP_READ | EP_WRITE | EP_REMOTE_READ | EP_REMOTE_WRITE | EP_REMOTE_ATOMIC_READ |
		EP_REMOTE_ATOMIC_WRITE | EP_TSEND | EP_TRECV | EP_REGION_EVENTS | EP_TAGGED_WRITE | EP_TAGGED_READ,
	.order = EP_ORDER_ALL,
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
	uint32_t lazy, steps;       /* the target's queue is read at every so many steps */
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

static void tagged_scene_open(struct tagged_scene *s, uint64_t seed, uint32_t lazy)
{
	struct party_config config = everything;
	struct iovec iov;
	struct mr_attr attr = { .iov = &iov, .iov_count = 1, .access = BED_BOTH, .key = KEY, .key_bytes = 8 };

	if (lazy) {
		config.cq_size = 1;
		config.order = 0; /* a READ is answered while a WRITE behind it comes */
	}
	*s = (struct tagged_scene){ .lazy = lazy };
	bed_open(&s->bed, seed, 2, &(struct nic_config){ .segment = WIRE_SEGMENT_MIN }, &config);
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
	struct remote remote = { .addr = i == 9 ? 1000 : 0, .length = length, .key = key };
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

/* Of ops on the region: each has another. */
static size_t op_length(unsigned i)
{
	return i == 9 ? LONG - 1000 : i == 7 ? LONG - 2000 : SMALL + i;
}

static void note(struct tagged_scene *s, const struct completion *c, int err)
{
	struct deed *deed = c->context;

	if (c->context == s->region) {
		s->events++;
		for (unsigned i = 0; i < OPS; i++)
			s->seen[i] += c->length == op_length(i);
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
	if (++s->steps >= s->lazy) {
		take(s, s->b->rx);
		s->steps = 0;
	}
	for (int i = 0; i < OPS; i++)
		left += s->op[i].c.context == NULL && s->op[i].bytes[0] != 0xff;
	for (int i = 0; i < RECEIVES; i++)
		left += s->receive[i].c.context == NULL;
	return !left;
}

/* Ops 0 to 3 take receives; 4 to 9 are of the region and have lengths that no other has. The receive of op 3 comes late. */
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
	start(s, 7, OP_READ, 0, KEY, op_length(7));
	start(s, 9, OP_WRITE, 0, KEY, op_length(9)); /* goes on behind a READ that is asked again */
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
	WORLD_CHECK(s->bed.world, s->events == 6, "%u events", s->events);
	for (int i = 4; i < OPS; i++)
		WORLD_CHECK(s->bed.world, s->seen[i] == 1, "%u events of op %d", s->seen[i], i);
}

/* One run; UINT64_MAX: without a cut. Returns the bytes of both directions. */
static void run(uint64_t seed, uint32_t lazy, int dir, uint64_t at, uint64_t total[2])
{
	struct tagged_scene s;

	tagged_scene_open(&s, seed, lazy);
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
		cr_assert(tap_count(s.bed.world, TAP_RNR) && tap_count(s.bed.world, TAP_WRITE_PART) >= 4 &&
			  tap_count(s.bed.world, TAP_TAKEN) == 2);
	for (uint8_t d = 0; total && d < 2; d++)
		total[d] = tap_find(s.bed.world, 0, d)->offset;
	tagged_scene_close(&s);
}

/* Far from the ends of frames that are long, a cut is as good as the next. */
static uint64_t stride(uint64_t at, uint64_t total, uint64_t dense)
{
	return at > 1200 && at + 1500 < total && at % 65536 > 600 ? 4999 : dense;
}

static void cut_everywhere(uint64_t seed, uint32_t lazy, uint64_t dense)
{
	uint64_t total[2] = { 0 };

	run(seed, lazy, 0, UINT64_MAX, total);
	for (int dir = 0; dir < 2; dir++)
		for (uint64_t at = 0; at < total[dir]; at += stride(at, total[dir], dense))
			run(seed, lazy, dir, at, NULL);
}

/* WIRE-86, WIRE-87. */
Test(sim_tagged_rma, cut_after_every_byte)
{
	cut_everywhere(1700, 0, 1);
}

/* WIRE-63: where there is hardly any room for events. */
Test(sim_tagged_rma, cut_with_a_full_queue)
{
	cut_everywhere(1701, 200, 11);
}

/* --- one side leaves, or takes memory back --- */

enum leaving { A_DIES, A_CLOSES, B_CLOSES, B_TAKES_BACK, B_TAKES_BACK_AND_IS_CUT, A_TAKES_BACK, LEAVINGS };

static bool receive_is_taken_back(enum leaving how)
{
	return how == B_TAKES_BACK || how == B_TAKES_BACK_AND_IS_CUT;
}

/* A local region over a deed's bytes: its descriptor. */
static struct mr *local_region(struct party *party, struct deed *deed)
{
	struct iovec iov = { deed->bytes, LONG };
	struct mr_attr attr = {
		.iov = &iov, .iov_count = 1, .access = MR_READ | MR_WRITE | MR_RECV | MR_SEND, .provider_key = true, .key_bytes = 8
	};
	struct mr *mr;

	node_enter(party->node);
	cr_assert(!mr_add(pd_regions(party->pd), &attr, &mr));
	node_leave(party->node);
	return mr;
}

static void forget_region(struct party *party, struct mr *mr)
{
	node_enter(party->node);
	if (mr)
		pd_remove_region(party->pd, mr);
	node_leave(party->node);
}

static void close_party(struct party *party)
{
	node_enter(party->node);
	ep_close(party->ep);
	party->ep = NULL;
	node_leave(party->node);
}

static void leave(struct tagged_scene *s, enum leaving how, struct mr *local[2])
{
	switch (how) {
	case A_DIES:
		model_kill(s->bed.model, s->a->node);
		break;
	case A_CLOSES:
		close_party(s->a);
		break;
	case B_CLOSES:
		close_party(s->b);
		break;
	case B_TAKES_BACK:
	case B_TAKES_BACK_AND_IS_CUT:
		forget_region(s->b, local[1]);
		local[1] = NULL;
		break;
	default:
		forget_region(s->a, local[0]);
		local[0] = NULL;
	}
}

static void take_back(struct tagged_scene *s, struct party *party, struct deed *deed)
{
	node_enter(party->node);
	WORLD_CHECK(s->bed.world, !ep_cancel(party->ep, deed), "it is lost");
	node_leave(party->node);
	take(s, s->a->tx);
	take(s, s->b->rx);
}

/* One op by tag 0, and something happens after so many steps. Returns whether the receive was in use and failed. */
static bool run_leaving(uint64_t seed, enum op_kind kind, enum leaving how, uint64_t steps)
{
	struct tagged_scene s;
	struct mr *local[2];
	void *desc[2];
	struct iovec iov[2];
	struct remote remote = { .length = LONG };
	bool failed;

	tagged_scene_open(&s, seed, 0);
	if (how == B_TAKES_BACK_AND_IS_CUT) /* in the first segment, before the region is closed or after */
		world_fault(s.bed.world, FAULT_CUT, 0, 0, 1000 + 150 * steps);
	local[0] = local_region(s.a, &s.op[0]);
	local[1] = local_region(s.b, &s.receive[0]);
	for (int i = 0; i < 2; i++)
		desc[i] = (void *)(uintptr_t)local[i]->desc;
	iov[0] = (struct iovec){ s.op[0].bytes, LONG };
	iov[1] = (struct iovec){ s.receive[0].bytes, LONG };
	cr_assert(!ep_recv(s.b->ep, &(struct recv_post){ .iov = &iov[1],
							 .iov_count = 1,
							 .desc = &desc[1],
							 .flags = POST_TAGGED | POST_COMPLETE,
							 .source = AV_NONE,
							 .context = &s.receive[0],
							 .cq_flags = CQ_F_TAGGED | CQ_F_RECV }));
	cr_assert(!ep_post(s.a->ep, &(struct post){ .kind = kind,
						    .flags = POST_COMPLETE | POST_TAGGED,
						    .dest = s.a->index[s.b->id],
						    .iov = &iov[0],
						    .iov_count = 1,
						    .desc = &desc[0],
						    .remote = &remote,
						    .remote_count = 1,
						    .context = &s.op[0] }));
	for (uint64_t i = 0; i < steps; i++)
		world_step(s.bed.world);
	leave(&s, how, local);
	take(&s, s.b->rx);
	WORLD_CHECK(s.bed.world, !receive_is_taken_back(how) || s.receive[0].ends, "the closed region's memory is still in use");
	world_pass(s.bed.world, 5 * SIM_SECOND); /* much less than a retry budget: a peer that is gone is asked for */
	take(&s, s.a->tx);
	take(&s, s.b->rx);
	failed = s.receive[0].errors;
	if (!s.receive[0].ends && s.b->ep) /* then it is posted still */
		take_back(&s, s.b, &s.receive[0]);
	if (!s.op[0].ends && receive_is_taken_back(how)) /* it waits for another receive */
		take_back(&s, s.a, &s.op[0]);
	WORLD_CHECK(s.bed.world, s.receive[0].ends == 1, "the receive ends %u times", s.receive[0].ends);
	WORLD_CHECK(s.bed.world, how == A_DIES || s.op[0].ends == 1, "the op ends %u times", s.op[0].ends);
	forget_region(s.a, local[0]);
	forget_region(s.b, local[1]);
	tagged_scene_close(&s);
	return failed;
}

/* Whenever it is, the op and the receive end once; or the receive is posted still, and may be cancelled. */
Test(sim_tagged_rma, one_side_leaves)
{
	for (int how = 0; how < LEAVINGS; how++) {
		unsigned failed = 0;

		for (uint64_t steps = 0; steps < 400; steps += 3)
			failed += run_leaving(1800 + steps, steps % 2 ? OP_READ : OP_WRITE, (enum leaving)how, steps);
		cr_expect_gt(failed, 3, "way %d to leave: %u", how, failed);
	}
}

/* --- strangers --- */

static void say(struct raw *raw, struct words *words)
{
	raw_send(raw, words->bytes, words->length);
	words->length = 0;
	world_pass(words->bed->world, SIM_SECOND / 100);
}

static void ask_read(struct raw *raw, struct words *words, uint64_t seq, uint64_t tag, uint64_t addr)
{
	seal(words, wire_put_read(here(words), WIRE_F_TAGGED, seq, &(struct wire_target_fields){ .key = tag, .addr = addr }, SMALL),
	     0);
	say(raw, words);
}

static void say_taken(struct raw *raw, struct words *words, uint64_t seq, uint64_t ref)
{
	seal(words, wire_put_taken(here(words), seq, ref, WIRE_GOOD), 0);
	say(raw, words);
}

static struct raw *stranger(struct tagged_scene *s, struct words *words)
{
	struct wire_hello_fields fields;
	struct raw *raw = raw_dial(s->bed.world, party_port(s->b));

	*words = (struct words){ .bed = &s->bed };
	fields = plain_hello(words);
	say_hello(words, &fields);
	say(raw, words);
	return raw;
}

/* WIRE-85, WIRE-86, WIRE-88: a READ asked again finds its own receive or none; TAKEN ends what its READ has, and nothing else. */
Test(sim_tagged_rma, a_stranger_that_lies)
{
	struct tagged_scene s;
	struct words words;
	struct raw *raw;

	tagged_scene_open(&s, 1900, 0);
	raw = stranger(&s, &words);
	receive(&s, 0, SMALL);
	receive(&s, 1, SMALL);
	ask_read(raw, &words, 1, 0, 0);
	say_taken(raw, &words, 2, 1);
	take(&s, s.b->rx);
	cr_assert(s.receive[0].ends == 1 && !s.receive[0].errors);
	receive(&s, 0, SMALL);
	ask_read(raw, &words, 1, 0, 0); /* asked again when it has ended */
	cr_assert_eq(s.bed.node[1]->warns, 1);
	say_taken(raw, &words, 3, 1); /* and taken again */
	say_taken(raw, &words, 4, 2); /* what is no READ */
	take(&s, s.b->rx);
	cr_assert_eq(s.receive[0].ends, 1);
	ask_read(raw, &words, 5, 1, UINT64_MAX); /* far behind its end: both end */
	take(&s, s.b->rx);
	cr_assert(s.receive[1].ends == 1 && s.receive[1].errors == 1 && s.bed.node[1]->warns == 2);
	seal(&words, wire_put_write(here(&words), WIRE_F_FIRST | WIRE_F_TAGGED, 8, 6, &(struct wire_target_fields){ 0 }, SMALL, 0),
	     0);
	add_payload(&words, 8, WIRE_GOOD);
	say(raw, &words);
	say_taken(raw, &words, 7, 6); /* ends the WRITE early, and so its receive */
	take(&s, s.b->rx);
	cr_assert(s.receive[0].ends == 2 && s.receive[0].errors == 1);
	cr_assert_not(raw_closed(raw));
	raw_close(raw);
	world_pass(s.bed.world, 40 * SIM_SECOND);
	tagged_scene_close(&s);
}

/* Without the capability nothing is found, whatever a peer sets. */
Test(sim_tagged_rma, an_endpoint_without_the_capability)
{
	struct tagged_scene s;
	struct words words;
	struct raw *raw;

	tagged_scene_open(&s, 1901, 0);
	s.b->ep->attr.caps &= ~(uint32_t)(EP_TAGGED_READ | EP_TAGGED_WRITE);
	raw = stranger(&s, &words);
	receive(&s, 0, SMALL);
	ask_read(raw, &words, 1, 0, 0);
	seal(&words, wire_put_write(here(&words), WIRE_F_FIRST | WIRE_F_TAGGED, 8, 2, &(struct wire_target_fields){ 0 }, 8, 0), 0);
	add_payload(&words, 8, WIRE_GOOD);
	say(raw, &words);
	take(&s, s.b->rx);
	cr_assert(s.receive[0].ends == 0 && s.bed.node[1]->warns == 2);
	cr_assert(filled(s.receive[0].bytes, SMALL, 100));
	raw_close(raw);
	start(&s, 0, OP_WRITE, POST_TAGGED, 0, SMALL); /* our own initiator knows it from HELLO */
	start(&s, 1, OP_READ, POST_TAGGED, 0, SMALL);
	world_pass(s.bed.world, SIM_SECOND);
	take(&s, s.a->tx);
	take(&s, s.b->rx);
	cr_assert(s.op[0].errors == 1 && s.op[1].errors == 1 && s.receive[0].ends == 0 && s.bed.node[1]->warns == 2);
	tagged_scene_close(&s);
}
