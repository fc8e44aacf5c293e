/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_own_addr.h - what an endpoint's own address is, and what a program is told of addresses. Any thread. */
#ifndef EMU_FI_OWN_ADDR_H
#define EMU_FI_OWN_ADDR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct fi_info;

/* Where an endpoint is to listen: as the info says, else the first address that this machine has. Never a wildcard: it is
 * told to peers. 0 or -errno. */
int own_address(const struct fi_info *info, uint32_t format, struct sockaddr_storage *at);
/* An address that a program gives; -FI_EINVAL if it is none of the format. */
int own_address_take(const void *given, size_t length, uint32_t format, struct sockaddr_storage *at);
/* fi_getname(), fi_getpeer(): as much as fits; *length becomes the size needed. 0, -FI_ETOOSMALL, -FI_EINVAL. */
int address_tell(const struct sockaddr_storage *name, void *addr, size_t *length);

#endif
