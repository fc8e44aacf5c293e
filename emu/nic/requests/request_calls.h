/* SPDX-License-Identifier: BSD-2-Clause */
/* request_calls.h - what requests call of the rooms above, which define it. Thread: holder of the driver role. */
#ifndef EMU_NIC_REQUEST_CALLS_H
#define EMU_NIC_REQUEST_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/codec.h"

struct ep;
struct op;
struct session;
struct sockaddr_storage;

/* --- collectives: coll_group.c, coll_step.c --- */

/* A peer says that it has left a group, for this cause; 0: for none. */
void coll_aborted(struct session *session, uint64_t id, uint64_t cause);
static inline bool coll_is_abort(const struct wire_head *head)
{
	const struct wire_send *send = wire_body(head);

	return head->flags & WIRE_F_COLLECTIVE && (wire_get64(send->cq_data) & WIRE_COLL_ABORT) == WIRE_COLL_ABORT;
}
/* Does the message say that its sender waits in that call for this member? */
static inline bool coll_is_wait(uint64_t call_step)
{
	return (call_step & WIRE_COLL_ABORT) == WIRE_COLL_WAIT;
}
/* The op of a collective's message is through. */
void coll_sent(struct op *op);

/* --- endpoint: ep.c, cm.c --- */

/* Does it take messages that show this authorization (S158)? */
bool ep_takes(const struct ep *ep, uint64_t shown, const struct sockaddr_storage *sender);
/* The capabilities that the peer of this session may use here, enum ep_cap. */
uint32_t cm_caps(const struct session *session);
/* CONNECT, ACCEPT or REJECT is resolved: refused, if op->why says so. */
void cm_resolved(struct op *op);

/* An op of this queue pair has failed, and is about to be told: it goes to ERR; one that is unreliable stops its ops. */
void cm_failed(struct ep *ep);
/* A receive has, and is about to be told. */
void cm_halted(struct ep *ep);
/* The first request of an endpoint's peer has come, perhaps again; of any endpoint. */
void pairing_heard(struct ep *ep);
/* An op of this queue pair, which is held, was told. */
void pairing_drain(struct ep *ep);

#endif
