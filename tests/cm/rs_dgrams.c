/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_dgrams.c - rsockets for datagrams: messages with their addresses, by UDP and by queue pairs; and peers that lie. The bytes are
 * in emu/cm/rsocket/README.md. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/cm/rs_pair.h"

enum { HEAD = 20, BY_QP_MOST = 1024 - HEAD, MOST = 65507 - HEAD, MESSAGE = 1, ASK, HERE };

#define FAILS(call, error) cr_assert((call) == -1 && errno == (error), #call ": errno %d", errno)

static uint8_t out[MOST + 1], in[MOST + 1];

static void name_of(int fd, struct sockaddr_in *at)
{
	socklen_t length = sizeof(*at);

	cr_assert_eq(rgetsockname(fd, (struct sockaddr *)at, &length), 0);
	cr_assert(length == sizeof(*at) && at->sin_family == AF_INET);
}

/* One that is bound to loopback, at any port if that is 0. */
static int bound(struct sockaddr_in *at, in_port_t port)
{
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);

	cr_assert_geq(fd, 0, "errno %d", errno);
	*at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	cr_assert_eq(rbind(fd, (struct sockaddr *)at, sizeof(*at)), 0, "errno %d", errno);
	name_of(fd, at);
	cr_assert(at->sin_port);
	return fd;
}

static void send_to(int fd, const struct sockaddr_in *to, size_t length)
{
	for (size_t i = 0; i < length; i++)
		out[i] = rs_byte(i + length);
	cr_assert_eq(rsendto(fd, out, length, 0, (const struct sockaddr *)to, sizeof(*to)), (ssize_t)length, "errno %d", errno);
}

/* The next message has that length and that sender. */
static void expect_from(int fd, const struct sockaddr_in *from, size_t length)
{
	struct sockaddr_in is = { 0 };
	socklen_t is_length = sizeof(is);

	cr_assert_eq(rs_poll_for(fd, POLLIN), POLLIN);
	cr_assert_eq(rrecvfrom(fd, in, sizeof(in), 0, (struct sockaddr *)&is, &is_length), (ssize_t)length, "errno %d", errno);
	for (size_t i = 0; i < length; i++)
		if (in[i] != rs_byte(i + length))
			cr_assert_fail("byte %zu is wrong", i);
	cr_assert(is_length == sizeof(is) && is.sin_family == AF_INET);
	cr_assert(is.sin_port == from->sin_port && is.sin_addr.s_addr == from->sin_addr.s_addr, "port %u", ntohs(is.sin_port));
}

Test(cm_dgram, messages_of_each_length_arrive_with_their_senders)
{
	static const size_t lengths[] = { 0, 1, 64, BY_QP_MOST - 1, BY_QP_MOST, BY_QP_MOST + 1, 9000, MOST };
	struct sockaddr_in at_a, at_b;
	int a = bound(&at_a, 0), b = bound(&at_b, 0);

	for (int round = 0; round < 20; round++) /* the first ones go by UDP */
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			send_to(a, &at_b, lengths[i]);
			expect_from(b, &at_a, lengths[i]);
			send_to(b, &at_a, lengths[i]);
			expect_from(a, &at_b, lengths[i]);
		}
	FAILS(rsendto(a, out, MOST + 1, 0, (struct sockaddr *)&at_b, sizeof(at_b)), EMSGSIZE);
	cr_assert(!rclose(a) && !rclose(b));
}

static void *receive_one(void *fd)
{
	cr_assert_eq(rrecv(*(int *)fd, in, sizeof(in), 0), 5);
	return NULL;
}

Test(cm_dgram, a_receiver_sleeps_until_one_comes)
{
	struct sockaddr_in at, from;
	int fd = bound(&at, 0), sends = bound(&from, 0);
	pthread_t thread;

	for (int i = 0; i < 20; i++) {
		cr_assert_eq(pthread_create(&thread, NULL, receive_one, &fd), 0);
		send_to(sends, &at, 5);
		cr_assert_eq(pthread_join(thread, NULL), 0);
	}
	cr_assert(!rclose(fd) && !rclose(sends));
}

Test(cm_dgram, a_connected_one_has_one_peer)
{
	struct sockaddr_in at, asks_at, other_at, is;
	int fd = bound(&at, 0), other = bound(&other_at, 0), asks = rsocket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
	socklen_t length = sizeof(is);
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	FAILS(rsend(asks, out, 1, 0), EDESTADDRREQ);
	FAILS(rgetpeername(asks, (struct sockaddr *)&is, &length), ENOTCONN);
	FAILS(rshutdown(asks, SHUT_WR), ENOTCONN);
	cr_assert_eq(rconnect(asks, (struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(rgetpeername(asks, (struct sockaddr *)&is, &length), 0);
	cr_assert_eq(is.sin_port, at.sin_port);
	name_of(asks, &asks_at);
	for (int i = 0; i < 20; i++) {
		for (size_t k = 0; k < 100; k++)
			out[k] = rs_byte(k + 100);
		cr_assert_eq(rwrite(asks, out, 100), 100);
		expect_from(fd, &asks_at, 100);
		send_to(other, &asks_at, 7); /* not heard */
		send_to(fd, &asks_at, 100 + (size_t)i);
		expect_from(asks, &at, 100 + (size_t)i);
	}
	cr_assert_eq(rconnect(asks, &none, sizeof(none)), 0);
	FAILS(rsend(asks, out, 1, 0), EDESTADDRREQ);
	cr_assert(!rclose(fd) && !rclose(other) && !rclose(asks));
}

Test(cm_dgram, nobody_has_the_port_of_the_peer)
{
	struct sockaddr_in at;
	int fd = bound(&at, 0), asks = rsocket(AF_INET, SOCK_DGRAM, 0);

	cr_assert_eq(rclose(fd), 0);
	cr_assert_eq(rconnect(asks, (struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(rsend(asks, out, 1, 0), 1);
	FAILS(rrecv(asks, in, 1, 0), ECONNREFUSED);
	FAILS(rrecv(asks, in, 1, MSG_DONTWAIT), EAGAIN);
	cr_assert_eq(rclose(asks), 0);
}

Test(cm_dgram, a_message_that_is_cut_and_one_that_is_looked_at)
{
	struct sockaddr_in at, from;
	int fd = bound(&at, 0), sends = bound(&from, 0);
	struct iovec iov[] = { { in, 3 }, { in + 3, 4 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	send_to(sends, &at, 10);
	cr_assert_eq(rs_poll_for(fd, POLLIN), POLLIN);
	cr_assert_eq(rrecv(fd, in, 4, MSG_PEEK), 4);
	cr_assert_eq(rrecvmsg(fd, &msg, 0), 7);
	cr_assert_eq(msg.msg_flags, MSG_TRUNC);
	cr_assert(!memcmp(in, out, 7), "the rest is lost");
	FAILS(rrecv(fd, in, 1, MSG_DONTWAIT), EAGAIN);
	cr_assert(!rclose(fd) && !rclose(sends));
}

Test(cm_dgram, calls_and_options_of_streams_are_refused)
{
	struct sockaddr_in at;
	struct sockaddr_in6 at6 = { .sin6_family = AF_INET6 };
	int fd = bound(&at, 0), value = 1;
	struct pollfd poll = { .fd = fd, .events = POLLIN | POLLOUT };
	socklen_t length = sizeof(value);

	FAILS(rlisten(fd, 1), EOPNOTSUPP);
	FAILS(raccept(fd, NULL, NULL), EINVAL);
	FAILS(rsocket(AF_INET, SOCK_DGRAM, IPPROTO_TCP), EPROTONOSUPPORT);
	FAILS(rsocket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), EOPNOTSUPP);
	FAILS(rconnect(fd, (struct sockaddr *)&at6, sizeof(at6)), EAFNOSUPPORT);
	FAILS(rsendto(fd, out, 1, 0, (struct sockaddr *)&at6, sizeof(at6)), EAFNOSUPPORT);
	FAILS(rsendto(fd, out, 1, 0, (struct sockaddr *)&at, 4), EINVAL);
	FAILS(rsendto(fd, out, 1, MSG_OOB, (struct sockaddr *)&at, sizeof(at)), EOPNOTSUPP);
	FAILS(rsetsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &value, sizeof(value)), ENOPROTOOPT);
	FAILS(rgetsockopt(fd, SOL_RDMA, RDMA_ROUTE, &value, &length), ENOPROTOOPT);
	FAILS(riomap(fd, in, 10, PROT_WRITE, 0, -1), ENOTCONN);
	cr_assert(!rgetsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &length) && value == SOCK_DGRAM);
	cr_assert(!rgetsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &value, &length) && value == IPPROTO_UDP);
	cr_assert(rpoll(&poll, 1, 0) == 1 && poll.revents == POLLOUT);
	cr_assert_eq(rfcntl(fd, F_SETFL, O_NONBLOCK), 0);
	FAILS(rrecv(fd, in, 1, 0), EAGAIN);
	cr_assert_eq(rclose(fd), 0);
}

Test(cm_dgram, two_take_no_port_but_by_SO_REUSEADDR)
{
	struct sockaddr_in at;
	int fd = bound(&at, 0), other = rsocket(AF_INET, SOCK_DGRAM, 0);

	FAILS(rbind(other, (struct sockaddr *)&at, sizeof(at)), EADDRINUSE);
	cr_assert(!rclose(fd) && !rbind(other, (struct sockaddr *)&at, sizeof(at)) && !rclose(other));
}

Test(cm_dgram, what_finds_no_room_is_lost)
{
	struct sockaddr_in at, from;
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0), sends = bound(&from, 0), got = 0;

	rs_set(fd, SOL_SOCKET, SO_RCVBUF, 20000);
	at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	cr_assert_eq(rbind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	name_of(fd, &at);
	for (int i = 0; i < 2000; i++) {
		send_to(sends, &at, 1000);
		(void)rs_poll_for(fd, POLLIN);
	}
	while (rrecv(fd, in, sizeof(in), MSG_DONTWAIT) == 1000)
		got++;
	cr_assert(got > 0 && got <= 20, "%d", got);
	cr_assert(!rclose(fd) && !rclose(sends));
}

/* A socket of the kernel's, at all addresses of this host; `at` is one. */
static int plain_socket(struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t length = sizeof(*at);

	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	cr_assert(fd >= 0 && !bind(fd, (struct sockaddr *)at, sizeof(*at)));
	cr_assert_eq(getsockname(fd, (struct sockaddr *)at, &length), 0);
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return fd;
}

Test(cm_dgram, more_peers_than_are_remembered)
{
	enum { PEERS = 300 };
	struct sockaddr_in at, froms[4], other;
	int fd = bound(&at, 0), plain = plain_socket(&other), peers[4];

	for (int i = 0; i < 4; i++)
		peers[i] = bound(&froms[i], 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < PEERS; i++) {
			other.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)i); /* all of this host */
			send_to(fd, &other, 3);
		}
		for (int i = 0; i < 4; i++) {
			send_to(fd, &froms[i], 50);
			expect_from(peers[i], &at, 50);
			send_to(peers[i], &at, 60);
			expect_from(fd, &froms[i], 60);
		}
	}
	for (int i = 0; i < 4; i++)
		cr_assert_eq(rclose(peers[i]), 0);
	close(plain);
	cr_assert_eq(rclose(fd), 0);
}

/* Its messages find the new one, at the latest when the old one's queue pair is forgotten. */
Test(cm_dgram, another_takes_the_port_of_a_peer)
{
	struct sockaddr_in at, from;
	int fd = bound(&at, 0), sends = bound(&from, 0), came = 0;

	for (int i = 0; i < 20; i++) {
		send_to(sends, &at, 5);
		expect_from(fd, &from, 5);
	}
	cr_assert_eq(rclose(fd), 0);
	fd = bound(&at, at.sin_port);
	for (int i = 0; i < RS_GUARD_MS / 10 && !came; i++) {
		struct pollfd poll = { .fd = fd, .events = POLLIN };

		send_to(sends, &at, 5);
		came = rpoll(&poll, 1, 10);
	}
	cr_assert_eq(came, 1);
	expect_from(fd, &from, 5);
	cr_assert(!rclose(fd) && !rclose(sends));
}

Test(cm_dgram, by_IPv6_and_by_the_address_of_IPv4_in_it)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_addr = in6addr_any }, is = { 0 };
	struct sockaddr_in at, from;
	int fd = rsocket(AF_INET6, SOCK_DGRAM, 0), sends = bound(&from, 0);
	socklen_t length = sizeof(any);

	cr_assert_eq(rbind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	cr_assert_eq(rgetsockname(fd, (struct sockaddr *)&any, &length), 0);
	at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = any.sin6_port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	for (int i = 0; i < 20; i++) {
		send_to(sends, &at, 30);
		cr_assert_eq(rs_poll_for(fd, POLLIN), POLLIN);
		length = sizeof(is);
		cr_assert_eq(rrecvfrom(fd, in, sizeof(in), 0, (struct sockaddr *)&is, &length), 30);
		cr_assert(IN6_IS_ADDR_V4MAPPED(&is.sin6_addr) && is.sin6_port == from.sin_port);
		cr_assert_eq(rsendto(fd, out, 30, 0, (struct sockaddr *)&is, length), 30, "errno %d", errno);
		expect_from(sends, &at, 30);
	}
	cr_assert(!rclose(fd) && !rclose(sends));
}

/* --- peers that are sockets of the kernel's --- */

/* A head of that kind, with `rest` bytes behind it. */
static void say_plain(int fd, const struct sockaddr_in *to, uint8_t kind, uint32_t qpn, const uint8_t *token, size_t rest)
{
	uint8_t bytes[HEAD + 64] = "emrd\1";

	bytes[5] = kind;
	qpn = htonl(qpn);
	memcpy(bytes + 8, &qpn, sizeof(qpn));
	memcpy(bytes + 12, token, 8);
	for (size_t i = 0; i < rest; i++)
		bytes[HEAD + i] = rs_byte(i + rest);
	cr_assert_eq(sendto(fd, bytes, HEAD + rest, 0, (const struct sockaddr *)to, sizeof(*to)), (ssize_t)(HEAD + rest));
}

/* The next one of UDP is of that kind: how long it is. */
static ssize_t hear_plain(int fd, uint8_t kind, uint8_t *bytes, size_t room)
{
	struct pollfd poll_in = { .fd = fd, .events = POLLIN };
	ssize_t n;

	cr_assert_eq(poll(&poll_in, 1, RS_GUARD_MS), 1);
	n = recv(fd, bytes, room, 0);
	cr_assert(n >= HEAD && !memcmp(bytes, "emrd\1", 5) && bytes[5] == kind, "%zd bytes, kind %u", n, bytes[5]);
	return n;
}

Test(cm_dgram, words_that_are_none_are_not_heard)
{
	static const uint8_t token[8] = { 1, 2, 3 };
	struct sockaddr_in at, from;
	int fd = bound(&at, 0), plain = plain_socket(&from);

	cr_assert_eq(sendto(plain, "", 0, 0, (struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(sendto(plain, "emrd\1\1", 6, 0, (struct sockaddr *)&at, sizeof(at)), 6);
	cr_assert_eq(sendto(plain, "anything of more than twenty bytes", 34, 0, (struct sockaddr *)&at, sizeof(at)), 34);
	say_plain(plain, &at, 0, 0, token, 9);
	say_plain(plain, &at, HERE + 1, 0, token, 9);
	say_plain(plain, &at, HERE, 17, token, 9);
	say_plain(plain, &at, MESSAGE, 0, token, 9);
	expect_from(fd, &from, 9);
	FAILS(rrecv(fd, in, 1, MSG_DONTWAIT), EAGAIN);
	close(plain);
	cr_assert_eq(rclose(fd), 0);
}

Test(cm_dgram, a_question_is_answered)
{
	static const uint8_t token[8] = "a token!";
	struct sockaddr_in at, from;
	int fd = bound(&at, 0), plain = plain_socket(&from);
	struct pollfd poll_in = { .fd = fd, .events = POLLIN };
	uint8_t bytes[64];

	say_plain(plain, &at, ASK, 0, token, 0);
	cr_assert_eq(rpoll(&poll_in, 1, 0), 0, "it is no message");
	cr_assert_eq(hear_plain(plain, HERE, bytes, sizeof(bytes)), HEAD);
	cr_assert(!memcmp(bytes + 12, token, 8) && (bytes[9] | bytes[10] | bytes[11]) && !bytes[8]);
	close(plain);
	cr_assert_eq(rclose(fd), 0);
}

/* How many of `count` messages to it still come by UDP. */
static int count_by_udp(int fd, int plain, const struct sockaddr_in *to, int count)
{
	struct pollfd poll_in = { .fd = plain, .events = POLLIN };
	uint8_t bytes[64];
	int came = 0;

	for (int i = 0; i < count; i++)
		send_to(fd, to, 4);
	while (poll(&poll_in, 1, 0) == 1) {
		cr_assert_geq(recv(plain, bytes, sizeof(bytes), 0), HEAD);
		came += bytes[5] == MESSAGE;
	}
	return came;
}

Test(cm_dgram, an_answer_must_have_the_token_and_come_from_the_peer)
{
	struct sockaddr_in at, from, other_at;
	int fd = bound(&at, 0), plain = plain_socket(&from), other = plain_socket(&other_at);
	uint8_t bytes[64], token[8];
	int count = 10;

	send_to(fd, &from, 4);
	cr_assert_eq(hear_plain(plain, MESSAGE, bytes, sizeof(bytes)), HEAD + 4);
	cr_assert_eq(hear_plain(plain, ASK, bytes, sizeof(bytes)), HEAD);
	memcpy(token, bytes + 12, 8);
	token[0] ^= 1;
	say_plain(plain, &at, HERE, 17, token, 0);
	cr_assert_eq(count_by_udp(fd, plain, &from, 10), 10);
	token[0] ^= 1;
	say_plain(other, &at, HERE, 17, token, 0);
	cr_assert_eq(count_by_udp(fd, plain, &from, 10), 10);
	for (int i = 0; i < 100 && count; i++) { /* an answer holds for two seconds */
		say_plain(plain, &at, HERE, 17, token, 0);
		count = count_by_udp(fd, plain, &from, 10);
	}
	cr_assert_eq(count, 0, "they go to the queue pair");
	close(plain);
	close(other);
	cr_assert_eq(rclose(fd), 0);
}
