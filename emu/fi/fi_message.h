/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_message.h - the two posts that messages come down to, tagged and untagged (fi_msg.c, fi_tagged.c). */
#ifndef EMU_FI_MESSAGE_H
#define EMU_FI_MESSAGE_H

#include <rdma/fi_tagged.h>

#include "emu/fi/fi_ep.h"

/* `group` is FI_MSG, for which tag and ignore are 0, or FI_TAGGED. `flags` are in force: the endpoint's defaults, or those of
 * the *msg call, checked against what it knows. Any thread. 0 or a negative errno, after which nothing was posted. */
ssize_t message_send(struct emu_ep *ep, uint64_t group, const struct fi_msg_tagged *msg, uint64_t flags);
ssize_t message_recv(struct emu_ep *ep, uint64_t group, const struct fi_msg_tagged *msg, uint64_t flags);

/* The same with one buffer. */
ssize_t message_send_one(struct emu_ep *ep, uint64_t group, const void *buf, size_t len, void *desc,
			 struct fi_msg_tagged *msg, uint64_t flags);
ssize_t message_recv_one(struct emu_ep *ep, uint64_t group, void *buf, size_t len, void *desc,
			 struct fi_msg_tagged *msg, uint64_t flags);

#endif
