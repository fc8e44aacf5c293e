/* SPDX-License-Identifier: BSD-2-Clause */
/* check_open.c - the objects that are open, and the memory to which peers may write. */
#include "emu/process/check/check.h"
#include "emu/process/check/check_race.h"

#include <inttypes.h>

static struct mutex lock = MUTEX_INITIALIZER; /* a leaf */
static struct check_open *objects GUARDED_BY(lock);
static struct interval_tree remote GUARDED_BY(lock); /* regions to which peers may write */
static unsigned int forks;                           /* of this process's ancestors: objects from before are in no list */

void check_open_add(struct check_open *object)
{
	check_lock(&lock);
	object->forks = forks;
	object->next = objects;
	object->at = &objects;
	if (objects)
		objects->at = &object->next;
	objects = object;
	check_unlock(&lock);
}

void check_open_remove(struct check_open *object)
{
	if (object->forks != forks)
		return;
	check_lock(&lock);
	*object->at = object->next;
	if (object->next)
		object->next->at = object->at;
	check_unlock(&lock);
}

struct check_open *check_open_find(bool (*see)(struct check_open *object, void *arg), void *arg)
{
	struct check_open *object;

	check_lock(&lock);
	object = objects;
	while (object && !see(object, arg))
		object = object->next;
	check_unlock(&lock);
	return object;
}

static void look_at_region(const struct check_open *object, const struct interval *spans, size_t count, uint64_t key)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = spans[i].last - spans[i].first + 1;
		const void *hole;

		if (check_is_mapped((const void *)(uintptr_t)spans[i].first, length, &hole))
			continue;
		check_tell(&(struct check_finding){ .cause = CHECK_UNMAPPED, .opened = &object->opened },
			   "the region of %zu B at %#" PRIx64 ", key %#" PRIx64 ", is open at exit, and its memory at %p is not "
			   "mapped any more",
			   length, spans[i].first, key, hole);
		return;
	}
}

void check_tell_region(const struct check_open *object, const struct interval *spans, size_t count, uint64_t key, bool reached,
		       bool pinned)
{
	if (pinned)
		look_at_region(object, spans, count, key);
	check_tell(&(struct check_finding){ .cause = CHECK_REGION_OPEN, .opened = &object->opened },
		   "a region of %" PRIu64 " B at %#" PRIx64 ", key %#" PRIx64 ", is open at exit%s",
		   count ? spans[0].last - spans[0].first + 1 : 0, count ? spans[0].first : 0, key,
		   reached ? ", and peers may reach it" : "");
}

void check_remote_add(struct interval *spans, size_t count)
{
	check_lock(&lock);
	for (size_t i = 0; i < count; i++)
		interval_tree_add(&remote, &spans[i]);
	check_unlock(&lock);
	touch_arm();
}

void check_remote_remove(struct interval *spans, size_t count, unsigned int since)
{
	if (since != forks)
		return;
	check_lock(&lock);
	for (size_t i = 0; i < count; i++)
		interval_tree_remove(&remote, &spans[i]);
	check_unlock(&lock);
}

struct spans_of {
	struct iovec *iov;
	size_t count, most, longest;
};

static int take_span(struct interval *span, void *arg)
{
	struct spans_of *spans = arg;
	uint64_t length = span->last - span->first + 1;

	spans->iov[spans->count++] = (struct iovec){ (void *)(uintptr_t)span->first,
						     length < spans->longest ? (size_t)length : spans->longest };
	return spans->count == spans->most;
}

size_t check_remote_some(struct iovec *iov, size_t most, size_t longest)
{
	struct spans_of spans = { .iov = iov, .most = most, .longest = longest };

	if (check_inside)
		return 0;
	check_lock(&lock);
	interval_tree_find(&remote, 0, UINT64_MAX, take_span, &spans);
	check_unlock(&lock);
	return spans.count;
}

static int any(struct interval *span, void *arg)
{
	(void)span;
	(void)arg;
	return 1;
}

bool check_is_remote(const struct iovec *iov, size_t count)
{
	bool found = false;

	if (check_inside)
		return true; /* nobody knows */
	check_lock(&lock);
	for (size_t i = 0; i < count && !found; i++) {
		uint64_t first = (uintptr_t)iov[i].iov_base;

		found = iov[i].iov_len && interval_tree_find(&remote, first, first + iov[i].iov_len - 1, any, NULL);
	}
	check_unlock(&lock);
	return found;
}

void check_open_forked(void)
{
	mutex_forked(&lock);
	forks++;
	objects = NULL;
	remote = (struct interval_tree){ 0 };
}
