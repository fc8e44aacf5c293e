/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_side.c - a program of TCP sockets, for librspreload: tcp_side -p PORT [ADDRESS]. Without an address it listens, and sends
 * back what comes; with one it connects, sends, and compares what comes back. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTES = 2 * 1024 * 1024 + 3, PART = 40009 };

static void need(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void serve(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1, peer;
	static uint8_t bytes[PART];
	ssize_t n;

	need(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), "setsockopt");
	need(!bind(fd, (const struct sockaddr *)at, sizeof(*at)), "bind");
	need(!listen(fd, 1), "listen");
	peer = accept(fd, NULL, NULL);
	need(peer >= 0, "accept");
	while ((n = read(peer, bytes, sizeof(bytes))) > 0)
		for (ssize_t done = 0, part; done < n; done += part) {
			part = write(peer, bytes + done, (size_t)(n - done));
			need(part > 0, "write");
		}
	need(n == 0, "read");
	close(peer);
	close(fd);
}

static size_t send_some(int fd, size_t sent)
{
	static uint8_t bytes[PART];
	size_t length = BYTES - sent < PART ? BYTES - sent : PART;
	ssize_t n;

	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)((sent + i) * 31 / 17);
	n = send(fd, bytes, length, 0);
	need(n > 0 || errno == EAGAIN, "send");
	sent += n > 0 ? (size_t)n : 0;
	if (sent == BYTES)
		need(!shutdown(fd, SHUT_WR), "shutdown");
	return sent;
}

static void ask(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct pollfd on = { .fd = fd };
	static uint8_t bytes[PART];
	size_t sent = 0, got = 0;
	ssize_t n = 1;

	need(!connect(fd, (const struct sockaddr *)at, sizeof(*at)), "connect");
	need(!fcntl(fd, F_SETFL, O_NONBLOCK), "fcntl");
	while (n) {
		on.events = (short)(POLLIN | (sent < BYTES ? POLLOUT : 0));
		need(poll(&on, 1, 30000) == 1, "poll");
		if (on.revents & POLLOUT && sent < BYTES)
			sent = send_some(fd, sent);
		n = recv(fd, bytes, sizeof(bytes), 0);
		need(n >= 0 || errno == EAGAIN, "recv");
		for (ssize_t i = 0; i < n; i++)
			if (bytes[i] != (uint8_t)((got + (size_t)i) * 31 / 17)) {
				fprintf(stderr, "byte %zu is wrong\n", got + (size_t)i);
				exit(1);
			}
		got += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	if (got == BYTES)
		return;
	fprintf(stderr, "%zu bytes of %d came back\n", got, BYTES);
	exit(1);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	if (argc < 3 || strcmp(argv[1], "-p"))
		return 2;
	at.sin_port = htons((uint16_t)atoi(argv[2]));
	if (argc == 3) {
		serve(&at);
		return 0;
	}
	if (inet_pton(AF_INET, argv[3], &at.sin_addr) != 1)
		return 2;
	ask(&at);
	return 0;
}
