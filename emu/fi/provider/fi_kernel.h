/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_kernel.h - what the kernel's front end (emu/kfi) asks of this one beyond libfabric, in bits that libfabric leaves free. Only the
 * personalities of the kernel grant them. */
#ifndef EMU_FI_KERNEL_H
#define EMU_FI_KERNEL_H

/* Capability: fi_writemsg() and fi_readmsg() with FI_TAGGED name a posted tagged receive by `key`, its tag, in place of a region. The
 * access goes to its buffer from offset `addr`, and ends it: it completes with FI_TAGGED | FI_RMA | FI_RECV and FI_REMOTE_WRITE or
 * FI_REMOTE_READ. Where none is posted, the receiver is not ready, as with a message. */
#define EMU_FI_TAGGED_RMA (1ULL << 62)

/* Capability: a peer's write, read or atomic that was executed in a region makes a completion at the queue of the endpoint that the peer
 * addressed, with the region's context, the length, and FI_RMA or FI_ATOMIC with FI_REMOTE_WRITE or FI_REMOTE_READ. */
#define EMU_FI_REGION_EVENTS (1ULL << 61)

#endif
