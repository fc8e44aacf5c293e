/* SPDX-License-Identifier: BSD-2-Clause */
/* job.c - posted ops: what is sent, and the judgement of what came of it. */
#include <assert.h>
#include <stdlib.h>

#include "emu/nic/errno.h"
#include "tests/sim/model.h"

static const uint64_t kind_flags[] = {
	[OP_SEND] = CQ_F_SEND | CQ_F_MSG, [OP_WRITE] = CQ_F_WRITE | CQ_F_RMA, [OP_READ] = CQ_F_READ | CQ_F_RMA,
};
static const enum ep_counter kind_counter[] = {
	[OP_SEND] = EP_CNTR_SEND, [OP_WRITE] = EP_CNTR_WRITE, [OP_READ] = EP_CNTR_READ,
};
static const char *const kind_names[] = { "send", "write", "read" };

static struct world *job_world(const struct job *job)
{
	return job->from->model->world;
}

static _Noreturn void job_fail(const struct job *job, const char *what, uint64_t number)
{
	world_fail(job_world(job), "job %llu (%s of %llu bytes, flags %#x, party %d to %d): %s (%llu)",
		   (unsigned long long)job->id, kind_names[job->kind], (unsigned long long)job->length, job->flags,
		   job->from->id, job->to->id, what, (unsigned long long)number);
}

#define JOB_CHECK(job, cond, what, number) do { if (!(cond)) job_fail(job, what, number); } while (0)

/* Local memory in `n` pieces with red zones around each. */
static void job_memory(struct job *job, size_t n)
{
	uint64_t piece = job->length / n;
	size_t size = job->length + (n + 1) * JOB_RED;

	assert(n && n <= LIMIT_IOV);
	job->block = malloc(size);
	job->bytes = malloc(job->length + 1);
	assert(job->block && job->bytes);
	memset(job->block, 0x5a, size);
	job->iovs = n;
	for (size_t i = 0; i < n; i++) {
		job->iov[i].iov_base = job->block + JOB_RED + i * (piece + JOB_RED);
		job->iov[i].iov_len = i + 1 < n ? piece : job->length - piece * (n - 1);
	}
}

/* Fills the local memory from job->bytes. */
static void job_load(struct job *job)
{
	const uint8_t *from = job->bytes;

	for (size_t i = 0; i < job->iovs; i++) {
		memcpy(job->iov[i].iov_base, from, job->iov[i].iov_len);
		from += job->iov[i].iov_len;
	}
}

static struct job *job_new(struct party *from, struct party *to, enum op_kind kind, uint64_t length, uint32_t flags,
			   size_t iovs)
{
	struct model *model = from->model;
	struct job *job = calloc(1, sizeof(*job));

	assert(job);
	if (model->jobs + 1 >= model->jobs_room) {
		model->jobs_room = model->jobs_room ? model->jobs_room * 2 : 64;
		model->job = realloc(model->job, model->jobs_room * sizeof(job));
		assert(model->job);
	}
	*job = (struct job){
		.owed = OWED_JOB, .id = ++model->jobs, .from = from, .to = to, .kind = kind, .flags = flags,
		.may.good = true, .length = length,
	};
	model->job[job->id] = job;
	job_memory(job, iovs);
	rnd_fill(&model->world->rnd, job->bytes, length);
	return job;
}

struct job *job_message(struct party *from, struct party *to, uint64_t length, uint32_t flags, size_t iovs)
{
	struct job *job = job_new(from, to, OP_SEND, length, flags, iovs);

	if (length >= JOB_TAG_BYTES)
		memcpy(job->bytes, &job->id, JOB_TAG_BYTES);
	else
		job->flags |= POST_CQ_DATA;
	job_load(job);
	return job;
}

struct job *job_rma(struct party *from, struct region *region, enum op_kind kind, uint64_t offset, uint64_t length,
		    uint32_t flags, size_t iovs)
{
	struct job *job;

	if (!region_claim(region, offset, length))
		return NULL;
	job = job_new(from, region->owner, kind, length, flags, iovs);
	job->region = region;
	job->life = region->life;
	job->claims = true;
	job->offset[0] = offset;
	job->remotes = 1;
	job->remote[0] = (struct remote){ length ? region_addr(region, offset) : region_addr(region, 0), length, region->key };
	if (kind == OP_READ)
		region_get_shadow(region, offset, job->bytes, length);
	else
		job_load(job);
	job->clean = kind == OP_WRITE;
	return job;
}

void job_split_remote(struct job *job, size_t n)
{
	uint64_t piece = job->length / n, at = job->offset[0];

	assert(n <= LIMIT_IOV && job->remotes == 1 && job->length);
	for (size_t i = 0; i < n; i++) {
		job->offset[i] = at;
		job->remote[i].addr = region_addr(job->region, at);
		job->remote[i].length = i + 1 < n ? piece : job->length - piece * (n - 1);
		job->remote[i].key = job->region->key;
		at += job->remote[i].length;
	}
	job->remotes = n;
}

struct job *job_refused(struct party *from, struct party *to, enum op_kind kind, uint64_t key, uint64_t addr,
			uint64_t length, enum refusal_cause cause)
{
	struct job *job = job_new(from, to, kind, length, POST_COMPLETE, 1);

	job_load(job);
	job->remote[0] = (struct remote){ addr, length, key };
	job->remotes = 1;
	job->clean = true;
	job->may = (struct outcomes){ 0 };
	job_may(job, cause);
	return job;
}

void job_use_memory(struct job *job, void *memory)
{
	if (job->kind != OP_READ)
		memcpy(memory, job->bytes, job->length);
	free(job->block);
	job->block = NULL;
	job->iov[0] = (struct iovec){ memory, job->length };
	job->iovs = 1;
}

void job_outcome(struct outcomes *outcomes, enum refusal_cause cause)
{
	if (cause < 64)
		outcomes->wire |= 1ull << cause;
	else
		outcomes->local |= 1ull << (cause - 64);
}

void job_may(struct job *job, enum refusal_cause cause)
{
	job_outcome(&job->may, cause);
}

/* It never was. */
static void job_unpost(struct job *job)
{
	struct model *model = job->from->model;

	if (job->claims)
		region_release(job->region, job->offset[0], job->length);
	assert(job->id == model->jobs);
	model->jobs--;
	job_free(job);
}

int job_post(struct job *job)
{
	struct model *model = job->from->model;
	struct post post = {
		.kind = job->kind, .flags = job->flags, .dest = job->from->index[job->to->id], .iov = job->iov,
		.iov_count = job->iovs, .remote = job->remote, .remote_count = job->remotes, .context = job,
		.cq_data = job->flags & POST_CQ_DATA ? job->id : 0, .cq_flags = kind_flags[job->kind],
	};
	int rc;

	/* The device may be done with it before the call returns. */
	job->posted = true;
	rc = ep_post(job->from->ep, &post);
	if (rc) {
		JOB_CHECK(job, rc == -EAGAIN, "ep_post failed", (uint64_t)-rc);
		job_unpost(job);
		return rc;
	}
	if (job->flags & POST_INJECT)
		for (size_t i = 0; i < job->iovs; i++)
			memset(job->iov[i].iov_base, 0xee, job->iov[i].iov_len);
	model->open++;
	job->from->posted[kind_counter[job->kind]]++;
	job->number = ++model->numbers[job->from->id][job->to->id];
	if (job->kind == OP_SEND)
		job->message = ++model->messages[job->from->id][job->to->id];
	return 0;
}

static void check_red(const struct job *job)
{
	const uint8_t *at = job->block;

	if (!at)
		return;

	for (size_t i = 0; i <= job->iovs; i++) {
		for (size_t n = 0; n < JOB_RED; n++)
			JOB_CHECK(job, at[n] == 0x5a, "bytes beside its buffer changed: piece", i);
		at += JOB_RED + (i < job->iovs ? job->iov[i].iov_len : 0);
	}
}

/* Is what lies in the region now what the outcome says? The shadow is brought up to it. */
static void settle_write(struct job *job)
{
	uint8_t *now = malloc(job->length + 1), *before = malloc(job->length + 1);

	assert(now && before);
	region_get(job->region, job->offset[0], now, job->length);
	region_get_shadow(job->region, job->offset[0], before, job->length);
	for (uint64_t i = 0; i < job->length; i++) {
		bool fresh = now[i] == job->bytes[i], old = now[i] == before[i];

		JOB_CHECK(job, job->failed || fresh, "good, but this byte was not written:", i);
		JOB_CHECK(job, !job->failed || !job->clean || job->vague || old, "refused, but this byte was written:", i);
		JOB_CHECK(job, fresh || old || (job->vague && !now[i]), "this byte is neither old nor new:", i);
	}
	region_set_shadow(job->region, job->offset[0], now, job->length);
	free(now);
	free(before);
}

/* What was read; or, of an access that could not but be refused, what was there before. */
static void settle_read(const struct job *job)
{
	const uint8_t *want = job->bytes;

	for (size_t i = 0; i < job->iovs; i++) {
		const uint8_t *got = job->iov[i].iov_base;

		for (size_t n = 0; n < job->iov[i].iov_len; n++)
			JOB_CHECK(job, got[n] == want[n], "this byte of the local buffer is wrong:",
				  (uint64_t)(want - job->bytes) + n);
		want += job->iov[i].iov_len;
	}
}

static void judge_error(const struct job *job, const struct cq_error *error)
{
	static const struct outcomes nothing;
	bool gone = job->to->node->dead || !job->to->ep;
	const struct outcomes *peers_may = gone ? &job->from->model->peers_may : &nothing;
	unsigned cause = (unsigned)error->prov_errno;
	uint64_t may = cause < 64 ? job->may.wire | peers_may->wire : job->may.local | peers_may->local;

	if (cause >= 128 || !(may >> (cause & 63) & 1))
		world_fail(job_world(job), "job %llu (%s of %llu bytes, flags %#x, party %d to %d) ended with err %d cause %u: %s",
			   (unsigned long long)job->id, kind_names[job->kind], (unsigned long long)job->length, job->flags,
			   job->from->id, job->to->id, error->err, cause, error->text);
	JOB_CHECK(job, error->err > 0, "error entry without err", 0);
	JOB_CHECK(job, error->text[0], "error entry without a sentence", cause);
	if (cause >= REFUSAL_UNKNOWN_KEY && cause <= REFUSAL_WRAP)
		JOB_CHECK(job, error->err == EACCES, "refusal with err", (uint64_t)error->err);
	if (cause == REFUSAL_NOT_BACKED || cause == REFUSAL_SOURCE_FAULT)
		JOB_CHECK(job, error->err == EFAULT, "fault with err", (uint64_t)error->err);
}

static void judge_good(const struct job *job, const struct completion *c)
{
	JOB_CHECK(job, job->may.good, "completed well, but must be refused", 0);
	if (!c)
		return;
	JOB_CHECK(job, c->flags == kind_flags[job->kind], "completion has flags", c->flags);
	JOB_CHECK(job, job->flags & POST_COMPLETE, "a completion that was not asked for", 0);
}

/* A fenced op is done only after all that its party had posted to that peer before. */
static void judge_fence(const struct job *job)
{
	const struct model *model = job->from->model;

	if (!(job->flags & POST_FENCE) || job->failed)
		return;
	for (uint64_t id = 1; id < job->id; id++) {
		const struct job *other = model->job[id];

		if (other->from != job->from || other->to != job->to || !(other->flags & POST_COMPLETE))
			continue;
		JOB_CHECK(job, other->done, "fenced, but done before job", other->id);
	}
}

static void count(struct job *job)
{
	enum ep_counter counter = kind_counter[job->kind];

	if (job->failed)
		job->from->bad[counter]++;
	else
		job->from->good[counter]++;
	if (job->kind != OP_WRITE)
		return;
	job->to->remote_most += job->remotes;
	job->to->remote_least += job->failed ? 0 : job->remotes;
}

bool job_is_heard_of(const struct job *job)
{
	return job->kind == OP_SEND || job->flags & POST_CQ_DATA;
}

void job_done(struct job *job, const struct cq_error *error, const struct completion *c)
{
	struct model *model = job->from->model;
	JOB_CHECK(job, job->posted && !job->done, "completed again", 0);
	job->done = true;
	job->failed = error;
	job->vague = error && error->prov_errno > REFUSAL_WIRE_MAX;
	model->open--;
	model->completions++;
	if (error)
		judge_error(job, error);
	else
		judge_good(job, c);
	check_red(job);
	judge_fence(job);
	if (job->kind == OP_WRITE && job->region && job->to->ep)
		settle_write(job);
	if (job->kind == OP_READ && (!job->failed || job->clean))
		settle_read(job);
	/* Of an op given up some bytes may still come, long after: nobody else gets the range. */
	if (job->claims && !job->vague)
		region_release(job->region, job->offset[0], job->length);
	job->claims = false;
	count(job);
	model->hearings += !job->failed && !job->to->node->dead && job_is_heard_of(job) && !job->delivered;
}

void job_heard(struct job *job, struct party *at)
{
	struct model *model = job->from->model;

	JOB_CHECK(job, job->to == at, "heard of by party", (uint64_t)at->id);
	JOB_CHECK(job, !job->delivered, "arrived twice", 0);
	JOB_CHECK(job, job->posted, "arrived though never posted", 0);
	JOB_CHECK(job, !job->done || !job->failed || job->from->node->dead || job->may.local, "failed, but arrived", 0);
	job->delivered = true;
	model->hearings -= job->done && !job->failed;
	if (job->kind != OP_WRITE)
		return;
	JOB_CHECK(job, job->number > model->heard[job->from->id][at->id], "its CQ data came after that of write",
		  model->heard[job->from->id][at->id]);
	model->heard[job->from->id][at->id] = job->number;
	if (job->done)
		return;
	for (uint64_t i = 0; i < job->length; i++) {
		uint8_t byte;

		region_get(job->region, job->offset[0] + i, &byte, 1);
		JOB_CHECK(job, byte == job->bytes[i], "its CQ data came before this byte:", i);
	}
}

void job_free(struct job *job)
{
	free(job->block);
	free(job->bytes);
	free(job);
}
