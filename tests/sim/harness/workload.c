/* SPDX-License-Identifier: BSD-2-Clause */
/* workload.c - ops drawn from the seed. */
#include <assert.h>

#include "tests/sim/harness/workload.h"

enum { BOTH = MR_REMOTE_READ | MR_REMOTE_WRITE, REGION_BYTES = 96 * 1024 };

static struct rnd *load_rnd(const struct workload *load)
{
	return &load->model->world->rnd;
}

static uint64_t draw(const struct workload *load, uint64_t n)
{
	return rnd_below(load_rnd(load), n);
}

static bool percent(const struct workload *load, unsigned n)
{
	return rnd_percent(load_rnd(load), n);
}

static void furnish(struct workload *load, struct party *party)
{
	struct region **region = load->region[party->id];

	region[0] = region_open(party, REGION_BYTES, 1, BOTH, false, 0);
	region[1] = region_open(party, 4 * REGION_BYTES, 1, BOTH, true, 0);
	region[2] = region_open(party, REGION_BYTES, 5, BOTH, false, 0x1000u + (uint64_t)party->id);
	region[3] = region_open(party, REGION_BYTES, 1, MR_REMOTE_READ, true, 0);
	region[4] = region_open(party, REGION_BYTES, 3, MR_REMOTE_WRITE | MR_WRITE, false, 0);
}

void workload_init(struct workload *load, struct model *model, uint64_t ops)
{
	*load = (struct workload){
		.model = model,
		.ops_left = ops,
		.outstanding_max = 48,
		.big_max = 64 * 1024,
		.wrong_percent = 8,
		.silent_percent = 15,
		.churn_permille = 5,
		.sends = true,
		.rma = true,
	};
	for (int i = 0; i < model->parties; i++)
		furnish(load, model->party[i]);
}

void workload_lives(struct workload *load)
{
	load->lives = true;
	for (int i = 0; i < load->model->parties; i++) {
		struct party *party = load->model->party[i];

		load->single[i] = region_open(party, REGION_BYTES, 1, BOTH, false, 0);
		region_make_single(load->single[i]);
		load->gated[i] = region_open(party, REGION_BYTES, 1, BOTH, false, 0x2000u + (uint64_t)i);
		region_make_gated(load->gated[i]);
	}
}

static struct party *draw_party(const struct workload *load)
{
	return load->model->party[draw(load, (uint64_t)load->model->parties)];
}

static bool usable(const struct party *party)
{
	return party->ep && !party->node->dead;
}

/* Mostly short; zero now and then; rarely up to `max`. */
static uint64_t draw_length(const struct workload *load, uint64_t max)
{
	uint64_t length = draw(load, 600);

	if (percent(load, 4))
		length = 0;
	else if (percent(load, 12))
		length = draw(load, 20000);
	else if (percent(load, 4))
		length = draw(load, max);
	return length < max ? length : max;
}

static size_t draw_iovs(const struct workload *load, uint64_t length)
{
	return percent(load, 70) || length < LIMIT_IOV ? 1 : 1 + draw(load, LIMIT_IOV);
}

static uint32_t draw_flags(const struct workload *load, enum op_kind kind, uint64_t length)
{
	uint32_t flags = percent(load, load->silent_percent) ? 0 : POST_COMPLETE;

	if (kind != OP_READ && percent(load, 20))
		flags |= POST_CQ_DATA;
	if (kind != OP_READ && length <= LIMIT_INJECT && percent(load, 25))
		flags |= POST_INJECT;
	if (percent(load, 4))
		flags |= POST_FENCE;
	if (load->solicited_percent && percent(load, load->solicited_percent))
		flags |= POST_SOLICITED;
	if ((kind == OP_WRITE || kind == OP_ATOMIC) && load->commit_percent && percent(load, load->commit_percent))
		flags |= POST_COMMIT;
	return flags;
}

static bool draw_tagged(const struct workload *load)
{
	return load->tag_percent && percent(load, load->tag_percent);
}

/* Few, so that they meet; they differ in low or in high bits. */
static uint64_t draw_tag(const struct workload *load)
{
	return draw(load, 3) | draw(load, 2) << 63;
}

static void post_message(struct workload *load, struct party *from, struct party *to)
{
	uint64_t length = draw_length(load, load->big_max);
	struct job *job = job_message(from, to, length, draw_flags(load, OP_SEND, length), draw_iovs(load, length));

	if (draw_tagged(load))
		job_tag(job, draw_tag(load));
	if (from->rules & EP_RULE_RECEIVE_FIRST)
		job_may(job, REFUSAL_MESSAGE_LONG);
	load->ops_left -= !job_post(job);
}

/* A range of the region that lies in one segment if it must. */
static uint64_t draw_range(const struct workload *load, const struct region *region, uint64_t *offset)
{
	uint64_t length = draw_length(load, load->big_max < region->length ? load->big_max : region->length);
	uint64_t piece = region->length / region->segs;

	if (region->virtual_addr && region->segs > 1) {
		length = length < piece ? length : piece;
		*offset = draw(load, region->segs) * piece + draw(load, piece - length + 1);
	} else {
		*offset = draw(load, region->length - length + 1);
	}
	return length;
}

static struct region *draw_region(const struct workload *load, const struct party *to)
{
	if (!load->lives || percent(load, 40))
		return load->region[to->id][draw(load, WORKLOAD_REGIONS)];
	return percent(load, 60) ? load->single[to->id] : load->gated[to->id];
}

static void post_rma(struct workload *load, struct party *from, struct party *to)
{
	enum op_kind kind = percent(load, 50) ? OP_WRITE : OP_READ;
	struct region *region = draw_region(load, to);
	uint32_t right = kind == OP_WRITE ? MR_REMOTE_WRITE : MR_REMOTE_READ;
	uint64_t offset, length;
	struct job *job;

	if (!region->mr || !(region->access & right))
		return;
	length = draw_range(load, region, &offset);
	job = job_rma(from, region, kind, offset, length, draw_flags(load, kind, length), draw_iovs(load, length));
	if (!job)
		return;
	if (length >= LIMIT_IOV && !region->virtual_addr && !region->single_use && percent(load, 15))
		job_split_remote(job, 1 + draw(load, LIMIT_IOV));
	load->ops_left -= !job_post(job);
}

static void post_atomic(struct workload *load, struct party *from, struct party *to)
{
	enum { MOST = LIMIT_ATOMIC, UNIT = sizeof(uint64_t) };
	struct region *region = draw_region(load, to);
	uint64_t offset, length;
	struct job *job;

	if (!region->mr || !(region->access & MR_REMOTE_WRITE))
		return;
	length = draw_range(load, region, &offset);
	length = (length < MOST ? length : MOST) / UNIT * UNIT;
	if (!length)
		return;
	job = job_atomic(from, region, (enum job_atomic)draw(load, JOB_ATOMICS), offset, length,
			 draw_flags(load, OP_ATOMIC, 2 * length), 1);
	if (!job)
		return;
	if (length >= UNIT * LIMIT_IOV && !region->virtual_addr && !region->single_use && percent(load, 15))
		job_split_remote(job, 1 + draw(load, LIMIT_IOV));
	load->ops_left -= !job_post(job);
}

/* An access that must be refused, and for what. */
static void post_wrong(struct workload *load, struct party *from, struct party *to)
{
	struct region *region = load->region[to->id][draw(load, WORKLOAD_REGIONS)];
	enum op_kind kind = percent(load, 50) ? OP_WRITE : OP_READ;
	uint32_t right = kind == OP_WRITE ? MR_REMOTE_WRITE : MR_REMOTE_READ;
	uint64_t length = 1 + draw_length(load, 8000), last = region_addr(region, region->length - 1), beyond;
	enum refusal_cause cause = REFUSAL_RANGE;
	struct job *job;

	if (!region->mr)
		return;
	beyond = 1 + draw(load, length);
	if (!(region->access & right))
		cause = REFUSAL_RIGHT;
	switch (draw(load, 3)) {
	case 0:
		job = job_refused(from, to, kind, rnd_next(load_rnd(load)), 0, length, REFUSAL_UNKNOWN_KEY);
		break;
	case 1:
		job = job_refused(from, to, kind, region->key, last + 2 - beyond, length, cause);
		break;
	default:
		job = job_refused(from, to, kind, region->key, 0 - beyond, length + beyond,
				  cause == REFUSAL_RIGHT ? cause : REFUSAL_WRAP);
	}
	if (load->churn_permille)
		job_may(job, REFUSAL_CLOSED);
	load->ops_left -= !job_post(job);
}

/* Closes a region that may be in use, or brings it back. The last two stay: there no right access may fail. */
static void churn(const struct workload *load)
{
	struct party *party = draw_party(load);
	struct region *region = load->region[party->id][draw(load, 3)];

	if (!usable(party))
		return;
	if (region->mr)
		region_end(region);
	else
		region_again(region, region->access);
}

static void live_on(const struct workload *load)
{
	struct party *party = draw_party(load);
	struct region *single = load->single[party->id];

	if (!usable(party))
		return;
	if (percent(load, 50)) {
		region_step(load->gated[party->id]);
	} else if (single->used_life == single->life || percent(load, 20)) {
		region_end(single);
		region_again(single, single->access);
	}
}

static void post_one(struct workload *load)
{
	struct party *from = draw_party(load), *to = draw_party(load);
	bool message = load->sends && (!load->rma || percent(load, 40));

	if (message && load->ring)
		to = load->model->party[(from->id + 1) % load->model->parties];
	if (!usable(from) || from->index[to->id] == AV_NONE || to->successor)
		return;
	if (message)
		post_message(load, from, to);
	else if (percent(load, load->wrong_percent))
		post_wrong(load, from, to);
	else if (load->atomic_percent && percent(load, load->atomic_percent))
		post_atomic(load, from, to);
	else
		post_rma(load, from, to);
}

static void post_receives(const struct workload *load)
{
	static const uint64_t ignore[] = { 0, 0, 3, 1ull << 63, UINT64_MAX };
	struct party *party = draw_party(load);
	struct party *source = percent(load, 10) ? draw_party(load) : NULL;
	uint64_t size = percent(load, 80) ? load->big_max : 64 + draw_length(load, load->big_max);

	/* With those that drain what is left, less than any rx_size drawn. */
	if (!load->sends || !usable(party) || party->intakes_open >= (load->tag_percent ? 31 : 32) ||
	    (source && (party->index[source->id] == AV_NONE || source->successor)))
		return;
	if (draw_tagged(load))
		intake_post_tagged(party, size, draw_iovs(load, size), source, draw_tag(load), ignore[draw(load, 5)]);
	else
		intake_post(party, size, draw_iovs(load, size), source);
}

/* A party that died comes back: no op is posted to the old one any more, and ops posted before may reach the new one. */
static void come_back(struct workload *load)
{
	struct model *model = load->model;
	struct node *node = node_open(model->world, NULL);
	int parties = model->parties;

	load->returns = false;
	load->ring = model->one_source = false;
	job_outcome(&model->peers_may, REFUSAL_UNKNOWN_KEY);
	/* A stream that takes a few bytes at a time may never take the whole BYE that would tell of the other. */
	job_outcome(&model->peers_may, REFUSAL_UNREACHABLE);
	for (int i = 0; i < parties; i++)
		if (model->party[i]->node == load->victim)
			furnish(load, party_again(model->party[i], node, NULL));
}

static void die_or_return(struct workload *load)
{
	if (load->victim && !load->victim->dead && load->ops_left <= load->dies_at)
		model_kill(load->model, load->victim);
	else if (load->returns && load->victim->dead && percent(load, 5))
		come_back(load);
}

void workload_run(struct workload *load, uint64_t limit_ns)
{
	struct model *model = load->model;
	uint64_t until = model->world->now_ns + limit_ns;

	/* Writes with CQ data may take receives, and come from everywhere. */
	model->one_source = load->ring && !(model->party[0]->rules & EP_RULE_DATA_RECEIVES);
	while (load->ops_left) {
		die_or_return(load);
		if (model->open < load->outstanding_max)
			post_one(load);
		if (percent(load, 40))
			post_receives(load);
		if (load->tag_percent && percent(load, 5)) /* where no tag is asked for that waits */
			model_post_lacking(model);
		if (draw(load, 1000) < load->churn_permille)
			churn(load);
		if (load->lives && percent(load, 6))
			live_on(load);
		model_step(model);
		WORLD_CHECK(model->world, model->world->now_ns < until, "%llu ops could not be posted in time",
			    (unsigned long long)load->ops_left);
	}
	model_end(model, limit_ns);
}
