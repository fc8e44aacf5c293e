/* SPDX-License-Identifier: BSD-2-Clause */
/* watched_pages.h - the pages that have watches, found without a lock by the fault handler.
 *
 * Changes by the holder of `watched_lock`, which has blocked signals. A fault lifts without it, inside watched_enter() and
 * watched_leave(): what the holder takes out of the table is not used again while a handler may look at it. Once it has given the
 * page back (watched_gave()) a handler may wait for other threads, and nobody waits for it with the lock. The table is static, as
 * pages of the program's heap may be protected, and those of this library are not. */
#ifndef EMU_PROCESS_WATCHED_PAGES_H
#define EMU_PROCESS_WATCHED_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/thread_safety.h"
#include "emu/process/races/exempt_call.h"

enum {
	WATCHED_PAGE = 4096,
	WATCHED_PAGES = 8192,   /* in all: each may split a mapping in three, of which a process has 65530 */
	WATCHED_BUCKETS = 4096, /* a power of two */
	WATCHED_NODES = 16384,  /* a page of a watch */
};

enum watched_state {
	WATCHED_PROTECTED,
	WATCHED_LIFTED, /* as without us, until its watches have ended */
	WATCHED_GONE    /* the program has changed the mapping: a fault there is the program's */
};

/* A watch's part of a page. */
struct watched_node {
	uint16_t watch;
	_Atomic uint16_t next; /* of the page; 0: none */
	uint16_t more;         /* of the watch, or of the free ones */
	uint16_t page;
};

struct watched_page {
	_Atomic uintptr_t at;
	_Atomic unsigned char state; /* enum watched_state */
	_Atomic uint16_t next;       /* of the bucket, or of the free ones */
	_Atomic uint16_t nodes;
	unsigned char before; /* protection without us */
	unsigned char now;    /* and while it is protected */
	atomic_uint spent;    /* steps (page_step.h) */
	atomic_uint lifts;    /* but for those whose step has protected it again */
};

struct CAPABILITY("lock") watched_lock {
	struct exempt_lock lock;
};

struct watched_table {
	atomic_uint pages;    /* in the table */
	atomic_uint ends;     /* counts what has made a fault on its way find no page */
	atomic_uint handlers; /* fault handlers at work */
	atomic_uint giving;   /* those of them that may yet change the protection of pages: they wait for nothing */
	_Atomic uint16_t bucket[WATCHED_BUCKETS];
	struct watched_page page[WATCHED_PAGES]; /* number 0 is none */
	struct watched_node node[WATCHED_NODES]; /* likewise */
	uint16_t free_pages, free_nodes;
};

extern struct watched_table watched;
extern struct watched_lock watched_lock;

/* At the start, or in a fork's child: no page, no lock taken. */
void watched_reset(void);

exempt_mask watched_take(void) ACQUIRE(watched_lock);
/* False: it is taken, perhaps by this thread. */
bool watched_try(exempt_mask *before) TRY_ACQUIRE(true, watched_lock);
void watched_let_go(exempt_mask before) RELEASE(watched_lock);

/* NULL: no watch is on it. With the lock, or inside a handler's part. */
struct watched_page *watched_find(uintptr_t at);
/* A node for the watch, on an entry that is lifted if it is new. NULL: there is no room. */
struct watched_node *watched_add(uintptr_t at, unsigned char before, uint16_t watch) REQUIRES(watched_lock);
/* Takes the watch's nodes off their pages, and frees pages that have no other: they are as without us when this returns, and no
 * handler looks at the nodes any more. Lets the lock go for a while, with signals blocked. */
void watched_remove(uint16_t first) REQUIRES(watched_lock);

/* Protects `length` bytes of pages that are in the table, and lifted. False: the kernel does not. */
bool watched_protect(uintptr_t at, size_t length, unsigned char now) REQUIRES(watched_lock);
/* Is any byte of these on a watched page? How many pages were lifted. */
unsigned int watched_lift(uintptr_t at, size_t length) REQUIRES(watched_lock);
unsigned int watched_lift_all(void) REQUIRES(watched_lock);
/* The program is about to change these mappings. */
void watched_forget(uintptr_t at, size_t length) REQUIRES(watched_lock);

/* A fault handler's part: watched_give_back() and watched_find() between the first two. */
void watched_enter(void);
void watched_gave(void);
void watched_leave(void);
/* Until those that were at work have left. Lets the lock go for a while, with signals blocked. */
void watched_wait_for_handlers(void) REQUIRES(watched_lock);
/* Gives the page back; true: this call did. */
bool watched_give_back(struct watched_page *page);

#endif
