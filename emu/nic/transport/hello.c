/* SPDX-License-Identifier: BSD-2-Clause */
/* hello.c - judging HELLO, as dialler and as accepter. */
#include "emu/nic/transport/greeting.h"

#include <errno.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/fault_swap.h"
#include "emu/nic/transport/transport_calls.h"

/* Of a queue pair the whole order counts. */
static uint32_t needs_no(const struct ep *ep)
{
	const uint32_t mixed = EP_ORDER_WAW | EP_ORDER_RAW;
	uint32_t order = ep->attr.order;

	if (ep->pairing)
		return 0;
	return WIRE_TAKES_PARK | (order & (EP_ORDER_RAW | EP_ORDER_RMA_RAW) ? 0 : WIRE_NO_RAW) |
	       (order & (EP_ORDER_WAW | EP_ORDER_RMA_WAW) ? 0 : WIRE_NO_WAW) | (order & EP_ORDER_SAW ? 0 : WIRE_NO_SAW) |
	       (order & EP_ORDER_WAS ? 0 : WIRE_NO_WAS) | (order & mixed ? 0 : WIRE_NO_MIXED) |
	       (order & (mixed | EP_ORDER_ATOMIC_WAW | EP_ORDER_ATOMIC_RAW) ? 0 : WIRE_NO_ATOMIC);
}

static uint32_t hello_features(const struct conn *conn)
{
	const struct nic *nic = conn->nic;
	const struct ep *ep = conn->ep;

	return (nic->config.digest == NIC_DIGEST_FULL ? WIRE_WANT_PAYLOAD_DIGEST : 0) |
	       (nic->config.digest == NIC_DIGEST_OFF ? WIRE_OFFER_NO_DIGEST : 0) | (nic->secret ? WIRE_ASK_PROOF : 0) |
	       (ep->attr.caps & (EP_TAGGED_READ | EP_TAGGED_WRITE) ? WIRE_TAGGED_RMA : 0) |
	       (ep->collectives ? WIRE_TAKES_COLLECTIVES | WIRE_HEARS_WAITS : 0) |
	       (nic->link.join && !fault_plan_of(nic) ? WIRE_TRUNKS : 0) | (session_walled(conn->session) ? WIRE_NEVER_DIALS : 0) |
	       (claim_asks(conn) ? WIRE_ASKS_ALONE : 0) | needs_no(ep) |
	       (fault_plan_of(nic) || nic->config.races ? WIRE_HOLDS : 0) | (ep->pairing ? pairing_features(ep) : 0);
}

void hello_send(struct conn *conn)
{
	struct session *session = conn->session;
	struct wire_hello_fields fields = {
		.features = hello_features(conn),
		.session = session->id,
		.epoch = conn->epoch,
		.seen = session->rsp.seen,
		.verdict_seen = session->req.verdict_seen,
		.requests = LIMIT_REQUESTS,
		.reads = LIMIT_READS,
		.segment = conn->nic->config.segment,
		.known_port = conn->ep->attr.known_port,
	};
	size_t length;
	void *at;

	nic_role(conn->nic);
	pairing_hello(conn, &fields);
	session->holds = fields.features & WIRE_HOLDS;
	conn->joins = fields.features & WIRE_TRUNKS;
	conn->walled = fields.features & WIRE_NEVER_DIALS;
	memcpy(fields.instance, conn->ep->instance, WIRE_ID_LEN);
	if (session->peer_is == PEER_KNOWN)
		memcpy(fields.expected, session->instance, WIRE_ID_LEN);
	address_put(&conn->ep->name, &fields.at);
	at = conn_frame_begin(conn, 0, 0);
	if (!at) {
		conn_close(conn, ENOMEM, false);
		return;
	}
	if (conn->dialled && session->peer_is != PEER_KNOWN)
		session_meet(session, PEER_GREETED);
	length = wire_put_hello(at, &fields);
	wire_seal(at, 0, true);
	sendq_add(&conn->out, length);
	conn_busy(conn);
	proof_hello_sent(conn, at, length);
}

/* The accepter's greeting leaves first, as what follows it may go another way. */
static int hello_join(struct conn *conn, const struct wire_hello_fields *fields)
{
	struct nic *nic = conn->nic;
	int err = 0;

	if (!conn->joins || !(fields->features & WIRE_TRUNKS))
		return 0;
	if (conn->out.buffer)
		err = sendq_flush(&conn->out, &nic->spares, &nic->link, conn->line);
	return err ? err : nic->link.join(conn->line, conn->dialled, fields->instance);
}

/* Both HELLOs are through, and the proofs that go with them. */
static void hello_open(struct conn *conn, const struct wire_hello_fields *fields)
{
	enum nic_digest digest = conn->nic->config.digest;
	const char *broken;
	int err = hello_join(conn, fields);

	if (err) {
		conn_close(conn, -err, false);
		return;
	}
	session_known_by(conn->session, fields->known_port);
	conn->tagged_rma = fields->features & WIRE_TAGGED_RMA;
	conn->session->takes_collectives = fields->features & WIRE_TAKES_COLLECTIVES;
	conn->session->hears_waits = conn->session->takes_collectives && fields->features & WIRE_HEARS_WAITS;
	conn->session->peer_holds = fields->features & WIRE_HOLDS;
	conn->session->peer_needs_no = fields->features & WIRE_NEEDS_NO;
	conn->session->dials_for_both = fields->features & WIRE_NEVER_DIALS;
	conn->head_digest = !(digest == NIC_DIGEST_OFF && (fields->features & WIRE_OFFER_NO_DIGEST));
	conn->payload_digest = digest == NIC_DIGEST_FULL || (fields->features & WIRE_WANT_PAYLOAD_DIGEST);
	/* A payload lent with its digest may have changed before it was sent, and so have cut the connection before this one. */
	conn->out.digest_batch = conn->payload_digest ? (uint32_t)conn->nic->link.at_once(conn->line) : 0;
	conn->out.copy_all = (conn->payload_digest && conn->session->opened) || conn->nic->config.races;
	if (!proof_finish(conn)) {
		conn_close(conn, ENOMEM, false);
		return;
	}
	if (conn->ep->attr.xrc || conn->ep->attr.rules & EP_RULE_NAMES_SRX)
		auth_tokens_name(conn);
	stream_modes(&conn->stream, conn->head_digest, conn->payload_digest, conn->nic->config.segment);
	conn_enter(conn, CONN_OPEN);
	evict_candidate(conn);
	if (conn->nic->trace)
		trace_opened(conn);
	broken = session_resume(conn->session, conn, fields);
	if (broken)
		conn_broken(conn, broken);
}

static void session_adopt(struct session *session, const struct wire_hello_fields *fields)
{
	memcpy(session->instance, fields->instance, WIRE_ID_LEN);
	session->id = fields->session;
	session_meet(session, PEER_KNOWN);
}

/* The endpoint that answers gives another address than was dialled. Its own dials belong to a session under that address, so the
 * two endpoints may have two sessions, and turn each other's connections away after a cut. */
static void hello_translated(const struct session *session, const struct wire_hello_fields *fields)
{
	struct nic *nic = session->ep->nic;
	struct wire_address_fields dialled;
	struct sockaddr_storage at;
	char name[64], other[64];

	address_put(&session->peer, &dialled);
	if (session->ep->attr.cm ||
	    (dialled.family == fields->at.family && !memcmp(dialled.addr, fields->at.addr, sizeof(dialled.addr))))
		return;
	address_get(&fields->at, &at);
	if (log_limit_ok(nic, LOG_LIMIT_CONNECTION))
		nic_log(nic, NIC_LOG_WARN,
			"%s says that its address is %s: addresses are translated on the way. %s there must name the address "
			"that peers dial, or the two lose each other when they connect anew",
			session_name(session, name, sizeof(name)), address_text(&at, other, sizeof(other)),
			nic->config.front->settings[FRONT_ADVERTISE]);
}

static void hello_answered(struct conn *conn, const struct wire_hello_fields *fields)
{
	struct session *session = conn->session;

	if (claim_asks(conn)) {
		claim_answered(conn, fields);
		return;
	}
	if (session->peer_is == PEER_KNOWN && memcmp(session->instance, fields->instance, WIRE_ID_LEN) != 0) {
		if (log_limit_ok(conn->nic, LOG_LIMIT_CONNECTION))
			nic_log(conn->nic, NIC_LOG_WARN, "another endpoint answers at the peer's address: it was restarted");
		session_replaced(session);
		return;
	}
	if (fields->session != session->id || fields->epoch != conn->epoch) {
		conn_broken(conn, "HELLO answers for another session or dial (WIRE-32)");
		return;
	}
	if (session->peer_is != PEER_KNOWN)
		hello_translated(session, fields);
	session_adopt(session, fields);
	hello_open(conn, fields);
}

static void hello_log_at(enum nic_log level, const struct session *session, const char *what)
{
	struct nic *nic = session->ep->nic;
	char name[64];

	if (log_limit_ok(nic, LOG_LIMIT_CONNECTION))
		nic_log(nic, level, "%s: %s", session_name(session, name, sizeof(name)), what);
}

static void hello_log(const struct session *session, const char *what)
{
	hello_log_at(NIC_LOG_WARN, session, what);
}

void hello_sender(const struct ep *ep, const struct wire_hello_fields *fields, struct sockaddr_storage *peer)
{
	nic_role(ep->nic);
	address_get(&fields->at, peer);
	if (ep->pairing)
		address_set_qpn(peer, (uint32_t)fields->at.port << 8 | fields->index);
}

/* The session that an accepted HELLO belongs to; NULL: refused, *reason and *text say why. */
static struct session *hello_session(struct conn *conn, const struct wire_hello_fields *fields, enum wire_bye_reason *reason,
				     const char **text)
{
	struct ep *ep = conn->ep;
	struct sockaddr_storage peer;
	struct session *session;

	if (memcmp(fields->instance, ep->instance, WIRE_ID_LEN) == 0) {
		/* Every peer greeted here knows the instance id; only the dialling endpoint knows the session's id. */
		*reason = WIRE_BYE_PROTOCOL;
		*text = "HELLO with the receiver's own instance id (WIRE-37)";
		if (ep->pairing && !address_equal(&ep->cm.peer->peer, &ep->name))
			return NULL;
		return session_dials(ep, fields->session) ? session_self(ep) : NULL;
	}
	hello_sender(ep, fields, &peer);
	if (address_equal(&peer, &ep->name)) {
		*reason = WIRE_BYE_PROTOCOL;
		*text = "HELLO advertises the receiver's own address (WIRE-26)";
		return NULL;
	}
	*reason = WIRE_BYE_LIMIT;
	*text = "too many peers here";
	if (!cm_admits(ep, &peer)) {
		*text = "this endpoint has, or had, another peer";
		return NULL;
	}
	session = session_get(ep, &peer);
	if (!session || session->peer_is != PEER_KNOWN || memcmp(session->instance, fields->instance, WIRE_ID_LEN) == 0)
		return session;
	if (pairing_anew(session))
		return session;
	if (claim_ask(session))
		return session;
	*reason = WIRE_BYE_CLAIM;
	if (session_walled(session)) {
		*text = "another endpoint is known here under that address, which is behind a firewall";
		hello_log(session, "another endpoint connects under that address, which is behind a firewall");
	} else {
		*text = "another endpoint is known here under that address, which is asked for its instance";
		hello_log(session, "another endpoint connects under that address, which is asked for its instance");
	}
	return NULL;
}

/* Both dialled at once, and this side's dial, which is the one to stay, was cut before its answer came. The peer may have
 * taken it and given up its own: so this side dials again. */
static bool hello_own_first(const struct conn *conn, const struct session *session, const struct wire_hello_fields *fields)
{
	return session->state == SESSION_BACKOFF && session->peer_is == PEER_GREETED && fields->session != session->id &&
	       fields->epoch <= session->epoch && memcmp(fields->instance, conn->ep->instance, WIRE_ID_LEN) < 0;
}

/* Does this accepted connection stay, rather than another between the same endpoints? */
static bool hello_stays(const struct conn *conn, const struct session *session, const struct wire_hello_fields *fields)
{
	const struct conn *other = session->conn;

	/* A HELLO sent before a connection of that epoch was opened, and cut: more has been executed since than it says. */
	if (session->peer_is == PEER_KNOWN && fields->session == session->id && fields->epoch <= session->opened)
		return false;
	if (!other)
		return !hello_own_first(conn, session, fields);
	if (fields->epoch != other->epoch)
		return fields->epoch > other->epoch; /* the peer lost the old one, or has not heard of the new */
	if (other->state == CONN_OPEN)
		return false;
	/* Both dialled at once: the dial of the larger id stays. */
	return memcmp(fields->instance, conn->ep->instance, WIRE_ID_LEN) > 0;
}

/* Is it about the session that is known, if one is? Only the peer can show its id. If it shows another id, the peer has lost the
 * session, or this is the late HELLO of a dial that it has given up, or another endpoint sent it: so the peer is asked. */
static bool hello_fits(struct conn *conn, struct session *session, const struct wire_hello_fields *fields, bool goes_on)
{
	if (session->id == fields->session) /* without being known: our dial of it was cut before the answer came */
		return true;
	if (goes_on) {
		if (session->peer_is == PEER_KNOWN)
			hello_log(session, "a connection in its name is for another session, and was turned away");
		conn_bye(conn, WIRE_BYE_SESSION, "the session was given up here", true);
		return false;
	}
	if (session->peer_is != PEER_KNOWN)
		return true;
	if (session->target_only) { /* addressed to itself: no other endpoint asks, and the HELLO is no late one */
		session_end(session, REFUSAL_PEER_GONE);
		return true;
	}
	if (claim_ask(session))
		return true;
	if (session_walled(session)) {
		hello_log(session, "a connection in its name would begin another session, and the peer is behind a firewall");
		conn_bye(conn, WIRE_BYE_DUPLICATE, "a session between these endpoints is known here", true);
		return false;
	}
	if (hello_stays(conn, session, fields)) /* queue pairs are paired anew in no order, which is nothing to warn of */
		hello_log_at(session->ep->pairing ? NIC_LOG_INFO : NIC_LOG_WARN, session,
			     "a connection in its name would begin another session, so the peer is asked");
	conn_bye(conn, WIRE_BYE_DUPLICATE, "a session between these endpoints is known here, and the peer is asked for it", true);
	return false;
}

static void hello_accept(struct conn *conn, const struct wire_hello_fields *fields)
{
	static const uint8_t nobody[WIRE_ID_LEN];
	enum wire_bye_reason reason;
	struct session *session;
	const char *text;
	char name[64];
	bool goes_on = memcmp(fields->expected, nobody, WIRE_ID_LEN) != 0;

	if (goes_on && memcmp(fields->expected, conn->ep->instance, WIRE_ID_LEN) != 0) {
		conn_bye(conn, WIRE_BYE_INSTANCE, "the endpoint that was here has gone; this is another", true);
		return;
	}
	session = hello_session(conn, fields, &reason, &text);
	if (!session) {
		conn_bye(conn, reason, text, true);
		return;
	}
	if (session->fault_until_ns > nic_now(conn->nic)) {
		conn_close(conn, ECONNRESET, true);
		return;
	}
	if (!hello_fits(conn, session, fields, goes_on))
		return;
	if (fields->features & WIRE_ASKS_ALONE) {
		if (log_limit_ok(conn->nic, LOG_LIMIT_CONNECTION))
			nic_log(conn->nic, NIC_LOG_INFO,
				"%s: asks whether its session goes on here, as a greeting under this address named another",
				session_name(session, name, sizeof(name)));
		conn_bye(conn, WIRE_BYE_DUPLICATE, "the endpoint that is meant is here, and has the session", true);
		return;
	}
	if (!hello_stays(conn, session, fields)) {
		conn_bye(conn, WIRE_BYE_DUPLICATE, "another connection between these endpoints stays", true);
		return;
	}
	if (session->conn)
		conn_close(session->conn, 0, true);
	session_adopt(session, fields);
	session->epoch = fields->epoch;
	session->conn = conn;
	conn->session = session;
	conn->epoch = fields->epoch;
	hello_send(conn);
	if (conn->state != CONN_CLOSED)
		hello_open(conn, fields);
}

const char *hello_received(struct conn *conn, const struct wire_head *head)
{
	struct wire_hello_fields fields;
	const char *broken = NULL;
	bool proved = true;

	nic_role(conn->nic);
	if (head->op == WIRE_HELLO) {
		wire_get_hello(head, &fields);
		if (!(fields.features & WIRE_ASK_PROOF) != !conn->proof) {
			proof_refuse(conn, &fields);
			return NULL;
		}
	}
	if (conn->proof)
		broken = proof_take(conn, head, &fields, &proved);
	if (broken || !proved)
		return broken;
	if (!pairing_meets(conn, &fields))
		return NULL;
	if (conn->dialled)
		hello_answered(conn, &fields);
	else
		hello_accept(conn, &fields);
	return NULL;
}
