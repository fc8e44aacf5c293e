/* SPDX-License-Identifier: BSD-2-Clause */
/* session_state.c - the two tables of a session's states, and where its peer stands in address vectors. */
#include "emu/nic/transport/session.h"

#include <assert.h>
#include <netinet/in.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"

/* The states from which each state may be entered. */
static const uint8_t from_states[SESSION_STATES] = {
	[SESSION_IDLE] = 1 << SESSION_IDLE | 1 << SESSION_DIALING | 1 << SESSION_OPEN | 1 << SESSION_BACKOFF,
	[SESSION_DIALING] = 1 << SESSION_IDLE | 1 << SESSION_BACKOFF,
	[SESSION_OPEN] = 1 << SESSION_IDLE | 1 << SESSION_DIALING | 1 << SESSION_BACKOFF,
	[SESSION_BACKOFF] = 1 << SESSION_IDLE | 1 << SESSION_BACKOFF,
};

static const char *const names[SESSION_STATES] = {
	[SESSION_IDLE] = "idle",
	[SESSION_DIALING] = "dialling",
	[SESSION_OPEN] = "open",
	[SESSION_BACKOFF] = "waiting to dial",
};

static const uint8_t from_peers[PEER_STATES] = {
	[PEER_STRANGER] = 1 << PEER_STRANGER | 1 << PEER_GREETED | 1 << PEER_KNOWN,
	[PEER_GREETED] = 1 << PEER_STRANGER | 1 << PEER_GREETED,
	[PEER_KNOWN] = 1 << PEER_STRANGER | 1 << PEER_GREETED | 1 << PEER_KNOWN,
};

static const char *const peer_names[PEER_STATES] = {
	[PEER_STRANGER] = "a stranger",
	[PEER_GREETED] = "greeted",
	[PEER_KNOWN] = "known",
};

static __attribute__((cold, noinline)) void state_log(struct session *session, const char *what, const char *from, const char *to)
{
	char name[64];

	nic_log(session->ep->nic, NIC_LOG_DEBUG, "%s %s: from %s to %s", what, session_name(session, name, sizeof(name)), from, to);
}

void session_enter(struct session *session, enum session_state state)
{
	enum session_state from = session->state;

	nic_role(session->ep->nic);
	assert(from_states[state] & 1 << from);
	session->state = state;
	if (state != from && session->ep->nic->config.debug)
		state_log(session, "session with", names[from], names[state]);
}

void session_meet(struct session *session, enum session_peer peer)
{
	enum session_peer from = session->peer_is;

	nic_role(session->ep->nic);
	assert(from_peers[peer] & 1 << from);
	session->peer_is = peer;
	if (peer != from && session->ep->nic->config.debug)
		state_log(session, "peer", peer_names[from], peer_names[peer]);
}

void session_known_by(struct session *session, uint16_t port)
{
	nic_role(session->ep->nic);
	if (session->known_port != port)
		session->source_stamp = UINT64_MAX; /* looked for again */
	session->known_port = port;
}

static void known_address(const struct session *session, struct sockaddr_storage *address)
{
	*address = session->peer;
	if (!session->known_port)
		return;
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_port = htons(session->known_port);
	else
		((struct sockaddr_in *)address)->sin_port = htons(session->known_port);
}

uint64_t session_source(struct session *session, uint64_t auth)
{
	struct sockaddr_storage address;
	struct av *av = session->ep->attr.av;
	uint64_t stamp;

	nic_role(session->ep->nic);
	if (!av)
		return AV_NONE;
	stamp = av_generation(av);
	if (session->source_stamp != stamp || session->source_auth != auth) {
		known_address(session, &address);
		session->source = av_find(av, &address, auth);
		session->source_stamp = stamp;
		session->source_auth = auth;
	}
	return session->source;
}
