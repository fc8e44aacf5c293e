/* SPDX-License-Identifier: BSD-2-Clause */
/* cm.c - an endpoint connects to its one peer, and leaves it. The peer's own requests are in target_cm.c. */
#include "emu/nic/endpoint/ep_impl.h"

#include <errno.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/base/cancel.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/request_calls.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/greeting.h"
#include "emu/nic/transport/transport_calls.h"

static_assert((int)LIMIT_CM_DATA == (int)WIRE_CM_DATA_MAX && (int)LIMIT_CM_DATA <= (int)LIMIT_INJECT,
	      "what goes along fits into a frame and an op");

void cm_init(struct ep *ep)
{
	atomic_init(&ep->cm.gate, ep->attr.cm ? -ENOTCONN : 0);
}

bool cm_tell(struct ep *ep, const struct cm_event *event)
{
	bool taken;
	int state;

	nic_role(ep->nic);
	if (ep->closing)
		return true;
	state = cancel_off();
	taken = ep->attr.cm->event(ep->attr.owner, event);
	cancel_back(state);
	return taken;
}

bool cm_admits(const struct ep *ep, const struct sockaddr_storage *peer)
{
	const struct cm *cm = &ep->cm;

	nic_role(ep->nic);
	if (!ep->attr.cm || ep->attr.passive || ep->pairing ||
	    cm->state == CM_ASKING) /* an accepter dials from an address of its own */
		return true;
	return (cm->state == CM_ACCEPTING || cm->state == CM_UP) && address_equal(&cm->peer->peer, peer);
}

uint32_t cm_caps(const struct session *session)
{
	const struct ep *ep = session->ep;

	nic_role(session->ep->nic);
	return !ep->attr.cm || ep->cm.peer == session || (ep->pairing && ep->self == session) ? ep->attr.caps : 0;
}

bool cm_holds(const struct session *session)
{
	const struct cm *cm = &session->ep->cm;

	nic_role(session->ep->nic);
	return session->kept ||
	       (!session->ep->pairing && ((cm->state == CM_ASKING && cm->asked == session) ||
					  ((cm->state == CM_ACCEPTING || cm->state == CM_UP) && cm->peer == session)));
}

struct session *cm_session(const struct ep *ep)
{
	nic_role(ep->nic);
	return ep->cm.state == CM_UP ? ep->cm.peer : NULL;
}

bool cm_over(const struct ep *ep)
{
	nic_role(ep->nic);
	return ep->cm.state == CM_DOWN;
}

void cm_flush_receives(struct ep *ep)
{
	struct rx *rx;

	nic_role(ep->nic);
	while (!ep->srx->shared && (rx = rx_match_any(&ep->srx->match))) { /* V131 */
		if (rx->flags & POST_MULTI)
			multi_cancel(rx, REFUSAL_CANCELLED); /* messages in it may be unread */
		else
			complete_receive_failed(rx, REFUSAL_CANCELLED);
	}
}

void cm_fail(struct ep *ep, int err, const void *data, size_t length)
{
	nic_role(ep->nic);
	cm_enter(ep, CM_DOWN);
	cm_flush_receives(ep);
	cm_tell(ep, &(struct cm_event){ .kind = CM_REFUSED, .err = err, .data = data, .length = length });
}

void cm_drop_receives(struct ep *ep)
{
	struct rx *rx;

	nic_role(ep->nic);
	while (!ep->srx->shared && (rx = rx_match_any(&ep->srx->match)))
		complete_receive_untold(rx);
}

/* The errno of a failed connect or accept. A NAK of the other side means that no endpoint there waits for the request. */
static int cm_errno(enum refusal_cause cause)
{
	return cause <= REFUSAL_WIRE_MAX ? ECONNREFUSED : refusal_errno(cause);
}

static void word_resolved(struct op *op)
{
	struct session *session = op->session;

	session->words--;
	cm_tell(op->ep, &(struct cm_event){ .kind = CM_SAID,
					    .err = op->why.cause == REFUSAL_NONE ? 0 : cm_errno(op->why.cause),
					    .peer = &session->peer,
					    .request = op->tag,
					    .data = op->inject,
					    .length = op->length });
}

void cm_resolved(struct op *op)
{
	struct ep *ep = op->ep;
	enum cm_state state = ep->cm.state;
	bool good = op->why.cause == REFUSAL_NONE;

	nic_role(op->ep->nic);
	if (ep->attr.manages) {
		word_resolved(op);
	} else if (op->kind == OP_ACCEPT && state == CM_ACCEPTING && good) {
		cm_enter(ep, CM_UP);
		cm_tell(ep, &(struct cm_event){ .kind = CM_CONNECTED });
	} else if (!good && ((op->kind == OP_ACCEPT && state == CM_ACCEPTING) || (op->kind == OP_CONNECT && state == CM_ASKING))) {
		cm_fail(ep, cm_errno(op->why.cause), NULL, 0);
	}
}

void cm_ended(struct session *session, enum refusal_cause cause)
{
	struct ep *ep = session->ep;
	struct cm *cm = &ep->cm;

	nic_role(session->ep->nic);
	if (ep->pairing)
		ep->pairing->peer.path_mtu = 0;
	if (ep->attr.manages) {
		session->kept = 0;
		cm_tell(ep, &(struct cm_event){ .kind = CM_SHUTDOWN, .err = refusal_errno(cause), .peer = &session->peer });
	} else if (cm->state == CM_ASKING && cm->asked == session) {
		/* The request was taken. The passive endpoint may leave before the answer, from another endpoint, is here. */
		cm->until_ns = nic_now(ep->nic) + TIME_ANSWER_NS;
		session_time(session, cm->until_ns);
	} else if (cm->state == CM_UP && cm->peer == session && !ep->pairing) {
		cm_enter(ep, CM_DOWN);
		cm_flush_receives(ep);
		cm_tell(ep, &(struct cm_event){ .kind = CM_SHUTDOWN, .err = refusal_errno(cause) });
	}
}

uint64_t cm_tick(struct session *session, uint64_t now_ns)
{
	struct cm *cm = &session->ep->cm;

	nic_role(session->ep->nic);
	if (session->ep->pairing)
		return pairing_tick(session->ep, now_ns);
	if (!cm->until_ns || cm->asked != session)
		return UINT64_MAX;
	if (now_ns < cm->until_ns)
		return cm->until_ns;
	cm_fail(session->ep, ECONNREFUSED, NULL, 0);
	return UINT64_MAX;
}

/* One of the three, to be posted as the next request of a session. NULL: no op is free. */
static struct op *cm_op(struct ep *ep, enum op_kind kind, uint64_t request, const void *data, size_t length)
{
	struct submit *submit = &ep->nic->submit;
	struct op *op;

	futex_lock(&submit->lock);
	op = pool_take(ep->stx->ops);
	futex_unlock(&submit->lock);
	if (!op)
		return NULL;
	length = length < LIMIT_CM_DATA ? length : LIMIT_CM_DATA;
	*op = (struct op){
		.ep = ep,
		.pool = ep->stx->ops,
		.leader = op,
		.group_left = 1,
		.kind = kind,
		.flags = POST_INJECT,
		.tag = request,
		.length = length,
		.iov_count = 1,
		.iov = { { op->inject, length } },
	};
	if (length)
		memcpy(op->inject, data, length);
	return op;
}

static struct session *session_to(struct ep *ep, const struct sockaddr_storage *peer)
{
	struct sockaddr_storage canonical;

	return address_canonical((const struct sockaddr *)peer, &canonical) ? session_get(ep, &canonical) : NULL;
}

int ep_connect(struct ep *ep, const struct sockaddr_storage *passive, const void *data, size_t length)
{
	struct session *session = session_to(ep, passive);
	struct cm *cm = &ep->cm;
	uint64_t request;
	struct op *op;

	nic_role(ep->nic);
	if (!session)
		return -ENOMEM;
	ep->nic->link.random(ep->nic->link_arg, &request, sizeof(request));
	request |= request == 0; /* zero means none */
	op = cm_op(ep, OP_CONNECT, request, data, length);
	if (!op)
		return -EAGAIN;
	cm->request = request;
	cm->asked = session;
	cm_enter(ep, CM_ASKING);
	requester_post(session, op);
	return 0;
}

int ep_accept(struct ep *ep, const struct sockaddr_storage *peer, uint64_t request, const void *data, size_t length)
{
	struct session *session = session_to(ep, peer);
	struct op *op;

	nic_role(ep->nic);
	if (!session)
		return -ENOMEM;
	op = cm_op(ep, OP_ACCEPT, request, data, length);
	if (!op)
		return -EAGAIN;
	ep->cm.peer = session;
	ep->cm.request = request;
	cm_enter(ep, CM_ACCEPTING);
	requester_post(session, op);
	return 0;
}

int ep_reject(struct ep *ep, const struct sockaddr_storage *peer, uint64_t request, const void *data, size_t length)
{
	struct session *session = session_to(ep, peer);
	struct op *op;

	nic_role(ep->nic);
	if (!session)
		return -ENOMEM;
	op = cm_op(ep, OP_REJECT, request, data, length);
	if (!op)
		return -EAGAIN;
	requester_post(session, op);
	return 0;
}

uint64_t ep_draw(struct ep *manager)
{
	uint64_t number;

	nic_role(manager->nic);
	manager->nic->link.random(manager->nic->link_arg, &number, sizeof(number));
	return number | (number == 0);
}

int ep_say(struct ep *manager, const struct sockaddr_storage *peer, uint64_t number, const void *data, size_t length)
{
	struct session *session = session_to(manager, peer);
	struct op *op;

	nic_role(manager->nic);
	if (!session)
		return -ENOMEM;
	op = cm_op(manager, OP_CONNECT, number, data, length);
	if (!op)
		return -EAGAIN;
	session->words++;
	requester_post(session, op);
	return 0;
}

void ep_keep(struct ep *manager, const struct sockaddr_storage *peer, bool lasts)
{
	struct session *session = session_to(manager, peer);

	nic_role(manager->nic);
	if (session && lasts)
		session->kept++;
	else if (session && session->kept)
		session->kept--;
}

void cm_leave(struct session *session)
{
	nic_role(session->ep->nic);
	if (session->conn)
		conn_bye(session->conn, WIRE_BYE_CLOSED, "the connection was shut down", true);
	session_end(session, REFUSAL_CANCELLED);
}

void ep_shutdown(struct ep *ep)
{
	struct cm *cm = &ep->cm;
	bool was_up;

	nic_role(ep->nic);
	while (submit_take(ep->nic))
		;
	services_close(ep);
	if (cm->state == CM_DOWN)
		return;
	was_up = cm->state == CM_UP;
	cm_enter(ep, CM_DOWN);
	if (cm->asked)
		cm_leave(cm->asked);
	if (cm->peer)
		cm_leave(cm->peer);
	cm_flush_receives(ep);
	if (was_up) /* both may leave at once: then neither would hear of the other */
		cm_tell(ep, &(struct cm_event){ .kind = CM_SHUTDOWN });
}

bool ep_peer(const struct ep *ep, struct sockaddr_storage *peer)
{
	nic_role(ep->nic);
	if (!ep->cm.peer)
		return false;
	*peer = ep->cm.peer->peer;
	return true;
}
