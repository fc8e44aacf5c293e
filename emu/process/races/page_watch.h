/* SPDX-License-Identifier: BSD-2-Clause */
/* page_watch.h - finds accesses of the program's CPU to bytes that the NIC owns for a while, by page protection.
 *
 * A watched page has less protection than its mapping, and the first access to it faults. The handler gives the page back for as
 * long as watches are on it, and tells if the access was to watched bytes. System calls on such pages would fail: each of the
 * program's threads traps its calls (PR_SET_SYSCALL_USER_DISPATCH), and a trapped call lifts the pages that it names first. While
 * a thread does not trap its calls no page is protected. What cannot be watched is not, and is counted. */
#ifndef EMU_PROCESS_PAGE_WATCH_H
#define EMU_PROCESS_PAGE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/process/report/call_stack.h"

struct page_watch;

enum page_watch_kind {
	PAGE_WATCH_STORES,
	PAGE_WATCH_ALL,
	PAGE_WATCH_BYTES, /* all, by breakpoints: few bytes, and no page is protected */
	PAGE_WATCH_PAUSES /* a thread that is about to touch them calls paused(), and tries again: others may watch by then */
};

/* An access of the program's CPU. */
struct page_access {
	uintptr_t at;           /* the first byte */
	bool is_store, is_sure; /* is_sure: else it may be a load of bytes that another has stored, */
	uint64_t renewals;      /* or does so now, if page_watch_renewals() is another number */
	uintptr_t code;         /* the instruction; behind it, where a breakpoint told */
	uint64_t lifted;        /* page_watch_lifted_so_far() */
	const struct call_stack *stack;
};

struct page_watch_ops {
	/* The program's CPU is about to touch watched bytes, or has done so, where a breakpoint tells. False: that was the only one
	 * that the watch tells of. In the handler of the thread that touches, with signals blocked: takes no lock that interrupted
	 * code may hold, allocates nothing, calls nothing of here. */
	bool (*accessed)(void *arg, const struct page_access *access);
	/* May be NULL. This thread has made the access of which accessed() said true; `free`: it is about to make it, and the page
	 * has no protection from here on, so that others to come may not be told. As above. */
	void (*made)(void *arg, bool free);
	/* May be NULL. The first access of a watch that pauses is about to be made. As above, but that it may take its time. */
	void (*paused)(void);
	/* May be NULL. A system call of this thread has brought it bytes that another may have sent. In the handler of trapped
	 * calls, with signals blocked: as paused(). */
	void (*heard)(void);
	/* May be NULL. Is this thread in the device's code? Then its access is none of the program's. As above. */
	bool (*inside)(void);
};

/* Starts to trap the calls of this thread, and asks the others to. NULL, or a sentence: why no page is ever protected here. The NIC
 * calls it when it starts, once guard_install() has been; again after a fork in the child. `ops` is constant. */
const char *page_watch_start(const struct page_watch_ops *ops);
/* NULL, or a sentence, once: the program has done what ends the watching for good. */
const char *page_watch_ended_why(void);
/* This thread is the device's: its calls are not trapped. It lifts what it touches. */
void page_watch_exempt(void);

/* Do all threads trap their calls? Asks those that do not, which takes a while: then nothing is watched. As page_watch_begin(). */
bool page_watch_ready(void);
/* From now on, until page_watch_end(). NULL: cannot be watched, and is counted. Any thread but in a signal handler, with the driver
 * role or without. */
struct page_watch *page_watch_begin(const struct iovec *iov, size_t count, enum page_watch_kind kind, void *arg);
/* No accessed() with its arg runs after this has returned. NULL is allowed. */
void page_watch_end(struct page_watch *watch);
enum { WATCH_RANGES = 8 /* of a watch; the bytes of others are not watched */ };

/* Is each of its pages protected now? As page_watch_begin(). */
bool page_watch_stands(const struct page_watch *watch);
/* The first bytes of those of its ranges that have a page that stays without protection, as what shares it is in use too often: how
 * many. As page_watch_begin(). */
size_t page_watch_worn(const struct page_watch *watch, uintptr_t starts[WATCH_RANGES]);
/* A peer has stored bytes that may be watched: what differs from now on is the program's (page_access.is_sure). As
 * page_watch_begin(). */
void page_watch_renew(void);
/* How often it did. In a handler, too. */
uint64_t page_watch_renewals(void);
/* How often the page of this byte was without protection, but for one instruction: between two equal answers each access was told.
 * The watch is on it. As page_watch_begin(). */
uint64_t page_watch_lifted_so_far(uintptr_t at);
/* The device is about to touch these bytes by calls of its own: their pages are free again, until the watches on them have ended.
 * Nothing is protected until page_watch_lifted(). Not nested. */
void page_watch_lift(const struct iovec *iov, size_t count);
void page_watch_lifted(void);
/* In a fork's child: nothing is watched any more, and page_watch_end() of an inherited watch does nothing. */
void page_watch_forked(void);

struct page_watch_counts {
	uint64_t watches;    /* begun */
	uint64_t accesses;   /* accessed() was called */
	uint64_t neighbours; /* faults beside the watched bytes, or by the device */
	uint64_t lifted;     /* pages that the device or a system call needed */
	uint64_t traps;      /* system calls of the program */
	/* Begun in vain, by reason, but for those that pause: */
	uint64_t refused_off;     /* never started, or ended for good */
	uint64_t refused_threads; /* a thread does not trap its calls yet */
	uint64_t refused_full;    /* too many watches or pages */
	uint64_t refused_memory;  /* stacks, device memory, memory that is not there or not writable, bytes of this library */
	uint64_t refused_busy;    /* a system call uses the pages, or another watch had them lifted */
	uint64_t refused_handler; /* the program's fault handler stands before ours */
};

void page_watch_count(struct page_watch_counts *counts);

#endif
