/* SPDX-License-Identifier: BSD-2-Clause */
/* races.h - accesses of peers, and own ops that are still here, for a layer above that looks for those that conflict while nobody
 * can know that one of them is over. For checks of the program, which are slow.
 *
 * A peer's access is open from its arrival to the moment at which its answer is let go: before that its initiator knows nothing of
 * it. The device may let the answer go later than it could. An access that tells the target's program something (a message, CQ
 * data, a counter) is open until it is executed, and closes those before it that the session's order has executed before; but no
 * reads, which what is to be behind them waits for before it leaves.
 *
 * Owner:  the device passes on what arrived() returned, and forgets it with closed(), which comes once.
 * Thread: holder of the driver role. No function waits for a lock under which a thread waits for the role. */
#ifndef EMU_NIC_RACES_H
#define EMU_NIC_RACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct race_access {
	const void *session; /* the same for those of one session; not to be read */
	const char *peer;    /* its name, for this call */
	uint64_t key;        /* of the region */
	uint8_t op;          /* enum op_kind */
	bool changes;        /* the bytes: a write, or an atomic that stores */
	bool returns;        /* what they were before: a read, or an atomic that fetches */
	bool tells;          /* somebody is told of it when it is executed, */
	bool waits;          /* which may be later: else it is not open, if somebody is told */
	bool whole;          /* it has no other segments */
	bool told;           /* and others of its session alone may meet it, as all others may know of it */
	bool waw, raw;       /* the session executes it after the writes before it; */
	bool mixed;          /* also if one of the two is an atomic; */
	bool atomic;         /* if both are; */
	bool was, saw;       /* after messages before it; a message, after the writes before it */
	bool pinned;         /* the CPU may have no way to the bytes */
	uint32_t element;    /* of an atomic, in bytes; else 0 */
	const struct iovec *run;
	size_t count;
	uint64_t now_ns; /* by the device's clock */
};

/* What becomes of an access that is open. */
struct race_opened {
	void *open;       /* stands for it; NULL: it is not open */
	uint64_t hold_ns; /* its answer is to be held back for so long, or its execution if it tells and waits */
	bool apart;       /* the bytes of the write come by store() */
	uint64_t stay_ns; /* for so long at least those are held back, from now on, that are so already */
	uint64_t late_ns; /* its execution, before that, if it waits and tells nobody; 0: it is not late */
};

struct race_ops {
	/* The access is about to be executed. */
	struct race_opened (*arrived)(const struct race_access *access);
	/* Puts bytes of a write into their place, where the CPU has no way to them. False: it has, and nothing was put. */
	bool (*store)(void *open, void *to, const void *from, size_t length);
	/* It was late, and is executed next. */
	void (*due)(void *open);
	/* Its bytes have been read or written. */
	void (*executed)(void *open);
	void (*closed)(void *open);
	/* The post that watch_ops.post() has returned `watch` for (NULL: none) waits to leave, at this time by the device's clock,
	 * for the peer of this session. It is to stay here so much longer. */
	uint64_t (*leaves)(const void *session, void *watch, uint64_t now_ns);
	/* And when it has ended, that is to be told to the program so much later. `op`: enum op_kind. */
	uint64_t (*completes)(const void *session, uint8_t op, uint64_t now_ns);
	/* A queue pair's post changes bytes that a READ before it reads, or an atomic returns, which has not completed, and has no
	 * fence: this device executes them in their order, others need not (IBA 10.8). May come again. */
	void (*unfenced)(void *first, void *later);
	/* The session has ended; another one may have its number. */
	void (*ended)(const void *session);
};

#endif
