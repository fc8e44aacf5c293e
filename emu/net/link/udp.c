/* SPDX-License-Identifier: BSD-2-Clause */
/* udp.c - ports for datagrams. */
#include "emu/net/link/tcp_line.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "emu/net/os/nocancel_socket.h"

/* Requested buffer size; the system may give less. */
enum { ROOM_BYTES = 1 << 20 };

/* Never with SO_REUSEADDR: another process could take the port, and the datagrams with it. */
static int udp_bound_socket(const struct sockaddr_storage *at, bool reuse)
{
	struct sockaddr_storage real;
	int fd = tcp_socket_for(at, SOCK_DGRAM, &real), room = ROOM_BYTES, err;

	(void)reuse;
	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (at->ss_family == AF_UNSPEC) /* of many: beyond net.core.rmem_max, by CAP_NET_ADMIN */
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (!bind(fd, (const struct sockaddr *)&real, tcp_address_length(&real)))
		return fd;
	err = -errno;
	nocancel_close(fd);
	return err;
}

/* The system's word that nobody is at an address comes as the error of a later call. */
static void hear_refusals(int fd, int family)
{
	int one = 1;

	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &one, sizeof(one));
	else
		setsockopt(fd, IPPROTO_IP, IP_RECVERR, &one, sizeof(one));
}

int port_new(struct tcp *tcp, int fd, struct ep *ep, struct port **out)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct bound bound;
	struct port *port;
	int err = -ENOMEM;

	port = calloc(1, sizeof(*port));
	if (!port)
		goto close_socket;
	event.data.ptr = port;
	err = bound_names(&tcp->config.bound, fd, &bound);
	if (!err && epoll_ctl(tcp->data_set, EPOLL_CTL_ADD, fd, &event))
		err = -errno;
	if (err)
		goto free_port;

	*port = (struct port){ .kind = WATCHED_PORT, .tcp = tcp, .ep = ep, .next = tcp->ports, .fd = fd, .bound = bound };
	tcp->ports = port;
	tcp->port_count++;
	*out = port;
	return 0;

free_port:
	free(port);
close_socket:
	nocancel_close(fd);
	return err;
}

int port_open(void *link, struct sockaddr_storage *at, bool hears, struct ep *ep, struct port **out)
{
	int fd = tcp_bound_open(link, at, udp_bound_socket);
	int err = fd < 0 ? fd : port_new(link, fd, ep, out);

	if (err)
		return err;
	if (hears)
		hear_refusals(fd, (*out)->bound.real.ss_family);
	*at = (*out)->bound.known;
	return 0;
}

void port_close(struct port *port)
{
	struct tcp *tcp = port->tcp;
	struct port **at = &tcp->ports;

	while (*at != port)
		at = &(*at)->next;
	*at = port->next;
	epoll_ctl(tcp->data_set, EPOLL_CTL_DEL, port->fd, NULL);
	nocancel_close(port->fd);
	tcp->watched -= port->tx_blocked;
	tcp->port_count--;
	tcp->changes++;
	free(port);
}

static void want_write(struct port *port, bool tx_blocked)
{
	struct epoll_event event = { .events = EPOLLIN | (tx_blocked ? EPOLLOUT : 0), .data.ptr = port };

	if (port->tx_blocked == tx_blocked)
		return;
	if (epoll_ctl(port->tcp->data_set, EPOLL_CTL_MOD, port->fd, &event))
		assert(!"a socket that is in the set");
	port->tcp->watched += tx_blocked ? 1 : -1u;
	port->tx_blocked = tx_blocked;
}

/* A port of this process may not be reached from here by the address that peers know. */
static const struct sockaddr_storage *port_real(const struct tcp *tcp, const struct sockaddr_storage *to)
{
	const struct port *port = tcp->ports;

	while (port && !bound_is_known(&port->bound, to))
		port = port->next;
	return port ? &port->bound.real : to;
}

/* For a socket of both families. */
static const struct sockaddr_storage *mapped(const struct sockaddr_storage *to, struct sockaddr_storage *room)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)to;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)room;

	*in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = in->sin_port };
	in6->sin6_addr.s6_addr[10] = in6->sin6_addr.s6_addr[11] = 0xff;
	memcpy(&in6->sin6_addr.s6_addr[12], &in->sin_addr, sizeof(in->sin_addr));
	return room;
}

int port_emit(struct port *port, const struct sockaddr_storage *to, const void *bytes, size_t length)
{
	struct sockaddr_storage room;
	ssize_t n;

	if (port->tcp->config.bound.advertised.ss_family != AF_UNSPEC)
		to = port_real(port->tcp, to);
	if (to->ss_family == AF_INET && port->bound.real.ss_family == AF_INET6)
		to = mapped(to, &room);
	do
		n = nocancel_send(port->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)to,
				  tcp_address_length(to));
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 0;
	if (errno == EAGAIN)
		want_write(port, true);
	return -errno;
}

/* The set goes on telling of errors that are kept beside. */
static void forget_errors(const struct port *port)
{
	uint8_t byte;

	while (nocancel_recv(port->fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_ERRQUEUE) >= 0)
		;
}

ssize_t port_take(struct port *port, void *bytes, size_t room, struct sockaddr_storage *from)
{
	socklen_t length = sizeof(*from);
	ssize_t n;

	do
		n = from ? nocancel_recv_from(port->fd, bytes, room, MSG_DONTWAIT | MSG_TRUNC, from, &length)
			 : nocancel_recv(port->fd, bytes, room, MSG_DONTWAIT | MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		int err = errno;

		if (err != EAGAIN)
			forget_errors(port);
		return -err;
	}
	port->taken = true;
	return n;
}

/* What it tells may close the port. */
int port_deliver(struct port *port, uint32_t events)
{
	const struct tcp *tcp = port->tcp;
	unsigned int changes = tcp->changes;
	int count = 0;

	if (port->tx_blocked && events & EPOLLOUT) {
		want_write(port, false);
		ep_writable(port->ep);
		count++;
	}
	if (tcp->changes != changes)
		return count;
	if (events & ~(uint32_t)EPOLLOUT) {
		port->taken = false;
		ep_readable(port->ep, port);
		count += tcp->changes != changes || port->taken;
		if (events & EPOLLERR && tcp->changes == changes) /* of one that a send has told */
			forget_errors(port);
	}
	return count;
}
