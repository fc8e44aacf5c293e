/* SPDX-License-Identifier: BSD-2-Clause */
/* peek.c - a message that waits is reported, set aside for the peeking receive's context, or thrown away.
 *
 * A message is found once its payload is here, or at its sender for good: one that arrives may be cut off, and would come
 * again to receives that must not see it any more. */
#include "emu/nic/messages/srx.h"

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/ops/watch.h"
#include "emu/nic/role/driver.h"

/* Reports the message that is there. The receive is gone after the call. */
static void peek(struct rx *rx)
{
	struct rx_match *match = &rx->srx->match;
	struct message *message = rx_match_peek(match, rx);
	bool discard = rx->flags & POST_DISCARD;

	if (message && rx->flags & POST_CLAIM)
		rx_match_claim(match, message, rx->done.c.context);
	complete_peek(rx, message);
	if (message && discard)
		message_discard(message);
}

/* Takes the message that was set aside. */
static void peek_claim(struct rx *rx)
{
	struct message *message = rx_match_claimed(&rx->srx->match, rx->done.c.context);
	bool discard = rx->flags & POST_DISCARD;

	if (message && rx->flags & POST_WATCHED)
		rx->srx->nic->config.watch->claimed(rx->watch, message->tag);
	if (!message || discard) {
		complete_peek(rx, message);
		if (message)
			message_discard(message);
		return;
	}
	message_matched(message, rx);
}

void peek_start(struct rx *rx)
{
	role_assert();
	if (rx->flags & POST_PEEK)
		peek(rx);
	else
		peek_claim(rx);
}
