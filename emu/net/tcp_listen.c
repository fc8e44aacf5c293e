/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_listen.c - listening sockets and those who knock. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "emu/net/local.h"
#include "emu/net/plain.h"
#include "emu/net/tcp_line.h"
#include "emu/nic/limits.h"

enum {
	BACKLOG = 4096,		/* the system's own limit may be lower */
	ACCEPTS = 16,		/* at a time (D4) */
	EVENTS = 16,
};

/* The socket of a listener: bound here and now, so that the endpoint has its name. */
static int bound_socket(const struct sockaddr_storage *at)
{
	int fd = socket(at->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int one = 1, err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (at->ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (!bind(fd, (const struct sockaddr *)at, tcp_address_length(at)) && !listen(fd, BACKLOG))
		return fd;
	err = -errno;
	plain_close(fd);
	return err;
}

/* Without one, peers of this machine come by TCP, which is slower and nothing worse. */
static void open_local(struct tcp *tcp, struct listener *listener, const struct sockaddr_storage *at)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = listener };
	int fd = local_listen(at, BACKLOG);

	if (fd >= 0 && epoll_ctl(tcp->listen_set, EPOLL_CTL_ADD, fd, &event)) {
		plain_close(fd);
		fd = -ENOMEM;
	}
	listener->local = fd < 0 ? -1 : fd;
	if (fd < 0 && tcp->config.log)
		tcp->config.log(NIC_LOG_INFO, fd == -EADDRINUSE ?
			"peers of this machine come by TCP: somebody has the name of the Unix socket" :
			"peers of this machine come by TCP: no Unix socket to listen at could be made");
}

int listener_open(void *link, struct sockaddr_storage *at, struct ep *ep, void **out)
{
	struct tcp *tcp = link;
	struct listener *listener;
	struct epoll_event event = { .events = EPOLLIN };
	struct sockaddr_storage real = { 0 };
	socklen_t length = sizeof(real);
	int fd, err;

	fd = bound_socket(at);
	if (fd < 0)
		return fd;
	err = -ENOMEM;
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		goto close_socket;
	event.data.ptr = listener;
	err = getsockname(fd, (struct sockaddr *)&real, &length) ||
	      epoll_ctl(tcp->listen_set, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
	if (err)
		goto free_listener;

	*listener = (struct listener){ .ep = ep, .next = tcp->listeners, .fd = fd, .local = -1 };
	if (tcp->config.local)
		open_local(tcp, listener, &real);
	tcp->listeners = listener;
	*at = real;
	*out = listener;
	return 0;

free_listener:
	free(listener);
close_socket:
	plain_close(fd);
	return err;
}

void listener_close(void *link, void *arg)
{
	struct tcp *tcp = link;
	struct listener *listener = arg, **at = &tcp->listeners;

	while (*at != listener)
		at = &(*at)->next;
	*at = listener->next;
	if (listener->local >= 0) {	/* before the port, whose next owner shall find it free */
		epoll_ctl(tcp->listen_set, EPOLL_CTL_DEL, listener->local, NULL);
		plain_close(listener->local);
	}
	epoll_ctl(tcp->listen_set, EPOLL_CTL_DEL, listener->fd, NULL);
	plain_close(listener->fd);
	free(listener);
	tcp->changes++;
}

static void greet(struct tcp *tcp, struct ep *ep, int fd, bool local)
{
	struct line *line;

	if (line_new(tcp, fd, local, &line))
		return;
	if (line_open(line)) {
		line_free(line);
		return;
	}
	if (local)
		line_give_board(line);
	line->conn = conn_accept(ep, line);
	if (!line->conn)
		line_close(line);
}

/* The peer's own faults (it went away again) are no reason to pause. */
static bool out_of_means(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static bool accept_from(struct tcp *tcp, struct listener *listener, bool local)
{
	unsigned int changes = tcp->changes;

	for (int i = 0; i < ACCEPTS && tcp->changes == changes; i++) {
		int fd = local ? local_accept(listener->local) :
				 accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			tcp->full = false;
			greet(tcp, listener->ep, fd, local);
		} else if (out_of_means(errno)) {
			return false;
		} else if (errno == EAGAIN) {
			break;
		}
	}
	return true;
}

bool tcp_accept(struct tcp *tcp)
{
	struct epoll_event events[EVENTS];
	unsigned int changes = tcp->changes;
	int count = epoll_wait(tcp->listen_set, events, EVENTS, 0);
	bool ok = tcp->count < LIMIT_CONNECTIONS;

	for (int i = 0; ok && i < count && tcp->changes == changes; i++) {
		struct listener *listener = events[i].data.ptr;

		ok = accept_from(tcp, listener, false);
		if (ok && listener->local >= 0 && tcp->changes == changes)
			ok = accept_from(tcp, listener, true);
	}
	if (!ok && !tcp->full) {
		tcp->full = true;
		if (tcp->config.log)
			tcp->config.log(NIC_LOG_WARN, tcp->count < LIMIT_CONNECTIONS ?
				"peers wait to connect: out of file descriptors or memory (ulimit -n)" :
				"peers wait to connect: the limit of connections of a process is reached");
	}
	return ok;
}
