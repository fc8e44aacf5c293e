/* SPDX-License-Identifier: BSD-2-Clause */
/* recall.c - posts taken back. A session's queue holds ops never sent, or dropped by the peer, as both sides know. */
#include "emu/nic/requests/requester.h"

#include <errno.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/transport/conn.h"

/* The device's own ops have no context, nor have those of the calls that inject and never complete; deferred work is taken
 * back by its own call. */
static bool is_asked(const struct op *op, const void *context)
{
	const struct op *leader = op->leader;

	return leader->done.c.context == context && leader->kind < OP_POSTED_KINDS && !(leader->flags & POST_WORK) &&
	       (leader->flags & (POST_INJECT | POST_COMPLETE)) != POST_INJECT;
}

/* Are all ops of the post in the list? */
static bool is_whole(const struct op_list *list, const struct op *leader)
{
	uint64_t bytes = 0;
	uint32_t count = 0;

	for (const struct op *op = list->first; op; op = op->next) {
		if (op->leader != leader)
			continue;
		bytes += op->length;
		count++;
	}
	return count == leader->group_left && bytes == leader->total;
}

/* The leader is the last. */
static void cancel_all(struct op_list *list, const struct op *leader)
{
	struct op *before = NULL, *op, *next;

	for (op = list->first; op; op = next) {
		bool last = op == leader;

		next = last ? NULL : op->next;
		if (op->leader != leader) {
			before = op;
			continue;
		}
		op_list_cut(list, before, op);
		complete_refused(op, REFUSAL_CANCELLED, NULL);
	}
}

static bool cancel_one(struct op_list *list, const void *context)
{
	for (const struct op *op = list->first; op; op = op->next) {
		if (!is_asked(op, context) || !is_whole(list, op->leader))
			continue;
		cancel_all(list, op->leader);
		return true;
	}
	return false;
}

int recall_post(struct ep *ep, const void *context)
{
	nic_role(ep->nic);
	if (ep->attr.tx_cq && cq_choked(ep->attr.tx_cq))
		return -EAGAIN;
	while (submit_take(ep->nic))
		;
	if (cancel_one(&ep->dgram.waiting, context))
		return 0;
	for (struct session *session = ep->sessions; session; session = session->next) {
		if (!cancel_one(&session->req.pending, context))
			continue;
		if (session->conn) /* ops that waited behind it may be free */
			conn_busy(session->conn);
		return 0;
	}
	return -ENOENT;
}

static void recall_datagrams(struct op_list *waiting, uint64_t desc)
{
	struct op_list keep = { NULL, NULL };
	struct op *op;

	while ((op = op_list_pop(waiting))) {
		if (!op_names(op, desc)) {
			op_list_push(&keep, op);
		} else if (op->ep->pairing) { /* in its turn */
			op->why.cause = REFUSAL_LOCAL_CLOSED;
			op_list_push(&keep, op);
		} else {
			complete_refused(op, REFUSAL_LOCAL_CLOSED, NULL);
		}
	}
	*waiting = keep;
}

static void recall_session(struct session *session, uint64_t desc)
{
	requester_recall(session, desc);
	message_recall(session, desc);
	tagged_recall(session, desc);
	target_rsend_recall(session, desc);
	target_write_recall(session, desc);
}

void recall_of_ep(struct ep *ep, uint64_t desc)
{
	nic_role(ep->nic);
	recall_datagrams(&ep->dgram.waiting, desc);
	if (ep->self)
		recall_session(ep->self, desc);
	for (struct session *session = ep->sessions; session; session = session->next)
		recall_session(session, desc);
}
