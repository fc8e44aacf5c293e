/* SPDX-License-Identifier: BSD-2-Clause */
/* intake.c - posted receives: what they may get, and whether that is what was sent. */
#include <assert.h>
#include <stdlib.h>

#include "emu/nic/base/errno.h"
#include "emu/nic/device/nic_impl.h"
#include "tests/sim/harness/model.h"

static uint64_t done_flags(const struct intake *intake)
{
	return CQ_F_RECV | (intake->tagged ? CQ_F_TAGGED : CQ_F_MSG);
}

static _Noreturn void intake_fail(const struct intake *intake, const char *what, uint64_t number)
{
	world_fail(intake->party->model->world, "receive %llu of party %d (%llu bytes, job %lld): %s (%llu)",
		   (unsigned long long)intake->index, intake->party->id, (unsigned long long)intake->size,
		   intake->got ? (long long)intake->got->id : -1, what, (unsigned long long)number);
}

#define INTAKE_CHECK(intake, cond, what, number)           \
	do {                                               \
		if (!(cond))                               \
			intake_fail(intake, what, number); \
	} while (0)

static void intake_memory(struct intake *intake, size_t n)
{
	uint64_t piece = intake->size / n;
	size_t size = intake->size + (n + 1) * JOB_RED;

	intake->block = malloc(size);
	assert(intake->block && n && n <= LIMIT_IOV);
	memset(intake->block, 0x5a, size);
	intake->iovs = n;
	for (size_t i = 0; i < n; i++) {
		intake->iov[i].iov_base = intake->block + JOB_RED + i * (piece + JOB_RED);
		intake->iov[i].iov_len = i + 1 < n ? piece : intake->size - piece * (n - 1);
	}
}

static struct intake *intake_new(struct party *party, uint64_t size, struct party *source)
{
	struct intake *intake = calloc(1, sizeof(*intake));

	assert(intake);
	*intake = (struct intake){
		.owed = OWED_INTAKE,
		.party = party,
		.source = source,
		.index = party->intakes,
		.size = size,
	};
	return intake;
}

static struct intake *intake_give(struct intake *intake)
{
	static const struct trigger watched = { .cntr = NULL };
	struct party *party = intake->party;
	void *desc[LIMIT_IOV] = { [0 ... LIMIT_IOV - 1] = intake->desc };
	struct recv_post post = {
		.desc = desc,
		.iov = intake->iov,
		.iov_count = intake->iovs,
		.context = intake,
		.flags = POST_COMPLETE | (intake->tagged ? POST_TAGGED : 0),
		.tag = intake->tag,
		.ignore = intake->ignore,
		.source = intake->source ? party->index[intake->source->id] : AV_NONE,
		.cq_flags = done_flags(intake),
		.when = party->node->nic->config.watch ? &watched : NULL,
	};
	int rc = ep_recv(party->ep, &post);

	INTAKE_CHECK(intake, !rc || rc == -EAGAIN, "ep_recv failed", (uint64_t)-rc);
	if (rc) {
		intake_free(intake);
		return NULL;
	}
	intake->next = party->model->intakes;
	party->model->intakes = intake;
	party->intakes++;
	party->intakes_open++;
	party->intakes_any[intake->tagged] += intake_takes_all(intake);
	party->posted[EP_CNTR_RECV]++;
	return intake;
}

struct intake *intake_post(struct party *party, uint64_t size, size_t iovs, struct party *source)
{
	struct intake *intake = intake_new(party, size, source);

	intake_memory(intake, iovs);
	return intake_give(intake);
}

struct intake *intake_post_tagged(struct party *party, uint64_t size, size_t iovs, struct party *source, uint64_t tag,
				  uint64_t ignore)
{
	struct intake *intake = intake_new(party, size, source);

	intake->tagged = true;
	intake->tag = tag;
	intake->ignore = ignore;
	intake_memory(intake, iovs);
	return intake_give(intake);
}

bool intake_takes_all(const struct intake *intake)
{
	return !intake->source && (!intake->tagged || intake->ignore == UINT64_MAX);
}

bool intake_would_take(const struct intake *intake, const struct job *job)
{
	return intake->tagged == ((job->flags & POST_TAGGED) != 0) && !((intake->tag ^ job->tag) & ~intake->ignore) &&
	       (!intake->source || intake->source == job->from);
}

struct intake *intake_post_named(struct party *party, uint64_t size, void *memory, void *desc)
{
	struct intake *intake = intake_new(party, size, NULL);

	intake->iov[0] = (struct iovec){ memory, size };
	intake->iovs = 1;
	intake->desc = desc;
	return intake_give(intake);
}

struct intake *intake_post_at(struct party *party, void *memory, uint64_t size)
{
	struct intake *intake = intake_new(party, size, NULL);

	intake->iov[0] = (struct iovec){ memory, size };
	intake->iovs = 1;
	return intake_give(intake);
}

/* Whose message is this? By CQ data if it has any, else by its first bytes. */
static struct job *find_job(struct intake *intake, const struct completion *c)
{
	struct model *model = intake->party->model;
	uint64_t id = c->data;

	if (!(c->flags & CQ_F_REMOTE_CQ_DATA)) {
		uint8_t tag[JOB_TAG_BYTES];

		INTAKE_CHECK(intake, intake->size >= JOB_TAG_BYTES && c->length >= JOB_TAG_BYTES, "message without a tag", 0);
		for (size_t i = 0, n = 0, at = 0; i < JOB_TAG_BYTES; i++, at++) {
			while (at >= intake->iov[n].iov_len) {
				at = 0;
				n++;
			}
			tag[i] = ((uint8_t *)intake->iov[n].iov_base)[at];
		}
		memcpy(&id, tag, sizeof(id));
	}
	INTAKE_CHECK(intake, id && id <= model->jobs && job_takes_receive(model->job[id]), "a message that nobody sent:", id);
	return model->job[id];
}

/* Where the first byte is that is not 0x5a, as buffers are filled; n: nowhere. */
static size_t first_changed(const uint8_t *bytes, size_t n)
{
	size_t at = 0;

	if (n && bytes[0] == 0x5a && !memcmp(bytes, bytes + 1, n - 1))
		return n;
	while (at < n && bytes[at] == 0x5a)
		at++;
	return at;
}

/* The bytes that fit are those sent, and nothing beside them changed; but behind them may lie the begin of another's
 * message that a cut has interrupted. */
static void check_piece(const struct intake *intake, const struct iovec *piece, uint64_t done, uint64_t length)
{
	const struct model *model = intake->party->model;
	const uint8_t *bytes = piece->iov_base, *want = intake->got->bytes + done;
	bool cuts = world_breaks(model->world) || model->peers_may.local || intake->may_fail;
	size_t message = done < length ? length - done : 0, changed;

	message = message < piece->iov_len ? message : piece->iov_len;
	if (memcmp(bytes, want, message)) {
		for (size_t n = 0; n < message; n++)
			INTAKE_CHECK(intake, bytes[n] == want[n], "wrong byte", done + n);
	}
	changed = cuts ? piece->iov_len : message + first_changed(bytes + message, piece->iov_len - message);
	INTAKE_CHECK(intake, changed == piece->iov_len, "this byte is behind the message:", done + changed);
}

static void check_bytes(const struct intake *intake, uint64_t length)
{
	const uint8_t *at = intake->block;
	uint64_t done = 0;

	if (!at)
		return;
	for (size_t i = 0; i <= intake->iovs; i++) {
		INTAKE_CHECK(intake, first_changed(at, JOB_RED) == JOB_RED, "bytes beside the buffer changed: piece", i);
		if (i == intake->iovs)
			return;
		check_piece(intake, &intake->iov[i], done, length);
		done += intake->iov[i].iov_len;
		at += JOB_RED + intake->iov[i].iov_len;
	}
}

/* A write with CQ data has taken it, and left the buffer alone. */
static void judge_written(struct intake *intake, const struct completion *c)
{
	const uint64_t flags = CQ_F_RMA | CQ_F_REMOTE_CQ_DATA | CQ_F_REMOTE_WRITE;
	struct job *job = find_job(intake, c);

	job_heard(job, intake->party);
	INTAKE_CHECK(intake, job->kind == OP_WRITE && c->length == job->remote[job->remotes - 1].length, "written, with length",
		     c->length);
	INTAKE_CHECK(intake, c->flags == (done_flags(intake) | flags | job_told_flags(job)), "completion has flags", c->flags);
	INTAKE_CHECK(intake, c->source == intake->party->index[job->from->id], "completion names as source", c->source);
	INTAKE_CHECK(intake,
		     world_breaks(intake->party->model->world) || intake->party->model->peers_may.local || !intake->block ||
			     first_changed(intake->block, JOB_RED + intake->iov[0].iov_len) == JOB_RED + intake->iov[0].iov_len,
		     "written, and its buffer changed", 0);
}

static void judge_message(struct intake *intake, const struct cq_error *error, const struct completion *c)
{
	struct party *party = intake->party;
	struct job *job = find_job(intake, c);
	uint64_t kept = job->length < intake->size ? job->length : intake->size;
	uint64_t data = job->flags & POST_CQ_DATA ? CQ_F_REMOTE_CQ_DATA : 0;

	intake->got = job;
	job_heard(job, party);
	INTAKE_CHECK(intake, !error == (job->length <= intake->size), "wrongly judged to fit: message of", job->length);
	INTAKE_CHECK(intake, c->length == kept, "completion has length", c->length);
	INTAKE_CHECK(intake, !error || error->olen == job->length - kept, "olen", error->olen);
	INTAKE_CHECK(intake, c->flags == (done_flags(intake) | data | job_told_flags(job)), "completion has flags", c->flags);
	INTAKE_CHECK(intake, c->source == party->index[job->from->id], "completion names as source", c->source);
	INTAKE_CHECK(intake, c->tag == job->tag, "completion has tag", c->tag);
	INTAKE_CHECK(intake, intake_would_take(intake, job), "does not match what it got, by tag or source, from party",
		     (uint64_t)job->from->id);
	check_bytes(intake, kept);
}

static void access_check(struct intake *intake, const struct cq_error *error, const struct completion *c)
{
	struct party *party = intake->party;
	unsigned cause = error ? (unsigned)error->prov_errno : 0;

	INTAKE_CHECK(intake, !intake->done, "completed again", 0);
	intake->done = true;
	party->model->completions++;
	party->intakes_open--;
	party->intakes_any[intake->tagged] -= intake_takes_all(intake);
	if (error)
		party->bad[EP_CNTR_RECV]++;
	else
		party->good[EP_CNTR_RECV]++;
	if (!error && c->flags & CQ_F_REMOTE_WRITE) {
		judge_written(intake, c);
		return;
	}
	if (cause == REFUSAL_TRUNCATED && party->rules & EP_RULE_RECEIVE_FIRST) { /* the message has failed, too */
		intake->failed = true;
		return;
	}
	if (!error || cause == REFUSAL_TRUNCATED) {
		INTAKE_CHECK(intake, !error || error->err == NIC_ETRUNC, "truncated, with err", (uint64_t)error->err);
		judge_message(intake, error, c);
		return;
	}
	intake->failed = true;
	if (intake->may_fail && (error->err == EFAULT || cause == REFUSAL_SENDER))
		return;
	if (cause == REFUSAL_LOCAL_CLOSED && intake->desc)
		return;
	if (cause == REFUSAL_CANCELLED && intake->cancelled)
		return;
	INTAKE_CHECK(intake, cause >= 64 && party->model->peers_may.local >> (cause - 64) & 1, "failed with cause", cause);
}

void intake_done(struct intake *intake, const struct cq_error *error, const struct completion *c)
{
	access_check(intake, error, c);
	free(intake->block); /* the device must not touch it any more */
	intake->block = NULL;
}

void intake_free(struct intake *intake)
{
	free(intake->block);
	free(intake);
}
