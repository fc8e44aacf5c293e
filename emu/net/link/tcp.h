/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp.h - the device's link (emu/nic/device/link.h) over TCP sockets or Unix sockets in their place (local.h), and UDP
 * sockets for datagrams.
 *
 * All but the descriptors: [role]. Sockets never block. Three epoll sets, level-triggered, each of whose own
 * descriptor can be watched by another set or loop: data (open lines, ports), dials (connecting lines), listeners. Sockets
 * enter and leave the sets under the role, so its holder may follow the pointers that a set gives. */
#ifndef EMU_NET_TCP_H
#define EMU_NET_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/net/link/bound.h"
#include "emu/nic/device/link.h"

struct tcp;

struct tcp_config {
	void (*log)(enum nic_log level, const char *text); /* may be NULL */
	/* Asks for calls of tcp_drop_stuck(), tcp_read_on() and tcp_tick() every TCP_TICK_MS, until the last returns false. Must
	 * not block. */
	void (*kick)(void *arg);
	void *kick_arg;
	uint64_t silence_ns; /* see net_config */
	bool local;          /* likewise */
	struct bound_config bound;
};

enum { TCP_TICK_MS = 20 };

extern const struct link_ops tcp_link;

int tcp_open(struct tcp **tcp, const struct tcp_config *config); /* 0 or -errno */
/* Closes all that is still open. Not [role]: no other thread is left. */
void tcp_close(struct tcp *tcp);

int tcp_data_fd(const struct tcp *tcp);
int tcp_dial_fd(const struct tcp *tcp);
int tcp_listen_fd(const struct tcp *tcp);
int tcp_linger_fd(const struct tcp *tcp); /* nobody waits for it: it is there for fork.h */
bool tcp_readable(const struct tcp *tcp); /* has a data socket something? Not [role] */

int tcp_finish_dials(struct tcp *tcp); /* conn_up(), conn_down(); how many */
/* conn_accept() for each peer that connects. False: the system is out of descriptors or memory, try again later. */
bool tcp_accept(struct tcp *tcp);
/* conn_down() for a neighbour that has taken nothing for silence_ns while bytes wait for it. True: there was one. */
bool tcp_drop_stuck(struct tcp *tcp);
/* Reads bytes that no socket reports: neighbours put them into rings (shm_ring.h) before polling stopped. True: there were some. */
bool tcp_read_on(struct tcp *tcp);
/* Frees closed lines whose bytes have arrived. True while there are closed lines, or neighbours for which bytes wait, or bytes
 * for tcp_read_on(). */
bool tcp_tick(struct tcp *tcp);

#endif
