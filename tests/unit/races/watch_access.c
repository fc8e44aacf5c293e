/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_access.c - loads and stores. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/nic/memory/guard.h"
#include "tests/unit/races/watch_case.h"

static void store_is_told(void)
{
	volatile unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = case_watch((void *)(pages + 100), 50, PAGE_WATCH_STORES, &told);
	NEED(pages[100] == case_byte(100)); /* a load is none */
	NEED(!told.times);
	pages[149] = 1;
	NEED(told.times == 1);
	NEED(told.at == (uintptr_t)&pages[149]);
	NEED(told.is_store);
	NEED(told.stack.count);
	pages[148] = 1;
	NEED(told.times == 1); /* once a watch */
	page_watch_end(watch);
	NEED(pages[149] == 1 && pages[148] == 1);
}

static void load_is_told(void)
{
	volatile unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = case_watch((void *)(pages + 100), 50, PAGE_WATCH_ALL, &told);
	NEED(pages[100] == case_byte(100));
	NEED(told.times == 1);
	NEED(!told.is_store);
	page_watch_end(watch);
	pages[100] = 3;
	NEED(told.times == 1);
}

static void neighbour_is_not(void)
{
	volatile unsigned char *pages = case_pages();
	struct page_watch_counts counts;
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = case_watch((void *)(pages + 100), 50, PAGE_WATCH_ALL, &told);
	pages[99] = 7;
	pages[150] = 7;
	NEED(!told.times);
	NEED(pages[99] == 7 && pages[150] == 7);
	page_watch_count(&counts);
	NEED(counts.neighbours == 4);
	NEED(counts.watches == 1);
	NEED(pages[100] == case_byte(100) && told.times == 1);
	page_watch_end(watch);
}

static void many_pages(void)
{
	volatile unsigned char *pages = case_pages();
	struct told told[2] = { 0 };
	struct page_watch *one, *two;

	case_start();
	one = case_watch((void *)(pages + 100), 5 * PAGE, PAGE_WATCH_STORES, &told[0]);
	two = case_watch((void *)(pages + 3 * PAGE), 5 * PAGE, PAGE_WATCH_ALL, &told[1]);
	NEED(pages[4 * PAGE] == case_byte(4 * PAGE));
	NEED(told[0].times == 0 && told[1].times == 1);
	pages[3 * PAGE] = 1;
	NEED(told[0].times == 1 && told[1].times == 1);
	page_watch_end(one);
	pages[1 * PAGE] = 1;
	NEED(told[0].times == 1);
	page_watch_end(two);
	for (size_t i = 0; i < PAGES; i++)
		pages[i * PAGE] = 9;
}

static void lifted_for_the_device(void)
{
	volatile unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct iovec iov = { (void *)pages, 10 };
	struct page_watch *watch;

	case_start();
	watch = case_watch((void *)pages, 50, PAGE_WATCH_ALL, &told);
	page_watch_lift(&iov, 1);
	pages[3] = 1;
	NEED(!told.times);
	NEED(!case_try((void *)(pages + PAGE), 50, PAGE_WATCH_ALL, &told));
	page_watch_lifted();
	page_watch_end(watch);
}

static void guard_lifts(void)
{
	enum { FEW = 8, MANY = 256 };
	unsigned char *pages = case_pages(), bytes[MANY];

	case_start();
	for (size_t length = FEW; length <= MANY; length += MANY - FEW) {
		struct told told = { 0 };
		struct page_watch *watch;

		watch = case_watch(pages, 1000, PAGE_WATCH_ALL, &told);
		NEED(guard_copy(bytes, pages, length));
		NEED(!told.times);
		NEED(!memcmp(bytes, pages, length));
		NEED(told.times == 1 || length > FEW); /* a copy by bytes may take all steps of the page */
		page_watch_end(watch);
	}
}

static void add_one(void *arg)
{
	++*(unsigned char *)arg;
}

/* A thread of the device's, after an access to missing memory: it has the kernel look and copy. */
static void *copy_as_device(void *arg)
{
	unsigned char *pages = arg, bytes[300];
	struct told told = { 0 };

	for (int i = 0; i < 2; i++) {
		struct page_watch *watch = case_watch(pages, 1000, PAGE_WATCH_ALL, &told);

		page_watch_exempt();
		NEED(!guard_copy(bytes, pages + (size_t)PAGES * PAGE, sizeof(bytes)));
		if (i)
			NEED(guard_run(pages, 1, true, add_one, pages) && pages[0] == (unsigned char)(case_byte(0) + 1));
		else
			NEED(guard_copy(bytes, pages, sizeof(bytes)) && !memcmp(bytes, pages, sizeof(bytes)));
		page_watch_end(watch);
	}
	NEED(!told.times);
	return NULL;
}

static void kernel_lifts(void)
{
	unsigned char *pages = case_pages();
	pthread_t thread;

	case_start();
	NEED(!pthread_create(&thread, NULL, copy_as_device, pages));
	NEED(!pthread_join(thread, NULL));
}

static void refused_where_it_cannot_be(void)
{
	unsigned char *pages = case_pages();
	struct page_watch_counts counts;
	struct told told = { 0 };

	case_start();
	page_watch_end(case_watch(pages, 1, PAGE_WATCH_ALL, &told));
	NEED(!mprotect(pages, PAGE, PROT_READ));
	NEED(!case_try(pages, 10, PAGE_WATCH_ALL, &told));
	NEED(!munmap(pages, PAGE));
	NEED(!case_try(pages, 10, PAGE_WATCH_ALL, &told));
	page_watch_count(&counts);
	NEED(counts.refused_memory == 2);
}

const struct watch_case watch_access_cases[] = {
	{ "store_is_told", store_is_told },
	{ "load_is_told", load_is_told },
	{ "neighbour_is_not", neighbour_is_not },
	{ "many_pages", many_pages },
	{ "lifted_for_the_device", lifted_for_the_device },
	{ "guard_lifts", guard_lifts },
	{ "kernel_lifts", kernel_lifts },
	{ "refused_where_it_cannot_be", refused_where_it_cannot_be },
	{ NULL, NULL },
};
