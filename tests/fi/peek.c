/* SPDX-License-Identifier: BSD-2-Clause */
/* peek.c - FI_PEEK, FI_CLAIM and FI_DISCARD of an endpoint that addresses itself. */
#include "tests/fi/world.h"

#include <rdma/fi_tagged.h>
#include <string.h>

/* Sent with its payload; and by rendezvous, so that the payload is asked for, or is not. */
static const size_t lengths[] = { 0, 40, 100000 };
enum { LENGTHS = 3, LONG = 100000 };
static const uint64_t DATA = 0x8877665544332211;

static char from[LONG], into[LONG];
static struct fi_context2 mine, others;

/* How a call ended; what becomes of sends is left aside, but counted. */
struct ended {
	struct fi_cq_tagged_entry entry;
	fi_addr_t source;
	int err;
	size_t olen;
};
static int sends;

static struct ended next(struct world *w)
{
	struct ended ended = { .err = 0 };
	struct fi_cq_err_entry error = { 0 };
	ssize_t got;

	for (;;) {
		got = fi_cq_readfrom(w->cq, &ended.entry, 1, &ended.source);
		if (got == 1 && ended.entry.flags & FI_RECV)
			return ended;
		sends += got == 1;
		if (got != -FI_EAVAIL)
			continue;
		RC(1, fi_cq_readerr(w->cq, &error, 0));
		ended.entry.op_context = error.op_context;
		ended.err = error.err;
		ended.olen = error.olen;
		return ended;
	}
}

static struct ended ask(struct world *w, uint64_t flags, uint64_t tag, uint64_t ignore, void *context)
{
	struct fi_msg_tagged msg = { .addr = FI_ADDR_UNSPEC, .tag = tag, .ignore = ignore, .context = context };
	struct ended ended;

	RC(0, fi_trecvmsg(w->ep, &msg, flags));
	ended = next(w);
	cr_assert(ended.entry.op_context == context);
	return ended;
}

/* Until the message is there. */
static struct ended find(struct world *w, uint64_t flags, uint64_t tag)
{
	struct ended ended;

	do
		ended = ask(w, FI_PEEK | flags, tag, 0, &mine);
	while (ended.err == FI_ENOMSG);
	cr_assert(!ended.err);
	return ended;
}

static void expect_none(struct world *w, uint64_t flags, uint64_t tag, uint64_t ignore, void *context)
{
	cr_expect(ask(w, flags, tag, ignore, context).err == FI_ENOMSG);
}

static void receive(struct world *w, uint64_t tag, size_t length)
{
	struct ended ended;

	memset(into, 0, sizeof(into));
	RC(0, fi_trecv(w->ep, into, LONG, NULL, FI_ADDR_UNSPEC, tag, 0, &others));
	ended = next(w);
	cr_expect(!ended.err && ended.entry.op_context == &others && ended.entry.len == length && ended.entry.tag == tag);
	cr_expect(!memcmp(into, from, length));
}

static void open_world(struct world *w)
{
	memset(from, 'x', sizeof(from));
	sends = 0;
	world_open(w, &(struct want){ .caps = FI_TAGGED | FI_SOURCE });
}

/* A peek tells what a receive would, and takes nothing. */
Test(fi_peek, tells_of_a_message_and_leaves_it)
{
	struct world w;

	open_world(&w);
	expect_none(&w, FI_PEEK, 5, 0, &mine);
	expect_none(&w, FI_PEEK, 5, UINT64_MAX, &mine);
	cr_expect(fi_cntr_read(w.cntr) == 0 && fi_cntr_readerr(w.cntr) == 0); /* nothing was received, and nothing failed */
	for (size_t i = 0; i < LENGTHS; i++) {
		RC(0, fi_tsenddata(w.ep, from, lengths[i], NULL, DATA, w.self, 5, NULL));
		for (int times = 0; times < 2; times++) {
			struct ended ended = find(&w, 0, 5);

			cr_expect(ended.entry.len == lengths[i] && ended.entry.tag == 5 && ended.entry.data == DATA);
			cr_expect(ended.entry.flags == (FI_TAGGED | FI_RECV | FI_REMOTE_CQ_DATA) && ended.source == w.self);
		}
		expect_none(&w, FI_PEEK, 4, 0, &mine);
		cr_expect(!ask(&w, FI_PEEK, 4, 1, &mine).err);
		receive(&w, 5, lengths[i]);
		expect_none(&w, FI_PEEK, 5, 0, &mine);
	}
	world_close(&w);
}

/* Nothing goes into the buffer for explanations, since there is nothing to explain. */
Test(fi_peek, finding_none_has_no_data)
{
	char data[8] = "as was";
	struct fi_cq_err_entry error = { .err_data = data, .err_data_size = sizeof(data) };
	struct fi_msg_tagged msg = { .addr = FI_ADDR_UNSPEC, .tag = 5, .context = &mine };
	struct world w;

	open_world(&w);
	RC(0, fi_trecvmsg(w.ep, &msg, FI_PEEK));
	while (fi_cq_read(w.cq, NULL, 0) == -FI_EAGAIN)
		;
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_expect(error.err == FI_ENOMSG && error.err_data_size == 0);
	cr_expect(error.err_data == data && !strcmp(data, "as was"));
	cr_expect(strstr(fi_cq_strerror(w.cq, error.prov_errno, error.err_data, NULL, 0), "none that fits"),
		  "what was in the program's buffer is no sentence about this");
	world_close(&w);
}

Test(fi_peek, finds_the_oldest_that_fits)
{
	struct world w;

	open_world(&w);
	for (uint64_t tag = 1; tag < 5; tag++)
		RC(0, fi_tinject(w.ep, from, tag, w.self, tag));
	RC(0, fi_tinject(w.ep, from, 9, w.self, 3));
	find(&w, 0, 4);
	cr_expect(ask(&w, FI_PEEK, 0, UINT64_MAX, &mine).entry.tag == 1);
	cr_expect(ask(&w, FI_PEEK, 2, 1, &mine).entry.tag == 2);
	cr_expect(ask(&w, FI_PEEK, 3, 0, &mine).entry.len == 3);
	world_close(&w);
}

/* The sender has sent it: its op completes. */
Test(fi_peek, discarded_messages_are_gone)
{
	struct world w;

	open_world(&w);
	for (size_t i = 0; i < LENGTHS; i++) {
		struct ended ended;

		RC(0, fi_tsend(w.ep, from, lengths[i], NULL, w.self, 5, NULL));
		RC(0, fi_tsend(w.ep, from, 1, NULL, w.self, 5, NULL));
		ended = find(&w, FI_DISCARD, 5);
		cr_expect(ended.entry.len == lengths[i] && ended.entry.tag == 5);
		receive(&w, 5, 1);
		expect_none(&w, FI_PEEK | FI_DISCARD, 5, 0, &mine);
	}
	while (sends < 2 * LENGTHS)
		expect_none(&w, FI_PEEK, 5, 0, &mine);
	world_close(&w);
}

/* A message that was claimed is for the same context alone, in the order claimed. */
Test(fi_peek, claimed_messages_wait_for_their_context)
{
	struct fi_msg_tagged msg = {
		.msg_iov = &(struct iovec){ into, LONG }, .iov_count = 1, .context = &mine, .addr = FI_ADDR_UNSPEC, .tag = 99
	};
	struct world w;

	open_world(&w);
	for (size_t i = 0; i < LENGTHS; i++) {
		struct ended ended;

		RC(0, fi_tsend(w.ep, from, lengths[i], NULL, w.self, 5, NULL));
		cr_expect(find(&w, FI_CLAIM, 5).entry.len == lengths[i]);
		expect_none(&w, FI_PEEK, 5, 0, &others);
		expect_none(&w, FI_CLAIM | FI_DISCARD, 5, 0, &others);
		RC(0, fi_tsend(w.ep, from, 3, NULL, w.self, 5, NULL));
		receive(&w, 5, 3);
		memset(into, 0, sizeof(into));
		RC(0, fi_trecvmsg(w.ep, &msg, FI_CLAIM)); /* the tag counts no more */
		ended = next(&w);
		cr_expect(!ended.err && ended.entry.op_context == &mine && ended.entry.len == lengths[i]);
		cr_expect(ended.entry.tag == 5 && !memcmp(into, from, lengths[i]));
		RC(0, fi_trecvmsg(w.ep, &msg, FI_CLAIM));
		cr_expect(next(&w).err == FI_ENOMSG);
	}
	world_close(&w);
}

Test(fi_peek, claimed_messages_are_discarded_or_cut_short)
{
	struct fi_msg_tagged msg = {
		.msg_iov = &(struct iovec){ into, 30 }, .iov_count = 1, .context = &mine, .addr = FI_ADDR_UNSPEC
	};
	struct world w;

	open_world(&w);
	for (size_t i = 1; i < LENGTHS; i++) {
		struct ended ended;

		for (int n = 0; n < 2; n++) {
			RC(0, fi_tsend(w.ep, from, lengths[i] - (size_t)n, NULL, w.self, 5, NULL));
			find(&w, FI_CLAIM, 5);
		}
		ended = ask(&w, FI_CLAIM | FI_DISCARD, 0, 0, &mine);
		cr_expect(!ended.err && ended.entry.len == lengths[i]);
		memset(into, 0, sizeof(into));
		RC(0, fi_trecvmsg(w.ep, &msg, FI_CLAIM));
		ended = next(&w);
		cr_expect(ended.err == FI_ETRUNC && ended.olen == lengths[i] - 31 && into[29] && !into[30]);
	}
	while (sends < 4)
		expect_none(&w, FI_PEEK, 5, 0, &mine);
	world_close(&w);
}

/* A message that is claimed and never fetched goes with the endpoint. */
Test(fi_peek, claimed_messages_end_with_the_endpoint)
{
	struct world w;

	open_world(&w);
	for (size_t i = 0; i < LENGTHS; i++) {
		RC(0, fi_tsend(w.ep, from, lengths[i], NULL, w.self, i, NULL));
		find(&w, FI_CLAIM, i);
	}
	world_close(&w);
}

/* The answer is what was asked for: it comes without FI_COMPLETION, too. */
Test(fi_peek, answers_come_where_completions_are_selected)
{
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_TAGGED, .bind = FI_SELECTIVE_COMPLETION });
	expect_none(&w, FI_PEEK, 5, 0, &mine);
	RC(0, fi_tinject(w.ep, from, 8, w.self, 5));
	cr_expect(find(&w, 0, 5).entry.len == 8);
	cr_expect(find(&w, FI_DISCARD, 5).entry.len == 8);
	world_close(&w);
}

Test(fi_peek, arguments)
{
	struct iovec iov = { NULL, 8 };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 5, .context = &mine };
	struct world w;

	open_world(&w);
	RC(-FI_EBADFLAGS, fi_trecvmsg(w.ep, &msg, FI_DISCARD));
	RC(-FI_EBADFLAGS, fi_trecvmsg(w.ep, &msg, FI_PEEK | FI_CLAIM | FI_DISCARD));
	RC(-FI_EBADFLAGS, fi_tsendmsg(w.ep, &msg, FI_CLAIM));
	RC(-FI_EINVAL, fi_trecvmsg(w.ep, &msg, FI_CLAIM)); /* a buffer at 0 */
	RC(0, fi_trecvmsg(w.ep, &msg, FI_PEEK));           /* which does not look at it */
	cr_expect(next(&w).err == FI_ENOMSG);
	msg.context = NULL;
	RC(-FI_EINVAL, fi_trecvmsg(w.ep, &msg, FI_PEEK | FI_CLAIM));
	RC(-FI_EINVAL, fi_trecvmsg(w.ep, &msg, FI_CLAIM | FI_DISCARD));
	world_close(&w);
	world_open(&w, &(struct want){ .caps = FI_TAGGED | FI_SEND });
	RC(-FI_EOPNOTSUPP, fi_trecvmsg(w.ep, &msg, FI_PEEK));
	world_close(&w);
}
