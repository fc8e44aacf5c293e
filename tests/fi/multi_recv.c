/* SPDX-License-Identifier: BSD-2-Clause */
/* multi_recv.c - buffers that take many messages, of an endpoint that addresses itself. */
#include "tests/fi/world.h"

#include <string.h>

enum { SPACE = 200000 };
static char from[SPACE], into[SPACE];

static struct fi_cq_tagged_entry received(struct world *w)
{
	struct fi_cq_tagged_entry entry;

	do
		RC(1, world_next(w, &entry));
	while (entry.flags & FI_SEND);
	return entry;
}

static void expect_silence(struct world *w)
{
	struct fi_cq_tagged_entry entry;
	ssize_t got;

	for (int i = 0; i < 100; i++) {
		got = fi_cq_read(w->cq, &entry, 1);
		cr_assert(got == -FI_EAGAIN || (got == 1 && entry.flags & FI_SEND), "something came: %zd", got);
	}
}

static void post(struct world *w, void *at, size_t length, void *context)
{
	struct iovec iov = { at, length };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = context };

	RC(0, fi_recvmsg(w->ep, &msg, FI_MULTI_RECV | FI_COMPLETION));
}

static void open_world(struct world *w, size_t least)
{
	size_t size = 0, length = sizeof(size);

	world_open_disabled(w, &(struct want){ .caps = FI_MSG | FI_MULTI_RECV | FI_SOURCE });
	RC(0, fi_setopt(&w->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)));
	RC(0, fi_getopt(&w->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &size, &length));
	cr_assert(size == least && length == sizeof(size));
	world_enable(w);
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (char)(i * 7 + i / 251);
	memset(into, 0x5a, sizeof(into));
}

static void expect_released(struct world *w, void *context)
{
	struct fi_cq_tagged_entry entry = received(w);

	cr_expect(entry.flags == FI_MULTI_RECV && entry.op_context == context && entry.len == 0, "flags %#llx",
		  (unsigned long long)entry.flags);
}

/* One behind the other, whether they are expected or not, and whatever way they come. */
static void series(const size_t *lengths, int count, bool expected)
{
	size_t at = 0;
	struct world w;

	open_world(&w, 1000);
	if (expected)
		post(&w, into, SPACE, &w);
	for (int i = 0; i < count; i++)
		RC(0, fi_senddata(w.ep, from + i, lengths[i], NULL, (uint64_t)i, w.self, NULL));
	if (!expected)
		post(&w, into, SPACE, &w);
	for (int i = 0; i < count; i++) {
		struct fi_cq_tagged_entry entry = received(&w);
		size_t which = entry.data;

		cr_assert(entry.op_context == &w && entry.flags == (FI_MSG | FI_RECV | FI_REMOTE_CQ_DATA));
		cr_assert(which < (size_t)count && entry.len == lengths[which]);
		cr_assert((char *)entry.buf >= into && (char *)entry.buf + entry.len <= into + SPACE);
		cr_expect(!memcmp(entry.buf, from + which, entry.len), "message %zu", which);
		at += entry.len;
	}
	cr_expect(into[at] == 0x5a && fi_cntr_readerr(w.cntr) == 0);
	expect_silence(&w); /* it takes more */
	RC(0, fi_send(w.ep, from, SPACE - at - 999, NULL, w.self, NULL));
	cr_expect(received(&w).len == SPACE - at - 999);
	expect_released(&w, &w);
	world_close(&w);
}

Test(fi_multi_recv, takes_message_after_message)
{
	static const size_t lengths[] = { 100, 0, 1, 20000, 255, 90000, 7, 16384 };

	series(lengths, 8, true);
	series(lengths, 8, false);
}

/* FI_OPT_MIN_MULTI_RECV: released when less is left, not when just so much is. */
Test(fi_multi_recv, is_released_below_the_minimum)
{
	static const struct {
		size_t space, least;
		int fit;
	} rows[] = {
		{ 100, 20, 9 }, { 100, 21, 8 }, { 100, 10, 10 }, { 100, 0, 10 }, { 100, 1000, 1 }, { 10, 64, 1 },
	};
	struct world w;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_world(&w, rows[i].least);
		post(&w, into, rows[i].space, &into);
		post(&w, into + 1000, 1000, &w);
		for (int n = 0; n < rows[i].fit; n++) {
			struct fi_cq_tagged_entry entry;

			expect_silence(&w);
			RC(0, fi_inject(w.ep, from, 10, w.self));
			entry = received(&w);
			cr_expect(entry.op_context == &into && entry.buf == into + 10 * n, "row %zu, message %d", i, n);
		}
		expect_released(&w, &into);
		RC(0, fi_inject(w.ep, from, 10, w.self)); /* the next one */
		cr_expect(received(&w).op_context == &w);
		world_close(&w);
	}
}

/* A message too long for the rest of the buffer is cut short, and uses it up. */
Test(fi_multi_recv, a_message_too_long)
{
	static const size_t lengths[] = { 71, 30000 };
	struct fi_cq_tagged_entry entry;
	struct world w;
	ssize_t got;

	for (int i = 0; i < 2; i++) {
		struct fi_cq_err_entry error = { 0 };

		open_world(&w, 1);
		post(&w, into, 100, &w);
		RC(0, fi_inject(w.ep, from, 30, w.self));
		RC(0, fi_send(w.ep, from, lengths[i], NULL, w.self, NULL));
		cr_expect(received(&w).len == 30);
		while ((got = world_next(&w, &entry)) == 1)
			cr_assert(entry.flags & FI_SEND);
		RC(-FI_EAVAIL, got);
		RC(1, fi_cq_readerr(w.cq, &error, 0));
		cr_expect(error.err == FI_ETRUNC && error.len == 70 && error.olen == lengths[i] - 70 && error.op_context == &w);
		cr_expect(error.buf == into + 30 && !memcmp(into + 30, from, 70) && into[100] == 0x5a);
		expect_released(&w, &w);
		world_close(&w);
	}
}

/* The last completion comes whatever was asked, and after all others. */
Test(fi_multi_recv, is_released_where_completions_are_selected)
{
	struct iovec iov = { into, 100 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &msg };
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_MSG | FI_MULTI_RECV, .bind = FI_SELECTIVE_COMPLETION });
	RC(0, fi_recvmsg(w.ep, &msg, FI_MULTI_RECV));
	for (int i = 0; i < 4; i++)
		RC(0, fi_inject(w.ep, from, 10, w.self));
	expect_released(&w, &msg); /* 64 bytes are asked for by default */
	expect_silence(&w);
	world_close(&w);
}

Test(fi_multi_recv, is_cancelled)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	struct world w;

	open_world(&w, 64);
	post(&w, into, 1000, &into);
	RC(0, fi_inject(w.ep, from, 10, w.self));
	cr_expect(received(&w).op_context == &into);
	RC(0, fi_cancel(&w.ep->fid, &into));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_expect(error.err == FI_ECANCELED && error.op_context == &into);
	cr_expect_eq(error.flags, FI_RECV | FI_MSG | FI_MULTI_RECV, "fi_cq(3): the buffer is released");
	RC(0, fi_inject(w.ep, from, 10, w.self));
	expect_silence(&w);
	post(&w, into, 1000, &w); /* left with the endpoint */
	cr_expect(received(&w).op_context == &w);
	world_close(&w);
}

/* As a default of the endpoint it is asked of every receive without tags. */
Test(fi_multi_recv, by_default)
{
	struct want want = { .caps = FI_MSG | FI_MULTI_RECV };
	uint64_t flags = FI_RECV | FI_MULTI_RECV;
	struct fi_info *hints, *info;
	struct world w;

	world_open(&w, &want);
	RC(0, fi_control(&w.ep->fid, FI_SETOPSFLAG, &flags));
	RC(0, fi_recv(w.ep, into, 100, NULL, FI_ADDR_UNSPEC, &w));
	for (int i = 0; i < 4; i++) {
		RC(0, fi_inject(w.ep, from, 10, w.self));
		cr_expect(received(&w).buf == into + 10 * i);
	}
	expect_released(&w, &w);
	world_close(&w);
	hints = world_hints(&want);
	hints->rx_attr->op_flags = FI_MULTI_RECV;
	RC(0, world_getinfo(&want, hints, &info));
	cr_expect(info->rx_attr->op_flags == FI_MULTI_RECV && info->caps & FI_MULTI_RECV && info->rx_attr->caps & FI_MULTI_RECV);
	fi_freeinfo(info);
}

Test(fi_multi_recv, arguments)
{
	struct iovec iov[2] = { { into, 8 }, { into + 8, 8 } };
	struct fi_msg msg = { .msg_iov = iov, .iov_count = 2, .addr = FI_ADDR_UNSPEC };
	size_t size = 1;
	struct world w;

	open_world(&w, 64);
	RC(-FI_EINVAL, fi_recvmsg(w.ep, &msg, FI_MULTI_RECV));
	msg.iov_count = 0;
	RC(-FI_EINVAL, fi_recvmsg(w.ep, &msg, FI_MULTI_RECV));
	msg.iov_count = 1;
	iov[0].iov_len = 0;
	RC(-FI_EINVAL, fi_recvmsg(w.ep, &msg, FI_MULTI_RECV));
	iov[0] = (struct iovec){ NULL, 8 };
	RC(-FI_EINVAL, fi_recvmsg(w.ep, &msg, FI_MULTI_RECV));
	RC(-FI_EINVAL, fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &size, 4));
	RC(-FI_EINVAL, fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, NULL, sizeof(size)));
	RC(-FI_ENOPROTOOPT, fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &size, sizeof(size)));
	RC(-FI_ENOPROTOOPT, fi_setopt(&w.ep->fid, 1, FI_OPT_MIN_MULTI_RECV, &size, sizeof(size)));
	RC(0, fi_inject(w.ep, from, 10, w.self));
	expect_silence(&w); /* nothing was posted */
	world_close(&w);
	world_open(&w, &(struct want){ .caps = FI_MSG });
	iov[0] = (struct iovec){ into, 8 };
	RC(-FI_EBADFLAGS, fi_recvmsg(w.ep, &msg, FI_MULTI_RECV));
	RC(-FI_ENOPROTOOPT, fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &size, sizeof(size)));
	world_close(&w);
}
