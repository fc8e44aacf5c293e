/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_channel.h - the control channel between the two sides: messages over one stream socket.
 * Thread: one receives; any may send. */
#ifndef PERF_CHANNEL_H
#define PERF_CHANNEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/perf/perf_plan.h"

enum perf_kind {
	PERF_PLAN = 1, /* initiator: open this; a card of each of its endpoints follows */
	PERF_CARD,
	PERF_OPENED,  /* target: struct perf_answer; a card of each of its endpoints follows if it is well */
	PERF_ORDER,   /* initiator: get ready for this block */
	PERF_READY,   /* target: struct perf_answer */
	PERF_GOAL,    /* initiator's thread: so many messages were sent; struct perf_count */
	PERF_ARRIVED, /* target's thread: they have arrived; struct perf_count */
	PERF_STOP,    /* initiator: the block is over */
	PERF_DONE,    /* target: struct perf_answer; before PERF_STOP if it failed */
	PERF_QUIT,
};

struct perf_answer {
	int32_t status;
	uint32_t unused;
	uint64_t bad; /* bytes that were not as sent */
	char why[200];
};

struct perf_count {
	uint32_t thread, unused;
	uint64_t count;
};

struct perf_channel {
	int fd;
	pthread_mutex_t sending;
	uint64_t timeout_ns;
	pid_t child; /* the other side, if this process started it; else 0 */
};

/* The other side as a process of this machine, started by this one. Dies with a sentence. */
void channel_spawn(struct perf_channel *c, const struct perf_options *o);
/* To a machine that listens. Dies with a sentence. */
void channel_connect(struct perf_channel *c, const struct perf_options *o);
/* Waits for one that speaks as this program does; strangers are turned away. Dies with a sentence. */
void channel_listen(struct perf_channel *c, const struct perf_options *o);
/* What channel_spawn() left to this process. */
void channel_inherit(struct perf_channel *c, const struct perf_options *o);

/* The address of this end, by which the other side reaches this machine. */
void channel_own_address(const struct perf_channel *c, char *out, size_t size);

/* False: the other side is gone. */
bool channel_send(struct perf_channel *c, enum perf_kind kind, const void *body, size_t size);
/* A message of this kind within the time limit; dies with a sentence that has `what`. */
void channel_expect(struct perf_channel *c, enum perf_kind kind, void *body, size_t size, const char *what);
/* The next message, which is known to have begun: its kind, or 0 if the other side is gone. Bodies are at most `size`. */
enum perf_kind channel_next(struct perf_channel *c, void *body, size_t size);
/* Dies with a sentence on how the other side went. */
__attribute__((noreturn)) void channel_gone(struct perf_channel *c, const char *when);

#endif
