/* SPDX-License-Identifier: BSD-2-Clause */
/* model.c - reads what programs would read, and checks that it adds up. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/nic/base/errno.h"
#include "tests/sim/harness/lines.h"
#include "tests/sim/harness/model.h"

/* The bytes that the regions of the flush hold now would survive a power cut. */
static void durable(void *arg, const struct flush *flush)
{
	const struct model *model = arg;

	for (const struct region *region = model->regions; region; region = region->next)
		for (uint8_t i = 0; i < flush->count; i++)
			region_keep(region, flush->run[i].iov_base, flush->run[i].iov_len);
}

struct model *model_open(struct world *world)
{
	struct model *model = calloc(1, sizeof(*model));

	assert(model);
	model->world = world;
	world->durable = durable;
	world->durable_arg = model;
	model->counts_exact = true;
	return model;
}

/* --- what programs read --- */

static void access_check(struct party *party, const struct cq_error *error, const struct completion *c)
{
	struct model *model = party->model;
	enum owed_kind *owed = c->context;

	if (owed && *owed == OWED_JOB) {
		job_done(c->context, error, c);
	} else if (owed && *owed == OWED_INTAKE) {
		intake_done(c->context, error, c);
	} else {
		WORLD_CHECK(model->world, !owed && !error, "party %d: a completion with a strange context", party->id);
		WORLD_CHECK(model->world, c->data && c->data <= model->jobs, "party %d: CQ data %llu that nobody sent", party->id,
			    (unsigned long long)c->data);
		WORLD_CHECK(model->world, job_is_told(model->job[c->data], c), "party %d: completion of a remote op has flags %llx",
			    party->id, (unsigned long long)c->flags);
		job_heard(model->job[c->data], party);
	}
}

static void read_queue(struct party *party, struct cq *cq)
{
	struct completion c[8];
	struct cq_error error;
	ssize_t n;

	while ((n = cq_take(cq, c, 1 + rnd_below(&party->model->world->rnd, 8))) != -EAGAIN) {
		for (ssize_t i = 0; i < n; i++)
			access_check(party, NULL, &c[i]);
		if (n >= 0)
			continue;
		WORLD_CHECK(party->model->world, n == -NIC_EAVAIL && cq_take_error(cq, &error) == 1, "party %d: cq_take says %zd",
			    party->id, n);
		access_check(party, &error, &error.c);
	}
}

/* Jobs that make no entry when they end well: by the counters they are all done. */
static void read_counter(struct party *party, enum ep_counter counter)
{
	struct model *model = party->model;
	uint64_t good = cntr_read(party->cntr[counter]), bad = cntr_read_error(party->cntr[counter]);

	WORLD_CHECK(model->world, good + bad <= party->posted[counter], "party %d: counter %d counts %llu + %llu of %llu",
		    party->id, counter, (unsigned long long)good, (unsigned long long)bad,
		    (unsigned long long)party->posted[counter]);
	if (good + bad < party->posted[counter] || bad != party->bad[counter] || good == party->good[counter])
		return;
	for (uint64_t id = 1; id <= model->jobs; id++) {
		struct job *job = model->job[id];

		if (job->from == party && job_counter(job) == counter && !job->done && !(job->flags & POST_COMPLETE))
			job_done(job, NULL, NULL);
	}
}

void model_read(struct party *party)
{
	read_queue(party, party->tx);
	if (party->rx != party->tx)
		read_queue(party, party->rx);
	read_counter(party, EP_CNTR_SEND);
	read_counter(party, EP_CNTR_WRITE);
	read_counter(party, EP_CNTR_READ);
}

bool model_step(struct model *model)
{
	struct world *world = model->world;
	uint64_t before = model->completions, open = model->open, cuts = world->cuts;
	bool idle = world_idle(world); /* programs look at their queues before time passes */
	bool alive = idle || world_step(world);

	for (int i = 0; i < model->parties; i++) {
		struct party *party = model->party[i];

		if (!party->node->dead && !party->deaf && (idle || rnd_percent(&world->rnd, party->reads_slowly ? 2 : 50)))
			model_read(party);
	}
	if (idle && before == model->completions)
		alive = world_step(world);
	else if (idle)
		world->idle = 0;
	model->cuts += open ? world->cuts - cuts : 0;
	return alive;
}

/* --- running to an end --- */

static void say_open(const struct model *model)
{
	for (uint64_t id = 1, said = 0; id <= model->jobs && said < 10; id++) {
		const struct job *job = model->job[id];

		if (job->done)
			continue;
		fprintf(stderr, "  open: job %llu kind %d length %llu flags %#x party %d to %d\n", (unsigned long long)id,
			job->kind, (unsigned long long)job->length, job->flags, job->from->id, job->to->id);
		said++;
	}
	for (int i = 0; i < model->parties; i++)
		fprintf(stderr, "  party %d: %llu receives open, %llu and %llu of them for all\n", i,
			(unsigned long long)model->party[i]->intakes_open, (unsigned long long)model->party[i]->intakes_any[false],
			(unsigned long long)model->party[i]->intakes_any[true]);
}

static _Noreturn void never_done(const struct model *model, bool alive)
{
	say_open(model);
	world_fail(model->world, "%llu jobs are open, %llu messages or CQ data not heard of, and %s",
		   (unsigned long long)model->open, (unsigned long long)model->hearings,
		   alive ? "time is up" : "nothing will ever happen");
}

void model_finish(struct model *model, uint64_t limit_ns)
{
	uint64_t until = model->world->now_ns + limit_ns;

	while (model->open) {
		bool alive = model_step(model);

		if (model->open && (!alive || model->world->now_ns >= until))
			never_done(model, alive);
	}
}

static uint64_t longest_unheard(const struct party *party, bool tagged)
{
	const struct model *model = party->model;
	uint64_t longest = 0, unheard = 0;

	for (uint64_t id = 1; id <= model->jobs; id++) {
		const struct job *job = model->job[id];

		if (!job_takes_receive(job) || !job_reaches(job, party) || job->delivered || (job->done && job->failed) ||
		    tagged != ((job->flags & POST_TAGGED) != 0))
			continue;
		unheard++;
		longest = job->length > longest ? job->length : longest;
	}
	return unheard ? longest + JOB_TAG_BYTES : 0;
}

/* A receive whose message was coming from a peer that has died ends when its NIC finds that out. */
static void wait_for_death(struct model *model, const struct intake *intake)
{
	uint64_t until = model->world->now_ns + SIM_SECOND;

	while (model->peers_may.local && !intake->done && model->world->now_ns < until && model_step(model))
		;
}

static void take_back_one(struct model *model, struct intake *intake)
{
	struct party *party = intake->party;
	int rc;

	model_read(party);
	if (intake->done)
		return;
	intake->cancelled = true;
	node_enter(party->node);
	rc = ep_cancel(party->ep, intake);
	node_leave(party->node);
	if (rc == -ENOENT)
		wait_for_death(model, intake);
	model_read(party);
	WORLD_CHECK(model->world, intake->done, "a cancelled receive did not complete: %d", rc);
}

static void take_back(struct model *model)
{
	for (struct intake *intake = model->intakes; intake; intake = intake->next)
		if (!intake->done && !intake->party->node->dead && intake->party->ep)
			take_back_one(model, intake);
}

void model_post_lacking(struct model *model)
{
	for (int i = 0; i < model->parties; i++) {
		struct party *party = model->party[i];
		bool gone = party->node->dead || !party->ep;
		uint64_t size = party->intakes_any[false] || gone ? 0 : longest_unheard(party, false);
		uint64_t tagged = party->intakes_any[true] || gone ? 0 : longest_unheard(party, true);

		if (size)
			intake_post(party, size, 1, NULL);
		if (tagged)
			intake_post_tagged(party, tagged, 1, NULL, 0, UINT64_MAX);
	}
}

void model_drain(struct model *model, uint64_t limit_ns)
{
	uint64_t until = model->world->now_ns + limit_ns;

	while (model->open || model->hearings) {
		bool alive;

		model_post_lacking(model);
		alive = model_step(model);
		if ((model->open || model->hearings) && (!alive || model->world->now_ns >= until))
			never_done(model, alive);
	}
	take_back(model);
}

static bool all_quiet(const struct model *model)
{
	for (int i = 0; i < model->parties; i++) {
		struct party *party = model->party[i];
		bool quiet;

		if (party->node->dead || !party->ep)
			continue;
		node_enter(party->node);
		quiet = ep_quiet(party->ep);
		node_leave(party->node);
		if (!quiet)
			return false;
	}
	return !lines_in_flight(model->world);
}

void model_quiet(struct model *model, uint64_t limit_ns)
{
	uint64_t until = model->world->now_ns + limit_ns;

	while (!all_quiet(model)) {
		WORLD_CHECK(model->world, model->world->now_ns < until, "not quiet, though nothing is owed: %llu bytes under way",
			    (unsigned long long)lines_in_flight(model->world));
		if (!model_step(model))
			break;
	}
	WORLD_CHECK(model->world, all_quiet(model), "nothing happens, but an endpoint is not quiet");
}

void model_pass(struct model *model, uint64_t ns)
{
	uint64_t until = model->world->now_ns + ns;

	world_until(model->world, until);
	while (model->world->now_ns < until && model_step(model))
		;
	world_until(model->world, UINT64_MAX);
}

void model_kill(struct model *model, struct node *node)
{
	node_kill(node);
	job_outcome(&model->peers_may, REFUSAL_PEER_GONE);
	model->counts_exact = false;
	for (uint64_t id = 1; id <= model->jobs; id++) {
		struct job *job = model->job[id];

		if (job->to->node == node && job->done && !job->failed && job_is_heard_of(job) && !job->delivered) {
			model->hearings--;
			job->delivered = true;
		}
		if (job->from->node != node || job->done)
			continue;
		job->done = job->failed = true;
		model->open--;
	}
}

void model_scarce(struct model *model)
{
	static const enum refusal_cause causes[] = {
		REFUSAL_RESOURCE, REFUSAL_NO_SESSION, REFUSAL_PEER_GONE, REFUSAL_PROTOCOL, REFUSAL_UNREACHABLE,
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		job_outcome(&model->peers_may, causes[i]);
		job_outcome(&model->any_may, causes[i]);
	}
}

/* --- what must hold in the end --- */

/* Of one sender, a message takes the receive posted first of those that fit it. But a receive whose message was cut off
 * is free again, for a later message of a sender whose earlier message found it taken. */
static void check_order_before(const struct model *model, const struct intake *later)
{
	for (const struct intake *earlier = later->next; earlier; earlier = earlier->next) {
		if (earlier->party != later->party || !earlier->got || earlier->got->from != later->got->from ||
		    earlier->got->from->order & EP_ORDER_NONE ||
		    (model->messages_pass && !(earlier->got->from->order & EP_ORDER_SAS)))
			continue;
		WORLD_CHECK(model->world, later->got->message > earlier->got->message || !intake_would_take(earlier, later->got),
			    "party %d: receive %llu got message %llu of party %d, a later one got message %llu", later->party->id,
			    (unsigned long long)earlier->index, (unsigned long long)earlier->got->message, later->got->from->id,
			    (unsigned long long)later->got->message);
	}
}

static void check_order(const struct model *model)
{
	/* A write with CQ data that is refused gives the receive back that it had. */
	bool back = model->parties && model->party[0]->rules & EP_RULE_DATA_RECEIVES;

	if ((world_breaks(model->world) || model->peers_may.local || back) && !model->one_source)
		return;
	for (const struct intake *intake = model->intakes; intake; intake = intake->next) /* latest first */
		if (intake->got)
			check_order_before(model, intake);
}

static void check_counters(const struct party *party)
{
	struct world *world = party->model->world;
	uint64_t remote = cntr_read(party->cntr[EP_CNTR_REMOTE_WRITE]);

	uint64_t changed = cntr_read(party->events.cntr);
	bool deaths = party->model->peers_may.local;

	WORLD_CHECK(world, changed >= party->changed_least && (deaths || changed <= party->changed_most),
		    "party %d counts %llu writes into its gated regions, not %llu to %llu", party->id, (unsigned long long)changed,
		    (unsigned long long)party->changed_least, (unsigned long long)party->changed_most);
	for (int i = EP_CNTR_SEND; i <= EP_CNTR_WRITE; i++) {
		uint64_t good = cntr_read(party->cntr[i]), bad = cntr_read_error(party->cntr[i]);

		WORLD_CHECK(world, good == party->good[i] && bad == party->bad[i],
			    "party %d counter %d: %llu good %llu bad, but %llu and %llu were seen", party->id, i,
			    (unsigned long long)good, (unsigned long long)bad, (unsigned long long)party->good[i],
			    (unsigned long long)party->bad[i]);
	}
	WORLD_CHECK(world,
		    party->unwatched || !party->model->counts_exact ||
			    (remote >= party->remote_least && remote <= party->remote_most),
		    "party %d counts %llu remote writes, not %llu to %llu", party->id, (unsigned long long)remote,
		    (unsigned long long)party->remote_least, (unsigned long long)party->remote_most);
}

void model_check(struct model *model)
{
	for (const struct region *region = model->regions; region; region = region->next)
		if (region->owner->ep && !region->owner->node->dead)
			region_check(region);
	for (int i = 0; i < model->parties; i++)
		if (!model->party[i]->node->dead)
			check_counters(model->party[i]);
	check_order(model);
}

void model_end(struct model *model, uint64_t limit_ns)
{
	model_drain(model, limit_ns);
	if (model->writes_held)
		model_pass(model, 2 * SIM_SECOND);
	model_quiet(model, limit_ns);
	model_check(model);
}

void model_close(struct model *model)
{
	while (model->regions) {
		struct region *region = model->regions;

		model->regions = region->next;
		if (region->mr && region->owner->node->nic) {
			node_enter(region->owner->node);
			pd_remove_region(region->owner->pd, region->mr);
			node_leave(region->owner->node);
		}
		region_free(region);
	}
	for (int i = 0; i < model->parties; i++)
		party_shut(model->party[i]);
	for (int i = 0; i < model->world->nodes; i++)
		node_close(model->world->node[i]);
	for (int i = 0; i < model->parties; i++)
		party_free(model->party[i]);
	world_close(model->world);
	for (uint64_t id = 1; id <= model->jobs; id++)
		job_free(model->job[id]);
	while (model->intakes) {
		struct intake *intake = model->intakes;

		model->intakes = intake->next;
		intake_free(intake);
	}
	free(model->job);
	free(model);
}
