/* SPDX-License-Identifier: BSD-2-Clause */
/* test_tcp.c - what the link does over TCP alone, or by itself. The rest is in test_lines.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "emu/net/os/fork.h"
#include "pairs.h"

const bool local = false;

TestSuite(tcp, .init = open_link, .fini = close_link);

static int option(const struct line *line, int name)
{
	socklen_t length = sizeof(int);
	int value;

	cr_assert_eq(getsockopt(line->fd, IPPROTO_TCP, name, &value, &length), 0);
	return value;
}

/* WIRE-110, FI_EMU_TIMEOUT_MS: probes of a line that is idle begin before it is over. */
Test(tcp, silence)
{
	static const struct {
		int ms, idle_s;
	} of[] = { { 0, 5 }, { 1000, 1 }, { 1999, 1 }, { 2000, 1 }, { 40000, 25 } };
	struct line *line;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		tcp->config.silence_ns = TIME_MS(of[i].ms);
		cr_assert_eq(line_new(tcp, socket(AF_INET, SOCK_STREAM, 0), &stream_tcp, &line), 0);
		cr_assert_eq(option(line, TCP_USER_TIMEOUT), of[i].ms ? of[i].ms : 8000);
		cr_assert_eq(option(line, TCP_KEEPIDLE), of[i].idle_s);
		cr_assert_eq(option(line, TCP_KEEPINTVL), 1);
		line_free(line);
	}
}

Test(tcp, unreachable_dial_is_told_later)
{
	struct sockaddr_in6 *to = (struct sockaddr_in6 *)&at;
	struct conn *conn;

	to->sin6_family = AF_INET6;
	inet_pton(AF_INET6, "ff02::1", &to->sin6_addr); /* no stream goes to a group */
	conn = dial();
	finish(conn);
	cr_assert_eq(conn->downs, 1);
	cr_assert_neq(conn->error, 0);
	tcp_link.close(conn->line);
}

/* Closing a socket with unread bytes resets it, and what was sent and is still on the way would be lost. */
Test(tcp, what_was_sent_arrives_after_close)
{
	struct conn *one, *two;
	size_t sent;

	pair(&one, &two);
	sent = close_full(one, two);
	cr_assert_eq(kicks, 1, "somebody must see to the rest");
	cr_assert(tcp_tick(tcp));
	send_text(two, "nor this");
	cr_assert_eq(drain(two, sent), sent);
	expect_end(two);
	cr_assert_eq(two->error, 0, "an orderly end");
	while (tcp_tick(tcp))
		usleep(1000);
}

/* A child closes lingering lines, too: when the parent ends one, the stream must end. */
Test(tcp, forks_child_closes_what_lingers)
{
	struct conn *one, *two;
	int fd, status;
	size_t sent;
	pid_t child;

	pair(&one, &two);
	one->deaf = true;
	fd = one->line->fd;
	sent = fill(one);
	tcp_link.close(one->line);
	cr_assert(tcp_tick(tcp));
	cr_assert(!fork_open());
	fork_watch(tcp_linger_fd(tcp));
	child = fork();
	if (child == 0)
		_exit(fcntl(fd, F_GETFD) < 0 ? 0 : 1);
	cr_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_assert(fcntl(fd, F_GETFD) >= 0);
	cr_assert_eq(drain(two, sent), sent);
	while (tcp_tick(tcp))
		usleep(1000);
}

Test(tcp, out_of_descriptors_is_said_once)
{
	struct rlimit limit = { 0, 0 }, old;
	struct conn *one;

	ep.accepts[0] = conn_make(&tcp_link);
	one = dial();
	finish(one);
	await(tcp_listen_fd(tcp));
	getrlimit(RLIMIT_NOFILE, &old);
	limit = (struct rlimit){ 3, old.rlim_max };
	setrlimit(RLIMIT_NOFILE, &limit);
	cr_assert(!tcp_accept(tcp));
	cr_assert(!tcp_accept(tcp));
	setrlimit(RLIMIT_NOFILE, &old);
	cr_assert_eq(log_lines, 1);
	cr_assert_eq(ep.accepted, 0);
	cr_assert(tcp_accept(tcp));
	cr_assert_eq(ep.accepted, 1, "it waited");
}

/* Of those that are there one is spared, if the device says so. */
Test(tcp, out_of_descriptors_is_no_end_of_it)
{
	enum { FILES = 64 };
	struct conn *one, *two, *three;
	struct rlimit limit, old;

	pair(&one, &two);
	ep.accepts[ep.accepted] = conn_make(&tcp_link);
	three = dial();
	finish(three);
	await(tcp_listen_fd(tcp));
	getrlimit(RLIMIT_NOFILE, &old);
	limit = (struct rlimit){ FILES, old.rlim_max };
	setrlimit(RLIMIT_NOFILE, &limit);
	while (dup(0) >= 0)
		;
	cr_assert(!tcp_accept(tcp));
	ep.spared = two;
	cr_assert(tcp_accept(tcp));
	cr_assert(!tcp_accept(tcp), "there is room for one");
	setrlimit(RLIMIT_NOFILE, &old);
	cr_assert_eq(ep.accepted, 2, "it takes the place");
}

/* FI_EMU_PORTS: connections that this side closed first are remembered by the kernel, and bar no later listener. */
Test(tcp, port_is_free_for_its_next_owner)
{
	in_port_t *port = &((struct sockaddr_in *)&at)->sin_port;
	struct conn *one, *two;

	tcp->config.bound.first = tcp->config.bound.last = ntohs(*port);
	for (int i = 0; i < 2; i++) {
		tcp_link.unlisten(tcp, listener);
		*port = 0;
		cr_assert_eq(tcp_link.listen(tcp, &at, &ep, &listener), 0);
		cr_assert_eq(ntohs(*port), tcp->config.bound.first);
		pair(&one, &two);
		tcp_link.close(two->line);
		expect_end(one);
		while (tcp_tick(tcp))
			;
	}
}

/* An eighth of the descriptors, and one at least. */
Test(tcp, dials_leave_descriptors)
{
	static const struct {
		rlim_t files;
		uint32_t dials;
	} of[] = { { LIMIT_CONNECTIONS, LIMIT_CONNECTIONS },
		   { LIMIT_CONNECTIONS - 1, LIMIT_CONNECTIONS / 8 - 1 },
		   { 1024, 128 },
		   { 16, 2 },
		   { 15, 1 },
		   { 8, 1 },
		   { 7, 1 },
		   { 1, 1 } };
	struct rlimit old, limit;

	getrlimit(RLIMIT_NOFILE, &old);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		if (of[i].files > old.rlim_max)
			continue; /* an ordinary user cannot raise it */
		limit = (struct rlimit){ of[i].files, old.rlim_max };
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		cr_assert_eq(tcp_link.dials_most(tcp), of[i].dials, "%d descriptors", (int)of[i].files);
	}
	setrlimit(RLIMIT_NOFILE, &old);
}

Test(tcp, random_bytes_differ)
{
	unsigned char a[300] = { 0 }, b[300] = { 0 };

	tcp_link.random(tcp, a, sizeof(a));
	tcp_link.random(tcp, b, sizeof(b));
	cr_assert_neq(memcmp(a, b, sizeof(a)), 0);
	cr_assert_neq(memcmp(a + 284, (char[16]){ 0 }, 16), 0, "to the last");
}
