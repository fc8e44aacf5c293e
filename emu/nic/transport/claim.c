/* SPDX-License-Identifier: BSD-2-Clause */
/* claim.c - asks at an address which endpoint listens there, and believes the answer. */
#include "emu/nic/transport/greeting.h"

#include <string.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

/* The question that waits longest for its answer, if an address that answers would have done so by now: it gives its place to the
 * next, so that addresses without an answer do not keep others from being asked. */
static void give_up_one(struct nic *nic)
{
	struct conn *oldest = NULL;

	for (struct conn *conn = nic->conns; conn; conn = conn->next)
		if (claim_asks(conn) && (!oldest || conn->greet_by_ns < oldest->greet_by_ns))
			oldest = conn;
	if (oldest && oldest->greet_by_ns - TIME_HELLO_NS + TIME_CLAIM_LEAST_NS <= nic_now(nic))
		conn_close(oldest, 0, true);
}

/* One more question, within the bounds? */
static bool may_ask(struct nic *nic)
{
	struct claims *claims = &nic->claims;

	if (nic_now(nic) >= claims->until_ns) {
		claims->until_ns = nic_now(nic) + TIME_CLAIMS_NS;
		claims->left = LIMIT_CLAIMS;
	}
	if (!claims->left)
		return false;
	if (claims->open >= LIMIT_CLAIMS_OPEN)
		give_up_one(nic);
	if (claims->open >= LIMIT_CLAIMS_OPEN)
		return false;
	claims->left--;
	return true;
}

/* Behind a firewall nobody can be asked. A peer that is there would have dialled again by itself (WIRE-137): one that has stayed
 * away for half of the budget has lost its address to the next. */
static bool end_one_away(struct session *session)
{
	struct nic *nic = session->ep->nic;
	char name[64];

	if (!session->down_since_ns || nic_now(nic) - session->down_since_ns < nic->config.retry_budget_ns / 2)
		return false;
	if (log_limit_ok(nic, LOG_LIMIT_CONNECTION))
		nic_log(nic, NIC_LOG_WARN,
			"%s is behind a firewall and stays away: another endpoint connects as it, and the session with the one "
			"before ends",
			session_name(session, name, sizeof(name)));
	session_replaced(session);
	return true;
}

/* A session that dials, or is about to, gets the answer from its own dial: no question then. */
bool claim_ask(struct session *session)
{
	struct nic *nic = session->ep->nic;

	nic_role(session->ep->nic);
	if (session_walled(session))
		return end_one_away(session);
	if (session->question || (session->state != SESSION_OPEN && session->state != SESSION_IDLE) ||
	    nic_now(nic) < session->fault_until_ns || nic_now(nic) < session->ask_ns || !may_ask(nic))
		return false;
	session->ask_wait_ns = session->ask_wait_ns ? 2 * session->ask_wait_ns : TIME_CLAIM_NS;
	if (session->ask_wait_ns > TIME_CLAIM_MOST_NS)
		session->ask_wait_ns = TIME_CLAIM_MOST_NS;
	session->ask_ns = nic_now(nic) + session->ask_wait_ns;
	session->question = conn_dial(session);
	if (session->question) {
		session->question->epoch = session->opened; /* so it takes no connection's place (WIRE-34) */
		nic->claims.open++;
	}
	return false;
}

bool claim_asks(const struct conn *conn)
{
	nic_role(conn->nic);
	return conn->session && conn->session->question == conn;
}

void claim_over(struct session *session)
{
	nic_role(session->ep->nic);
	session->question = NULL;
	session->ep->nic->claims.open--;
}

static void claim_log(struct session *session, enum nic_log level, const char *what)
{
	char name[64];

	if (level != NIC_LOG_WARN || log_limit_ok(session->ep->nic, LOG_LIMIT_CONNECTION))
		nic_log(session->ep->nic, level, "%s was asked for its instance, as another endpoint connected as it: %s",
			session_name(session, name, sizeof(name)), what);
}

/* An answer came, whatever it says: the address need not be left in peace for longer. */
static void has_answer(struct session *session)
{
	session->ask_ns -= session->ask_wait_ns - TIME_CLAIM_NS;
	session->ask_wait_ns = 0;
}

/* The endpoint that has the session is not at its peer's address any more. */
static void lose(struct session *session)
{
	claim_log(session, NIC_LOG_WARN, "another endpoint is there, and the session with the one before ends");
	if (session->conn)
		conn_bye(session->conn, WIRE_BYE_CLAIM, "another endpoint listens at the address that this one advertises", true);
	session_replaced(session);
}

void claim_answered(struct conn *conn, const struct wire_hello_fields *fields)
{
	struct session *session = conn->session;
	bool same = memcmp(fields->instance, session->instance, WIRE_ID_LEN) == 0;

	nic_role(conn->nic);
	has_answer(session);
	conn_close(conn, 0, true);
	if (same)
		claim_log(session, NIC_LOG_INFO, "the peer is there, and the session goes on");
	else
		lose(session);
}

void claim_refused(struct conn *conn, enum wire_bye_reason reason)
{
	struct session *session = conn->session;
	bool believed = proof_believes(conn);

	nic_role(conn->nic);
	has_answer(session);
	conn_close(conn, 0, true);
	if (believed && reason == WIRE_BYE_INSTANCE) {
		lose(session);
	} else if (believed && reason == WIRE_BYE_SESSION) {
		claim_log(session, NIC_LOG_WARN, "it has given up the session, which ends");
		session_forgotten(session);
	} else {
		claim_log(session, NIC_LOG_INFO, "the session goes on");
	}
}
