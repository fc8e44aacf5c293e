/* SPDX-License-Identifier: BSD-2-Clause */
/* av.h - address vector: fi_addr_t <-> socket address. Indices are dense, from 0; a removed index may be given out
 * again. Its own leaf lock guards it: any thread, with or without the driver role. */
#ifndef EMU_NIC_AV_H
#define EMU_NIC_AV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/nic/base/must_use.h"

struct av;
#define AV_NONE UINT64_MAX /* no address, and any */

enum { AV_CONTEXT_BITS = 16 }; /* at most */

/* `bits`, up to AV_CONTEXT_BITS: so many of an index's highest ones number the receive context that is meant, which listens
 * at that many ports above the address. 0 or -ENOMEM. */
MUST_USE int av_open(struct av **av, unsigned int bits);
int av_close(struct av *av); /* 0, or -EBUSY while endpoints are bound */
void av_get(struct av *av);
void av_put(struct av *av);

/* The address is copied in canonical form (family, port, address, scope; rest zero). `auth`: the authorization that
 * posts to it show (auth.h); 0: none. The same address with the same authorization inserted again gets the same index,
 * and stays until it was removed as often: fi_av(3) leaves that open, and Open MPI inserts an address each time that it meets it.
 * 0, -EINVAL (other families), or -ENOMEM. */
int av_insert(struct av *av, const struct sockaddr_storage *addr, uint64_t auth, uint64_t *index);
/* Takes one insertion back. An index that names a receive context stands for its entry, as in all calls here: a context
 * has no entry of its own. 0 or -EINVAL. */
int av_remove(struct av *av, uint64_t index);
uint64_t av_entry(const struct av *av, uint64_t index); /* without its receive context: as it was given out */
/* 0 and *addr, or -EINVAL. *stamp changes whenever the index is given to another address. */
MUST_USE int av_lookup(struct av *av, uint64_t index, struct sockaddr_storage *addr, uint64_t *stamp);
void av_move_port(struct sockaddr_storage *addr, uint16_t by); /* up, of an address that av_lookup() gave */
/* The address is behind a firewall, until its entry is removed: its peer connects, and is not dialled. */
void av_wall(struct av *av, uint64_t index);
/* Is it such an address, or that of a receive context of one? */
bool av_walled(struct av *av, const struct sockaddr_storage *addr);
/* The index of that address with this authorization, else of that address without any; AV_NONE: neither is there. */
uint64_t av_find(struct av *av, const struct sockaddr_storage *addr, uint64_t auth);
uint64_t av_end(struct av *av);                                             /* indices from here on were never given out */
uint64_t av_shown(struct av *av, uint64_t index) __attribute__((noinline)); /* as inserted; 0: none, or no such address */
/* av_generation(), called before each use of the vector, calls follow(), which may insert and remove. Set before it is shared. */
void av_follow(struct av *av, void (*follow)(void *arg), void *arg);
/* Changes at every insert or remove: lets callers cache the result of av_find(). */
uint64_t av_generation(const struct av *av);

#endif
