/* SPDX-License-Identifier: BSD-2-Clause */
/* test_mr_pages.c - what the kernel says of pages, and the table of those that a region knows. */
#include <criterion/criterion.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/nic/memory/pagemap.h"
#include "emu/nic/regions/mr_pages.h"
#include "sandbox.h"

enum { PAGES = 1500 }; /* more than are asked for at once */

static char *map;

static void setup(void)
{
	map = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(map, MAP_FAILED);
	if (pagemap_open())
		cr_skip_test("the kernel does not tell which pages are there");
}

TestSuite(mr_pages, .init = setup);

static uint64_t at(size_t page)
{
	return (uintptr_t)map + page * PAGE_BYTES;
}

static bool know(const struct mr_pages *pages, uint64_t addr, size_t length)
{
	return mr_pages_know(pages, &(struct iovec){ (void *)(uintptr_t)addr, length }, 1);
}

Test(mr_pages, what_was_touched_is_there)
{
	cr_assert_not(pagemap_all(at(0), 1));
	map[0] = 1;
	map[600 * PAGE_BYTES] = 1;
	cr_assert(pagemap_all(at(0), PAGE_BYTES));
	cr_assert_not(pagemap_all(at(0), PAGE_BYTES + 1));
	cr_assert(pagemap_all(at(600), 1));
	memset(map, 1, PAGES * PAGE_BYTES);
	cr_assert(pagemap_all(at(0), PAGES * PAGE_BYTES));
	cr_assert(pagemap_all(at(5), 0));
	madvise(map + 1400 * PAGE_BYTES, PAGE_BYTES, MADV_DONTNEED);
	cr_assert_not(pagemap_all(at(0), PAGES * PAGE_BYTES));
	munmap(map, PAGE_BYTES);
	cr_assert_not(pagemap_all(at(0), 1));
}

Test(mr_pages, ends_of_the_address_space)
{
	bool there[4] = { true, true, true, true };

	cr_assert(pagemap_all(at(0) + 1, 0), "no bytes, on a page that is not there");
	cr_assert_eq(pagemap_read(UINT64_C(1) << 50, 4, there), 0);
	cr_assert_not(there[0] || there[1] || there[2] || there[3]);
	cr_assert_eq(pagemap_read(UINT64_MAX / 8, 1, there), -EFAULT, "no such place in the kernel's file");
	cr_assert_not(pagemap_all(UINT64_MAX, 1));
}

/* A program may have closed its standard input: then the file is number 0. */
Test(pagemap, standard_input_is_closed)
{
	char here = 1;

	close(0);
	cr_assert_eq(pagemap_open(), 0);
	cr_assert(pagemap_all((uintptr_t)&here, here));
}

/* A table knows what it scanned, to the page, and takes over no more than the range asked for. */
Test(mr_pages, scan_and_take)
{
	struct iovec segment = { map + 100, (PAGES - 1) * PAGE_BYTES };
	struct mr_pages *pages, *fresh;

	memset(map, 1, PAGES * PAGE_BYTES);
	madvise(map + 700 * PAGE_BYTES, 2 * PAGE_BYTES, MADV_DONTNEED);
	cr_assert_eq(mr_pages_open(&pages, &segment, 1), 0);
	cr_assert_eq(mr_pages_open(&fresh, &segment, 1), 0);
	cr_assert_not(know(pages, at(3), 1));
	cr_assert_eq(mr_pages_scan(fresh, (uintptr_t)segment.iov_base, segment.iov_len), 0);
	cr_assert(know(fresh, at(0) + 100, 700 * PAGE_BYTES - 100));
	cr_assert_not(know(fresh, at(699) + PAGE_BYTES - 1, 2));
	cr_assert_not(know(fresh, at(701), PAGE_BYTES));
	cr_assert(know(fresh, at(702), 10 * PAGE_BYTES));
	mr_pages_take(pages, fresh, at(10) + 5, 1);
	cr_assert(know(pages, at(10), PAGE_BYTES));
	cr_assert_not(know(pages, at(9), 1));
	cr_assert_not(know(pages, at(11), 1));
	mr_pages_take(pages, fresh, at(0), UINT64_MAX - at(0));
	cr_assert(know(pages, at(0), 700 * PAGE_BYTES));
	cr_assert_not(know(pages, at(PAGES), 1), "a page behind the region");
	mr_pages_close(pages);
	mr_pages_close(fresh);
}

/* They are looked at eight at a time where all eight are known, and only from the first of them on. */
Test(mr_pages, one_of_eight_is_missing)
{
	struct iovec segment = { map, 32 * PAGE_BYTES };
	struct mr_pages *pages;

	memset(map, 1, segment.iov_len);
	cr_assert_eq(mr_pages_open(&pages, &segment, 1), 0);
	cr_assert_eq(mr_pages_scan(pages, at(0), segment.iov_len), 0);
	mr_pages_forget(pages, at(8), 1);
	cr_assert(know(pages, at(0), 8 * PAGE_BYTES));
	cr_assert_not(know(pages, at(3), 8 * PAGE_BYTES));
	cr_assert_not(know(pages, at(8), 8 * PAGE_BYTES));
	cr_assert(know(pages, at(9), 23 * PAGE_BYTES));
	mr_pages_forget(pages, at(19), 1);
	cr_assert_not(know(pages, at(16), 16 * PAGE_BYTES));
	mr_pages_close(pages);
}

Test(mr_pages, no_bytes_touch_no_page)
{
	struct iovec segment = { map, 4 * PAGE_BYTES };
	struct mr_pages *pages;

	cr_assert_eq(mr_pages_open(&pages, &segment, 1), 0);
	cr_assert(mr_pages_touch(pages, at(2) + 100, 1));
	cr_assert_not(mr_pages_touch(pages, at(2) + 100, 0));
	mr_pages_close(pages);
}

/* Segments that share a page, and one without bytes. */
Test(mr_pages, several_segments)
{
	struct iovec segments[] = { { map, 100 }, { map + 200, 100 }, { map + PAGE_BYTES, 0 }, { map + 3 * PAGE_BYTES, 1 } };
	struct mr_pages *pages;

	memset(map, 1, 4 * PAGE_BYTES);
	cr_assert_eq(mr_pages_open(&pages, segments, 4), 0);
	cr_assert_eq(mr_pages_scan(pages, at(0) + 200, 100), 0);
	cr_assert(know(pages, at(0), 100), "the same page");
	cr_assert_not(know(pages, at(1), 1));
	cr_assert_not(know(pages, at(3), 1));
	cr_assert_eq(mr_pages_scan(pages, at(3), 1), 0);
	cr_assert(know(pages, at(3), 1));
	mr_pages_close(pages);
}

/* From the first page to the last of all that have bytes, in whatever order: by these a table is found. */
Test(mr_pages, span)
{
	struct iovec segments[] = { { map + 5 * PAGE_BYTES, 1 },
				    { map + 2 * PAGE_BYTES, PAGE_BYTES + 1 },
				    { map + PAGE_BYTES, 0 },
				    { map + 4 * PAGE_BYTES, 1 },
				    { map + 9 * PAGE_BYTES, 0 } };
	struct mr_pages *pages;

	cr_assert_eq(mr_pages_open(&pages, segments, 5), 0);
	cr_assert_eq(pages->span.first, at(2) / PAGE_BYTES);
	cr_assert_eq(pages->span.last, at(5) / PAGE_BYTES);
	mr_pages_close(pages);
}

Test(mr_pages, closed_tables_leave_nothing)
{
	enum { WARM = 100, TIMES = 2000, BYTES_EACH = 16 };
	struct iovec segment = { map, PAGE_BYTES };
	struct mr_pages *pages;
	size_t before = 0, after;

	for (int i = 0; i < WARM + TIMES; i++) {
		if (i == WARM)
			before = mallinfo2().uordblks;
		cr_assert_eq(mr_pages_open(&pages, &segment, 1), 0);
		mr_pages_close(pages);
	}
	after = mallinfo2().uordblks;
	cr_expect(after < before + TIMES * BYTES_EACH, "%zu B more", after - before);
}

/* S115: the pages of the ranges of all calls at work, whole, and no others. */
Test(mr_refresh, meets_pages)
{
	struct iovec two[] = { { (void *)(3 * PAGE_BYTES + 5), PAGE_BYTES }, { (void *)(9 * PAGE_BYTES), 0 } };
	struct iovec other = { (void *)(12 * PAGE_BYTES), 1 };
	struct mr_refresh first = { .range = two, .count = 2 };
	struct mr_refresh second = { .next = &first, .range = &other, .count = 1 };

	for (uint64_t page = 0; page < 15; page++) {
		struct iovec bytes[] = { { NULL, 0 }, { (void *)(page * PAGE_BYTES + PAGE_BYTES - 1), 1 } };
		bool one = page == 3 || page == 4;

		cr_expect_eq(mr_refresh_meets(&first, bytes, 2), one, "page %lu", page);
		cr_expect_eq(mr_refresh_meets(&second, bytes, 2), one || page == 12, "page %lu", page);
		cr_expect_not(mr_refresh_meets(&second, bytes, 1), "no bytes");
		bytes[1].iov_len = 2;
		cr_expect_eq(mr_refresh_meets(&first, &bytes[1], 1), page >= 2 && page <= 4, "page %lu and the next", page);
	}
	cr_expect_not(mr_refresh_meets(NULL, &(struct iovec){ (void *)PAGE_BYTES, 1 }, 1));
}

/* S107. Limit: LIMIT_REGION_PAGES in all segments together. */
Test(mr_pages, too_many)
{
	const size_t most = (size_t)LIMIT_REGION_PAGES * PAGE_BYTES;
	struct iovec all = { NULL, SIZE_MAX }, segments[] = { { NULL, most - PAGE_BYTES }, { NULL, PAGE_BYTES } };
	struct mr_pages *pages;

	cr_assert_eq(mr_pages_open(&pages, &all, 1), -ENOMEM);
	cr_assert_eq(mr_pages_open(&pages, segments, 2), 0);
	mr_pages_close(pages);
	segments[1].iov_len++;
	cr_assert_eq(mr_pages_open(&pages, segments, 2), -ENOMEM);
}

Test(pagemap, cannot_be_read)
{
	struct iovec segment = { (void *)PAGE_BYTES, 1 };
	struct mr_pages *pages;

	if (!sandbox_refuse(SYS_openat, EACCES))
		cr_skip_test("no seccomp filter can be put in place");
	cr_assert_eq(mr_pages_open(&pages, &segment, 1), -ENOSYS);
}
