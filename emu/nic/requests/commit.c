/* SPDX-License-Identifier: BSD-2-Clause */
/* commit.c - from a request that is executed to its DONE or RESULT: one flush between, by the outside. */
#include "emu/nic/requests/responder.h"

#include <assert.h>
#include <stdlib.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/regions/flush.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/transport/session.h"

struct commit {
	struct flush flush;        /* first */
	struct commit *next, **at; /* in the nic's list */
	struct session *session;   /* NULL: it was answered, or no peer is left to answer */
	struct committed of;
	struct refusal why;   /* message and region, as a refusal would tell of them */
	struct cq_node *slot; /* see complete_reserve() */
};

int commits_init(struct commits *commits)
{
	atomic_init(&commits->waiting, false);
	return -pthread_mutex_init(&commits->lock, NULL);
}

static void commit_free(struct commit *commit)
{
	*commit->at = commit->next;
	if (commit->next)
		commit->next->at = commit->at;
	free(commit->slot);
	free(commit->of.result);
	free(commit);
}

void commits_fini(struct commits *commits)
{
	role_assert();
	while (commits->first)
		commit_free(commits->first);
	pthread_mutex_destroy(&commits->lock);
}

/* It is answered no more; the result of its flush, if one is on, is dropped. */
static void commit_orphan(struct commit *commit)
{
	commit->session->rsp.commits_open--;
	commit->session = NULL;
	atomic_store_explicit(&commit->flush.unwanted, true, memory_order_relaxed);
}

/* NULL, or the breach of the protocol. */
static const char *commit_answer(struct commit *commit, enum refusal_cause cause)
{
	struct session *session = commit->session;

	const struct access *ask = &commit->of.ask;
	struct verdict *result = commit->of.result;

	commit_orphan(commit);
	commit->why.cause = cause;
	if (cause != REFUSAL_NONE) {
		access_release(session, ask->to.key, ask->mr_id, ask->seq);
		return verdict_refuse(session, ask->seq, &commit->why);
	}
	if (commit->of.counted && commit->of.changed)
		access_count_change(session, ask->to.key, ask->mr_id, ask->length);
	complete_remote(session, &commit->slot, &commit->of.done);
	if (!result)
		return verdict_add(session, WIRE_DONE, ask->seq);
	commit->of.result = NULL;
	verdict_keep(session, result, ask->seq);
	return NULL;
}

/* A verdict that cannot be kept would leave the initiator waiting for ever: rather no session. */
static void commit_answer_late(struct commit *commit, enum refusal_cause cause)
{
	struct session *session = commit->session;

	if (commit_answer(commit, cause))
		session_end(session, verdict_lack(session));
}

static struct commit *commit_new(struct session *session)
{
	struct nic *nic = session->ep->nic;
	struct commit *commit = calloc(1, sizeof(*commit));

	if (!commit)
		return NULL;
	commit->session = session;
	commit->at = &nic->commits.first;
	commit->next = nic->commits.first;
	if (commit->next)
		commit->next->at = &commit->next;
	nic->commits.first = commit;
	session->rsp.commits_open++;
	return commit;
}

/* Where the whole message lies: its segments were placed one by one, and the region may have gone meanwhile. */
static void commit_place(struct commit *commit)
{
	const struct access *ask = &commit->of.ask;
	struct mr_place place;

	commit->why = (struct refusal){ .cause = REFUSAL_NONE };
	access_describe(ask, &commit->why);
	access_check(commit->session, ask, &place, &commit->why);
	for (uint8_t i = 0; i < place.count; i++)
		commit->flush.run[i] = place.run[i];
	commit->flush.count = place.count;
}

const char *commit_begin(struct session *session, const struct committed *committed)
{
	const struct nic_config *config = &session->ep->nic->config;
	struct commit *commit;
	const char *broken;

	nic_role(session->ep->nic);
	assert(config->flush); /* no region is persistent without it */
	commit = session->rsp.commits_open < LIMIT_READS ? commit_new(session) : NULL;
	if (!commit) {
		free(committed->result);
		return session->rsp.commits_open < LIMIT_READS ? conn_no_memory
							       : "more requests with COMMIT than granted (WIRE-25)";
	}
	commit->of = *committed;
	if (commit->of.done.has_cq_data || commit->of.done.event) {
		commit->slot = session->rsp.slot;
		session->rsp.slot = NULL;
	}
	commit_place(commit);
	if (commit->why.cause == REFUSAL_NONE && commit->flush.count) {
		config->flush->begin(config->flush_arg, &commit->flush);
		return NULL;
	}
	broken = commit_answer(commit, commit->why.cause);
	commit_free(commit);
	return broken;
}

void nic_flushed(struct nic *nic, struct flush *flush)
{
	struct commits *commits = &nic->commits;

	pthread_mutex_lock(&commits->lock);
	flush->next = commits->flushed;
	commits->flushed = flush;
	atomic_store(&commits->waiting, true); /* before the try, as with a post (D1) */
	pthread_mutex_unlock(&commits->lock);
	driver_serve(&nic->driver);
}

/* At most LIMIT_READS of each session, so the work is bounded. */
bool commits_take(struct nic *nic)
{
	struct commits *commits = &nic->commits;
	struct flush *flush, *next;
	bool any;

	if (!commits_pending(commits))
		return false;
	pthread_mutex_lock(&commits->lock);
	flush = commits->flushed;
	commits->flushed = NULL;
	atomic_store(&commits->waiting, false);
	pthread_mutex_unlock(&commits->lock);
	any = flush;
	for (; flush; flush = next) {
		struct commit *commit = (struct commit *)flush;

		next = flush->next;
		commit->why.excess = (uint64_t)-flush->result;
		if (commit->session)
			commit_answer_late(commit, flush->result ? REFUSAL_NOT_FLUSHED : REFUSAL_NONE);
		commit_free(commit);
	}
	return any;
}

void commits_close_region(struct nic *nic, const struct mr *mr)
{
	nic_role(nic);
	for (struct commit *commit = nic->commits.first; commit; commit = commit->next)
		if (commit->session && commit->of.ask.mr_id == mr->id)
			commit_answer_late(commit, REFUSAL_CLOSED);
}

void commits_end(struct session *session)
{
	struct commit *commit = session->ep->nic->commits.first;

	nic_role(session->ep->nic);
	for (; commit && session->rsp.commits_open; commit = commit->next)
		if (commit->session == session)
			commit_orphan(commit);
}
