/* SPDX-License-Identifier: BSD-2-Clause */
/* report.h - findings, written for tools (FI_EMU_REPORT=DIR): one file a process, DIR/HOST-PID-STARTNS.jsonl, one object of JSON
 * a line, each appended by one write(2), so that a process killed at any time leaves whole lines. The first line describes the
 * process, the last one ("end") says that it came to its end; a file without one is partial.
 *
 * Findings are what a correct program never sees:
 * - refusal: an op that was refused, at each side that knows of it. Not: cancelled by the program, a peek that found nothing, a
 *   sender that the address vector does not hold (both are answers to what was asked), members of a broken group but for the first
 *   cause, and a message that its sender gave up. A peer that is gone or cannot be reached is a finding. One that a fault plan
 *   injected has "injected":true: tools do not count it as a failure.
 * - call: a call that the front end refused with a sentence (refused_call()). Not: -EAGAIN and its like, which have none,
 *   and probes. One that a fault plan injected has "injected":true. Also a question for interfaces that comes to nothing.
 * - misuse, leak: of checked mode, and of this file's other callers.
 * - race: two accesses to the same bytes that nothing orders.
 * A note is no such finding: no page forbids what it tells, and tools do not count it as a failure.
 * A finding is told once for each kind, cause, side and place, then counted: `place`, or else the call site.
 *
 * Any thread, with any lock but the report's, in signal handlers, with the driver role or without. Reporting never fails a call:
 * a file that cannot be written is one line of log, and the reports end. The first finding of a place does the input and output of
 * a line of log; a repeated one does none, but for counts at powers of two. */
#ifndef EMU_PROCESS_REPORT_H
#define EMU_PROCESS_REPORT_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/process/report/call_stack.h"

struct front_reports;
struct json;

enum report_kind { REPORT_REFUSAL, REPORT_CALL, REPORT_MISUSE, REPORT_LEAK, REPORT_RACE, REPORT_NOTE };
enum report_side { REPORT_INITIATOR, REPORT_TARGET, REPORT_LOCAL };

/* A region's facts. */
struct report_region {
	uint64_t key, addr, length;
	uint32_t access; /* enum mr_access */
	bool closed;
	uint64_t age_ns; /* since it was closed, or else registered; 0: not known */
};

struct report_op {
	const char *kind; /* "write", "read", "atomic", "send", "recv", "invalidate", "bind" */
	bool targets;     /* it names a region: key and address mean something */
	uint64_t key, addr, length;
};

/* Pointers may be NULL and fields zero where they do not apply. All of it is copied or written before the call returns. */
struct report_finding {
	enum report_kind kind;
	enum report_side side;
	const char *cause;  /* in words-with-hyphens; never NULL */
	uint32_t number;    /* of a refusal: enum refusal_cause */
	const char *text;   /* the whole sentence; never NULL. The rules that it names ("S40") become "rules". */
	const char *call;   /* the call's name; NULL: the sentence's first word, if a colon follows it */
	const char *remedy; /* NULL: what stands behind the sentence's first full stop */
	const struct report_op *op;
	const char *peer; /* "192.0.2.1:4711" */
	const struct report_region *region;
	const char *nearest_what;            /* a sentence on the mix-up, */
	const struct report_region *nearest; /* and the region that was meant; NULL: none */
	const struct call_stack *here;       /* NULL: taken now. For none: an empty one. */
	const struct call_stack *posted, *opened, *closed;
	uint64_t place;       /* what the finding is about, such as a key or an object's address; 0: the call site */
	const void *sentence; /* tells findings of one place apart whose cause is the same, such as a format; NULL: nothing does */
	bool injected;
};

struct report_start {
	const char *folder;      /* NULL: no reports */
	const char *personality; /* static */
	bool checked;
};

extern atomic_bool report_is_on;
/* Are findings written? A load. */
static inline bool report_on(void)
{
	return atomic_load_explicit(&report_is_on, memory_order_relaxed);
}

/* Switches reports on, for good; the first call with a folder counts. Without the driver role. The file is made with its first
 * line, by report_process() or the first finding. */
void report_switch(const struct report_start *start);
/* The process opens a NIC: it has a file from now on, even if it finds nothing; one that has a file already notes it there. */
void report_process(void);
/* Nothing when reports are off. */
void report_finding(const struct report_finding *finding);
/* Has the finding been told, as its kind, side, cause, place, `sentence` and `injected` say, with place not 0? Then it is counted,
 * and need not be put together. True also when reports are off. */
bool report_repeated(const struct report_finding *finding);
/* This thread is writing one: a signal handler has interrupted it. */
bool report_inside(void);
/* The process exits: misuse and leaks that are found from now on are what it left ("at_exit"). */
void report_exits(void);
/* At exit, after the NIC has stopped: the counts and the last line. `more` adds members to it; NULL: none. */
void report_end(void (*more)(struct json *json));

/* --- report_nic.c: what the device tells of ops (front_reports, front_end.h) as counts and findings. Owner: none, constant.
 * To be in nic_config when the NIC starts with reports on, or with counts wanted (report_counts.c): then its findings are
 * written only if report_on(). --- */

extern const struct front_reports report_nic;
/* For report_end(): the counts, and the regions left open. */
void report_nic_end(struct json *json);

/* --- A call of the program that is refused: a line of log, in the ring of lines, and a finding. Any thread, including fork's
 * children and signal handlers: nothing is locked. --- */

/* `key` identifies the sentence: it is logged LIMIT_LOG_LINES times, and then once a second. `subsystem` is the front end's own. */
void refused_call(int subsystem, const char *key, const char *format, va_list args) __attribute__((cold, format(printf, 3, 0)));

#endif
