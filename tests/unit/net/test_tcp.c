/* SPDX-License-Identifier: BSD-2-Clause */
/* test_tcp.c - the TCP link against a fake device, in one thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "emu/net/fork.h"
#include "emu/net/tcp_line.h"
#include "fake.h"

static struct tcp *tcp;
static struct ep ep;
static struct sockaddr_storage at;	/* of ep */
static void *listener;
static int log_lines, kicks;

static void log_line(enum nic_log level, const char *text)
{
	(void)level;
	(void)text;
	log_lines++;
}

static void kick(void *arg)
{
	(void)arg;
	kicks++;
}

static void open_at(const char *address)
{
	struct tcp_config config = { .log = log_line, .kick = kick };
	struct sockaddr_in *in = (struct sockaddr_in *)&at;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&at;

	cr_assert_eq(tcp_open(&tcp, &config), 0);
	at.ss_family = strchr(address, ':') ? AF_INET6 : AF_INET;
	inet_pton(at.ss_family, address, at.ss_family == AF_INET6 ? (void *)&in6->sin6_addr : (void *)&in->sin_addr);
	cr_assert_eq(tcp_link.listen(tcp, &at, &ep, &listener), 0);
	cr_assert_neq(in->sin_port, 0, "the name is known at once");
}

static void open_link(void)
{
	open_at("127.0.0.1");
}

static void close_link(void)
{
	tcp_close(tcp);
}

TestSuite(tcp, .init = open_link, .fini = close_link);

static struct conn *dial(void)
{
	struct conn *conn = conn_make(&tcp_link);

	cr_assert_eq(tcp_link.dial(tcp, &at, conn, &conn->line), 0);
	cr_assert_eq(conn->ups + conn->downs, 0, "never from inside dial()");
	return conn;
}

/* Blocks until the set has something. */
static void await(int set)
{
	struct pollfd fd = { .fd = set, .events = POLLIN };

	cr_assert_eq(poll(&fd, 1, 30000), 1, "nothing came");
}

static void finish(const struct conn *conn)
{
	while (conn->ups + conn->downs == 0) {
		await(tcp_dial_fd(tcp));
		tcp_link.poll(tcp);
	}
}

/* A pair of connected conns. */
static void pair(struct conn **one, struct conn **two)
{
	int place = ep.accepted;

	*two = ep.accepts[place] = conn_make(&tcp_link);
	*one = dial();
	finish(*one);
	cr_assert_eq((*one)->ups, 1);
	while (ep.accepted == place) {
		await(tcp_listen_fd(tcp));
		cr_assert(tcp_accept(tcp));
	}
}

static void send_text(struct conn *conn, const char *text)
{
	struct iovec iov[2] = { { (void *)text, 1 }, { (void *)(text + 1), strlen(text) - 1 } };

	cr_assert_eq(tcp_link.send(conn->line, iov, 2), (ssize_t)strlen(text));
}

static void expect_text(struct conn *conn, const char *text)
{
	while (atomic_load(&conn->got) < strlen(text)) {
		await(tcp_data_fd(tcp));
		tcp_link.poll(tcp);
	}
	cr_assert_eq(atomic_load(&conn->got), strlen(text));
	cr_assert_eq(memcmp(conn->bytes, text, strlen(text)), 0);
	atomic_store(&conn->got, 0);
}

static int option(const struct line *line, int name)
{
	socklen_t length = sizeof(int);
	int value;

	cr_assert_eq(getsockopt(line->fd, IPPROTO_TCP, name, &value, &length), 0);
	return value;
}

/* FI_EMU_TIMEOUT_MS: probes of a line that is idle begin before it is over. */
Test(tcp, silence)
{
	static const struct { int ms, idle_s; } of[] = { { 0, 5 }, { 1000, 1 }, { 1999, 1 }, { 2000, 1 }, { 40000, 25 } };
	struct line *line;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		tcp->config.silence_ns = TIME_MS(of[i].ms);
		cr_assert_eq(line_new(tcp, socket(AF_INET, SOCK_STREAM, 0), false, &line), 0);
		cr_assert_eq(option(line, TCP_USER_TIMEOUT), of[i].ms ? of[i].ms : 8000);
		cr_assert_eq(option(line, TCP_KEEPIDLE), of[i].idle_s);
		cr_assert_eq(option(line, TCP_KEEPINTVL), 1);
		line_free(line);
	}
}

Test(tcp, echoes)
{
	struct conn *one, *two;

	pair(&one, &two);
	cr_assert_eq(tcp_link.poll(tcp), 0, "nothing is there yet");
	two->echo = true;
	send_text(one, "hello, echo");
	expect_text(one, "hello, echo");
}

Test(tcp, speaks_ipv6)
{
	struct sockaddr_in6 loopback = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	int missing = bind(fd, (struct sockaddr *)&loopback, sizeof(loopback));
	struct conn *one, *two;

	close(fd);
	if (missing)
		cr_skip_test("this machine has no IPv6");
	close_link();
	open_at("::1");
	pair(&one, &two);
	send_text(one, "six");
	expect_text(two, "six");
}

Test(tcp, port_taken_is_refused)
{
	struct sockaddr_storage same = at;
	void *other = NULL;

	cr_assert_eq(tcp_link.listen(tcp, &same, &ep, &other), -EADDRINUSE);
	cr_assert_null(other);
}

Test(tcp, refused_dial_is_told_later)
{
	struct conn *conn;

	tcp_link.unlisten(tcp, listener);
	conn = dial();
	finish(conn);
	cr_assert_eq(conn->downs, 1);
	cr_assert_eq(conn->error, ECONNREFUSED);
	tcp_link.close(conn->line);
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

Test(tcp, no_event_after_close_in_a_dial)
{
	struct conn *gone, *one, *two;

	ep.accepts[0] = conn_make(&tcp_link);
	gone = dial();
	tcp_link.close(gone->line);
	pair(&one, &two);
	tcp_link.poll(tcp);
	cr_assert_eq(gone->ups + gone->downs + gone->readables + gone->writables, 0);
}

Test(tcp, refused_peer_is_closed)
{
	struct conn *one;

	one = dial();
	finish(one);
	await(tcp_listen_fd(tcp));
	cr_assert(tcp_accept(tcp));
	cr_assert_eq(ep.refused, 1);
	while (!one->eof) {
		await(tcp_data_fd(tcp));
		tcp_link.poll(tcp);
	}
}

Test(tcp, broken_pipe_is_an_error_and_no_signal)
{
	struct conn *one, *two;
	char x = 0;
	struct iovec iov = { &x, 1 };
	ssize_t n;

	pair(&one, &two);
	one->deaf = true;
	tcp_link.close(two->line);
	do
		n = tcp_link.send(one->line, &iov, 1);
	while (n == 1);
	cr_assert(n == -EPIPE || n == -ECONNRESET, "%zd", n);
}

static size_t fill(struct conn *conn)
{
	static char block[CONN_ROOM];
	struct iovec iov = { block, sizeof(block) };
	size_t sent = 0;
	ssize_t n;

	while ((n = tcp_link.send(conn->line, &iov, 1)) > 0)
		sent += (size_t)n;
	cr_assert_eq(n, -EAGAIN);
	return sent;
}

static size_t drain(struct conn *conn, size_t bytes)
{
	size_t got = 0;

	while (got < bytes) {
		await(tcp_data_fd(tcp));
		tcp_link.poll(tcp);
		got += atomic_exchange(&conn->got, 0);
		cr_assert(!conn->eof || got == bytes, "%zu of %zu", got, bytes);
	}
	return got;
}

Test(tcp, full_stream_tells_once_when_it_takes_more)
{
	struct conn *one, *two;
	size_t sent;

	pair(&one, &two);
	sent = fill(one);
	tcp_link.want_write(one->line);
	tcp_link.want_write(one->line);
	cr_assert_eq(drain(two, sent), sent);
	while (!one->writables) {
		await(tcp_data_fd(tcp));
		tcp_link.poll(tcp);
	}
	tcp_link.poll(tcp);
	tcp_link.poll(tcp);
	cr_assert_eq(one->writables, 1);
	cr_assert_eq(tcp->wanting, 0, "back to polling without epoll");
	send_text(one, "more");
	expect_text(two, "more");
}

/* Nobody is told of what a line has that is not heard, not even that there is something; but that it broke. */
Test(tcp, what_is_not_heard_waits)
{
	struct conn *one, *two;

	pair(&one, &two);
	tcp_link.hear(two->line, false);
	send_text(one, "later");
	tcp_link.want_write(two->line);	/* with epoll, too */
	while (!two->writables) {
		await(tcp_data_fd(tcp));
		tcp_link.poll(tcp);
	}
	tcp_link.poll(tcp);
	cr_assert_eq(two->got, 0);
	cr_assert_not(tcp_readable(tcp));
	tcp_link.hear(two->line, true);
	expect_text(two, "later");
	tcp_link.hear(two->line, false);
	shutdown(two->line->fd, SHUT_RDWR);
	tcp_link.want_write(two->line);
	while (!two->error) {
		await(tcp_data_fd(tcp));
		tcp_link.poll(tcp);
	}
	cr_assert_eq(two->error, ECONNRESET);
}

/* Two pages, the second not accessible. */
static char *half_page_pair(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_eq(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	return pages;
}

Test(tcp, source_that_faults_is_sent_up_to_the_fault)
{
	struct conn *one, *two;
	char *pages = half_page_pair();
	char head[4] = "head";
	struct iovec iov[2] = { { head, 4 }, { pages + 4000, 200 } };

	memset(pages, 'p', 4096);
	pair(&one, &two);
	cr_assert_eq(tcp_link.send(one->line, iov, 2), 4, "the head is good");
	cr_assert_eq(tcp_link.send(one->line, iov + 1, 1), 96, "to the end of the good page");
	iov[1] = (struct iovec){ pages + 4096, 104 };
	cr_assert_eq(tcp_link.send(one->line, iov + 1, 1), -EFAULT);
	cr_assert_eq(drain(two, 100), 100);
}

Test(tcp, place_that_faults_consumes_nothing)
{
	struct conn *one, *two;
	char *pages = half_page_pair();
	struct iovec bad = { pages + 4096, 5 }, half = { pages + 4094, 5 }, good = { pages, 3 };

	pair(&one, &two);
	send_text(one, "12345");
	await(tcp_data_fd(tcp));
	cr_assert_eq(tcp_link.recv(two->line, &bad, 1), -EFAULT);
	cr_assert_eq(tcp_link.recv(two->line, &half, 1), 2, "what the good page takes");
	cr_assert_eq(tcp_link.recv(two->line, &bad, 1), -EFAULT);
	cr_assert_eq(tcp_link.recv(two->line, &good, 1), 3);
	cr_assert_eq(memcmp(pages, "345", 3), 0);
	cr_assert_eq(tcp_link.recv(two->line, &good, 1), -EAGAIN);
}

enum { MANY = 40 };

Test(tcp, many_lines_each_get_their_own)
{
	struct conn *one[MANY], *two[MANY];

	for (int i = 0; i < MANY; i++)
		pair(&one[i], &two[i]);
	for (int i = 0; i < MANY; i += 2)
		send_text(one[i], "even");
	for (int i = 0; i < MANY; i += 2)
		expect_text(two[i], "even");
	for (int i = 1; i < MANY; i += 2)
		cr_assert_eq(two[i]->readables, two[1]->readables, "only the first few lines are asked in vain");
	cr_assert_eq(tcp_link.poll(tcp), 0);
}

static void close_in_event(int pairs, int closes)
{
	struct conn *one[MANY], *two[MANY];

	for (int i = 0; i < pairs; i++)
		pair(&one[i], &two[i]);
	two[0]->closes = &two[closes]->line;
	for (int i = 0; i < pairs; i++)
		send_text(one[i], "text");
	for (int i = 1; i < pairs; i++)
		if (i != closes)
			expect_text(two[i], "text");
	while (two[closes]->line) {
		await(tcp_data_fd(tcp));
		tcp_link.poll(tcp);
	}
	tcp_link.poll(tcp);
}

Test(tcp, event_may_close_its_own_line)
{
	close_in_event(1, 0);
	close_in_event(20, 0);
}

Test(tcp, event_may_close_another_line)
{
	struct conn *one, *two;

	pair(&one, &two);
	two->closes = &one->line;
	send_text(one, "text");
	expect_text(two, "text");
	cr_assert_null(one->line);
	close_in_event(20, 19);
}

/* Closing a socket with unread bytes resets it, and what was sent and is still on the way would be lost. */
Test(tcp, what_was_sent_arrives_after_close)
{
	struct conn *one, *two;
	size_t sent;

	pair(&one, &two);
	one->deaf = true;
	send_text(two, "not read");
	sent = fill(one);
	tcp_link.close(one->line);
	cr_assert_eq(kicks, 1, "somebody must see to the rest");
	cr_assert(tcp_linger(tcp));
	send_text(two, "nor this");
	cr_assert_eq(drain(two, sent), sent);
	while (!two->eof) {
		await(tcp_data_fd(tcp));
		tcp_link.poll(tcp);
	}
	cr_assert_eq(two->error, 0, "an orderly end");
	while (tcp_linger(tcp))
		usleep(1000);
}

/* What lingers, too: the parent's end of it must be an end. */
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
	cr_assert(tcp_linger(tcp));
	cr_assert(!fork_open());
	fork_watch(tcp_linger_fd(tcp));
	child = fork();
	if (child == 0)
		_exit(fcntl(fd, F_GETFD) < 0 ? 0 : 1);
	cr_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_assert(fcntl(fd, F_GETFD) >= 0);
	cr_assert_eq(drain(two, sent), sent);
	while (tcp_linger(tcp))
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

Test(tcp, random_bytes_differ)
{
	unsigned char a[300] = { 0 }, b[300] = { 0 };

	tcp_link.random(tcp, a, sizeof(a));
	tcp_link.random(tcp, b, sizeof(b));
	cr_assert_neq(memcmp(a, b, sizeof(a)), 0);
	cr_assert_neq(memcmp(a + 284, (char[16]){ 0 }, 16), 0, "to the last");
}
