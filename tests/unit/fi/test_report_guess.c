/* SPDX-License-Identifier: BSD-2-Clause */
/* test_report_guess.c - the region that a refused access meant: each mix-up, at the target and at the initiator, and accesses that
 * look like none. */
#include <stdint.h>
#include <string.h>

#include <criterion/criterion.h>

#include "emu/nic/regions/mr.h"
#include "emu/process/front/process_front.h"
#include "emu/process/report/report_regions.h"

#define KEY UINT64_C(0x1122334455667788)
#define ADDR UINT64_C(0x7f0000400000)
#define OTHER UINT64_C(0x7f0000900000)
#define UNKNOWN UINT64_C(0xabcdef0123456789)

enum { LENGTH = 65536, PAGE = 4096 };

/* The front end's words. */
const struct process_front process_front = {
	.guesses = {
		[GUESS_DESCRIPTOR] = "local descriptor of this region",
		[GUESS_ASKED] = "what this region asked for",
		[GUESS_ADDRESS] = "The key is an address in this region",
		[GUESS_OWN_DESCRIPTOR] = "descriptor of a region of this process",
		[GUESS_OWN_KEY] = "that of a region of this process",
	},
};

/* The target's: by virtual address, by offset, and one more over the memory of the first that may be read. */
static struct region_facts reading = { .key = 3, .addr = ADDR, .length = LENGTH, .access = MR_REMOTE_READ, .virtual_addr = true };
static struct region_facts by_offset = { .next = &reading, .key = 2, .addr = OTHER, .length = LENGTH, .access = MR_REMOTE_WRITE };
static struct region_facts by_address = { .next = &by_offset,
					  .key = KEY,
					  .desc = 77,
					  .asked = 5,
					  .addr = ADDR,
					  .length = LENGTH,
					  .access = MR_REMOTE_WRITE,
					  .virtual_addr = true };

enum refused { KEYLESS, CLOSED, RANGE, RIGHTS };

static const struct region_facts *guess_at(bool target, enum refused refused, uint64_t key, uint64_t addr, uint64_t length,
					   char *what, size_t size)
{
	const struct region_guess guess = { .right = refused == RIGHTS ? MR_REMOTE_READ : MR_REMOTE_WRITE,
					    .closed = refused == CLOSED,
					    .range = refused == RANGE,
					    .rights = refused == RIGHTS,
					    .key = key,
					    .addr = addr,
					    .length = length };

	what[0] = '\0';
	return region_guess_in(&by_address, &guess, target, what, size);
}

static const struct mixup {
	const char *says; /* a part of the sentence; NULL: no guess */
	const struct region_facts *meant;
	bool initiator;
	enum refused refused;
	uint64_t key, addr, length;
} mixups[] = {
	{ "local descriptor of this region", &by_address, false, KEYLESS, 77, ADDR, 8 },
	{ "Key and address are swapped", &by_address, false, KEYLESS, ADDR + 8, KEY, 8 },
	{ "what this region asked for", &by_address, false, KEYLESS, 5, ADDR, 8 },
	{ "lower half", &by_address, false, KEYLESS, (uint32_t)KEY, ADDR, 8 },
	{ "in the reverse order", &by_address, false, KEYLESS, __builtin_bswap64(KEY), ADDR, 8 },
	{ "The key is an address in this region", &by_address, false, KEYLESS, ADDR, 0, 8 },
	{ "under another key", &by_address, false, KEYLESS, UNKNOWN, ADDR + 8, 8 },
	{ NULL, NULL, false, KEYLESS, UNKNOWN, 0, 8 }, /* an offset fits everywhere */
	{ NULL, NULL, false, KEYLESS, UNKNOWN, ADDR - 8, 16 },
	{ "registered anew", &by_address, false, CLOSED, UNKNOWN, ADDR + 8, 8 },
	{ NULL, NULL, false, CLOSED, UNKNOWN, ADDR - 8, 8 },
	{ "Pass 0x10.", &by_offset, false, RANGE, 2, OTHER + 16, 8 },
	{ "Pass 0x7f0000400010.", &by_address, false, RANGE, KEY, 16, 8 },
	{ "Another region holds the range", &by_address, false, RANGE, 2, ADDR + 16, 8 },
	{ "off by one page", &by_address, false, RANGE, KEY, ADDR + LENGTH, PAGE },
	{ "off by one page", &by_address, false, RANGE, KEY, ADDR - PAGE, PAGE },
	{ "off by one element of 64 B", &by_address, false, RANGE, KEY, ADDR + LENGTH, 64 },
	{ "off by one element of 64 B", &by_offset, false, RANGE, 2, LENGTH, 64 },
	{ "off by 8 B", &by_address, false, RANGE, KEY, ADDR + LENGTH - 56, 64 },
	{ NULL, NULL, false, RANGE, KEY, ADDR + LENGTH + 1000, 64 },
	{ NULL, NULL, false, RANGE, KEY, UINT64_MAX - 3, 64 }, /* the end wraps */
	{ "holds the same bytes and allows it", &reading, false, RIGHTS, KEY, ADDR + 16, 8 },
	{ NULL, NULL, false, RIGHTS, 2, 16, 8 },
	{ "descriptor of a region of this process", &by_address, true, KEYLESS, 77, 0, 8 },
	{ "that of a region of this process", &by_address, true, KEYLESS, KEY, 0, 8 },
	{ "lies in a region of this process", &by_address, true, RANGE, KEY, ADDR + 8, 8 },
	{ NULL, NULL, true, RANGE, KEY, ADDR - 8, 8 },
};

Test(report_guess, each_mixup)
{
	char what[256];

	for (size_t i = 0; i < sizeof(mixups) / sizeof(mixups[0]); i++) {
		const struct mixup *m = &mixups[i];
		const struct region_facts *meant = guess_at(!m->initiator, m->refused, m->key, m->addr, m->length, what,
							    sizeof(what));

		cr_expect_eq(meant, m->meant, "%zu: %s", i, what);
		cr_expect(m->says ? strstr(what, m->says) != NULL : !what[0], "%zu: %s, and not %s", i, what, m->says);
	}
}

/* Regions of another domain are never meant. */
Test(report_guess, of_one_domain)
{
	const struct region_guess guess = { .pd = &guess, .right = MR_REMOTE_WRITE, .key = 77, .addr = ADDR, .length = 8 };
	char what[256];

	cr_assert_eq(region_guess_in(&by_address, &guess, true, what, sizeof(what)), NULL);
}
