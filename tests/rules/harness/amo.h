/* SPDX-License-Identifier: BSD-2-Clause */
/* amo.h - remote atomics of a pair: 8-byte integers, one call of each sort. */
#ifndef TESTS_RULES_AMO_H
#define TESTS_RULES_AMO_H

#include "tests/rules/harness/harness.h"

#define WITH_ATOMICS (FI_MSG | FI_RMA | FI_ATOMIC)

enum amo { AMO_SUM, AMO_FETCH_SUM, AMO_SWAP, AMO_READ, AMOS };
enum { AMO_SIZE = 8, AMO_MOST = 64 }; /* bytes an element; elements a call here */

const char *amo_name(enum amo amo);
/* Does it change the target? */
bool amo_changes(enum amo amo);

/* A test of two processes whose endpoints have FI_ATOMIC: in no mode, in the classic ones, in all that there are, and
 * only where the provider has the operations. */
#define AMO_TEST(name)                           \
	static void name##_body(struct pair *p); \
	LONE_TEST(rules, name)                   \
	{                                        \
		amo_each(name##_body);           \
	}                                        \
	static void name##_body(struct pair *p)
void amo_each(void (*body)(struct pair *p));

/* Where the three buffers of a call lie, and their descriptors. */
struct amo_local {
	uint64_t *operand, *compare, *result;
	void *operand_desc, *compare_desc, *result_desc;
};
/* In the pair's own buffer; filled for a call that leaves `old` (NULL: unknown) and brings something else. */
void amo_local(struct pair *p, const uint64_t *old, size_t count, struct amo_local *local);
/* Posts one call and waits for its end. */
struct outcome amo_call(struct pair *p, enum amo amo, const struct amo_local *local, uint64_t addr, uint64_t key, size_t count,
			uint64_t flags);

/* OK for `count` elements from the region's byte `off` on: done once, and what was there returned. */
void ok_amo(struct pair *p, enum amo amo, struct remote *r, uint64_t off, size_t count);
/* DENY. */
void deny_amo(struct pair *p, enum amo amo, uint64_t addr, uint64_t key, size_t count, const char *rules);

#endif
