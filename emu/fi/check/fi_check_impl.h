/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_impl.h - the parts of checked mode, one section each file. */
#ifndef EMU_FI_CHECK_IMPL_H
#define EMU_FI_CHECK_IMPL_H

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "emu/process/check/check.h"

struct check_object;
struct emu_cq;
struct emu_domain;
struct emu_ep;
struct fid;

/* --- Threads that block on the descriptor of a completion queue (FI_GETWAIT) and never call fi_trywait (fi_poll(3)). Such a
 * wait is not told by itself: the program may wait for other things in the same call. It is told when the thread's next look at
 * the queue finds an entry.
 *
 * A thread of checked mode looks at the threads of the program, from the first FI_GETWAIT on until the last such queue is
 * closed. Any thread, but not in signal handlers. --- */

/* The part of a completion queue. A turn ends with each look at the queue. */
struct check_wait {
	struct check_object *next; /* in the list of those that are watched */
	int fd;
	uint64_t still_turn; /* the watching thread's alone, and */
	unsigned int still;  /* how often it has found that turn again */
	atomic_bool quiet;   /* it is watched: its descriptor is silenced at each look */
	atomic_bool armed;   /* fi_trywait has succeeded; stays */
	atomic_uint_fast64_t turn;
	atomic_uint_fast64_t slept; /* the turn in which its reader was seen asleep on the descriptor, + 1 */
	atomic_int reader;          /* the thread that looked at it last, or took the descriptor */
};

/* FI_GETWAIT of a completion queue has given `arg`. */
void check_wait_taken(struct check_object *queue, const void *arg);
/* fi_trywait of these has succeeded. */
void check_wait_armed(struct fid *const *fids, size_t count);
/* Around each look of the program's at the queue, by this call, which gave `got`. */
void check_wait_looks(struct check_object *queue);
void check_wait_looked(struct check_object *queue, const char *call, ssize_t got);
/* Before the queue is closed. True: it was watched, and check_wait_begin() goes on if it is not closed. */
bool check_wait_end(struct check_object *queue);
void check_wait_begin(struct check_object *queue);
/* The process exits: ends the thread for good. */
void check_wait_exit(void);
/* In a fork's child. */
void check_wait_forked(void);

/* --- The open objects of checked fabrics. Each gets a table of its own for fi_close() and fi_control(), which is how it is
 * found again. Any thread. --- */

struct check_object {
	struct check_open open;        /* first */
	struct fid *fid;               /* NULL: a raw key */
	struct fi_ops *plain;          /* its table before */
	struct fi_ops ops;             /* the one that it has */
	const struct fid *domain;      /* a raw key's */
	uint64_t key;                  /* a raw key's, a region's */
	uint64_t contexts;             /* endpoints: FI_CONTEXT, FI_CONTEXT2, if contexts are the provider's until completion */
	atomic_uint_fast64_t accessed; /* endpoints: a peer's last access, by check_progress_mark() */
	enum fi_threading threading;   /* domains and what is in them */
	atomic_int inside;             /* check_serial_enter(): the thread that is in a call; 0: none */
	const char *_Atomic inside_call;
	struct check_wait wait; /* queues of completions */
	atomic_bool read;       /* queues of completions: somebody has tried to */
	bool manual;            /* domains and what is in them: the program makes the progress */
	bool loses;             /* likewise: full queues lose entries (FI_RM_DISABLED) */
	uint8_t spans;          /* regions */
	uint64_t access;
	struct interval span[LIMIT_IOV];
};

/* Takes an object that was opened. NULL without memory: it is not checked. `parent` may be NULL. */
struct check_object *check_adopt(struct fid *fid, const struct check_object *parent);
/* The record of an adopted object; NULL: it is not adopted. */
struct check_object *check_object_of(const struct fid *fid);
/* Notes the memory of a region that was adopted. */
void check_region(struct check_object *region, const struct iovec *iov, size_t count, uint64_t access);
/* A peer's access to a region was executed. */
void check_accessed(const struct fid_ep *ep);
/* Tells of objects that are open while the process ends. */
void check_objects_exit(void);
/* --- Threads that are in data calls at the same time, where the threading model allows one (fi_domain(3)): FI_THREAD_DOMAIN
 * in a domain, FI_THREAD_COMPLETION in a completion queue and the endpoints that are bound to it. Control calls, and
 * fi_cq_signal, may come from any thread. Any thread; no locks. --- */

/* The object whose calls exclude each other; NULL: there is no such restriction. The queue may be NULL. */
struct check_object *check_serial_of(const struct emu_domain *domain, const struct emu_cq *cq);
/* The thread is in this call from here on. Tells if another is in one. */
void check_serial_enter(struct check_object *serial, const char *call);
/* Does nothing but for the thread that is noted. */
void check_serial_leave(struct check_object *serial);

/* --- Do the program's threads make progress while one of them repeats a post, and after a peer's access? Any thread; no
 * locks. --- */

enum {
	CHECK_RETRIES = 10000, /* so many -FI_EAGAIN in a row, without a call that makes progress, are reported */
	CHECK_IDLE_MS = 1000,  /* a thread that polls calls more often, on a busy machine too */
};

/* Around each call that makes progress: reads of queues and counters, waiting. */
void check_progress_begin(void);
void check_progress_end(void);
/* The program reads a counter; has it ever? Then it may know by that what a queue would tell. */
void check_progress_counted(void);
bool check_progress_counts(void);
/* A thread has got -FI_EAGAIN for a post to this object (`again`), or another answer. True, once a series: so often in a row that
 * it is to be reported. */
bool check_progress_missing(const void *object, bool again);
/* This moment, for the next. 0: a thread is in a call that makes progress, or was within CHECK_IDLE_MS. */
uint64_t check_progress_mark(void);
/* Was that a moment of no progress, and has no thread made any since? */
bool check_progress_none_since(uint64_t mark);

/* --- The operations under way, as far as they are checked: those of the data calls, without injected and deferred ones. Any
 * thread. --- */

/* Tells that they are dropped: their endpoint was closed, or the process exits. */
void check_posts_dropped(const struct check_left *left, bool exits);

/* --- the tables of calls that checked objects have in the place of the plain ones. Any thread. --- */

/* Objects that were opened get theirs. An endpoint's posts are watched from then on. */
void check_cq_tables(struct fid_cq *cq);
void check_cntr_tables(struct fid_cntr *cntr);
void check_eq_tables(struct fid_eq *eq);
void check_poll_tables(struct fid_poll *poll);
void check_wait_tables(struct fid_wait *wait);
/* In a fork's child. */
void check_tables_forked(void);

#endif
