/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_case.h - small programs whose memory is watched (emu/process/races/page_watch.h): each runs in a process of its own. */
#ifndef EMU_TESTS_WATCH_CASE_H
#define EMU_TESTS_WATCH_CASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/process/races/page_watch.h"

enum { PAGE = 4096, PAGES = 16 };

struct watch_case {
	const char *name;
	void (*run)(void);
};

/* Each file has one, ended by an empty row. */
extern const struct watch_case watch_access_cases[], watch_call_cases[], watch_signal_cases[], watch_thread_cases[],
	watch_memory_cases[], watch_step_cases[], watch_again_cases[], watch_byte_cases[], watch_stress_cases[];

#define NEED(truth)                                              \
	do {                                                     \
		if (!(truth))                                    \
			case_failed(__FILE__, __LINE__, #truth); \
	} while (0)

_Noreturn void case_failed(const char *file, int line, const char *what);

/* What accessed() has told of one watch. */
struct told {
	atomic_int times;
	uintptr_t at;
	bool is_store, is_sure;
	uintptr_t code;
	uint64_t lifted;
	struct call_stack stack;
	void (*wait)(void); /* NULL: accessed() waits for nothing */
	bool goes_on;       /* what accessed() answers */
	atomic_int made, made_free;
};

/* Pages of the case's own, filled with bytes that go by their place. */
unsigned char *case_pages(void);
unsigned char case_byte(size_t place);

/* What a thread does that pauses. */
extern void (*case_paused)(void);
/* Likewise heard(); NULL: nothing. */
extern void (*case_heard)(void);

/* Starts the watching, or ends the case where the kernel has none. */
void case_start(void);
/* Watches; waits until all threads trap. */
struct page_watch *case_watch(void *at, size_t length, enum page_watch_kind kind, struct told *told);
/* Tries once. */
struct page_watch *case_try(void *at, size_t length, enum page_watch_kind kind, struct told *told);

/* The address sanitizer has a handler of faults and a stack for it, which it puts back: ends a case that is about these. */
void case_not_sanitized(void);
/* Until the thread sleeps in the system call of this number. */
void case_wait_in_call(int id, int number);

#endif
