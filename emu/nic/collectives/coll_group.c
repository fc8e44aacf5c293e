/* SPDX-License-Identifier: BSD-2-Clause */
/* coll_group.c - groups: joined, broken, left. */
#include "emu/nic/collectives/coll_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/base/cancel.h"
#include "emu/nic/base/pool.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/messages/message_calls.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/requests/request_calls.h"
#include "emu/nic/transport/session.h"
#include "wire/digest.h"

int collectives_open(struct ep *ep)
{
	struct collectives *c = calloc(1, sizeof(*c));
	int err;

	nic_role(ep->nic);
	if (!c)
		return -ENOMEM;
	ep->collectives = c;
	err = srx_open(ep->nic, LIMIT_COLL_OPS, true, &c->srx);
	if (!err)
		err = pool_open(&c->ops, sizeof(struct op), LIMIT_COLL_OPS);
	if (!err)
		err = pool_open(&c->colls, sizeof(struct coll), LIMIT_COLLECTIVES);
	if (err)
		return err; /* collectives_close() frees the rest */
	c->srx->shared = false;
	c->srx->ep = ep;
	if (c->srx->envelopes > LIMIT_COLL_ENVELOPES)
		c->srx->envelopes = LIMIT_COLL_ENVELOPES;
	return 0;
}

static void group_unlist(struct coll_group *group)
{
	struct collectives *c = group->ep->collectives;
	struct coll_group **at = group->left ? &c->left : &c->groups;

	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	*(group->left ? &c->left_count : &c->group_count) -= 1;
}

static void group_free(struct coll_group *group)
{
	group_unlist(group);
	coll_unqueue(group->ep->nic, &group->ready);
	free(group);
}

void collectives_end(struct ep *ep)
{
	struct collectives *c = ep->collectives;

	nic_role(ep->nic);
	while (c->running)
		coll_end(c->running, &(struct refusal){ .cause = REFUSAL_CANCELLED });
	message_drop_all(&c->srx->match, ep);
}

void collectives_close(struct ep *ep)
{
	struct collectives *c = ep->collectives;
	struct coll_joins *joins, *next;

	nic_role(ep->nic);
	if (!c)
		return;
	while (c->groups)
		group_free(c->groups);
	while (c->left)
		group_free(c->left);
	for (joins = c->joins; joins; joins = next) {
		next = joins->next;
		free(joins);
	}
	if (c->srx)
		srx_free(c->srx);
	if (c->ops)
		pool_close(c->ops);
	if (c->colls)
		pool_close(c->colls);
	free(c);
	ep->collectives = NULL;
}

/* --- messages --- */

/* A message's tag as it is matched; `call_step` as in the frame's cq_data. */
static uint64_t mix(uint64_t id, uint64_t call_step, uint64_t hash)
{
	return id ^ call_step ^ hash;
}

/* The group that its sender means. */
static uint64_t group_of(const struct message *message)
{
	return mix(message->tag, message->cq_data, message->session->by_peer.hash);
}

void coll_address(struct message *message)
{
	const struct session *session = message->session;

	nic_role(session->ep->nic);
	message->srx = session->ep->collectives->srx;
	message->tagged = true;
	message->tag = mix(message->tag, message->cq_data, session->by_peer.hash);
}

uint64_t coll_tag(const struct coll_group *group, uint32_t rank, uint64_t call_step)
{
	nic_role(group->ep->nic);
	return mix(group->id, call_step, group->member[rank].hash);
}

struct rx_match *coll_match(struct collectives *collectives)
{
	role_assert();
	return &collectives->srx->match;
}

static bool has_member(const struct coll_group *group, uint64_t hash)
{
	for (uint32_t rank = 0; rank < group->size; rank++)
		if (group->member[rank].hash == hash)
			return true;
	return false;
}

static struct coll_group *group_in(struct coll_group *group, uint64_t id)
{
	while (group && group->id != id)
		group = group->next;
	return group;
}

/* Finds groups that are left, too. */
static struct coll_group *find_group(const struct collectives *c, uint64_t id)
{
	struct coll_group *group = group_in(c->groups, id);

	return group ? group : group_in(c->left, id);
}

/* How many collectives this member has begun when it has begun that of a message, by its cq_data; 0: it has. Numbers are modulo
 * 2^WIRE_COLL_NUMBER_BITS. */
static uint64_t begun_by(const struct coll_group *group, uint64_t call_step)
{
	uint64_t number = call_step >> (64 - WIRE_COLL_NUMBER_BITS);
	uint64_t ahead = (number - group->begun) % (1u << WIRE_COLL_NUMBER_BITS);

	return ahead < 1u << (WIRE_COLL_NUMBER_BITS - 1) ? group->begun + ahead + 1 : 0;
}

/* Another member calls, and this one, which has left, never will. The step drops the message. */
static void call_after_leaving(struct coll_group *group, uint64_t call_step)
{
	if (begun_by(group, call_step))
		coll_break(group, &(struct refusal){ .cause = REFUSAL_CANCELLED });
	coll_queue(group->ep->nic, &group->ready);
}

/* Another member has called, and perhaps waits for this one. The step drops the message that says so. */
static void call_before(struct coll_group *group, uint64_t call_step)
{
	uint64_t wanted = begun_by(group, call_step);

	coll_compare(group, call_step);
	if (!coll_is_wait(call_step))
		return;
	group->wanted = wanted > group->wanted ? wanted : group->wanted;
	coll_queue(group->ep->nic, &group->ready);
}

void coll_unexpected(const struct message *message)
{
	struct coll_group *group = find_group(message->ep->collectives, group_of(message));

	nic_role(message->ep->nic);
	if (!group || !has_member(group, message->session->by_peer.hash))
		return;
	if (group->left)
		call_after_leaving(group, message->cq_data);
	else
		call_before(group, message->cq_data);
}

void coll_compare_early(struct coll_group *group)
{
	const struct message *message = group->ep->collectives->srx->match.tagged.first;

	nic_role(group->ep->nic);
	for (; message; message = message->link[BY_ARRIVAL].next)
		if (group_of(message) == group->id && has_member(group, message->session->by_peer.hash))
			call_before(group, message->cq_data);
}

/* Messages of a group that will never be taken. The one that is arriving stays until the endpoint closes. */
static void drop_messages(const struct coll_group *group)
{
	const struct rx_match *match = &group->ep->collectives->srx->match;
	bool over = group->left || group->why.cause != REFUSAL_NONE;
	struct message *message, *next;

	if (group->ep->closing) /* they go with the endpoint */
		return;
	for (message = match->tagged.first; message; message = next) {
		next = message->link[BY_ARRIVAL].next;
		if (!message->arriving && group_of(message) == group->id && (over || coll_is_wait(message->cq_data)))
			message_discard(message);
	}
}

/* --- joining --- */

/* The same at all members: of the addresses by which they are known, and of `times`. */
static uint64_t members_digest(const struct coll_group *group, uint64_t times)
{
	struct digest_state state;

	digest_begin(&state);
	for (uint32_t i = 0; i < group->size; i++) {
		struct wire_address_fields fields;
		uint8_t bytes[20];

		address_put(&group->member[i].at, &fields);
		memcpy(bytes, fields.addr, sizeof(fields.addr));
		bytes[16] = 0;
		bytes[17] = (uint8_t)fields.family;
		bytes[18] = (uint8_t)(fields.port >> 8);
		bytes[19] = (uint8_t)fields.port;
		digest_add(&state, bytes, sizeof(bytes));
	}
	for (int i = 0; i < 8; i++)
		digest_add(&state, &(uint8_t){ (uint8_t)(times >> 8 * i) }, 1);
	return digest_end(&state);
}

/* The joins of the same members; NULL: no memory. */
static struct coll_joins *joins_of(struct collectives *c, uint64_t members)
{
	struct coll_joins *joins = c->joins;

	while (joins && joins->members != members)
		joins = joins->next;
	if (!joins) {
		joins = calloc(1, sizeof(*joins));
		if (!joins)
			return NULL;
		joins->members = members;
		joins->next = c->joins;
		c->joins = joins;
	}
	return joins;
}

static int take_members(struct coll_group *group, const struct coll_join *join)
{
	const struct ep *ep = group->ep;
	uint64_t stamp;

	group->rank = UINT32_MAX;
	for (uint32_t i = 0; i < join->count; i++) {
		struct coll_member *member = &group->member[i];

		if (av_lookup(ep->attr.av, join->members[i], &member->at, &stamp) != 0)
			return -EINVAL;
		member->index = join->members[i];
		member->hash = address_hash(ep->hash_secret, &member->at);
		if (address_same(&member->at, &ep->name))
			group->rank = i;
	}
	return group->rank == UINT32_MAX ? -EINVAL : 0;
}

/* A member may have failed before this one joined. */
static void take_early_abort(struct coll_group *group)
{
	const struct collectives *c = group->ep->collectives;

	for (int i = 0; i < LIMIT_COLL_ABORTS; i++) {
		if (c->abort[i].id != group->id)
			continue;
		if (has_member(group, c->abort[i].hash))
			coll_break(group, &(struct refusal){ .cause = REFUSAL_GROUP, .excess = c->abort[i].cause });
	}
}

/* `why` NULL: the join has ended well. */
void coll_joined(struct coll_group *group, const struct refusal *why)
{
	int state;

	nic_role(group->ep->nic);
	group->joined = !why;
	if (!group->tell)
		return;
	state = cancel_off();
	group->tell(group->owner, why);
	cancel_back(state);
}

/* That this member has left the group, for the cause that broke it. */
static void tell_abort(const struct coll_group *group, uint32_t rank)
{
	uint64_t cause = group->why.cause == REFUSAL_GROUP ? group->why.excess : group->why.cause;

	(void)coll_say(group, rank, cause << WIRE_COLL_STEP_BITS | WIRE_COLL_ABORT);
}

static void group_step(struct coll_ready *ready, uint64_t *budget)
{
	struct coll_group *group = (struct coll_group *)ready;

	(void)budget;
	drop_messages(group);
	for (uint32_t rank = 0; group->why.cause != REFUSAL_NONE && !group->told && rank < group->size; rank++)
		if (rank != group->rank && group->member[rank].hash != group->knows)
			tell_abort(group, rank);
	group->told = group->why.cause != REFUSAL_NONE;
	coll_group_left(group);
}

int coll_join(struct ep *ep, const struct coll_join *join, struct coll_group **out)
{
	struct collectives *c = ep->collectives;
	struct coll_joins *joins;
	struct coll_group *group;
	int err;

	nic_role(ep->nic);
	if (c->group_count >= LIMIT_GROUPS)
		return -ENOMEM;
	group = calloc(1, sizeof(*group) + join->count * sizeof(group->member[0]));
	if (!group)
		return -ENOMEM;
	group->ready.step = group_step;
	group->ep = ep;
	group->size = join->count;
	group->tell = join->joined;
	group->owner = join->owner;
	err = take_members(group, join);
	joins = err ? NULL : joins_of(c, members_digest(group, 0));
	if (!joins) {
		free(group);
		return err ? err : -ENOMEM;
	}
	group->id = members_digest(group, joins->times + 1);
	group->next = c->groups;
	c->groups = group;
	c->group_count++;
	err = coll_begin_join(group, join->agreed);
	if (err) {
		group_free(group);
		return err;
	}
	joins->times++; /* one that fails is no join for the other members */
	take_early_abort(group);
	*out = group;
	return 0;
}

uint32_t coll_rank(const struct coll_group *group, uint64_t index)
{
	nic_role(group->ep->nic);
	for (uint32_t rank = 0; rank < group->size; rank++)
		if (group->member[rank].index == index)
			return rank;
	return UINT32_MAX;
}

uint32_t coll_size(const struct coll_group *group)
{
	return group->size;
}

uint32_t coll_own_rank(const struct coll_group *group)
{
	return group->rank;
}

bool coll_is_joined(const struct coll_group *group)
{
	nic_role(group->ep->nic);
	return group->joined;
}

/* --- the end --- */

void coll_break(struct coll_group *group, const struct refusal *why)
{
	struct collectives *c = group->ep->collectives;

	nic_role(group->ep->nic);
	if (group->why.cause != REFUSAL_NONE)
		return;
	group->why = *why;
	coll_queue(group->ep->nic, &group->ready);
	for (struct coll *coll = c->running; coll; coll = coll->next)
		if (coll->group == group)
			coll_queue(group->ep->nic, &coll->ready);
}

/* The others may call still: those that are early, or wait, have done so already. */
static void group_remember(struct coll_group *group)
{
	struct collectives *c = group->ep->collectives;
	const struct message *message;
	struct coll_group *oldest;

	group_unlist(group);
	group->left = true;
	group->next = c->left;
	c->left = group;
	if (++c->left_count > LIMIT_COLL_LEFT) {
		for (oldest = c->left; oldest->next; oldest = oldest->next)
			;
		group_free(oldest);
	}
	for (message = c->srx->match.tagged.first; message; message = message->link[BY_ARRIVAL].next)
		if (group_of(message) == group->id)
			coll_unexpected(message);
	if (group->wanted > group->begun)
		coll_break(group, &(struct refusal){ .cause = REFUSAL_CANCELLED });
}

void coll_group_left(struct coll_group *group)
{
	nic_role(group->ep->nic);
	if (group->left || !group->closed || group->ready.queued)
		return;
	for (struct coll *coll = group->ep->collectives->running; coll; coll = coll->next)
		if (coll->group == group)
			return;
	if (group->why.cause != REFUSAL_NONE) {
		drop_messages(group);
		group_free(group);
	} else {
		group_remember(group);
	}
}

static bool group_is_running(const struct coll_group *group)
{
	const struct coll *coll = group->ep->collectives->running;

	while (coll && coll->group != group)
		coll = coll->next;
	return coll;
}

void coll_leave(struct coll_group *group)
{
	nic_role(group->ep->nic);
	group->closed = true;
	group->tell = NULL;
	if (group_is_running(group))
		coll_break(group, &(struct refusal){ .cause = REFUSAL_CANCELLED });
	coll_group_left(group);
}

/* The peer may be no member, and the group none of ours, or not yet. */
void coll_aborted(struct session *session, uint64_t id, uint64_t cause)
{
	struct collectives *c = session->ep->collectives;
	uint64_t hash = session->by_peer.hash;
	struct coll_group *group = find_group(c, id);

	nic_role(session->ep->nic);
	cause = cause < REFUSAL_CAUSES ? cause : REFUSAL_PROTOCOL;
	if (!group) {
		c->abort[c->next_abort] = (struct coll_abort){ id, hash, (uint32_t)cause };
		c->next_abort = (c->next_abort + 1) % LIMIT_COLL_ABORTS;
		return;
	}
	if (!has_member(group, hash))
		return;
	if (group->left) { /* the sender tells the others, too */
		group->why = (struct refusal){ .cause = REFUSAL_GROUP, .excess = cause };
		return;
	}
	group->knows = hash;
	coll_break(group, &(struct refusal){ .cause = REFUSAL_GROUP, .excess = cause });
}
