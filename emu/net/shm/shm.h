/* SPDX-License-Identifier: BSD-2-Clause */
/* shm.h - memory that two neighbours share beside their stream (local.h): the polls of one find what the other writes there without
 * a system call.
 *
 * Each of the two has a side. It holds the last stored acknowledgement and its words of the two rings (shm_ring.h), which lie
 * behind the sides. The peer's numbers and bytes are not trusted: anybody may have made them up. The segment is sealed, so the
 * peer cannot shrink it under a reader. All [role]. PROTOCOL.md, WIRE-39. */
#ifndef EMU_NET_SHM_H
#define EMU_NET_SHM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/net/shm/shm_ring.h"

enum {
	SHM_BYTES = 4096 + 2 * RING_BYTES,
	SHM_CHANNELS = 64, /* those of a trunk below it have stored acknowledgements of their own; 0 is the stream's */
};

struct shm_side;

struct shm {
	struct shm_side *own, *peer; /* NULL: there is none */
	void *room;
};

/* Reserves address space for `count` shared segments, inaccessible until one is mapped; NULL: none. It stays reserved as long as
 * segments may come. Otherwise a segment could be mapped where the program has just unmapped a buffer, and a stray write there
 * would succeed silently. */
void *shm_quota(size_t count);
void shm_quota_end(void *rooms, size_t count);
/* The accepting side: makes a segment and begins its ring. Returns the descriptor to send to the peer, the caller's; or -errno. */
int shm_make(struct shm *shm, struct shm_ring *ring, void *room);
/* The dialling side: maps the peer's segment and closes the descriptor. 0, or -EINVAL if it is no such segment. */
int shm_take(struct shm *shm, struct shm_ring *ring, void *room, int fd);
void shm_drop(struct shm *shm, struct shm_ring *ring); /* its room is free again; there may be none */

/* Stores an acknowledgement for the peer. False: send a frame, as our ring is closed, so the peer does not poll, or there is no
 * shared segment. */
bool shm_store_ack(struct shm *shm, uint32_t channel, uint64_t number);
/* True: the peer has stored another number than seen[channel], which is that one now. After the peer's ring was closed one last
 * read finds what it has stored until then. Of channel 0 it is another, too, when one of any channel was stored. */
bool shm_read(const struct shm *shm, uint32_t channel, uint64_t *seen);
/* Where a side notes the last request that it has executed and may acknowledge; NULL: nowhere. No poll looks there: it is for a
 * peer that finds the side dead. */
atomic_uint_fast64_t *shm_executed(const struct shm *shm, const struct shm_side *side, uint32_t channel);
bool shm_shared(const struct shm *shm); /* there is one, and the peer has it, too */

#endif
