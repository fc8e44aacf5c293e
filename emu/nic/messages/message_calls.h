/* SPDX-License-Identifier: BSD-2-Clause */
/* message_calls.h - what messages and receives call of collectives and requests, which stand above and define it. Thread: holder of
 * the driver role. */
#ifndef EMU_NIC_MESSAGE_CALLS_H
#define EMU_NIC_MESSAGE_CALLS_H

#include <stdint.h>

#include "emu/nic/regions/refusal.h"

struct collectives;
struct message;
struct rx;
struct rx_match;
struct session;

/* --- collectives: coll_group.c --- */

/* The receives and messages of an endpoint's collectives. */
struct rx_match *coll_match(struct collectives *collectives);
/* The message of a collective that arrives: whose receives it is for, and the tag that it is matched by. */
void coll_address(struct message *message);
/* No receive has taken the message: it is early, or its sender has made another call. */
void coll_unexpected(const struct message *message);

/* --- collectives: coll_step.c, of a receive with POST_COLLECTIVE --- */

/* A message of that many bytes has been received, or none will be. */
void coll_received(struct rx *rx, uint64_t length);
void coll_receive_failed(struct rx *rx, enum refusal_cause cause);

/* --- requests: open_access.c --- */

/* Request `seq` is a message, so many bytes of which are about to go into the receive. It is told of at once. */
__attribute__((cold, noinline)) void open_access_message(struct session *session, uint64_t seq, const struct rx *rx,
							 uint64_t length);

#endif
