/* SPDX-License-Identifier: BSD-2-Clause */
/* garbage.c - strangers on the listening port: the process and its real peers do not notice. */
#include <criterion/criterion.h>

#include "tests/rules/harness/harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SILENT = 64 };

static struct sockaddr_in target_sockaddr;

static void step_name(const void *arg, void *reply)
{
	(void)arg;
	peer_name(&target_peer, reply);
}

/* A stranger's connection to the port that fi_getname tells. */
static int connect_stranger(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0, "socket: %s", strerror(errno));
	CHECK(!connect(fd, (struct sockaddr *)&target_sockaddr, sizeof(target_sockaddr)), "connect: %s", strerror(errno));
	return fd;
}

/* Sends what the other end takes; that it hangs up in the middle is right. */
static void send_garbage(int fd, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		at += n;
		len -= (size_t)n;
	}
}

/* Until the other end has hung up. */
static void expect_hangup(int fd)
{
	struct timeval guard = { .tv_sec = CHECK_GUARD_MS / 1000 };
	uint8_t sink[4096];
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &guard, sizeof(guard));
	do
		n = recv(fd, sink, sizeof(sink), 0);
	while (n > 0);
	CHECK(n == 0 || errno == ECONNRESET, "the connection was not closed: %s", strerror(errno));
	close(fd);
}

static void with_port(void (*body)(struct pair *p, struct remote *r))
{
	static const struct peer_want plain = { 0 };
	uint8_t name[PEER_ADDR_MAX];
	struct pair p = { 0 };
	struct remote *r;

	target_start(&p.target);
	pair_open(&p, &plain, 0);
	target_do(&p.target, step_name, NULL, 0, name, sizeof(name));
	memcpy(&target_sockaddr, name, sizeof(target_sockaddr));
	CHECK(target_sockaddr.sin_family == AF_INET && target_sockaddr.sin_port, "fi_getname gives no IPv4 address");
	r = remote_reg(&p, PAGE, ALL_REMOTE);
	ok_write(&p, r, 0, PAGE);
	body(&p, r);
	ok_write(&p, r, 0, PAGE);
	ok_read(&p, r, 0, PAGE);
	live(&p);
	pair_close(&p);
	target_stop(&p.target);
}

static void random_bytes(struct pair *p, struct remote *r)
{
	uint8_t bytes[1 << 16];
	uint32_t seed;

	for (seed = 1; seed <= 20; seed++) {
		int fd = connect_stranger();

		pattern_fill(bytes, sizeof(bytes), seed);
		send_garbage(fd, bytes, sizeof(bytes));
		ok_write(p, r, seed, 64);
		expect_hangup(fd);
	}
}

Test(process, garbage_random_bytes)
{
	with_port(random_bytes);
}

static void http_request(struct pair *p, struct remote *r)
{
	static const char get[] = "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: stranger\r\nAccept: */*\r\n\r\n";
	int fd = connect_stranger();

	send_garbage(fd, get, sizeof(get) - 1);
	ok_write(p, r, 0, 64);
	expect_hangup(fd);
}

Test(process, garbage_http_request)
{
	with_port(http_request);
}

/* Zeros and ones are the absurd lengths of many a protocol. */
static void extreme_bytes(struct pair *p, struct remote *r)
{
	static uint8_t bytes[1 << 16];
	int value;

	for (value = 0; value <= 0xff; value += 0xff) {
		int fd = connect_stranger();

		memset(bytes, value, sizeof(bytes));
		send_garbage(fd, bytes, sizeof(bytes));
		ok_read(p, r, 0, PAGE);
		expect_hangup(fd);
	}
}

Test(process, garbage_all_zero_and_all_one)
{
	with_port(extreme_bytes);
}

static void say_nothing(struct pair *p, struct remote *r)
{
	int fds[SILENT], i;

	for (i = 0; i < SILENT; i++) {
		fds[i] = connect_stranger();
		ok_write(p, r, (uint64_t)i, 64);
	}
	for (i = 0; i < SILENT; i++)
		close(fds[i]);
}

Test(process, garbage_connections_that_say_nothing)
{
	with_port(say_nothing);
}

static void cut_short(struct pair *p, struct remote *r)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	uint8_t bytes[200];
	size_t len;

	pattern_fill(bytes, sizeof(bytes), 7);
	for (len = 0; len < sizeof(bytes); len += 5) {
		int fd = connect_stranger();

		send_garbage(fd, bytes, len);
		if (len % 2)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fd);
		ok_write(p, r, len, 64);
	}
}

Test(process, garbage_cut_short)
{
	with_port(cut_short);
}
