/* SPDX-License-Identifier: BSD-2-Clause */
/* watched_pages.c - the table of watched pages.
 *
 * A fault may be on its way to the handler while its page is taken out of the table, whose protection is gone by then. `ends` is
 * counted before: a handler that finds nothing, and has not yet seen this count, lets the access be tried again. */
#include "emu/process/races/watched_pages.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct watched_table watched;
struct watched_lock watched_lock;

static uintptr_t page_of(uintptr_t at)
{
	return at & ~(uintptr_t)(WATCHED_PAGE - 1);
}

static _Atomic uint16_t *watched_bucket(uintptr_t at)
{
	return &watched.bucket[(at / WATCHED_PAGE * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
}

void watched_reset(void)
{
	atomic_store(&watched_lock.lock.state, 0);
	atomic_store(&watched.pages, 0);
	atomic_store(&watched.handlers, 0);
	atomic_store(&watched.giving, 0);
	memset(watched.bucket, 0, sizeof(watched.bucket));
	for (unsigned int i = 1; i < WATCHED_PAGES; i++)
		watched.page[i].next = (uint16_t)(i + 1 < WATCHED_PAGES ? i + 1 : 0);
	for (unsigned int i = 1; i < WATCHED_NODES; i++)
		watched.node[i].more = (uint16_t)(i + 1 < WATCHED_NODES ? i + 1 : 0);
	watched.free_pages = watched.free_nodes = 1;
}

exempt_mask watched_take(void) UNCHECKED
{
	exempt_mask before = exempt_block();

	exempt_lock(&watched_lock.lock);
	return before;
}

bool watched_try(exempt_mask *before) UNCHECKED
{
	*before = exempt_block();
	if (exempt_try(&watched_lock.lock))
		return true;
	exempt_unblock(*before);
	return false;
}

void watched_let_go(exempt_mask before) UNCHECKED
{
	exempt_unlock(&watched_lock.lock);
	exempt_unblock(before);
}

void watched_enter(void)
{
	atomic_fetch_add(&watched.handlers, 1);
	atomic_fetch_add(&watched.giving, 1);
}

void watched_gave(void)
{
	atomic_fetch_sub(&watched.giving, 1);
}

void watched_leave(void)
{
	atomic_fetch_sub(&watched.handlers, 1);
}

static void wait_for_none(const atomic_uint *at_work)
{
	while (atomic_load(at_work))
		exempt_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

void watched_wait_for_handlers(void)
{
	wait_for_none(&watched.giving);
	exempt_unlock(&watched_lock.lock);
	wait_for_none(&watched.handlers);
	exempt_lock(&watched_lock.lock);
}

/* --- the table --- */

struct watched_page *watched_find(uintptr_t at)
{
	at = page_of(at);
	for (uint16_t i = atomic_load(watched_bucket(at)); i; i = atomic_load(&watched.page[i].next))
		if (atomic_load(&watched.page[i].at) == at)
			return &watched.page[i];
	return NULL;
}

static struct watched_page *page_add(uintptr_t at, unsigned char before) REQUIRES(watched_lock)
{
	uint16_t number = watched.free_pages;
	struct watched_page *page = &watched.page[number];
	_Atomic uint16_t *bucket = watched_bucket(at);

	if (!number)
		return NULL;
	watched.free_pages = atomic_load(&page->next);
	page->before = page->now = before;
	atomic_store(&page->nodes, 0);
	atomic_store(&page->spent, 0);
	atomic_store(&page->lifts, 0);
	atomic_store(&page->state, WATCHED_LIFTED);
	atomic_store(&page->at, at);
	atomic_store(&page->next, atomic_load(bucket));
	atomic_store(bucket, number);
	atomic_fetch_add(&watched.pages, 1);
	return page;
}

static void page_unlink(struct watched_page *page) REQUIRES(watched_lock)
{
	_Atomic uint16_t *link = watched_bucket(atomic_load(&page->at));
	uint16_t number = (uint16_t)(page - watched.page);

	while (atomic_load(link) != number)
		link = &watched.page[atomic_load(link)].next;
	atomic_store(link, atomic_load(&page->next));
	atomic_fetch_sub(&watched.pages, 1);
}

struct watched_node *watched_add(uintptr_t at, unsigned char before, uint16_t watch)
{
	uint16_t number = watched.free_nodes;
	struct watched_node *node = &watched.node[number];
	struct watched_page *page;

	if (!number)
		return NULL;
	at = page_of(at);
	page = watched_find(at);
	if (!page)
		page = page_add(at, before);
	if (!page)
		return NULL;
	watched.free_nodes = node->more;
	node->watch = watch;
	node->more = 0;
	node->page = (uint16_t)(page - watched.page);
	atomic_store(&node->next, atomic_load(&page->nodes));
	atomic_store(&page->nodes, number);
	return node;
}

/* --- protection --- */

/* Without the lock: two may do it at once. */
static void protect_as_before(const struct watched_page *page)
{
	exempt_mprotect(atomic_load(&page->at), WATCHED_PAGE, page->before);
}

bool watched_give_back(struct watched_page *page)
{
	unsigned char state = WATCHED_PROTECTED;
	bool did = atomic_compare_exchange_strong(&page->state, &state, WATCHED_LIFTED);

	if (did)
		atomic_fetch_add(&page->lifts, 1);
	if (did || state == WATCHED_LIFTED)
		protect_as_before(page);
	return did;
}

bool watched_protect(uintptr_t at, size_t length, unsigned char now)
{
	bool done;

	for (size_t i = 0; i < length; i += WATCHED_PAGE) {
		struct watched_page *page = watched_find(at + i);

		page->now = now;
		atomic_store(&page->state, WATCHED_PROTECTED);
	}
	done = !exempt_mprotect(at, length, now);
	for (size_t i = 0; i < length; i += WATCHED_PAGE) {
		struct watched_page *page = watched_find(at + i);

		if (!done)
			watched_give_back(page);
		else if (atomic_load(&page->state) == WATCHED_LIFTED) /* by a fault, perhaps before the call */
			protect_as_before(page);
	}
	return done;
}

/* --- lifting --- */

/* Pages that follow one another and were protected alike become as before by one call. */
struct page_span {
	uintptr_t at;
	size_t length;
	unsigned char before;
};

static void span_lift(struct page_span *span)
{
	if (span->length)
		exempt_mprotect(span->at, span->length, span->before);
	span->length = 0;
}

static unsigned int span_take(struct page_span *span, struct watched_page *page)
{
	unsigned char state = WATCHED_PROTECTED;
	uintptr_t at = atomic_load(&page->at);

	if (!atomic_compare_exchange_strong(&page->state, &state, WATCHED_LIFTED))
		return 0;
	atomic_fetch_add(&page->lifts, 1);
	if (span->length && (span->at + span->length != at || span->before != page->before))
		span_lift(span);
	if (!span->length) {
		span->at = at;
		span->before = page->before;
	}
	span->length += WATCHED_PAGE;
	return 1;
}

/* Calls see() for each page in the table that has bytes of these. */
static unsigned int pages_visit(uintptr_t at, size_t length, unsigned int (*see)(struct page_span *span, struct watched_page *page))
	REQUIRES(watched_lock)
{
	struct page_span span = { .length = 0 };
	uintptr_t last;
	unsigned int seen = 0;

	if (!length || !atomic_load(&watched.pages))
		return 0;
	last = length - 1 > UINTPTR_MAX - at ? UINTPTR_MAX : at + (length - 1);
	if ((last - page_of(at)) / WATCHED_PAGE < WATCHED_BUCKETS) {
		for (uintptr_t i = 0, pages = (last - page_of(at)) / WATCHED_PAGE; i <= pages; i++) {
			struct watched_page *page = watched_find(at + i * WATCHED_PAGE);

			if (page)
				seen += see(&span, page);
		}
	} else {
		for (size_t i = 0; i < WATCHED_BUCKETS; i++)
			for (uint16_t n = atomic_load(&watched.bucket[i]); n; n = atomic_load(&watched.page[n].next))
				if (atomic_load(&watched.page[n].at) - page_of(at) <= last - page_of(at))
					seen += see(&span, &watched.page[n]);
	}
	span_lift(&span);
	return seen;
}

unsigned int watched_lift(uintptr_t at, size_t length)
{
	unsigned int lifted = pages_visit(at, length, span_take);

	wait_for_none(&watched.giving); /* one may have found a page protected, and be about to lift it */
	return lifted;
}

unsigned int watched_lift_all(void)
{
	return watched_lift(0, SIZE_MAX);
}

static unsigned int see_gone(struct page_span *span, struct watched_page *page)
{
	(void)span;
	atomic_store(&page->state, WATCHED_GONE);
	return 1;
}

void watched_forget(uintptr_t at, size_t length)
{
	if (!length || !atomic_load(&watched.pages))
		return;
	pages_visit(at, length, span_take);
	atomic_fetch_add(&watched.ends, 1);
	if (pages_visit(at, length, see_gone))
		wait_for_none(&watched.giving); /* one may have found it lifted, and be about to change what the program changes */
}

static bool page_loses(struct watched_page *page, uint16_t node) REQUIRES(watched_lock)
{
	uint16_t at = atomic_load(&page->nodes);

	if (at == node) {
		atomic_store(&page->nodes, atomic_load(&watched.node[node].next));
	} else {
		while (atomic_load(&watched.node[at].next) != node)
			at = atomic_load(&watched.node[at].next);
		atomic_store(&watched.node[at].next, atomic_load(&watched.node[node].next));
	}
	return !atomic_load(&page->nodes);
}

void watched_remove(uint16_t first)
{
	struct page_span span = { .length = 0 };
	uint16_t last = 0, freed = 0;

	for (uint16_t n = first; n; n = watched.node[n].more) {
		struct watched_page *page = &watched.page[watched.node[n].page];

		last = n;
		if (page_loses(page, n))
			span_take(&span, page);
		else
			watched.node[n].page = 0;
	}
	if (!last)
		return;
	span_lift(&span);
	atomic_fetch_add(&watched.ends, 1);
	for (uint16_t n = first; n; n = watched.node[n].more)
		if (watched.node[n].page)
			page_unlink(&watched.page[watched.node[n].page]);
	watched_wait_for_handlers();
	for (uint16_t n = first; n; n = watched.node[n].more) {
		uint16_t number = watched.node[n].page;

		if (!number)
			continue;
		atomic_store(&watched.page[number].next, freed);
		freed = number;
	}
	while (freed) {
		uint16_t next = atomic_load(&watched.page[freed].next);

		atomic_store(&watched.page[freed].next, watched.free_pages);
		watched.free_pages = freed;
		freed = next;
	}
	watched.node[last].more = watched.free_nodes;
	watched.free_nodes = first;
}
