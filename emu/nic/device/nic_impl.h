/* SPDX-License-Identifier: BSD-2-Clause */
/* nic_impl.h - the nic itself and its protection domains, for the files of emu/nic alone.
 * Thread: holder of the driver role, but for the fields that submit.h guards. */
#ifndef EMU_NIC_NIC_IMPL_H
#define EMU_NIC_NIC_IMPL_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "emu/nic/device/nic.h"
#include "emu/nic/device/pace.h"
#include "emu/nic/device/secret_memory.h"
#include "emu/nic/device/submit.h"
#include "emu/nic/device/view.h"
#include "emu/nic/regions/front_end.h"
#include "emu/nic/regions/mr_window.h"
#include "wire/frame.h"
#include "wire/secret.h"

struct coll_ready;
struct commit;
struct conn;
struct fault_loaded;
struct message;
struct rx;
struct sendq_buffer;
struct service;
struct session;
struct srx;
struct tracer;

struct pd {
	struct nic *nic;
	struct pd *next; /* of the nic's */
	uint32_t number; /* from 1, in the order of opening */
	struct mr_table *regions;
	struct mr_windows windows;
	struct key_map *mappings;
	uint32_t users; /* endpoints */
};

/* Lines of log that peers cause: LIMIT_LOG_LINES of a kind, and then one more a second, so that no peer fills a disk.
 * Each kind has a limit of its own. */
enum log_limit_kind {
	LOG_LIMIT_REFUSAL,    /* requests that were refused */
	LOG_LIMIT_CONNECTION, /* connections that were turned away, or ended for a cause */
	LOG_LIMIT_KINDS
};

struct log_limit {
	uint32_t left;     /* lines */
	uint64_t since_ns; /* from then on a line more each second */
	uint64_t left_out;
};

/* --- what rooms above keep of the nic: each is touched by the files named alone --- */

/* Requests that wait for a flush (commit.c). */
struct commits {
	struct commit *first;  /* all that there are */
	pthread_mutex_t lock;  /* a leaf, of `flushed` */
	struct flush *flushed; /* handed back by the outside, the last one first */
	atomic_bool waiting;   /* there are some; written under the lock, read by any thread (D1, D2) */
};

/* Wrong keys (guess.c). */
struct guesses {
	uint64_t until_ns; /* the end of this second */
	uint32_t left;     /* wrong keys in it, until connections are held */
	bool throttling;   /* connections */
};

/* Questions to peers (claim.c). */
struct claims {
	uint64_t until_ns; /* the end of this second */
	uint32_t left;     /* questions in it */
	uint32_t open;     /* questions under way */
};

/* Buffers not in use, shared by the connections (sendq.c); [1]: long ones. */
struct sendq_spares {
	struct sendq_buffer *first[2];
	unsigned count[2];
};

struct nic {
	struct driver driver;
	/* Read by each slice, so kept together. */
	struct nic_clock clock;
	struct pace pace;
	struct op_list own; /* posted by the holder of the role, taken before it lets go */
	struct rx *own_rx;  /* likewise, a receive; NULL: none */
	struct conn *busy;  /* have something to send */
	struct conn *dead;  /* to be freed at the end of the slice */
	struct session *owing;
	struct submit submit;
	struct commits commits;
	void *link_arg;
	struct link_ops link;
	struct nic_config config;
	struct secret_memory secret_memory;
	struct wire_secret *secret;        /* its keys, hidden; NULL: there is none */
	atomic_bool polling;               /* the link looks for stored acknowledgements */
	struct fault_loaded *_Atomic plan; /* in force; NULL: none */
	struct fault_loaded *plans_left;   /* that were in force, and a thread may still read (fault_swap.c) */
	atomic_uint plan_readers;          /* that are no holders of the role */
	struct tracer *trace;              /* NULL: it is not traced */
	struct pd *_Atomic pds;            /* the newest first; opened by any thread, closed under the role */
	struct view_counts counts;
	struct ep *eps;
	struct srx *srxs;
	struct conn *conns;
	struct session *timed;
	struct coll_ready *ready, **ready_end; /* collectives and groups that can get on (coll_ready.c) */
	uint64_t coll_look_ns;                 /* the next look at what collectives wait for (coll_wait.c); 0: none */
	uint64_t alarm_ns;                     /* nic_config.alarm is due then */
	struct op *late;                       /* fault plan: have ended, and are told of later; by that time */
	struct held *held;                     /* fault plan: bytes of peers that are seen later; by that time (held.c) */
	size_t held_bytes;
	struct conn_kept *kept;           /* connections that wait (conn_recv.c) */
	struct open_access *opens;        /* accesses of peers whose answers are held back; by that time (open_access.c) */
	uint32_t conn_count, dials;       /* dials: of them, those that this side dialled and that have not greeted */
	uint8_t process[WIRE_ID_LEN / 2]; /* the first half of all its endpoints' instance ids */
	uint32_t dgram_eps;               /* opened so far: an endpoint's number decides its losses */
	bool greeting;                    /* a connection may be waiting for its HELLO */
	bool dgrams_overran;              /* dgram_pairs_tick() is due */
	bool unplugged;                   /* queue pairs have no connection (nic_unplug()) */
	struct log_limit log_limits[LOG_LIMIT_KINDS];
	struct guesses guesses;
	struct claims claims;
	struct service *asking; /* questions for a service (service.c) */
	struct sendq_spares spares;
	struct message *spare_message; /* NULL: none */
	uint8_t scratch[LIMIT_SEGMENT + sizeof(struct wire_trailer) + WIRE_FRAME_MAX + CACHE_LINE];
};

static_assert(sizeof(((struct nic *)NULL)->scratch) >= SLICE_RECV_MORE && SLICE_RECV_MORE >= SLICE_RECV_BYTES,
	      "what a connection receives there fits");

/* role_assert(), of this nic. */
static inline void nic_role(const struct nic *nic) ASSERT_CAPABILITY(driver_role) UNCHECKED
{
#ifdef EMU_ROLE_CHECKS
	assert(driver_mine(&nic->driver));
#else
	(void)nic;
#endif
}

/* The outside is to serve. Any thread. */
static inline void nic_wake(struct nic *nic)
{
	if (nic->config.wake)
		nic->config.wake(nic->config.wake_arg);
}

/* Something to be sent came up. Outside of a slice (a control action, the NIC thread's work on connections) no thread would
 * look at it: so the role's holder runs a slice when it lets go (D3). */
void nic_kick(struct nic *nic);
/* A timer is to be looked at then, if not before; likewise. */
void nic_arm_timer(struct nic *nic, uint64_t at_ns);
/* The time, the same throughout a slice. */
uint64_t nic_now(struct nic *nic);
static inline uint64_t time_coarse(uint64_t at_ns)
{
	return at_ns - at_ns % TIME_COARSE_NS + TIME_COARSE_NS;
}
void nic_log(struct nic *nic, enum nic_log level, const char *format, ...) __attribute__((format(printf, 3, 4)));
void log_limit_init(struct nic *nic);
/* May one more line be logged? Else it is counted, and the log is told of each power of two of those. */
bool log_limit_ok(struct nic *nic, enum log_limit_kind kind);

#endif
