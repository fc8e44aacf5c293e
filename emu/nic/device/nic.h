/* SPDX-License-Identifier: BSD-2-Clause */
/* nic.h - the emulated NIC, as the front end above it, the outside below it (emu/net) and the simulator see it.
 *
 * One nic a process; protection domains and endpoints in it. Calls marked [role] need the driver role
 * (driver_enter/driver_leave); the others may come from any thread. Errors are negative errnos (base/errno.h). */
#ifndef EMU_NIC_NIC_H
#define EMU_NIC_NIC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/nic/base/clock.h"
#include "emu/nic/base/must_use.h"
#include "emu/nic/base/thread_safety.h"
#include "emu/nic/device/link.h"
#include "emu/nic/ops/op.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/queues/cntr.h"
#include "emu/nic/queues/cq.h"
#include "emu/nic/regions/flush.h"
#include "emu/nic/regions/mr_binding.h"
#include "emu/nic/regions/mr_table.h"
#include "emu/nic/role/driver.h"

struct cm_ops;
struct nic;
struct pd;
struct ep;
struct xrc;
struct fault_plan;
struct front_end;
struct front_reports;
struct mr_windows;
struct srx;
struct stx;
struct race_ops;
struct watch_ops;

enum nic_digest { NIC_DIGEST_HEAD, NIC_DIGEST_FULL, NIC_DIGEST_OFF };

struct nic_config {
	const struct front_end *front;       /* never NULL; outlives the nic (front_end.h) */
	const struct front_reports *reports; /* told of ops (front_end.h); outlives the nic. NULL: nobody */
	enum nic_digest digest;
	uint64_t retry_budget_ns;       /* 0: TIME_RETRY_BUDGET_NS */
	uint32_t refused_dials;         /* 0: REFUSED_DIALS_GONE */
	uint32_t rnr_most;              /* so often in a row a receiver may be not ready for an op; 0: without end */
	uint32_t segment;               /* 0: LIMIT_SEGMENT */
	uint32_t eager;                 /* 0: LIMIT_EAGER; the peer's grant of a segment bounds it, too */
	uint64_t unexpected_bytes;      /* 0: LIMIT_UNEXPECTED_BYTES */
	uint64_t envelopes;             /* 0: LIMIT_ENVELOPES */
	bool receives_first;            /* no message waits for a receive: the receiver is not ready */
	bool multi_buf;                 /* completions name the buffer of receives with POST_MULTI alone */
	uint32_t dgram_loss;            /* so many of a billion unreliable datagrams are lost, */
	uint64_t dgram_seed;            /* and which */
	const void *secret;             /* peers must know it, too; not needed after the call. NULL: none */
	size_t secret_length;           /* LIMIT_SECRET_MIN to LIMIT_SECRET */
	bool fetch_reads;               /* fetching atomics need MR_REMOTE_READ, too */
	const struct fault_plan *fault; /* copied; NULL: none */
	const struct watch_ops *watch;  /* sees the posts that say so (watch.h); NULL: none */
	const struct race_ops *races;   /* compares accesses (races.h); NULL: nobody does */
	const struct flush_ops *flush;  /* makes persistent regions durable; NULL: there are none */
	void *flush_arg;
	/* [role] Called within a slice: soon after a plan was loaded, and when the time is due that it returned last, in clock ns,
	 * UINT64_MAX: not again. Must neither block nor be a cancellation point. NULL: nothing is */
	uint64_t (*alarm)(void);
	bool debug;              /* lines of NIC_LOG_DEBUG are read: each change of a state is one */
	void (*wake)(void *arg); /* gets the NIC thread to serve (driver_ops.wake); may be NULL */
	void *wake_arg;
};

/* Copies config, link operations and clock; `link` must outlive the nic. 0 or -ENOMEM. */
MUST_USE int nic_open(struct nic **nic, const struct nic_config *config, const struct link_ops *ops, void *link,
		      const struct nic_clock *clock);
/* [role, and no other thread takes it any more] Says BYE everywhere and frees all endpoints, not the protection domains. */
void nic_close(struct nic *nic) REQUIRES(driver_role);
/* [role, for good] For the end of the process, where other threads may still be in the middle of a call: asks whether
 * anything is owed or on the way; says BYE everywhere and stops listening, and frees nothing that a call may hold. */
bool nic_is_drained(struct nic *nic) REQUIRES(driver_role);
void nic_say_bye(struct nic *nic) REQUIRES(driver_role);
struct driver *nic_driver(struct nic *nic);
/* [role] One bounded slice: posted ops, received bytes, timers, owed acknowledgements. True if it did anything. */
bool nic_work(struct nic *nic);
/* When the next timer of the device is due, in clock ns; UINT64_MAX: none. Any thread; may be a little old. */
uint64_t nic_deadline(const struct nic *nic);
/* [role] The next slice looks whether faults still come to the guard (guard_check()): to be called at each registration,
 * since no byte of a region is touched but in a slice. Slices look by themselves every TIME_GUARD_NS. */
void nic_check_guard(struct nic *nic) REQUIRES(driver_role);
/* [role] Sends every acknowledgement owed, now: before a sleep, and when the NIC thread holds the role. */
void nic_flush_acks(struct nic *nic);
/* [role] Tells peers whether this process is polling (link.h). Switch off before a sleep: acknowledgements stored until then
 * are processed first. nic_is_polling() is for any thread, and a hint without the role. */
void nic_set_polling(struct nic *nic, bool on) REQUIRES(driver_role);
bool nic_is_polling(const struct nic *nic);

/* Deferred work (deferred.c): posts with POST_WORK, and this one. 0, or -EAGAIN: LIMIT_DEFERRED wait. */
MUST_USE int nic_change_counter(struct nic *nic, const struct trigger *when, const struct deferred_change *change);
/* Takes deferred work back, without a completion: by `work`, 0 or -ENOENT; or all of an owner, of one counter if it is not
 * NULL. */
int nic_cancel_work(struct nic *nic, const void *work);
void nic_flush_work(struct nic *nic, const void *owner, const struct cntr *cntr);

/* Protection domain: the regions and their keys. */
MUST_USE int pd_open(struct nic *nic, struct pd **pd);
/* [role] 0, or -EBUSY while regions, endpoints (S182) or mapped keys (S58) are left. */
int pd_close(struct pd *pd) REQUIRES(driver_role);
struct key_map *pd_mappings(struct pd *pd); /* any thread, see key_map.h */
/* How many entries a completion queue is to have for which `entries` were asked, after the fault plan. Any thread. */
size_t nic_fault_queue(struct nic *nic, size_t entries);
/* [role] From now on this plan is in force, from its first op on for each peer; it is copied. NULL: none is, and ops that
 * waited to leave by the one before do so. 0; or -ENOMEM, and nothing has changed. */
MUST_USE int nic_fault_load(struct nic *nic, const struct fault_plan *plan) REQUIRES(driver_role);
bool nic_fault_is_loaded(const struct nic *nic); /* [role] Is a plan in force? */
/* A region is about to be registered: 0, or the negative errno by which the fault plan has that fail. Any thread. */
MUST_USE int nic_fault_register(struct nic *nic);
/* A post of that kind, or a receive (FAULT_RECEIVES), is about to be made: 0, or -EAGAIN if the fault plan has it find the queue
 * full; nic_fault_fills(): it may have some. The front end asks, if its posts may fail so. Any thread. */
MUST_USE int nic_fault_full(struct nic *nic, unsigned int kind);
bool nic_fault_fills(struct nic *nic);
struct mr_table *pd_regions(struct pd *pd); /* mr_add() and mr_find() on it: [role] */
/* [role] mr_add() has made it: for the trace. */
void pd_added_region(struct pd *pd, const struct mr *mr) REQUIRES(driver_role);
/* [role] Ends the region: no byte of it is touched after this returned. */
void pd_remove_region(struct pd *pd, struct mr *mr) REQUIRES(driver_role);

/* Memory windows (mr_window.h), which posts with POST_BIND bind. [role] all. `of_one_ep`: as in struct mr_window. 0 and a key of
 * it; or -ENOMEM. Any of its keys closes one, whether or not it is bound: no byte of it is touched after that returned. */
const struct mr_windows *pd_windows(const struct pd *pd);
MUST_USE int pd_open_window(struct pd *pd, bool of_one_ep, uint32_t *key) REQUIRES(driver_role);
void pd_close_window(struct pd *pd, uint32_t key) REQUIRES(driver_role);

enum ep_cap {
	EP_SEND = 0x1,
	EP_RECV = 0x2, /* messages out and in */
	EP_READ = 0x4,
	EP_WRITE = 0x8, /* initiates RMA */
	EP_REMOTE_READ = 0x10,
	EP_REMOTE_WRITE = 0x20, /* is a target of RMA */
	EP_DIRECTED_RECV = 0x40,
	EP_SOURCE = 0x80,               /* completions tell the sender */
	EP_RMA_EVENT = 0x100,           /* counts remote reads and writes */
	EP_REMOTE_ATOMIC_READ = 0x200,  /* is a target of atomics that only read */
	EP_REMOTE_ATOMIC_WRITE = 0x400, /* and of all the others */
	EP_SOURCE_ERR = 0x2000,         /* with EP_SOURCE: a sender that the AV does not hold is reported as an error */
	EP_TSEND = 0x800,
	EP_TRECV = 0x1000,         /* tagged messages out and in */
	EP_REGION_EVENTS = 0x4000, /* each remote access that was executed in a region is told to rx_cq */
	EP_TAGGED_WRITE = 0x8000,
	EP_TAGGED_READ = 0x10000, /* posted tagged receives are targets of RMA (tagged_access.c); with EP_TRECV */
	EP_COLLECTIVE = 0x20000,  /* is a member of groups (collective.h) */
	EP_WATCHED = 0x40000,     /* each remote access that was executed in a region is told to nic_config.watch */
	EP_NO_READS = 0x80000,    /* why it is no target of READs and atomics: of how many it takes at once */
};

/* Pairs of ops whose order the endpoint keeps: WAS is that of a write after a message. An atomic that returns nothing is a write,
 * others both read and write. Without _RMA or _ATOMIC: of two accesses, one of them an atomic and the other not.
 * NONE: of no pair, so that an op that waits for its receiver holds no other. */
enum ep_order {
	EP_ORDER_RAS = 0x1,
	EP_ORDER_WAS = 0x2,
	EP_ORDER_WAR = 0x4,
	EP_ORDER_SAR = 0x8,
	EP_ORDER_NONE = 0x10,
	EP_ORDER_SAS = 0x20,
	EP_ORDER_SAW = 0x40,
	EP_ORDER_RAR = 0x80,
	EP_ORDER_RAW = 0x100,
	EP_ORDER_WAW = 0x200,
	EP_ORDER_RMA_RAR = 0x400,
	EP_ORDER_RMA_RAW = 0x800,
	EP_ORDER_RMA_WAR = 0x1000,
	EP_ORDER_RMA_WAW = 0x2000,
	EP_ORDER_ATOMIC_RAR = 0x4000,
	EP_ORDER_ATOMIC_RAW = 0x8000,
	EP_ORDER_ATOMIC_WAR = 0x10000,
	EP_ORDER_ATOMIC_WAW = 0x20000,
	EP_ORDER_ALL = 0x3ffef, /* NONE is not among them */
};

/* Rules of an endpoint that differ from those of its device. */
enum ep_rule {
	/* A message finds its receive posted, or the receiver is not ready: none is kept, and no request behind it passes. It goes
	 * in segments, however long it is, so that its bytes are in their place before the next request is executed. One longer
	 * than its receive fails at both ends. It has no tag. All peers have the rule, too. A shared receive context with one
	 * such endpoint keeps no message of its others. */
	EP_RULE_RECEIVE_FIRST = 0x1,
	/* A remote write with CQ data takes the next receive, whose buffer stays as it was; not with COMMIT. */
	EP_RULE_DATA_RECEIVES = 0x2,
	/* Atomics here are aligned to their element, and need MR_REMOTE_ATOMIC alone. */
	EP_RULE_ALIGNED = 0x4,
	/* A remote write or read of no bytes names no region: its key is not looked at. */
	EP_RULE_EMPTY_KEYLESS = 0x8,
	/* With RECEIVE_FIRST, of queue pairs, both: what the target would refuse, or not be ready for, is lost there, as if it had
	 * been done. So is what cannot reach the peer. The loss is counted and logged; no completion tells of it. A
	 * failure of this side alone stops its ops, not its receives (CM_STOPPED). No READ, no ATOMIC. */
	EP_RULE_UNRELIABLE = 0x10,
	/* Of queue pairs, with RECEIVE_FIRST: each op names a shared receive context at the peer by post.dest (XRC_SEND). The peer
	 * has ep_attr.xrc. */
	EP_RULE_NAMES_SRX = 0x20,
};

/* Of one endpoint, in place of what its device has. An endpoint is opened with { 0, RNR_AS_DEVICE, 0 }: as the device has it. */
struct ep_timing {
	uint64_t budget_ns;   /* unreachable for so long: ops fail; 0: nic_config.retry_budget_ns */
	uint8_t rnr_most;     /* 0 to 6: so often an op is tried again whose receiver was not ready; or one of the two below */
	uint32_t rnr_wait_us; /* peers are asked to wait so long for a receive here; 0: the device's first wait */
};
enum { RNR_EVER = 7, RNR_AS_DEVICE = UINT8_MAX }; /* tries without end; nic_config.rnr_most */

enum ep_counter { EP_CNTR_SEND, EP_CNTR_RECV, EP_CNTR_READ, EP_CNTR_WRITE, EP_CNTR_REMOTE_READ, EP_CNTR_REMOTE_WRITE, EP_CNTRS };

struct ep_attr {
	struct pd *pd;
	struct av *av;
	struct cq *tx_cq, *rx_cq;    /* NULL: none bound */
	struct cntr *cntr[EP_CNTRS]; /* NULL: none bound */
	uint32_t caps;               /* enum ep_cap */
	uint32_t order;              /* enum ep_order */
	uint32_t rules;              /* enum ep_rule */
	uint32_t tx_size, rx_size;   /* ops and receives outstanding; 0: the limit */
	struct stx *stx;             /* shared contexts; NULL: its own, of those sizes */
	struct srx *srx;
	bool rx_selective;            /* of a shared one: successes are told by POST_COMPLETE alone */
	uint64_t auth;                /* shown to peers; messages must show it, too; 0: none (auth.h) */
	const struct auth_set *auths; /* not NULL: messages show one of these; the shown one goes by destination */
	struct binding_end *bindings; /* regions bound to the endpoint are bound to this end; NULL: none ever */
	uint16_t known_port;          /* other port that address vectors have it by; 0: none (WIRE-29) */
	uint16_t port_shift;          /* its peers listen so many ports above what its address vector has */
	struct sockaddr_storage at;   /* where to listen, or to receive datagrams; port 0: any */
	const struct cm_ops *cm;      /* not NULL: connection-oriented (cm.h); av is NULL then, else it is not */
	bool datagrams;               /* unreliable ones, and nothing else (dgram.c); without cm, unless `through` is set */
	bool passive;                 /* with cm: hears connection requests, and nothing else */
	bool manages;                 /* with passive: a manager (cm.h), which hears what its peers say of connections of theirs */
	uint64_t tag;                 /* told as completion.source, where that names no sender; AV_NONE: nothing to tell */
	bool pairs;                   /* with passive: listens for queue pairs alone, at AF_UNSPEC everywhere */
	struct ep *through;           /* with cm: a queue pair (pair.h), without a listener of its own; else NULL */
	struct xrc *xrc;              /* not NULL: with `through`: its requests name their receive contexts (XRC_RECV) */
	void *owner;                  /* the front end's object */
};

/* Contexts that endpoints share: room for `size` ops or receives (0: the limit). 0 or -ENOMEM. */
MUST_USE int stx_open(uint32_t size, struct stx **stx);
int stx_close(struct stx *stx); /* 0, or -EBUSY while endpoints use it */
MUST_USE int srx_open(struct nic *nic, uint32_t size, bool tags, struct srx **srx);
/* [role] 0, or -EBUSY while endpoints use it. Receives left are gone without a word: there is no queue. */
int srx_close(struct srx *srx) REQUIRES(driver_role);
/* As ep_recv(), ep_cancel(); a cancelled receive is reported to one of the endpoints that use it: -EAGAIN while it has unread
 * errors enough. */
MUST_USE int srx_recv(struct srx *srx, const struct recv_post *post);
int srx_cancel(struct srx *srx, void *context) REQUIRES(driver_role); /* [role] */
/* [role] A domain of shared receive contexts, which peers name by number. What a request names stands for the endpoint at which it
 * arrives (ep_attr.xrc): its receives, the queue where they complete, and the protection domain. */
struct srx_offer {
	struct xrc *xrc;
	uint32_t number; /* not 0; no other one of the domain has it */
	struct cq *cq;
	struct pd *pd;
};
MUST_USE int xrc_open(struct nic *nic, struct xrc **xrc); /* 0 or -ENOMEM */
void xrc_close(struct xrc *xrc);                          /* [role] without contexts and endpoints */
/* [role] Once in its life, before it is shared otherwise: it is found there, until srx_close(). Queue and domain stay open. */
void srx_offer(struct srx *srx, const struct srx_offer *offer) REQUIRES(driver_role);
/* [role] Of a context without tags. From now on tell(arg) is called once, with the role, when fewer than `low` receives wait there
 * for a message: at once if it is so already. A receive that was posted waits from the next slice on. `tell` must neither block
 * nor be a cancellation point. low 0: nothing is told any more. */
void srx_tell_low(struct srx *srx, uint32_t low, void (*tell)(void *arg), void *arg) REQUIRES(driver_role);

/* [role] The queue has lost a completion (cq_tell_overrun(), which may call this). Soon its queue pairs go to ERR by themselves,
 * and CM_HALTED tells REFUSAL_RESOURCE. */
void nic_overran(struct nic *nic, const struct cq *cq);

/* [role] Makes the endpoint and listens; takes a reference on pd, av, cqs, cntrs. 0, -EINVAL for a shared receive context
 * that endpoints with another av use, or -errno. */
MUST_USE int ep_open(struct nic *nic, const struct ep_attr *attr, struct ep **ep);
/* [role] Ops that end from now on are counted there, too; none is bound yet. Takes a reference. */
void ep_count(struct ep *ep, enum ep_counter which, struct cntr *cntr) REQUIRES(driver_role);
/* [role] What peers and the program may do from now on. EP_TRECV, EP_COLLECTIVE and those that go with a context stay as they were
 * when the endpoint was opened. */
void ep_set_caps(struct ep *ep, uint32_t caps) REQUIRES(driver_role);
/* [role] From now on; an op that waits for its receiver goes on waiting as long as it was told. */
void ep_set_timing(struct ep *ep, const struct ep_timing *timing) REQUIRES(driver_role);
/* [role] Ops posted from now on have their room from this shared context; those under way keep theirs. */
void ep_share_tx(struct ep *ep, struct stx *stx) REQUIRES(driver_role);
/* [role] True if nothing is owed and no op of its own is under way: asked in a loop before ep_close(), up to
 * TIME_BYE_NS, with nic_work() between. */
bool ep_quiet(struct ep *ep) REQUIRES(driver_role);
/* [role] Says BYE, completes ops and receives that are left with REFUSAL_CANCELLED, frees. */
void ep_close(struct ep *ep) REQUIRES(driver_role);
void ep_name(const struct ep *ep, struct sockaddr_storage *name); /* the real listening address */

/* Posts; the caller has checked pointers, counts, lengths and local descriptors. Runs the device if the role is free.
 * 0; -EAGAIN: tx_size ops are outstanding, or unread errors choke the queue, or called from a signal handler inside
 * the device. Connection-oriented: -ENOTCONN before there is a peer, -ESHUTDOWN when it has gone. */
MUST_USE int ep_post(struct ep *ep, const struct post *post);
MUST_USE int ep_recv(struct ep *ep, const struct recv_post *post);
/* [role] Cancels one posted receive with this context that has no message, or one op of which no byte has left: it completes
 * with REFUSAL_CANCELLED. 0, -ENOENT, or -EAGAIN while there are unread errors enough. Receives of a shared context are
 * not the endpoint's. */
int ep_cancel(struct ep *ep, void *context) REQUIRES(driver_role);

#endif
