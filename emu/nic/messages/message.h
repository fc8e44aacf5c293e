/* SPDX-License-Identifier: BSD-2-Clause */
/* message.h - the way of an arriving message: matched, kept, parked, pulled, delivered.
 * Thread: holder of the driver role. Functions that take a peer's word return NULL, or the breach of the protocol. */
#ifndef EMU_NIC_MESSAGE_H
#define EMU_NIC_MESSAGE_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/messages/rx_match.h"
#include "emu/nic/transport/conn.h"

/* Sets message->rx to the receive that takes it, NULL if none is posted; `ep` and the fields for matching are set. False: there
 * is no room for its completion, as earlier ones are not read yet. */
bool message_find(struct message *message);
/* SEND or RTS in sequence: sets conn->in. *full: no room for it, the peer is to be told RNR; nothing was changed. */
MUST_USE const char *message_begin(struct conn *conn, const struct wire_head *head, bool *full);
/* Its payload is complete. */
MUST_USE const char *message_end(struct conn *conn, enum wire_status status);
/* The payload was cut off and will come again: as if the message had not begun. */
void message_undo(struct conn *conn);
/* The receive that a message has found, which does not come to be received: it is posted again, in its place. */
void message_give_back(struct rx *rx);
/* A receive was posted that takes this message, which is out of the unexpected queue. */
void message_matched(struct message *message, struct rx *rx);

/* A message that is in no queue any more, or an unexpected one, is not wanted: its sender's op is complete. */
void message_discard(struct message *message);

/* DATA for a message that is pulled: sets conn->in. */
MUST_USE const char *message_pulled(struct conn *conn, uint64_t ref, uint64_t offset, uint64_t rest);
MUST_USE const char *message_pulled_end(struct conn *conn, enum wire_status status);
/* Sends the next PULL that is due. */
bool message_fill_pull(struct session *session, struct conn *conn);
/* All pulls are to be asked again on the next connection. */
void message_pull_again(struct session *session);
/* Ends everything that needs the peer: pulls fail with `cause`, envelopes whose payload is there are dropped. */
void message_flush(struct session *session, enum refusal_cause cause);
/* Frees the messages of an endpoint that are left in the unexpected queue. */
void message_drop_all(struct rx_match *match, const struct ep *ep);

/* Messages whose receives name this region (named.h): those receives end, and the senders are told. */
void message_recall(struct session *session, uint64_t desc);

#endif
