/* SPDX-License-Identifier: BSD-2-Clause */
/* tagged_rma.c - EMU_FI_TAGGED_RMA: writes and reads that name a posted tagged receive by its tag, in place of a region. */
#include "tests/fi/world.h"

#include <rdma/fi_tagged.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/provider/fi_kernel.h"

enum { TAG = 0x77, LEN = 64, LONG = 300000 };
static const uint64_t DATA = 0x8877665544332211;

static uint8_t near[LONG], far[LONG];

#define CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_SOURCE | FI_DIRECTED_RECV)

static void open_kernel(struct world *w, const char *personality)
{
	setenv("FI_EMU_PERSONALITY", personality, 1);
	world_open(w, &(struct want){ .caps = CAPS | EMU_FI_TAGGED_RMA });
	for (int i = 0; i < LONG; i++) {
		near[i] = (uint8_t)(i * 7);
		far[i] = (uint8_t)(i * 11);
	}
}

static void post(struct world *w, size_t length, uint64_t tag, uint64_t ignore, void *context)
{
	RC(0, fi_trecv(w->ep, far, length, NULL, FI_ADDR_UNSPEC, tag, ignore, context));
}

static ssize_t access_by(struct world *w, uint64_t kind, size_t length, uint64_t addr, uint64_t tag, uint64_t flags)
{
	struct iovec iov = { near, length };
	struct fi_rma_iov remote = { addr, length, tag };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .addr = w->self,
				  .rma_iov = &remote,
				  .rma_iov_count = 1,
				  .context = near,
				  .data = DATA };

	return kind == FI_WRITE ? fi_writemsg(w->ep, &msg, flags) : fi_readmsg(w->ep, &msg, flags);
}

struct ends {
	struct fi_cq_tagged_entry here, there; /* of the access, of the receive */
};

static struct ends both(struct world *w)
{
	struct fi_cq_tagged_entry entry;
	struct ends ends = { 0 };

	for (int i = 0; i < 2; i++) {
		RC(1, world_next(w, &entry));
		*(entry.flags & FI_RECV ? &ends.there : &ends.here) = entry;
	}
	return ends;
}

static void expect_ends(const struct ends *ends, uint64_t kind, size_t length)
{
	cr_expect_eq(ends->here.flags, FI_TAGGED | FI_RMA | kind, "%#llx", (unsigned long long)ends->here.flags);
	cr_expect_eq(ends->here.op_context, near);
	cr_expect_eq(ends->there.flags & ~FI_REMOTE_CQ_DATA,
		     FI_TAGGED | FI_RMA | FI_RECV | (kind == FI_WRITE ? FI_REMOTE_WRITE : FI_REMOTE_READ), "%#llx",
		     (unsigned long long)ends->there.flags);
	cr_expect_eq(ends->there.op_context, far);
	cr_expect_eq(ends->there.len, length);
	cr_expect_eq(ends->there.tag, TAG);
}

static void play(struct world *w, uint64_t kind, size_t length, uint64_t addr)
{
	struct ends ends;

	post(w, LONG, TAG, 0, far);
	RC(0, access_by(w, kind, length, addr, TAG, FI_TAGGED | FI_COMPLETION));
	ends = both(w);
	expect_ends(&ends, kind, length);
	cr_expect(!memcmp(near, far + addr, length));
}

Test(fi_tagged_rma, writes_and_reads_of_any_length)
{
	static const size_t lengths[] = { 0, 1, LEN, 65536, 65537, LONG - 8 };
	struct world w;

	open_kernel(&w, "kfi");
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		play(&w, FI_WRITE, lengths[i], 8);
		memset(near, (int)i, sizeof(near));
		play(&w, FI_READ, lengths[i], 8);
	}
	world_close(&w);
}

Test(fi_tagged_rma, data_comes_with_the_receive)
{
	struct ends ends;
	struct world w;

	open_kernel(&w, "kcxi");
	post(&w, LEN, 0, UINT64_MAX, far); /* any tag */
	RC(0, access_by(&w, FI_WRITE, LEN, 0, TAG, FI_TAGGED | FI_REMOTE_CQ_DATA));
	ends = both(&w);
	expect_ends(&ends, FI_WRITE, LEN);
	cr_expect(ends.there.flags & FI_REMOTE_CQ_DATA && ends.there.data == DATA);
	world_close(&w);
}

/* Until a receive is posted its peer is told RNR; here it comes later. */
Test(fi_tagged_rma, waits_for_its_receive)
{
	struct ends ends;
	struct world w;

	open_kernel(&w, "kfi");
	for (uint64_t kind = FI_READ; kind <= FI_WRITE; kind <<= 1) {
		struct fi_cq_tagged_entry entry;

		RC(0, access_by(&w, kind, LEN, 0, TAG, FI_TAGGED));
		for (int i = 0; i < 1000; i++)
			RC(-FI_EAGAIN, fi_cq_read(w.cq, &entry, 1));
		post(&w, LEN, TAG + 1, 0, near); /* another */
		post(&w, LEN, TAG, 0, far);
		ends = both(&w);
		expect_ends(&ends, kind, LEN);
		RC(0, fi_cancel(&w.ep->fid, near));
		RC(-FI_EAVAIL, world_next(&w, &entry));
		RC(1, fi_cq_readerr(w.cq, &(struct fi_cq_err_entry){ 0 }, 0));
	}
	world_close(&w);
}

static struct fi_cq_err_entry failed(struct world *w, const void *context)
{
	static char text[512];
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;

	RC(-FI_EAVAIL, world_next(w, &entry));
	error.err_data = text;
	error.err_data_size = sizeof(text);
	RC(1, fi_cq_readerr(w->cq, &error, 0));
	cr_expect_eq(error.op_context, context);
	return error;
}

Test(fi_tagged_rma, fails_when_no_receive_ever_comes)
{
	struct world w;

	setenv("FI_EMU_RNR_RETRY", "1", 1);
	open_kernel(&w, "kfi");
	RC(0, access_by(&w, FI_WRITE, LEN, 0, TAG, FI_TAGGED));
	cr_expect_eq(failed(&w, near).err, FI_ENORX);
	RC(0, access_by(&w, FI_READ, LEN, 0, TAG, FI_TAGGED));
	cr_expect_eq(failed(&w, near).err, FI_ENORX);
	world_close(&w);
}

/* Both sides hear of it, and no byte was touched. */
Test(fi_tagged_rma, past_the_end_ends_both)
{
	struct world w;

	open_kernel(&w, "kfi");
	for (uint64_t kind = FI_READ; kind <= FI_WRITE; kind <<= 1) {
		struct fi_cq_err_entry first, second;
		uint8_t was[LEN];

		memcpy(was, far, LEN);
		post(&w, LEN, TAG, 0, far);
		RC(0, access_by(&w, kind, LEN, 1, TAG, FI_TAGGED));
		first = failed(&w, far);
		second = failed(&w, near);
		cr_expect(first.err == FI_EMSGSIZE && second.err == FI_EMSGSIZE);
		cr_expect(strstr(second.err_data, "tag 0x77") && strstr(second.err_data, "64 B buffer of the receive"), "%s",
			  (char *)second.err_data);
		cr_expect(!memcmp(was, far, LEN));
	}
	world_close(&w);
}

/* The order of posting decides, and what takes a receive first has it: message or access. */
Test(fi_tagged_rma, messages_and_accesses_share_the_receives)
{
	struct fi_cq_tagged_entry entry;
	struct world w;
	uint8_t other[LEN];
	int messages = 0, accesses = 0;

	open_kernel(&w, "kfi");
	post(&w, LEN, TAG, 0, far);
	RC(0, fi_trecv(w.ep, other, LEN, NULL, w.self, TAG, 0, other));
	RC(0, fi_tsend(w.ep, near, 5, NULL, w.self, TAG, NULL));
	RC(0, access_by(&w, FI_WRITE, 9, 0, TAG, FI_TAGGED));
	for (int i = 0; i < 4; i++) {
		RC(1, world_next(&w, &entry));
		if (!(entry.flags & FI_RECV))
			continue;
		cr_expect_eq(entry.op_context, entry.flags & FI_RMA ? other : far);
		cr_expect_eq(entry.len, entry.flags & FI_RMA ? 9 : 5);
		messages += !(entry.flags & FI_RMA);
		accesses += !!(entry.flags & FI_RMA);
	}
	cr_expect(messages == 1 && accesses == 1);
	world_close(&w);
}

Test(fi_tagged_rma, bad_input)
{
	struct fi_rma_iov two[2] = { { 0, 8, TAG }, { 8, 8, TAG } };
	struct iovec iov = { near, 16 };
	struct fi_msg_rma msg = { .msg_iov = &iov, .iov_count = 1, .rma_iov = two, .rma_iov_count = 2 };
	struct fi_info *info;
	struct world w;

	open_kernel(&w, "kfi");
	msg.addr = w.self;
	RC(-FI_EINVAL, fi_writemsg(w.ep, &msg, FI_TAGGED));
	RC(-FI_EBADFLAGS, fi_writemsg(w.ep, &msg, FI_TAGGED | FI_COMMIT_COMPLETE));
	world_close(&w);
	RC(-FI_ENODATA,
	   world_getinfo(&(struct want){ 0 }, world_hints(&(struct want){ .caps = FI_RMA | EMU_FI_TAGGED_RMA }), &info));
	setenv("FI_EMU_PERSONALITY", "strict", 1);
	RC(-FI_ENODATA, world_getinfo(&(struct want){ 0 }, world_hints(&(struct want){ .caps = CAPS | EMU_FI_TAGGED_RMA }), &info));
	world_open(&w, &(struct want){ .caps = CAPS });
	RC(-FI_EBADFLAGS, access_by(&w, FI_WRITE, LEN, 0, TAG, FI_TAGGED));
	RC(-FI_EBADFLAGS, access_by(&w, FI_READ, LEN, 0, TAG, FI_TAGGED));
	world_close(&w);
}
