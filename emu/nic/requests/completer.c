/* SPDX-License-Identifier: BSD-2-Clause */
/* completer.c - how ops end, and what peers' requests tell of. Receives end in rx_done.c. */
#include "emu/nic/requests/completer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/base/pool.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/ops/watch.h"
#include "emu/nic/requests/fault_ops.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/trace/trace.h"
#include "emu/nic/transport/session.h"

enum { NAME_MAX_TEXT = 64 };

static void op_release(struct cq_node *node)
{
	struct op *op = (struct op *)((char *)node - offsetof(struct op, done));

	pool_give(op->pool, op);
}

__attribute__((noinline, cold)) static void op_watched(struct op *op)
{
	op->flags &= ~(uint32_t)POST_WATCHED;
	op->ep->nic->config.watch->end(op->watch);
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

void op_report(struct op *op)
{
	struct cq *cq = op->ep->attr.tx_cq;
	struct cntr *cntr;

	nic_role(op->ep->nic);
	if (op->session && op->session->fault && fault_late(op))
		return;
	if (unlikely(op->flags & (POST_WORK | POST_WATCHED | POST_IN_ORDER))) {
		if (op->flags & POST_IN_ORDER) {
			in_order_end(op);
			return;
		}
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

void complete_good(struct op *op)
{
	nic_role(op->ep->nic);
	op_end(op);
}

void op_discard(struct op *op)
{
	nic_role(op->ep->nic);
	if (op->flags & POST_WATCHED)
		op_watched(op);
	op_release(&op->done);
}

void complete_note(struct op *op, enum refusal_cause cause, const struct refusal *known)
{
	struct refusal *why = &op->leader->why;

	nic_role(op->ep->nic);
	if (why->cause != REFUSAL_NONE)
		return;
	*why = known ? *known : (struct refusal){ 0 };
	if (op->flags & POST_PLANNED && cause != REFUSAL_CANCELLED)
		why->access = REFUSAL_INJECTED;
	why->cause = cause;
	why->op = op->flags & POST_BIND ? REFUSAL_OP_BIND : op->flags & POST_LOCAL_INV ? REFUSAL_OP_LOCAL_INV : op->kind;
	why->key = op->remote.key;
	why->addr = op->remote.addr;
	why->length = op->length;
	if (op->flags & POST_TAGGED && op_kind_targets(op->kind))
		why->access |= REFUSAL_TAGGED;
	if (op->ep->nic->trace)
		trace_refused(op);
}

/* Does the op of an unreliable endpoint fail for it? Else it is lost on its way, of which its program hears nothing. */
static bool is_local(enum refusal_cause cause)
{
	switch (cause) {
	case REFUSAL_SOURCE_FAULT:
	case REFUSAL_LOCAL_CLOSED:
	case REFUSAL_TRUNCATED:
	case REFUSAL_CANCELLED:
	case REFUSAL_NO_SESSION:
		return true;
	default:
		return false;
	}
}

__attribute__((noinline, cold)) static void op_lose(struct op *op, enum refusal_cause cause, const struct refusal *known)
{
	struct session *session = op->session ? op->session : op->ep->cm.peer;
	struct nic *nic = op->ep->nic;
	char text[LIMIT_ERROR_TEXT], name[NAME_MAX_TEXT];

	if (op->flags & POST_LOCAL) { /* none of those that go to the peer */
		local_execute(session, op);
		return;
	}
	complete_note(op, cause, known);
	nic->counts.lost[cause < REFUSAL_CAUSES ? cause : REFUSAL_NONE]++;
	if (log_limit_ok(nic, LOG_LIMIT_REFUSAL)) {
		refusal_text(nic->config.front, &op->leader->why, NULL, text, sizeof(text));
		nic_log(nic, NIC_LOG_INFO, "lost, to %s: %s", session_name(session, name, sizeof(name)), text);
	}
	op->leader->why = (struct refusal){ .cause = REFUSAL_NONE };
	op_end(op); /* V180 */
}

void complete_failed(struct op *op, enum refusal_cause cause, const struct refusal *known)
{
	complete_note(op, cause, known);
	op_end(op);
}

void complete_refused(struct op *op, enum refusal_cause cause, const struct refusal *known)
{
	nic_role(op->ep->nic);
	if (unlikely(ep_loses(op->ep)) && !is_local(cause))
		op_lose(op, cause, known);
	else
		complete_failed(op, cause, known);
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
			.flags = (done->has_cq_data ? flags : flags & ~front->cq_data) |
				 (done->solicited ? front->cq_solicited : 0),
			.length = done->length,
			.data = done->cq_data,
			.source = (ep->attr.caps & EP_SOURCE) ? session_source(session, done->auth) : ep->attr.tag,
		};

		if (complete_strange(ep, &c))
			complete_as_strangers(ep, ep->attr.rx_cq, &session->peer, &c);
		else
			push_unbacked(ep->attr.rx_cq, slot, &c);
	}
}
