/* SPDX-License-Identifier: BSD-2-Clause */
/* multi_recv.h - a posted buffer that takes many messages, one behind the other (FI_MULTI_RECV).
 *
 * Each message gets a piece, which is a receive of its own with the buffer's context. When less is left than the buffer
 * was posted for, or a message did not fit, the buffer takes no more; once no piece is in use any more, it is released,
 * which is told by a completion of its own, the last one.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_MULTI_RECV_H
#define EMU_NIC_MULTI_RECV_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/messages/rx_match.h"

/* A receive with POST_MULTI was posted: takes the messages that waited for it, and is queued for more. */
void multi_start(struct rx *parent);
/* The receive for an arriving message that `parent`, out of its queue, is to take; it is queued again if it takes more.
 * NULL: the program does not read the completions; nothing was changed, and the message must wait at its sender. */
MUST_USE struct rx *multi_take(struct rx *parent, uint64_t length);
/* A piece is about to complete with an entry in the queue: returns the flag that the entry gets if the buffer is released with it,
 * of which no other entry tells then (POST_MULTI_LAST); else 0. */
uint64_t multi_last_flag(struct rx *piece);
/* A piece has completed. */
void multi_done(struct rx *parent);
/* The piece's message was cut off and will come again. */
void multi_undo(struct rx *piece);
/* `parent`, out of its queue, is cancelled: told, as a buffer that is released, when no piece is in use any more. */
void multi_cancel(struct rx *parent, enum refusal_cause cause);

#endif
