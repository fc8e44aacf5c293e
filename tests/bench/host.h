/* SPDX-License-Identifier: BSD-2-Clause */
/* host.h - the machine under the bench: cores, the two processes' shared page and control socket.
 * The shared page carries only what must cost nothing to look at while a block is measured; whatever can
 * wait for the end of a block goes through the control socket. */
#ifndef BENCH_HOST_H
#define BENCH_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/perf/core/perf_clock.h"

#define STARVED_NS (1000 * MSEC) /* where a provider may do nothing at all, that is how long it is waited for */

struct shared {
	_Atomic uint32_t stop;      /* initiator: the block is over */
	_Atomic uint64_t goal;      /* initiator: bytes that the raw stream has to deliver by now */
	_Atomic uint32_t computed;  /* initiator: the target need not compute any longer */
	_Atomic uint64_t waited_ns; /* target: what those of its threads that serve have waited for a core... */
	_Atomic uint64_t served_ns; /* ... in how long */
	_Atomic uint64_t arrived;   /* target: messages of a window received in this block */
};

/* One side's view of the pair. */
struct host {
	struct shared *shared;
	int control; /* SOCK_SEQPACKET, blocking */
};

/* Makes the pair's page and sockets; ends[0] is the initiator's, ends[1] the target's. Exits on failure. */
void host_pair(struct host ends[2]);

/* Binds the calling thread (and every one that it starts) to the nth core, modulo their number, of those that the process
 * could use when it asked for the first time. */
void host_pin(unsigned nth);
unsigned host_cores(void);

/* What a cache line takes from the first of these cores to the second or back, in ns, where both spin on it; 0: there is one core.
 * On virtual machines it changes while they run, and with it all that two spinning processes do. */
unsigned host_line_ns(void);

/* How long a thread of this process was ready and had no core; 0 if it has ended, or where the kernel does not count that:
 * see host_counts_waits(). */
uint64_t host_waited_ns(long thread);
bool host_counts_waits(void);

/* Waits, at most 50 ms, until no thread of this process uses the processor: a provider's progress thread that
 * goes on spinning after its block would be charged to the next candidate. */
void host_settle(void);

/* Whole messages; false when the other process is gone. */
bool control_send(const struct host *host, const void *msg, size_t size);
bool control_receive(const struct host *host, void *msg, size_t size);

#endif
