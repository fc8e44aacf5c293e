/* SPDX-License-Identifier: BSD-2-Clause */
/* rx_done.c - how receives end. */
#include "emu/nic/messages/srx.h"

#include <stddef.h>

#include "emu/nic/base/address.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/base/pool.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message_calls.h"
#include "emu/nic/ops/watch.h"

enum { NAME_MAX_TEXT = 64 };

static void rx_release(struct cq_node *node)
{
	struct rx *rx = (struct rx *)((char *)node - offsetof(struct rx, done));

	pool_give(rx->pool, rx);
}

__attribute__((noinline, cold)) static void rx_watched(struct rx *rx)
{
	if (!(rx->flags & POST_WATCHED))
		return;
	rx->flags &= ~(uint32_t)POST_WATCHED;
	rx->srx->nic->config.watch->end(rx->watch);
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

bool complete_strange(const struct ep *ep, const struct completion *c)
{
	return ep->attr.caps & EP_SOURCE_ERR && c->source == AV_NONE;
}

void complete_as_strangers(const struct ep *ep, struct cq *cq, const struct sockaddr_storage *sender, const struct completion *c)
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
	if (cq && complete_strange(message->ep, &rx->done.c)) {
		complete_as_strangers(message->ep, cq, message_sender(message), &rx->done.c);
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
	c->data = message->cq_data;
	c->tag = message->tag;
	if (message->has_cq_data)
		c->flags |= message->ep->nic->config.front->cq_data;
	c->source = (message->ep->attr.caps & EP_SOURCE) ? message_source(message) : message->ep->attr.tag;
}

/* As it was described. */
static inline void receive_good(struct rx *rx, const struct message *message, struct cntr *cntr, bool wanted)
{
	struct rx *parent = rx->parent;

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

void complete_receive(struct rx *rx, const struct message *message)
{
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
	if (message->length > rx->capacity)
		receive_truncated(rx, message);
	else
		receive_good(rx, message, cntr, wanted);
}

void complete_data_receive(struct rx *rx, const struct message *message)
{
	role_assert();
	rx_watched(rx);
	describe(rx, message);
	receive_good(rx, message, receive_cntr(rx), receive_wanted(rx));
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
	const struct ep *ep = srx_reporter(rx);

	role_assert();
	if (cause == REFUSAL_NO_SESSION && rx_is_planned(rx))
		why.access = REFUSAL_INJECTED;
	if (ep)
		error.c.source = ep->attr.tag;
	if (rx->flags & POST_COLLECTIVE) {
		coll_receive_failed(rx, cause);
		rx_release(&rx->done);
		return;
	}
	refusal_text(rx->srx->nic->config.front, &why, NULL, error.text, sizeof(error.text));
	tell_receive_failed(rx, &why, NULL, error.text);
	receive_error(rx, &error);
}

void complete_receive_untold(struct rx *rx)
{
	role_assert();
	rx_watched(rx);
	rx_release(&rx->done);
}
