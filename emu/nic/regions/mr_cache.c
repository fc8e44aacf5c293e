/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_cache.c - regions in slots; an index of them sorted by address; a ring of them by last use.
 *
 * Slot 0 is no region but the head of the ring: its `next` was used last, its `prev` longest ago. Regions that go are
 * chained until the table is whole again, as forgot() may look into it. */
#include "emu/nic/regions/mr_cache.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/huge_pages.h"
#include "emu/nic/base/limits.h"

struct mr_cache_slot {
	uint64_t addr, length;
	uint32_t prev, next; /* the ring; `next` also chains free and gone slots, which 0 ends */
	bool writable;
};

struct mr_cache {
	struct mr_cache_attr attr;
	struct mr_cache_counts counts;
	uint32_t free, gone;         /* slots, chained */
	uint32_t *sorted;            /* counts.regions slots, by address */
	struct mr_cache_slot *slots; /* the head, attr.count_max, and one for a new region that comes before an old one goes */
};

static size_t sorted_bytes(const struct mr_cache_attr *attr)
{
	return attr->count_max * sizeof(uint32_t);
}

static size_t slots_bytes(const struct mr_cache_attr *attr)
{
	return (attr->count_max + 2) * sizeof(struct mr_cache_slot);
}

int mr_cache_open(struct mr_cache **out, const struct mr_cache_attr *attr)
{
	struct mr_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	assert(attr->count_max >= 1 && attr->count_max <= LIMIT_CACHED);
	cache->attr = *attr;
	cache->sorted = huge_pages_alloc(sorted_bytes(attr));
	cache->slots = huge_pages_alloc(slots_bytes(attr));
	if (!cache->sorted || !cache->slots) {
		mr_cache_close(cache);
		return -ENOMEM;
	}
	for (uint32_t i = attr->count_max + 1; i; i--) {
		cache->slots[i].next = cache->free;
		cache->free = i;
	}
	*out = cache;
	return 0;
}

void mr_cache_close(struct mr_cache *cache)
{
	huge_pages_free(cache->sorted, sorted_bytes(&cache->attr));
	huge_pages_free(cache->slots, slots_bytes(&cache->attr));
	free(cache);
}

static uint64_t last_of(const struct mr_cache_slot *slot)
{
	return slot->addr + (slot->length - 1);
}

static struct mr_cache_slot *at(const struct mr_cache *cache, uint32_t place)
{
	return &cache->slots[cache->sorted[place]];
}

/* The first place whose region does not end before `addr`; counts.regions if there is none. */
static uint32_t place_of(const struct mr_cache *cache, uint64_t addr)
{
	uint32_t low = 0, high = cache->counts.regions;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (last_of(at(cache, middle)) < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Is there a region at this place that begins by `last`? */
static bool begins_by(const struct mr_cache *cache, uint32_t place, uint64_t last)
{
	return place < cache->counts.regions && at(cache, place)->addr <= last;
}

static void ring_out(struct mr_cache *cache, uint32_t index)
{
	struct mr_cache_slot *slot = &cache->slots[index];

	cache->slots[slot->prev].next = slot->next;
	cache->slots[slot->next].prev = slot->prev;
}

static void ring_in(struct mr_cache *cache, uint32_t index)
{
	struct mr_cache_slot *head = &cache->slots[0], *slot = &cache->slots[index];

	slot->prev = 0;
	slot->next = head->next;
	cache->slots[head->next].prev = index;
	head->next = index;
}

static void mr_cache_unlink(struct mr_cache *cache, uint32_t place)
{
	uint32_t index = cache->sorted[place];

	ring_out(cache, index);
	cache->counts.regions--;
	cache->counts.bytes -= cache->slots[index].length;
	memmove(&cache->sorted[place], &cache->sorted[place + 1], (cache->counts.regions - place) * sizeof(*cache->sorted));
	cache->slots[index].next = cache->gone;
	cache->gone = index;
}

static void put_in(struct mr_cache *cache, uint64_t addr, uint64_t length, bool writable)
{
	uint32_t place = place_of(cache, addr), index = cache->free;

	assert(index && !begins_by(cache, place, addr + (length - 1)));
	cache->free = cache->slots[index].next;
	cache->slots[index] = (struct mr_cache_slot){ .addr = addr, .length = length, .writable = writable };
	ring_in(cache, index);
	memmove(&cache->sorted[place + 1], &cache->sorted[place], (cache->counts.regions - place) * sizeof(*cache->sorted));
	cache->sorted[place] = index;
	cache->counts.regions++;
	cache->counts.bytes += length;
}

/* Slots that have gone are free from here on. */
static void reuse_gone(struct mr_cache *cache)
{
	while (cache->gone) {
		uint32_t index = cache->gone;
		struct mr_cache_slot *slot = &cache->slots[index];

		cache->gone = slot->next;
		slot->next = cache->free;
		cache->free = index;
		if (cache->attr.forgot)
			cache->attr.forgot(cache->attr.arg, slot->addr, slot->length);
	}
}

bool mr_cache_find(struct mr_cache *cache, uint64_t addr, uint64_t length, bool writable)
{
	uint32_t place = place_of(cache, addr);
	bool hit = begins_by(cache, place, addr) && last_of(at(cache, place)) >= addr + (length - 1) &&
		   (at(cache, place)->writable || !writable);

	if (hit) {
		ring_out(cache, cache->sorted[place]);
		ring_in(cache, cache->sorted[place]);
		cache->counts.hits++;
	} else {
		cache->counts.misses++;
	}
	return hit;
}

/* The new region with those that merge with it: the bytes from first to last. */
struct span {
	uint64_t first, last;
	bool writable;
};

static bool overlaps(const struct mr_cache_slot *slot, uint64_t first, uint64_t last)
{
	return slot->addr <= last && last_of(slot) >= first;
}

static bool merges(const struct mr_cache *cache, const struct mr_cache_slot *slot, const struct span *span)
{
	return cache->attr.merge && slot->writable == span->writable;
}

/* The place of the first region that overlaps or adjoins the span; the next ones are behind it, while is_near() is true. */
static uint32_t first_near(const struct mr_cache *cache, const struct span *span)
{
	return place_of(cache, span->first ? span->first - 1 : 0);
}

static bool is_near(const struct mr_cache *cache, uint32_t place, const struct span *span)
{
	return begins_by(cache, place, span->last < UINT64_MAX ? span->last + 1 : UINT64_MAX);
}

/* The span with all that merges with it; as it was if that would be too long. */
static struct span merged(const struct mr_cache *cache, const struct span *span)
{
	struct span all = *span;

	for (uint32_t place = first_near(cache, span); is_near(cache, place, span); place++) {
		const struct mr_cache_slot *slot = at(cache, place);

		if (!merges(cache, slot, span))
			continue;
		all.first = slot->addr < all.first ? slot->addr : all.first;
		all.last = last_of(slot) > all.last ? last_of(slot) : all.last;
	}
	return all.last - all.first < cache->attr.bytes_max ? all : *span;
}

/* Takes out the regions in the way of the new one. `all`: the new region with all that it merges with. */
static void make_way(struct mr_cache *cache, const struct span *span, const struct span *all)
{
	uint32_t place = first_near(cache, span);

	while (is_near(cache, place, span)) {
		const struct mr_cache_slot *slot = at(cache, place);

		if (!overlaps(slot, all->first, all->last)) {
			place++;
			continue;
		}
		if (merges(cache, slot, span) && slot->addr >= all->first && last_of(slot) <= all->last)
			cache->counts.merged++;
		else
			cache->counts.evicted++;
		mr_cache_unlink(cache, place);
	}
}

/* Evicts until a region of `length` bytes fits in. */
static void evict(struct mr_cache *cache, uint64_t length)
{
	while (cache->counts.regions == cache->attr.count_max || cache->counts.bytes > cache->attr.bytes_max - length) {
		mr_cache_unlink(cache, place_of(cache, cache->slots[cache->slots[0].prev].addr));
		cache->counts.evicted++;
	}
}

bool mr_cache_add(struct mr_cache *cache, uint64_t addr, uint64_t length, bool writable)
{
	struct span span = { .first = addr, .last = addr + (length - 1), .writable = writable }, all;

	if (length > cache->attr.bytes_max)
		return false;
	all = merged(cache, &span);
	make_way(cache, &span, &all);
	evict(cache, all.last - all.first + 1);
	put_in(cache, all.first, all.last - all.first + 1, writable);
	reuse_gone(cache);
	return true;
}

void mr_cache_drop(struct mr_cache *cache, uint64_t addr, uint64_t length)
{
	uint32_t place = place_of(cache, addr);

	while (begins_by(cache, place, addr + (length - 1))) {
		mr_cache_unlink(cache, place);
		cache->counts.changed++;
	}
	reuse_gone(cache);
}

bool mr_cache_holds(const struct mr_cache *cache, uint64_t addr, uint64_t length)
{
	return begins_by(cache, place_of(cache, addr), addr + (length - 1));
}

void mr_cache_count(const struct mr_cache *cache, struct mr_cache_counts *counts)
{
	*counts = cache->counts;
}
