/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_connect.c - how the two sides meet. Each says a line of fixed length first: its name, the version of the control
 * channel, its own version. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/perf/perf_channel.h"

enum { HELLO_SIZE = 64, CHANNEL_VERSION = 1 };

static void channel_init(struct perf_channel *c, int fd, const struct perf_options *o)
{
	*c = (struct perf_channel){ .fd = fd, .timeout_ns = o->timeout_ns };
	pthread_mutex_init(&c->sending, NULL);
}

/* All of it in time, or false. */
static bool read_hello(struct perf_channel *c, char *text)
{
	uint64_t deadline = now_ns() + c->timeout_ns;
	size_t size = 0;

	while (size < HELLO_SIZE && now_ns() < deadline) {
		struct pollfd wait = { .fd = c->fd, .events = POLLIN };
		ssize_t n;

		if (poll(&wait, 1, (int)((deadline - now_ns()) / MSEC) + 1) <= 0)
			continue;
		n = recv(c->fd, text + size, HELLO_SIZE - size, 0);
		if (n <= 0 && errno != EINTR)
			return false;
		size += n > 0 ? (size_t)n : 0;
	}
	text[HELLO_SIZE] = '\0';
	return size == HELLO_SIZE;
}

/* False: the other side does not speak as this program does. Another version of it ends both. */
static bool hello_exchange(struct perf_channel *c, const char *name)
{
	char own[HELLO_SIZE] = "", theirs[HELLO_SIZE + 1], version[32] = "?";
	unsigned channel;

	snprintf(own, sizeof(own), "emu_perf %d %s", CHANNEL_VERSION, EMU_VERSION);
	if (send(c->fd, own, sizeof(own), MSG_NOSIGNAL) != sizeof(own) || !read_hello(c, theirs))
		return false;
	if (sscanf(theirs, "emu_perf %u %31[0-9a-z.]", &channel, version) < 1)
		return false;
	if (channel != CHANNEL_VERSION || strcmp(version, EMU_VERSION) != 0)
		perf_die("%s has emu_perf %s (channel %u), and this is %s (channel %d): both sides must be the same", name, version,
			 channel, EMU_VERSION, CHANNEL_VERSION);
	return true;
}

void channel_spawn(struct perf_channel *c, const struct perf_options *o)
{
	pid_t parent = getpid();
	char fd[16], timeout[32];
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		perf_die("socketpair: %s", strerror(errno));
	channel_init(c, ends[0], o);
	c->child = fork();
	if (c->child < 0)
		perf_die("fork: %s", strerror(errno));
	if (c->child == 0) {
		snprintf(fd, sizeof(fd), "%d", ends[1]);
		snprintf(timeout, sizeof(timeout), "%.9g", (double)o->timeout_ns / 1e9);
		if (fcntl(ends[1], F_SETFD, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
			_exit(2);
		execl("/proc/self/exe", "emu_perf", "--served-by", fd, "--timeout", timeout, (char *)NULL);
		_exit(2);
	}
	close(ends[1]);
	if (!hello_exchange(c, "the other process"))
		channel_gone(c, "before it had said anything");
}

void channel_inherit(struct perf_channel *c, const struct perf_options *o)
{
	channel_init(c, o->served_by, o);
	if (!hello_exchange(c, "the process that started this one"))
		perf_die("--served-by is for emu_perf's own use");
}

/* A machine that vanishes is noticed in the end. */
static void tune(int fd)
{
	int on = 1, idle = 5;
	unsigned limit = 20000;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof(idle));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit));
}

/* 0, or an errno. */
static int connect_in_time(int fd, const struct addrinfo *to, uint64_t timeout_ns)
{
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int flags = fcntl(fd, F_GETFL), rc = 0;

	(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	if (connect(fd, to->ai_addr, to->ai_addrlen) && errno != EINPROGRESS)
		return errno;
	if (poll(&wait, 1, (int)(timeout_ns / MSEC)) != 1)
		return ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &rc, &size) || rc)
		return rc ? rc : errno;
	(void)fcntl(fd, F_SETFL, flags);
	return 0;
}

void channel_connect(struct perf_channel *c, const struct perf_options *o)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found, *at;
	int rc = getaddrinfo(o->host, o->port, &hints, &found), fd = -1;

	if (rc)
		perf_die("%s: %s", o->host, gai_strerror(rc));
	rc = EADDRNOTAVAIL;
	for (at = found; at && rc; at = at->ai_next) {
		fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		rc = fd < 0 ? errno : connect_in_time(fd, at, o->timeout_ns);
		if (rc && fd >= 0)
			close(fd);
	}
	freeaddrinfo(found);
	if (rc)
		perf_die("%s port %s: %s: is `emu_perf --listen' running there?", o->host, o->port, strerror(rc));
	tune(fd);
	channel_init(c, fd, o);
	if (!hello_exchange(c, o->host))
		perf_die("%s port %s does not answer as emu_perf does", o->host, o->port);
}

static int listener(const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE, .ai_family = AF_INET6 }, *found;
	int fd, on = 1, off = 0, rc = getaddrinfo(NULL, port, &hints, &found);

	if (rc)
		perf_die("port %s: %s", port, gai_strerror(rc));
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0) { /* no IPv6 here */
		struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };

		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		rc = bind(fd, (struct sockaddr *)&any, sizeof(any));
	} else {
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		rc = bind(fd, found->ai_addr, found->ai_addrlen);
	}
	freeaddrinfo(found);
	if (rc || listen(fd, 8))
		perf_die("cannot listen on port %s: %s", port, strerror(errno));
	return fd;
}

void channel_listen(struct perf_channel *c, const struct perf_options *o)
{
	int at = listener(o->port);

	printf("emu_perf: listening on port %s\n", o->port);
	fflush(stdout);
	for (;;) {
		int fd = accept4(at, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		tune(fd);
		channel_init(c, fd, o);
		if (hello_exchange(c, "the other side"))
			break;
		fputs("emu_perf: a stranger called, and was turned away\n", stderr);
		close(fd);
	}
	close(at);
}

void channel_own_address(const struct perf_channel *c, char *out, size_t size)
{
	struct sockaddr_storage own;
	socklen_t length = sizeof(own);

	snprintf(out, size, "127.0.0.1");
	if (getsockname(c->fd, (struct sockaddr *)&own, &length))
		return;
	if (own.ss_family == AF_INET6) {
		const struct in6_addr *in6 = &((struct sockaddr_in6 *)&own)->sin6_addr;

		if (IN6_IS_ADDR_V4MAPPED(in6))
			inet_ntop(AF_INET, in6->s6_addr + 12, out, (socklen_t)size);
		else
			inet_ntop(AF_INET6, in6, out, (socklen_t)size);
	} else if (own.ss_family == AF_INET) {
		inet_ntop(AF_INET, &((struct sockaddr_in *)&own)->sin_addr, out, (socklen_t)size);
	}
}
