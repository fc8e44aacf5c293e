/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_pages.c - one bit a page, segment after segment. */
#include "emu/nic/regions/mr_pages.h"

#include <errno.h>

#include "emu/nic/base/huge_pages.h"
#include "emu/nic/memory/pagemap.h"

static uint64_t last_page(uint64_t addr, uint64_t length)
{
	return (addr + (length - 1)) >> PAGE_SHIFT;
}

int mr_pages_open(struct mr_pages **out, const struct iovec *segments, size_t count)
{
	struct mr_pages *pages, shape = { .runs = (uint8_t)count, .span.first = UINT64_MAX };
	uint64_t bits = 0;
	int err = pagemap_open();

	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		uint64_t addr = (uintptr_t)segments[i].iov_base, length = segments[i].iov_len;

		shape.run[i].first = addr >> PAGE_SHIFT;
		shape.run[i].count = length ? last_page(addr, length) - shape.run[i].first + 1 : 0;
		shape.run[i].bit = bits;
		bits += shape.run[i].count;
		if (bits > LIMIT_REGION_PAGES)
			return -ENOMEM;
		if (length && shape.run[i].first < shape.span.first)
			shape.span.first = shape.run[i].first;
		if (length && last_page(addr, length) > shape.span.last)
			shape.span.last = last_page(addr, length);
	}
	shape.bytes = sizeof(shape) + (bits + 7) / 8;
	pages = huge_pages_alloc(shape.bytes);
	if (!pages)
		return -ENOMEM;
	*pages = shape;
	*out = pages;
	return 0;
}

void mr_pages_close(struct mr_pages *pages)
{
	if (pages && pages->watch)
		pages->watch->end(pages);
	if (pages)
		huge_pages_free(pages, pages->bytes);
}

static void lock(const struct mr_pages *pages)
{
	if (pages->watch)
		pages->watch->lock();
}

static void unlock(const struct mr_pages *pages)
{
	if (pages->watch)
		pages->watch->unlock();
}

static bool knows(const struct mr_pages *pages, uint64_t bit)
{
	return pages->known[bit / 8] >> bit % 8 & 1;
}

static void set(struct mr_pages *pages, uint64_t bit, bool known)
{
	uint8_t mask = (uint8_t)(1 << bit % 8);

	pages->known[bit / 8] = (uint8_t)((pages->known[bit / 8] & ~mask) | (known ? mask : 0));
}

/* The part of run `at` that lies in the range: its first page and how many. */
static uint64_t overlap(const struct mr_pages *pages, size_t at, uint64_t addr, uint64_t length, uint64_t *first)
{
	uint64_t end = pages->run[at].first + pages->run[at].count, stop;

	if (!length || !pages->run[at].count)
		return 0;
	stop = last_page(addr, length) + 1;
	*first = addr >> PAGE_SHIFT;
	if (*first < pages->run[at].first)
		*first = pages->run[at].first;
	if (stop > end)
		stop = end;
	return stop > *first ? stop - *first : 0;
}

/* Looks and notes under one lock: later changes are told later. */
static int scan_some(struct mr_pages *pages, uint64_t bit, uint64_t page, size_t count)
{
	bool there[PAGEMAP_AT_ONCE];
	int err;

	lock(pages);
	err = pagemap_read(page, count, there);
	for (size_t k = 0; k < count && !err; k++)
		set(pages, bit + k, there[k]);
	unlock(pages);
	return err;
}

int mr_pages_scan(struct mr_pages *pages, uint64_t addr, uint64_t length)
{
	for (size_t i = 0; i < pages->runs; i++) {
		uint64_t page, left = overlap(pages, i, addr, length, &page);

		while (left) {
			size_t count = left < PAGEMAP_AT_ONCE ? (size_t)left : PAGEMAP_AT_ONCE;

			if (scan_some(pages, pages->run[i].bit + (page - pages->run[i].first), page, count))
				return -EFAULT;
			page += count;
			left -= count;
		}
	}
	return 0;
}

/* With the lock. `from` NULL: none is known. */
static void mr_pages_copy_known(struct mr_pages *pages, const struct mr_pages *from, uint64_t addr, uint64_t length)
{
	for (size_t i = 0; i < pages->runs; i++) {
		uint64_t page, left = overlap(pages, i, addr, length, &page);
		uint64_t bit = pages->run[i].bit + (left ? page - pages->run[i].first : 0);

		for (; left; left--, bit++)
			set(pages, bit, from && knows(from, bit));
	}
}

void mr_pages_take(struct mr_pages *pages, const struct mr_pages *from, uint64_t addr, uint64_t length)
{
	lock(pages);
	mr_pages_copy_known(pages, from, addr, length);
	pages->watched |= from->watched; /* runs that were not there when this table was made, and are now */
	unlock(pages);
}

void mr_pages_forget(struct mr_pages *pages, uint64_t addr, uint64_t length)
{
	mr_pages_copy_known(pages, NULL, addr, length);
}

bool mr_pages_touch(const struct mr_pages *pages, uint64_t addr, uint64_t length)
{
	uint64_t page;

	for (size_t i = 0; i < pages->runs; i++)
		if (overlap(pages, i, addr, length, &page))
			return true;
	return false;
}

/* How many pages from this one on are known, up to `last`; a run may end where the next one goes on, or share its page.
 * Eight at a time, as a region may be large. */
static uint64_t known_from(const struct mr_pages *pages, uint64_t page, uint64_t last)
{
	for (size_t i = 0; i < pages->runs; i++) {
		uint64_t at = page - pages->run[i].first, left = pages->run[i].count - at, bit = pages->run[i].bit + at;
		uint64_t found = 0;

		if (at >= pages->run[i].count)
			continue;
		left = left < last - page + 1 ? left : last - page + 1;
		while (found < left) {
			if (bit % 8 == 0 && left - found >= 8 && pages->known[bit / 8] == 0xff) {
				found += 8;
				bit += 8;
			} else if (knows(pages, bit)) {
				found++;
				bit++;
			} else {
				break;
			}
		}
		if (found)
			return found;
	}
	return 0;
}

static bool know(const struct mr_pages *pages, const struct iovec *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t page = (uintptr_t)bytes[i].iov_base >> PAGE_SHIFT;
		uint64_t last = last_page((uintptr_t)bytes[i].iov_base, bytes[i].iov_len);

		while (page <= last) {
			uint64_t known = known_from(pages, page, last);

			if (!known)
				return false;
			page += known;
		}
	}
	return true;
}

bool mr_pages_know(const struct mr_pages *pages, const struct iovec *bytes, size_t count)
{
	bool all;

	lock(pages);
	all = know(pages, bytes, count);
	unlock(pages);
	return all;
}

static bool share_page(const struct iovec *one, const struct iovec *other)
{
	uint64_t at = (uintptr_t)one->iov_base, start = (uintptr_t)other->iov_base;

	return one->iov_len && other->iov_len && at >> PAGE_SHIFT <= last_page(start, other->iov_len) &&
	       start >> PAGE_SHIFT <= last_page(at, one->iov_len);
}

bool mr_refresh_meets(const struct mr_refresh *first, const struct iovec *bytes, size_t count)
{
	for (; first; first = first->next)
		for (size_t i = 0; i < first->count; i++)
			for (size_t k = 0; k < count; k++)
				if (share_page(&first->range[i], &bytes[k]))
					return true;
	return false;
}
