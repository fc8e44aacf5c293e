/* SPDX-License-Identifier: BSD-2-Clause */
/* proof.c - challenge and proof, as dialler and as accepter. */
#include "emu/nic/transport/greeting.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/conn.h"
#include "wire/secret.h"

/* The one order that there is, both directions together (WIRE-102). */
enum { DIALLER_HELLO, DIALLER_CHALLENGE, ACCEPTER_CHALLENGE, DIALLER_PROOF, ACCEPTER_HELLO, ACCEPTER_PROOF, FRAMES };

static const struct {
	uint8_t op;
	bool by_dialler;
} order[FRAMES] = {
	[DIALLER_HELLO] = { WIRE_HELLO, true },           [DIALLER_CHALLENGE] = { WIRE_CHALLENGE, true },
	[ACCEPTER_CHALLENGE] = { WIRE_CHALLENGE, false }, [DIALLER_PROOF] = { WIRE_PROOF, true },
	[ACCEPTER_HELLO] = { WIRE_HELLO, false },         [ACCEPTER_PROOF] = { WIRE_PROOF, false },
};

enum {
	HEAD = sizeof(struct wire_head),
	WHY_MAX = 128,
	SAID_MAX = FRAMES * HEAD + 2 * (sizeof(struct wire_hello) + sizeof(struct wire_challenge) + sizeof(struct wire_proof)),
};

struct proof {
	uint32_t frames, length;                         /* of the greeting so far */
	uint8_t said[SAID_MAX];                          /* these frames, as they went over the wire */
	uint8_t hello[HEAD + sizeof(struct wire_hello)]; /* the peer's */
	bool proved;                                     /* by the peer */
};

struct proof *proof_open(void)
{
	role_assert();
	return calloc(1, sizeof(struct proof));
}

void proof_close(struct conn *conn)
{
	nic_role(conn->nic);
	free(conn->proof);
	conn->proof = NULL;
}

bool proof_finish(struct conn *conn)
{
	struct proof *proof = conn->proof;

	nic_role(conn->nic);
	if (!proof)
		return true;
	conn->tokens = auth_tokens_open(&conn->nic->secret_memory, conn->nic->secret, proof->said, proof->length, conn->dialled);
	proof_close(conn);
	return conn->tokens;
}

static void proof_note_frame(struct proof *proof, const void *frame, size_t length)
{
	assert(proof->length + length <= sizeof(proof->said));
	memcpy(proof->said + proof->length, frame, length);
	proof->length += (uint32_t)length;
	proof->frames++;
}

/* Puts one into the queue, and ends the connection if there is no room. */
static void proof_send_frame(struct conn *conn, const uint8_t *frame, size_t length)
{
	void *at = conn_frame_begin(conn, 0, 0);

	if (!at) {
		conn_close(conn, ENOMEM, false);
		return;
	}
	memcpy(at, frame, length);
	wire_seal(at, 0, true);
	proof_note_frame(conn->proof, at, length);
	sendq_add(&conn->out, length);
	conn_busy(conn);
}

static void send_challenge(struct conn *conn, const struct wire_address_fields *to)
{
	uint8_t frame[WIRE_FRAME_MAX], nonce[WIRE_NONCE_LEN];

	conn->nic->link.random(conn->nic->link_arg, nonce, sizeof(nonce));
	proof_send_frame(conn, frame, wire_put_challenge(frame, nonce, to));
}

static void send_proof(struct conn *conn)
{
	uint8_t frame[WIRE_FRAME_MAX], proof[WIRE_PROOF_LEN];

	secret_prove(conn->nic->secret, conn->dialled ? SECRET_DIALLER : SECRET_ACCEPTER, conn->proof->said, conn->proof->length,
		     proof);
	proof_send_frame(conn, frame, wire_put_proof(frame, proof));
}

void proof_bye(struct conn *conn)
{
	nic_role(conn->nic);
	if (conn->state == CONN_GREETING && conn->proof && !conn->dialled && conn->proof->proved &&
	    conn->proof->frames == ACCEPTER_HELLO)
		send_proof(conn);
}

bool proof_believes(const struct conn *conn)
{
	nic_role(conn->nic);
	return !conn->proof || conn->proof->proved;
}

void proof_hello_sent(struct conn *conn, const void *frame, size_t length)
{
	struct wire_address_fields to;

	nic_role(conn->nic);
	if (!conn->proof)
		return;
	proof_note_frame(conn->proof, frame, length);
	if (conn->dialled) {
		address_put(&conn->session->peer, &to);
		send_challenge(conn, &to);
	} else {
		send_proof(conn);
	}
}

/* Log and BYE, and the end of the session's ops in the same words: but not if a peer has proved the secret in it before, as
 * that peer may come back. */
static void proof_refuse_conn(struct conn *conn, const struct wire_hello_fields *hello, const char *why)
{
	struct session *session = conn->session;
	struct sockaddr_storage claimed;
	char name[64];

	if (session) {
		session_name(session, name, sizeof(name));
	} else {
		address_get(&hello->at, &claimed);
		address_text(&claimed, name, sizeof(name));
	}
	if (log_limit_ok(conn->nic, LOG_LIMIT_CONNECTION))
		nic_log(conn->nic, NIC_LOG_WARN, "connection with %s%s refused: %s", name, session ? "" : ", as it calls itself,",
			why);
	conn_bye(conn, WIRE_BYE_SECRET, why, !session || session->peer_is != PEER_KNOWN);
	if (session && session->peer_is != PEER_KNOWN)
		session_end(session, REFUSAL_SECRET);
}

/* proof_refuse_conn(), with the name of the setting to check. */
static void refuse_secret(struct conn *conn, const struct wire_hello_fields *hello, const char *why)
{
	char text[WHY_MAX];

	snprintf(text, sizeof(text), "%s (%s)", why, conn->nic->config.front->settings[FRONT_SECRET]);
	proof_refuse_conn(conn, hello, text);
}

void proof_refuse(struct conn *conn, const struct wire_hello_fields *hello)
{
	nic_role(conn->nic);
	refuse_secret(conn, hello,
		      conn->nic->secret ? "a secret is asked for here, and the peer has none"
					: "the peer asks for a secret, and there is none here");
}

static bool names_everywhere(const struct wire_address_fields *fields)
{
	static const uint8_t any[sizeof(fields->addr)];

	return !memcmp(fields->addr, any, sizeof(any));
}

static bool proof_came_to(const struct conn *conn, struct wire_address_fields *fields)
{
	struct sockaddr_storage at, canonical;

	if (!conn->nic->link.came_to(conn->line, &at) || !address_canonical((const struct sockaddr *)&at, &canonical))
		return false;
	address_put(&canonical, fields);
	return true;
}

/* The scope of an address means something to its host alone. */
static bool is_own(const struct conn *conn, const struct wire_head *challenge, const struct wire_hello_fields *hello)
{
	const struct ep *ep = conn->ep->pairs ? conn->ep->pairs->at[hello->peer_index] : conn->ep;
	struct wire_address_fields to, own;

	wire_get_challenged(challenge, &to);
	if (!ep || (ep->pairing && !ep->cm.peer)) /* a queue pair without an address yet: its peer is told so, once it has proved */
		return to.port == address_port(&conn->ep->name);
	address_put(&ep->name, &own);
	if (names_everywhere(&own) && !(conn->nic->link.came_to && proof_came_to(conn, &own)))
		return to.port == own.port; /* it listens everywhere */
	return to.family == own.family && to.port == own.port && !memcmp(to.addr, own.addr, sizeof(to.addr));
}

static void answer_challenge(struct conn *conn, const struct wire_head *head, const struct wire_hello_fields *hello)
{
	if (!is_own(conn, head, hello))
		proof_refuse_conn(conn, hello, "it was meant for another address: with a secret, nothing may forward it");
	else if (conn->dialled)
		send_proof(conn);
	else
		send_challenge(conn, &hello->at);
}

/* A dialler that has proved may be refused all the same: then PROOF comes before BYE. */
static bool is_due(const struct conn *conn, uint8_t op)
{
	uint32_t frames = conn->proof->frames;

	if (frames == FRAMES || conn->proof->proved || order[frames].by_dialler == conn->dialled)
		return false;
	return op == order[frames].op || (op == WIRE_PROOF && frames == ACCEPTER_HELLO);
}

const char *proof_take(struct conn *conn, const struct wire_head *head, struct wire_hello_fields *hello, bool *proved)
{
	const struct wire_proof *shown = wire_body(head);
	struct proof *proof = conn->proof;
	size_t length = HEAD + wire_body_len(head->op), before = proof->length;

	nic_role(conn->nic);
	*proved = false;
	if (!is_due(conn, head->op))
		return "CHALLENGE, PROOF or HELLO out of order (WIRE-102)";
	if (head->op == WIRE_HELLO)
		memcpy(proof->hello, head, length);
	proof_note_frame(proof, head, length);
	if (proof->hello[0] == WIRE_HELLO) /* a dialler is challenged before it is greeted */
		wire_get_hello((const struct wire_head *)proof->hello, hello);
	if (head->op == WIRE_CHALLENGE) {
		answer_challenge(conn, head, hello);
	} else if (head->op == WIRE_PROOF) {
		proof->proved = secret_proved(conn->nic->secret, conn->dialled ? SECRET_ACCEPTER : SECRET_DIALLER, proof->said,
					      before, shown->proof);
		*proved = proof->proved && proof->hello[0] == WIRE_HELLO;
		if (!proof->proved)
			refuse_secret(conn, hello, "the two have not the same secret");
	}
	return NULL;
}
