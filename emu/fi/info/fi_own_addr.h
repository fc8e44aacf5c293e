/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_own_addr.h - an endpoint's own address, and addresses given by and to programs. Any thread. */
#ifndef EMU_FI_OWN_ADDR_H
#define EMU_FI_OWN_ADDR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct fi_info;

/* The address at which an endpoint listens: as in the info, else the one from which the route to the info's peer leads, else
 * this machine's first one. Never a wildcard, as peers are told it. 0 or -errno. */
int own_address(const struct fi_info *info, uint32_t format, struct sockaddr_storage *at);
/* Takes an address from a program; -FI_EINVAL if it does not have the format. */
int own_address_take(const void *given, size_t length, uint32_t format, struct sockaddr_storage *at);
/* fi_getname(), fi_getpeer(): as much as fits; *length becomes the size needed. 0, -FI_ETOOSMALL, -FI_EINVAL. */
int address_tell(const struct sockaddr_storage *name, void *addr, size_t *length);

#endif
