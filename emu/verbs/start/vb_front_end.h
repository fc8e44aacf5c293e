/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_front_end.h - verbs' words for the device, and the flags of its completions (front_end.h). */
#ifndef EMU_VB_FRONT_END_H
#define EMU_VB_FRONT_END_H

#include <stdint.h>

/* Flags of struct completion, for vb_wc.c. A post gives its own in cq_flags, from the bits that these leave free. */
enum vb_cq_flag {
	VB_CQ_IMM = 1 << 0,         /* immediate data came with a message */
	VB_CQ_WRITTEN = 1 << 1,     /* or with a remote write: IBV_WC_RECV_RDMA_WITH_IMM */
	VB_CQ_INVALIDATED = 1 << 2, /* the message has invalidated the rkey in data */
	VB_CQ_SOLICITED = 1 << 3,   /* the sender asked for an event (IBV_SEND_SOLICITED) */
	VB_CQ_GRH = 1 << 4,         /* a datagram: completion.tag has the sender's QPN, and above its 24 bits what wc.sl tells */
};

/* Stands for a buffer that its lkey does not allow, where hardware looks at that when bytes come. No process has that page. */
#define VB_FORBIDDEN ((void *)(uintptr_t)-4096)

struct front_end;
struct process_faults;
extern const struct front_end vb_front_end;
extern const struct process_faults vb_faults; /* vb_fault.c */

#endif
