/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_kit.h - what each process of a case over libfabric has: a registered area, which all sides reach, and one endpoint or two.
 * Bytes of an area are named by their offset in it, as peers do. Posts do not wait; a post is made by the endpoint `kit_by`. */
#ifndef TESTS_RACES_FI_KIT_H
#define TESTS_RACES_FI_KIT_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sched.h>

#include "tests/races/case.h"

/* Where things are in an area. X and Y are on one page, and Z on another one. */
enum {
	KIT_PAGE = 4096,
	KIT_ENDPOINTS = 2,
	KIT_VECTOR = 2,
	SIZE = 64, /* bytes of most operations */
	X = 0,
	Y = 1024,
	Z = KIT_PAGE,
	SOURCE = 4 * KIT_PAGE,
	RESULT = 8 * KIT_PAGE,
	INBOX = 12 * KIT_PAGE,
	SPARE = 15 * KIT_PAGE, /* the kit's own */
	AREA = 16 * KIT_PAGE
};
#define NOWHERE SIZE_MAX

struct kit_want {
	uint64_t caps;      /* more than messages, RMA and atomics */
	uint64_t order;     /* bits of msg_order, of which none is promised else */
	unsigned endpoints; /* 0: one */
	bool counted;       /* `counter` counts all that the endpoint 0 completes, */
	bool told;          /* and `events` what peers write into the area */
};

struct kit_end {
	struct fid_ep *ep;
	struct fid_cq *sent, *came;
};

/* The tables. */
extern const struct race_set fi_conflicts, fi_orders, fi_sources, fi_receives, fi_targets, fi_patterns, fi_thread_cases;

extern uint8_t kit_area[AREA];
extern struct kit_end kit_ends[KIT_ENDPOINTS];
extern struct fid_cntr *kit_counter, *kit_events;
extern struct fid_mr *kit_mr;
extern fi_addr_t kit_address[RACE_SIDES][KIT_ENDPOINTS]; /* [side][endpoint] */
extern _Thread_local unsigned kit_by;
#define KIT_KEY 42

/* A post, which is tried again while the queue is full. */
#define KIT_POST(call)                               \
	do {                                         \
		ssize_t rc_;                         \
		while ((rc_ = (call)) == -FI_EAGAIN) \
			sched_yield();               \
		NEED(!rc_);                          \
	} while (0)

/* To the endpoint 0 of a side, or, of messages, to that with the number of the own one. CQ data is the own side. The context of
 * each is where its local buffer begins. Without a level of completion among the flags, writes and atomics complete when
 * delivered. */
void kit_put(unsigned to, size_t from, size_t at, size_t length, uint64_t flags);
void kit_putv(unsigned to, const struct iovec *near, size_t nears, const struct fi_rma_iov *far, size_t fars, uint64_t flags);
void kit_get(unsigned to, size_t into, size_t at, size_t length, uint64_t flags);
/* One element. `into`: where its old value goes; NOWHERE: it is not fetched. */
void kit_atomic(unsigned to, enum fi_op op, enum fi_datatype type, size_t from, size_t into, size_t at, uint64_t flags);
/* Compares with the element at `from` + 8, and puts that at `from`. */
void kit_swap(unsigned to, size_t from, size_t into, size_t at);
void kit_send(unsigned to, size_t from, size_t length, uint64_t flags);
void kit_receive(size_t into, size_t length);

/* One of these on SIZE bytes at a place, or on an element there. The local buffers are SOURCE and RESULT, or, with `slot` 1, those
 * behind them by KIT_SLOT. */
enum { KIT_SLOT = 1024 };
enum kit_deed { PUT, GET, SUM, SUM_32, FETCH_SUM, FETCH, SET, SWAP };
void kit_do(enum kit_deed deed, unsigned slot, unsigned to, size_t at, uint64_t flags);

/* Wait for so many completions of what the endpoint `kit_by` has posted, or of what came to it: messages and CQ data. */
void kit_sent(unsigned count);
void kit_came(unsigned count);
/* For that of the operation or receive whose local buffer begins there, or in the same KIT_SLOT bytes. */
void kit_sent_of(size_t offset);
void kit_came_of(size_t offset);
/* For a part of a buffer of FI_MULTI_RECV: where it begins, and whether the buffer is the program's again. */
const uint8_t *kit_came_where(bool *released);

#endif
