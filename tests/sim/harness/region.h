/* SPDX-License-Identifier: BSD-2-Clause */
/* region.h - a registered region and what its memory must hold.
 *
 * All segments lie in one block, with gaps between them that no op may touch. The shadow is what the block must be,
 * but for bytes that an op under way may change: those are claimed, 64 at a time. */
#ifndef TESTS_SIM_REGION_H
#define TESTS_SIM_REGION_H

#include "emu/nic/memory/pin.h"
#include "tests/sim/harness/party.h"

enum { REGION_GRAIN = 64, REGION_GAP = 192 };

struct region {
	struct region *next;
	struct party *owner;
	struct mr *mr; /* NULL: closed */
	uint64_t key;
	uint32_t access;
	bool virtual_addr;
	bool provider_key;
	uint32_t life; /* counts registrations */
	bool single_use;
	uint32_t used_life;        /* the last one in which an op was good; single use */
	bool gated;                /* bound and enabled step by step, counted while it is open */
	enum refusal_cause closed; /* why peers are kept out of a gated region now */
	struct region_pin {
		struct pin pin; /* first */
		struct region *region;
		uint64_t put, got;     /* bytes so far */
		bool failing, changed; /* what it answers */
	} * pin;                       /* NULL: not pinned */
	uint64_t apart;                /* pinned: from where the bytes are to the addresses that lead nowhere */
	uint64_t length;
	struct iovec seg[LIMIT_IOV]; /* in the block */
	size_t segs;
	uint8_t *block, *shadow; /* page-aligned */
	uint8_t *kept;           /* what of the block is durable */
	uint8_t *frozen;         /* closed: what the block was when region_end() returned */
	uint8_t *claimed;        /* a byte for each grain of the block */
	size_t size;             /* of the block */
};

/* `segs` segments of equal size, `length` bytes in all. Registers under `key` (0: the device chooses). */
struct region *region_open(struct party *owner, uint64_t length, size_t segs, uint32_t access, bool virtual_addr, uint64_t key);
/* fi_close(): from here on no byte of it may change. */
void region_end(struct region *region);
/* Registers the same memory again, under the same key if that was the program's. */
void region_again(struct region *region, uint32_t access);
/* Registers again as one of these sorts, from now on. */
void region_make_single(struct region *region);
void region_make_gated(struct region *region);
/* Pinned: the addresses registered lead nowhere, so an access to the bytes other than through the pin is refused. */
void region_make_pinned(struct region *region);
/* The next step in the life of a gated region: bound and enabled, then its endpoint's bond dissolved, then closed and
 * registered again. */
void region_step(struct region *region);
/* The address that a peer must use for the byte at `offset` of the region. */
uint64_t region_addr(const struct region *region, uint64_t offset);
/* Claims the grains of a range for one op; false: another one has some of them. Ranges may run over segments only if
 * the region is addressed by offset. */
bool region_claim(struct region *region, uint64_t offset, uint64_t length);
void region_release(struct region *region, uint64_t offset, uint64_t length);
/* Copies the range between the region (or its shadow) and flat bytes. */
void region_get(const struct region *region, uint64_t offset, uint8_t *to, uint64_t length);
void region_set_shadow(struct region *region, uint64_t offset, const uint8_t *from, uint64_t length);
void region_get_shadow(const struct region *region, uint64_t offset, uint8_t *to, uint64_t length);
/* The bytes at `at`, if they are the region's, are durable as they are now. */
void region_keep(const struct region *region, const void *at, size_t length);
void region_get_kept(const struct region *region, uint64_t offset, uint8_t *to, uint64_t length);
/* Every byte that no op has claimed is as it must be; of a closed region, every byte. */
void region_check(const struct region *region);
void region_free(struct region *region);

#endif
