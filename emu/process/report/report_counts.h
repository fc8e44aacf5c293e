/* SPDX-License-Identifier: BSD-2-Clause */
/* report_counts.h - how many ops this process has posted and served, by kind, and the causes of refusals. Counted while the NIC
 * is reported (report_nic(), report_nic.h); all zero else.
 * Thread: any; relaxed atomics, each right by itself. */
#ifndef EMU_PROCESS_REPORT_COUNTS_H
#define EMU_PROCESS_REPORT_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

struct json;

enum { REPORT_KINDS = 4, REPORT_CAUSES = 96 }; /* enum op_kind of posted ops; enum refusal_cause */

/* Ops of reliable endpoints but for receives: those of endpoints for datagrams count as posted alone. */
struct report_counts {
	struct {
		atomic_uint_fast64_t posted, done, failed, bytes; /* bytes: of those done */
	} own[REPORT_KINDS];
	struct {
		atomic_uint_fast64_t executed, refused, bytes; /* executed: refused ones, too */
	} served[REPORT_KINDS];
	atomic_uint_fast64_t failed_by[REPORT_CAUSES];  /* own ops and receives */
	atomic_uint_fast64_t refused_by[REPORT_CAUSES]; /* peers' ops */
};

extern struct report_counts report_counts;

static inline void report_count(atomic_uint_fast64_t *counter, uint64_t more)
{
	atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* "ops", "served", "refusals" (own), "served_refusals", as members. Kinds and causes that did not occur are left out. */
void report_counts_json(struct json *json);
/* In a fork's child. */
void report_counts_forked(void);

#endif
