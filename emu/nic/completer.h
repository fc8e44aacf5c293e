/* SPDX-License-Identifier: BSD-2-Clause */
/* completer.h - the end of every op: its completion or error, its counter, its memory.
 * Thread: holder of the driver role. The op or receive must be in no list any more and is gone after the call. */
#ifndef EMU_NIC_COMPLETER_H
#define EMU_NIC_COMPLETER_H

#include "emu/nic/rx_match.h"

struct session;

void complete_good(struct op *op);
/* `known` holds what the target said of its region, or NULL; the rest is filled from the op. */
void complete_refused(struct op *op, enum refusal_cause cause, const struct refusal *known);
/* A receive: `length` bytes of the message came, of which its capacity was kept. */
void complete_receive(struct rx *rx, struct session *session, uint64_t length, bool has_cq_data, uint64_t cq_data);
void complete_receive_failed(struct rx *rx, enum refusal_cause cause);
/* Remote write or read was done here. */
void complete_remote_write(struct session *session, uint64_t length, bool has_cq_data, uint64_t cq_data);
void complete_remote_read(struct session *session);
/* Room for the completion of a write with CQ data, which no op backs? Kept until complete_remote_write(), however full
 * the queue gets meanwhile. */
bool complete_reserve(struct session *session);

#endif
