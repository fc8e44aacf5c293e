/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_own_addr.h - an endpoint's own address, and addresses given by and to programs. Any thread. */
#ifndef EMU_FI_OWN_ADDR_H
#define EMU_FI_OWN_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct fi_info;

/* The address at which an endpoint listens: as in the info, else the one from which the route to the info's peer leads, else
 * this machine's first one. Never a wildcard, as peers are told it. 0 or -errno. */
int own_address(const struct fi_info *info, uint32_t format, struct sockaddr_storage *at);
/* Takes an address from a program; -FI_EINVAL if it does not have the format. */
int own_address_take(const void *given, size_t length, uint32_t format, struct sockaddr_storage *at);
/* A port that the system gives to nobody else, from fi_setname() until the endpoint has a socket of its own. */
struct own_port;
/* An address without a port gets one (fi_cm(3)), which *port holds, in the place of the one held before. A listener may bind it all
 * the same; a socket of datagrams must have it free. Where each port of FI_EMU_PORTS was bound before, the address stays without
 * one: fi_enable() looks for those that are free again. 0; or -errno after a line of log, and nothing has changed. */
int own_port_hold(struct sockaddr_storage *at, bool datagrams, struct own_port **port);
void own_port_free(struct own_port **port); /* *port NULL: none is held */
/* fi_getname(), fi_getpeer(): as much as fits; *length becomes the size needed. 0, -FI_ETOOSMALL, -FI_EINVAL. */
int address_tell(const struct sockaddr_storage *name, void *addr, size_t *length);

#endif
