/* SPDX-License-Identifier: BSD-2-Clause */
/* rx_match.c - receives and messages find each other, oldest first. */
#include "emu/nic/messages/rx_match.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "emu/nic/queues/av.h"
#include "emu/nic/role/driver.h"
#include "emu/nic/transport/session.h"

enum { TAG_CHAINS = 1024 };

int rx_match_init(struct rx_match *match, bool tags)
{
	*match = (struct rx_match){ 0 };
	if (!tags)
		return 0;
	match->chains = calloc(TAG_CHAINS, sizeof(*match->chains));
	return match->chains ? 0 : -ENOMEM;
}

void rx_match_fini(struct rx_match *match)
{
	role_assert();
	free(match->chains);
}

/* Tags have their meaning in fields at any bits: all of them count. */
/* const: a post looks at its chain twice. */
static inline __attribute__((const)) struct tag_chain *chain_of(struct tag_chain *chains, uint64_t tag)
{
	tag ^= tag >> 32;
	tag *= 0x9e3779b97f4a7c15u;
	return &chains[tag >> 54];
}
static_assert(TAG_CHAINS == 1 << (64 - 54), "the top bits are the chain's number");

uint64_t message_source(const struct message *message)
{
	role_assert();
	return message->session ? session_source(message->session, message->auth) : message->source;
}

const struct sockaddr_storage *message_sender(const struct message *message)
{
	role_assert();
	return message->session ? &message->session->peer : message->from;
}

static bool rx_fits(const struct rx *rx, const struct message *message)
{
	return !((rx->tag ^ message->tag) & ~rx->ignore) && (!rx->auth || rx->auth == message->auth) &&
	       (rx->source == AV_NONE || rx->source == message_source(message));
}

/* --- receives --- */

static inline struct rx_list *rx_list_of(struct rx_match *match, const struct rx *rx)
{
	if (!(rx->flags & POST_TAGGED))
		return &match->posted;
	return rx->ignore ? &match->wild : &chain_of(match->chains, rx->tag)->posted;
}

/* A receive where it is queued. */
struct spot {
	struct rx_list *list;
	struct rx *before, *rx; /* rx NULL: there is none */
};

static struct spot spot_find(struct rx_list *list, const struct message *message)
{
	struct spot spot = { list, NULL, list->first };

	while (spot.rx && !rx_fits(spot.rx, message)) {
		spot.before = spot.rx;
		spot.rx = spot.rx->next;
	}
	return spot;
}

static struct rx *spot_cut(const struct spot *spot)
{
	struct rx *rx = spot->rx;

	if (!rx)
		return NULL;
	if (spot->before)
		spot->before->next = rx->next;
	else
		spot->list->first = rx->next;
	if (spot->list->last == rx)
		spot->list->last = spot->before;
	return rx;
}

struct rx *rx_match_arrival(struct rx_match *match, const struct message *message)
{
	struct spot exact, wild;

	role_assert();
	if (!message->tagged) {
		exact = spot_find(&match->posted, message);
		return spot_cut(&exact);
	}
	exact = spot_find(&chain_of(match->chains, message->tag)->posted, message);
	wild = spot_find(&match->wild, message);
	if (!exact.rx || (wild.rx && wild.rx->order < exact.rx->order))
		return spot_cut(&wild);
	return spot_cut(&exact);
}

/* Queues it at its place by `order`, which is the last for one just posted, else mostly the first. */
static inline void rx_queue(struct rx_list *list, struct rx *rx)
{
	struct rx **at = &list->first;

	if (list->first && list->last->order < rx->order)
		at = &list->last->next;
	while (*at && (*at)->order < rx->order)
		at = &(*at)->next;
	rx->next = *at;
	*at = rx;
	if (!rx->next)
		list->last = rx;
}

void rx_match_queue(struct rx_match *match, struct rx *rx)
{
	role_assert();
	rx_queue(rx_list_of(match, rx), rx);
}

bool rx_names(const struct rx *rx, uint64_t desc)
{
	const struct rx *posted = rx->parent ? rx->parent : rx;

	role_assert();
	return named_has(posted->named, posted->named_count, desc);
}

/* Which receive to take out of its queue. */
struct wish {
	bool (*fits)(const struct rx *rx, const struct wish *wish);
	const void *context;
	uint64_t desc;
};

static bool has_context(const struct rx *rx, const struct wish *wish)
{
	return rx->done.c.context == wish->context;
}

static bool has_desc(const struct rx *rx, const struct wish *wish)
{
	return !(rx->flags & POST_REACH) && rx_names(rx, wish->desc);
}

static bool is_any(const struct rx *rx, const struct wish *wish)
{
	(void)rx;
	(void)wish;
	return true;
}

static struct rx *cut_in(struct rx_list *list, const struct wish *wish)
{
	struct spot spot = { list, NULL, list->first };

	while (spot.rx && !wish->fits(spot.rx, wish)) {
		spot.before = spot.rx;
		spot.rx = spot.rx->next;
	}
	return spot_cut(&spot);
}

static struct rx *cut_one(struct rx_match *match, const struct wish *wish)
{
	struct rx *rx = cut_in(&match->posted, wish);

	if (!rx)
		rx = cut_in(&match->wild, wish);
	for (int i = 0; match->chains && i < TAG_CHAINS && !rx; i++)
		rx = cut_in(&match->chains[i].posted, wish);
	return rx;
}

struct rx *rx_match_cancel(struct rx_match *match, const void *context)
{
	role_assert();
	return cut_one(match, &(struct wish){ .fits = has_context, .context = context });
}

struct rx *rx_match_named(struct rx_match *match, uint64_t desc)
{
	role_assert();
	return cut_one(match, &(struct wish){ .fits = has_desc, .desc = desc });
}

void rx_shorten(struct rx *rx, uint64_t desc)
{
	uint64_t before = 0;

	role_assert();
	for (int i = 0; i < rx->named_count && before < rx->reach.bytes; before += rx->iov[i++].iov_len)
		if (rx->named[i] == desc)
			rx->reach = (struct reach){ .bytes = before, .beyond = REFUSAL_LOCAL_CLOSED };
}

void rx_match_shorten(struct rx_match *match, uint64_t desc)
{
	role_assert();
	for (struct rx *rx = match->posted.first; rx; rx = rx->next)
		if (rx->flags & POST_REACH)
			rx_shorten(rx, desc);
}

uint64_t rx_match_waiting(const struct rx_match *match)
{
	uint64_t count = 0;

	role_assert();
	for (const struct rx *rx = match->posted.first; rx; rx = rx->next)
		count++;
	return count;
}

struct rx *rx_match_any(struct rx_match *match)
{
	role_assert();
	return cut_one(match, &(struct wish){ .fits = is_any });
}

/* --- messages --- */

static void message_append(struct message_list *list, struct message *message, enum message_queue queue)
{
	message->link[queue] = (struct message_link){ NULL, list->last };
	if (list->last)
		list->last->link[queue].next = message;
	else
		list->first = message;
	list->last = message;
}

static void message_cut(struct message_list *list, struct message *message, enum message_queue queue)
{
	const struct message_link *link = &message->link[queue];

	if (link->prev)
		link->prev->link[queue].next = link->next;
	else
		list->first = link->next;
	if (link->next)
		link->next->link[queue].prev = link->prev;
	else
		list->last = link->prev;
}

/* `peek`: passes over messages that are still arriving. */
static struct message *message_find(const struct message_list *list, const struct rx *rx, enum message_queue queue, bool peek)
{
	struct message *message = list->first;

	while (message && (!rx_fits(rx, message) || (peek && message->arriving)))
		message = message->link[queue].next;
	return message;
}

static inline struct message *unexpected_for(struct rx_match *match, const struct rx *rx, bool peek)
{
	if (!(rx->flags & POST_TAGGED))
		return message_find(&match->unexpected, rx, BY_ARRIVAL, peek);
	if (rx->ignore)
		return message_find(&match->tagged, rx, BY_ARRIVAL, peek);
	return message_find(&chain_of(match->chains, rx->tag)->unexpected, rx, BY_TAG, peek);
}

struct message *rx_match_peek(struct rx_match *match, const struct rx *rx)
{
	role_assert();
	return unexpected_for(match, rx, true);
}

void rx_match_claim(struct rx_match *match, struct message *message, const void *context)
{
	role_assert();
	rx_match_drop(match, message);
	message->claim = context;
	message_append(&match->claimed, message, BY_ARRIVAL);
	match->envelopes++;
}

void rx_match_unclaim(struct rx_match *match, struct message *message)
{
	role_assert();
	message_cut(&match->claimed, message, BY_ARRIVAL);
	match->envelopes--;
}

struct message *rx_match_claimed(struct rx_match *match, const void *context)
{
	struct message *message = match->claimed.first;

	role_assert();
	while (message && message->claim != context)
		message = message->link[BY_ARRIVAL].next;
	if (message)
		rx_match_unclaim(match, message);
	return message;
}

void rx_match_keep(struct rx_match *match, struct message *message)
{
	role_assert();
	message->queued = true;
	message_append(message->tagged ? &match->tagged : &match->unexpected, message, BY_ARRIVAL);
	if (message->tagged)
		message_append(&chain_of(match->chains, message->tag)->unexpected, message, BY_TAG);
	match->envelopes++;
}

void rx_match_drop(struct rx_match *match, struct message *message)
{
	role_assert();
	if (!message->queued)
		return;
	message->queued = false;
	message_cut(message->tagged ? &match->tagged : &match->unexpected, message, BY_ARRIVAL);
	if (message->tagged)
		message_cut(&chain_of(match->chains, message->tag)->unexpected, message, BY_TAG);
	match->envelopes--;
}

struct message *rx_match_post(struct rx_match *match, struct rx *rx)
{
	struct message *message = unexpected_for(match, rx, false);

	role_assert();
	if (rx->order == 0)
		rx->order = ++match->posts;
	if (message)
		rx_match_drop(match, message);
	else
		rx_queue(rx_list_of(match, rx), rx);
	return message;
}

void rx_place(const struct rx *rx, struct place *place)
{
	role_assert();
	place_set(place, rx->iov, rx->iov_count);
}
