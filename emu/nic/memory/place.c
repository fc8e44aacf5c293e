/* SPDX-License-Identifier: BSD-2-Clause */
/* place.c - walking scattered program memory. */
#include "emu/nic/memory/place.h"

#include <string.h>

#include "emu/nic/memory/guard.h"
#include "emu/nic/memory/pin.h"

void place_set(struct place *place, const struct iovec *runs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		place->to.run[i] = runs[i];
	place->to.count = (uint8_t)count;
	place_begin(place, NULL);
}

void place_advance(struct place *place, uint64_t bytes)
{
	while (place->at < place->to.count) {
		size_t left = place->to.run[place->at].iov_len - place->skip;

		if (bytes < left) {
			place->skip += bytes;
			return;
		}
		bytes -= left;
		place->at++;
		place->skip = 0;
	}
}

int place_runs(const struct place *place, uint64_t max, struct iovec *out, int room)
{
	size_t skip = place->skip;
	int count = 0;

	for (uint8_t at = place->at; at < place->to.count && count < room && max > 0; at++, skip = 0) {
		size_t left = place->to.run[at].iov_len - skip, length = left < max ? left : max;

		if (length == 0)
			continue;
		out[count].iov_base = (char *)place->to.run[at].iov_base + skip;
		out[count].iov_len = length;
		max -= length;
		count++;
	}
	return count;
}

__attribute__((always_inline)) static inline bool run_copy(struct pin *pin, void *at, void *bytes, size_t length, bool in)
{
	if (pin)
		return in ? pin->ops->put(pin, at, bytes, length) : pin->ops->get(pin, at, bytes, length);
	return in ? guard_copy(at, bytes, length) : guard_copy(bytes, at, length);
}

/* Twice in the program: sent and received bytes meet in no cache. */
__attribute__((always_inline)) static inline bool place_copy(struct place *place, char *bytes, size_t length, bool in)
{
	for (; place->at < place->to.count; place->at++, place->skip = 0) {
		const struct iovec *run = &place->to.run[place->at];
		size_t left = run->iov_len - place->skip, take = left < length ? left : length;

		if (take && !run_copy(place->pin, (char *)run->iov_base + place->skip, bytes, take, in))
			return false;
		place->skip += take;
		length -= take;
		if (!length)
			return true;
		bytes += take;
	}
	return true;
}

bool place_put(struct place *place, const void *bytes, size_t length)
{
	return place_copy(place, (char *)bytes, length, true);
}

bool place_get(struct place *place, void *bytes, size_t length)
{
	return place_copy(place, bytes, length, false);
}

static bool run_readable(const struct iovec *run)
{
	enum { PAGE = 4096 }; /* the smallest there is: a larger page is touched more than once */
	const char *from = run->iov_base;
	size_t at = 0;
	char byte;

	while (at < run->iov_len) {
		if (!guard_copy(&byte, from + at, 1))
			return false;
		at += PAGE - ((uintptr_t)(from + at) & (PAGE - 1));
	}
	return true;
}

bool place_readable(const struct place *place, uint64_t length)
{
	struct iovec runs[LIMIT_IOV];
	int count = place->pin ? 0 : place_runs(place, length, runs, LIMIT_IOV);

	for (int i = 0; i < count; i++)
		if (!run_readable(&runs[i]))
			return false;
	return true;
}
