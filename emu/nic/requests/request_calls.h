/* SPDX-License-Identifier: BSD-2-Clause */
/* request_calls.h - what requests call of the rooms above, which define it. Thread: holder of the driver role. */
#ifndef EMU_NIC_REQUEST_CALLS_H
#define EMU_NIC_REQUEST_CALLS_H

#include <stdbool.h>
#include <stdint.h>

struct ep;
struct op;
struct session;
struct sockaddr_storage;

/* --- endpoint --- */

/* Does it take messages that show this authorization (S158)? ep.c */
bool ep_takes(const struct ep *ep, uint64_t shown, const struct sockaddr_storage *sender);
/* The capabilities that the peer of this session may use here, enum ep_cap. cm.c */
uint32_t cm_caps(const struct session *session);
/* CONNECT, ACCEPT or REJECT is resolved: refused, if op->why says so. cm.c */
void cm_resolved(struct op *op);

#endif
