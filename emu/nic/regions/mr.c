/* SPDX-License-Identifier: BSD-2-Clause */
/* mr.c - the judgement of one access to a region.
 *
 * All numbers that come from a peer are compared with the rest of a trusted number, never added to one. The one
 * sum, addr + length, is made only after range_wraps() has shown that it fits. */
#include "emu/nic/regions/mr.h"

#include <assert.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/regions/auth.h"
#include "emu/nic/regions/auth_set.h"
#include "emu/nic/regions/mr_binding.h"
#include "emu/nic/regions/mr_pages.h"
#include "emu/nic/role/driver.h"

/* (NULL, SIZE_MAX) is every byte there is, the last one included, though a size_t cannot say so. */
static bool mr_is_everything(const struct mr *mr)
{
	return mr->iov_count == 1 && !mr->one.iov_base && mr->one.iov_len == SIZE_MAX;
}

/* Does [addr, addr + length) go past 2^64? Ending exactly there is no wrap. */
static bool range_wraps(uint64_t addr, uint64_t length)
{
	return length && length - 1 > UINT64_MAX - addr;
}

/* A byte that was found inside the region lies `shift` further on; modulo 2^64, as it may lie before. */
static void place_add(struct mr_place *place, const struct mr *mr, uint64_t addr, uint64_t length)
{
	assert(place->count < LIMIT_IOV);
	place->run[place->count++] = (struct iovec){ (void *)(uintptr_t)(addr + mr->shift), length };
}

/* S59, S63: offset `at` runs through the segments one behind the other. */
static bool place_by_offset(const struct mr *mr, uint64_t at, uint64_t length, struct mr_place *place)
{
	const struct iovec *seg = mr_segments(mr);

	if (at > mr->length || length > mr->length - at)
		return false;
	for (unsigned int i = 0; length; i++) {
		assert(i < mr->iov_count);
		if (at >= seg[i].iov_len) {
			at -= seg[i].iov_len;
			continue;
		}
		uint64_t run = seg[i].iov_len - at < length ? seg[i].iov_len - at : length;

		place_add(place, mr, (uintptr_t)seg[i].iov_base + at, run);
		length -= run;
		at = 0;
	}
	return true;
}

/* The segment that holds the byte at `addr`, or NULL. */
static const struct iovec *segment_at(const struct mr *mr, uint64_t addr)
{
	const struct iovec *seg = mr_segments(mr);

	for (unsigned int i = 0; i < mr->iov_count; i++) {
		if (addr >= (uintptr_t)seg[i].iov_base && addr - (uintptr_t)seg[i].iov_base < seg[i].iov_len)
			return &seg[i];
	}
	return NULL;
}

/* A zero-length access may also stand right behind the last byte of a segment. */
static bool segment_touches(const struct mr *mr, uint64_t addr)
{
	const struct iovec *seg = mr_segments(mr);

	for (unsigned int i = 0; i < mr->iov_count; i++) {
		if (addr >= (uintptr_t)seg[i].iov_base && addr - (uintptr_t)seg[i].iov_base <= seg[i].iov_len)
			return true;
	}
	return false;
}

static void explain_offset(const struct mr *mr, uint64_t at, uint64_t length, struct refusal *why)
{
	why->excess = at > mr->length ? at - mr->length + length : length - (mr->length - at);
}

/* Says where a range that does not wrap left the region. Lowest and highest byte are inclusive, so that a region that
 * ends at 2^64 needs no number larger than 64 bits. */
static void explain_virtual(const struct mr *mr, uint64_t addr, uint64_t length, struct refusal *why)
{
	const struct iovec *seg = mr_segments(mr);
	uint64_t low = UINT64_MAX, high = 0, last = length ? addr + (length - 1) : addr;

	for (unsigned int i = 0; i < mr->iov_count; i++) {
		uint64_t base = (uintptr_t)seg[i].iov_base;

		if (seg[i].iov_len) {
			low = base < low ? base : low;
			high = base + (seg[i].iov_len - 1) > high ? base + (seg[i].iov_len - 1) : high;
		}
	}
	if (addr < low) {
		why->access |= REFUSAL_BEFORE;
		why->excess = low - addr;
	} else if (last > high) {
		why->excess = last - high - (length ? 0 : 1);
	} else {
		why->access |= REFUSAL_GAP;
	}
}

/* S60, S64: each segment by its own address; a range may go on into a segment that touches. Every step ends a segment
 * and addresses only grow, so no segment is taken twice. */
static bool place_by_address(const struct mr *mr, uint64_t addr, uint64_t length, struct mr_place *place)
{
	if (!length)
		return segment_touches(mr, addr);
	for (;;) {
		const struct iovec *seg = segment_at(mr, addr);
		uint64_t run;

		if (!seg)
			return false;
		run = seg->iov_len - (addr - (uintptr_t)seg->iov_base);
		run = run < length ? run : length;
		place_add(place, mr, addr, run);
		length -= run;
		if (!length)
			return true;
		addr += run;
	}
}

/* Most regions have one segment: with either addressing the access begins so far into it. An access inside it does not wrap,
 * since no segment does. */
static bool place_in_one(const struct mr *mr, uint64_t addr, uint64_t length, struct mr_place *place)
{
	uint64_t base = (uintptr_t)mr->one.iov_base, at = addr;

	if (mr->virtual_addr && addr < base)
		return false;
	if (mr->virtual_addr)
		at -= base;
	if (at > mr->one.iov_len || length > mr->one.iov_len - at)
		return false;
	if (length)
		place_add(place, mr, base + at, length);
	return true;
}

__attribute__((noinline)) static enum refusal_cause place_in_many(const struct mr *mr, uint64_t addr, uint64_t length,
								  struct mr_place *place)
{
	if (range_wraps(addr, length)) /* V38 */
		return REFUSAL_WRAP;   /* S65 */
	if (mr_is_everything(mr)) {
		if (length)
			place_add(place, mr, addr, length);
		return REFUSAL_NONE;
	}
	if (mr->virtual_addr ? place_by_address(mr, addr, length, place) : place_by_offset(mr, addr, length, place))
		return REFUSAL_NONE;
	place->count = 0;
	return REFUSAL_RANGE; /* S64, S65 */
}

/* The rights are judged already: finds the place, or why there is none. */
static enum refusal_cause place_in(const struct mr *mr, uint64_t addr, uint64_t length, struct mr_place *place)
{
	return mr->iov_count == 1 && place_in_one(mr, addr, length, place) ? REFUSAL_NONE : place_in_many(mr, addr, length, place);
}

/* S130: the request that took the region may come back, for its next segment or, as a READ, after a cut. A READ might come
 * back for more than it was granted; other requests are executed once. */
__attribute__((noinline)) static bool single_is_spent(const struct mr_single *single, uint64_t by, uint64_t seq, uint32_t right,
						      uint64_t addr, uint64_t length)
{
	if (!single->by)
		return false;
	if (single->by != by || single->seq != seq || single->right != right)
		return true;
	return right == MR_REMOTE_READ && (addr - single->addr > single->length || length > single->length - (addr - single->addr));
}

/* Each key by itself: a refresh of one region leaves its base, and other regions on the same pages, open. */
static enum refusal_cause pages_refuse(const struct mr *mr, const struct mr_place *place)
{
	if (mr->refreshes && mr_refresh_meets(mr->refreshes, place->run, place->count))
		return REFUSAL_REFRESHING;                                                               /* S116 */
	return mr_pages_know(mr->pages, place->run, place->count) ? REFUSAL_NONE : REFUSAL_PAGE_UNKNOWN; /* S107 */
}

/* Three bits that lie together: one comparison. */
static inline bool mr_is_reachable(const struct mr *mr)
{
	return !mr->registering && mr->enabled && !mr->invalidated;
}

static enum refusal_cause unreachable_by(const struct mr *mr)
{
	if (mr->registering)
		return REFUSAL_REGISTERING;                          /* S42 */
	return mr->enabled ? REFUSAL_INVALIDATED : REFUSAL_DISABLED; /* S92 */
}

static enum refusal_cause refused_by(const struct mr *mr, const struct mr_ask *ask, struct mr_place *place)
{
	enum refusal_cause cause;

	if (!mr || mr->key_tail != ask->key_tail) /* one comparison: how much was right cannot be told by its time */
		return REFUSAL_UNKNOWN_KEY;       /* S40, S53, V32 */
	if (unlikely(!mr_is_reachable(mr)))
		return unreachable_by(mr);
	if (mr->by_endpoint && !binding_reaches(mr, ask->ep))
		return REFUSAL_OTHER_ENDPOINT; /* S104 */
	if (mr->by_set ? !auth_set_fits(mr->auths, ask->auth, ask->peer) : !auth_fits(mr->auth, ask->auth))
		return REFUSAL_AUTH; /* S158 */
	if (mr->single && single_is_spent(mr->single, ask->by, ask->seq, ask->right, ask->addr, ask->length))
		return REFUSAL_SPENT; /* S130 */
	if ((mr->access & ask->right) != ask->right)
		return REFUSAL_RIGHT; /* S27, S29, S31, V33, V34, V35 */
	if (ask->commit && !mr->persistent)
		return REFUSAL_NOT_PERSISTENT;               /* S133 */
	cause = place_in(mr, ask->addr, ask->length, place); /* V37, V173 */
	return cause == REFUSAL_NONE && mr->pages ? pages_refuse(mr, place) : cause;
}

bool mr_may_invalidate(const struct mr *mr, const struct binding_end *ep)
{
	role_assert();
	if (!mr || mr->key_tail || mr->subs || !mr_is_reachable(mr))
		return false;
	return mr->by_endpoint ? binding_reaches(mr, ep) : !mr->window; /* V169 */
}

void mr_describe(const struct mr *mr, struct refusal *why)
{
	why->region = mr->length;
	why->access = (mr->access & MR_ACCESS_TOLD) | (mr->virtual_addr ? REFUSAL_VIRTUAL : 0) | (mr->window ? REFUSAL_WINDOW : 0);
}

__attribute__((noinline, cold)) static void explain(const struct mr *mr, uint64_t addr, uint64_t length, enum refusal_cause cause,
						    struct refusal *why)
{
	why->region = why->excess = why->access = 0;
	if (cause == REFUSAL_UNKNOWN_KEY)
		return;
	mr_describe(mr, why);
	if (cause == REFUSAL_RANGE && mr->virtual_addr)
		explain_virtual(mr, addr, length, why);
	else if (cause == REFUSAL_RANGE)
		explain_offset(mr, addr, length, why);
}

enum refusal_cause mr_check(const struct mr *mr, const struct mr_ask *ask, struct mr_place *place, struct refusal *why)
{
	enum refusal_cause cause;

	role_assert();
	place->count = 0;
	cause = refused_by(mr, ask, place);
	if (cause != REFUSAL_NONE)
		explain(mr, ask->addr, ask->length, cause, why);
	return cause;
}

bool mr_covers(const struct mr *mr, uint64_t addr, uint64_t length)
{
	struct mr_place place;

	if (!length)
		return true;
	if (range_wraps(addr, length))
		return false;
	if (mr_is_everything(mr))
		return true;
	if (mr->iov_count == 1)
		return addr - (uintptr_t)mr->one.iov_base < mr->one.iov_len &&
		       length <= mr->one.iov_len - (addr - (uintptr_t)mr->one.iov_base);
	place.count = 0;
	return place_by_address(mr, addr, length, &place);
}
