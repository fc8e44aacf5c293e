/* SPDX-License-Identifier: BSD-2-Clause */
/* payload.h - the payload and trailer behind a frame head in a connection's send queue. */
#ifndef EMU_NIC_PAYLOAD_H
#define EMU_NIC_PAYLOAD_H

#include "emu/nic/conn.h"
#include "emu/nic/place.h"

/* Bytes of a `length` byte payload that are copied into the queue: all, or none because they are lent. */
size_t payload_copied(const struct conn *conn, uint32_t length);
/* Adds the next `length` bytes of `from`, which it moves, and the trailer; nothing if length is zero. `owner` is whose
 * memory is lent (sendq_revoke). False: the memory could not be read; zeros follow and the trailer says so. */
bool payload_add(struct conn *conn, struct place *from, uint32_t length, const void *owner);

#endif
