/* SPDX-License-Identifier: BSD-2-Clause */
/* udp.h - ports for datagrams of the device's link, over UDP sockets. All [role]. */
#ifndef EMU_NET_UDP_H
#define EMU_NET_UDP_H

#include "emu/net/link/tcp_line.h"

struct port {
	enum watched kind; /* first: the data set's pointers lead to it */
	struct tcp *tcp;
	struct ep *ep;
	struct port *next;
	int fd;          /* in the data set */
	bool tx_blocked; /* ep_writable() is owed */
	bool taken;      /* a datagram was received since port_deliver() last cleared this */
	struct bound bound;
};

/* The four port functions of link_ops. */
int port_open(void *link, struct sockaddr_storage *at, struct ep *ep, struct port **port);
void port_close(struct port *port);
int port_emit(struct port *port, const struct sockaddr_storage *to, const void *bytes, size_t length);
ssize_t port_take(struct port *port, void *bytes, size_t room);

/* Passes the data set's `events` to the endpoint. Returns the number of events passed. */
int port_deliver(struct port *port, uint32_t events);

#endif
