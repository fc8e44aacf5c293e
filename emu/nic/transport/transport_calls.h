/* SPDX-License-Identifier: BSD-2-Clause */
/* transport_calls.h - what sessions and connections call of the rooms above, which define it. No table stands between, as frames
 * pass here. Thread: holder of the driver role. */
#ifndef EMU_NIC_TRANSPORT_CALLS_H
#define EMU_NIC_TRANSPORT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/regions/refusal.h"

struct ep;
struct session;
struct sockaddr_storage;

/* --- endpoint: cm.c --- */

/* May this address have a session here? Asked of every HELLO. */
bool cm_admits(const struct ep *ep, const struct sockaddr_storage *peer);
/* Is this session dialled again although nothing waits for it? */
bool cm_holds(const struct session *session);
/* The session has ended. */
void cm_ended(struct session *session, enum refusal_cause cause);
/* A timer of the session's; when it is due next, UINT64_MAX: none. */
uint64_t cm_tick(struct session *session, uint64_t now_ns);

#endif
