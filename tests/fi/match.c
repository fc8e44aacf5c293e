/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - FI_MATCH_COMPLETE of fi_tagged(3): a message that completes "only after the message has either been matched with
 * a tagged buffer or was discarded by the target application". */
#include "tests/fi/world.h"

#include <string.h>

#include <rdma/fi_tagged.h>

enum { LONG = 100000 };
static char from[LONG], into[LONG];

static void send_with(struct world *w, size_t length, uint64_t tag, uint64_t flags, void *context)
{
	struct iovec iov = { from, length };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = w->self, .tag = tag, .context = context, .data = 42 };

	RC(0, fi_tsendmsg(w->ep, &msg, flags));
}

static void find(struct world *w, uint64_t tag, uint64_t flags, void *context)
{
	struct fi_msg_tagged msg = { .addr = FI_ADDR_UNSPEC, .tag = tag, .context = context };

	RC(0, fi_trecvmsg(w->ep, &msg, flags));
}

static void quiet(struct world *w)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 100; i++)
		RC(-FI_EAGAIN, fi_cq_read(w->cq, &entry, 1));
}

/* The next completions are these two, in any order. */
static void both(struct world *w, const void *one, const void *other)
{
	struct fi_cq_tagged_entry entry;
	const void *first;

	RC(1, world_next(w, &entry));
	first = entry.op_context;
	cr_assert(first == one || first == other);
	RC(1, world_next(w, &entry));
	cr_assert_eq(entry.op_context, first == one ? other : one);
}

Test(fi_match, completes_when_it_is_received)
{
	static const size_t lengths[] = { 8, 0, 256, 65536, LONG };
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_TAGGED });
	for (int i = 0; i < 5; i++) {
		size_t length = lengths[i];

		memset(from, 'a' + i, sizeof(from));
		send_with(&w, length, 1, FI_MATCH_COMPLETE | FI_COMPLETION, from);
		quiet(&w);
		RC(0, fi_trecv(w.ep, into, LONG, NULL, FI_ADDR_UNSPEC, 2, 0, &w)); /* another tag */
		quiet(&w);
		RC(0, fi_trecv(w.ep, into, LONG, NULL, FI_ADDR_UNSPEC, 1, 0, into));
		both(&w, from, into);
		cr_expect(!memcmp(into, from, length));
		RC(0, fi_trecv(w.ep, into, LONG, NULL, FI_ADDR_UNSPEC, 1, 0, into)); /* expected */
		send_with(&w, length, 1, FI_MATCH_COMPLETE, from);
		both(&w, from, into);
		RC(0, fi_cancel(&w.ep->fid, &w));
		RC(1, fi_cq_readerr(w.cq, &(struct fi_cq_err_entry){ 0 }, 0));
	}
	world_close(&w);
}

/* Peeks until the message is there. */
static void find_arrived(struct world *w, uint64_t tag, uint64_t flags, void *context)
{
	struct fi_cq_tagged_entry entry;
	int got;

	do {
		find(w, tag, FI_PEEK | flags, context);
		got = world_next(w, &entry);
		if (got != 1)
			RC(1, fi_cq_readerr(w->cq, &(struct fi_cq_err_entry){ 0 }, 0));
	} while (got != 1);
}

/* Looked at, or set aside, is not matched. */
Test(fi_match, completes_when_it_is_discarded)
{
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_TAGGED });
	send_with(&w, 8, 1, FI_MATCH_COMPLETE, from);
	quiet(&w);
	find_arrived(&w, 1, 0, into);
	quiet(&w);
	find(&w, 1, FI_PEEK | FI_DISCARD, into);
	both(&w, from, into);
	send_with(&w, 8, 1, FI_MATCH_COMPLETE, from);
	quiet(&w);
	find_arrived(&w, 1, FI_CLAIM, into);
	quiet(&w);
	find(&w, 1, FI_CLAIM | FI_DISCARD, into);
	both(&w, from, into);
	world_close(&w);
}

/* The buffer is free at once, the data goes along, and what is sent behind it does not wait. */
Test(fi_match, goes_with_other_flags)
{
	struct fi_cq_tagged_entry entry;
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_TAGGED });
	memset(from, 'x', 8);
	send_with(&w, 8, 1, FI_MATCH_COMPLETE | FI_INJECT | FI_REMOTE_CQ_DATA, from);
	memset(from, 'y', 8);
	RC(0, fi_tsend(w.ep, from, 8, NULL, w.self, 1, &w));
	RC(1, world_next(&w, &entry));
	cr_assert_eq(entry.op_context, &w);
	quiet(&w);
	RC(0, fi_trecv(w.ep, into, 8, NULL, FI_ADDR_UNSPEC, 1, 0, into));
	both(&w, from, into);
	cr_expect(!memcmp(into, "xxxxxxxx", 8), "the one sent first");
	RC(0, fi_trecv(w.ep, into, 8, NULL, FI_ADDR_UNSPEC, 1, 0, into));
	RC(1, world_next(&w, &entry));
	cr_expect(!memcmp(into, "yyyyyyyy", 8));
	RC(0, fi_trecv(w.ep, into, 8, NULL, FI_ADDR_UNSPEC, 1, 0, into));
	send_with(&w, 8, 1, FI_MATCH_COMPLETE | FI_REMOTE_CQ_DATA | FI_FENCE, from);
	do
		RC(1, world_next(&w, &entry));
	while (entry.op_context != into);
	cr_expect(entry.flags & FI_REMOTE_CQ_DATA && entry.data == 42);
	world_close(&w);
}

/* Of messages without tags the page knows no such thing. */
Test(fi_match, is_for_tagged_messages)
{
	struct iovec iov = { from, 8 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_MSG | FI_TAGGED });
	msg.addr = w.self;
	RC(-FI_EBADFLAGS, fi_sendmsg(w.ep, &msg, FI_MATCH_COMPLETE));
	world_close(&w);
}
