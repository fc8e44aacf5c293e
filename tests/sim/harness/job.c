/* SPDX-License-Identifier: BSD-2-Clause */
/* job.c - posted ops: what is sent, and the judgement of what came of it. */
#include <assert.h>
#include <stdlib.h>

#include "emu/nic/base/errno.h"
#include "tests/sim/harness/model.h"

static const char *const kind_names[] = { "send", "write", "read", "atomic" };

static uint64_t job_flags(const struct job *job)
{
	static const uint64_t flags[] = {
		[OP_SEND] = CQ_F_SEND | CQ_F_MSG,
		[OP_WRITE] = CQ_F_WRITE | CQ_F_RMA,
		[OP_READ] = CQ_F_READ | CQ_F_RMA,
	};

	if (job->flags & POST_TAGGED)
		return CQ_F_SEND | CQ_F_TAGGED;
	if (job->kind != OP_ATOMIC)
		return flags[job->kind];
	return CQ_F_ATOMIC | (job->result ? CQ_F_READ : CQ_F_WRITE);
}

enum ep_counter job_counter(const struct job *job)
{
	static const enum ep_counter counters[] = {
		[OP_SEND] = EP_CNTR_SEND,
		[OP_WRITE] = EP_CNTR_WRITE,
		[OP_READ] = EP_CNTR_READ,
		[OP_ATOMIC] = EP_CNTR_WRITE,
	};

	return job->result ? EP_CNTR_READ : counters[job->kind];
}

bool job_is_told(const struct job *job, const struct completion *c)
{
	uint64_t done = job->kind == OP_WRITE ? CQ_F_RMA | CQ_F_REMOTE_WRITE
					      : CQ_F_ATOMIC | (job->result ? CQ_F_REMOTE_READ : CQ_F_REMOTE_WRITE);

	return job->kind != OP_SEND && c->flags == (done | CQ_F_REMOTE_CQ_DATA | job_told_flags(job));
}

/* Does it change the target? */
static bool job_changes(const struct job *job)
{
	return job->kind == OP_WRITE || (job->kind == OP_ATOMIC && job->what.op != ATOMIC_READ);
}

static struct world *job_world(const struct job *job)
{
	return job->from->model->world;
}

static _Noreturn void job_fail(const struct job *job, const char *what, uint64_t number)
{
	world_fail(job_world(job), "job %llu (%s of %llu bytes, flags %#x, party %d to %d): %s (%llu)", (unsigned long long)job->id,
		   kind_names[job->kind], (unsigned long long)job->length, job->flags, job->from->id, job->to->id, what,
		   (unsigned long long)number);
}

#define JOB_CHECK(job, cond, what, number)           \
	do {                                         \
		if (!(cond))                         \
			job_fail(job, what, number); \
	} while (0)

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

static struct job *job_new(struct party *from, struct party *to, enum op_kind kind, uint64_t length, uint32_t flags, size_t iovs)
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
		.owed = OWED_JOB,
		.id = ++model->jobs,
		.from = from,
		.to = to,
		.kind = kind,
		.flags = flags,
		.may.good = true,
		.length = length,
	};
	model->job[job->id] = job;
	job->may.wire |= model->any_may.wire;
	job->may.local |= model->any_may.local;
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

void job_tag(struct job *job, uint64_t tag)
{
	job->flags |= POST_TAGGED;
	job->tag = tag;
}

/* A job that has claimed one range of the region, with what may come of that. */
static struct job *job_ranged(struct party *from, struct region *region, enum op_kind kind, uint64_t offset, uint64_t length,
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
	job->remote[0] = (struct remote){
		.addr = region_addr(region, length ? offset : 0),
		.length = length,
		.key = region->key,
	};
	job->clean = kind != OP_READ;
	if ((flags & POST_COMMIT) && from->model->world->weather.flush_fail_percent) {
		job->clean = false;
		job_may(job, REFUSAL_NOT_FLUSHED);
	}
	if (region->single_use) { /* cut in the middle it gives the region back, and may find it used up */
		job->clean = job->clean && !world_breaks(from->model->world);
		job_may(job, REFUSAL_SPENT);
	}
	if (region->closed)
		job_may(job, region->closed);
	job->may.good = !region->closed && !(region->single_use && region->used_life == region->life);
	return job;
}

struct job *job_rma(struct party *from, struct region *region, enum op_kind kind, uint64_t offset, uint64_t length, uint32_t flags,
		    size_t iovs)
{
	struct job *job = job_ranged(from, region, kind, offset, length, flags, iovs);

	if (!job)
		return NULL;
	if (kind == OP_READ)
		region_get_shadow(region, offset, job->bytes, length);
	else
		job_load(job);
	return job;
}

static uint8_t *job_buffer(const struct job *job)
{
	uint8_t *buffer = malloc(job->length);

	assert(buffer);
	memset(buffer, 0xc3, job->length);
	return buffer;
}

/* From the operands, which job->bytes holds, and what was there to what must come out. */
static void job_compute(struct job *job, enum job_atomic which)
{
	uint64_t old, operand;

	for (uint64_t at = 0; at < job->length; at += sizeof(old)) {
		memcpy(&old, job->was + at, sizeof(old));
		memcpy(&operand, job->bytes + at, sizeof(operand));
		if (which == JOB_NO_SWAP)
			memset(job->compare + at, ~job->was[at], 1);
		old = which == JOB_SWAP ? operand : which == JOB_NO_SWAP || which == JOB_FETCH ? old : old + operand;
		memcpy(job->bytes + at, &old, sizeof(old));
	}
}

struct job *job_atomic(struct party *from, struct region *region, enum job_atomic which, uint64_t offset, uint64_t length,
		       uint32_t flags, size_t iovs)
{
	static const struct atomic_what whats[] = {
		[JOB_SUM] = { ATOMIC_PLAIN, ATOMIC_SUM, ATOMIC_UINT64 },
		[JOB_FETCH_SUM] = { ATOMIC_FETCH, ATOMIC_SUM, ATOMIC_UINT64 },
		[JOB_SWAP] = { ATOMIC_COMPARE, ATOMIC_CSWAP, ATOMIC_UINT64 },
		[JOB_NO_SWAP] = { ATOMIC_COMPARE, ATOMIC_CSWAP, ATOMIC_UINT64 },
		[JOB_FETCH] = { ATOMIC_FETCH, ATOMIC_READ, ATOMIC_UINT64 },
	};
	struct job *job = job_ranged(from, region, OP_ATOMIC, offset, length, flags, iovs);

	assert(length && length % sizeof(uint64_t) == 0);
	if (!job)
		return NULL;
	job_load(job);
	job->what = whats[which];
	job->keeps = which == JOB_NO_SWAP;
	job->was = job_buffer(job);
	region_get_shadow(region, offset, job->was, length);
	if (which != JOB_SUM)
		job->result = job_buffer(job);
	if (job->what.kind == ATOMIC_COMPARE) {
		job->compare = job_buffer(job);
		memcpy(job->compare, job->was, length);
	}
	job_compute(job, which);
	return job;
}

void job_split_remote(struct job *job, size_t n)
{
	uint64_t unit = job->kind == OP_ATOMIC ? sizeof(uint64_t) : 1, piece = job->length / n / unit * unit;
	uint64_t at = job->offset[0];

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

struct job *job_refused(struct party *from, struct party *to, enum op_kind kind, uint64_t key, uint64_t addr, uint64_t length,
			enum refusal_cause cause)
{
	struct job *job = job_new(from, to, kind, length, POST_COMPLETE, 1);

	job_load(job);
	job->remote[0] = (struct remote){ addr, length, key, 0 };
	job->remotes = 1;
	job->clean = true;
	job->may = from->model->any_may;
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
	struct iovec compare = { job->compare, job->length }, result = { job->result, job->length };
	void *desc[LIMIT_IOV] = { [0 ... LIMIT_IOV - 1] = job->desc };
	struct post_atomic atomic = {
		.compare_desc = desc,
		.result_desc = desc,
		.what = job->what,
		.compare = &compare,
		.compare_count = job->compare ? 1 : 0,
		.result = &result,
		.result_count = job->result ? 1 : 0,
	};
	struct post post = {
		.atomic = job->kind == OP_ATOMIC ? &atomic : NULL,
		.kind = job->kind,
		.flags = job->flags,
		.dest = job->from->index[job->to->id],
		.iov = job->iov,
		.iov_count = job->iovs,
		.desc = desc,
		.remote = job->remote,
		.remote_count = job->remotes,
		.context = job,
		.tag = job->tag,
		.cq_data = job->flags & POST_CQ_DATA ? job->id : 0,
		.cq_flags = job_flags(job),
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
	if (job->flags & POST_INJECT && job->compare)
		memset(job->compare, 0xee, job->length);
	model->open++;
	job->from->posted[job_counter(job)]++;
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
	bool garbled = job->failed && (job->vague || !job->clean) && job_world(job)->weather.flip_mean; /* WIRE-11 */

	assert(now && before);
	region_get(job->region, job->offset[0], now, job->length);
	memcpy(now, job->bytes, job->from->model->writes_held && !job->failed ? job->length : 0);
	region_get_shadow(job->region, job->offset[0], before, job->length);
	for (uint64_t i = 0; i < job->length; i++) {
		bool fresh = now[i] == job->bytes[i], old = now[i] == before[i];

		JOB_CHECK(job, job->failed || fresh, "good, but this byte was not written:", i);
		JOB_CHECK(job, !job->failed || !job->clean || job->vague || old, "refused, but this byte was written:", i);
		JOB_CHECK(job, fresh || old || garbled, "this byte is neither old nor new:", i);
	}
	region_set_shadow(job->region, job->offset[0], now, job->length);
	free(now);
	free(before);
}

/* The result of an atomic. */
static void settle_result(const struct job *job)
{
	if (job->failed && job_world(job)->weather.flip_mean) /* in place before its digest (WIRE-11) */
		return;
	for (uint64_t i = 0; i < job->length; i++)
		JOB_CHECK(job, job->result[i] == job->was[i] || (job->failed && job->result[i] == 0xc3),
			  "this byte of the result is wrong:", i);
}

/* A write that is to be durable before it is answered, was answered. */
static void settle_commit(const struct job *job)
{
	uint8_t *kept = malloc(job->length + 1);

	assert(kept);
	region_get_kept(job->region, job->offset[0], kept, job->length);
	for (uint64_t i = 0; i < job->length; i++)
		JOB_CHECK(job, kept[i] == job->bytes[i], "good, but this byte is not durable:", i);
	free(kept);
}

/* The bytes read; or, of an access that could not but be refused, the bytes that were there before. */
static void settle_read(const struct job *job)
{
	const uint8_t *want = job->bytes;

	for (size_t i = 0; i < job->iovs; i++) {
		const uint8_t *got = job->iov[i].iov_base;

		for (size_t n = 0; n < job->iov[i].iov_len; n++)
			JOB_CHECK(job, got[n] == want[n],
				  "this byte of the local buffer is wrong:", (uint64_t)(want - job->bytes) + n);
		want += job->iov[i].iov_len;
	}
}

static void judge_error(const struct job *job, const struct cq_error *error)
{
	static const struct outcomes nothing;
	/* A party that comes back is not found before it shows that the one before has gone. */
	bool gone = job->to->node->dead || !job->to->ep || job->to->predecessor;
	const struct outcomes *peers_may = gone ? &job->from->model->peers_may : &nothing;
	unsigned cause = (unsigned)error->prov_errno;
	uint64_t may = cause < 64 ? job->may.wire | peers_may->wire : job->may.local | peers_may->local;

	if (cause >= 128 || !(may >> (cause & 63) & 1))
		world_fail(job_world(job), "job %llu (%s of %llu bytes, flags %#x, party %d to %d) ended with err %d cause %u: %s",
			   (unsigned long long)job->id, kind_names[job->kind], (unsigned long long)job->length, job->flags,
			   job->from->id, job->to->id, error->err, cause, error->text);
	JOB_CHECK(job, error->err > 0, "error entry without err", 0);
	JOB_CHECK(job, error->text[0], "error entry without a sentence", cause);
	JOB_CHECK(job, cause <= REFUSAL_WIRE_MAX || !strstr(error->text, "injected"), "nobody injected this", cause);
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
	JOB_CHECK(job, c->flags == job_flags(job), "completion has flags", c->flags);
	JOB_CHECK(job, job->flags & POST_COMPLETE, "a completion that was not asked for", 0);
}

/* A region of single use serves one op a life. */
static void judge_use(const struct job *job)
{
	struct region *region = job->region;

	if (!region || !region->single_use || job->failed || job->life != region->life)
		return;
	JOB_CHECK(job, region->used_life != region->life, "good, but an earlier op had used the region up", region->life);
	region->used_life = region->life;
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
	enum ep_counter counter = job_counter(job);

	if (job->failed)
		job->from->bad[counter]++;
	else
		job->from->good[counter]++;
	if (!job_changes(job))
		return;
	if (!job->result) {
		job->to->remote_most += job->remotes;
		job->to->remote_least += job->failed ? 0 : job->remotes;
	}
	if (job->region && job->region->gated && job->length && !job->keeps) {
		job->to->changed_most += job->remotes;
		job->to->changed_least += job->failed ? 0 : job->remotes;
	}
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
	judge_use(job);
	judge_fence(job);
	if (job->kind != OP_READ && job->region && job->to->ep)
		settle_write(job);
	if (job->result)
		settle_result(job);
	if ((job->flags & POST_COMMIT) && job->region && !job->failed)
		settle_commit(job);
	if (job->kind == OP_READ && (!job->failed || job->clean))
		settle_read(job);
	/* Some bytes of an op given up may still come, long after: no other op gets the range. */
	if (job->claims && !job->vague)
		region_release(job->region, job->offset[0], job->length);
	job->claims = false;
	count(job);
	model->hearings += !job->failed && !job->to->node->dead && job_is_heard_of(job) && !job->delivered;
}

bool job_reaches(const struct job *job, const struct party *party)
{
	return job->to == party || job->to->successor == party;
}

void job_heard(struct job *job, struct party *at)
{
	struct model *model = job->from->model;

	JOB_CHECK(job, job_reaches(job, at), "heard of by party", (uint64_t)at->id);
	JOB_CHECK(job, !job->delivered, "arrived twice", 0);
	JOB_CHECK(job, job->posted, "arrived though never posted", 0);
	if (job->to != at) { /* no op waits for such an arrival */
		job->delivered = true;
		return;
	}
	JOB_CHECK(job, !job->done || !job->failed || job->from->node->dead || job->may.local, "failed, but arrived", 0);
	job->delivered = true;
	model->hearings -= job->done && !job->failed;
	if (job->kind == OP_SEND)
		return;
	if (job->flags & POST_COMMIT) { /* heard of when it is durable, which may take longer than later ones */
		if (!job->done)
			settle_commit(job);
	} else {
		JOB_CHECK(job, job->number > model->heard[job->from->id][at->id], "its CQ data came after that of write",
			  model->heard[job->from->id][at->id]);
		model->heard[job->from->id][at->id] = job->number;
	}
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
	free(job->compare);
	free(job->result);
	free(job->was);
	free(job);
}
