/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_listen.c - listening sockets and the peers that connect to them. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "emu/net/link/local.h"
#include "emu/net/link/tcp_line.h"
#include "emu/net/os/nocancel_socket.h"
#include "emu/nic/base/limits.h"

enum {
	BACKLOG = 4096, /* the system's own limit may be lower */
	ACCEPTS = 16,   /* at a time (D4) */
	EVENTS = 16,
};

int tcp_socket_for(const struct sockaddr_storage *at, int type, struct sockaddr_storage *real)
{
	int alone = at->ss_family == AF_INET6, fd;

	*real = *at; /* the port is at one place in both families */
	if (at->ss_family == AF_UNSPEC)
		real->ss_family = AF_INET6;
	fd = socket(real->ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 && errno == EAFNOSUPPORT && at->ss_family == AF_UNSPEC) {
		real->ss_family = AF_INET;
		fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	}
	if (fd < 0)
		return -errno;
	if (real->ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &alone, sizeof(alone));
	return fd;
}

/* The socket of a listener: bound at once, so that the endpoint has its name. */
static int tcp_bound_socket(const struct sockaddr_storage *at, bool reuse)
{
	struct sockaddr_storage real;
	int one = 1, reused = reuse, fd = tcp_socket_for(at, SOCK_STREAM, &real), err;

	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reused, sizeof(reused));
	if (!bind(fd, (const struct sockaddr *)&real, tcp_address_length(&real)) && !listen(fd, BACKLOG)) {
		/* For the connections to come: closed by this side, they would keep the port from its next owner for a minute. */
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		return fd;
	}
	err = -errno;
	nocancel_close(fd);
	return err;
}

/* If this fails, peers of this machine come by TCP, which is only slower. */
static void open_local(struct tcp *tcp, struct listener *listener, const struct sockaddr_storage *at)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = listener };
	int fd = local_listen(at, BACKLOG);

	if (fd >= 0 && epoll_ctl(tcp->listen_set, EPOLL_CTL_ADD, fd, &event)) {
		nocancel_close(fd);
		fd = -ENOMEM;
	}
	listener->local = fd < 0 ? -1 : fd;
	if (fd < 0 && tcp->config.log)
		tcp->config.log(NIC_LOG_INFO,
				fd == -EADDRINUSE ? "peers of this machine come by TCP: the name of the Unix socket is taken"
						  : "peers of this machine come by TCP: no Unix socket could be made to listen at");
}

int listener_open(void *link, struct sockaddr_storage *at, struct ep *ep, void **out)
{
	struct tcp *tcp = link;
	struct listener *listener;
	struct epoll_event event = { .events = EPOLLIN };
	struct bound bound;
	int fd, err;

	fd = tcp_bound_open(tcp, at, tcp_bound_socket);
	if (fd < 0)
		return fd;
	err = -ENOMEM;
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		goto close_socket;
	event.data.ptr = listener;
	err = bound_names(&tcp->config.bound, fd, &bound);
	if (!err && epoll_ctl(tcp->listen_set, EPOLL_CTL_ADD, fd, &event))
		err = -errno;
	if (err)
		goto free_listener;

	*listener = (struct listener){ .ep = ep, .next = tcp->listeners, .fd = fd, .local = -1, .bound = bound };
	if (tcp->config.local)
		open_local(tcp, listener, &bound.known);
	tcp->listeners = listener;
	*at = bound.known;
	*out = listener;
	return 0;

free_listener:
	free(listener);
close_socket:
	nocancel_close(fd);
	return err;
}

/* For an endpoint that addresses itself: the address that peers dial may not lead back here from this host. */
const struct sockaddr_storage *listener_real(const struct tcp *tcp, const struct sockaddr_storage *to)
{
	const struct listener *listener = tcp->listeners;

	while (listener && !bound_is_known(&listener->bound, to))
		listener = listener->next;
	return listener ? &listener->bound.real : to;
}

void listener_close(void *link, void *arg)
{
	struct tcp *tcp = link;
	struct listener *listener = arg, **at = &tcp->listeners;

	while (*at != listener)
		at = &(*at)->next;
	*at = listener->next;
	if (listener->local >= 0) { /* before the port, whose next owner shall find it free */
		epoll_ctl(tcp->listen_set, EPOLL_CTL_DEL, listener->local, NULL);
		nocancel_close(listener->local);
	}
	epoll_ctl(tcp->listen_set, EPOLL_CTL_DEL, listener->fd, NULL);
	nocancel_close(listener->fd);
	free(listener);
	tcp->changes++;
}

static void greet(struct tcp *tcp, struct ep *ep, int fd, const struct stream_ops *ops)
{
	struct line *line;

	if (line_new(tcp, fd, ops, &line))
		return;
	if (line_open(line)) {
		line_free(line);
		return;
	}
	if (ops->neighbour)
		line_give_shm(line);
	line->conn = conn_accept(ep, line);
	if (!line->conn)
		line_close(line);
}

/* Errors of the peer (it went away again) are no reason to pause. */
static bool out_of_means(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static bool accept_from(struct tcp *tcp, struct listener *listener, int from, const struct stream_ops *ops)
{
	unsigned int changes = tcp->changes;

	for (int i = 0; i < ACCEPTS && tcp->changes == changes; i++) {
		int fd = ops->accept(from);

		if (fd >= 0) {
			tcp->full = false;
			greet(tcp, listener->ep, fd, ops);
		} else if (out_of_means(errno)) {
			if (!ep_make_room(listener->ep))
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
	int count = nocancel_peek(tcp->listen_set, events, EVENTS);
	bool ok = tcp->count < LIMIT_CONNECTIONS || (tcp->listeners && ep_make_room(tcp->listeners->ep));

	for (int i = 0; ok && i < count && tcp->changes == changes; i++) {
		struct listener *listener = events[i].data.ptr;

		ok = accept_from(tcp, listener, listener->fd, &stream_tcp);
		if (ok && listener->local >= 0 && tcp->changes == changes)
			ok = accept_from(tcp, listener, listener->local, &stream_local);
	}
	if (!ok && !tcp->full) {
		tcp->full = true;
		if (tcp->config.log)
			tcp->config.log(NIC_LOG_WARN,
					tcp->count < LIMIT_CONNECTIONS
						? "peers wait to connect: out of file descriptors or memory (ulimit -n)"
						: "peers wait to connect: the limit of connections of a process is reached");
	}
	return ok;
}
