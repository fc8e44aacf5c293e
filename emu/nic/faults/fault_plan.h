/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_plan.h - injected faults, by rules (emu_fault(5)): which op meets one goes by its number alone.
 *
 * Each rule counts the ops that it names, for each peer and kind of op by itself, from 1. Ops of one kind have an order
 * that no timing changes, and draws come from the seed, the rule and that number alone: so the same ops meet the same
 * faults. A peer's address stands for nothing in the draw, as its port is another one in each run.
 * Owner:  the nic has the plan, each session its counts. Thread: holder of the driver role; the plan is constant. */
#ifndef EMU_NIC_FAULT_PLAN_H
#define EMU_NIC_FAULT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/base/must_use.h"
#include "emu/nic/ops/op.h"

enum fault_sort {
	/* On ops that peers ask for. */
	PLAN_REFUSE, /* a peer's op is refused */
	PLAN_RNR,    /* a peer's message, or op with CQ data, finds the receiver not ready */
	PLAN_CUT,    /* the connection breaks that a peer's op came by */
	PLAN_HOLD,   /* a peer's write is seen later, piece by piece; a READ looks so */
	/* On own ops. */
	PLAN_LATENCY,    /* leaves later */
	PLAN_COMPLETION, /* completes later */
	PLAN_REORDER,    /* leaves later, and ops that the order lets pass do */
	PLAN_LOSE,       /* is lost, of endpoints with EP_RULE_UNRELIABLE */
	/* On neither. */
	PLAN_REGISTER,  /* a registration fails */
	PLAN_BANDWIDTH, /* bytes to the peer leave more slowly */
	PLAN_QUEUE,     /* completion queues are small */
	PLAN_THREAD,    /* the NIC thread is slow */
	PLAN_FULL,      /* posts find the queue full */
	/* Of the front end: the device passes them over (process/faults/fault_calls.h). */
	PLAN_CALL,      /* calls of the program fail, or are late */
	PLAN_FAIL,      /* own requests or receives complete with a status */
	PLAN_EVENT,     /* an asynchronous event */
	PLAN_UNPLUGGED, /* ports are down from the beginning */
	PLAN_CM,        /* an event of the connection manager is late, lost or another one */
	PLAN_SORTS
};

enum { FAULT_KINDS = OP_POSTED_KINDS, FAULT_ALL_KINDS = (1 << FAULT_KINDS) - 1, FAULT_CERTAIN = 1000000000 };
/* FAIL, FULL: receives, as one more kind, which a rule has only by its name. */
enum { FAULT_RECEIVES = FAULT_KINDS };

/* CM: what an event becomes. The front end's events follow FAULT_CM_FIRST. */
enum { FAULT_CM_ITSELF, FAULT_CM_NOTHING, FAULT_CM_FIRST };

struct fault_rule {
	enum fault_sort sort;
	/* Which ops. */
	struct sockaddr_storage peer; /* canonical; ss_family 0: any, port 0: any port of that address */
	uint32_t kinds;               /* a bit for each enum op_kind that is posted, and FAULT_RECEIVES */
	bool keyed;                   /* those alone that name the region `key` */
	uint64_t key;
	/* Which of them: number `first`, and every `every`th after it, `most` in all; each with a chance in billionths. */
	uint64_t first, every, most;
	uint32_t chance;
	/* Their faults. */
	enum refusal_cause cause;    /* REFUSE; up to REFUSAL_WIRE_MAX */
	uint32_t times;              /* RNR, FULL: so often in a row; CUT: likewise, if it is `before` */
	bool before;                 /* CUT: before the op is executed, else between that and its answer */
	uint64_t down_ns;            /* CUT: there is no other connection for so long */
	int err;                     /* REGISTER, CALL, CM: a positive errno; 0: a CALL that is late alone */
	uint64_t rate;               /* BANDWIDTH: bytes a second */
	uint64_t entries;            /* QUEUE: at most so many */
	uint64_t wait_ns, jitter_ns; /* HOLD, LATENCY, REORDER, COMPLETION, THREAD, CALL, CM: so long, and a drawn part of this */
	uint64_t calls;              /* CALL, EVENT: a bit for each of the front end's calls */
	uint64_t qp, cq;             /* CALL, FAIL, EVENT: the queue pair or queue, as the front end counts them; 0: any */
	uint32_t word;               /* FAIL: the front end's number of the status; EVENT: of the event */
	bool injects;                /* EVENT: `word` is one of the front end's */
	bool called, timed;          /* EVENT: by calls; or by time, after_ns */
	uint64_t after_ns;
	int cm_event;     /* CM: the front end's number */
	uint32_t becomes; /* likewise: FAULT_CM_ITSELF and on */
	uint32_t reason;  /* likewise: of a rejection; 0: none is said */
};

struct fault_plan {
	uint64_t seed;
	uint32_t rules;
	struct fault_rule rule[LIMIT_FAULT_RULES];
};

/* One peer's counts. NULL: no memory. To be freed with free(). */
struct fault_peer;
/* In the place of these where there is no plan and the NIC is traced: ops take the way of those with a plan, and meet no rule. */
extern struct fault_peer fault_watching;
MUST_USE struct fault_peer *fault_peer_open(const struct fault_plan *plan, const struct sockaddr_storage *peer);

/* The first rule of a sort that is in force for the peer whatever its ops are; NULL: none. */
const struct fault_rule *fault_always(const struct fault_peer *peer, enum fault_sort sort);
/* The first rule of that sort which the op, being the next of its kind, meets; NULL: none. Counts nothing: an op that comes
 * again before it was counted is judged the same. */
const struct fault_rule *fault_next(const struct fault_peer *peer, enum fault_sort sort, const struct fault_op *op);
/* Likewise, but no more often than the rule says until the op is counted. */
const struct fault_rule *fault_holds(struct fault_peer *peer, enum fault_sort sort, const struct fault_op *op);
/* How long the op, being the next of its kind, waits by that rule. */
uint64_t fault_wait(const struct fault_peer *peer, const struct fault_rule *rule, const struct fault_op *op);
/* A number for that op by that rule, even in all bits. */
uint64_t fault_draw(const struct fault_peer *peer, const struct fault_rule *rule, const struct fault_op *op);
/* The op is through: the next one of its kind has the next number. */
void fault_count(struct fault_peer *peer, const struct fault_op *op);

/* Of the rules that are counted without a peer: does rule number i meet the call or request of that number, from 1, and how long
 * does that wait? Any thread. */
bool fault_hits(const struct fault_plan *plan, uint32_t i, uint64_t number);
uint64_t fault_call_wait(const struct fault_plan *plan, uint32_t i, uint64_t number);

/* How long the NIC thread waits before each slice that it serves, in ns. */
uint64_t fault_thread(const struct fault_plan *plan);
/* How many entries a completion queue has for which so many were asked. Any thread. */
size_t fault_queue(const struct fault_plan *plan, size_t entries);
/* The first rule by which this post of that kind finds the queue full, and whether there may be any; the posts of a process are
 * numbered from 1, each kind by itself. NULL: none. Any thread. */
const struct fault_rule *fault_full(const struct fault_plan *plan, unsigned int kind, uint64_t number);
bool fault_fills(const struct fault_plan *plan);
/* The first rule that this registration of the process meets, numbered from 1; NULL: none. Any thread. */
const struct fault_rule *fault_registration(const struct fault_plan *plan, uint64_t number);

#endif
