/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_table.h - all regions of one protection domain: keys, descriptors, tombstones.
 *
 * Owner:  the protection domain (struct pd), one each.
 * Thread: every call needs the driver role, except mr_table_local_ok() and its like, which any thread may
 *         call: the table's own leaf lock guards the descriptors.
 * A region is found in O(1), at a million as at ten; it costs under 256 bytes. */
#ifndef EMU_NIC_MR_TABLE_H
#define EMU_NIC_MR_TABLE_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/regions/mr.h"

/* A bit set in every descriptor, and in no address of a program. */
#define MR_DESC_MARK (UINT64_C(1) << 63)

struct front_end;
struct mr_table;
struct mr_windows;

struct mr_attr {
	const struct iovec *iov; /* copied; 1 to LIMIT_IOV, checked by the caller, as are lengths and flags */
	size_t iov_count;
	uint32_t access;        /* enum mr_access */
	uint64_t key;           /* the key wanted, unless provider_key */
	bool provider_key;      /* the table draws a random key of key_bytes bytes (S38) */
	bool raw;               /* the key gets a random second half (FI_MR_RAW) */
	struct mr_pages *pages; /* the region's from then on, if mr_add() succeeds */
	struct pin *pin;        /* the caller's; as in struct mr */
	uint8_t key_bytes;      /* 1 to 8 */
	bool virtual_addr;
	bool registering, gated, by_endpoint, events; /* as in struct mr; gated: made disabled */
	bool persistent;                              /* S132 */
	uint64_t auth;                                /* as in struct mr */
	struct auth_set *auths;                       /* likewise; the region's, once it is made */
	uint64_t shift;                               /* as in struct mr; a region within another has that one's, and: */
	uint64_t base_shift;                          /* from the addresses given here to those of the base */
	bool single_use;                              /* S130 */
	void *context;                                /* as in struct mr */
	struct mr *base;                              /* as in struct mr */
	bool windows, window;                         /* likewise */
	const struct mr_windows *names;               /* a key that is drawn is none of these; or NULL */
	size_t regions_max;                           /* of the table; 0: as many as memory holds */
};

/* `random` fills with unguessable bytes and is called for keys and descriptors. Returns 0 or -ENOMEM. */
MUST_USE int mr_table_open(struct mr_table **table, void (*random)(void *arg, void *bytes, size_t length), void *arg);
/* Frees all; regions still there are ended. */
void mr_table_close(struct mr_table *table);

/* Registers; the region is enabled unless `gated`. Returns 0 and *mr;
 * -NIC_ENOKEY (in use, S35; or none left to draw), -EKEYREJECTED (all ones, or wider than key_bytes, S36),
 * -EINVAL (a segment, or the sum of their lengths, goes past 2^64, or they do not lie within `base`, S122; a window's was judged
 * before), -ENOMEM.
 * Under provider_key keys are non-zero, unguessable, and no value of a live key or of a tombstone. */
MUST_USE int mr_add(struct mr_table *table, const struct mr_attr *attr, struct mr **mr);
/* Ends a region, which has no regions within it: its key is free for another at once (S183), its bindings are dissolved, a
 * tombstone with the time stays (S178). */
void mr_remove(struct mr_table *table, struct mr *mr, uint64_t now_ns);

struct mr *mr_find(const struct mr_table *table, uint64_t key);
/* By its descriptor, which is any value that the program gave. */
struct mr *mr_find_local(struct mr_table *table, const void *desc);
/* Was the key closed, with this second half (0: a plain key)? Returns true and *age_ns since then, as far back as
 * LIMIT_TOMBSTONES remembers; and *window: it was of a memory window. */
bool mr_tombstone(const struct mr_table *table, uint64_t key, uint64_t tail, uint64_t now_ns, uint64_t *age_ns, bool *window);
/* Guesses the mistake in a key that no region has, in words for the program whose regions these are (no peer may hear it);
 * NULL: nothing. *like: the key of that region, or `key` itself. Looks at the first LIMIT_LIKE_KEYS regions. */
const char *mr_like(const struct mr_table *table, const struct front_end *front, uint64_t key, uint64_t *like);
/* Have the memory of a lookup fetched that is to come, in four steps with some time between them: see prefetch.h. */
void mr_expect(const struct mr_table *table, uint64_t key);
void mr_expect_near(const struct mr_table *table, uint64_t key);
void mr_expect_next(const struct mr_table *table, uint64_t key);
void mr_expect_here(const struct mr_table *table, uint64_t key);
size_t mr_count(const struct mr_table *table);
/* Any one region; NULL: there is none. As dear as the table is long. */
const struct mr *mr_any(const struct mr_table *table);
/* The next region at *slot or behind it, which moves on (0: the first); NULL: there is none, or *looks, which counts down, is 0. */
const struct mr *mr_walk(const struct mr_table *table, uint32_t *slot, uint32_t *looks);

/* Local buffers of a post: mr_table_local_sure() first, then _ok(), and _why() for the words of a refusal.
 *
 * Is [addr, addr + length) inside one segment, or segments that touch, of the live region that `desc` names, with all
 * rights of `access` (0: any will do)? desc is any value that the program gave: it is looked up, never followed. A zero
 * length is inside anywhere. Any thread.
 * Returns 0; -EINVAL for a wild or closed descriptor or a range outside; -EACCES for a missing right. */
MUST_USE int mr_table_local_ok(struct mr_table *table, const void *desc, const void *addr, size_t length, uint32_t access);
/* Why it is not; or MR_LOCAL_OK: it is, by now. Any thread, only on the path of a refusal. */
enum mr_local_cause {
	MR_LOCAL_OK,
	MR_LOCAL_UNKNOWN, /* names no region, and none that was closed lately */
	MR_LOCAL_CLOSED,  /* one that has been closed, as far back as LIMIT_TOMBSTONES remembers */
	MR_LOCAL_OUTSIDE, /* the range is not inside */
	MR_LOCAL_RIGHT,   /* a right is missing */
};
struct mr_local { /* of a live region: its first segment */
	uint64_t base, length;
};
enum mr_local_cause mr_table_local_why(struct mr_table *table, const void *desc, const void *addr, size_t length, uint32_t access,
				       struct mr_local *region);
/* True: it is; most posts hear so without the lock. False says nothing. Any thread. */
bool mr_table_local_sure(const struct mr_table *table, const void *desc, const void *addr, size_t length, uint32_t access);

#endif
