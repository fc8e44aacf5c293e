/* SPDX-License-Identifier: BSD-2-Clause */
/* emu.h - constants of the emulated NIC for programs. No program needs them: everything is reached through libfabric.
 * There are no calls here, and no library to link. */
#ifndef EMU_EMU_H
#define EMU_EMU_H

/* The provider's name, as in FI_PROVIDER, in fi_fabric_attr.prov_name and in fi_info -p. */
#define EMU_PROVIDER "emu"

/* The version of the wire protocol that this release speaks; peers agree on one when they meet. */
#define EMU_PROTOCOL 1

/* Why an op failed: fi_cq_err_entry.prov_errno of a completion in error. fi_cq_strerror() gives the sentence. Numbers
 * are never reused. The first block has refusals by the target, the second errors found by the initiator itself. */
enum emu_cause {
	EMU_CAUSE_UNKNOWN_KEY = 1,     /* no region has or had this key */
	EMU_CAUSE_CLOSED = 2,          /* the region was closed */
	EMU_CAUSE_RIGHT = 3,           /* the region's access does not allow this op */
	EMU_CAUSE_RANGE = 4,           /* beyond the region's ends */
	EMU_CAUSE_WRAP = 5,            /* address plus length wraps */
	EMU_CAUSE_NOT_BACKED = 6,      /* no memory behind the region's pages */
	EMU_CAUSE_DISABLED = 7,        /* the region is not enabled yet */
	EMU_CAUSE_OTHER_ENDPOINT = 8,  /* the region is bound to another endpoint */
	EMU_CAUSE_AUTH = 9,            /* authorization keys differ */
	EMU_CAUSE_SPENT = 10,          /* the single-use key was used */
	EMU_CAUSE_REFRESHING = 11,     /* the region's pages are being refreshed */
	EMU_CAUSE_PAGE_UNKNOWN = 12,   /* the region does not know the page; call fi_mr_refresh() */
	EMU_CAUSE_RESOURCE = 13,       /* the target is out of memory */
	EMU_CAUSE_CAPABILITY = 14,     /* the target endpoint was opened without the capability */
	EMU_CAUSE_NOT_PERSISTENT = 15, /* FI_COMMIT_COMPLETE, and the region lacks FI_RMA_PMEM */
	EMU_CAUSE_NOT_FLUSHED = 16,    /* written, but not made durable */
	EMU_CAUSE_REGISTERING = 17,    /* the region's asynchronous registration is not complete */
	EMU_CAUSE_ATOMIC = 18,         /* the target has no such atomic operation on that datatype */
	EMU_CAUSE_RECEIVE_BUFFER = 19, /* the buffer of the receive that took the message cannot be written */
	EMU_CAUSE_RECEIVE_RANGE = 20,  /* past the end of the tagged receive that the access has found */
	EMU_CAUSE_MESSAGE_LONG = 21,   /* longer than the receive that it took, at a queue pair */
	EMU_CAUSE_MISALIGNED = 22,     /* an atomic's address is no multiple of its size, at a queue pair */
	EMU_CAUSE_INVALIDATED = 23,    /* a message has invalidated the region, or its owner */
	EMU_CAUSE_NO_REGION = 24,      /* no region is open under the key that the message was to invalidate */
	EMU_CAUSE_NO_READS = 25,       /* the target queue pair answers no READ and no atomic */
	EMU_CAUSE_NO_SRX = 26,         /* verbs: the target's XRC domain has no shared receive queue of that number */

	EMU_CAUSE_SOURCE_FAULT = 64, /* the initiator's own buffer cannot be read or written */
	EMU_CAUSE_PEER_GONE = 65,    /* no endpoint answers at the address, or another one does */
	EMU_CAUSE_UNREACHABLE = 66,  /* retry budget spent */
	EMU_CAUSE_CANCELLED = 67,    /* fi_cancel(), or fi_close() of the endpoint */
	EMU_CAUSE_TRUNCATED = 68,    /* message longer than the receive buffer */
	EMU_CAUSE_PROTOCOL = 69,     /* the peer broke the protocol, or speaks another version */
	EMU_CAUSE_ADDRESS = 70,      /* no such entry in the address vector */
	EMU_CAUSE_NO_SESSION = 71,   /* the initiator is at its limit of sessions or memory */
	EMU_CAUSE_NO_MESSAGE = 72,   /* FI_PEEK found no message that fits, or FI_CLAIM none that was claimed */
	EMU_CAUSE_STRANGER = 73,     /* received from a peer that is not in the address vector (FI_SOURCE_ERR) */
	EMU_CAUSE_SECRET = 74,       /* one side has another shared secret (FI_EMU_SECRET_FILE), or none */
	EMU_CAUSE_NOT_READY = 75,    /* the receiver was not ready, and FI_EMU_RNR_RETRY is spent */
	EMU_CAUSE_SENDER = 76,       /* the rest of the message will not come: the sender's op has ended */
	EMU_CAUSE_LOCAL_CLOSED = 77, /* a local region that the op's descriptors name was closed */
	EMU_CAUSE_GROUP = 78,        /* a member of the collective's group has failed or left */
	EMU_CAUSE_DISAGREE = 79,     /* members have made different calls, or calls of other lengths */
	EMU_CAUSE_FIREWALL = 80,     /* the peer is behind a firewall (FI_FIREWALL_ADDR), and is not connected */
	EMU_CAUSE_PSN = 81,          /* verbs: the packet sequence numbers of the two queue pairs differ */
	EMU_CAUSE_PATH_MTU = 82,     /* verbs: packets are longer than the peer's path MTU */
	EMU_CAUSE_NO_RECEIVE = 83,   /* verbs: lost, as no receive was posted at an unreliable queue pair */
	EMU_CAUSE_LOST = 84,         /* verbs: lost on the way from an unreliable queue pair, by the fault plan */
	EMU_CAUSE_TOO_LONG = 85,     /* verbs: lost, as the next receive at an unreliable queue pair was shorter */
	EMU_CAUSE_BIND = 86,         /* verbs: a memory window may not be bound so */
};

#endif
