/* SPDX-License-Identifier: BSD-2-Clause */
/* completer.c - how ops and receives end. */
#include "emu/nic/completer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/ep.h"
#include "emu/nic/nic_impl.h"
#include "emu/nic/pool.h"
#include "emu/nic/session.h"

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

static struct cntr *op_counter(const struct op *op)
{
	static const uint8_t counters[] = {
		[OP_SEND] = EP_CNTR_SEND, [OP_WRITE] = EP_CNTR_WRITE, [OP_READ] = EP_CNTR_READ,
	};

	return op->ep->attr.cntr[counters[op->kind]];
}

/* The group's last op is through: one completion for all of them. */
static void op_report(struct op *op)
{
	struct cq *cq = op->ep->attr.tx_cq;
	struct cntr *cntr = op_counter(op);

	op->done.release = op_release;
	if (op->why.cause == REFUSAL_NONE) {
		if (cntr)
			cntr_add(cntr, 1);
		if (cq && (op->flags & POST_COMPLETE))
			cq_push(cq, &op->done);
		else
			op_release(&op->done);
		return;
	}
	if (cq) {
		struct cq_error error = { .c = op->done.c };
		char name[NAME_MAX_TEXT];

		error.err = refusal_errno(op->why.cause);
		error.prov_errno = op->why.cause;
		/* What the target refused reads the same on both sides; the program knows whom it asked. */
		refusal_text(&op->why, op->why.cause > REFUSAL_WIRE_MAX && op->session ?
			     session_name(op->session, name, sizeof(name)) : NULL, error.text, sizeof(error.text));
		cq_push_error(cq, &error);
	}
	if (cntr)
		cntr_add_error(cntr, 1);
	op_release(&op->done);
}

static void op_end(struct op *op)
{
	struct op *leader = op->leader;

	if (op != leader)
		pool_give(op->pool, op);
	if (--leader->group_left == 0)
		op_report(leader);
}

void complete_good(struct op *op)
{
	op_end(op);
}

void complete_refused(struct op *op, enum refusal_cause cause, const struct refusal *known)
{
	struct refusal *why = &op->leader->why;

	if (why->cause == REFUSAL_NONE) {
		if (known)
			*why = *known;
		why->cause = cause;
		why->op = op->kind;
		why->key = op->remote.key;
		why->addr = op->remote.addr;
		why->length = op->length;
	}
	op_end(op);
}

void complete_receive(struct rx *rx, struct session *session, uint64_t length, bool has_cq_data, uint64_t cq_data)
{
	struct cq *cq = rx->ep->attr.rx_cq;
	struct cntr *cntr = rx->ep->attr.cntr[EP_CNTR_RECV];
	struct completion *c = &rx->done.c;

	c->length = length < rx->capacity ? length : rx->capacity;
	c->data = has_cq_data ? cq_data : 0;
	if (has_cq_data)
		c->flags |= CQ_F_REMOTE_CQ_DATA;
	c->source = (rx->ep->attr.caps & EP_SOURCE) ? session_source(session) : AV_NONE;
	rx->done.release = rx_release;
	if (length > rx->capacity) {
		struct cq_error error = { .c = *c, .prov_errno = REFUSAL_TRUNCATED };
		struct refusal why = { .cause = REFUSAL_TRUNCATED, .op = OP_SEND, .length = length,
				       .region = rx->capacity, .excess = length - rx->capacity };
		char name[NAME_MAX_TEXT];

		error.err = refusal_errno(REFUSAL_TRUNCATED);
		error.olen = length - rx->capacity;
		refusal_text(&why, session_name(session, name, sizeof(name)), error.text, sizeof(error.text));
		if (cq)
			cq_push_error(cq, &error);
		if (cntr)
			cntr_add_error(cntr, 1);
		rx_release(&rx->done);
		return;
	}
	if (cntr)
		cntr_add(cntr, 1);
	if (cq && (rx->flags & POST_COMPLETE))
		cq_push(cq, &rx->done);
	else
		rx_release(&rx->done);
}

void complete_receive_failed(struct rx *rx, enum refusal_cause cause)
{
	struct cq *cq = rx->ep->attr.rx_cq;
	struct cntr *cntr = rx->ep->attr.cntr[EP_CNTR_RECV];

	if (cq) {
		struct cq_error error = { .c = rx->done.c, .prov_errno = cause, .err = refusal_errno(cause) };
		struct refusal why = { .cause = cause, .op = OP_SEND, .length = rx->capacity };

		refusal_text(&why, NULL, error.text, sizeof(error.text));
		cq_push_error(cq, &error);
	}
	if (cntr)
		cntr_add_error(cntr, 1);
	rx_release(&rx->done);
}

static void slot_release(struct cq_node *node)
{
	free(node);
}

bool complete_reserve(struct session *session)
{
	const struct ep *ep = session->ep;
	struct cq_node **slot = &session->rsp.slot;

	if (!ep->attr.rx_cq)
		return true;
	if (!cq_has_room(ep->attr.rx_cq))
		return false;
	if (!*slot)
		*slot = calloc(1, sizeof(**slot));
	return *slot;
}

/* The room that was there when the write began may be gone: then the slot takes the completion. */
static void push_unbacked(struct session *session, const struct completion *c)
{
	struct cq *cq = session->ep->attr.rx_cq;
	struct cq_node *slot = session->rsp.slot;

	if (cq_has_room(cq)) {
		cq_push_now(cq, c);
		return;
	}
	slot->c = *c;
	slot->release = slot_release;
	session->rsp.slot = NULL;
	cq_push(cq, slot);
}

void complete_remote_write(struct session *session, uint64_t length, bool has_cq_data, uint64_t cq_data)
{
	struct ep *ep = session->ep;

	if (ep->attr.cntr[EP_CNTR_REMOTE_WRITE])
		cntr_add(ep->attr.cntr[EP_CNTR_REMOTE_WRITE], 1);
	if (has_cq_data && ep->attr.rx_cq) {
		struct completion c = {
			.flags = CQ_F_RMA | CQ_F_REMOTE_WRITE | CQ_F_REMOTE_CQ_DATA,
			.length = length,
			.data = cq_data,
			.source = (ep->attr.caps & EP_SOURCE) ? session_source(session) : AV_NONE,
		};

		push_unbacked(session, &c);
	}
}

void complete_remote_read(struct session *session)
{
	struct cntr *cntr = session->ep->attr.cntr[EP_CNTR_REMOTE_READ];

	if (cntr)
		cntr_add(cntr, 1);
}
