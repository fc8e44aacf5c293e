/* SPDX-License-Identifier: BSD-2-Clause */
/* loop.h - the loops that measure: what the initiator does with its window, and what the target does meanwhile.
 *
 * A `run` lasts about length_ns, or ops_max ops, and leaves nothing outstanding; a `serve` lasts until the stop flag is set.
 * A flag that is set at the initiator ends its run early: the caller knows why. Op number n uses slot n % window of both sides.
 * With several peers the initiator's op in slot s goes to peer s % peers, and the target has an endpoint for each.
 *
 * Thread: one a loop. Functions return 0 or a negative errno; -ETIMEDOUT: nothing came for patience_ns; -EBADMSG: bytes that
 * came are not those that were sent. The words of a failed completion are in the fabric. */
#ifndef PERF_LOOP_H
#define PERF_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/perf/core/fabric.h"
#include "tools/perf/core/histogram.h"
#include "tools/perf/core/perf_clock.h"

enum loop_wait {
	LOOP_SPIN,  /* polls */
	LOOP_SREAD, /* sleeps in fi_cq_sread() */
	LOOP_CNTR,  /* sleeps in fi_cntr_wait() */
};

/* An outbox has so many words or messages for a ping-pong: one is not touched again before its completion was read. */
enum { LOOP_SOURCES = 64, LOOP_SLEEP_MS = 100 };

struct loop {
	struct fabric *fabric;          /* the one in use */
	struct fabric **fabrics;        /* target: all of them; NULL: `fabric` alone */
	unsigned peers;                 /* 0 or 1: one */
	const _Atomic uint32_t *stop;   /* the target's work is over; the initiator is to give up */
	const _Atomic uint64_t *wanted; /* target of a stream: `reached` is called once so many have arrived; NULL: never */
	void (*reached)(struct loop *loop);
	_Atomic uint64_t *arrived; /* of a stream, counted from `first`: target stores it, initiator waits for its own count */
	int (*await)(struct loop *loop); /* initiator of a stream: says how many were sent; NULL: `arrived` is seen by itself */
	struct histogram *latency;       /* of each op, where there is one at a time; NULL: not kept */
	size_t size;                     /* bytes of an op */
	unsigned window;                 /* ops outstanding */
	unsigned sources;                /* 1 to LOOP_SOURCES */
	enum loop_wait wait;
	bool verify;                 /* whole messages are filled and compared; without it, the first 8 bytes */
	uint64_t seed;               /* of the bytes; both sides know it */
	uint64_t length_ns, ops_max; /* ops_max 0: the time decides */
	uint64_t patience_ns;
	uint64_t serial;       /* ops so far, over warm-up and measurement */
	_Atomic uint64_t seen; /* the same, for another thread that tells how far it is */
	uint64_t told;         /* target of a stream: the last count that `reached` was called for */
	uint64_t bad;          /* bytes that were not as sent; of `verify` */
	uint64_t ops, elapsed_ns;
};

static inline bool loop_stopped(const struct loop *loop)
{
	return loop->stop && atomic_load_explicit(loop->stop, memory_order_acquire);
}

/* Is the run to go on, after so many ops, at this time? */
static inline bool loop_goes_on(const struct loop *loop, uint64_t ops, uint64_t since, uint64_t now)
{
	return loop->ops_max ? ops < loop->ops_max : now - since < loop->length_ns;
}

static inline size_t loop_slot(const struct loop *loop, uint64_t nth)
{
	return (size_t)(nth % loop->window) * loop->size;
}

static inline void loop_count(struct loop *loop, uint64_t ops, uint64_t since_ns)
{
	loop->ops += ops;
	loop->elapsed_ns += now_ns() - since_ns;
}

/* Looks for completions as the loop waits: n >= 0, or a negative errno. `arrivals`: for what the other side sends. */
int loop_sleep(struct loop *loop, bool arrivals);
static inline int loop_look(struct loop *loop, bool arrivals)
{
	return loop->wait == LOOP_SPIN ? fabric_poll(loop->fabric) : loop_sleep(loop, arrivals);
}

/* As patience_left(), and looks at the clock each time if the loop sleeps. */
static inline bool loop_patient(const struct loop *loop, struct patience *patience)
{
	return loop->wait == LOOP_SPIN ? patience_left(patience) : now_ns() < patience->deadline_ns;
}

int loop_drain(struct loop *loop);

/* Each side writes a word into the other's memory and watches its own: loop_pingpong.c. At most 8 bytes, and LOOP_SPIN. */
int loop_pingpong_run(struct loop *loop);
int loop_pingpong_serve(struct loop *loop);

/* A message each way, one at a time, by which completion it comes: loop_message.c. */
struct loop_message {
	int (*post)(struct fabric *f, size_t from, size_t size);
	int (*expect)(struct fabric *f, size_t to, size_t size); /* NULL: nothing needs to be posted */
};

extern const struct loop_message loop_tagged, loop_tagged_stream, loop_sent, loop_written;

int loop_message_run(struct loop *loop, const struct loop_message *message);
int loop_message_serve(struct loop *loop, const struct loop_message *message);
/* A window of messages one way, with twice as many receives, which are taken back at the end: loop_stream.c. */
int loop_stream_run(struct loop *loop, const struct loop_message *message);
int loop_stream_serve(struct loop *loop, const struct loop_message *message);

/* Rate, bandwidth and read latency: loop_window.c. At least one op a slot, so that the whole span is proved. */
typedef int (*loop_post)(struct fabric *f, size_t from, size_t to, size_t size);
int loop_keep_full(struct loop *loop, loop_post post);
int loop_write_run(struct loop *loop);
int loop_read_run(struct loop *loop);
int loop_add_run(struct loop *loop);
/* The target has nothing to do but to poll, for the providers that need it. */
int loop_serve(struct loop *loop);

/* Registers memory that is already there, and closes the region again: loop_register.c. */
int loop_register_run(struct loop *loop);

#endif
