/* SPDX-License-Identifier: BSD-2-Clause */
/* payload.h - the payload and trailer behind a frame head in a connection's send queue. */
#ifndef EMU_NIC_PAYLOAD_H
#define EMU_NIC_PAYLOAD_H

#include "emu/nic/base/likely.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/memory/place.h"
#include "emu/nic/ops/op.h"
#include "emu/nic/transport/conn.h"

/* Bytes of a `length` byte payload that are copied into the queue: all, or none because they are lent. Out of pinned
 * memory (place.h) all are copied, whatever this says: at most LIMIT_COPIED_SEGMENT. */
static inline size_t payload_copied(const struct conn *conn, uint32_t length)
{
	return length <= LIMIT_COPY || conn->out.copy_all ? length : 0;
}
/* First step for a payload behind a head: reads its bytes, the next `length` of `from`. If they are copied (payload_copied() had
 * room made), they go to `at`, behind the head that is not there yet; with payload digests *digest is theirs. False: they cannot
 * be read, and nothing is queued. Bytes lent without a digest are not touched here. */
bool payload_stage(const struct conn *conn, void *at, struct place *from, uint32_t length, uint64_t *digest);
/* Second step, once the head is queued: queues payload and trailer. `owner`: of the lent memory (sendq_revoke). */
void payload_staged(struct conn *conn, const struct place *from, uint32_t length, const void *owner, uint64_t digest);
/* The same of an op's own memory, from `op->moved` on. */
bool payload_stage_runs(const struct conn *conn, void *at, const struct op *op, uint32_t length, uint64_t *digest);
void payload_staged_runs(struct conn *conn, const struct op *op, uint32_t length, uint64_t digest);
/* Likewise; most lie in one piece that is copied as it is. The second one moves `op->moved`. */
static inline bool payload_is_simple(const struct conn *conn, const struct op *op, uint32_t length)
{
	return op->iov_count == 1 && length <= LIMIT_COPY && length != 0 && !conn->payload_digest;
}

static inline bool payload_stage_op(const struct conn *conn, void *at, const struct op *op, uint32_t length, uint64_t *digest)
{
	*digest = 0;
	if (likely(payload_is_simple(conn, op, length)))
		return guard_copy(at, (const uint8_t *)op->iov[0].iov_base + op->moved, length);
	return payload_stage_runs(conn, at, op, length, digest);
}

static inline void payload_staged_op(struct conn *conn, struct op *op, uint32_t length, uint64_t digest)
{
	if (likely(payload_is_simple(conn, op, length)))
		wire_put_trailer((uint8_t *)sendq_add(&conn->out, length + sizeof(struct wire_trailer)) + length, WIRE_GOOD, 0);
	else
		payload_staged_runs(conn, op, length, digest);
	op->moved += length;
}

/* Adds `length` bytes of the device's own, behind a head of `op`, copied whatever their number (conn_frame_begin() knew), and the
 * trailer; nothing if length is zero. */
void payload_put(struct conn *conn, uint8_t op, const void *bytes, uint32_t length, enum wire_status status);

#endif
