/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_again.c - watches that go on behind an access, threads that pause before one, and what is seen between. */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/races/watch_case.h"

enum { TIMES = 5 };

static void each_access_is_told(void)
{
	volatile unsigned char *pages = case_pages();
	struct told told = { .goes_on = true };
	struct page_watch *watch;
	uint64_t lifted;

	case_start();
	watch = case_watch((void *)(pages + 100), 8, PAGE_WATCH_ALL, &told);
	lifted = page_watch_lifted_so_far((uintptr_t)pages);
	for (int i = 1; i <= TIMES; i++) {
		NEED(pages[104] == case_byte(104));
		NEED(told.times == i && told.made == i && !told.is_store && told.lifted == lifted);
		pages[0]++; /* a neighbour */
	}
	NEED(page_watch_lifted_so_far((uintptr_t)pages) == lifted);
	told.goes_on = false;
	pages[100] = 1;
	NEED(told.times == TIMES + 1 && told.is_store && told.made == TIMES);
	NEED(page_watch_lifted_so_far((uintptr_t)pages) == lifted + 1);
	page_watch_end(watch);
}

/* A system call takes the page: what comes behind it is not seen. */
static void a_call_is_counted(void)
{
	unsigned char *pages = case_pages();
	struct told told = { .goes_on = true };
	struct page_watch *watch;
	uint64_t lifted;
	int ends[2];

	case_start();
	watch = case_watch(pages, 8, PAGE_WATCH_ALL, &told);
	lifted = page_watch_lifted_so_far((uintptr_t)pages);
	NEED(!pipe(ends) && write(ends[1], pages + 50, 5) == 5);
	NEED(page_watch_lifted_so_far((uintptr_t)pages) == lifted + 1);
	page_watch_end(watch);
}

/* An instruction that has many accesses, and traps behind each. */
static void behind_a_string(void)
{
	unsigned char *pages = case_pages(), *to = pages + 200;
	struct told told = { 0 };
	struct page_watch *watch;
	unsigned long count = 100;

	case_start();
	watch = case_watch(pages, 8, PAGE_WATCH_ALL, &told);
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(7) : "memory");
	NEED(!told.times && to == pages + 300);
	((volatile unsigned char *)pages)[3] = 1;
	NEED(told.times == 1);
	NEED(pages[200] == 7 && pages[299] == 7);
	page_watch_end(watch);
}

/* Such an instruction faults at its first byte, and is told of what it goes over behind that. */
static void a_string_goes_over_it(void)
{
	unsigned char *pages = case_pages(), *to = pages, *from = pages + PAGE;
	struct told stored = { 0 }, loaded = { 0 }, behind = { 0 };
	struct page_watch *watch[3];
	unsigned long count = 16;

	case_start();
	watch[0] = case_watch(pages + 100, 8, PAGE_WATCH_ALL, &stored);
	watch[1] = case_watch(pages + PAGE + 120, 8, PAGE_WATCH_ALL, &loaded);
	watch[2] = case_watch(pages + 128, 8, PAGE_WATCH_ALL, &behind);
	__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
	NEED(loaded.times == 1 && !loaded.is_store && loaded.at == (uintptr_t)pages + PAGE + 120);
	NEED(stored.times == 1 && stored.is_store && stored.at == (uintptr_t)pages + 100);
	NEED(!behind.times && pages[127] == case_byte(PAGE + 127));
	to = pages + 120;
	count = 10;
	__asm__ volatile("std\n\trep stosb\n\tcld" : "+D"(to), "+c"(count) : "a"(7) : "memory");
	NEED(!behind.times && to == pages + 110);
	for (int i = 0; i < 3; i++)
		page_watch_end(watch[i]);
}

/* Elements of each size, over the ends of pages, and what is not made at once: downwards, over their own bytes. */
static void strings_of_all_kinds(void)
{
	unsigned char *pages = case_pages(), *to, *from;
	struct page_watch *watch[4];
	struct told told[4] = { 0 };
	unsigned long count;

	case_start();
	for (int i = 0; i < 4; i++)
		watch[i] = case_watch(pages + (size_t)i * PAGE + 8, 8, PAGE_WATCH_ALL, &told[i]);
	to = pages + PAGE - 1002, count = 2000;
	__asm__ volatile("rep stosw" : "+D"(to), "+c"(count) : "a"(0x1234) : "memory");
	NEED(told[1].times == 1 && to == pages + PAGE + 2998 && !count && pages[PAGE - 1003] == case_byte(PAGE - 1003));
	NEED(pages[PAGE - 1002] == 0x34 && pages[PAGE + 2997] == 0x12 && pages[PAGE + 2998] == case_byte(PAGE + 2998));
	to = pages + 2 * PAGE + 101, from = pages + 3 * PAGE + 51, count = 200;
	__asm__ volatile("rep movsl" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
	NEED(!told[2].times && !told[3].times && to == pages + 2 * PAGE + 901 && from == pages + 3 * PAGE + 851);
	for (size_t i = 0; i < 800; i++)
		NEED(pages[2 * PAGE + 101 + i] == case_byte(3 * PAGE + 51 + i));
	to = pages + 3 * PAGE + 101, from = pages + 3 * PAGE + 100, count = 30; /* one byte, again and again */
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
	NEED(!told[3].times && pages[3 * PAGE + 130] == case_byte(3 * PAGE + 100));
	to = pages + 2 * PAGE + 60, from = pages + 3 * PAGE + 60, count = 4;
	__asm__ volatile("std\n\trep movsq\n\tcld" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
	NEED(!told[2].times && to == pages + 2 * PAGE + 28 && pages[2 * PAGE + 36] == case_byte(3 * PAGE + 36));
	for (int i = 0; i < 4; i++)
		page_watch_end(watch[i]);
}

/* An instruction with thousands of elements is one step of the page's, and of the process's. */
static void long_strings_are_no_wear(void)
{
	enum { MANY = 100 };
	unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = case_watch(pages, 8, PAGE_WATCH_ALL, &told);
	for (int i = 0; i < MANY; i++) {
		unsigned char *to = pages + 64;
		unsigned long count = PAGE - 64;

		__asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(i) : "memory");
	}
	NEED(pages[64] == MANY - 1 && pages[PAGE - 1] == MANY - 1 && pages[PAGE] == case_byte(PAGE));
	((volatile unsigned char *)pages)[3] = 1;
	NEED(told.times == 1);
	page_watch_end(watch);
}

/* --- pauses --- */

static atomic_int paused, may_go;

static void pause_until_told(void)
{
	atomic_fetch_add(&paused, 1);
	while (!atomic_load(&may_go))
		sched_yield();
}

/* What another thread watches while one has paused. */
static struct meanwhile {
	enum page_watch_kind kind;
	unsigned char *at;
	struct told told;
	struct page_watch *watch;
} meanwhile;

static void *watch_meanwhile(void *arg)
{
	while (!atomic_load(&paused))
		sched_yield();
	meanwhile.watch = case_try(meanwhile.at, 8, meanwhile.kind, &meanwhile.told);
	atomic_store(&may_go, 1);
	return arg;
}

static void what_is_watched_in_a_pause(void)
{
	volatile unsigned char *pages = case_pages();
	struct page_watch *watch;
	pthread_t other;

	case_start();
	case_paused = pause_until_told;
	meanwhile.kind = PAGE_WATCH_ALL;
	meanwhile.at = (unsigned char *)pages + 40;
	NEED(!pthread_create(&other, NULL, watch_meanwhile, NULL));
	watch = case_watch((void *)pages, 64, PAGE_WATCH_PAUSES, NULL);
	pages[100]++; /* a neighbour */
	NEED(!paused);
	pages[42] = 1;
	NEED(paused == 1 && meanwhile.told.times == 1 && meanwhile.told.is_store && pages[42] == 1);
	pages[43] = 1;
	NEED(paused == 1);
	NEED(!pthread_join(other, NULL));
	page_watch_end(watch);
}

/* A system call lifts the page once; what is in use all the time, for good. */
static void what_becomes_of_a_pause(void)
{
	enum { MANY = 5000 };
	volatile unsigned char *pages = case_pages();
	struct iovec both[] = { { (void *)(pages + PAGE), 8 }, { (void *)pages, 8 } };
	uintptr_t starts[WATCH_RANGES];
	struct page_watch *watch;
	int ends[2];

	case_start();
	while (!(watch = page_watch_begin(both, 2, PAGE_WATCH_PAUSES, NULL)))
		sched_yield();
	NEED(page_watch_stands(watch));
	NEED(!pipe(ends) && write(ends[1], (unsigned char *)pages + 50, 5) == 5);
	NEED(!page_watch_stands(watch) && !page_watch_worn(watch, starts));
	page_watch_end(watch);
	watch = page_watch_begin(both, 2, PAGE_WATCH_PAUSES, NULL);
	NEED(watch && page_watch_stands(watch));
	for (int i = 0; i < MANY; i++)
		pages[100]++;
	NEED(!page_watch_stands(watch));
	NEED(page_watch_worn(watch, starts) == 1 && starts[0] == (uintptr_t)pages);
	page_watch_end(watch);
}

/* What has worn the page out before a watch that tells begins is none of that one's. */
static void a_worn_page_is_watched_all_the_same(void)
{
	enum { MANY = 5000 };
	volatile unsigned char *pages = case_pages();
	struct page_watch *first, *second;
	struct told told = { 0 };

	case_start();
	first = case_watch((void *)pages, 64, PAGE_WATCH_PAUSES, NULL);
	for (int i = 0; i < MANY; i++)
		pages[100]++;
	NEED(!page_watch_stands(first));
	second = case_watch((void *)pages, 64, PAGE_WATCH_ALL, &told);
	pages[42] = 1;
	NEED(told.times == 1);
	page_watch_end(first);
	page_watch_end(second);
}

/* One that another watch tells of does not pause. */
static void no_pause_where_it_is_told(void)
{
	volatile unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *first, *second;

	case_start();
	case_paused = pause_until_told;
	first = case_watch((void *)pages, 64, PAGE_WATCH_PAUSES, NULL);
	second = case_watch((void *)pages, 64, PAGE_WATCH_ALL, &told);
	pages[42] = 1;
	NEED(!paused && told.times == 1);
	page_watch_end(first);
	page_watch_end(second);
}

/* A breakpoint that begins in a pause meets the access for which the thread has paused. */
static void bytes_are_watched_in_a_pause(void)
{
	volatile unsigned char *pages = case_pages();
	struct page_watch *watch;
	pthread_t other;

	case_start();
	case_paused = pause_until_told;
	meanwhile.kind = PAGE_WATCH_BYTES;
	meanwhile.at = (unsigned char *)pages + 40;
	meanwhile.told.goes_on = true;
	NEED(!pthread_create(&other, NULL, watch_meanwhile, NULL));
	watch = case_watch((void *)pages, 64, PAGE_WATCH_PAUSES, NULL);
	pages[40] = case_byte(40); /* what it was */
	NEED(!pthread_join(other, NULL));
	NEED(paused == 1 && meanwhile.told.times == (meanwhile.watch ? 1 : 0));
	NEED(!meanwhile.watch || (meanwhile.told.is_store && meanwhile.told.is_sure));
	page_watch_end(watch);
	page_watch_end(meanwhile.watch);
}

static void no_pause_where_a_breakpoint_tells(void)
{
	volatile unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *first, *second;

	case_start();
	case_paused = pause_until_told;
	first = case_watch((void *)pages, 64, PAGE_WATCH_PAUSES, NULL);
	second = case_try((void *)(pages + 40), 8, PAGE_WATCH_BYTES, &told);
	atomic_store(&may_go, 1); /* if it pauses all the same */
	pages[40] = 1;
	NEED(!second || (!paused && told.times == 1));
	page_watch_end(first);
	page_watch_end(second);
}

/* --- a page that was lifted --- */

static void a_later_watch_protects_again(void)
{
	volatile unsigned char *pages = case_pages();
	struct told first_told = { 0 }, second_told = { 0 };
	struct page_watch *first, *second;

	case_start();
	first = case_watch((void *)pages, 8, PAGE_WATCH_ALL, &first_told);
	pages[0] = 1;
	pages[64] = 1;
	second = case_watch((void *)(pages + 64), 8, PAGE_WATCH_ALL, &second_told);
	pages[64] = 2;
	NEED(first_told.times == 1 && second_told.times == 1);
	page_watch_end(first);
	page_watch_end(second);
}

const struct watch_case watch_again_cases[] = {
	{ "each_access_is_told", each_access_is_told },
	{ "a_call_is_counted", a_call_is_counted },
	{ "behind_a_string", behind_a_string },
	{ "a_string_goes_over_it", a_string_goes_over_it },
	{ "strings_of_all_kinds", strings_of_all_kinds },
	{ "long_strings_are_no_wear", long_strings_are_no_wear },
	{ "what_is_watched_in_a_pause", what_is_watched_in_a_pause },
	{ "what_becomes_of_a_pause", what_becomes_of_a_pause },
	{ "a_worn_page_is_watched_all_the_same", a_worn_page_is_watched_all_the_same },
	{ "no_pause_where_it_is_told", no_pause_where_it_is_told },
	{ "bytes_are_watched_in_a_pause", bytes_are_watched_in_a_pause },
	{ "no_pause_where_a_breakpoint_tells", no_pause_where_a_breakpoint_tells },
	{ "a_later_watch_protects_again", a_later_watch_protects_again },
	{ 0 },
};
