/* SPDX-License-Identifier: BSD-2-Clause */
/* evict.c - which connections can be spared. */
#include "emu/nic/transport/greeting.h"

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"
#include "emu/nic/transport/transport_calls.h"

/* Grows with each request of either side that makes progress. */
static uint64_t moved(const struct session *session)
{
	return session->rsp.seen + session->req.acked + session->req.verdict_seen;
}

void evict_candidate(struct conn *conn)
{
	nic_role(conn->nic);
	conn->moved = moved(conn->session);
	conn->moved_ns = nic_now(conn->nic);
}

/* No request or answer of the peer waits here, and nothing of this side waits for the peer. */
static bool holds_nothing(const struct session *session)
{
	const struct responder *rsp = &session->rsp;
	const struct requester *req = &session->req;

	return !session_busy(session) && !session->messages && !session->late && !cm_holds(session) && !rsp->verdicts &&
	       !rsp->responses && !rsp->commits_open && !rsp->write.open && !rsp->rsend.open && !rsp->rnr && !rsp->deaf &&
	       !rsp->owed_requests && req->verdict_said == req->verdict_seen;
}

/* No counter runs along: this compares moved() of two looks, of which the first may be evict_candidate(). */
static bool is_idle(struct conn *conn)
{
	const struct session *session = conn->session;

	if (conn->dialled || conn->state != CONN_OPEN || !session || session->target_only || conn->out.buffer || conn->throttled ||
	    !stream_at_head(&conn->stream) || !holds_nothing(session))
		return false;
	if (conn->moved != moved(session))
		evict_candidate(conn);
	return nic_now(conn->nic) - conn->moved_ns >= TIME_IDLE_NS;
}

static bool shares(const struct conn *conn)
{
	return conn->nic->link.shares && conn->nic->link.shares(conn->line);
}

/* Connections with a descriptor of their own go first, of these such that never carried a request, then those that have been idle
 * longest. A peer behind a firewall goes last: it comes back at once, in the place of another. */
static bool goes_before(const struct conn *a, const struct conn *b)
{
	if (a->walled != b->walled)
		return b->walled;
	if (shares(a) != shares(b))
		return shares(b);
	return !a->moved != !b->moved ? !a->moved : a->moved_ns < b->moved_ns;
}

bool evict_idle(struct nic *nic)
{
	struct conn *idle[SLICE_ROOM];
	int count = 0;

	nic_role(nic);
	for (struct conn *conn = nic->conns; conn; conn = conn->next) {
		int at = count;

		if (!is_idle(conn))
			continue;
		for (; at && goes_before(conn, idle[at - 1]); at--)
			if (at < SLICE_ROOM)
				idle[at] = idle[at - 1];
		if (at < SLICE_ROOM)
			idle[at] = conn;
		count += count < SLICE_ROOM;
	}
	if (count && log_limit_ok(nic, LOG_LIMIT_CONNECTION))
		nic_log(nic, NIC_LOG_WARN,
			"no descriptor is left for a connection (ulimit -n): %d over which nothing moves make room", count);
	for (int i = 0; i < count; i++)
		conn_close(idle[i], 0, false);
	return count > 0;
}
