/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_kernel.h - what the kernel's front end (emu/kfi) asks of this one beyond libfabric, in bits that libfabric leaves free.
 * Only the personalities of the kernel grant them (fi_attr_kfi.c, fi_attr_kcxi.c), and only if asked for. */
#ifndef EMU_FI_KERNEL_H
#define EMU_FI_KERNEL_H

/* Capability: fi_writemsg() and fi_readmsg() with FI_TAGGED name a posted tagged receive by `key`, its tag, in place of a
 * region; there is one rma_iov. The access goes to its buffer from offset `addr`, and ends it: it completes with FI_TAGGED |
 * FI_RMA | FI_RECV and FI_REMOTE_WRITE or FI_REMOTE_READ, of a read when the initiator has the bytes. Where none is posted, the
 * receiver is not ready, as with a message (FI_EMU_RNR_RETRY). An access past the end of the buffer touches no byte and ends
 * both with FI_EMSGSIZE. A receive with FI_MULTI_RECV takes none. The target needs FI_RECV, and FI_REMOTE_WRITE or
 * FI_REMOTE_READ. */
#define EMU_FI_TAGGED_RMA (1ULL << 62)

/* Capability of a domain: a peer's write, read or atomic that was executed in a region makes a completion at the receive queue
 * of the endpoint that the peer addressed, with the region's context, the length, and FI_RMA or FI_ATOMIC with
 * FI_REMOTE_WRITE or FI_REMOTE_READ (FI_REMOTE_CQ_DATA if data came with it). None is lost, but by a queue that overruns: where
 * the queue has no room, the receiver is not ready. Of a read it comes when all bytes are on their way. */
#define EMU_FI_REGION_EVENTS (1ULL << 61)

/* Controls of a completion queue, each with a size_t: how many entries and errors nobody has read; of a queue that is bound to
 * nothing yet, how many it keeps, where it loses what comes on top (a fault plan's `queue` makes it fewer); how many it has
 * lost. */
enum { EMU_FI_CQ_UNREAD = 0x656d0001, EMU_FI_CQ_OVERRUN_AT = 0x656d0003, EMU_FI_CQ_LOST = 0x656d0004 };

/* Option of a scalable endpoint that is not enabled, a uint16_t: it and its peers listen so many ports above their addresses, by
 * which they are known all the same. */
enum { EMU_FI_OPT_PORT_SHIFT = 0x656d0002 };

/* Personality `kcxi`: ports of a scalable endpoint that it alone has. */
enum { EMU_FI_ROW_PORTS = 16 };

#endif
