/* SPDX-License-Identifier: BSD-2-Clause */
/* refusal.h - why an op did not happen, as a number on the wire and as a sentence for a person.
 *
 * The causes up to REFUSAL_WIRE_MAX travel in NAK (PROTOCOL.md) and are prov_errno at the initiator; those above are
 * found by the initiator itself. Numbers are never reused. */
#ifndef EMU_NIC_REFUSAL_H
#define EMU_NIC_REFUSAL_H

#include <stddef.h>
#include <stdint.h>

enum refusal_cause {
	REFUSAL_NONE = 0,
	REFUSAL_UNKNOWN_KEY = 1,     /* S40 */
	REFUSAL_CLOSED = 2,          /* S178 */
	REFUSAL_RIGHT = 3,           /* S27, S29, S31 */
	REFUSAL_RANGE = 4,           /* S65 */
	REFUSAL_WRAP = 5,            /* S65 */
	REFUSAL_NOT_BACKED = 6,      /* S18 */
	REFUSAL_DISABLED = 7,        /* S92 */
	REFUSAL_OTHER_ENDPOINT = 8,  /* S104 */
	REFUSAL_AUTH = 9,            /* S158 */
	REFUSAL_SPENT = 10,          /* S130 */
	REFUSAL_REFRESHING = 11,     /* S116 */
	REFUSAL_PAGE_UNKNOWN = 12,   /* S107 */
	REFUSAL_RESOURCE = 13,       /* the target could not take it: out of memory */
	REFUSAL_CAPABILITY = 14,     /* the target endpoint was opened without the capability */
	REFUSAL_NOT_PERSISTENT = 15, /* S133 */
	REFUSAL_NOT_FLUSHED = 16,    /* S133: written, but the medium did not take it */
	REFUSAL_REGISTERING = 17,    /* S42 */
	REFUSAL_ATOMIC = 18,         /* the target's device has no such operation on that datatype */
	REFUSAL_RECEIVE_BUFFER = 19, /* the buffer of the receive that took the message is not there */
	REFUSAL_RECEIVE_RANGE = 20,  /* past the end of the tagged receive that the access has found */
	REFUSAL_MESSAGE_LONG = 21,   /* longer than the receive that it took, at an endpoint that receives first */
	REFUSAL_MISALIGNED = 22,     /* an atomic's address is no multiple of its size, at an endpoint that minds */
	REFUSAL_INVALIDATED = 23,    /* a message has invalidated the region, or its owner */
	REFUSAL_NO_REGION = 24,      /* no region is open under the key that the message was to invalidate */
	REFUSAL_NO_READS = 25,       /* the target endpoint takes no READ and no atomic at once (EP_NO_READS) */
	REFUSAL_NO_SRX = 26,         /* the request names no shared receive context of the target's domain */
	REFUSAL_WIRE_MAX = 63,
	REFUSAL_SOURCE_FAULT = 64, /* the program's own buffer cannot be read or written; of a receive: or the sender's */
	REFUSAL_PEER_GONE = 65,    /* no endpoint answers at the address, or another one does */
	REFUSAL_UNREACHABLE = 66,  /* retry budget spent */
	REFUSAL_CANCELLED = 67,    /* the op was taken back, or its endpoint closed */
	REFUSAL_TRUNCATED = 68,    /* message longer than the receive buffer */
	REFUSAL_PROTOCOL = 69,     /* the peer broke the protocol or speaks another version */
	REFUSAL_ADDRESS = 70,      /* no such entry in the address vector */
	REFUSAL_NO_SESSION = 71,   /* bound of sessions or memory met at the initiator, or memory for the answers it owes */
	REFUSAL_NO_MESSAGE = 72,   /* a peek has found no message, or none was claimed */
	REFUSAL_STRANGER = 73,     /* received all the same, from a peer that the AV does not hold (EP_SOURCE_ERR) */
	REFUSAL_SECRET = 74,       /* one side has another shared secret, or none */
	REFUSAL_NOT_READY = 75,    /* the receiver was not ready so often as nic_config.rnr_most allows */
	REFUSAL_SENDER = 76,       /* the rest of the message does not come: its sender has given it up */
	REFUSAL_LOCAL_CLOSED = 77, /* a region that the op's descriptors name was closed (S176) */
	REFUSAL_GROUP = 78,        /* a member of the collective's group has failed or left */
	REFUSAL_DISAGREE = 79,     /* members of a group have made different calls, or calls of other lengths */
	REFUSAL_FIREWALL = 80,     /* the peer is behind a firewall, and is not connected (av_wall()) */
	REFUSAL_PSN = 81,          /* the two queue pairs have different packet sequence numbers */
	REFUSAL_PATH_MTU = 82,     /* longer than the path MTU of the peer, and this queue pair has a longer one */
	REFUSAL_NO_RECEIVE = 83,   /* lost: no receive was posted at an endpoint that loses what it has no place for */
	REFUSAL_LOST = 84,         /* lost on the way, by the fault plan */
	REFUSAL_TOO_LONG = 85,     /* lost: longer than the receive that it would have taken, at such an endpoint */
	REFUSAL_BIND = 86,         /* a memory window may not be bound so; refusal.excess is the enum mr_rule */
	REFUSAL_CAUSES             /* the first number behind all of them */
};

struct front_end;

/* How the region is addressed, where the range left it, and whether the refusal is real. These bits stand above the rights in
 * refusal.access and travel with them in NAK (refusal_access_put), so that both sides write the same sentence. */
enum refusal_form {
	REFUSAL_VIRTUAL = 1 << 16,  /* addressed by virtual address, else by offset from 0 */
	REFUSAL_BEFORE = 1 << 17,   /* range: begins before the start; else it ends past the end */
	REFUSAL_GAP = 1 << 18,      /* range: between the segments of a vectored region */
	REFUSAL_INJECTED = 1 << 19, /* by the target's fault plan, or for a local cause by this side's: no region is known */
	REFUSAL_TAGGED = 1 << 20,   /* the key is a tag, which names a posted receive */
	REFUSAL_WINDOW = 1 << 21,   /* the region is a memory window, or was one */
	REFUSAL_FORMS = REFUSAL_VIRTUAL | REFUSAL_BEFORE | REFUSAL_GAP | REFUSAL_INJECTED | REFUSAL_TAGGED | REFUSAL_WINDOW,
};

/* In place of an enum op_kind: a receive that is reported to the program; requests that nobody is sent (POST_LOCAL). */
enum { REFUSAL_OP_RECEIVE = 16, REFUSAL_OP_LOCAL_INV, REFUSAL_OP_BIND };

/* One refused remote op, as both sides know it; fields that do not apply are zero. */
struct refusal {
	enum refusal_cause cause;
	uint8_t op;                 /* enum op_kind, or REFUSAL_OP_RECEIVE */
	uint64_t key, addr, length; /* as asked */
	uint64_t region;            /* bytes of the region */
	uint32_t access;            /* rights of the region, enum mr_access, and enum refusal_form */
	uint64_t excess;            /* range: past the end or before the start; truncated: bytes dropped; not flushed: errno */
	uint64_t age_ns;            /* since it was closed */
};

/* refusal.access <-> access in NAK (WIRE-49), where the same bits stand, but the rights elsewhere. */
uint32_t refusal_access_put(uint32_t access);
uint32_t refusal_access_get(uint32_t access);

/* The errno (positive, base/errno.h) that the completion carries. Gone is ECONNREFUSED and unreachable ETIMEDOUT, as a program
 * knows them from sockets. A cause that this version does not know (a newer peer's) is EACCES. */
int refusal_errno(enum refusal_cause cause);

/* Writes one sentence: op, key, address, length asked; the region's range, rights, state; the rule; the remedy. If the
 * front end has words for the cause, it is in those. Two sides with one front end write the same sentence but for the peer:
 * `peer` names the other side ("192.0.2.1:4711") or is NULL. Always terminates; returns the length written. */
size_t refusal_text(const struct front_end *front, const struct refusal *refusal, const char *peer, char *text, size_t size);

/* Likewise of an access that is done, on pinned pages whose mapping the program has changed (S80, S81); `access` as of a
 * refusal but for the cause. For the target's log. */
size_t refusal_remapped(const struct refusal *access, const char *peer, char *text, size_t size);

/* The phrase for a cause alone, for a program that has kept nothing but its number. Never NULL. */
const char *refusal_phrase(const struct front_end *front, enum refusal_cause cause);

#endif
