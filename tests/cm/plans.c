/* SPDX-License-Identifier: BSD-2-Clause */
/* plans.c - what fault plans make of events of rdma_cm, between two processes, over Unix sockets and over TCP. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/cm/meeting.h"
#include "tests/verbs/world.h"

enum { TIMEOUT_MS = 2000, WAIT_MS = 200 };

/* A test of both kinds of streams. */
#define OVER_BOTH(name)                           \
	static void name(void);                   \
	Test(cm_plans, name##_over_unix)          \
	{                                         \
		name();                           \
	}                                         \
	Test(cm_plans, name##_over_tcp)           \
	{                                         \
		setenv("FI_EMU_LOCAL", "tcp", 1); \
		name();                           \
	}                                         \
	static void name(void)

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* --- the listening process --- */

static struct server {
	pid_t child;
	int told; /* the events that it is told, a byte each */
	struct sockaddr_in at;
} server;

/* Accepts all. */
static void serve(int told)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct meeting m = { .channel = rdma_create_event_channel() };
	struct rdma_conn_param param = { 0 };

	if (rdma_create_id(m.channel, &m.listens, NULL, RDMA_PS_TCP) || rdma_bind_addr(m.listens, (struct sockaddr *)&at) ||
	    rdma_listen(m.listens, 8))
		_exit(1);
	at.sin_port = rdma_get_src_port(m.listens);
	if (write(told, &at, sizeof(at)) != sizeof(at))
		_exit(2);
	for (;;) {
		struct rdma_cm_event *event;
		unsigned char type;

		if (rdma_get_cm_event(m.channel, &event))
			_exit(3);
		type = (unsigned char)event->event;
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			meeting_give_qp(event->id);
			if (rdma_accept(event->id, &param))
				_exit(4);
		}
		rdma_ack_cm_event(event);
		if (write(told, &type, 1) != 1)
			_exit(5);
	}
}

/* With a plan of its own; NULL: none. */
static void server_start(const char *plan)
{
	int pipes[2];

	cr_assert_eq(pipe(pipes), 0);
	server.child = fork();
	if (!server.child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (plan)
			fault_plan(plan);
		serve(pipes[1]);
	}
	close(pipes[1]);
	server.told = pipes[0];
	cr_assert_eq(read(server.told, &server.at, sizeof(server.at)), (ssize_t)sizeof(server.at));
}

static void server_is_told(enum rdma_cm_event_type type)
{
	unsigned char told = 255;

	cr_assert_eq(read(server.told, &told, 1), 1);
	cr_assert_eq(told, type, "%s in the place of %s", rdma_event_str(told), rdma_event_str(type));
}

static void server_stop(void)
{
	cr_assert_eq(kill(server.child, SIGKILL), 0);
	cr_assert_eq(waitpid(server.child, NULL, 0), server.child);
	close(server.told);
}

/* --- the asking one --- */

static void begin(struct meeting *m, const char *plan)
{
	if (plan)
		fault_plan(plan);
	memset(m, 0, sizeof(*m));
	m->channel = rdma_create_event_channel();
	cr_assert(m->channel);
	cr_assert_eq(rdma_create_id(m->channel, &m->asks, NULL, RDMA_PS_TCP), 0);
}

static void resolve(struct meeting *m)
{
	cr_assert_eq(rdma_resolve_addr(m->asks, NULL, (struct sockaddr *)&server.at, TIMEOUT_MS), 0);
	cr_assert_eq(meeting_expect(m, RDMA_CM_EVENT_ADDR_RESOLVED, NULL), m->asks);
	cr_assert_eq(rdma_resolve_route(m->asks, TIMEOUT_MS), 0);
	cr_assert_eq(meeting_expect(m, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL), m->asks);
}

static void ask(struct meeting *m)
{
	resolve(m);
	meeting_give_qp(m->asks);
	cr_assert_eq(rdma_connect(m->asks, NULL), 0);
}

static void is_told(struct meeting *m, enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event;

	cr_assert_eq(meeting_expect(m, type, &event), m->asks);
	cr_assert_eq(event->status, status, "status %d in the place of %d", event->status, status);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
}

/* Another id asks in the place of the one that is over. */
static void ask_again(struct meeting *m)
{
	if (m->asks->qp)
		rdma_destroy_qp(m->asks);
	cr_assert_eq(rdma_destroy_id(m->asks), 0);
	cr_assert_eq(rdma_create_id(m->channel, &m->asks, NULL, RDMA_PS_TCP), 0);
	ask(m);
}

static void says(const char *text)
{
	while (!said_has(text))
		sched_yield();
}

static void nothing_is_told(struct meeting *m)
{
	struct rdma_cm_event *event;

	cr_assert_eq(fcntl(m->channel->fd, F_SETFL, O_NONBLOCK), 0);
	cr_assert(rdma_get_cm_event(m->channel, &event) == -1 && errno == EAGAIN);
	cr_assert_eq(fcntl(m->channel->fd, F_SETFL, 0), 0);
}

/* --- late --- */

/* Those of other ids pass it, and its own do not. */
OVER_BOTH(an_event_is_late)
{
	struct rdma_cm_id *other;
	struct meeting m;
	uint64_t begun;

	said_begin();
	server_start(NULL);
	begin(&m, "[x]\nfault = cm\nevent = RDMA_CM_EVENT_ESTABLISHED\nwait = 200ms\n");
	ask(&m);
	begun = now_ms();
	cr_assert_eq(rdma_create_id(m.channel, &other, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_resolve_addr(other, NULL, (struct sockaddr *)&server.at, TIMEOUT_MS), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_ADDR_RESOLVED, NULL), other);
	says("RDMA_CM_EVENT_ESTABLISHED is late, injected by the fault plan (FI_EMU_FAULT).");
	server_stop();
	is_told(&m, RDMA_CM_EVENT_ESTABLISHED, 0);
	cr_assert_geq(now_ms() - begun, WAIT_MS);
	is_told(&m, RDMA_CM_EVENT_DISCONNECTED, 0);
	cr_assert_eq(rdma_destroy_id(other), 0);
	meeting_close(&m);
}

OVER_BOTH(a_request_is_late)
{
	struct meeting m;
	uint64_t begun;

	server_start("[x]\nfault = cm\nevent = CONNECT_REQUEST\nwait = 200ms\n");
	begin(&m, NULL);
	ask(&m);
	begun = now_ms();
	is_told(&m, RDMA_CM_EVENT_ESTABLISHED, 0);
	cr_assert_geq(now_ms() - begun, WAIT_MS - 20, "it was asked for before"); /* the clock of another process has begun */
	server_is_told(RDMA_CM_EVENT_CONNECT_REQUEST);
	meeting_close(&m);
	server_stop();
}

/* Ids that go, or change their channel, take along what is late. */
Test(cm_plans, a_late_event_is_of_its_id)
{
	struct rdma_event_channel *other;
	struct meeting m;

	server_start(NULL);
	begin(&m, "[x]\nfault = cm\nevent = ADDR_RESOLVED\nwait = 3600s\nmost = 1\n[y]\nfault = cm\nevent = ROUTE_RESOLVED\nwait = "
		  "200ms\n");
	cr_assert_eq(rdma_resolve_addr(m.asks, NULL, (struct sockaddr *)&server.at, TIMEOUT_MS), 0);
	nothing_is_told(&m);
	cr_assert_eq(rdma_destroy_id(m.asks), 0);
	cr_assert_eq(rdma_create_id(m.channel, &m.asks, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_resolve_addr(m.asks, NULL, (struct sockaddr *)&server.at, TIMEOUT_MS), 0);
	is_told(&m, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	cr_assert_eq(rdma_resolve_route(m.asks, TIMEOUT_MS), 0);
	other = rdma_create_event_channel();
	cr_assert_eq(rdma_migrate_id(m.asks, other), 0);
	nothing_is_told(&m);
	rdma_destroy_event_channel(m.channel);
	m.channel = other;
	is_told(&m, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	meeting_close(&m);
	server_stop();
}

/* --- another event in its place --- */

struct instead {
	char plan[160];
	enum rdma_cm_event_type type;
	int status;
};

ParameterizedTestParameters(cm_plans, an_error_in_the_place_of_a_connection)
{
	static struct instead all[] = {
		{ "becomes = UNREACHABLE\n", RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT },
		{ "becomes = UNREACHABLE\nerror = EHOSTUNREACH\nwait = 100ms\n", RDMA_CM_EVENT_UNREACHABLE, -EHOSTUNREACH },
		{ "becomes = CONNECT_ERROR\nerror = ENOMEM\n", RDMA_CM_EVENT_CONNECT_ERROR, -ENOMEM },
		{ "becomes = RDMA_CM_EVENT_REJECTED\n", RDMA_CM_EVENT_REJECTED, 28 },
		{ "becomes = REJECTED\nreason = 24\n", RDMA_CM_EVENT_REJECTED, 24 },
	};

	return cr_make_param_array(struct instead, all, sizeof(all) / sizeof(all[0]));
}

/* The other side hears that its reply is turned down. */
static void instead_of_a_connection(const struct instead *instead)
{
	struct meeting m;
	char plan[256];

	snprintf(plan, sizeof(plan), "[x]\nfault = cm\nevent = ESTABLISHED\nmost = 1\n%s", instead->plan);
	server_start(NULL);
	begin(&m, plan);
	ask(&m);
	is_told(&m, instead->type, instead->status);
	cr_assert_eq(m.asks->qp->state, IBV_QPS_ERR);
	cr_assert(rdma_connect(m.asks, NULL) == -1 && errno == EINVAL);
	server_is_told(RDMA_CM_EVENT_CONNECT_REQUEST);
	server_is_told(RDMA_CM_EVENT_REJECTED);
	ask_again(&m);
	is_told(&m, RDMA_CM_EVENT_ESTABLISHED, 0);
	meeting_close(&m);
	server_stop();
}

ParameterizedTest(struct instead *instead, cm_plans, an_error_in_the_place_of_a_connection)
{
	instead_of_a_connection(instead);
}

Test(cm_plans, an_error_in_the_place_of_a_connection_over_tcp)
{
	const struct instead instead = { "becomes = REJECTED\nreason = 24\n", RDMA_CM_EVENT_REJECTED, 24 };

	setenv("FI_EMU_LOCAL", "tcp", 1);
	instead_of_a_connection(&instead);
}

/* The id may try again. */
OVER_BOTH(addresses_and_routes_are_not_found)
{
	struct meeting m;

	server_start(NULL);
	begin(&m, "[x]\nfault = cm\nevent = ADDR_RESOLVED\nbecomes = ADDR_ERROR\nerror = ENETUNREACH\nmost = 2\n"
		  "[y]\nfault = cm\nevent = ROUTE_RESOLVED\nbecomes = ROUTE_ERROR\nmost = 1\n");
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(rdma_resolve_addr(m.asks, NULL, (struct sockaddr *)&server.at, TIMEOUT_MS), 0);
		is_told(&m, RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH);
		cr_assert(!m.asks->verbs && rdma_resolve_route(m.asks, TIMEOUT_MS) == -1);
	}
	cr_assert_eq(rdma_resolve_addr(m.asks, NULL, (struct sockaddr *)&server.at, TIMEOUT_MS), 0);
	is_told(&m, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	cr_assert_eq(rdma_resolve_route(m.asks, TIMEOUT_MS), 0);
	is_told(&m, RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT);
	cr_assert(rdma_connect(m.asks, NULL) == -1 && errno == EINVAL);
	cr_assert_eq(rdma_resolve_route(m.asks, TIMEOUT_MS), 0);
	is_told(&m, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	meeting_give_qp(m.asks);
	cr_assert_eq(rdma_connect(m.asks, NULL), 0);
	is_told(&m, RDMA_CM_EVENT_ESTABLISHED, 0);
	meeting_close(&m);
	server_stop();
}

/* The listening program never sees the one that is rejected. */
OVER_BOTH(a_request_is_rejected)
{
	struct meeting m;

	server_start("[x]\nfault = cm\nevent = CONNECT_REQUEST\nbecomes = REJECTED\nreason = 10\nmost = 1\n");
	begin(&m, NULL);
	ask(&m);
	is_told(&m, RDMA_CM_EVENT_REJECTED, 10);
	ask_again(&m);
	is_told(&m, RDMA_CM_EVENT_ESTABLISHED, 0);
	server_is_told(RDMA_CM_EVENT_CONNECT_REQUEST);
	server_is_told(RDMA_CM_EVENT_ESTABLISHED);
	meeting_close(&m);
	server_stop();
}

/* --- lost --- */

/* One that asks is silent for that long. */
OVER_BOTH(a_listener_does_not_answer)
{
	struct meeting m;
	uint64_t begun;

	setenv("FI_EMU_RETRY_MS", "300", 1);
	server_start("[x]\nfault = cm\nevent = CONNECT_REQUEST\nbecomes = nothing\nmost = 1\n");
	begin(&m, NULL);
	ask(&m);
	begun = now_ms();
	is_told(&m, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	cr_assert_geq(now_ms() - begun, WAIT_MS);
	ask_again(&m);
	is_told(&m, RDMA_CM_EVENT_ESTABLISHED, 0);
	server_is_told(RDMA_CM_EVENT_CONNECT_REQUEST);
	meeting_close(&m);
	server_stop();
}

OVER_BOTH(an_event_is_lost)
{
	struct meeting m;

	said_begin();
	server_start(NULL);
	begin(&m, "[x]\nfault = cm\nevent = DISCONNECTED\nbecomes = nothing\n");
	ask(&m);
	is_told(&m, RDMA_CM_EVENT_ESTABLISHED, 0);
	server_stop();
	says("RDMA_CM_EVENT_DISCONNECTED becomes nothing, injected by the fault plan (FI_EMU_FAULT).");
	nothing_is_told(&m);
	cr_assert_eq(rdma_disconnect(m.asks), 0);
	meeting_close(&m);
}

/* --- datagrams --- */

/* What is late goes with the membership. */
Test(cm_plans, joins)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in group = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xef010203) };
	struct sockaddr *to = (struct sockaddr *)&group;
	struct meeting m = { 0 };

	fault_plan("[x]\nfault = cm\nevent = MULTICAST_JOIN\nbecomes = MULTICAST_ERROR\nerror = ENOMEM\nmost = 1\n"
		   "[y]\nfault = cm\nevent = MULTICAST_JOIN\nwait = 3600s\nfirst = 2\nmost = 1\n"
		   "[z]\nfault = cm\nevent = MULTICAST_JOIN\nbecomes = nothing\nfirst = 3\nmost = 1\n");
	m.channel = rdma_create_event_channel();
	cr_assert_eq(rdma_create_id(m.channel, &m.asks, NULL, RDMA_PS_UDP), 0);
	cr_assert_eq(rdma_bind_addr(m.asks, (struct sockaddr *)&at), 0);
	cr_assert_eq(rdma_join_multicast(m.asks, to, NULL), 0);
	is_told(&m, RDMA_CM_EVENT_MULTICAST_ERROR, -ENOMEM);
	cr_assert_eq(rdma_leave_multicast(m.asks, to), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(rdma_join_multicast(m.asks, to, NULL), 0);
		nothing_is_told(&m);
		cr_assert_eq(rdma_leave_multicast(m.asks, to), 0);
	}
	cr_assert_eq(rdma_join_multicast(m.asks, to, NULL), 0);
	is_told(&m, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	cr_assert_eq(rdma_destroy_id(m.asks), 0);
	rdma_destroy_event_channel(m.channel);
}

/* A lookup has no reason of InfiniBand's for connections. */
Test(cm_plans, lookups)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_conn_param param = { .qp_num = 7 };
	struct meeting m = { 0 };

	fault_plan("[x]\nfault = cm\nevent = CONNECT_REQUEST\nbecomes = REJECTED\nmost = 1\n"
		   "[y]\nfault = cm\nevent = ESTABLISHED\nbecomes = UNREACHABLE\nmost = 1\n");
	m.channel = rdma_create_event_channel();
	cr_assert_eq(rdma_create_id(m.channel, &m.listens, NULL, RDMA_PS_UDP), 0);
	cr_assert_eq(rdma_bind_addr(m.listens, (struct sockaddr *)&at), 0);
	cr_assert_eq(rdma_listen(m.listens, 1), 0);
	at.sin_port = rdma_get_src_port(m.listens);
	server.at = at;
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(rdma_create_id(m.channel, &m.asks, NULL, RDMA_PS_UDP), 0);
		resolve(&m);
		cr_assert_eq(rdma_connect(m.asks, NULL), 0);
		if (i) {
			m.answers = meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
			cr_assert_eq(rdma_accept(m.answers, &param), 0);
		}
		is_told(&m, RDMA_CM_EVENT_UNREACHABLE, i ? -ETIMEDOUT : 2);
		cr_assert_eq(rdma_destroy_id(m.asks), 0);
	}
	m.asks = NULL;
	meeting_close(&m);
}

/* --- plans that are wrong --- */

struct flawed {
	char options[100];
	char sentence[110];
};

ParameterizedTestParameters(cm_plans, flaws)
{
	static struct flawed all[] = {
		{ "event = ESTABLISHED\n", "[x] has neither \"becomes\" nor \"wait\"" },
		{ "wait = 1s\n", "[x] lacks \"event\"" },
		{ "event = HELLO\nwait = 1s\n", "event: \"HELLO\" is not an event that can be injected, or one of rdma_cm" },
		{ "event = PORT_ERR\nwait = 1s\n", "[x] has an event that is none of rdma_cm, and goes with \"fault = event\"" },
		{ "event = ESTABLISHED\nbecomes = ADDR_ERROR\n", "[x] has an event become one that never comes in its place" },
		{ "event = ESTABLISHED\nbecomes = ERROR\n", "becomes: \"ERROR\" is not an event of rdma_cm, or nothing" },
		{ "event = ESTABLISHED\nbecomes = nothing\nwait = 1s\n", "[x] has what is lost wait" },
		{ "event = ESTABLISHED\nbecomes = UNREACHABLE\nreason = 28\n",
		  "[x] has a \"reason\", which goes with \"becomes = REJECTED\"" },
		{ "event = ESTABLISHED\nbecomes = REJECTED\nerror = ENOMEM\n",
		  "[x] has an \"error\", which goes with an event of an error" },
		{ "event = ESTABLISHED\nbecomes = REJECTED\nreason = 65536\n",
		  "reason: \"65536\" is not a positive number below 65536" },
		{ "event = ESTABLISHED\nwait = 1s\nqp = 1\n", "\"qp\" does not go with this fault" },
	};

	return cr_make_param_array(struct flawed, all, sizeof(all) / sizeof(all[0]));
}

ParameterizedTest(struct flawed *flawed, cm_plans, flaws)
{
	char plan[200];

	snprintf(plan, sizeof(plan), "[x]\nfault = cm\n%s", flawed->options);
	fault_plan(plan);
	said_begin();
	cr_assert(!rdma_create_event_channel() && errno == EINVAL);
	cr_assert(said_has(flawed->sentence), "%s", flawed->options);
}

Test(cm_plans, an_event_of_rdma_cm_is_no_asynchronous_one)
{
	fault_plan("[x]\nfault = event\nevent = ESTABLISHED\nafter = 1s\n");
	said_begin();
	cr_assert(!rdma_create_event_channel() && errno == EINVAL);
	cr_assert(said_has("[x] has an event of rdma_cm, which goes with \"fault = cm\""));
}
