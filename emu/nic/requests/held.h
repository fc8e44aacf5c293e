/* SPDX-License-Identifier: BSD-2-Clause */
/* held.h - writes of peers that are executed, and whose bytes are seen later: what a fault plan holds back (PLAN_HOLD, WIRE-190).
 * Bytes come into their place in pieces, in any order within a write; writes of one session in their order, unless its peer has
 * said that it needs none (WIRE-190). READs look at their bytes late in the same way: answers come in the order of the READs.
 *
 * Owner:  the nic, in one list by time; each session knows whether it has some there. Thread: holder of the driver role. */
#ifndef EMU_NIC_HELD_H
#define EMU_NIC_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"

struct access;
struct conn;
struct mr;
struct mr_place;
struct nic;
struct session;
struct wire_head;

/* A segment of a WRITE that was granted access to the region comes: is it held back? Then its payload goes into the device's own
 * memory. Else what its session has there is seen now, if the write is not to be seen before. */
bool held_take(struct conn *conn, const struct wire_head *head, const struct mr *mr);
/* A write that is open (open_access.h) is executed at that time, and what comes behind it does not wait. False: it must wait. */
bool held_late(struct conn *conn, const struct wire_head *head, const struct mr *mr, uint64_t at_ns);
/* Its payload goes into the device's own memory. False: there is none. */
bool held_apart(struct conn *conn, uint32_t payload);
/* It is here, and conn->in.place is where it is to go; conn->in.fault: that memory is not there. */
void held_end(struct conn *conn, const uint8_t *bytes, uint32_t length);
/* An atomic that returns nothing was granted access: is what it stores held back? Then others of the program and of peers may store
 * there meanwhile, and be lost; atomics are not, as those that were held back before are seen now. */
bool held_takes_atomic(struct conn *conn, const struct mr *mr);
/* The elements that it stores. */
void held_atomic(struct conn *conn, const struct access *ask, const struct mr_place *place, const uint8_t *bytes, uint32_t length);

/* A READ that was granted access to the region comes: does it look at its bytes later, and piece by piece? NULL: at once. To be
 * freed with free(). */
struct held_read;
MUST_USE struct held_read *held_read(struct conn *conn, const struct wire_head *head, const struct mr *mr,
				     const struct mr_place *place);
/* How many of the next `most` bytes, which begin at `offset`, are looked at together; and is it too early? Then the session is
 * looked at again when it is not. */
uint32_t held_read_piece(struct session *session, struct held_read *looks, uint64_t offset, uint32_t most);
bool held_read_waits(struct session *session, const struct held_read *looks);

/* A request of the session that has some there comes: what it must not be executed before is seen now (WIRE-190). */
void held_before(struct session *session, const struct wire_head *head);
/* All of the session, or of the region, which ends, is seen now. held_release_all(): transport_calls.h. */
void held_release(struct session *session);
void held_release_region(struct nic *nic, const struct mr *mr);
/* Writes that are open are not seen before then, unless something else has to be behind them. */
void held_stay(struct nic *nic, uint64_t until_ns);
/* What is due is seen; asks for the next timer. */
void held_tick(struct nic *nic);

#endif
