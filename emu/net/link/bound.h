/* SPDX-License-Identifier: BSD-2-Clause */
/* bound.h - where a socket is bound, and by which address peers know it: a range of ports and an address to advertise, for hosts
 * behind a firewall or address translation. All [role] but the last, and
 * bound_open() and bound_names(), which any thread may call. */
#ifndef EMU_NET_BOUND_H
#define EMU_NET_BOUND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct tcp;

struct bound_config {
	uint16_t first, last;               /* ports to choose from where the program names none; 0: the system chooses */
	struct sockaddr_storage advertised; /* told to peers instead of our own address of that family, with the same port;
						 * AF_UNSPEC: none. A dial to it must lead here */
};

/* Two addresses of one socket. */
struct bound {
	struct sockaddr_storage real, known; /* where it is bound, and what peers dial */
};

/* Returns a descriptor from `bind`, at a port of the range if `at` has none. Calls `bind` for each port in turn, at first with
 * `reuse` false: a port that was bound before is tried again (SO_REUSEADDR) only if no other is free. -errno: -EADDRINUSE if none
 * is free. */
int bound_open(const struct bound_config *config, const struct sockaddr_storage *at,
	       int (*bind)(const struct sockaddr_storage *at, bool reuse));
/* The addresses of a bound socket: 0 or -errno. */
int bound_names(const struct bound_config *config, int fd, struct bound *bound);
/* Replaces an address of this machine by the one that peers know. */
void bound_known(const struct bound_config *config, struct sockaddr_storage *at);
bool bound_is_known(const struct bound *bound, const struct sockaddr_storage *at);

#endif
