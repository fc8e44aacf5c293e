/* SPDX-License-Identifier: BSD-2-Clause */
/* pairs.c - opens the link, dials, sends and waits. */
#include "pairs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include <criterion/criterion.h>

#include "emu/nic/memory/guard.h"

struct tcp *tcp;
struct ep ep;
struct sockaddr_storage at;
void *listener;
int log_lines, kicks;

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

void listen_at(const char *address)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&at;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&at;

	at.ss_family = strchr(address, ':') ? AF_INET6 : AF_INET;
	inet_pton(at.ss_family, address, at.ss_family == AF_INET6 ? (void *)&in6->sin6_addr : (void *)&in->sin_addr);
	cr_assert_eq(tcp_link.listen(tcp, &at, &ep, &listener), 0);
	cr_assert_neq(in->sin_port, 0, "the name is known at once");
}

void open_at(const char *address)
{
	struct tcp_config config = { .log = log_line, .kick = kick, .local = local };

	cr_assert_eq(tcp_open(&tcp, &config), 0);
	listen_at(address);
}

void open_link(void)
{
	cr_assert_eq(guard_install(), 0); /* as the driver does: not every container lets the kernel copy */
	open_at("127.0.0.1");
}

void close_link(void)
{
	tcp_close(tcp);
}

struct conn *dial(void)
{
	struct conn *conn = conn_make(&tcp_link);

	cr_assert_eq(tcp_link.dial(tcp, &at, conn, &conn->line), 0);
	cr_assert_eq(conn->ups + conn->downs, 0, "never from inside dial()");
	return conn;
}

void await(int set)
{
	struct pollfd fd = { .fd = set, .events = POLLIN };

	cr_assert_eq(poll(&fd, 1, 30000), 1, "nothing came");
}

void next_events(void)
{
	await(tcp_data_fd(tcp));
	tcp_link.poll(tcp);
}

void finish(const struct conn *conn)
{
	while (conn->ups + conn->downs == 0) {
		await(tcp_dial_fd(tcp));
		tcp_link.poll(tcp);
	}
}

void pair(struct conn **one, struct conn **two)
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

void pair_with_shm(struct conn **one, struct conn **two)
{
	pair(one, two);
	send_text(*one, "greeting");
	expect_text(*two, "greeting");
	send_text(*two, "answer");
	expect_text(*one, "answer");
	cr_assert(shm_shared(&(*one)->line->shm) && shm_shared(&(*two)->line->shm));
	tcp_link.set_polling(tcp, true);
	for (int i = 0; i < MOST_POLLS; i++)
		tcp_link.poll(tcp);
}

bool is_unix(const struct line *line)
{
	socklen_t length = sizeof(int);
	int domain;

	cr_assert_eq(getsockopt(line->fd, SOL_SOCKET, SO_DOMAIN, &domain, &length), 0);
	return domain == AF_UNIX;
}

void send_text(struct conn *conn, const char *text)
{
	struct iovec iov[2] = { { (void *)text, 1 }, { (void *)(text + 1), strlen(text) - 1 } };

	cr_assert_eq(tcp_link.send(conn->line, iov, 2), (ssize_t)strlen(text));
}

void expect_text(struct conn *conn, const char *text)
{
	while (atomic_load(&conn->got) < strlen(text))
		next_events();
	cr_assert_eq(atomic_load(&conn->got), strlen(text));
	cr_assert_eq(memcmp(conn->bytes, text, strlen(text)), 0);
	atomic_store(&conn->got, 0);
}

size_t fill(struct conn *conn)
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

size_t close_full(struct conn *one, struct conn *two)
{
	size_t sent;

	one->deaf = true;
	send_text(two, "not read");
	sent = fill(one);
	tcp_link.close(one->line);
	return sent;
}

size_t drain(struct conn *conn, size_t bytes)
{
	size_t got = 0;

	while (got < bytes) {
		next_events();
		got += atomic_exchange(&conn->got, 0);
		cr_assert(!conn->eof || got == bytes, "%zu of %zu", got, bytes);
	}
	return got;
}

void expect_end(struct conn *conn)
{
	while (!conn->eof)
		next_events();
	cr_assert_eq(atomic_load(&conn->got), 0);
}
