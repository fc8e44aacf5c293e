/* SPDX-License-Identifier: BSD-2-Clause */
/* open_access.h - accesses of peers whose answers are held back, so that others may meet them (races.h). Acknowledgements, results
 * and data are let go in the order of their requests: from the first open one on nothing of the session is answered. A write whose
 * answer does not say that it was delivered is answered at once, and stays open (WIRE-191). One that no order ties to others is
 * answered by DONE, apart from those behind it (WIRE-192).
 *
 * Owner:  the nic, in one list by time, which is for each session that of its requests. Thread: holder of the driver role.
 * Only where nic_config.races is set, and session->fault, too. */
#ifndef EMU_NIC_OPEN_ACCESS_H
#define EMU_NIC_OPEN_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct access;
struct conn;
struct mr;
struct mr_place;
struct nic;
struct place;
struct session;
struct wire_head;

/* What an access does to its bytes. */
struct access_effect {
	bool changes;     /* them */
	bool returns;     /* what they were before */
	bool waits;       /* it may be executed later (conn_waits), and so it does if it tells of itself */
	uint32_t element; /* of an atomic, in bytes; else 0 */
};

struct open_way {
	bool apart; /* the bytes of the write go to their place by open_access_store() alone */
	bool waits; /* it is to be executed at conn->in.waits_ns, */
	bool late;  /* and others that it is not in order with need not wait for that */
};

/* A request was granted access to the place, and is about to be executed. */
__attribute__((cold, noinline)) struct open_way open_access_begin(struct conn *conn, const struct access *ask, const struct mr *mr,
								  const struct mr_place *place, const struct access_effect *effect);
/* conn->in.place is where they go; conn->in.fault: that memory is not there. */
void open_access_store(struct conn *conn, const uint8_t *bytes, uint32_t length);
/* The bytes of the write of this number are held, and it is executed by open_access_show(). */
void open_access_late(struct session *session, uint64_t seq);
/* A write of this number whose bytes were late, or are wanted now. False: that memory is not there. */
bool open_access_show(struct session *session, uint64_t seq, const struct place *to, const uint8_t *bytes, uint32_t length);
/* The last request of the session has been executed. */
void open_access_executed(struct session *session);
/* A request comes: does it tell of those before it? Then they are let go, but for reads. */
void open_access_before(struct session *session, const struct wire_head *head);
/* An own request is posted: it may tell the senders of messages, or others, that those were received. They are let go. */
void open_access_post(struct nic *nic);
/* The request that has waited is executed now: others are over that were executed before it. */
void open_access_go_on(struct session *session, uint64_t seq);
/* The connection is gone: a request that was not executed comes again. */
void open_access_cut(struct session *session);
/* All of the session, or to the region, which ends for peers, are let go: the program may go by that. */
void open_access_let_go(struct session *session);
void open_access_end_region(struct nic *nic, const struct mr *mr);
/* What is due is let go; asks for the next timer. */
void open_access_tick(struct nic *nic);

#endif
