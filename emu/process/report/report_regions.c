/* SPDX-License-Identifier: BSD-2-Clause */
/* report_regions.c - two lists of regions, open and closed ones, and a hash of the open ones by their handle. */
#include "emu/process/report/report_regions.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/process/report/report.h"
#include "emu/process/report/report_impl.h"
#include "emu/nic/base/futex_lock.h"

struct region_list {
	struct region_facts *first, *last;
	size_t count;
};

enum { CHAINS = 4096 };

static struct {
	struct futex_lock lock;
	struct region_list open, closed;
	struct region_facts *chain[CHAINS];
} regions;

/* With the lock: where the region of that handle stands in its chain, or the chain's end. */
static struct region_facts **chain_find(const void *object)
{
	struct region_facts **at = &regions.chain[((uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15) >> 32) % CHAINS];

	while (*at && (*at)->object != object)
		at = &(*at)->chain;
	return at;
}

static void list_push(struct region_list *list, struct region_facts *facts)
{
	facts->prev = NULL;
	facts->next = list->first;
	if (list->first)
		list->first->prev = facts;
	else
		list->last = facts;
	list->first = facts;
	list->count++;
}

static void list_take(struct region_list *list, struct region_facts *facts)
{
	*(facts->prev ? &facts->prev->next : &list->first) = facts->next;
	*(facts->next ? &facts->next->prev : &list->last) = facts->prev;
	list->count--;
}

void report_region_opened(const struct region_facts *facts)
{
	struct region_facts *kept;

	if (!report_on())
		return;
	kept = malloc(sizeof(*kept));
	if (!kept)
		return;
	*kept = *facts;
	kept->opened_ns = report_line_now();
	kept->closed_ns = 0;
	kept->opened_by = gettid();
	kept->closed.count = 0;
	call_stack_take(&kept->opened);
	futex_lock(&regions.lock);
	if (regions.open.count < REPORT_REGIONS_OPEN) {
		kept->chain = NULL;
		*chain_find(kept->object) = kept;
		list_push(&regions.open, kept);
		kept = NULL;
	}
	futex_unlock(&regions.lock);
	free(kept);
}

void report_region_closed(const void *object)
{
	struct region_facts **at, *facts, *old = NULL;
	struct call_stack closed;

	if (!report_on())
		return;
	call_stack_take(&closed);
	futex_lock(&regions.lock);
	at = chain_find(object);
	facts = *at;
	if (facts) {
		*at = facts->chain;
		list_take(&regions.open, facts);
		facts->object = NULL;
		facts->closed_ns = report_line_now();
		facts->closed_by = gettid();
		facts->closed = closed;
		list_push(&regions.closed, facts);
		if (regions.closed.count > REPORT_REGIONS_CLOSED) {
			old = regions.closed.last;
			list_take(&regions.closed, old);
		}
	}
	futex_unlock(&regions.lock);
	free(old);
}

size_t report_regions_open(void)
{
	size_t count;

	futex_lock(&regions.lock);
	count = regions.open.count;
	futex_unlock(&regions.lock);
	return count;
}

static const struct region_facts *find_in(const struct region_list *list, const void *pd, uint64_t key)
{
	const struct region_facts *facts = list->first;

	while (facts && (facts->pd != pd || facts->key != key))
		facts = facts->next;
	return facts;
}

bool report_region_find(const void *pd, uint64_t key, struct region_facts *facts)
{
	const struct region_facts *found;

	futex_lock(&regions.lock);
	found = find_in(&regions.open, pd, key);
	if (!found)
		found = find_in(&regions.closed, pd, key);
	if (found)
		*facts = *found;
	futex_unlock(&regions.lock);
	return found;
}

bool report_region_guess(const struct region_guess *guess, bool target, char *what, size_t size, struct region_facts *meant)
{
	const struct region_facts *found, *closed;
	struct region_guess asked = *guess;

	futex_lock(&regions.lock);
	closed = guess->closed ? find_in(&regions.closed, guess->pd, guess->key) : NULL;
	if (closed) {
		asked.addr = closed->addr; /* a region that is there now is the same memory registered anew */
		asked.length = closed->length;
	}
	found = guess->closed && !closed ? NULL : region_guess_in(regions.open.first, &asked, target, what, size);
	if (found)
		*meant = *found;
	futex_unlock(&regions.lock);
	return found;
}

void report_regions_each(void (*each)(const struct region_facts *facts, void *arg), void *arg)
{
	futex_lock(&regions.lock);
	for (const struct region_facts *facts = regions.open.first; facts; facts = facts->next)
		each(facts, arg);
	futex_unlock(&regions.lock);
}

/* The memory stays, as that of all that the child inherits. */
void report_regions_forked(void)
{
	atomic_store(&regions.lock.state, FUTEX_FREE);
	regions.open = regions.closed = (struct region_list){ NULL, NULL, 0 };
	memset(regions.chain, 0, sizeof(regions.chain));
}
