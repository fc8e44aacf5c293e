/* SPDX-License-Identifier: BSD-2-Clause */
/* payload.h - the payload and trailer behind a frame head in a connection's send queue. */
#ifndef EMU_NIC_PAYLOAD_H
#define EMU_NIC_PAYLOAD_H

#include "emu/nic/conn.h"
#include "emu/nic/place.h"

/* Bytes of a `length` byte payload that are copied into the queue: all, or none because they are lent. Out of pinned
 * memory (place.h) all are copied, whatever this says: at most LIMIT_COPIED_SEGMENT. */
static inline size_t payload_copied(const struct conn *conn, uint32_t length)
{
	return length <= LIMIT_COPY || conn->out.copies ? length : 0;
}
/* Adds the next `length` bytes of `from`, which it may move, and the trailer; nothing if length is zero. `owner` is whose
 * memory is lent (sendq_revoke). False: the memory could not be read; zeros follow and the trailer says so. */
bool payload_add(struct conn *conn, struct place *from, uint32_t length, const void *owner);
/* The same of an op's own memory, from `op->moved` on, which it moves. */
bool payload_add_op(struct conn *conn, struct op *op, uint32_t length);
/* With payload digests: that of the next `length` bytes of `from`, not zero; where payload_copied() had room made for them, they
 * are copied there, behind a head and body of `head` bytes that is to be written at `frame`. False: they cannot be read, and
 * nothing is queued. Once the head is, payload_staged() adds them and the trailer. */
bool payload_stage(const struct conn *conn, void *frame, size_t head, struct place *from, uint32_t length, uint64_t *digest);
void payload_staged(struct conn *conn, const struct place *from, uint32_t length, const void *owner, uint64_t digest);
/* Adds `length` bytes of the device's own, copied whatever their number (conn_frame_begin() knew), and the trailer; nothing if
 * length is zero. */
void payload_put(struct conn *conn, const void *bytes, uint32_t length, enum wire_status status);

#endif
