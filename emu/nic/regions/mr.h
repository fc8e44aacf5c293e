/* SPDX-License-Identifier: BSD-2-Clause */
/* mr.h - one registered region, and the pure judgement of an access to it.
 * Owner:  mr_table, which makes and ends it.
 * Thread: holder of the driver role. Others hold the key or the descriptor, never a pointer. */
#ifndef EMU_NIC_MR_H
#define EMU_NIC_MR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "emu/nic/memory/place.h"
#include "emu/nic/regions/refusal.h"

/* Rights, each named by the op that it lets the NIC do with the region's bytes. */
enum mr_access {
	MR_READ = 1 << 0,          /* a buffer that a read or a fetching atomic fills (S25) */
	MR_WRITE = 1 << 1,         /* the source of a write, or an atomic's operand (S26) */
	MR_RECV = 1 << 2,          /* a receive buffer (S24) */
	MR_SEND = 1 << 3,          /* the source of a message (S23) */
	MR_REMOTE_READ = 1 << 4,   /* bytes that peers read (S27) */
	MR_REMOTE_WRITE = 1 << 5,  /* bytes that peers write (S29) */
	MR_COLLECTIVE = 1 << 6,    /* local: of buffers of collectives; no other right stands in for it */
	MR_REMOTE_ATOMIC = 1 << 7, /* bytes that peers' atomics change, through endpoints with EP_RULE_ALIGNED */
	MR_ACCESS_ALL = MR_READ | MR_WRITE | MR_RECV | MR_SEND | MR_REMOTE_READ | MR_REMOTE_WRITE,
	MR_ACCESS_TOLD = MR_ACCESS_ALL | MR_REMOTE_ATOMIC, /* in refusals */
};

struct auth_set;
struct mr_binding;
struct binding_end;
struct mr_refresh;
struct pin;

struct mr_pages;

/* State of a region for one op: the request that has taken it, if any (S130). */
struct mr_single {
	uint64_t by, seq;      /* as in struct mr_ask; by 0: no request yet */
	uint64_t addr, length; /* READ: as it asked, for it may come back for no other bytes */
	uint32_t right;        /* nor with another right */
};

enum { MR_SUBS_MAX = (1 << 20) - 1 };

struct mr {
	uint64_t key;
	uint64_t key_tail; /* second half of a raw key (FI_MR_RAW); 0: a plain key */
	union {
		uint64_t auth;          /* of the authorization key that opens it; 0: none (S158) */
		struct auth_set *auths; /* by_set: of several */
	};
	uint64_t id;          /* never reused in a process: tells a region from a later one under the same key */
	uint64_t length;      /* sum of the segments */
	uint64_t shift;       /* from the address that peers and the program give a byte to its own (S62); 0: the same */
	uint32_t access : 28; /* enum mr_access; these two are constant, and read without the role: no word with what it changes */
	uint32_t iov_count : 4;
	uint32_t : 0;
	bool virtual_addr : 1; /* addressed by virtual address, else by offset from 0 (S59, S60) */
	bool persistent : 1;   /* a shared file mapping, FI_RMA_PMEM (S132) */
	bool registering : 1;  /* asynchronously; no remote access yet (S42) */
	bool enabled : 1;      /* remote access judged at all (S92) */
	bool invalidated : 1;  /* no remote access any more, but nobody has closed it */
	bool gated : 1;        /* made disabled, to be bound and then enabled (S92, S101) */
	bool by_endpoint : 1;  /* reached through endpoints bound to it only (S104) */
	bool events : 1;       /* registered to be bound to counters (S91) */
	bool by_set : 1;       /* opened by `auths`, else by `auth` */
	bool windows : 1;      /* memory windows may be bound to it */
	bool window : 1;       /* a memory window, as it is bound (mr_window.h) */
	uint32_t subs : 20;    /* regions registered within it, up to MR_SUBS_MAX (S126), and windows */
	union {
		struct iovec *more; /* iov_count > 1: all segments */
		struct iovec one;   /* iov_count == 1 */
	};
	uint64_t desc;                /* the handle given out as fi_mr_desc() */
	struct mr *base;              /* the region that it was registered within (S121), or NULL */
	struct mr_binding *bindings;  /* its other ends: mr_binding.h */
	struct mr_refresh *refreshes; /* fi_mr_refresh() calls at work (S115) */
	struct mr_pages *pages;       /* FI_MR_MMU_NOTIFY: those that the NIC knows; the base's where there is one */
	struct pin *pin;              /* by which alone its bytes are touched; the base's where there is one. NULL: not pinned */
	struct mr_single *single;     /* NULL: may be used any number of times */
	void *context;                /* the program's, for the completions that tell of accesses (EP_REGION_EVENTS) */
};

static inline const struct iovec *mr_segments(const struct mr *mr)
{
	return mr->iov_count > 1 ? mr->more : &mr->one;
}

/* One remote access as asked, and the peer that asks. */
struct mr_ask {
	uint64_t addr, length;
	uint64_t key_tail;                   /* beside the key by which the region was found */
	uint64_t auth;                       /* authorization shown; 0: none */
	const struct sockaddr_storage *peer; /* it asks */
	uint32_t right;                      /* MR_REMOTE_READ, MR_REMOTE_WRITE or both */
	const struct binding_end *ep;        /* the endpoint addressed; NULL: one that nothing is bound to */
	uint64_t by, seq;                    /* the request: a session's life and its number in it */
	bool commit;                         /* to be durable before it is answered (S133) */
};

/* Judges one remote access and changes nothing. `mr` may be NULL (no such key). Returns REFUSAL_NONE and fills
 * *place, or returns the cause and describes the region in *why (region, access, excess); the caller fills the
 * rest. Ladder of checks: key, registered, enabled, endpoint, authorization, single use, right, persistence, wrap, range,
 * refresh, pages. A range that ends at 2^64 does not wrap; a region of (NULL, SIZE_MAX) refuses nothing but wraps, in
 * either way of addressing. A zero-length access needs key, right, and an address inside the region or at its end
 * (S65). Bounds subtract trusted numbers only. Virtual addressing of a vectored region: each segment by its own address,
 * a gap is out of range (S64); offset addressing runs through the concatenated segments (S63). */
enum refusal_cause mr_check(const struct mr *mr, const struct mr_ask *ask, struct mr_place *place, struct refusal *why);

/* May it be invalidated, by a message to the endpoint whose bindings `ep` are, or by that endpoint's program? Only where a peer's
 * access could be granted by its key: not a raw key's, nor one that is reached through other endpoints alone; not while windows are
 * bound to it; and no window that any endpoint may bind anew. `mr` NULL: no. */
bool mr_may_invalidate(const struct mr *mr, const struct binding_end *ep);

/* Describes the region for a sentence about an access: region, access. */
void mr_describe(const struct mr *mr, struct refusal *why);

/* Are the bytes [addr, addr + length) of this process inside the region, whatever its way of addressing? Pure. A range
 * may go on from one segment into another that touches it; a zero length is inside anywhere. */
bool mr_covers(const struct mr *mr, uint64_t addr, uint64_t length);

#endif
