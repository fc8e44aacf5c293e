/* SPDX-License-Identifier: BSD-2-Clause */
/* report_regions.h - where and when each region was registered and closed, and the region that an access most likely meant.
 * Up to REPORT_REGIONS_OPEN regions that are open, and the REPORT_REGIONS_CLOSED closed last. Kept while reports are on.
 *
 * Any thread. report_region_opened() allocates: without the driver role. A leaf lock guards the rest. */
#ifndef EMU_PROCESS_REPORT_REGIONS_H
#define EMU_PROCESS_REPORT_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/process/report/call_stack.h"

enum { REPORT_REGIONS_OPEN = 1 << 16, REPORT_REGIONS_CLOSED = 4096 };

struct region_facts {
	struct region_facts *next, *prev; /* of those open, or those closed; the latest first */
	struct region_facts *chain;       /* of open ones whose handles have one hash */
	const void *object;               /* the program's handle, while it is open */
	const void *pd;                   /* protection domain of the device */
	uint64_t key, desc, asked;        /* the key, the descriptor, the key that the program asked for */
	uint64_t addr, length;            /* of its first segment; of all together */
	uint32_t access;                  /* enum mr_access */
	bool virtual_addr;
	uint64_t opened_ns, closed_ns; /* CLOCK_REALTIME; closed 0: it is open */
	int opened_by, closed_by;      /* threads */
	struct call_stack opened, closed;
};

/* An access that was refused, to guess at. */
struct region_guess {
	const void *pd;             /* NULL: of any */
	uint32_t right;             /* enum mr_access that it needs */
	bool closed, range, rights; /* the refusal: of a closed region, by its range, by its rights; else of an unknown key */
	uint64_t key, addr, length;
};

/* `facts` without lists, times, threads and stacks. */
void report_region_opened(const struct region_facts *facts);
void report_region_closed(const void *object);
size_t report_regions_open(void);
/* The region of that key, one that is open before those closed. False: none is known. */
bool report_region_find(const void *pd, uint64_t key, struct region_facts *facts);
/* The most likely mix-up, as a sentence with its remedy; at the target, or at the initiator among its own regions. False: no
 * guess. */
bool report_region_guess(const struct region_guess *guess, bool target, char *what, size_t size, struct region_facts *meant);
/* Calls back for each open region, the latest first, under the lock: it takes no other lock and does not sleep. */
void report_regions_each(void (*each)(const struct region_facts *facts, void *arg), void *arg);
void report_regions_forked(void);

/* report_guess.c: the guess among a list. */
const struct region_facts *region_guess_in(const struct region_facts *open, const struct region_guess *guess, bool target,
					   char *what, size_t size);

#endif
