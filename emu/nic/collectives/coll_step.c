/* SPDX-License-Identifier: BSD-2-Clause */
/* coll_step.c - the rounds of a collective: its chores, its messages, its end. */
#include "emu/nic/collectives/coll_impl.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/atomics/atomic_ops.h"
#include "emu/nic/base/pool.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/messages/message_calls.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/requests/request_calls.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/transport/session.h"
#include "emu/nic/transport/transport_calls.h"
#include "wire/digest.h"

static struct ep *ep_of(const struct coll *coll)
{
	return coll->group->ep;
}

/* By this its messages are named, as if it were a region's descriptor: an even address, which is none. */
static uint64_t name_of(const struct coll *coll)
{
	return (uintptr_t)coll;
}

static void queue(struct coll *coll)
{
	if (!coll->ending)
		coll_queue(ep_of(coll)->nic, &coll->ready);
}

static void fail(struct coll *coll, const struct refusal *why)
{
	if (coll->why.cause == REFUSAL_NONE)
		coll->why = *why;
	queue(coll);
}

static void fail_for(struct coll *coll, enum refusal_cause cause)
{
	fail(coll, &(struct refusal){ .cause = cause });
}

/* --- the end --- */

static void coll_release(struct cq_node *node)
{
	struct coll *coll = (struct coll *)((char *)node - offsetof(struct coll, done));

	pool_give(coll->pool, coll);
}

static void report_good(struct coll *coll)
{
	struct ep *ep = ep_of(coll);
	struct cntr *cntr = ep->attr.cntr[EP_CNTR_WRITE];

	if (cntr)
		cntr_event(cntr, coll->shape.count * coll->shape.element);
	coll->done.release = coll_release;
	if (ep->attr.tx_cq && coll->flags & POST_COMPLETE)
		cq_push(ep->attr.tx_cq, &coll->done);
	else
		coll_release(&coll->done);
}

static void report_failed(struct coll *coll)
{
	struct ep *ep = ep_of(coll);
	struct cntr *cntr = ep->attr.cntr[EP_CNTR_WRITE];
	struct cq_error error = { .c = coll->done.c, .err = refusal_errno(coll->why.cause), .prov_errno = coll->why.cause };
	const struct front_reports *reports = ep->nic->config.reports;

	refusal_text(ep->nic->config.front, &coll->why, NULL, error.text, sizeof(error.text));
	if (reports)
		reports->failed(ep->attr.owner, coll->done.c.context, &coll->why, NULL, error.text);
	if (ep->attr.tx_cq)
		cq_push_error(ep->attr.tx_cq, &error);
	if (cntr)
		cntr_add_error(cntr, 1);
	coll_release(&coll->done);
}

static void unlist(struct coll *coll)
{
	struct coll **at = &ep_of(coll)->collectives->running;

	while (*at != coll)
		at = &(*at)->next;
	*at = coll->next;
	coll_unqueue(ep_of(coll)->nic, &coll->ready);
}

static void report(struct coll *coll)
{
	struct coll_group *group = coll->group;
	bool good = coll->why.cause == REFUSAL_NONE;

	unlist(coll);
	free(coll->buffer[COLL_OWN]);
	free(coll->buffer[COLL_INCOMING]);
	coll->why.op = OP_COLLECTIVE;
	coll->why.length = coll->shape.count * coll->shape.element;
	if (coll->is_join) {
		coll_joined(group, good ? NULL : &coll->why);
		coll_release(&coll->done);
	} else if (good) {
		report_good(coll);
	} else {
		report_failed(coll);
	}
	coll_group_left(group);
}

void coll_end(struct coll *coll, const struct refusal *why)
{
	struct ep *ep = ep_of(coll);

	nic_role(ep->nic);
	coll->ending = true;
	if (coll->why.cause == REFUSAL_NONE)
		coll->why = *why;
	recall_of_ep(ep, name_of(coll));
	srx_recall(ep->collectives->srx, name_of(coll));
	report(coll);
}

/* --- messages --- */

static struct op *take_op(const struct coll_group *group, uint32_t rank, uint64_t number_step)
{
	const struct coll_member *member = &group->member[rank];
	struct ep *ep = group->ep;
	struct op *op = pool_take(ep->collectives->ops); /* by the role's holder alone */

	if (!op)
		return NULL;
	*op = (struct op){
		.ep = ep,
		.pool = ep->collectives->ops,
		.leader = op,
		.group_left = 1,
		.kind = OP_COLLECTIVE,
		.dest = member->index,
		.auth = ep->attr.auths ? av_shown(ep->attr.av, member->index) : ep->attr.auth,
		.tag = group->id,
		.cq_data = number_step,
	};
	return op;
}

/* False: no op is free. */
static bool send_next(struct coll *coll)
{
	const struct coll_transfer *to = &coll->round.send[coll->sent];
	const struct coll_group *group = coll->group;
	struct session *session = session_get(group->ep, &group->member[to->rank].at);
	struct op *op;

	if (!session) {
		fail_for(coll, REFUSAL_NO_SESSION);
		return true;
	}
	op = take_op(group, to->rank, coll->call | to->step);
	if (!op)
		return false;
	op->length = op->total = to->span.length;
	op->iov[0] = (struct iovec){ coll->buffer[to->span.in] + to->span.at, to->span.length };
	op->iov_count = 1;
	op->named[0] = name_of(coll);
	op->named[1] = coll->named[0];
	op->named[2] = coll->named[1];
	op->named_count = 3;
	op->done.c.context = coll;
	coll->sent++;
	coll->sends_left++;
	requester_post(session, op);
	return true;
}

void coll_sent(struct op *op)
{
	struct coll *coll = op->done.c.context;

	nic_role(op->ep->nic);
	if (!coll) /* of coll_say() */
		return;
	coll->sends_left--;
	if (op->why.cause != REFUSAL_NONE) {
		if (op->why.cause == REFUSAL_PEER_GONE || op->why.cause == REFUSAL_UNREACHABLE)
			coll->group->knows = op->session->by_peer.hash;
		if (op->why.cause == REFUSAL_CLOSED) /* the member's collective has ended, and its receive with it */
			fail(coll, &(struct refusal){ .cause = REFUSAL_GROUP, .excess = op->why.cause });
		else
			fail(coll, &op->why);
		coll_again(op->ep->nic);
	}
	queue(coll);
}

/* From here on the end of the session with the sender is noticed. */
static void await(struct coll *coll, uint32_t slot, struct session *session)
{
	coll->awaited[slot] = session;
	session->awaited++;
	session_want(session);
	coll->looks = 0;
	if (!session->ep->nic->coll_look_ns)
		coll_look_later(session->ep->nic);
}

static void unawait(struct coll *coll, uint32_t slot)
{
	struct session *session = coll->awaited[slot];

	if (session)
		session->awaited--;
	coll->awaited[slot] = NULL;
}

/* False: no receive is free. */
static bool receive_next(struct coll *coll)
{
	const struct coll_transfer *from = &coll->round.receive[coll->posted];
	const struct coll_group *group = coll->group;
	struct srx *srx = group->ep->collectives->srx;
	struct session *session = session_get(group->ep, &group->member[from->rank].at);
	struct message *message;
	uint32_t slot = coll->posted;
	struct rx *rx;

	if (!session) {
		fail_for(coll, REFUSAL_NO_SESSION);
		return true;
	}
	rx = pool_take(srx->rxs);
	if (!rx)
		return false;
	*rx = (struct rx){
		.srx = srx,
		.ep = group->ep,
		.pool = srx->rxs,
		.flags = POST_TAGGED | POST_COLLECTIVE,
		.iov_count = 1,
		.iov = { { coll->buffer[from->span.in] + from->span.at, from->span.length } },
		.capacity = from->span.length,
		.source = AV_NONE,
		.tag = coll_tag(group, from->rank, coll->call | from->step),
		.named = { name_of(coll), coll->named[0], coll->named[1] },
		.named_count = 3,
		.done.c = { .context = coll, .tag = slot },
	};
	coll->posted++;
	coll->receives_left++;
	message = rx_match_post(&srx->match, rx);
	if (message)
		message_matched(message, rx);
	else
		await(coll, slot, session);
	return true;
}

void coll_received(struct rx *rx, uint64_t length)
{
	struct coll *coll = rx->done.c.context;

	nic_role(rx->srx->nic);
	unawait(coll, (uint32_t)rx->done.c.tag);
	coll->receives_left--;
	if (length != rx->capacity)
		fail_for(coll, REFUSAL_DISAGREE);
	queue(coll);
}

void coll_receive_failed(struct rx *rx, enum refusal_cause cause)
{
	struct coll *coll = rx->done.c.context;

	nic_role(rx->srx->nic);
	unawait(coll, (uint32_t)rx->done.c.tag);
	coll->receives_left--;
	fail_for(coll, cause);
}

void coll_peer_lost(struct session *session, enum refusal_cause cause)
{
	nic_role(session->ep->nic);
	for (struct coll *coll = session->ep->collectives->running; coll; coll = coll->next) {
		for (uint32_t slot = 0; slot < COLL_FAN; slot++) {
			if (coll->awaited[slot] != session)
				continue;
			unawait(coll, slot);
			coll->group->knows = session->by_peer.hash;
			fail_for(coll, cause);
		}
	}
	coll_again(session->ep->nic);
}

bool coll_say(const struct coll_group *group, uint32_t rank, uint64_t call_step)
{
	struct session *session = session_get(group->ep, &group->member[rank].at);
	struct op *op;

	nic_role(group->ep->nic);
	op = session ? take_op(group, rank, call_step) : NULL;
	if (op)
		requester_post(session, op);
	return op;
}

void coll_compare(const struct coll_group *group, uint64_t call)
{
	nic_role(group->ep->nic);
	for (struct coll *coll = group->ep->collectives->running; coll; coll = coll->next)
		if (coll->group == group && call >> (64 - WIRE_COLL_NUMBER_BITS) == coll->call >> (64 - WIRE_COLL_NUMBER_BITS) &&
		    (call ^ coll->call) >> WIRE_COLL_STEP_BITS)
			fail_for(coll, REFUSAL_DISAGREE);
}

void coll_recall(struct ep *ep, uint64_t desc)
{
	nic_role(ep->nic);
	for (struct coll *coll = ep->collectives ? ep->collectives->running : NULL; coll; coll = coll->next)
		if (named_has(coll->named, 2, desc))
			fail_for(coll, REFUSAL_LOCAL_CLOSED);
}

/* --- chores --- */

static void reduce(const struct coll *coll, uint8_t *target, const uint8_t *operand, uint64_t length)
{
	const struct atomic_what what = { ATOMIC_PLAIN, coll->op, coll->type };
	bool rounds = atomic_rounds(coll->type);
	struct atomic_float_mode mode;

	if (rounds)
		atomic_float_begin(&mode);
	for (uint64_t at = 0; at < length; at += coll->shape.element)
		atomic_apply(what, target + at, operand + at, NULL);
	if (rounds)
		atomic_float_end(&mode);
}

/* The next bytes of a chore. False: the program's memory is not there. */
static bool chore_part(struct coll *coll, const struct coll_chore *chore, uint64_t length)
{
	uint8_t *to = coll->buffer[chore->to.in] + chore->to.at + coll->chore_done;
	uint8_t *from = coll->buffer[chore->from] + chore->from_at + coll->chore_done;

	if (chore->kind == COLL_CHORE_COPY)
		return guard_copy(to, from, length);
	if (chore->kind == COLL_CHORE_REDUCE)
		reduce(coll, to, from, length);
	else
		reduce(coll, from, to, length);
	return true;
}

static void chore_end(struct coll *coll, const struct coll_chore *chore)
{
	if (chore->kind == COLL_CHORE_SWAP) {
		uint8_t *own = coll->buffer[COLL_OWN];

		coll->buffer[COLL_OWN] = coll->buffer[COLL_INCOMING];
		coll->buffer[COLL_INCOMING] = own;
	}
	coll->chore++;
	coll->chore_done = 0;
}

/* True: all of the round's are done. */
static bool do_chores(struct coll *coll, uint64_t *budget)
{
	while (coll->chore < COLL_CHORES) {
		const struct coll_chore *chore = &coll->round.chore[coll->chore];
		uint64_t left = chore->kind == COLL_CHORE_NONE ? 0 : chore->to.length - coll->chore_done;
		uint64_t length = left < *budget ? left : *budget;

		if (length < left && coll->shape.element) /* whole elements */
			length -= length % coll->shape.element;
		if (left && !length) {
			*budget = 0;
			return false;
		}
		if (length && !chore_part(coll, chore, length)) {
			fail_for(coll, REFUSAL_SOURCE_FAULT);
			return false;
		}
		*budget -= length;
		coll->chore_done += length;
		if (length == left)
			chore_end(coll, chore);
	}
	return true;
}

/* --- rounds --- */

static void round_begin(struct coll *coll)
{
	coll_schedule(&coll->shape, coll->at, &coll->round);
	coll->chore = 0;
	coll->chore_done = 0;
	coll->sent = coll->posted = 0;
}

/* True: all messages of the round are posted. */
static bool post_messages(struct coll *coll)
{
	while (coll->posted < coll->round.receives && coll->why.cause == REFUSAL_NONE)
		if (!receive_next(coll))
			return false;
	while (coll->sent < coll->round.sends && coll->why.cause == REFUSAL_NONE)
		if (!send_next(coll))
			return false;
	return true;
}

static void coll_fail(struct coll *coll)
{
	const struct refusal why = coll->why;

	coll_break(coll->group, &why);
	coll_end(coll, &why);
}

static void coll_step(struct coll_ready *ready, uint64_t *budget)
{
	struct coll *coll = (struct coll *)ready;

	if (coll->why.cause == REFUSAL_NONE)
		coll->why = coll->group->why;
	if (coll->why.cause != REFUSAL_NONE) {
		coll_fail(coll);
		return;
	}
	if (!do_chores(coll, budget) || !post_messages(coll)) {
		queue(coll);
		return;
	}
	if (coll->sends_left || coll->receives_left || coll->why.cause != REFUSAL_NONE)
		return; /* what is awaited queues it */
	if (coll->round.last) {
		report(coll);
		return;
	}
	coll->at++;
	round_begin(coll);
	queue(coll);
}

/* --- the beginning --- */

/* All members must have the same. Bytes that nobody computes with may have another datatype at each. */
static uint16_t signature(const struct coll *coll)
{
	const struct coll_shape *shape = &coll->shape;
	bool reduces = shape->kind == COLL_ALLREDUCE || shape->kind == COLL_REDUCE || shape->kind == COLL_REDUCE_SCATTER;
	uint64_t bytes = shape->count * shape->element;
	uint8_t call[16] = { (uint8_t)shape->kind, reduces ? coll->type : 0, reduces ? coll->op : 0 };

	for (int i = 0; i < 4; i++)
		call[4 + i] = (uint8_t)(shape->root >> (24 - 8 * i));
	for (int i = 0; i < 8; i++)
		call[8 + i] = (uint8_t)(bytes >> (56 - 8 * i));
	return (uint16_t)digest_bytes(call, sizeof(call));
}

static int take_scratch(struct coll *coll)
{
	uint64_t bytes[COLL_BUFFERS];

	coll_extents(&coll->shape, bytes);
	for (int i = COLL_OWN; i <= COLL_INCOMING; i++) {
		coll->buffer[i] = bytes[i] ? malloc(bytes[i]) : NULL;
		if (bytes[i] && !coll->buffer[i])
			return -ENOMEM;
	}
	return 0;
}

static int start(struct coll_group *group, struct coll *coll)
{
	struct collectives *c = group->ep->collectives;
	int err = take_scratch(coll);

	if (err) {
		free(coll->buffer[COLL_OWN]);
		pool_give(c->colls, coll);
		return err;
	}
	coll->ready.step = coll_step;
	coll->group = group;
	coll->pool = c->colls;
	coll->call = group->begun++ << (64 - WIRE_COLL_NUMBER_BITS) | (uint64_t)signature(coll) << WIRE_COLL_STEP_BITS;
	coll->next = c->running;
	c->running = coll;
	round_begin(coll);
	queue(coll);
	coll_compare_early(group);
	return 0;
}

int coll_begin_join(struct coll_group *group, bool agreed)
{
	struct coll *coll = pool_take(group->ep->collectives->colls);

	nic_role(group->ep->nic);
	if (!coll)
		return -EAGAIN;
	*coll = (struct coll){
		.shape = { .kind = COLL_BARRIER, .size = agreed ? 1 : group->size, .rank = agreed ? 0 : group->rank },
		.is_join = true,
	};
	return start(group, coll);
}

int coll_begin(struct coll_group *group, const struct coll_post *post)
{
	struct ep *ep = group->ep;
	struct coll *coll;

	nic_role(ep->nic);
	if (post->kind != COLL_BARRIER && post->count > LIMIT_COLL_BYTES / atomic_size(post->type))
		return -EMSGSIZE;
	if (ep->attr.tx_cq && cq_choked(ep->attr.tx_cq))
		return -EAGAIN;
	coll = pool_take(ep->collectives->colls);
	if (!coll)
		return -EAGAIN;
	*coll = (struct coll){
		.shape = {
			.kind = post->kind,
			.size = group->size,
			.rank = group->rank,
			.root = post->root,
			.count = post->count,
			.element = post->kind == COLL_BARRIER ? 0 : (uint32_t)atomic_size(post->type),
		},
		.type = post->type,
		.op = post->op,
		.flags = post->flags,
		.buffer = { (uint8_t *)(uintptr_t)post->buf, post->result },
		.named = { (uintptr_t)post->desc[0], (uintptr_t)post->desc[1] },
		.done.c = { .context = post->context, .flags = post->cq_flags, .source = AV_NONE },
	};
	if (post->desc[0] || post->desc[1])
		ep->nic->submit.names = true;
	return start(group, coll);
}

bool coll_reduces(uint8_t type, uint8_t op)
{
	return op <= ATOMIC_BXOR && atomic_valid((struct atomic_what){ ATOMIC_PLAIN, op, type });
}
