/* SPDX-License-Identifier: BSD-2-Clause */
/* report_impl.h - the parts of reports: counts, the file, its lines, and where ops were posted. */
#ifndef EMU_PROCESS_REPORT_IMPL_H
#define EMU_PROCESS_REPORT_IMPL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_stack;
struct json;
struct report_finding;
struct report_start;

/* --- How many ops this process has posted and served, by kind, and the causes of refusals. Counted while the NIC is reported
 * (report_nic()); all zero else. Thread: any; relaxed atomics, each right by itself. --- */

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

/* --- The file of reports of this process. Owner: report.c, with its lock. A failure is one line of log, after which nothing
 * more is written: then the file's mode is 0400, and the emu_report that runs the command hears of it. --- */

/* Makes DIR/HOST-PID-STARTNS.jsonl, which is nobody else's. */
bool report_file_open(const char *folder);
/* False also in a child that a fork made without its handlers. */
bool report_file_is_open(void);
/* One line by one write(2), whole or not at all. */
bool report_file_put(const char *line, size_t length);
void report_file_close(void);
/* In a fork's child: the file is its parent's. */
void report_file_forked(void);

/* --- the members of the lines of reports. Owner: report.c, with its lock. --- */

uint64_t report_line_now(void); /* CLOCK_REALTIME, ns */
/* When this process began to report: the same whenever it is asked in one process. */
uint64_t report_line_start(void);
void report_line_process(struct json *json, const struct report_start *start);
void report_line_finding(struct json *json, uint32_t id, const struct report_finding *finding, const struct call_stack *here);

/* --- Where the ops were posted that are under way: the latest few thousand, by endpoint, kind, context and target. One that
 * was overwritten by later ones is not found. Any thread, with the driver role or without; a leaf lock guards it. --- */

struct report_post {
	const void *owner; /* endpoint */
	const void *context;
	uint64_t key, addr; /* messages: 0 */
	uint8_t kind;
};

/* Allocates the table. Without the driver role; again is harmless. Without memory nothing is ever found. */
void report_posts_open(void);
/* It is posted here, by the calling thread. */
void report_posts_add(const struct report_post *post);
/* False: not known (any more). */
bool report_posts_find(const struct report_post *post, struct call_stack *stack);
void report_posts_forked(void);

#endif
