/* SPDX-License-Identifier: BSD-2-Clause */
/* tagged.c - tagged messages of an endpoint that addresses itself: every call, what matches what, and how it is told. */
#include "tests/fi/world.h"

#include <rdma/fi_tagged.h>
#include <string.h>
#include <sys/socket.h>

enum { LEN = 24 };
static const uint64_t DATA = 0x8877665544332211;

static char from[4096], into[4096];

/* The next completion of a receive; those of sends are passed over. */
static struct fi_cq_tagged_entry received(struct world *w)
{
	struct fi_cq_tagged_entry entry;

	do
		RC(1, world_next(w, &entry));
	while (!(entry.flags & FI_RECV));
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

/* --- every call --- */

static void send_by(struct world *w, int call, uint64_t tag)
{
	struct iovec iov[2] = { { from, LEN / 2 }, { from + LEN / 2, LEN / 2 } };
	struct fi_msg_tagged msg = {
		.msg_iov = iov, .iov_count = 2, .addr = w->self, .tag = tag, .data = DATA, .ignore = UINT64_MAX
	};

	switch (call) {
	case 0:
		RC(0, fi_tsend(w->ep, from, LEN, NULL, w->self, tag, NULL));
		break;
	case 1:
		RC(0, fi_tsendv(w->ep, iov, NULL, 2, w->self, tag, NULL));
		break;
	case 2:
		RC(0, fi_tsendmsg(w->ep, &msg, FI_MORE));
		break;
	case 3:
		RC(0, fi_tinject(w->ep, from, LEN, w->self, tag));
		break;
	case 4:
		RC(0, fi_tsenddata(w->ep, from, LEN, NULL, DATA, w->self, tag, NULL));
		break;
	case 5:
		RC(0, fi_tinjectdata(w->ep, from, LEN, DATA, w->self, tag));
		break;
	default:
		RC(0, fi_tsendmsg(w->ep, &msg, FI_REMOTE_CQ_DATA | FI_INJECT | FI_FENCE | FI_DELIVERY_COMPLETE));
	}
}

static void receive_by(struct world *w, int call, uint64_t tag, uint64_t ignore, void *context)
{
	struct iovec iov[2] = { { into, 1 }, { into + 1, LEN } };
	struct fi_msg_tagged msg = {
		.msg_iov = iov, .iov_count = 2, .addr = FI_ADDR_UNSPEC, .tag = tag, .ignore = ignore, .context = context
	};

	if (call == 0)
		RC(0, fi_trecv(w->ep, into, LEN + 1, NULL, FI_ADDR_UNSPEC, tag, ignore, context));
	else if (call == 1)
		RC(0, fi_trecvv(w->ep, iov, NULL, 2, FI_ADDR_UNSPEC, tag, ignore, context));
	else
		RC(0, fi_trecvmsg(w->ep, &msg, FI_COMPLETION | FI_MORE));
}

Test(fi_tagged, every_call_moves_its_message)
{
	static const uint64_t tags[] = { 0, 1, 1ull << 63, UINT64_MAX, 0x123456789abcdef0 };
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_TAGGED | FI_SOURCE });
	for (int i = 0; i < 2 * 3 * 7; i++) {
		bool expected = i & 1;
		uint64_t tag = tags[i % 5];
		struct fi_cq_tagged_entry entry;

		memset(from, 'a' + i % 26, LEN);
		memset(into, 0, sizeof(into));
		if (expected)
			receive_by(&w, i / 2 % 3, tag, 0, &tag);
		send_by(&w, i / 6, tag);
		if (!expected)
			receive_by(&w, i / 2 % 3, tag, 0, &tag);
		entry = received(&w);
		cr_expect(entry.op_context == &tag && entry.len == LEN && entry.tag == tag);
		cr_expect(entry.flags == (FI_TAGGED | FI_RECV | (i / 6 > 3 ? FI_REMOTE_CQ_DATA : 0)), "call %d: flags %#llx", i / 6,
			  (unsigned long long)entry.flags);
		cr_expect(entry.data == (i / 6 > 3 ? DATA : 0) && !memcmp(into, from, LEN) && !into[LEN]);
	}
	cr_expect(fi_cntr_readerr(w.cntr) == 0);
	world_close(&w);
}

Test(fi_tagged, completions_of_sends)
{
	struct fi_cq_tagged_entry entry;
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_TAGGED });
	RC(0, fi_tsend(w.ep, from, 8, NULL, w.self, 5, &w));
	RC(1, world_next(&w, &entry));
	cr_expect(entry.op_context == &w && entry.flags == (FI_TAGGED | FI_SEND));
	world_close(&w);
}

/* --- what matches what: fi_tagged(3) --- */

Test(fi_tagged, bits_are_ignored_that_the_receive_names)
{
	static const struct {
		uint64_t sent, asked, ignore;
		bool match;
	} rows[] = {
		{ 5, 5, 0, true },
		{ 5, 4, 0, false },
		{ 5, 4, 1, true },
		{ 5, 4, 2, false },
		{ 5, 5 | 1ull << 63, 0, false },
		{ 5, 5 | 1ull << 63, 1ull << 63, true },
		{ 0, UINT64_MAX, UINT64_MAX, true },
		{ 0xff00000000000001, 1, 0xffull << 56, true },
		{ 0xff00000000000002, 1, 0xffull << 56, false },
	};
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_TAGGED });
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		size_t row = i / 2;

		if (i & 1)
			receive_by(&w, 0, rows[row].asked, rows[row].ignore, &w);
		RC(0, fi_tinject(w.ep, from, LEN, w.self, rows[row].sent));
		if (!(i & 1))
			receive_by(&w, 0, rows[row].asked, rows[row].ignore, &w);
		if (rows[row].match) {
			cr_expect(received(&w).tag == rows[row].sent, "row %zu", row);
			continue;
		}
		expect_silence(&w);
		receive_by(&w, 0, rows[row].sent, 0, &w); /* takes the message */
		cr_expect(received(&w).tag == rows[row].sent, "row %zu", row);
		RC(0, fi_tinject(w.ep, from, LEN, w.self, rows[row].asked)); /* and this what was posted first */
		cr_expect(received(&w).tag == rows[row].asked, "row %zu", row);
	}
	world_close(&w);
}

/* Whether tags are asked for whole or in part: of receives that fit, the one posted first. */
Test(fi_tagged, receives_take_in_the_order_posted)
{
	static const uint64_t ignore[] = { 0, UINT64_MAX, 0, 0xf, 0, 1 };
	int context[6];
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_TAGGED });
	for (int i = 0; i < 6; i++)
		receive_by(&w, 0, 7, ignore[i], &context[i]);
	RC(0, fi_tinject(w.ep, from, 1, w.self, 99)); /* the first that ignores enough */
	cr_expect(received(&w).op_context == &context[1]);
	RC(0, fi_tinject(w.ep, from, 1, w.self, 8));
	cr_expect(received(&w).op_context == &context[3]);
	for (int i = 0; i < 6; i++) {
		if (i == 1 || i == 3)
			continue;
		RC(0, fi_tinject(w.ep, from, 1, w.self, 7));
		cr_expect(received(&w).op_context == &context[i], "receive %d", i);
	}
	world_close(&w);
}

/* FI_ORDER_SAS: of messages that fit, the one sent first. */
Test(fi_tagged, messages_are_taken_in_the_order_sent)
{
	static const uint64_t tags[] = { 7, 8, 7, 9, 7, 8 };
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_TAGGED | FI_MSG });
	for (size_t i = 0; i < 6; i++) {
		from[0] = (char)('0' + i);
		RC(0, fi_tinject(w.ep, from, 1, w.self, tags[i]));
	}
	receive_by(&w, 0, 8, 0, &w);
	cr_expect(received(&w).tag == 8 && into[0] == '1');
	receive_by(&w, 0, 0, UINT64_MAX, &w);
	cr_expect(received(&w).tag == 7 && into[0] == '0');
	receive_by(&w, 0, 8, 1, &w); /* 8 and 9 */
	cr_expect(received(&w).tag == 9 && into[0] == '3');
	for (int i = 0; i < 3; i++) {
		receive_by(&w, 0, 0, UINT64_MAX, &w);
		received(&w);
		cr_expect(into[0] == "245"[i]);
	}
	world_close(&w);
}

Test(fi_tagged, with_tags_and_without_are_two_worlds)
{
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_TAGGED | FI_MSG });
	RC(0, fi_tinject(w.ep, from, 8, w.self, 0));
	RC(0, fi_recv(w.ep, into, LEN, NULL, FI_ADDR_UNSPEC, &into));
	expect_silence(&w);
	RC(0, fi_inject(w.ep, from, 9, w.self));
	cr_expect(received(&w).op_context == &into);
	RC(0, fi_inject(w.ep, from, 10, w.self));
	receive_by(&w, 0, 0, UINT64_MAX, &w);
	cr_expect(received(&w).len == 8);
	receive_by(&w, 0, 0, UINT64_MAX, &w);
	expect_silence(&w);
	RC(0, fi_cancel(&w.ep->fid, &w));
	world_close(&w);
}

/* FI_DIRECTED_RECV: the address counts only with it. */
Test(fi_tagged, receives_for_one_source)
{
	struct sockaddr_storage stranger = { 0 };
	fi_addr_t other;
	size_t length = sizeof(stranger);
	struct world w;

	for (int directed = 0; directed < 2; directed++) {
		world_open(&w, &(struct want){ .caps = FI_TAGGED | (directed ? FI_DIRECTED_RECV : 0) });
		RC(0, fi_getname(&w.ep->fid, &stranger, &length));
		((uint8_t *)&stranger)[3] ^= 1; /* another port */
		RC(1, fi_av_insert(w.av, &stranger, 1, &other, 0, NULL));
		RC(0, fi_trecv(w.ep, into, LEN, NULL, other, 3, 0, &other));
		RC(0, fi_trecv(w.ep, into, LEN, NULL, w.self, 3, 0, &w));
		RC(0, fi_tinject(w.ep, from, LEN, w.self, 3));
		cr_expect(received(&w).op_context == (directed ? (void *)&w : (void *)&other));
		world_close(&w);
	}
}

/* --- errors --- */

static struct fi_cq_err_entry failed(struct world *w)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t got;

	while ((got = world_next(w, &entry)) == 1)
		cr_assert(entry.flags & FI_SEND, "a receive succeeded");
	RC(-FI_EAVAIL, got);
	RC(1, fi_cq_readerr(w->cq, &error, 0));
	return error;
}

/* The bytes that fit are placed, and the entry says how many did not. */
Test(fi_tagged, too_long_for_its_receive)
{
	static const size_t lengths[] = { 11, 300, 4096 };
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_TAGGED });
	for (size_t i = 0; i < 6; i++) {
		size_t length = lengths[i / 2];
		struct fi_cq_err_entry error;

		memset(from, 'x', length);
		memset(into, 0, sizeof(into));
		if (i & 1)
			RC(0, fi_trecv(w.ep, into, 10, NULL, FI_ADDR_UNSPEC, 4, 0, &w));
		RC(0, fi_tsend(w.ep, from, length, NULL, w.self, 4, NULL));
		if (!(i & 1))
			RC(0, fi_trecv(w.ep, into, 10, NULL, FI_ADDR_UNSPEC, 4, 0, &w));
		error = failed(&w);
		cr_expect(error.err == FI_ETRUNC && error.op_context == &w && error.tag == 4);
		cr_expect(error.len == 10 && error.olen == length - 10, "%zu, %zu too much", error.len, error.olen);
		cr_expect(error.flags == (FI_TAGGED | FI_RECV) && !memcmp(into, from, 10) && !into[10]);
	}
	world_close(&w);
}

Test(fi_tagged, receives_are_cancelled_by_their_context)
{
	static const uint64_t ignore[] = { 0, 3, UINT64_MAX };
	struct fi_cq_err_entry error;
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_TAGGED });
	for (size_t i = 0; i < 3; i++) {
		receive_by(&w, 0, 100 + i, ignore[i], (void *)&ignore[i]);
		receive_by(&w, 0, 200 + i, ignore[i], &w);
		RC(-FI_ENOENT, fi_cancel(&w.ep->fid, &error));
		RC(0, fi_cancel(&w.ep->fid, (void *)&ignore[i]));
		RC(-FI_ENOENT, fi_cancel(&w.ep->fid, (void *)&ignore[i]));
		error = failed(&w);
		cr_expect(error.err == FI_ECANCELED && error.op_context == &ignore[i] && error.flags == (FI_TAGGED | FI_RECV));
		RC(0, fi_tinject(w.ep, from, 1, w.self, 200 + i));
		cr_expect(received(&w).op_context == &w);
	}
	world_close(&w);
}

Test(fi_tagged, arguments)
{
	struct iovec iov[9] = { { from, 8 } };
	struct fi_msg_tagged msg = { .msg_iov = iov, .iov_count = 1 };
	struct world w;

	world_open_disabled(&w, &(struct want){ .caps = FI_TAGGED });
	RC(-FI_EOPBADSTATE, fi_tsend(w.ep, from, 8, NULL, 0, 1, NULL));
	RC(-FI_EOPBADSTATE, fi_trecv(w.ep, into, 8, NULL, 0, 1, 0, NULL));
	RC(-FI_EOPBADSTATE, fi_tinject(w.ep, from, 8, 0, 1));
	world_enable(&w);
	msg.addr = w.self;
	RC(-FI_EINVAL, fi_tsend(w.ep, NULL, 8, NULL, w.self, 1, NULL));
	RC(-FI_EINVAL, fi_tsend(w.ep, from, 8, NULL, FI_ADDR_UNSPEC, 1, NULL));
	RC(-FI_EINVAL, fi_tinject(w.ep, from, 8, FI_ADDR_UNSPEC, 1));
	RC(-FI_EMSGSIZE, fi_tsend(w.ep, from, SIZE_MAX, NULL, w.self, 1, NULL));
	RC(-FI_EMSGSIZE, fi_tinject(w.ep, from, w.info->tx_attr->inject_size + 1, w.self, 1));
	RC(-FI_EMSGSIZE, fi_tinjectdata(w.ep, from, w.info->tx_attr->inject_size + 1, 1, w.self, 1));
	RC(-FI_EINVAL, fi_tsendv(w.ep, iov, NULL, 9, w.self, 1, NULL));
	RC(-FI_EINVAL, fi_tsendv(w.ep, NULL, NULL, 1, w.self, 1, NULL));
	RC(-FI_EINVAL, fi_tsendmsg(w.ep, NULL, 0));
	RC(-FI_EBADFLAGS, fi_tsendmsg(w.ep, &msg, FI_PEEK));
	RC(-FI_EBADFLAGS, fi_tsendmsg(w.ep, &msg, FI_COMMIT_COMPLETE));
	RC(-FI_EBADFLAGS, fi_tsendmsg(w.ep, &msg, 1ull << 63));
	RC(-FI_EINVAL, fi_trecvv(w.ep, iov, NULL, 9, FI_ADDR_UNSPEC, 1, 0, NULL));
	RC(-FI_EINVAL, fi_trecvv(w.ep, NULL, NULL, 1, FI_ADDR_UNSPEC, 1, 0, NULL));
	RC(-FI_EINVAL, fi_trecvmsg(w.ep, NULL, 0));
	RC(-FI_EBADFLAGS, fi_trecvmsg(w.ep, &msg, FI_MULTI_RECV));
	RC(-FI_EBADFLAGS, fi_trecvmsg(w.ep, &msg, FI_INJECT));
	receive_by(&w, 0, 0, UINT64_MAX, &w);
	expect_silence(&w); /* none of them was posted */
	RC(0, fi_tsend(w.ep, NULL, 0, NULL, w.self, 77, NULL));
	cr_expect(received(&w).tag == 77);
	world_close(&w);
}

/* --- capabilities --- */

Test(fi_tagged, capabilities_not_opened_are_refused)
{
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_MSG });
	RC(-FI_EOPNOTSUPP, fi_tsend(w.ep, from, 8, NULL, w.self, 1, NULL));
	RC(-FI_EOPNOTSUPP, fi_trecv(w.ep, into, 8, NULL, w.self, 1, 0, NULL));
	RC(-FI_EOPNOTSUPP, fi_tinject(w.ep, from, 8, w.self, 1));
	world_close(&w);
	world_open(&w, &(struct want){ .caps = FI_TAGGED | FI_SEND });
	RC(-FI_EOPNOTSUPP, fi_send(w.ep, from, 8, NULL, w.self, NULL));
	RC(-FI_EOPNOTSUPP, fi_trecv(w.ep, into, 8, NULL, w.self, 1, 0, NULL));
	RC(0, fi_tsend(w.ep, from, 8, NULL, w.self, 1, &w)); /* which cannot receive it */
	cr_expect(failed(&w).err == FI_EACCES);
	world_close(&w);
	world_open(&w, &(struct want){ .caps = FI_TAGGED | FI_RECV });
	RC(-FI_EOPNOTSUPP, fi_tsend(w.ep, from, 8, NULL, w.self, 1, NULL));
	RC(0, fi_trecv(w.ep, into, 8, NULL, w.self, 1, 0, NULL));
	world_close(&w);
}

Test(fi_tagged, a_tag_format_is_granted_as_asked)
{
	static const uint64_t asked[] = { 0, 1, 0xff, 0x30ff, UINT64_MAX, 0xaaaaaaaaaaaaaaaa };
	struct want want = { .caps = FI_TAGGED };

	world_need_emu();
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct fi_info *hints = world_hints(&want), *info;

		hints->ep_attr->mem_tag_format = asked[i];
		RC(0, world_getinfo(&want, hints, &info));
		cr_expect(info->ep_attr->mem_tag_format == (asked[i] ? asked[i] : 0xaaaaaaaaaaaaaaaa));
		cr_expect(info->caps & FI_TAGGED && !(info->caps & FI_MSG) && info->caps & FI_SEND && info->caps & FI_RECV);
		cr_expect(info->tx_attr->caps & FI_TAGGED && info->rx_attr->caps & FI_TAGGED);
		fi_freeinfo(info);
	}
}
