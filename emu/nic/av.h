/* SPDX-License-Identifier: BSD-2-Clause */
/* av.h - address vector: fi_addr_t <-> socket address. Indices are dense, from 0; a removed index may be given out
 * again. Its own leaf lock guards it: any thread, with or without the driver role. */
#ifndef EMU_NIC_AV_H
#define EMU_NIC_AV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct av;
#define AV_NONE UINT64_MAX	/* FI_ADDR_NOTAVAIL and FI_ADDR_UNSPEC */

int  av_open(struct av **av);	/* 0 or -ENOMEM */
int  av_close(struct av *av);	/* 0, or -FI_EBUSY while endpoints are bound */
void av_get(struct av *av);
void av_put(struct av *av);

/* The address is copied in canonical form (family, port, address, scope; rest zero). The same address inserted again
 * gets an index of its own; av_find() returns the lowest. 0, -EINVAL (other families), or -ENOMEM. */
int  av_insert(struct av *av, const struct sockaddr_storage *addr, uint64_t *index);
int  av_remove(struct av *av, uint64_t index);	/* 0 or -FI_EINVAL */
/* 0 and *addr, or -FI_EINVAL. *stamp changes whenever the index is given to another address. */
int  av_lookup(struct av *av, uint64_t index, struct sockaddr_storage *addr, uint64_t *stamp);
uint64_t av_find(struct av *av, const struct sockaddr_storage *addr);	/* AV_NONE if not there */
/* Changes at every insert or remove: lets others cache what av_find() said. */
uint64_t av_generation(const struct av *av);

/* Canonical form of an IPv4 or IPv6 socket address; false for other families. */
bool av_canonical(const struct sockaddr *from, struct sockaddr_storage *to);
bool av_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

#endif
