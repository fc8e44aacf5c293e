/* SPDX-License-Identifier: BSD-2-Clause */
/* hello.c - judging HELLO, as dialler and as accepter. */
#include "emu/nic/hello.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/ep.h"
#include "emu/nic/name.h"
#include "emu/nic/nic_impl.h"
#include "emu/nic/proof.h"

static uint32_t hello_features(const struct nic *nic)
{
	return (nic->config.digest == NIC_DIGEST_FULL ? WIRE_WANT_PAYLOAD_DIGEST : 0) |
	       (nic->config.digest == NIC_DIGEST_OFF ? WIRE_OFFER_NO_DIGEST : 0) | (nic->secret ? WIRE_ASK_PROOF : 0);
}

void hello_send(struct conn *conn)
{
	struct session *session = conn->session;
	struct wire_hello_fields fields = {
		.version_min = WIRE_VERSION_MIN, .version_max = WIRE_VERSION_MAX,
		.features = hello_features(conn->nic),
		.session = session->id, .epoch = conn->epoch,
		.seen = session->rsp.seen, .verdict_seen = session->req.verdict_seen,
		.requests = LIMIT_REQUESTS, .reads = LIMIT_READS, .segment = conn->nic->config.segment,
		.known_port = conn->ep->attr.known_port,
	};
	size_t length;
	void *at;

	memcpy(fields.instance, conn->ep->instance, WIRE_ID_LEN);
	if (session->known)
		memcpy(fields.expected, session->instance, WIRE_ID_LEN);
	name_put(&conn->ep->name, &fields.at);
	at = conn_frame_begin(conn, 0, 0);
	if (!at) {
		conn_close(conn, ENOMEM, false);
		return;
	}
	session->greeted |= conn->dialled && !session->known;
	length = wire_put_hello(at, &fields);
	wire_seal(at, 0, true);
	sendq_add(&conn->out, length);
	conn_busy(conn);
	proof_hello_sent(conn, at, length);
}

/* Both HELLOs are through, and what goes with them. */
static void hello_open(struct conn *conn, const struct wire_hello_fields *fields)
{
	enum nic_digest digest = conn->nic->config.digest;

	session_known_by(conn->session, fields->known_port);
	conn->head_digest = !(digest == NIC_DIGEST_OFF && (fields->features & WIRE_OFFER_NO_DIGEST));
	conn->payload_digest = digest == NIC_DIGEST_FULL || (fields->features & WIRE_WANT_PAYLOAD_DIGEST);
	/* What was lent with its digest may have changed before it was sent, and cut the connection before this one. */
	conn->out.digested = conn->payload_digest ? (uint32_t)conn->nic->link.at_once(conn->line) : 0;
	conn->out.copies = conn->payload_digest && conn->session->opened;
	if (conn->payload_digest) {
		/* aligned_alloc: the state asks for the alignment of its vectors. */
		conn->digest = aligned_alloc(_Alignof(struct digest_state), sizeof(*conn->digest));
		if (!conn->digest) {
			conn_close(conn, ENOMEM, false);
			return;
		}
	}
	if (!proof_finish(conn)) {
		conn_close(conn, ENOMEM, false);
		return;
	}
	stream_modes(&conn->stream, conn->head_digest, conn->digest, conn->nic->config.segment);
	conn->state = CONN_OPEN;
	if (!session_resume(conn->session, conn, fields))
		conn_broken(conn, "HELLO goes on where this session never was");
}

static void session_adopt(struct session *session, const struct wire_hello_fields *fields)
{
	memcpy(session->instance, fields->instance, WIRE_ID_LEN);
	session->id = fields->session;
	session->known = true;
}

static void hello_answered(struct conn *conn, const struct wire_hello_fields *fields)
{
	struct session *session = conn->session;

	if (session->known && memcmp(session->instance, fields->instance, WIRE_ID_LEN) != 0) {
		if (told_one(conn->nic, TOLD_CONNECTION))
			nic_log(conn->nic, NIC_LOG_WARN, "another endpoint answers at the peer's address: it was restarted");
		session_replaced(session);
		return;
	}
	if (fields->session != session->id || fields->epoch != conn->epoch) {
		conn_broken(conn, "HELLO answers for another session or connection");
		return;
	}
	session_adopt(session, fields);
	hello_open(conn, fields);
}

/* The session that an accepted HELLO belongs to; NULL: refused, *reason and *text say why. */
static struct session *hello_session(struct conn *conn, const struct wire_hello_fields *fields,
				     enum wire_bye_reason *reason, const char **text)
{
	struct ep *ep = conn->ep;
	struct sockaddr_storage peer;
	struct session *session;

	if (memcmp(fields->instance, ep->instance, WIRE_ID_LEN) == 0) {
		/* Whoever was greeted here knows the instance id; the session's id only who dials. */
		*reason = WIRE_BYE_PROTOCOL;
		*text = "HELLO with the receiver's own instance id (WIRE-37)";
		return session_dials(ep, fields->session) ? session_self(ep) : NULL;
	}
	*reason = WIRE_BYE_LIMIT;
	*text = "too many peers here";
	name_get(&fields->at, &peer);
	if (!cm_admits(ep, &peer)) {
		*text = "this endpoint has, or had, another peer";
		return NULL;
	}
	session = session_get(ep, &peer);
	if (!session || !session->known || memcmp(session->instance, fields->instance, WIRE_ID_LEN) == 0)
		return session;
	if (session->state == SESSION_OPEN) {
		*reason = WIRE_BYE_DUPLICATE;
		*text = "another endpoint is connected under that address";
		return NULL;
	}
	if (told_one(conn->nic, TOLD_CONNECTION))
		nic_log(conn->nic, NIC_LOG_WARN, "a peer was restarted under its old address");
	session_end(session, REFUSAL_PEER_GONE);
	return session;
}

/* Both dialled at once, and this side's dial, which is the one to stay, was cut before its answer came: the peer may have
 * taken it and have given up its own, so that goes on, by another dial. */
static bool hello_own_first(const struct conn *conn, const struct session *session,
			    const struct wire_hello_fields *fields)
{
	return session->state == SESSION_BACKOFF && session->greeted && !session->known &&
	       fields->session != session->id && fields->epoch <= session->epoch &&
	       memcmp(fields->instance, conn->ep->instance, WIRE_ID_LEN) < 0;
}

/* Of two connections between the same endpoints, does this accepted one stay? */
static bool hello_stays(const struct conn *conn, const struct session *session, const struct wire_hello_fields *fields)
{
	const struct conn *other = session->conn;

	/* Said before a connection of that count was opened, and cut: more has been executed since than it says. */
	if (session->known && fields->session == session->id && fields->epoch <= session->opened)
		return false;
	if (!other)
		return !hello_own_first(conn, session, fields);
	if (fields->epoch != other->epoch)
		return fields->epoch > other->epoch;	/* the peer lost the old one, or has not heard of the new */
	if (other->state == CONN_OPEN)
		return false;
	/* Both dialled at once: the dial of the larger id stays. */
	return memcmp(fields->instance, conn->ep->instance, WIRE_ID_LEN) > 0;
}

static void hello_accept(struct conn *conn, const struct wire_hello_fields *fields)
{
	static const uint8_t nobody[WIRE_ID_LEN];
	enum wire_bye_reason reason;
	struct session *session;
	const char *text;
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
	if (!hello_stays(conn, session, fields)) {
		conn_bye(conn, WIRE_BYE_DUPLICATE, "another connection between these endpoints stays", true);
		return;
	}
	/* It began anew, or this is the late HELLO of a dial that it has given up: who knows the session asks for it. (One
	 * addressed to itself is asked by nobody else, and is known to be no late one.) */
	if (session->known && session->id != fields->session && !goes_on && !session->conn && !session->target_only) {
		conn_bye(conn, WIRE_BYE_DUPLICATE, "a session between these endpoints is known here", true);
		session_want(session);
		return;
	}
	if (session->known && session->id != fields->session)
		session_end(session, REFUSAL_PEER_GONE);	/* the peer began anew */
	/* The same id without being known: our dial of it was cut before the answer came. */
	if (!session->known && goes_on && session->id != fields->session) {
		conn_bye(conn, WIRE_BYE_SESSION, "the session was given up here", true);
		return;
	}
	if (!cm_admits(conn->ep, &session->peer)) {	/* that session was all that it had */
		conn_bye(conn, WIRE_BYE_LIMIT, "the connection between these endpoints has ended", true);
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
	if (conn->dialled)
		hello_answered(conn, &fields);
	else
		hello_accept(conn, &fields);
	return NULL;
}
