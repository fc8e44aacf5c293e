/* SPDX-License-Identifier: BSD-2-Clause */
/* recall.h - an endpoint's posts that are taken back: by fi_cancel(), or as a region of theirs is closed.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_RECALL_H
#define EMU_NIC_RECALL_H

#include <stdint.h>

struct ep;

/* One with this context, of those whose ops all wait to be sent: it completes with REFUSAL_CANCELLED. 0; -ENOENT: there is
 * none; -EAGAIN: unread errors choke its queue. */
int recall_post(struct ep *ep, const void *context);
/* A local region is closed: this endpoint's posts that name it by its descriptor (named.h) and have not completed do so now, with
 * REFUSAL_LOCAL_CLOSED, and touch no byte of it any more, but for receives that no message has taken: see srx_recall(). */
void recall_of_ep(struct ep *ep, uint64_t desc);

#endif
