/* SPDX-License-Identifier: BSD-2-Clause */
/* stream_ops.h - what a kind of stream does in its own way. tcp_line.c has all that streams have in common. A new kind is a table
 * of these, a place in dial_order (tcp_line.c), and a listener (tcp_listen.c). All [role]. */
#ifndef EMU_NET_STREAM_OPS_H
#define EMU_NET_STREAM_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct tcp;

struct stream_ops {
	/* Begins to connect. A non-blocking descriptor, the caller's; *error is then 0, or a positive errno that ends the dial. Or
	 * -errno: streams of this kind do not lead there. */
	int (*dial)(struct tcp *tcp, const struct sockaddr_storage *to, int *error);
	int (*accept)(int listener); /* as accept4(); non-blocking */
	/* What a stream, dialled or accepted, wants to be set. silence_ns as in struct tcp_config. */
	void (*set_options)(int fd, uint64_t silence_ns);
	bool (*met_itself)(int fd); /* has a dial that succeeded met its own end? NULL: it never does */
	/* May both lead to the same process? What the kernel knows of the peers, which may say anything. */
	bool (*same_peer)(int fd, int other);
	bool (*lingers)(int fd); /* after the close: are bytes still on the way? NULL: never */
	size_t at_once;          /* bytes of payload that are best digested, and then sent, at once */
	/* To a neighbour: it shares memory. The kernel does not tell of a neighbour that takes nothing; a tick does. */
	bool neighbour;
};

extern const struct stream_ops stream_tcp, stream_local; /* stream_tcp.c, local.c */

#endif
