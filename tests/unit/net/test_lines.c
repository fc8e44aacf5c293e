/* SPDX-License-Identifier: BSD-2-Clause */
/* test_lines.c - what holds for every stream of the link, whatever carries it: in the program of test_tcp.c by TCP, in that of
 * test_local.c by Unix sockets. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "pairs.h"

TestSuite(lines, .init = open_link, .fini = close_link);

Test(lines, echoes)
{
	struct conn *one, *two;

	pair(&one, &two);
	cr_assert(is_unix(one->line) == local && is_unix(two->line) == local);
	cr_assert_eq(tcp_link.poll(tcp), 0, "nothing is there yet");
	two->echo = true;
	send_text(one, "hello, echo");
	expect_text(one, "hello, echo");
}

Test(lines, speaks_ipv6)
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
	cr_assert_eq(is_unix(one->line), local);
	send_text(one, "six");
	expect_text(two, "six");
}

Test(lines, port_taken_is_refused)
{
	struct sockaddr_storage same = at;
	void *other = NULL;

	cr_assert_eq(tcp_link.listen(tcp, &same, &ep, &other), -EADDRINUSE);
	cr_assert_null(other);
}

Test(lines, refused_dial_is_told_later)
{
	struct conn *conn;

	tcp_link.unlisten(tcp, listener);
	conn = dial();
	finish(conn);
	cr_assert_eq(conn->downs, 1);
	cr_assert_eq(conn->error, ECONNREFUSED);
	tcp_link.close(conn->line);
}

Test(lines, no_event_after_close_in_a_dial)
{
	struct conn *gone, *one, *two;

	ep.accepts[0] = conn_make(&tcp_link);
	gone = dial();
	tcp_link.close(gone->line);
	pair(&one, &two);
	tcp_link.poll(tcp);
	cr_assert_eq(gone->ups + gone->downs + gone->readables + gone->writables, 0);
}

Test(lines, refused_peer_is_closed)
{
	struct conn *one;

	one = dial();
	finish(one);
	await(tcp_listen_fd(tcp));
	cr_assert(tcp_accept(tcp));
	cr_assert_eq(ep.refused, 1);
	while (!one->eof)
		next_events();
}

/* Byte by byte; what the send says that takes none. */
static ssize_t send_until_refused(struct conn *conn)
{
	char x = 0;
	struct iovec iov = { &x, 1 };
	ssize_t n;

	do
		n = tcp_link.send(conn->line, &iov, 1);
	while (n == 1);
	return n;
}

Test(lines, broken_pipe_is_an_error_and_no_signal)
{
	struct conn *one, *two;
	ssize_t n;

	pair(&one, &two);
	one->deaf = true;
	tcp_link.close(two->line);
	n = send_until_refused(one);
	cr_assert(n == -EPIPE || n == -ECONNRESET, "%zd", n);
}

/* The end of a process that is killed, which says no more than its socket does: its answers are there to be read. */
static void kill_line(const struct line *line)
{
	int other = socket(AF_INET, SOCK_DGRAM, 0);

	setsockopt(line->fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
	cr_assert(other >= 0 && dup2(other, line->fd) == line->fd);
	close(other);
}

Test(lines, last_words_are_read_before_a_send_finds_the_stream_broken)
{
	struct conn *one, *two;
	ssize_t n;

	pair(&one, &two);
	send_text(two, "last words");
	kill_line(two->line);
	n = send_until_refused(one);
	cr_assert_eq(n, -EAGAIN, "%zd", n);
	tcp_link.want_write(one->line);
	expect_text(one, "last words");
	cr_assert_eq(one->writables, 1);
	n = send_until_refused(one);
	cr_assert(n == -EPIPE || n == -ECONNRESET, "%zd", n);
	expect_end(one);
}

Test(lines, full_stream_tells_once_when_it_takes_more)
{
	struct conn *one, *two;
	size_t sent;

	pair(&one, &two);
	sent = fill(one);
	tcp_link.want_write(one->line);
	tcp_link.want_write(one->line);
	cr_assert_eq(drain(two, sent), sent);
	while (!one->writables)
		next_events();
	tcp_link.poll(tcp);
	tcp_link.poll(tcp);
	cr_assert_eq(one->writables, 1);
	cr_assert_eq(tcp->watched, 0, "back to polling without epoll");
	send_text(one, "more");
	expect_text(two, "more");
}

/* The device is not told of bytes on a line that it has paused, not even that there are any; but it is told that the line broke. */
Test(lines, say_how_much_is_digested_at_once)
{
	struct conn *one, *two;

	pair(&one, &two);
	cr_assert_eq(tcp_link.at_once(one->line), local ? LIMIT_DIGESTED_LOCAL : LIMIT_DIGESTED);
	cr_assert_eq(tcp_link.at_once(two->line), local ? LIMIT_DIGESTED_LOCAL : LIMIT_DIGESTED);
}

Test(lines, what_is_not_heard_waits)
{
	struct conn *one, *two;

	pair(&one, &two);
	tcp_link.set_readable(two->line, false);
	send_text(one, "later");
	tcp_link.want_write(two->line); /* with epoll, too */
	while (!two->writables)
		next_events();
	tcp_link.poll(tcp);
	cr_assert_eq(two->got, 0);
	cr_assert_not(tcp_readable(tcp));
	tcp_link.set_readable(two->line, true);
	cr_assert_eq(tcp->watched, 0);
	expect_text(two, "later");
	tcp_link.set_readable(two->line, false);
	shutdown(two->line->fd, SHUT_RDWR);
	tcp_link.want_write(two->line);
	while (!two->error)
		next_events();
	cr_assert_eq(two->error, ECONNRESET);
}

/* Otherwise the lines that are left would pay for epoll for ever. */
Test(lines, closed_lines_are_not_watched)
{
	struct conn *one, *two;

	pair(&one, &two);
	tcp_link.set_readable(one->line, false);
	tcp_link.want_write(two->line);
	cr_assert_eq(tcp->watched, 2);
	tcp_link.close(one->line);
	cr_assert_eq(tcp->watched, 1);
	tcp_link.close(two->line);
	cr_assert_eq(tcp->watched, 0);
}

/* Two pages, the second not accessible. */
static char *half_page_pair(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_eq(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	return pages;
}

Test(lines, source_that_faults_is_sent_up_to_the_fault)
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

Test(lines, place_that_faults_consumes_nothing)
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

Test(lines, many_lines_each_get_their_own)
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
	while (two[closes]->line)
		next_events();
	tcp_link.poll(tcp);
}

Test(lines, event_may_close_its_own_line)
{
	close_in_event(1, 0);
	close_in_event(20, 0);
}

Test(lines, event_may_close_another_line)
{
	struct conn *one, *two;

	pair(&one, &two);
	two->closes = &one->line;
	send_text(one, "text");
	expect_text(two, "text");
	cr_assert_null(one->line);
	close_in_event(20, 19);
}

/* Of the closing side and of the other: bytes that were sent are still delivered (link.h). */
Test(lines, unread_bytes_take_nothing_from_the_other_side)
{
	struct conn *one, *two;
	size_t sent;

	pair(&one, &two);
	sent = close_full(one, two);
	cr_assert_eq(drain(two, sent), sent);
	expect_end(two);
}
