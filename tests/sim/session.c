/* SPDX-License-Identifier: BSD-2-Clause */
/* session.c - sessions where they begin and end: which one makes room for others, when one is over, by what a peer is
 * known, and a dial for which there is no connection. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"
#include "tests/sim/harness/bed.h"

static struct sockaddr_storage address(sa_family_t family, uint16_t port)
{
	struct sockaddr_storage at = { .ss_family = family };
	struct sockaddr_in *in = (struct sockaddr_in *)&at;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&at;

	if (family == AF_INET)
		in->sin_addr.s_addr = htonl(0x0a090909);
	else
		in6->sin6_addr.s6_addr[15] = 9;
	*(family == AF_INET ? &in->sin_port : &in6->sin6_port) = htons(port);
	return at;
}

static struct session *peer(struct bed *bed, uint16_t port)
{
	struct sockaddr_storage at = address(AF_INET, port);
	struct session *session;

	node_enter(bed->node[0]);
	session = session_get(bed->party[0]->ep, &at);
	node_leave(bed->node[0]);
	return session;
}

/* An endpoint whose table is full, all but one by peers that stay. */
static struct session *full(struct bed *bed)
{
	struct session *session;

	bed_open(bed, 63, 1, NULL, NULL);
	session = peer(bed, 1);
	cr_assert(session);
	bed->party[0]->ep->session_count += LIMIT_SESSIONS - 1;
	bed->world->now_ns += TIME_SWEEP_NS;
	return session;
}

static void full_close(struct bed *bed)
{
	bed->party[0]->ep->session_count -= LIMIT_SESSIONS - 1;
	bed_close(bed);
}

/* A reference to a session keeps it. */
Test(sim_session, that_is_referred_to_stays)
{
	struct bed bed;
	struct session *session = full(&bed);
	struct ep *ep = bed.party[0]->ep;
	const uint32_t one = 1;
	const struct {
		void *at;
		const void *value;
		size_t size;
	} refers[] = {
		{ &session->state, &(enum session_state){ SESSION_BACKOFF }, sizeof(session->state) },
		{ &session->peer_is, &(enum session_peer){ PEER_KNOWN }, sizeof(session->peer_is) },
		{ &session->conn, &session, sizeof(session) },
		{ &session->late, &one, sizeof(session->late) },
		{ &session->messages, &one, sizeof(one) },
		{ &session->timed, &one, 1 },
		{ &session->owing, &one, 1 },
		{ &session->rsp.commits_open, &one, sizeof(one) },
		{ &session->rsp.pulls, &session, sizeof(session) },
		{ &session->req.pending.first, &session, sizeof(session) },
		{ &ep->last, &session, sizeof(session) },
		{ &ep->cm.asked, &session, sizeof(session) },
		{ &ep->cm.peer, &session, sizeof(session) },
	};

	for (size_t i = 0; i < sizeof(refers) / sizeof(refers[0]); i++) {
		uint8_t was[sizeof(void *)];

		memcpy(was, refers[i].at, refers[i].size);
		memcpy(refers[i].at, refers[i].value, refers[i].size);
		cr_assert_null(peer(&bed, 2), "reference %zu", i);
		memcpy(refers[i].at, was, refers[i].size);
		bed.world->now_ns += TIME_SWEEP_NS;
	}
	cr_assert(peer(&bed, 2));
	full_close(&bed);
}

/* All are looked at for room, so not for each stranger. */
Test(sim_session, are_looked_through_once_a_second)
{
	struct bed bed;
	struct session *session = full(&bed);

	session->messages = 1;
	cr_assert_null(peer(&bed, 2));
	session->messages = 0;
	bed.world->now_ns += TIME_SWEEP_NS - 1;
	cr_assert_null(peer(&bed, 2));
	bed.world->now_ns++;
	cr_assert(peer(&bed, 2));
	full_close(&bed);
}

/* Long before that, too: a peer that comes and goes leaves nothing behind. Among many that stay the next look is at twice as
 * many. */
Test(sim_session, that_have_ended_leave)
{
	enum { STAY = SESSIONS_SWEPT + 8 };
	struct session *stays[STAY];
	struct bed bed;
	struct ep *ep;
	uint16_t port = 1;

	bed_open(&bed, 65, 1, NULL, NULL);
	ep = bed.party[0]->ep;
	for (; port <= SESSIONS_SWEPT; port++) {
		bed.world->now_ns += TIME_SWEEP_NS;
		cr_assert(peer(&bed, port));
	}
	cr_assert_eq(ep->session_count, SESSIONS_SWEPT);
	cr_assert(peer(&bed, port++));
	cr_assert_eq(ep->session_count, 1);
	for (int i = 0; i < STAY; i++) {
		bed.world->now_ns += TIME_SWEEP_NS;
		stays[i] = peer(&bed, port++);
		stays[i]->messages = 1;
	}
	cr_assert_eq(ep->session_count, STAY);
	for (int i = STAY; i < 2 * SESSIONS_SWEPT - 2; i++) {
		bed.world->now_ns += TIME_SWEEP_NS;
		cr_assert(peer(&bed, port++));
		cr_assert(ep->session_count == (uint32_t)i + 1);
	}
	bed.world->now_ns += TIME_SWEEP_NS;
	cr_assert(peer(&bed, port));
	cr_assert_eq(ep->session_count, STAY + 1);
	for (int i = 0; i < STAY; i++)
		stays[i]->messages = 0;
	bed_close(&bed);
}

static struct link_ops link_under;
static struct nic *dialler;
static int dials;

static int count_dial(void *link, const struct sockaddr_storage *to, struct conn *conn, struct line **line)
{
	dials++;
	cr_assert_eq(dialler->dials, 1, "one at a time");
	return link_under.dial(link, to, conn, line);
}

static uint32_t one_dial(void *link)
{
	(void)link;
	return 1;
}

/* Also when those before are cut. */
Test(sim_session, dials_take_turns)
{
	struct region *region;
	struct bed bed;

	bed_open(&bed, 68, 4, NULL, NULL);
	bed.world->weather.cut_mean = 300;
	bed.world->weather.cuts_left = 9;
	dialler = bed.node[0]->nic;
	link_under = dialler->link;
	dialler->link.dial = count_dial;
	dialler->link.dials_most = one_dial;
	for (int i = 1; i < 4; i++) {
		region = region_open(bed.party[i], 4096, 1, BED_BOTH, false, 0);
		cr_assert(!job_post(job_rma(bed.party[0], region, OP_WRITE, 0, 64, POST_COMPLETE, 1)));
	}
	cr_assert_eq(dials, 1);
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert_gt(dials, 3, "some were cut");
	cr_assert_eq(dialler->dials, 0);
	dialler->link = link_under;
	bed_close(&bed);
}

/* It may be had a little later. */
Test(sim_session, no_connection_to_be_had)
{
	struct region *region;
	struct job *job;
	struct nic *nic;
	struct bed bed;

	bed_open(&bed, 64, 2, NULL, NULL);
	nic = bed.node[0]->nic;
	region = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	nic->conn_count += LIMIT_CONNECTIONS;
	job = job_rma(bed.party[0], region, OP_WRITE, 0, 8, POST_COMPLETE, 1);
	cr_assert(!job_post(job));
	model_pass(bed.model, SIM_SECOND / 2);
	cr_assert_not(job->done);
	cr_assert(node_logged(bed.node[0], "connections in a process"));
	nic->conn_count -= LIMIT_CONNECTIONS;
	model_finish(bed.model, SIM_SECOND);
	bed_close(&bed);
}

/* WIRE-111: each at its nanosecond, none before. A side that has nothing to send waits for the peer's dial for twice the
 * budget. */
Test(sim_session, times)
{
	const uint64_t budget = TIME_RETRY_BUDGET_NS;
	struct session *session;
	struct bed bed;

	bed_open(&bed, 65, 1, NULL, NULL);
	session = peer(&bed, 1);
	node_enter(bed.node[0]);
	session->req.rnr_until_ns = 1000;
	cr_assert_eq(session_tick(session, 999), 1000);
	cr_assert_eq(session_tick(session, 1000), UINT64_MAX);
	cr_assert_eq(session->req.rnr_until_ns, 0);
	session->fault_wake_ns = 1000;
	cr_assert_eq(session_tick(session, 999), 1000);
	cr_assert_eq(session_tick(session, 1000), UINT64_MAX);
	cr_assert_eq(session->fault_wake_ns, 0);
	for (uint64_t times = 1; times <= 2; times++) {
		session->state = times == 1 ? SESSION_BACKOFF : SESSION_IDLE;
		session->retry_ns = UINT64_MAX;
		session->down_since_ns = 1;
		session->seen_running_ns = times * budget;
		cr_assert_eq(session_tick(session, times * budget), time_coarse(1 + times * budget));
		cr_assert_eq(session->down_since_ns, 1);
		cr_assert_eq(session_tick(session, 1 + times * budget), UINT64_MAX);
		cr_assert_eq(session->down_since_ns, 0, "given up");
	}
	session->state = SESSION_BACKOFF;
	session->retry_ns = 2000;
	cr_assert_eq(session_tick(session, 1999), 2000);
	cr_assert_eq(session->state, SESSION_BACKOFF);
	session_tick(session, 2000);
	cr_assert_eq(session->state, SESSION_DIALING);
	node_leave(bed.node[0]);
	bed_close(&bed);
}

/* No slice runs for a minute: the process was stopped. The rest of the budget is left afterwards, and a timer runs each second,
 * so that the stop is noticed. */
Test(sim_session, the_budget_stands_still_while_stopped)
{
	const uint64_t budget = TIME_RETRY_BUDGET_NS, minute = 60 * SIM_SECOND;
	struct session *session;
	struct bed bed;
	uint64_t since, now, due;

	bed_open(&bed, 67, 1, NULL, NULL);
	session = peer(&bed, 1);
	node_enter(bed.node[0]);
	for (int waits = 0; waits < 2; waits++) {
		session->state = waits ? SESSION_IDLE : SESSION_BACKOFF;
		session->retry_ns = UINT64_MAX;
		session->down_since_ns = session->seen_running_ns = SIM_SECOND;
		due = session_tick(session, 2 * SIM_SECOND);
		cr_assert_eq(due, time_coarse(3 * SIM_SECOND));
		now = due + minute;
		due = session_tick(session, now);
		since = session->down_since_ns;
		cr_assert_eq(since, now - SIM_SECOND, "a second was gone before");
		for (; session->down_since_ns; due = session_tick(session, now))
			now = due;
		cr_assert_eq(now, time_coarse(since + (1 + (uint64_t)waits) * budget));
	}
	node_leave(bed.node[0]);
	bed_close(&bed);
}

/* Up to two seconds are a process that had little of the processor, and count. */
Test(sim_session, the_budget_of_who_is_slow_goes_on)
{
	struct session *session;
	struct bed bed;

	bed_open(&bed, 68, 1, NULL, NULL);
	session = peer(&bed, 1);
	node_enter(bed.node[0]);
	for (uint64_t beyond = 0; beyond < 2; beyond++) {
		uint64_t took = TIME_STOPPED_NS + beyond;

		session->state = SESSION_BACKOFF;
		session->retry_ns = UINT64_MAX;
		session->down_since_ns = session->seen_running_ns = SIM_SECOND;
		session_tick(session, SIM_SECOND + took);
		cr_assert_eq(session->down_since_ns, SIM_SECOND + (beyond ? took : 0));
		cr_assert_eq(session->seen_running_ns, SIM_SECOND + took);
	}
	session_end(session, REFUSAL_UNREACHABLE);
	node_leave(bed.node[0]);
	bed_close(&bed);
}

/* A peer may be in address vectors by another port than that of its listener (WIRE-29), and that by another as well. */
Test(sim_session, that_is_known_by_another_port)
{
	const sa_family_t family[] = { AF_INET, AF_INET6 };
	struct ep *ep;
	struct bed bed;

	bed_open(&bed, 66, 1, NULL, NULL);
	ep = bed.party[0]->ep;
	node_enter(bed.node[0]);
	for (int i = 0; i < 2; i++) {
		struct sockaddr_storage at = address(family[i], 7), known = address(family[i], 8);
		struct session *session = session_get(ep, &at);
		uint64_t index, keyed;

		cr_assert_not(av_insert(bed.party[0]->av, &known, 0, &index));
		cr_assert_not(av_insert(bed.party[0]->av, &known, 5, &keyed));
		cr_assert_eq(session_source(session, 0), AV_NONE);
		session_known_by(session, 8);
		cr_assert_eq(session_source(session, 0), index);
		cr_assert_eq(session_source(session, 5), keyed, "under another authorization key");
		session_known_by(session, 0);
		cr_assert_eq(session_source(session, 0), AV_NONE);
		ep->attr.av = NULL;
		cr_assert_eq(session_source(session, 0), AV_NONE);
		ep->attr.av = bed.party[0]->av;
	}
	node_leave(bed.node[0]);
	bed_close(&bed);
}

/* Each change is one line of log, where the log takes debug lines. */
Test(sim_session, changes_of_state_are_told)
{
	for (uint32_t listens = 0; listens < 2; listens++) {
		const struct nic_config config = { .debug = listens };
		struct session *session;
		struct node *node;
		struct bed bed;

		bed_open(&bed, 69, 1, &config, NULL);
		node = bed.node[0];
		session = peer(&bed, 1);
		node_enter(node);
		session_enter(session, SESSION_IDLE);
		session_meet(session, PEER_STRANGER);
		cr_assert_eq(node->debugs, 0, "where it stood already");
		session_enter(session, SESSION_BACKOFF);
		cr_assert_eq(node->debugs, listens);
		cr_assert_eq(strstr(node->debug, "from idle to waiting to dial") != NULL, listens != 0, "%s", node->debug);
		session_meet(session, PEER_GREETED);
		cr_assert_eq(node->debugs, 2 * listens);
		cr_assert_eq(strstr(node->debug, "from a stranger to greeted") != NULL, listens != 0, "%s", node->debug);
		session_enter(session, SESSION_DIALING);
		session_end(session, REFUSAL_UNREACHABLE);
		node_leave(node);
		bed_close(&bed);
	}
}

/* One that is open is not dialled. */
Test(sim_session, state_that_may_not_follow, .signal = SIGABRT)
{
	struct session *session;
	struct bed bed;

	bed_open(&bed, 70, 1, NULL, NULL);
	session = peer(&bed, 1);
	node_enter(bed.node[0]);
	session_enter(session, SESSION_OPEN);
	session_enter(session, SESSION_DIALING);
}

/* All knowledge of a peer is forgotten at once. */
Test(sim_session, known_peer_that_is_greeted, .signal = SIGABRT)
{
	struct session *session;
	struct bed bed;

	bed_open(&bed, 71, 1, NULL, NULL);
	session = peer(&bed, 1);
	node_enter(bed.node[0]);
	session_meet(session, PEER_KNOWN);
	session_meet(session, PEER_GREETED);
}

Test(sim_session, connection_opens_by_its_greeting, .signal = SIGABRT)
{
	struct session *session;
	struct bed bed;

	bed_open(&bed, 72, 1, NULL, NULL);
	session = peer(&bed, 1);
	node_enter(bed.node[0]);
	session_want(session);
	conn_enter(session->conn, CONN_OPEN);
}
