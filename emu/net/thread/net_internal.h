/* SPDX-License-Identifier: BSD-2-Clause */
/* net_internal.h - the process's one NIC for emu/net alone; its thread. */
#ifndef EMU_NET_NET_INTERNAL_H
#define EMU_NET_NET_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/net/link/tcp.h"
#include "emu/nic/base/clock.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/regions/flush.h"

struct thread;

/* --- thread.c: the NIC thread: serves the device when no program thread does. It runs a libuv loop of its own and blocks all
 * signals but the synchronous ones. --- */

enum thread_state {
	THREAD_OFF,    /* the program polls; a sample every ms serves what it finds */
	THREAD_PARKED, /* the program sleeps on the sockets; a sample every 10 ms serves only what the one before found */
	THREAD_ARMED,  /* serves: waits on the data sockets and the device's next timer */
	THREAD_MANUAL, /* FI_EMU_PROGRESS=manual: never serves */
};

/* Counts of what it did: for tests, and for the log line at its end. Any thread reads. */
struct thread_stats {
	atomic_ulong samples; /* timer, OFF and PARKED */
	atomic_ulong wakeups; /* data sockets, ARMED */
	atomic_ulong served;  /* slices that did something */
	atomic_uint controls; /* events that thread_control_fd() has counted; moves after each */
	atomic_int state;     /* enum thread_state */
};

/* Makes it, not yet running; thread_wake() may be called from then on. 0 or -errno. */
int thread_open(struct thread **thread);
/* Runs it over this device and link; it waits for slow_ns before each slice. 0 or -errno. */
int thread_run(struct thread *thread, struct nic *nic, struct tcp *tcp, const struct nic_clock *clock, bool manual,
	       uint64_t slow_ns);
/* Its loop, for handles that are opened before it runs. */
struct uv_loop_s *thread_loop(struct thread *thread);
/* By the NIC thread alone: from now on it waits so long before each slice. */
void thread_slow(struct thread *thread, uint64_t slow_ns);
/* Joins it, if it runs, and closes the control socket. Not with the driver role held. */
void thread_stop(struct thread *thread);
/* Runs it again after thread_stop(), as thread_run() did. 0 or -errno. */
int thread_go_on(struct thread *thread);
bool thread_runs(const struct thread *thread); /* by those that call the two above and thread_run() */
/* In a fork's child: closes its copies of the descriptors; the memory stays. Does only what a signal handler may do. */
void thread_forget(struct thread *thread);
/* Stopped, or never run: frees it; nobody calls thread_wake() any more. */
void thread_close(struct thread *thread);

/* Any thread, and signal handlers; never blocks. */
void thread_wake(void *thread); /* driver_ops.wake */
void thread_tick(void *thread); /* tcp_config.kick */
/* The program sleeps on the sockets until driver.polls moves. */
void thread_park(struct thread *thread);
/* The program sleeps, or is about to, on what only this thread can signal: it serves from now on until driver.polls moves. */
void thread_doze(struct thread *thread);
/* An eventfd that counts what this thread does to connections: dials finished, peers accepted. Sleepers on the data
 * sockets watch it edge-triggered, since they do the work that follows; nobody reads it. Lives as long as the thread. */
int thread_control_fd(const struct thread *thread);

const struct thread_stats *thread_stats(const struct thread *thread);

/* --- the process's one NIC for emu/net alone; after net_start(), any thread. --- */

int net_data_fd(void);    /* the set of all data sockets */
int net_control_fd(void); /* thread_control_fd() */
/* FI_EMU_PROGRESS=manual: a timer of CLOCK_MONOTONIC, which a thread sets to the device's next before it sleeps; else -1. */
int net_timer_fd(void);
const struct thread_stats *net_stats(void); /* for tests, too */

/* --- sync.c: flush.h on the worker thread: msync of the touched pages. worker_start() before the first persistent region is
 * registered. Thread: as flush.h says. --- */

extern const struct flush_ops sync_ops; /* no argument: of the process's one NIC */
void sync_forked(void);                 /* in a fork's child: none is gathered */

#endif
