/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_message.h - the two posts that messages come down to, tagged and untagged (fi_msg.c, fi_tagged.c). */
#ifndef EMU_FI_MESSAGE_H
#define EMU_FI_MESSAGE_H

#include <rdma/fi_tagged.h>

#include "emu/fi/ep/fi_ep.h"

/* `group` is FI_MSG or FI_TAGGED. `post` has the buffers, the context, and the call's destination or source, data, tag and ignored
 * bits; its rest is zero and is filled in. `desc` has the buffers' descriptors. `flags` are in force: the endpoint's defaults, or
 * those of the *msg call, checked against those that it knows. Any thread. 0; or a negative errno, and nothing was posted. */
ssize_t message_send(struct emu_ep *ep, uint64_t group, struct post *post, void *const *desc, uint64_t flags);
ssize_t message_recv(struct emu_ep *ep, uint64_t group, struct recv_post *post, void *const *desc, uint64_t flags);

#endif
