/* SPDX-License-Identifier: BSD-2-Clause */
/* pairing.c - queue pairs find each other by number, and compare what their programs have set. */
#include "emu/nic/transport/greeting.h"

#include <stdio.h>

#include "emu/nic/base/address.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"
#include "emu/nic/transport/transport_calls.h"

enum { NAME_MAX_TEXT = 64 };

void pairing_hello(const struct conn *conn, struct wire_hello_fields *fields)
{
	nic_role(conn->nic);
	fields->version_min = fields->version_max = WIRE_VERSION_MIN;
	if (!conn->ep->pairing)
		return;
	fields->version_min = fields->version_max = WIRE_VERSION_PAIRS;
	fields->index = (uint8_t)conn->ep->pairing->qpn;
	fields->peer_index = (uint8_t)address_qpn(&conn->session->peer);
}

/* Why the queue pair does not take this peer, now. False: it does. */
static bool turns_away(struct ep *ep, const struct wire_hello_fields *fields, char *text, size_t size)
{
	struct pairing *pairing = ep->pairing;
	struct sockaddr_storage peer;
	char name[NAME_MAX_TEXT], other[NAME_MAX_TEXT];

	if (ep->cm.state == CM_IDLE) {
		pairing->knocked = true;
		snprintf(text, size, "QPN 0x%06x is in RESET or INIT, and receives nothing before RTR", (unsigned)pairing->qpn);
		return true;
	}
	if (!ep->cm.peer) { /* it went to ERR before it had a peer */
		snprintf(text, size, "QPN 0x%06x is in ERR", (unsigned)pairing->qpn);
		return true;
	}
	hello_sender(ep, fields, &peer);
	if (!address_equal(&peer, &ep->cm.peer->peer)) {
		snprintf(text, size, "QPN 0x%06x is connected with %s, not with %s", (unsigned)pairing->qpn,
			 address_text(&ep->cm.peer->peer, name, sizeof(name)), address_text(&peer, other, sizeof(other)));
		return true;
	}
	/* One that has refused a request answers those before it, until its peer leaves. */
	if (ep->cm.state != CM_DOWN || (pairing->refused != REFUSAL_NONE && !ep_loses(ep) && fields->session == ep->cm.peer->id))
		return false;
	snprintf(text, size, "QPN 0x%06x is in ERR", (unsigned)pairing->qpn);
	return true;
}

/* The types of queue pairs, and what says so in HELLO. Each meets one. */
static const struct pair_type {
	uint32_t feature, meets;
	const char *name;
} types[] = {
	{ 0, 0, "RC" },
	{ WIRE_UNRELIABLE, WIRE_UNRELIABLE, "UC" },
	{ WIRE_XRC_SEND, WIRE_XRC_RECV, "XRC_SEND" },
	{ WIRE_XRC_RECV, WIRE_XRC_SEND, "XRC_RECV" },
};

static const struct pair_type *type_of(uint32_t features)
{
	size_t i = sizeof(types) / sizeof(*types) - 1;

	while (i && !(features & types[i].feature))
		i--;
	return &types[i];
}

uint32_t pairing_features(const struct ep *ep)
{
	nic_role(ep->nic);
	if (ep->attr.xrc)
		return WIRE_XRC_RECV;
	if (ep->attr.rules & EP_RULE_NAMES_SRX)
		return WIRE_XRC_SEND;
	return ep_loses(ep) ? WIRE_UNRELIABLE : 0;
}

/* Do the two types meet (V186, WIRE-160)? Else `text` says so. */
static bool types_meet(const struct ep *ep, const struct wire_hello_fields *fields, char *text, size_t size)
{
	const struct pair_type *own = type_of(pairing_features(ep)), *peer = type_of(fields->features);

	if (own->meets == peer->feature)
		return true;
	snprintf(text, size, "QPN 0x%06x is of type %s, and its peer of type %s: hardware drops such packets",
		 (unsigned)ep->pairing->qpn, own->name, peer->name);
	return false;
}

/* The queue pair behind this listener that is meant. */
static bool finds_pair(struct conn *conn, const struct wire_hello_fields *fields)
{
	struct ep *ep = conn->ep->pairs->at[fields->peer_index];
	char text[WIRE_TEXT_LEN + 1];

	if (!ep)
		snprintf(text, sizeof(text), "there is no queue pair with QPN 0x%06x",
			 (unsigned)address_port(&conn->ep->name) << 8 | fields->peer_index);
	else if (ep->attr.datagrams)
		snprintf(text, sizeof(text), "QPN 0x%06x is of type UD, which takes no connections", (unsigned)ep->pairing->qpn);
	else if (types_meet(ep, fields, text, sizeof(text)) && !turns_away(ep, fields, text, sizeof(text))) {
		conn->ep = ep;
		return true;
	}
	conn_bye(conn, WIRE_BYE_UNPAIRED, text, true);
	return false;
}

/* The queue pair that answers our dial. One of an older release knows no type but RC, and has not minded ours. */
static bool answer_fits(struct conn *conn, const struct wire_hello_fields *fields)
{
	struct session *session = conn->session;
	char text[WIRE_TEXT_LEN + 1];

	if (types_meet(conn->ep, fields, text, sizeof(text)))
		return true;
	conn_bye(conn, WIRE_BYE_UNPAIRED, text, false);
	if (ep_loses(session->ep)) /* WIRE-162 */
		session_end(session, REFUSAL_PEER_GONE);
	return false;
}

bool pairing_meets(struct conn *conn, const struct wire_hello_fields *fields)
{
	bool pairs = conn->ep->pairs || conn->ep->pairing;

	nic_role(conn->nic);
	if (unlikely((fields->version_min >= WIRE_VERSION_PAIRS) != pairs)) {
		struct session *session = conn->session;

		conn_bye(conn, WIRE_BYE_VERSION,
			 pairs ? "queue pairs speak version 2 alone (WIRE-22)"
			       : "this is no queue pair, and speaks version 1 alone (WIRE-22)",
			 true);
		if (session)
			session_end(session, REFUSAL_PROTOCOL);
		return false;
	}
	return conn->ep->pairs ? finds_pair(conn, fields) : !conn->ep->pairing || answer_fits(conn, fields);
}

bool pairing_anew(struct session *session)
{
	nic_role(session->ep->nic);
	if (!session->ep->pairing || session->state == SESSION_OPEN || session->req.acked || session->rsp.seen)
		return false;
	session_forgotten(session);
	return true;
}

uint32_t pairing_dials_most(const struct ep *ep)
{
	nic_role(ep->nic);
	if (ep_loses(ep)) /* WIRE-162 */
		return 1;
	/* Retries take their time, whatever the reason. */
	return ep->pairing ? UINT32_MAX : ep->nic->config.refused_dials;
}

bool pairing_fill(struct session *session, struct conn *conn)
{
	void *at = session->rsp.due & DUE_PAIR ? conn_frame_begin(conn, 0, 0) : NULL;

	nic_role(conn->nic);
	if (!at)
		return false;
	conn_frame_end(conn, wire_put_pair(at, &session->ep->pairing->own));
	session->rsp.due &= (uint8_t)~DUE_PAIR;
	return true;
}

const char *pairing_taken(struct conn *conn, const struct wire_head *head)
{
	nic_role(conn->nic);
	if (!conn->ep->pairing)
		return "PAIR between endpoints that are no queue pairs (WIRE-141)";
	wire_get_pair(head, &conn->ep->pairing->peer);
	pairing_compare(conn->session);
	return NULL;
}

static void tell_psn(const struct session *session, const char *whose, uint32_t sends, uint32_t expects)
{
	struct nic *nic = session->ep->nic;
	char name[NAME_MAX_TEXT];

	if (log_limit_ok(nic, LOG_LIMIT_CONNECTION))
		nic_log(nic, NIC_LOG_WARN,
			"QPN 0x%06x and %s: the packet sequence numbers differ. %s requests begin with 0x%06x (sq_psn), and the "
			"other side expects 0x%06x (rq_psn): on hardware they are dropped",
			(unsigned)session->ep->pairing->qpn, session_name(session, name, sizeof(name)), whose, (unsigned)sends,
			(unsigned)expects);
}

/* An unreliable receiver takes the first packet of a message with any number (V182). */
static bool differ(const struct ep *ep, const struct wire_pair_fields *sends, const struct wire_pair_fields *expects)
{
	return !ep_loses(ep) && sends->sq_psn != WIRE_PSN_UNKNOWN && sends->sq_psn != expects->rq_psn;
}

/* Are packets of `from` too long for `to`, when so much is moved? */
static bool outgrows(const struct wire_pair_fields *from, const struct wire_pair_fields *to, uint64_t length)
{
	return from->path_mtu > to->path_mtu && length > to->path_mtu;
}

enum refusal_cause pairing_bars(const struct pairing *pairing, const struct op *op)
{
	const struct wire_pair_fields *own = &pairing->own, *peer = &pairing->peer;

	if (!peer->path_mtu) /* not heard of yet */
		return REFUSAL_NONE;
	if (differ(op->ep, own, peer))
		return REFUSAL_PSN;
	return outgrows(op->kind == OP_READ ? peer : own, op->kind == OP_READ ? own : peer, op->length) ? REFUSAL_PATH_MTU
													: REFUSAL_NONE;
}

static void tell_mtu(const struct session *session, uint32_t own, uint32_t peer)
{
	struct nic *nic = session->ep->nic;
	char name[NAME_MAX_TEXT];

	if (log_limit_ok(nic, LOG_LIMIT_CONNECTION))
		nic_log(nic, NIC_LOG_WARN,
			"QPN 0x%06x and %s: the path MTUs differ, %u B here and %u B there: on hardware longer packets are dropped",
			(unsigned)session->ep->pairing->qpn, session_name(session, name, sizeof(name)), (unsigned)own,
			(unsigned)peer);
}

void pairing_compare(struct session *session)
{
	struct pairing *pairing = session->ep->pairing;
	const struct wire_pair_fields *own = &pairing->own, *peer = &pairing->peer;

	nic_role(session->ep->nic);
	if (!peer->path_mtu)
		return;
	if (differ(session->ep, own, peer))
		tell_psn(session, "Our", own->sq_psn, peer->rq_psn);
	if (differ(session->ep, peer, own) && !session->rsp.deaf)
		tell_psn(session, "Its", peer->sq_psn, own->rq_psn);
	if (own->path_mtu != peer->path_mtu)
		tell_mtu(session, own->path_mtu, peer->path_mtu);
	if (differ(session->ep, peer, own))
		session->rsp.deaf = true;
	in_order_bar(session);
}

void pairing_refused(struct session *session, enum refusal_cause cause)
{
	struct pairing *pairing = session->ep->pairing;

	nic_role(session->ep->nic);
	session->rsp.deaf = true;
	if (pairing->refused == REFUSAL_NONE)
		pairing->refused = cause;
	if (session == session->ep->self) /* the op of its own, which was refused, is told first */
		return;
	pairing->halting = true;
	session_time(session, nic_now(session->ep->nic));
}
