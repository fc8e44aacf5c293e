/* SPDX-License-Identifier: BSD-2-Clause */
/* peek.h - asking about messages that wait: FI_PEEK, FI_CLAIM and FI_DISCARD of fi_tagged(3).
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_PEEK_H
#define EMU_NIC_PEEK_H

#include "emu/nic/messages/rx_match.h"

/* A receive with POST_PEEK or POST_CLAIM: completes, or goes on with the message that was claimed. Never queued. */
void peek_start(struct rx *rx);

#endif
