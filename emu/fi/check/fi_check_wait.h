/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_wait.h - threads that block on the descriptor of a completion queue (FI_GETWAIT) and never call fi_trywait
 * (fi_poll(3)). Such a wait is not told by itself: the program may wait for other things in the same call. It is told when the
 * thread's next look at the queue finds an entry.
 *
 * A thread of checked mode looks at the threads of the program, from the first FI_GETWAIT on until the last such queue is closed.
 * Any thread, but not in signal handlers. */
#ifndef EMU_FI_CHECK_WAIT_H
#define EMU_FI_CHECK_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct check_object;
struct fid;

/* Of a completion queue. A turn ends with each look at the queue. */
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

#endif
