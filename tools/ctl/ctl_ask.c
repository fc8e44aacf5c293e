/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_ask.c - one request to one process, and the lines of its answer, within the timeout of each. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/ctl/emuctl.h"

enum { LINE_MAX_BYTES = 1 << 16 };

/* 0 or errno. */
static int ask_connect(const char *path, long timeout_ms, int *fd)
{
	struct timeval wait = { .tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000 };
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	memcpy(at.sun_path, path, strlen(path) + 1); /* find_all() has seen that it fits */
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return errno;
	(void)setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)); /* others may wait to be accepted */
	return connect(*fd, (struct sockaddr *)&at, sizeof(at)) ? errno : 0;
}

static bool is_ready(int fd, short events, long timeout_ms)
{
	struct pollfd set = { .fd = fd, .events = events };
	int ready;

	do
		ready = poll(&set, 1, (int)timeout_ms);
	while (ready < 0 && errno == EINTR);
	return ready > 0;
}

static bool ask_send(int fd, const char *request, long timeout_ms)
{
	for (size_t left = strlen(request); left;) {
		ssize_t sent = is_ready(fd, POLLOUT, timeout_ms) ? send(fd, request, left, MSG_NOSIGNAL | MSG_DONTWAIT) : -1;

		if (sent < 0)
			return false;
		request += sent;
		left -= (size_t)sent;
	}
	return true;
}

enum line_end { LINE_GO_ON, LINE_LAST, LINE_WRONG };

static enum line_end ask_line(const char *line, ask_take *take, void *arg, char *why, size_t size)
{
	cJSON *object = cJSON_Parse(line);
	const char *type = text_of(object, "type");
	enum line_end end = LINE_GO_ON;

	if (!object) {
		snprintf(why, size, "it answered what is no JSON");
		end = LINE_WRONG;
	} else if (!strcmp(type, "error")) {
		snprintf(why, size, "%s", text_of(object, "text"));
		end = LINE_WRONG;
	} else if (!strcmp(type, "end") || !take(arg, line, object)) {
		end = LINE_LAST;
	}
	cJSON_Delete(object);
	return end;
}

static bool ask_read(int fd, long timeout_ms, ask_take *take, void *arg, char *why, size_t size)
{
	static char text[LINE_MAX_BYTES + 1];
	size_t length = 0;

	for (;;) {
		char *end;
		ssize_t got;

		if (!is_ready(fd, POLLIN, timeout_ms)) {
			snprintf(why, size, "no answer within %ld ms: it is stopped, or its NIC thread gets no turn", timeout_ms);
			return false;
		}
		got = recv(fd, text + length, LINE_MAX_BYTES - length, 0);
		if (got <= 0) {
			snprintf(why, size, "it closed the connection before the answer was whole: it has ended, or others asked");
			return false;
		}
		length += (size_t)got;
		text[length] = '\0';
		while ((end = memchr(text, '\n', length))) {
			enum line_end last;

			*end = '\0';
			last = ask_line(text, take, arg, why, size);
			if (last != LINE_GO_ON)
				return last == LINE_LAST;
			length -= (size_t)(end + 1 - text);
			memmove(text, end + 1, length);
		}
		if (length == LINE_MAX_BYTES) {
			snprintf(why, size, "it answered a line that is too long");
			return false;
		}
	}
}

bool ask(const struct process *process, const struct asking *options, const char *request, ask_take *take, void *arg, char *why,
	 size_t size)
{
	int fd, err = ask_connect(process->path, options->timeout_ms, &fd);
	bool ok = false;

	if (err == ECONNREFUSED || err == ENOENT)
		snprintf(why, size, "it has ended");
	else if (err == EACCES || err == EPERM)
		snprintf(why, size, "it is another user's");
	else if (err == EAGAIN || err == EINPROGRESS)
		snprintf(why, size, "no answer within %ld ms: it is stopped, or others ask", options->timeout_ms);
	else if (err)
		snprintf(why, size, "%s", strerror(err));
	else if (!ask_send(fd, request, options->timeout_ms))
		snprintf(why, size, "it does not take the request: it has ended, or is another user's");
	else
		ok = ask_read(fd, strstr(request, "\"watch\"") ? -1 : options->timeout_ms, take, arg, why, size);
	if (fd >= 0)
		close(fd);
	return ok;
}
