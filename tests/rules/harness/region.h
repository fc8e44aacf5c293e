/* SPDX-License-Identifier: BSD-2-Clause */
/* region.h - memory with guard bytes round it, registered in this process. */
#ifndef TESTS_RULES_REGION_H
#define TESTS_RULES_REGION_H

#include "tests/rules/harness/peer.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { REGION_SEGS_MAX = 8, REGION_GUARD = 64, REGION_GUARD_BYTE = 0xA5 };

/* FI_MR_SINGLE_USE: since 2.0. */
#define REGION_SINGLE_USE (1ULL << 41)

/* The three registration calls; all do the same (S2). */
enum reg_call { REG_ATTR, REG_PLAIN, REG_VEC, REG_CALLS };

/* struct fi_mr_attr as the newest library may read it: what this build's headers do not know is zero. */
struct mr_args {
	struct fi_mr_attr attr;
	uint8_t newer[64];
};

/* One registration by any of the three calls; REG_PLAIN takes iov[0] alone. */
int mr_register(struct fid_domain *domain, enum reg_call call, const struct mr_args *args, uint64_t flags, struct fid_mr **mr);

/* Describes a region. Plain bytes: may go to a target. Segments lie one after the other with REGION_GUARD between
 * them. */
struct region_want {
	size_t len[REGION_SEGS_MAX];
	size_t segs; /* 0: one segment of len[0] bytes */
	uint64_t access;
	uint64_t key;   /* asked for where the program chooses keys; see exact_key */
	bool exact_key; /* false: a key that no other region has is made up */
	enum reg_call call;
	uint64_t flags;
	char auth[AUTH_TEXT_MAX]; /* authorization key, for REG_ATTR; "": the domain's */
	bool by_hand;             /* binding and enabling, where mr_mode asks for them, are left to the test */
};

struct region {
	uint8_t *map; /* guards and segments */
	size_t map_len;
	struct iovec iov[REGION_SEGS_MAX];
	size_t segs;
	struct fid_mr *mr; /* NULL: closed */
};

/* Memory filled with `seed`'s pattern and registered; any failure fails the test. */
void region_open(struct region *region, struct peer *peer, const struct region_want *want, uint32_t seed);
/* Lays out and fills the memory, and registers nothing. */
void region_map(struct region *region, const struct region_want *want, uint32_t seed);
/* Registers what region_map laid out, and makes it ready unless that is wanted by hand: the return value of the call. */
int region_reg(struct region *region, struct peer *peer, const struct region_want *want);
/* Binds a region to the peer's endpoint and enables it, as far as mr_mode asks for that; `flags` are those that it was
 * registered with. */
void mr_ready(struct peer *peer, struct fid_mr *mr, uint64_t flags);
/* Closes the region where it is open, and gives the memory back. */
void region_close(struct region *region);
void region_unmap(struct region *region);

/* The base of a segment as peers must address it: its virtual address, or its place in the region. */
uint64_t region_base(const struct region *region, const struct peer *peer, size_t seg);

/* How peers come to name a region: by its key, or, under FI_MR_RAW, by a raw key that they map. Plain bytes. */
enum { RAW_KEY_MAX = 64 };
struct key_card {
	uint64_t key;
	uint8_t raw[RAW_KEY_MAX];
	size_t raw_len; /* 0: not under FI_MR_RAW */
};
void key_show(struct peer *peer, struct fid_mr *mr, struct key_card *card);

/* A key that no region of this process was given yet. */
uint64_t region_fresh_key(const struct peer *peer);

/* Bytes that depend on seed and place alone. */
void pattern_fill(void *bytes, size_t len, uint32_t seed);
uint64_t pattern_hash(const void *bytes, size_t len);

/* A reproducible sequence of numbers. */
uint64_t pattern_next(uint64_t *state);

#endif
