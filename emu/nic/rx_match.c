/* SPDX-License-Identifier: BSD-2-Clause */
/* rx_match.c - receives and messages find each other, oldest first. */
#include "emu/nic/rx_match.h"

#include <stdlib.h>

#include "emu/nic/av.h"
#include "emu/nic/session.h"

static bool rx_fits(const struct rx *rx, struct session *session)
{
	return rx->source == AV_NONE || rx->source == session_source(session);
}

static void rx_cut(struct rx_match *match, struct rx *before, struct rx *rx)
{
	if (before)
		before->next = rx->next;
	else
		match->posted = rx->next;
	if (match->posted_last == rx)
		match->posted_last = before;
}

struct rx *rx_match_arrival(struct rx_match *match, struct session *session)
{
	struct rx *before = NULL;

	for (struct rx *rx = match->posted; rx; before = rx, rx = rx->next) {
		if (rx_fits(rx, session)) {
			rx_cut(match, before, rx);
			return rx;
		}
	}
	return NULL;
}

static void message_cut(struct rx_match *match, struct message *before, struct message *message)
{
	if (before)
		before->next = message->next;
	else
		match->unexpected = message->next;
	if (match->unexpected_last == message)
		match->unexpected_last = before;
	message->queued = false;
	match->envelopes--;
}

struct message *rx_match_post(struct rx_match *match, struct rx *rx)
{
	struct message *before = NULL;

	for (struct message *message = match->unexpected; message; before = message, message = message->next) {
		if (rx_fits(rx, message->session)) {
			message_cut(match, before, message);
			return message;
		}
	}
	rx->next = NULL;
	if (match->posted)
		match->posted_last->next = rx;
	else
		match->posted = rx;
	match->posted_last = rx;
	return NULL;
}

void rx_match_return(struct rx_match *match, struct rx *rx)
{
	rx->next = match->posted;
	if (!match->posted)
		match->posted_last = rx;
	match->posted = rx;
}

void rx_match_keep(struct rx_match *match, struct message *message)
{
	message->next = NULL;
	message->queued = true;
	if (match->unexpected)
		match->unexpected_last->next = message;
	else
		match->unexpected = message;
	match->unexpected_last = message;
	match->envelopes++;
}

void rx_match_drop(struct rx_match *match, struct message *message)
{
	struct message *before = NULL;

	if (!message->queued)
		return;
	for (struct message *at = match->unexpected; at != message; at = at->next)
		before = at;
	message_cut(match, before, message);
}

struct rx *rx_match_cancel(struct rx_match *match, const void *context)
{
	struct rx *before = NULL;

	for (struct rx *rx = match->posted; rx; before = rx, rx = rx->next) {
		if (rx->done.c.context == context) {
			rx_cut(match, before, rx);
			return rx;
		}
	}
	return NULL;
}

void rx_place(const struct rx *rx, struct place *place)
{
	place_set(place, rx->iov, rx->iov_count);
}
