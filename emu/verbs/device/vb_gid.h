/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_gid.h - the GID table of a port, and the addresses behind its entries. Any thread. */
#ifndef EMU_VB_GID_H
#define EMU_VB_GID_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/verbs/start/vb_abi.h"

enum { VB_GIDS = 32 }; /* entries of a port's table; addresses beyond have none */

/* As ibv_query_gid_type() of rdma-core has them: its numbers are those of sysfs. */
enum vb_gid_type { VB_GID_TYPE_ROCE_V1 = 0, VB_GID_TYPE_ROCE_V2 = 1 };

/* One entry: its GID, all zero where there is none; its interface; and the address of the interface, without port, by which peers
 * know it unless FI_EMU_ADVERTISE names another. */
struct vb_gid {
	union ibv_gid gid;
	uint32_t ifindex;
	struct sockaddr_storage at;
};

/* Looks for addresses that are new, and those that have gone; the others keep their index. */
void vb_gid_refresh(void);
/* The next vb_gid_get() does so. In the alarm, too (nic_config.alarm). */
void vb_gid_outdate(void);
/* For librdmacm, too: node EMU_1. */
#pragma GCC visibility push(default)
/* The entry of this index. False: there is none. */
bool vb_gid_get(unsigned int index, struct vb_gid *entry);
/* The address of a peer's GID, without port. `scope`: the interface of link-local ones, that of the own entry. */
void vb_gid_address(const union ibv_gid *gid, uint32_t scope, struct sockaddr_storage *at);
#pragma GCC visibility pop

/* Would packets from this entry leave for the peer? If not, a note and the log say so; the program finds out as on hardware, when
 * the retries run out, and errno stays. */
void vb_gid_check_route(const char *call, unsigned int index, const struct vb_gid *own, const struct sockaddr_storage *peer);

/* ibv_query_gid_type(): 0; -1 with errno. */
int vb_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index, enum vb_gid_type *type);

#endif
