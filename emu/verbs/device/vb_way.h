/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_way.h - addresses of IP as librdmacm has them, and the own GID from which a peer's is reached. Any thread. */
#ifndef EMU_VB_WAY_H
#define EMU_VB_WAY_H

#include <netinet/in.h>
#include <string.h>

#include "emu/verbs/device/vb_gid.h"

static inline socklen_t vb_ip_length(const struct sockaddr *at)
{
	return at->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static inline void vb_ip_copy(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, from, vb_ip_length(from));
}

/* For librdmacm: node EMU_1. */
#pragma GCC visibility push(default)
bool vb_ip_everywhere(const struct sockaddr *at);
/* Whatever their ports and scopes. */
bool vb_ip_same(const struct sockaddr_storage *a, const struct sockaddr *b);
void vb_ip_gid(const struct sockaddr_storage *at, union ibv_gid *gid);
/* The place of an own address in the device's table; -1: no device has it. */
int vb_ip_place(const struct sockaddr *at, struct vb_gid *own);
/* Likewise of the own address from which packets to the peer leave: that is `from`, unless it is everywhere or has no family; then
 * it is given, without port. A negative errno: there is none. */
int vb_ip_way(const struct sockaddr *to, struct sockaddr_storage *from, struct vb_gid *own);
#pragma GCC visibility pop

#endif
