/* SPDX-License-Identifier: BSD-2-Clause */
/* test_place.c - a position that walks over scattered memory. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/nic/memory/guard.h"
#include "emu/nic/memory/place.h"

enum { PAGE = 4096 };

static void setup(void)
{
	cr_assert_eq(guard_install(), 0);
}

TestSuite(place, .init = setup);

static char memory[64];
static const struct iovec scattered[] = {
	{ memory, 0 }, { memory, 8 }, { memory + 16, 0 }, { memory + 24, 4 }, { memory + 30, 20 }
};

static void expect_runs(const struct place *place, uint64_t max, int room, int wanted, const struct iovec *runs)
{
	struct iovec got[LIMIT_IOV];

	cr_assert_eq(place_runs(place, max, got, room), wanted);
	for (int i = 0; i < wanted; i++)
		cr_assert(got[i].iov_base == runs[i].iov_base && got[i].iov_len == runs[i].iov_len, "run %d", i);
}

/* None is empty: a receive into nothing but empty runs would look like the end of the stream. */
Test(place, runs)
{
	static const struct iovec all[] = { { memory, 8 }, { memory + 24, 4 }, { memory + 30, 20 } };
	struct place place;

	place_set(&place, scattered, 5);
	expect_runs(&place, UINT64_MAX, LIMIT_IOV, 3, all);
	expect_runs(&place, UINT64_MAX, 1, 1, all);
	expect_runs(&place, 12, LIMIT_IOV, 2, all);
	expect_runs(&place, 0, LIMIT_IOV, 0, all);
	expect_runs(&place, 10, LIMIT_IOV, 2, (struct iovec[]){ { memory, 8 }, { memory + 24, 2 } });
	place_advance(&place, 3);
	expect_runs(&place, 6, LIMIT_IOV, 2, (struct iovec[]){ { memory + 3, 5 }, { memory + 24, 1 } });
	place_advance(&place, 5);
	expect_runs(&place, UINT64_MAX, LIMIT_IOV, 2, all + 1);
	place_advance(&place, 24);
	expect_runs(&place, UINT64_MAX, LIMIT_IOV, 0, all);
	cr_assert(place.at == 5 && !place.skip, "at the end");
	place_advance(&place, 1);
	cr_assert(place.at == 5 && !place.skip, "and stays there");
}

Test(place, nothing_at_all)
{
	struct place place;

	place_set(&place, NULL, 0);
	expect_runs(&place, UINT64_MAX, LIMIT_IOV, 0, NULL);
	cr_assert(place_readable(&place, 100));
}

/* Piece by piece, and what goes past the end is dropped. */
Test(place, put_and_get)
{
	static const char text[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	struct place to, from;
	char back[sizeof(text)] = "";

	place_set(&to, scattered, 5);
	cr_assert(place_put(&to, text, 5) && place_put(&to, text + 5, sizeof(text) - 5));
	cr_assert(!memcmp(memory, "abcdefgh\0", 9) && !memcmp(memory + 23, "\0ijkl\0\0mnopqrstuvwxyz012345\0", 28));
	place_set(&from, scattered, 5);
	cr_assert(place_get(&from, back, 9) && place_get(&from, back + 9, sizeof(back) - 9));
	cr_assert_str_eq(back, "abcdefghijklmnopqrstuvwxyz012345");
}

/* S18: each page of the range counts, and no other. */
Test(place, readable_to_the_page)
{
	char *pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec runs[] = { { pages, 10 }, { pages + PAGE - 1, PAGE + 2 } };
	struct place place;
	char bytes[10];

	place_set(&place, runs, 2);
	cr_assert(place_readable(&place, UINT64_MAX));
	cr_assert_eq(mprotect(pages + 2 * PAGE, PAGE, PROT_NONE), 0);
	cr_assert(place_readable(&place, 10 + PAGE + 1));
	cr_assert_not(place_readable(&place, 10 + PAGE + 2));
	cr_assert_eq(mprotect(pages, PAGE, PROT_NONE), 0);
	cr_assert_not(place_readable(&place, 1));
	cr_assert_not(place_get(&place, bytes, 10));
	cr_assert_not(place_put(&place, bytes, 10));
	place_advance(&place, 11);
	cr_assert(place_readable(&place, PAGE));
}
