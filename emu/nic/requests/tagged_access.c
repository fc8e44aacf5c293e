/* SPDX-License-Identifier: BSD-2-Clause */
/* tagged_access.c - which receive a tagged WRITE or READ takes, and how it ends. */
#include "emu/nic/requests/responder.h"

#include <stdlib.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/requests/request_calls.h"

struct tagged_access {
	struct tagged_access *next;
	struct mr region; /* in no table */
	struct rx *rx;
	uint64_t seq;    /* of the request's first segment */
	uint64_t length; /* of the request */
};

static void tagged_set_region(struct mr *region, const struct rx *rx, const struct access *ask)
{
	*region = (struct mr){
		.key = ask->to.key,
		.auth = ask->to.auth, /* rx_match_arrival() has judged it */
		.id = rx->order,
		.length = rx->capacity,
		.access = MR_REMOTE_READ | MR_REMOTE_WRITE,
		.iov_count = rx->iov_count,
		.enabled = true,
	};
	if (rx->iov_count > 1)
		region->more = (struct iovec *)(uintptr_t)rx->iov;
	else if (rx->iov_count)
		region->one = rx->iov[0];
}

/* The posted receive that comes first, out of its queue; NULL: none, or it may not be taken. */
static struct rx *tagged_match(struct session *session, const struct access *ask)
{
	struct message wanted = { .ep = session->ep, .session = session, .tag = ask->to.key, .auth = ask->to.auth, .tagged = true };
	const struct ep *ep = session->ep;
	struct rx *rx;

	if (!ep->srx->match.chains || (ep->attr.rx_cq && cq_choked(ep->attr.rx_cq)))
		return NULL;
	rx = rx_match_arrival(&ep->srx->match, &wanted);
	if (!rx || !(rx->flags & POST_MULTI))
		return rx;
	rx_match_queue(&ep->srx->match, rx);
	return NULL;
}

static const char *tagged_take(struct conn *conn, const struct access *ask)
{
	struct session *session = conn->session;
	struct tagged_access *taken;
	struct rx *rx;

	taken = malloc(sizeof(*taken));
	if (!taken)
		return conn_no_memory;
	rx = tagged_match(session, ask);
	if (!rx) {
		free(taken);
		return responder_rnr(conn);
	}
	rx->ep = session->ep;
	taken->rx = rx;
	taken->seq = ask->seq;
	taken->length = ask->length;
	tagged_set_region(&taken->region, rx, ask);
	taken->next = session->rsp.tagged;
	session->rsp.tagged = taken;
	return NULL;
}

const char *tagged_admit(struct conn *conn, const struct access *ask)
{
	nic_role(conn->nic);
	if (ep_takes(conn->session->ep, ask->to.auth, &conn->session->peer))
		return tagged_take(conn, ask);
	conn->in.why = (struct refusal){ .cause = REFUSAL_AUTH };
	access_describe(ask, &conn->in.why);
	return NULL;
}

static struct tagged_access *tagged_find(const struct session *session, uint64_t seq)
{
	struct tagged_access *taken = session->rsp.tagged;

	while (taken && taken->seq != seq)
		taken = taken->next;
	return taken;
}

struct mr *tagged_region(const struct session *session, uint64_t seq)
{
	struct tagged_access *taken = tagged_find(session, seq);

	nic_role(session->ep->nic);
	return taken ? &taken->region : NULL;
}

bool tagged_find_length(const struct session *session, uint64_t seq, uint64_t *length)
{
	const struct tagged_access *taken = tagged_find(session, seq);

	nic_role(session->ep->nic);
	if (!taken)
		return false;
	*length = taken->length;
	return true;
}

/* Forgets it: its receive, which is in no list then. NULL: there is none. Its bytes on their way out are copied. */
static struct rx *tagged_end(struct session *session, struct tagged_access *taken)
{
	struct tagged_access **at = &session->rsp.tagged;
	struct rx *rx;

	if (!taken)
		return NULL;
	while (*at != taken)
		at = &(*at)->next;
	*at = taken->next;
	if (session->conn)
		conn_revoke(session->conn, &taken->region, WIRE_CANCELLED);
	rx = taken->rx;
	free(taken);
	return rx;
}

void tagged_done(struct session *session, uint64_t seq, const struct remote_done *done)
{
	struct tagged_access *taken = tagged_find(session, seq);
	struct message as_message = {
		.ep = session->ep,
		.session = session,
		.length = done->length,
		.cq_data = done->cq_data,
		.has_cq_data = done->has_cq_data,
		.tagged = true,
	};
	struct rx *rx;

	nic_role(session->ep->nic);
	if (!taken)
		return;
	as_message.tag = taken->region.key;
	as_message.auth = taken->region.auth;
	rx = tagged_end(session, taken);
	rx->done.c.flags |= session->ep->nic->config.front->cq_tagged[done->fetched];
	complete_receive(rx, &as_message);
}

void tagged_fail(struct session *session, uint64_t seq, enum refusal_cause cause)
{
	struct rx *rx = tagged_end(session, tagged_find(session, seq));

	nic_role(session->ep->nic);
	if (rx)
		complete_receive_failed(rx, cause);
}

void tagged_undo(struct session *session, uint64_t seq)
{
	struct rx *rx = tagged_end(session, tagged_find(session, seq));

	nic_role(session->ep->nic);
	if (rx)
		message_give_back(rx);
}

void tagged_flush(struct session *session, enum refusal_cause cause)
{
	nic_role(session->ep->nic);
	while (session->rsp.tagged)
		complete_receive_failed(tagged_end(session, session->rsp.tagged), cause);
}

void tagged_recall(struct session *session, uint64_t desc)
{
	struct tagged_access *taken = session->rsp.tagged, *next;

	nic_role(session->ep->nic);
	for (; taken; taken = next) {
		next = taken->next;
		if (rx_names(taken->rx, desc))
			complete_receive_failed(tagged_end(session, taken), REFUSAL_LOCAL_CLOSED);
	}
}
