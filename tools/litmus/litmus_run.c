/* SPDX-License-Identifier: BSD-2-Clause */
/* litmus_run.c - runs of a test side by side, each with variables of its own, until enough have ended.
 *
 * A side posts without waiting, until a step waits for something. So the operations of many runs are with the NIC at once, and
 * one that is late lets those of others pass, too: this is allowed, as each test is about operations of one run. */
#include "tools/litmus/litmus_run.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/litmus/litmus_world.h"

enum {
	BATCH = 64,
	ENTRIES = 16,
	SLOT = 128 + LONG_BYTES,
	SPARE = BATCH * SLOT,
	REGION = SPARE + ELEMENT,
	PAUSE_NS = 1000000,
	PASSES_MAX = 64
};
#define HANG_NS (30ull * 1000000000)
#define LEVELS (FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_COMMIT_COMPLETE)

union cell {
	uint64_t word[LONG_BYTES / ELEMENT];
	uint8_t byte[LONG_BYTES];
};

struct one;

/* The context of an operation. */
struct posted {
	struct one *one;
	uint8_t side, step;
};

/* One run. */
struct one {
	uint8_t at[SIDES], ends[SIDES];
	uint8_t end[SIDES][STEPS]; /* 0: not completed; else the how many-th of the side */
	bool told[SIDES], heard;
	uint64_t until_ns[SIDES]; /* a pause; 0: none */
	unsigned open;            /* posts that have not completed */
	union cell source[SIDES][STEPS], got[REGISTERS];
	struct posted posted[SIDES][STEPS];
};

struct runner {
	const struct litmus *test;
	struct litmus_world world;
	struct one *ones;
	unsigned batch;
	unsigned settles; /* reads of settle_all() that have not completed */
	uint64_t draw, last_ns;
	uint64_t counted[SIDES], met[SIDES]; /* by the counters before the round */
};

static uint64_t litmus_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Xorshift: even enough to vary times. */
static uint64_t draw_value(struct runner *r)
{
	r->draw ^= r->draw << 13;
	r->draw ^= r->draw >> 7;
	r->draw ^= r->draw << 17;
	return r->draw;
}

static size_t length_of(enum var var)
{
	return var == Z ? LONG_BYTES : ELEMENT;
}

static uint64_t offset_of(const struct runner *r, const struct one *one, enum var var)
{
	static const uint64_t within[VARS] = { [X] = 0, [Y] = 64, [Z] = 128 };

	return (uint64_t)(one - r->ones) * SLOT + within[var];
}

/* The variable as the processor sees it. */
static uint64_t *memory_of(const struct runner *r, const struct one *one, unsigned side, enum var var)
{
	return (uint64_t *)(void *)(r->world.side[side].memory + offset_of(r, one, var));
}

static void load_words(union cell *to, const uint64_t *from, enum var var)
{
	for (size_t i = 0; i < length_of(var) / ELEMENT; i++)
		to->word[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
}

static void store_words(uint64_t *to, const struct step *step)
{
	uint64_t value = step->var == Z ? step->value * (UINT64_MAX / 0xff) : step->value;

	for (size_t i = 0; i < length_of(step->var) / ELEMENT; i++)
		__atomic_store_n(&to[i], value, __ATOMIC_RELEASE);
}

static bool any_new(const uint64_t *words, enum var var)
{
	for (size_t i = 0; i < length_of(var) / ELEMENT; i++)
		if (__atomic_load_n(&words[i], __ATOMIC_ACQUIRE))
			return true;
	return false;
}

static bool returns_data(enum verb verb)
{
	return verb == READ || verb == FETCH || verb == FETCH_ADD;
}

static long post_rma(struct fid_ep *ep, const struct step *step, const struct fi_msg_rma *msg, uint64_t flags)
{
	return step->verb == WRITE ? fi_writemsg(ep, msg, flags) : fi_readmsg(ep, msg, flags);
}

static long post_atomic(struct fid_ep *ep, const struct step *step, const struct fi_msg_rma *rma, void *source, void *got,
			uint64_t flags)
{
	struct fi_ioc ioc = { .addr = source, .count = 1 }, result = { .addr = got, .count = 1 };
	struct fi_rma_ioc remote = { .addr = rma->rma_iov->addr, .count = 1, .key = rma->rma_iov->key };
	struct fi_msg_atomic msg = { .msg_iov = &ioc,
				     .iov_count = 1,
				     .addr = rma->addr,
				     .rma_iov = &remote,
				     .rma_iov_count = 1,
				     .datatype = FI_UINT64,
				     .op = FI_SUM,
				     .context = rma->context };

	if (step->verb == PUT)
		msg.op = FI_ATOMIC_WRITE;
	else if (step->verb == FETCH)
		msg.op = FI_ATOMIC_READ;
	if (!returns_data(step->verb))
		return fi_atomicmsg(ep, &msg, flags);
	return fi_fetch_atomicmsg(ep, &msg, &result, NULL, 1, flags);
}

static long post_message(struct runner *r, const struct fi_msg_rma *rma, struct one *one, bool receive, struct fid_ep *ep,
			 uint64_t flags)
{
	struct fi_msg_tagged msg = { .msg_iov = rma->msg_iov,
				     .iov_count = 1,
				     .context = rma->context,
				     .addr = receive ? FI_ADDR_UNSPEC : rma->addr,
				     .tag = (uint64_t)(one - r->ones) };

	return receive ? fi_trecvmsg(ep, &msg, flags) : fi_tsendmsg(ep, &msg, flags);
}

/* False: the NIC takes no more now. */
static bool post_step(struct runner *r, struct one *one, unsigned s, unsigned i)
{
	const struct step *step = &r->test->steps[s][i];
	struct litmus_side *side = &r->world.side[s], *to = &r->world.side[step->to];
	uint64_t flags = step->flags | (step->flags & LEVELS || returns_data(step->verb) ? 0 : FI_TRANSMIT_COMPLETE);
	bool one_sided = step->verb != SEND && step->verb != RECEIVE;
	void *got = one->got[step->value % REGISTERS].word;
	struct iovec near = { returns_data(step->verb) ? got : one->source[s][i].byte, length_of(step->var) };
	struct fi_rma_iov far = { offset_of(r, one, step->var), near.iov_len, to->key };
	struct fi_msg_rma msg = { .msg_iov = &near,
				  .iov_count = 1,
				  .addr = to->address[0],
				  .rma_iov = &far,
				  .rma_iov_count = 1,
				  .context = &one->posted[s][i],
				  .data = (uint64_t)(one - r->ones) };
	long rc;

	one->posted[s][i] = (struct posted){ one, (uint8_t)s, (uint8_t)i };
	memset(one->source[s][i].byte, 0, near.iov_len);
	if (step->var == Z)
		memset(one->source[s][i].byte, step->value, near.iov_len);
	else
		one->source[s][i].word[0] = step->verb == ADD || step->verb == FETCH_ADD ? 1 : step->value;
	if (step->verb == RECEIVE)
		near.iov_base = memory_of(r, one, s, step->var);
	if (step->verb == WRITE || step->verb == READ)
		rc = post_rma(side->ep[step->ep], step, &msg, flags);
	else if (one_sided)
		rc = post_atomic(side->ep[step->ep], step, &msg, one->source[s][i].byte, got, flags);
	else
		rc = post_message(r, &msg, one, step->verb == RECEIVE, side->ep[step->ep], step->verb == RECEIVE ? 0 : flags);
	if (rc == -FI_EAGAIN)
		return false;
	litmus_must(rc, "a post");
	one->open++;
	return true;
}

static bool pause_ends(struct runner *r, struct one *one, unsigned s)
{
	if (!one->until_ns[s])
		one->until_ns[s] = litmus_now_ns() + draw_value(r) % PAUSE_NS;
	return litmus_now_ns() >= one->until_ns[s];
}

/* False: the step waits for something. */
static bool do_step(struct runner *r, struct one *one, unsigned s)
{
	const struct step *step = &r->test->steps[s][one->at[s]];
	uint64_t *mine = memory_of(r, one, s, step->var);

	switch (step->verb) {
	case WAIT:
		return one->end[s][step->value];
	case TOLD:
		return one->told[s];
	case COUNT:
		return fi_cntr_read(r->world.side[s].counter) - r->counted[s] >= step->value;
	case MET:
		return fi_cntr_read(r->world.side[s].met) - r->met[s] >= step->value;
	case POLL:
		return any_new(mine, step->var);
	case LOOK:
		load_words(&one->got[step->value], mine, step->var);
		return true;
	case PEEK:
		load_words(&one->got[step->value], memory_of(r, one, step->to, step->var), step->var);
		return true;
	case STORE:
		store_words(mine, step);
		return true;
	case REUSE:
		__atomic_store_n(one->source[s][step->value].word, 3, __ATOMIC_RELEASE);
		return true;
	case PAUSE:
		return pause_ends(r, one, s);
	case TELL:
		one->heard = true;
		return true;
	case HEAR:
		return one->heard;
	default:
		return post_step(r, one, s, one->at[s]);
	}
}

static bool ended(const struct runner *r, const struct one *one)
{
	for (unsigned s = 0; s < r->world.sides; s++)
		if (one->at[s] < STEPS && r->test->steps[s][one->at[s]].verb)
			return false;
	return one->open == 0;
}

static void take_completion(struct runner *r, unsigned s, const struct fi_cq_tagged_entry *entry)
{
	struct posted *posted = entry->op_context;

	if (entry->flags & FI_REMOTE_CQ_DATA) {
		r->ones[entry->data % BATCH].told[s] = true;
	} else if (!posted) {
		r->settles--;
	} else {
		posted->one->end[s][posted->step] = ++posted->one->ends[s];
		posted->one->open--;
	}
}

static void die_of_error(struct fid_cq *cq)
{
	struct fi_cq_err_entry entry = { 0 };
	char text[512];

	if (fi_cq_readerr(cq, &entry, 0) != 1)
		litmus_die("fi_cq_readerr has nothing to say");
	litmus_die("an operation failed: %s: %s", fi_strerror(entry.err),
		   fi_cq_strerror(cq, entry.prov_errno, entry.err_data, text, sizeof(text)));
}

static void take_completions(struct runner *r)
{
	struct fi_cq_tagged_entry entries[ENTRIES];

	for (unsigned s = 0; s < r->world.sides; s++) {
		struct fid_cq *cq = r->world.side[s].cq;
		long n = fi_cq_read(cq, entries, ENTRIES);

		if (n == -FI_EAVAIL)
			die_of_error(cq);
		for (long i = 0; i < n; i++)
			take_completion(r, s, &entries[i]);
		if (n > 0)
			r->last_ns = litmus_now_ns();
	}
	if (litmus_now_ns() > r->last_ns + HANG_NS)
		litmus_die("%s: nothing has happened for 30 s", r->test->name);
}

/* The sides that receive come first. */
static bool step_on(struct runner *r, struct one *one)
{
	for (unsigned s = r->world.sides; s-- > 0;)
		while (one->at[s] < STEPS && r->test->steps[s][one->at[s]].verb && do_step(r, one, s))
			one->at[s]++;
	return ended(r, one);
}

static bool uses(const struct litmus *test, unsigned s, unsigned ep, unsigned to)
{
	for (unsigned i = 0; i < STEPS; i++) {
		const struct step *step = &test->steps[s][i];

		if (step_posts(step) && step->verb != RECEIVE && step->ep == ep && step->to == to)
			return true;
	}
	return false;
}

/* A fenced read from each endpoint to each that it has talked to finds all bytes in their place. Writes before it, a drawn number
 * of them, change the numbers of those that follow, by which the NIC draws: else it would draw the same for all endpoints. */
static void settle_all(struct runner *r)
{
	static uint64_t scratch;
	struct iovec near = { &scratch, ELEMENT };

	for (unsigned s = 0; s < r->world.sides; s++) {
		for (unsigned pair = 0; pair < ENDPOINTS * r->world.sides; pair++) {
			struct litmus_side *to = &r->world.side[pair / ENDPOINTS];
			struct fi_rma_iov far = { SPARE, ELEMENT, to->key };
			struct fid_ep *ep = r->world.side[s].ep[pair % ENDPOINTS];
			unsigned writes = draw_value(r) % ENTRIES;
			struct fi_msg_rma msg = {
				.msg_iov = &near, .iov_count = 1, .addr = to->address[0], .rma_iov = &far, .rma_iov_count = 1
			};

			if (!uses(r->test, s, pair % ENDPOINTS, pair / ENDPOINTS))
				continue;
			for (unsigned i = 0; i < writes; i++)
				litmus_must(fi_writemsg(ep, &msg, FI_TRANSMIT_COMPLETE), "fi_writemsg");
			litmus_must(fi_readmsg(ep, &msg, FI_FENCE), "fi_readmsg");
			r->settles += writes + 1;
		}
	}
	while (r->settles)
		take_completions(r);
}

static unsigned value_of(const union cell *cell, bool is_long)
{
	bool old = false, fresh = false, torn = false;

	if (!is_long)
		return (unsigned)cell->word[0] % VALUES;
	for (unsigned i = 0; i < LONG_BYTES / ELEMENT; i++) {
		old |= cell->word[i] == 0;
		fresh |= cell->word[i] == UINT64_MAX / 0xff;
		torn |= cell->word[i] != 0 && cell->word[i] != UINT64_MAX / 0xff;
	}
	if (torn)
		return LONG_TORN;
	return old && fresh ? LONG_MIXED : fresh ? LONG_NEW : LONG_OLD;
}

bool litmus_is_long(const struct litmus *test, unsigned reg)
{
	for (unsigned s = 0; s < SIDES; s++) {
		for (unsigned i = 0; i < STEPS; i++) {
			const struct step *step = &test->steps[s][i];

			if ((returns_data(step->verb) || step->verb == LOOK || step->verb == PEEK) && step->value == reg)
				return step->var == Z;
		}
	}
	return false;
}

static unsigned state_seen(const struct runner *r, const struct one *one)
{
	unsigned state = 0;
	union cell cell;

	for (unsigned i = 0; i < SEEN && r->test->seen[i].what; i++) {
		const struct seen *seen = &r->test->seen[i];
		unsigned value;

		if (seen->what == A_REGISTER) {
			value = value_of(&one->got[seen->index], litmus_is_long(r->test, seen->index));
		} else if (seen->what == A_VARIABLE) {
			load_words(&cell, memory_of(r, one, seen->side, seen->index), seen->index);
			value = value_of(&cell, seen->index == Z);
		} else {
			value = one->end[seen->side][seen->index] < one->end[seen->side][seen->index - 1];
		}
		state = state * VALUES + value;
	}
	return state;
}

unsigned litmus_outcome(const struct litmus *test)
{
	unsigned state = 0;

	for (unsigned i = 0; i < SEEN && test->seen[i].what; i++)
		state = state * VALUES + test->seen[i].value;
	return state;
}

/* Some rounds ask the queues seldom, so that the NIC's own thread works while the sides look at memory. */
static void run_round(struct runner *r)
{
	unsigned often = draw_value(r) % 2 ? 1 : 1 + draw_value(r) % PASSES_MAX, passes = 0, left;

	memset(r->ones, 0, r->batch * sizeof(*r->ones));
	for (unsigned s = 0; s < r->world.sides; s++) {
		struct litmus_side *side = &r->world.side[s];

		r->counted[s] = side->counter ? fi_cntr_read(side->counter) : 0;
		r->met[s] = side->met ? fi_cntr_read(side->met) : 0;
	}
	r->last_ns = litmus_now_ns();
	do {
		left = 0;
		if (passes++ % often == 0)
			take_completions(r);
		for (unsigned i = 0; i < r->batch; i++)
			left += !step_on(r, &r->ones[i]);
	} while (left);
	settle_all(r);
}

void litmus_run(const struct litmus *test, uint64_t order, uint64_t runs, uint64_t seed, struct tally *tally)
{
	struct runner r = { .test = test, .draw = (seed + 1) * 0x9e3779b97f4a7c15 };

	*tally = (struct tally){ 0 };
	r.ones = calloc(BATCH, sizeof(*r.ones));
	if (!r.ones)
		litmus_die("out of memory");
	world_open(&r.world, test, order, REGION);
	tally->told = r.world.info->tx_attr->msg_order;
	while (tally->runs < runs) {
		/* A counter is of all that an endpoint does. */
		r.batch = r.world.side[0].counter || r.world.side[0].met ? 1 : 1 + (unsigned)(draw_value(&r) % BATCH);
		if (r.batch > runs - tally->runs)
			r.batch = (unsigned)(runs - tally->runs);
		run_round(&r);
		for (unsigned i = 0; i < r.batch; i++)
			tally->count[state_seen(&r, &r.ones[i])]++;
		tally->runs += r.batch;
		for (unsigned s = 0; s < r.world.sides; s++)
			memset(r.world.side[s].memory, 0, SPARE);
	}
	world_close(&r.world);
	free(r.ones);
}
