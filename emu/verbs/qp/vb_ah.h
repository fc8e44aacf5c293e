/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_ah.h - address handles: where a message of a UD queue pair goes. Constant from ibv_create_ah() on; any thread. A post copies
 * what it needs, so one may be destroyed while messages to it wait. */
#ifndef EMU_VB_AH_H
#define EMU_VB_AH_H

#include <stdbool.h>

#include "emu/verbs/start/vb_abi.h"

struct datagram_to;
struct sockaddr_storage;
struct vb_gid;
struct vb_pd;

/* Where messages to it go, but for the numbers of the receiver, and its PD. */
const struct datagram_to *vb_ah_to(const struct ibv_ah *ah, const struct vb_pd **pd);

/* The addresses of both sides of a path: the GID at its sgid_index, and the peer's of its dgid. 0; or EINVAL, after a line of
 * log. */
int vb_ah_addresses(const char *call, const struct ibv_ah_attr *path, struct vb_gid *own, struct sockaddr_storage *peer);

/* A group, of IPv6 or a mapped one of IPv4. */
bool vb_gid_is_group(const union ibv_gid *gid);

#endif
