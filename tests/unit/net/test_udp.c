/* SPDX-License-Identifier: BSD-2-Clause */
/* test_udp.c - the link's ports for datagrams against a fake device, in one thread. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "emu/net/link/tcp_line.h"
#include "fake.h"

enum { PORTS = 5 };

static struct tcp *tcp;
static struct ep ep[PORTS];
static struct sockaddr_storage at[PORTS];

static bool full; /* no socket takes anything now */

/* In the place of libc's, of which it takes six arguments, whether there are as many or not: on one machine a UDP socket is
 * never full. */
__attribute__((no_sanitize_address)) long syscall(long number, ...)
{
	long (*libc)(long number, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long arg[6];
	va_list list;

	if (full && number == SYS_sendto) {
		errno = EAGAIN;
		return -1;
	}
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(list, long);
	va_end(list);
	return libc(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

static void open_port(int i, const char *address)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&at[i];
	struct sockaddr_in *in = (struct sockaddr_in *)&at[i];

	at[i].ss_family = strchr(address, ':') ? AF_INET6 : AF_INET;
	inet_pton(at[i].ss_family, address, at[i].ss_family == AF_INET6 ? (void *)&in6->sin6_addr : (void *)&in->sin_addr);
	ep[i].ops = &tcp_link;
	cr_assert_eq(tcp_link.bind(tcp, &at[i], false, &ep[i], &ep[i].port), 0);
	cr_assert_neq(in->sin_port, 0, "the name is known at once");
}

static void open_link(void)
{
	cr_assert_eq(tcp_open(&tcp, &(struct tcp_config){ 0 }), 0);
}

static void close_link(void)
{
	tcp_close(tcp);
}

TestSuite(udp, .init = open_link, .fini = close_link);

/* Polls whenever the data set has something, until the endpoint has taken so many. */
static void until_taken(const struct ep *one, int count)
{
	struct pollfd fd = { .fd = tcp_data_fd(tcp), .events = POLLIN };

	while (one->taken < count) {
		cr_assert_eq(poll(&fd, 1, 30000), 1, "nothing came");
		tcp_link.poll(tcp);
	}
	cr_assert_eq(one->taken, count);
}

Test(udp, what_is_sent_arrives_whole)
{
	open_port(0, "127.0.0.1");
	open_port(1, "127.0.0.1");
	cr_assert_eq(tcp_link.send_datagram(ep[0].port, &at[1], "to one", 6), 0);
	until_taken(&ep[1], 1);
	cr_assert(ep[1].length == 6 && !memcmp(ep[1].bytes, "to one", 6));
	cr_assert_eq(tcp_link.send_datagram(ep[1].port, &at[1], "", 0), 0);
	until_taken(&ep[1], 2);
	cr_assert_eq(ep[1].length, 0, "also nothing");
	cr_assert_eq(ep[0].taken, 0);
}

/* More ports than are asked one by one. */
Test(udp, many_ports)
{
	for (int i = 0; i < PORTS; i++)
		open_port(i, "127.0.0.1");
	for (int i = 0; i < PORTS; i++)
		cr_assert_eq(tcp_link.send_datagram(ep[i].port, &at[(i + 1) % PORTS], &i, sizeof(i)), 0);
	for (int i = 0; i < PORTS; i++) {
		until_taken(&ep[(i + 1) % PORTS], 1);
		cr_assert_eq(memcmp(ep[(i + 1) % PORTS].bytes, &i, sizeof(i)), 0);
	}
	tcp_link.unbind(ep[2].port);
	ep[2].port = NULL;
	cr_assert_eq(tcp_link.send_datagram(ep[1].port, &at[2], "lost", 4), 0, "nobody says so");
	cr_assert_eq(tcp_link.send_datagram(ep[1].port, &at[3], "more", 4), 0);
	until_taken(&ep[3], 2);
	cr_assert_eq(ep[2].taken, 1);
}

Test(udp, the_whole_length_is_told)
{
	char long_one[sizeof(ep[1].bytes) + 100] = { 1, 2, 3 };

	open_port(0, "127.0.0.1");
	open_port(1, "127.0.0.1");
	cr_assert_eq(tcp_link.send_datagram(ep[0].port, &at[1], long_one, sizeof(long_one)), 0);
	until_taken(&ep[1], 1);
	cr_assert_eq(ep[1].length, (ssize_t)sizeof(long_one));
}

Test(udp, ipv6)
{
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	struct sockaddr_in6 loopback = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	bool there = fd >= 0 && !bind(fd, (struct sockaddr *)&loopback, sizeof(loopback));

	if (fd >= 0)
		close(fd);
	if (!there)
		cr_skip_test("no IPv6 on this machine");
	open_port(0, "::1");
	open_port(1, "127.0.0.1");
	cr_assert_eq(tcp_link.send_datagram(ep[0].port, &at[0], "six", 3), 0);
	until_taken(&ep[0], 1);
	cr_assert_lt(tcp_link.send_datagram(ep[0].port, &at[1], "no way", 6), 0, "an error, and no more");
	cr_assert_eq(tcp_link.send_datagram(ep[0].port, &at[0], "six", 3), 0);
	until_taken(&ep[0], 2);
}

/* A name belongs to one socket: another that took it would take the datagrams. */
Test(udp, a_port_is_taken_once)
{
	struct port *second;

	open_port(0, "127.0.0.1");
	cr_assert_eq(tcp_link.bind(tcp, &at[0], false, &ep[1], &second), -EADDRINUSE);
}

Test(udp, errors_of_former_datagrams_stop_nothing)
{
	struct sockaddr_storage gone;

	open_port(0, "127.0.0.1");
	open_port(1, "127.0.0.1");
	gone = at[1];
	tcp_link.unbind(ep[1].port);
	ep[1].port = NULL;
	for (int i = 0; i < 20; i++) {
		cr_assert_eq(tcp_link.send_datagram(ep[0].port, &gone, "x", 1), 0);
		tcp_link.poll(tcp);
	}
	cr_assert_eq(tcp_link.send_datagram(ep[0].port, &at[0], "y", 1), 0);
	until_taken(&ep[0], 1);
}

/* Room is reported once, and only to an endpoint that has asked. */
Test(udp, a_full_port_says_when_it_is_not)
{
	open_port(0, "127.0.0.1");
	tcp_link.poll(tcp);
	cr_assert_eq(ep[0].writables, 0);
	full = true;
	cr_assert_eq(tcp_link.send_datagram(ep[0].port, &at[0], "x", 1), -EAGAIN);
	cr_assert_eq(tcp_link.send_datagram(ep[0].port, &at[0], "x", 1), -EAGAIN);
	full = false;
	tcp_link.poll(tcp);
	cr_assert_eq(ep[0].writables, 1);
	tcp_link.poll(tcp);
	cr_assert_eq(ep[0].writables, 1);
	cr_assert_eq(tcp_link.send_datagram(ep[0].port, &at[0], "x", 1), 0);
	until_taken(&ep[0], 1);
}
