/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_channel.c - messages of the control channel: a head with a magic number, the kind and the size, and then the body. */
#include "tools/perf/perf_channel.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAGIC = 0x70756d65, BODY_MAX = 1024 };

struct head {
	uint32_t magic, kind, size;
};

static bool send_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size > 0) {
		ssize_t n = send(fd, at, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

bool channel_send(struct perf_channel *c, enum perf_kind kind, const void *body, size_t size)
{
	struct {
		struct head head;
		char body[BODY_MAX];
	} message = { .head = { MAGIC, kind, (uint32_t)size } };
	bool sent;

	if (size)
		memcpy(message.body, body, size);
	pthread_mutex_lock(&c->sending);
	sent = send_all(c->fd, &message, sizeof(message.head) + size);
	pthread_mutex_unlock(&c->sending);
	return sent;
}

/* 1, 0 if the other side is gone, -1 if nothing came in time. */
static int receive_all(struct perf_channel *c, void *bytes, size_t size)
{
	uint64_t deadline = now_ns() + c->timeout_ns;
	char *at = bytes;

	while (size > 0) {
		struct pollfd wait = { .fd = c->fd, .events = POLLIN };
		uint64_t now = now_ns();
		ssize_t n;

		if (now >= deadline)
			return -1;
		if (poll(&wait, 1, (int)((deadline - now) / MSEC) + 1) <= 0)
			continue;
		n = recv(c->fd, at, size, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		at += n;
		size -= (size_t)n;
	}
	return 1;
}

/* As receive_all(); sets the kind, and zeroes the part of the body that did not come. */
static int receive(struct perf_channel *c, uint32_t *kind, void *body, size_t size)
{
	struct head head;
	int rc = receive_all(c, &head, sizeof(head));

	if (rc != 1)
		return rc;
	if (head.magic != MAGIC || head.size > size)
		perf_die("what came over the control channel is not a message of emu_perf's");
	memset(body, 0, size);
	*kind = head.kind;
	return head.size ? receive_all(c, body, head.size) : 1;
}

void channel_gone(struct perf_channel *c, const char *when)
{
	const struct timespec pause = { .tv_nsec = 10 * (long)MSEC };
	int status = 0;

	/* The channel closes a moment before the process can be waited for. */
	for (int i = 0; c->child && i < 100; i++) {
		pid_t pid = waitpid(c->child, &status, WNOHANG);

		if (pid == c->child && WIFSIGNALED(status))
			perf_die("the other process was killed by signal %d (%s) %s", WTERMSIG(status), strsignal(WTERMSIG(status)),
				 when);
		if (pid == c->child)
			perf_die("the other process ended with status %d %s", WEXITSTATUS(status), when);
		nanosleep(&pause, NULL);
	}
	perf_die("the other side closed the connection %s", when);
}

void channel_expect(struct perf_channel *c, enum perf_kind kind, void *body, size_t size, const char *what)
{
	char when[160];
	uint32_t came = 0;
	int rc = receive(c, &came, body, size);

	snprintf(when, sizeof(when), "while this one waited for %s", what);
	if (rc == 0)
		channel_gone(c, when);
	if (rc < 0)
		perf_die("waited %.3g s in vain for %s", (double)c->timeout_ns / 1e9, what);
	if (came != kind)
		perf_die("another message than %s came from the other side", what);
}

enum perf_kind channel_next(struct perf_channel *c, void *body, size_t size)
{
	uint32_t kind = 0;
	int rc = receive(c, &kind, body, size);

	if (rc < 0)
		perf_die("waited %.3g s in vain for a message of the other side", (double)c->timeout_ns / 1e9);
	return rc == 1 ? kind : 0;
}
