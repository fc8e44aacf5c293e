/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_message.h - the two posts that messages come down to, tagged and untagged (fi_msg.c, fi_tagged.c). */
#ifndef EMU_FI_MESSAGE_H
#define EMU_FI_MESSAGE_H

#include <rdma/fi_tagged.h>

#include "emu/fi/fi_ep.h"

/* `group` is FI_MSG or FI_TAGGED. `post` has the buffers, `desc` theirs, the context, and whatever the call has of destination or
 * source, data, tag and bits ignored; the rest of it is zero, and is filled in. `flags` are in force: the endpoint's defaults, or
 * those of the *msg call, checked against what it knows. Any thread. 0 or a negative errno, after which nothing was posted. */
ssize_t message_send(struct emu_ep *ep, uint64_t group, struct post *post, void *const *desc, uint64_t flags);
ssize_t message_recv(struct emu_ep *ep, uint64_t group, struct recv_post *post, void *const *desc, uint64_t flags);

#endif
