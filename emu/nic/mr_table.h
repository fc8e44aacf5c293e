/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_table.h - all regions of one protection domain: keys, descriptors, tombstones.
 *
 * Owner:  the protection domain (struct pd), one each.
 * Thread: every call needs the driver role, except mr_table_local_ok() and mr_table_local_sure(), which any thread may
 *         call: the table's own leaf lock guards the descriptors.
 * A region is found in O(1), at a million as at ten; it costs under 256 bytes. */
#ifndef EMU_NIC_MR_TABLE_H
#define EMU_NIC_MR_TABLE_H

#include "emu/nic/mr.h"

/* In every descriptor, and in no address of a program. */
#define MR_DESC_MARK (UINT64_C(1) << 63)

struct mr_table;

struct mr_attr {
	const struct iovec *iov;	/* copied; 1 to LIMIT_IOV, checked by the caller, as are lengths and flags */
	size_t   iov_count;
	uint32_t access;	/* enum mr_access */
	uint64_t key;		/* the key wanted, unless provider_key */
	bool     provider_key;	/* the table draws a random key of key_bytes bytes (S38) */
	bool     raw;		/* the key gets a random second half (FI_MR_RAW) */
	struct mr_pages *pages;	/* the region's from then on, if mr_add() succeeds */
	struct pin *pin;	/* the caller's; as in struct mr */
	uint8_t  key_bytes;	/* 1 to 8 */
	bool     virtual_addr;
	bool     registering, gated, by_endpoint, events;	/* as in struct mr; gated: made disabled */
	bool     persistent;	/* S132 */
	uint64_t auth;		/* as in struct mr */
	struct auth_set *auths;	/* likewise; the region's, once it is made */
	uint64_t shift;		/* as in struct mr; a region within another has that one's */
	bool     single_use;	/* S130 */
	struct mr *base;	/* as in struct mr; the caller has seen that it covers all segments (S122) */
};

/* `random` fills with unguessable bytes and is called for keys and descriptors. Returns 0 or -ENOMEM. */
int  mr_table_open(struct mr_table **table, void (*random)(void *arg, void *bytes, size_t length), void *arg);
/* Frees all; regions still there are ended. */
void mr_table_close(struct mr_table *table);

/* Registers; the region is enabled unless `gated`. Returns 0 and *mr;
 * -FI_ENOKEY (duplicate, S35; or none left to draw), -FI_EKEYREJECTED (all ones, or wider than key_bytes, S36),
 * -EINVAL (a segment, or the sum of their lengths, goes past 2^64), -ENOMEM. Under provider_key keys are
 * non-zero, unguessable, and no value of a live key or of a tombstone. */
int  mr_add(struct mr_table *table, const struct mr_attr *attr, struct mr **mr);
/* Ends a region, which has no regions within it: its key is free for another at once (S183), its bonds are dissolved, a
 * tombstone with the time stays (S178). */
void mr_remove(struct mr_table *table, struct mr *mr, uint64_t now_ns);

struct mr *mr_find(const struct mr_table *table, uint64_t key);
/* Was `key` closed? Returns true and *age_ns since then, as far back as LIMIT_TOMBSTONES remembers. */
bool mr_tombstone(const struct mr_table *table, uint64_t key, uint64_t now_ns, uint64_t *age_ns);
/* Have the memory of a lookup fetched that is to come, in four steps with some time between them: see ahead.h. */
void mr_expect(const struct mr_table *table, uint64_t key);
void mr_expect_near(const struct mr_table *table, uint64_t key);
void mr_expect_next(const struct mr_table *table, uint64_t key);
void mr_expect_here(const struct mr_table *table, uint64_t key);
size_t mr_count(const struct mr_table *table);

/* Is [addr, addr + length) inside one segment, or segments that touch, of the live region that `desc` names, with all
 * rights of `access` (0: any will do)? desc is whatever the program gave: it is looked up, never followed. A zero
 * length is inside anywhere. Any thread.
 * Returns 0; -FI_EINVAL for a wild or closed descriptor or a range outside; -FI_EACCES for a missing right. */
int mr_table_local_ok(struct mr_table *table, const void *desc, const void *addr, size_t length, uint32_t access);
/* True: it is, which most posts are told without the lock. False says nothing. Any thread. */
bool mr_table_local_sure(const struct mr_table *table, const void *desc, const void *addr, size_t length, uint32_t access);

#endif
