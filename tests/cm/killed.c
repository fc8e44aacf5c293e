/* SPDX-License-Identifier: BSD-2-Clause */
/* killed.c - a peer in another process that is killed, listeners at all addresses, and IPv6. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cm/meeting.h"

enum { TIMEOUT_MS = 2000 };

/* An id with a route to that number. */
static void route_in_space(struct meeting *m, const struct sockaddr *at, enum rdma_port_space space)
{
	cr_assert_eq(rdma_create_id(m->channel, &m->asks, NULL, space), 0);
	cr_assert_eq(rdma_resolve_addr(m->asks, NULL, (struct sockaddr *)(uintptr_t)at, TIMEOUT_MS), 0);
	meeting_expect(m, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	cr_assert_eq(rdma_resolve_route(m->asks, TIMEOUT_MS), 0);
	meeting_expect(m, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
}

static void route_to(struct meeting *m, const struct sockaddr *at)
{
	route_in_space(m, at, RDMA_PS_TCP);
}

static void listen_at(struct meeting *m, const struct sockaddr *at)
{
	memset(m, 0, sizeof(*m));
	m->channel = rdma_create_event_channel();
	cr_assert_eq(rdma_create_id(m->channel, &m->listens, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_bind_addr(m->listens, (struct sockaddr *)(uintptr_t)at), 0, "errno %d", errno);
	cr_assert_eq(rdma_listen(m->listens, 0), 0);
}

/* In a process of its own, which takes one connection, says so, and waits for its end. */
static void answers(int fd)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct rdma_conn_param param = { 0 };
	struct meeting m;
	uint16_t number;

	listen_at(&m, (struct sockaddr *)&at);
	number = rdma_get_src_port(m.listens);
	cr_assert_eq(write(fd, &number, sizeof(number)), (ssize_t)sizeof(number));
	m.answers = meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	meeting_give_qp(m.answers);
	cr_assert_eq(rdma_accept(m.answers, &param), 0);
	meeting_expect(&m, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cr_assert_eq(write(fd, "", 1), 1);
	meeting_expect(&m, RDMA_CM_EVENT_DISCONNECTED, NULL);
	_exit(7);
}

static pid_t meet_process(struct meeting *m, int pipes[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	pid_t child;
	char byte;

	cr_assert_eq(pipe(pipes), 0);
	child = fork();
	if (!child)
		answers(pipes[1]);
	cr_assert_eq(read(pipes[0], &at.sin_port, sizeof(at.sin_port)), (ssize_t)sizeof(at.sin_port));
	memset(m, 0, sizeof(*m));
	m->channel = rdma_create_event_channel();
	route_to(m, (struct sockaddr *)&at);
	meeting_give_qp(m->asks);
	cr_assert_eq(rdma_connect(m->asks, NULL), 0);
	meeting_expect(m, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cr_assert_eq(read(pipes[0], &byte, 1), 1);
	return child;
}

Test(cm_killed, the_peer_is_told)
{
	int pipes[2], status;
	struct meeting m;
	pid_t child = meet_process(&m, pipes);

	cr_assert_eq(kill(child, SIGKILL), 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_DISCONNECTED, NULL), m.asks);
	rdma_destroy_qp(m.asks);
	cr_assert_eq(rdma_destroy_id(m.asks), 0);
	rdma_destroy_event_channel(m.channel);
}

/* In a process of its own, which leaves each connection as soon as there is one. */
static void leaves_at_once(int fd)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct rdma_cm_event *event;
	struct meeting m;
	uint16_t number;

	listen_at(&m, (struct sockaddr *)&at);
	number = rdma_get_src_port(m.listens);
	cr_assert_eq(write(fd, &number, sizeof(number)), (ssize_t)sizeof(number));
	while (!rdma_get_cm_event(m.channel, &event)) {
		enum rdma_cm_event_type type = event->event;
		struct rdma_cm_id *id = event->id;

		rdma_ack_cm_event(event);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			meeting_give_qp(id);
			cr_assert_eq(rdma_accept(id, NULL), 0);
		} else if (type == RDMA_CM_EVENT_ESTABLISHED) {
			cr_assert_eq(rdma_disconnect(id), 0);
		}
	}
}

static void take_now(struct meeting *m, enum rdma_cm_event_type type)
{
	struct pollfd look = { .fd = m->channel->fd, .events = POLLIN };

	cr_assert_eq(poll(&look, 1, 60000), 1);
	meeting_expect(m, type, NULL);
}

/* Each side is told once, and the descriptor of its channel is readable for nothing else. */
Test(cm_killed, both_leave_at_a_time)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct meeting m = { 0 };
	int pipes[2], status;
	pid_t child;

	cr_assert_eq(pipe(pipes), 0);
	child = fork();
	if (!child) {
		leaves_at_once(pipes[1]);
		_exit(1);
	}
	cr_assert_eq(read(pipes[0], &at.sin_port, sizeof(at.sin_port)), (ssize_t)sizeof(at.sin_port));
	m.channel = rdma_create_event_channel();
	cr_assert_eq(fcntl(m.channel->fd, F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < 30; i++) {
		cr_assert_eq(rdma_create_id(m.channel, &m.asks, NULL, RDMA_PS_TCP), 0);
		cr_assert_eq(rdma_resolve_addr(m.asks, NULL, (struct sockaddr *)&at, TIMEOUT_MS), 0);
		take_now(&m, RDMA_CM_EVENT_ADDR_RESOLVED);
		cr_assert_eq(rdma_resolve_route(m.asks, TIMEOUT_MS), 0);
		take_now(&m, RDMA_CM_EVENT_ROUTE_RESOLVED);
		meeting_give_qp(m.asks);
		cr_assert_eq(rdma_connect(m.asks, NULL), 0);
		take_now(&m, RDMA_CM_EVENT_ESTABLISHED);
		cr_assert_eq(rdma_disconnect(m.asks), 0);
		take_now(&m, RDMA_CM_EVENT_DISCONNECTED);
		take_now(&m, RDMA_CM_EVENT_TIMEWAIT_EXIT);
		rdma_destroy_qp(m.asks); /* the id stays: what comes late comes while the next one connects */
	}
	cr_assert_eq(kill(child, SIGKILL), 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	rdma_destroy_event_channel(m.channel);
}

/* In a process of its own, which takes one request and leaves it at that, and turns down the next. */
static void only_hears(int fd, enum rdma_port_space space)
{
	struct meeting m;
	uint16_t number;

	meeting_open_spaces(&m, space, space);
	number = rdma_get_src_port(m.listens);
	cr_assert_eq(write(fd, &number, sizeof(number)), (ssize_t)sizeof(number));
	meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	cr_assert_eq(rdma_reject(meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL), NULL, 0), 0);
	for (;;)
		pause();
}

/* When one has its answer, the other was heard. */
static void killed_before_it_answers(enum rdma_port_space space)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_cm_event *event;
	struct meeting m = { 0 };
	int pipes[2], status;
	struct rdma_cm_id *first, *waits;
	pid_t child;

	cr_assert_eq(pipe(pipes), 0);
	child = fork();
	if (!child)
		only_hears(pipes[1], space);
	cr_assert_eq(read(pipes[0], &at.sin_port, sizeof(at.sin_port)), (ssize_t)sizeof(at.sin_port));
	m.channel = rdma_create_event_channel();
	route_in_space(&m, (struct sockaddr *)&at, space);
	first = m.asks;
	cr_assert_eq(rdma_connect(first, &param), 0);
	route_in_space(&m, (struct sockaddr *)&at, space);
	cr_assert_eq(rdma_connect(m.asks, &param), 0);
	waits = meeting_expect(&m, space == RDMA_PS_TCP ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_UNREACHABLE, NULL);
	waits = waits == first ? m.asks : first;
	cr_assert_eq(kill(child, SIGKILL), 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_UNREACHABLE, &event), waits);
	cr_assert_eq(event->status, -ETIMEDOUT, "%d", event->status);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	cr_assert_eq(rdma_destroy_id(first), 0);
	meeting_close(&m);
}

Test(cm_killed, before_it_answers)
{
	killed_before_it_answers(RDMA_PS_TCP);
}

Test(cm_killed, before_it_answers_a_lookup)
{
	killed_before_it_answers(RDMA_PS_UDP);
}

/* As with the kernel, which says for a process that has gone that its time is over. */
Test(cm_killed, the_asking_side_before_it_is_accepted)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_cm_event *event;
	struct meeting m;
	int pipes[2], status;
	pid_t child;

	cr_assert_eq(pipe(pipes), 0);
	child = fork();
	if (!child) {
		cr_assert_eq(read(pipes[0], &at.sin_port, sizeof(at.sin_port)), (ssize_t)sizeof(at.sin_port));
		m.channel = rdma_create_event_channel();
		route_to(&m, (struct sockaddr *)&at);
		meeting_give_qp(m.asks);
		cr_assert_eq(rdma_connect(m.asks, NULL), 0);
		for (;;)
			pause();
	}
	listen_at(&m, (struct sockaddr *)&at);
	at.sin_port = rdma_get_src_port(m.listens);
	cr_assert_eq(write(pipes[1], &at.sin_port, sizeof(at.sin_port)), (ssize_t)sizeof(at.sin_port));
	m.answers = meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	cr_assert_eq(kill(child, SIGKILL), 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	meeting_give_qp(m.answers);
	cr_assert_eq(rdma_accept(m.answers, NULL), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_REJECTED, &event), m.answers);
	cr_assert_eq(event->status, 4, "%d", event->status);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	cr_assert_eq(m.answers->qp->state, IBV_QPS_ERR);
	meeting_close(&m);
}

Test(cm_killed, a_process_that_leaves_is_heard_in_another)
{
	int pipes[2], status;
	struct meeting m;
	pid_t child = meet_process(&m, pipes);

	cr_assert_eq(rdma_disconnect(m.asks), 0);
	meeting_expect(&m, RDMA_CM_EVENT_DISCONNECTED, NULL);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status 0x%x", status);
	rdma_destroy_qp(m.asks);
	cr_assert_eq(rdma_destroy_id(m.asks), 0);
	rdma_destroy_event_channel(m.channel);
}

/* In a process of its own, which asks for a connection and is stopped. */
static void only_asks(uint16_t number)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = number };
	struct meeting m = { .channel = rdma_create_event_channel() };

	route_to(&m, (struct sockaddr *)&at);
	meeting_give_qp(m.asks);
	cr_assert_eq(rdma_connect(m.asks, NULL), 0);
	for (;;)
		pause();
}

/* The program knows by its queue pair that there is a connection, and the device hears of no end that it could tell. */
Test(cm_killed, a_connection_that_the_program_made_one)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct rdma_conn_param param = { 0 };
	struct meeting m;
	pid_t child;
	int pipes[2];
	uint16_t number;

	cr_assert_eq(pipe(pipes), 0);
	child = fork();
	if (!child && read(pipes[0], &number, sizeof(number)) == (ssize_t)sizeof(number))
		only_asks(number);
	listen_at(&m, (struct sockaddr *)&at);
	number = rdma_get_src_port(m.listens);
	cr_assert_eq(write(pipes[1], &number, sizeof(number)), (ssize_t)sizeof(number));
	m.answers = meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	cr_assert_eq(kill(child, SIGSTOP), 0);
	meeting_give_qp(m.answers);
	cr_assert_eq(rdma_accept(m.answers, &param), 0);
	cr_assert_eq(rdma_notify(m.answers, IBV_EVENT_COMM_EST), 0);
	meeting_expect(&m, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cr_assert_eq(kill(child, SIGKILL), 0);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_DISCONNECTED, NULL), m.answers);
	rdma_destroy_qp(m.answers);
	cr_assert_eq(rdma_destroy_id(m.answers), 0);
	cr_assert_eq(rdma_destroy_id(m.listens), 0);
	rdma_destroy_event_channel(m.channel);
}

/* What the parent has stays the parent's. */
Test(cm_killed, a_forks_child_connects_anew)
{
	struct meeting m, own;
	int status;
	pid_t child;

#if defined(__SANITIZE_THREAD__)
	cr_skip_test("the thread sanitizer lets no child of a fork start threads");
#endif
	meeting_open(&m);
	meeting_meet(&m);
	child = fork();
	if (!child) {
		meeting_open(&own);
		meeting_meet(&own);
		meeting_close(&own);
		_exit(9);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 9, "status 0x%x", status);
	cr_assert_eq(rdma_disconnect(m.asks), 0);
	meeting_part(&m);
	meeting_close(&m);
}

/* The child's end of an id whose events are unread leaves the parent's channel readable. */
Test(cm_killed, a_forks_child_destroys_what_it_inherits)
{
	struct pollfd look;
	struct meeting m;
	int status;
	pid_t child;

	meeting_open(&m);
	meeting_give_qp(m.asks);
	cr_assert_eq(rdma_connect(m.asks, NULL), 0);
	look = (struct pollfd){ .fd = m.channel->fd, .events = POLLIN };
	cr_assert_eq(poll(&look, 1, 60000), 1);
	child = fork();
	if (!child)
		_exit(rdma_destroy_id(m.listens) || rdma_destroy_id(m.asks));
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x", status);
	cr_assert_eq(poll(&look, 1, 0), 1);
	m.answers = meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	meeting_close(&m);
}

/* `::` takes IPv4, too; the id of a request has the address that was asked. */
Test(cm_killed, everywhere_is_in_both_families)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct meeting m;

	listen_at(&m, (struct sockaddr *)&any);
	at.sin_port = rdma_get_src_port(m.listens);
	route_to(&m, (struct sockaddr *)&at);
	meeting_meet(&m);
	cr_assert_eq(rdma_get_local_addr(m.answers)->sa_family, AF_INET);
	cr_assert_eq(((struct sockaddr_in *)rdma_get_local_addr(m.answers))->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	meeting_close(&m);
}

Test(cm_killed, ipv6)
{
	struct sockaddr_in6 at;
	struct meeting m;

	if (!meeting_own_ipv6(&at))
		cr_skip_test("no interface has an address of IPv6");
	listen_at(&m, (struct sockaddr *)&at);
	at.sin6_port = rdma_get_src_port(m.listens);
	route_to(&m, (struct sockaddr *)&at);
	meeting_meet(&m);
	cr_assert_eq(rdma_disconnect(m.answers), 0);
	meeting_part(&m);
	meeting_close(&m);
}

Test(cm_killed, no_way_to_the_peer)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(0xffffffff) };
	struct rdma_cm_event *event;
	struct meeting m = { .channel = rdma_create_event_channel() };

	cr_assert_eq(rdma_create_id(m.channel, &m.asks, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_resolve_addr(m.asks, NULL, (struct sockaddr *)&at, TIMEOUT_MS), 0);
	meeting_expect(&m, RDMA_CM_EVENT_ADDR_ERROR, &event);
	cr_assert_lt(event->status, 0);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	cr_assert(rdma_resolve_route(m.asks, TIMEOUT_MS) == -1 && errno == EINVAL);
	cr_assert_eq(rdma_destroy_id(m.asks), 0);
	rdma_destroy_event_channel(m.channel);
}
