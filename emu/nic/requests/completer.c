/* SPDX-License-Identifier: BSD-2-Clause */
/* completer.c - how ops and receives end. */
#include "emu/nic/requests/completer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/base/pool.h"
#include "emu/nic/collectives/coll_step.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/faults/fault_post.h"
#include "emu/nic/messages/multi_recv.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/ops/watch.h"
#include "emu/nic/requests/op_kinds.h"
#include "emu/nic/trace/trace.h"
#include "emu/nic/transport/session.h"

enum { NAME_MAX_TEXT = 64 };

static void op_release(struct cq_node *node)
{
	struct op *op = (struct op *)((char *)node - offsetof(struct op, done));

	pool_give(op->pool, op);
}

static void rx_release(struct cq_node *node)
{
	struct rx *rx = (struct rx *)((char *)node - offsetof(struct rx, done));

	pool_give(rx->pool, rx);
}

__attribute__((noinline, cold)) static void op_watched(struct op *op)
{
	op->flags &= ~(uint32_t)POST_WATCHED;
	op->ep->nic->config.watch->end(op->watch);
}

__attribute__((noinline, cold)) static void rx_watched(struct rx *rx)
{
	if (!(rx->flags & POST_WATCHED))
		return;
	rx->flags &= ~(uint32_t)POST_WATCHED;
	rx->srx->nic->config.watch->end(rx->watch);
}

/* Deferred work names its own counter. */
static struct cntr *op_counter(const struct op *op)
{
	if (op->flags & POST_WORK)
		return op->counted;
	return op->ep->attr.cntr[op->what.kind == ATOMIC_PLAIN ? op_kinds[op->kind].counter : EP_CNTR_READ];
}

__attribute__((noinline, cold)) static void tell_failed(const struct op *op)
{
	const struct nic *nic = op->ep->nic;
	char text[LIMIT_ERROR_TEXT], name[NAME_MAX_TEXT];
	const char *peer = op->session ? session_name(op->session, name, sizeof(name)) : NULL;

	refusal_text(nic->config.front, &op->why, NULL, text, sizeof(text));
	if (!op->session && op->kind < OP_POSTED_KINDS)
		nic->config.reports->begun(op->kind);
	nic->config.reports->failed(op->ep->attr.owner, op->done.c.context, &op->why, peer, text);
}

/* The group's last op is through: one completion for all of them. */
static void op_report(struct op *op)
{
	struct cq *cq = op->ep->attr.tx_cq;
	struct cntr *cntr;

	if (op->session && op->session->fault && fault_late(op))
		return;
	if (unlikely(op->flags & (POST_WORK | POST_WATCHED))) {
		if (op->flags & POST_WATCHED)
			op_watched(op);
		if (op->flags & POST_WORK && !(op->flags & POST_COMPLETE))
			cq = NULL;
	}
	if (op_kinds[op->kind].resolved) {
		op_kinds[op->kind].resolved(op);
		op_release(&op->done);
		return;
	}
	cntr = op_counter(op);
	op->done.release = op_release;
	if (op->why.cause == REFUSAL_NONE) {
		if (cntr)
			cntr_event(cntr, op->total);
		if (op->counted)
			cntr_put(op->counted);
		if (cq && (op->flags & POST_COMPLETE))
			cq_push(cq, &op->done);
		else
			op_release(&op->done);
		return;
	}
	op->ep->nic->counts.failed[op->why.cause < REFUSAL_CAUSES ? op->why.cause : REFUSAL_NONE]++;
	if (op->ep->nic->config.reports)
		tell_failed(op);
	if (cq) {
		struct cq_error error = { .c = op->done.c };
		char name[NAME_MAX_TEXT];

		error.err = refusal_errno(op->why.cause);
		error.prov_errno = op->why.cause;
		/* A refusal by the target reads the same on both sides; the program knows the peer that it asked. */
		refusal_text(op->ep->nic->config.front, &op->why,
			     op->why.cause > REFUSAL_WIRE_MAX && op->session ? session_name(op->session, name, sizeof(name)) : NULL,
			     error.text, sizeof(error.text));
		cq_push_error(cq, &error);
	}
	if (cntr)
		cntr_add_error(cntr, 1);
	if (op->counted)
		cntr_put(op->counted);
	op_release(&op->done);
}

static void op_end(struct op *op)
{
	struct op *leader = op->leader;

	if (op->session && unlikely(op->session->fault != NULL))
		fault_ended(op);
	if (op != leader)
		pool_give(op->pool, op);
	if (--leader->group_left == 0)
		op_report(leader);
}

void complete_late(struct op *op)
{
	nic_role(op->ep->nic);
	op_report(op);
}

void complete_good(struct op *op)
{
	nic_role(op->ep->nic);
	op_end(op);
}

void complete_note(struct op *op, enum refusal_cause cause, const struct refusal *known)
{
	struct refusal *why = &op->leader->why;

	nic_role(op->ep->nic);
	if (why->cause != REFUSAL_NONE)
		return;
	*why = known ? *known : (struct refusal){ 0 };
	why->cause = cause;
	why->op = op->kind;
	why->key = op->remote.key;
	why->addr = op->remote.addr;
	why->length = op->length;
	if (op->flags & POST_TAGGED && op_kind_targets(op->kind))
		why->access |= REFUSAL_TAGGED;
	if (op->ep->nic->trace)
		trace_refused(op);
}

void complete_refused(struct op *op, enum refusal_cause cause, const struct refusal *known)
{
	nic_role(op->ep->nic);
	complete_note(op, cause, known);
	op_end(op);
}

/* Where receives are reported: a shared context may be without any endpoint. */
static struct cq *receive_cq(const struct rx *rx)
{
	const struct ep *ep = srx_reporter(rx);
	bool quiet = rx->flags & POST_WORK && !(rx->flags & POST_COMPLETE);

	return ep && !quiet ? ep->attr.rx_cq : NULL;
}

static struct cntr *receive_cntr(const struct rx *rx)
{
	const struct ep *ep = srx_reporter(rx);

	if (rx->flags & POST_WORK)
		return rx->counted;
	return ep ? ep->attr.cntr[EP_CNTR_RECV] : NULL;
}

/* A shared context does not know which endpoint's rule for successes is in force, until there is a message. */
static bool receive_wanted(const struct rx *rx)
{
	return rx->flags & POST_COMPLETE || (rx->srx->shared && !rx->ep->attr.rx_selective);
}

static void receive_error(struct rx *rx, const struct cq_error *error)
{
	struct cntr *cntr = receive_cntr(rx);
	struct cq *cq = receive_cq(rx);
	struct rx *parent = rx->parent;

	rx_watched(rx);
	if (cq)
		cq_push_error(cq, error);
	if (cntr)
		cntr_add_error(cntr, 1);
	if (rx->counted)
		cntr_put(rx->counted);
	rx_release(&rx->done);
	if (parent)
		multi_done(parent);
}

/* A receive has failed. */
static void tell_receive_failed(const struct rx *rx, const struct refusal *why, const char *peer, const char *text)
{
	const struct front_reports *reports = rx->srx->nic->config.reports;

	if (reports)
		reports->failed(rx->srx->shared || !rx->ep ? NULL : rx->ep->attr.owner, rx->done.c.context, why, peer, text);
}

static void receive_truncated(struct rx *rx, const struct message *message)
{
	struct cq_error error = { .c = rx->done.c, .prov_errno = REFUSAL_TRUNCATED };
	struct refusal why = { .cause = REFUSAL_TRUNCATED,
			       .op = OP_SEND,
			       .length = message->length,
			       .region = rx->capacity,
			       .excess = message->length - rx->capacity };
	char name[NAME_MAX_TEXT];

	if (receive_cq(rx))
		error.c.flags |= multi_last_flag(rx);
	error.err = refusal_errno(REFUSAL_TRUNCATED);
	error.olen = message->length - rx->capacity;
	refusal_text(message->ep->nic->config.front, &why, address_text(message_sender(message), name, sizeof(name)), error.text,
		     sizeof(error.text));
	why.op = REFUSAL_OP_RECEIVE;
	tell_receive_failed(rx, &why, name, error.text);
	receive_error(rx, &error);
}

/* EP_SOURCE_ERR: all is well, but the AV does not hold the sender. */
static bool is_strangers(const struct ep *ep, const struct completion *c)
{
	return ep->attr.caps & EP_SOURCE_ERR && c->source == AV_NONE;
}

static void push_strangers(const struct ep *ep, struct cq *cq, const struct sockaddr_storage *sender, const struct completion *c)
{
	struct cq_error error = {
		.c = *c, .err = refusal_errno(REFUSAL_STRANGER), .prov_errno = REFUSAL_STRANGER, .source = *sender
	};
	struct refusal why = { .cause = REFUSAL_STRANGER, .op = OP_SEND, .length = c->length };
	char name[NAME_MAX_TEXT];

	refusal_text(ep->nic->config.front, &why, address_text(sender, name, sizeof(name)), error.text, sizeof(error.text));
	cq_push_error(cq, &error);
}

/* Reports the receive as it was described, unless no completion is wanted. It is gone after the call. */
static void receive_told(struct rx *rx, const struct message *message, bool wanted)
{
	struct cq *cq = receive_cq(rx);

	rx->done.release = rx_release;
	if (cq && is_strangers(message->ep, &rx->done.c)) {
		push_strangers(message->ep, cq, message_sender(message), &rx->done.c);
		rx_release(&rx->done);
	} else if (cq && wanted) {
		cq_push(cq, &rx->done);
	} else {
		rx_release(&rx->done);
	}
}

static void describe(struct rx *rx, const struct message *message)
{
	struct completion *c = &rx->done.c;

	c->length = message->length;
	c->data = message->has_cq_data ? message->cq_data : 0;
	c->tag = message->tag;
	if (message->has_cq_data)
		c->flags |= message->ep->nic->config.front->cq_data;
	c->source = (message->ep->attr.caps & EP_SOURCE) ? message_source(message) : AV_NONE;
}

void complete_receive(struct rx *rx, const struct message *message)
{
	struct rx *parent = rx->parent;
	struct cntr *cntr;
	bool wanted;

	role_assert();
	if (unlikely(rx->flags & (POST_COLLECTIVE | POST_WATCHED))) {
		rx_watched(rx);
		if (rx->flags & POST_COLLECTIVE) {
			coll_received(rx, message->length);
			rx_release(&rx->done);
			return;
		}
	}
	cntr = receive_cntr(rx);
	wanted = receive_wanted(rx);
	describe(rx, message);
	rx->done.c.length = message->length < rx->capacity ? message->length : rx->capacity;
	if (message->length > rx->capacity) {
		receive_truncated(rx, message);
		return;
	}
	if (cntr)
		cntr_event(cntr, rx->done.c.length);
	if (rx->counted)
		cntr_put(rx->counted);
	if (parent && wanted && receive_cq(rx))
		rx->done.c.flags |= multi_last_flag(rx);
	receive_told(rx, message, wanted);
	if (parent)
		multi_done(parent);
}

void complete_released(struct rx *rx)
{
	struct cq *cq = receive_cq(rx);

	role_assert();
	rx_watched(rx);
	rx->done.release = rx_release;
	rx->done.c.flags = rx->srx->nic->config.front->cq_multi;
	if (cq && !rx->multi.told)
		cq_push(cq, &rx->done);
	else
		rx_release(&rx->done);
}

void complete_peek(struct rx *rx, const struct message *message)
{
	struct cq *cq;

	role_assert();
	rx_watched(rx);
	if (message)
		rx->ep = message->ep;
	cq = receive_cq(rx);
	if (message) {
		describe(rx, message);
		receive_told(rx, message, true);
	} else if (!cq) {
		rx_release(&rx->done);
	} else {
		struct cq_error error = { .c = rx->done.c,
					  .prov_errno = REFUSAL_NO_MESSAGE,
					  .err = refusal_errno(REFUSAL_NO_MESSAGE) };

		refusal_text(rx->srx->nic->config.front, &(struct refusal){ .cause = REFUSAL_NO_MESSAGE, .op = OP_SEND }, NULL,
			     error.text, sizeof(error.text));
		cq_push_error(cq, &error);
		rx_release(&rx->done);
	}
}

void complete_receive_failed(struct rx *rx, enum refusal_cause cause)
{
	struct cq_error error = { .c = rx->done.c, .prov_errno = cause, .err = refusal_errno(cause) };
	struct refusal why = { .cause = cause, .op = REFUSAL_OP_RECEIVE, .length = rx->capacity };

	role_assert();
	if (rx->flags & POST_COLLECTIVE) {
		coll_receive_failed(rx, cause);
		rx_release(&rx->done);
		return;
	}
	refusal_text(rx->srx->nic->config.front, &why, NULL, error.text, sizeof(error.text));
	tell_receive_failed(rx, &why, NULL, error.text);
	receive_error(rx, &error);
}

static void slot_release(struct cq_node *node)
{
	free(node);
}

bool complete_has_room(const struct session *session)
{
	const struct ep *ep = session->ep;

	nic_role(ep->nic);
	return !ep->attr.rx_cq || cq_overruns(ep->attr.rx_cq) ||
	       (cq_has_room(ep->attr.rx_cq) && !(ep->attr.caps & EP_SOURCE_ERR && cq_choked(ep->attr.rx_cq)));
}

bool complete_reserve(struct session *session)
{
	struct cq_node **slot = &session->rsp.slot;

	nic_role(session->ep->nic);
	if (!session->ep->attr.rx_cq)
		return true;
	if (!complete_has_room(session))
		return false;
	if (!*slot)
		*slot = calloc(1, sizeof(**slot));
	return *slot;
}

/* The room that was there when the write began may be gone: then the slot takes the completion. */
static void push_unbacked(struct cq *cq, struct cq_node **slot, const struct completion *c)
{
	struct cq_node *node = *slot;

	if (cq_has_room(cq)) {
		cq_push_now(cq, c);
		return;
	}
	node->c = *c;
	node->release = slot_release;
	*slot = NULL;
	cq_push(cq, node);
}

void complete_remote(struct session *session, struct cq_node **slot, const struct remote_done *done)
{
	struct ep *ep = session->ep;
	struct cntr *cntr = ep->attr.cntr[done->fetched ? EP_CNTR_REMOTE_READ : EP_CNTR_REMOTE_WRITE];

	nic_role(session->ep->nic);
	if (cntr)
		cntr_event(cntr, done->length);
	if ((done->has_cq_data || done->event) && ep->attr.rx_cq) {
		const struct front_end *front = ep->nic->config.front;
		uint64_t flags = (done->fetched ? front->cq_fetched : front->cq_written)[done->atomic];
		struct completion c = {
			.context = done->context,
			.flags = done->has_cq_data ? flags : flags & ~front->cq_data,
			.length = done->length,
			.data = done->cq_data,
			.source = (ep->attr.caps & EP_SOURCE) ? session_source(session, done->auth) : AV_NONE,
		};

		if (is_strangers(ep, &c))
			push_strangers(ep, ep->attr.rx_cq, &session->peer, &c);
		else
			push_unbacked(ep->attr.rx_cq, slot, &c);
	}
}
