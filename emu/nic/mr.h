/* SPDX-License-Identifier: BSD-2-Clause */
/* mr.h - one registered region, and the pure judgement of an access to it.
 * Owner:  mr_table, which makes and ends it.
 * Thread: holder of the driver role. Others hold the key or the descriptor, never a pointer. */
#ifndef EMU_NIC_MR_H
#define EMU_NIC_MR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/nic/limits.h"
#include "emu/nic/refusal.h"

/* Same values as libfabric's access bits; emu/fi asserts it. */
enum mr_access {
	MR_READ = 1 << 8,
	MR_WRITE = 1 << 9,
	MR_RECV = 1 << 10,
	MR_SEND = 1 << 11,
	MR_REMOTE_READ = 1 << 12,
	MR_REMOTE_WRITE = 1 << 13,
	MR_ACCESS_ALL = MR_READ | MR_WRITE | MR_RECV | MR_SEND | MR_REMOTE_READ | MR_REMOTE_WRITE,
};

struct mr {
	uint64_t key;
	uint64_t id;		/* never reused in a process: tells a region from a later one under the same key */
	uint64_t length;	/* sum of the segments */
	uint32_t access;	/* enum mr_access */
	uint8_t  iov_count;
	bool     virtual_addr;	/* addressed by virtual address, else by offset from 0 (S59, S60) */
	bool     enabled;	/* remote access judged at all (S92) */
	struct iovec *more;	/* iov_count > 1: all segments; else NULL */
	struct iovec one;	/* iov_count == 1 */
	uint64_t desc;		/* the handle given out as fi_mr_desc() */
	void    *owner;		/* emu/fi's fid, for its own use */
};

static inline const struct iovec *mr_segments(const struct mr *mr)
{
	return mr->more ? mr->more : &mr->one;
}

/* Where the bytes of one granted access lie: up to LIMIT_IOV runs of program memory, none empty; none at all for a
 * zero-length access. */
struct mr_place {
	struct iovec run[LIMIT_IOV];
	uint8_t count;
};

/* Judges one remote access and changes nothing. `mr` may be NULL (no such key). Returns REFUSAL_NONE and fills
 * *place, or the cause, filling what it knows of the region into *why (region, access, excess); the caller fills the
 * rest. Ladder of checks: key, enabled, right, wrap, range. A range that ends at 2^64 does not wrap; a region of
 * (NULL, SIZE_MAX) refuses nothing but wraps, in either way of addressing. A zero-length access needs key, right, and
 * an address inside the region or at its end (S65). `right` is MR_REMOTE_READ or MR_REMOTE_WRITE. Bounds subtract
 * trusted numbers only. Virtual addressing of a vectored region: each segment by its own address, a gap is out of
 * range (S64); offset addressing runs through the concatenated segments (S63). */
enum refusal_cause mr_check(const struct mr *mr, uint64_t addr, uint64_t length, uint32_t right,
			    struct mr_place *place, struct refusal *why);

/* Are the bytes [addr, addr + length) of this process inside the region, whatever its way of addressing? Pure. A range
 * may go on from one segment into another that touches it; a zero length is inside anywhere. */
bool mr_covers(const struct mr *mr, uint64_t addr, uint64_t length);

#endif
