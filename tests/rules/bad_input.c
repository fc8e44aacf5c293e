/* SPDX-License-Identifier: BSD-2-Clause */
/* bad_input.c - the registration calls with each argument wrong: NULL, huge counts, ranges that wrap. The flag bits and
 * rights, one by one, are in reg_calls.c; attribute structures of older versions before missing memory in tests/fi. */
#include "tests/rules/harness/harness.h"

enum { BYTES = 256 };
static uint8_t bytes[BYTES];
static struct fid_mr *const untouched = (struct fid_mr *)(uintptr_t)0x5a5a;

/* The part of a call about its buffers; the rest is good. */
static const struct bad_buffers {
	const char *what;
	size_t count;
	struct iovec iov[2];
	bool no_list; /* a NULL pointer in the place of `iov` */
} bad_buffers[] = {
	{ "NULL for the list", 1, { { bytes, BYTES } }, true },
	{ "NULL for a list of none", 0, { { bytes, BYTES } }, true },
	{ "a list of none", 0, { { bytes, BYTES } }, false },
	{ "2^63 buffers", (size_t)1 << 63, { { bytes, BYTES } }, false },
	{ "2^60 buffers, whose size in bytes wraps to 0", (size_t)1 << 60, { { bytes, BYTES } }, false },
	{ "SIZE_MAX buffers", SIZE_MAX, { { bytes, BYTES } }, false },
	{ "SIZE_MAX buffers, and NULL for the list", SIZE_MAX, { { bytes, BYTES } }, true },
	{ "a range that wraps", 1, { { bytes, SIZE_MAX } }, false },
	{ "a range that wraps, after a good one", 2, { { bytes, BYTES }, { bytes, SIZE_MAX - 64 } }, false },
	{ "lengths whose sum wraps", 2, { { NULL, SIZE_MAX }, { NULL, SIZE_MAX } }, false },
};
enum { BAD_BUFFERS = sizeof(bad_buffers) / sizeof(*bad_buffers) };

static struct mr_args good_args(const struct peer *p, const struct iovec *iov, size_t count)
{
	return (struct mr_args){
		.attr = { .mr_iov = iov, .iov_count = count, .access = ALL_REMOTE, .requested_key = region_fresh_key(p) }
	};
}

/* A refusal must leave nothing behind: the same key registers. */
static void still_good(struct peer *p, enum reg_call call, uint64_t key)
{
	struct iovec iov = { bytes, BYTES };
	struct mr_args args = good_args(p, &iov, 1);
	struct fid_mr *mr;

	args.attr.requested_key = key;
	CHECK_RC(0, mr_register(p->domain, call, &args, 0, &mr));
	CHECK_RC(0, fi_close(&mr->fid));
}

static void refused(struct peer *p, enum reg_call call, const struct bad_buffers *bad)
{
	struct mr_args args = good_args(p, bad->no_list ? NULL : bad->iov, bad->count);
	struct fid_mr *mr = untouched;
	int rc = mr_register(p->domain, call, &args, 0, &mr);

	CHECK(rc < 0 && (!peer_is_emu() || rc == -FI_EINVAL), "call %d, %s: %d (%s)", call, bad->what, rc, fi_strerror(-rc));
	CHECK(!mr || mr == untouched, "call %d, %s: a refused registration handed out a region (S13)", call, bad->what);
	still_good(p, call, args.attr.requested_key);
}

PEER_TEST(rules, S6_S10_S11_bad_lists_of_buffers)
{
	size_t i;

	for (i = 0; i < BAD_BUFFERS; i++) {
		refused(p, REG_VEC, &bad_buffers[i]);
		refused(p, REG_ATTR, &bad_buffers[i]);
	}
}

PEER_TEST(rules, S6_no_attributes)
{
	struct fid_mr *mr = untouched;

	CHECK_REFUSED_AS(-FI_EINVAL, fi_mr_regattr(p->domain, NULL, 0, &mr));
	CHECK(!mr || mr == untouched, "a refused registration handed out a region (S13)");
}

PEER_TEST(rules, S6_S13_nowhere_to_put_the_region)
{
	struct iovec iov = { bytes, BYTES };
	struct mr_args args = good_args(p, &iov, 1);
	enum reg_call call;

	for (call = REG_ATTR; call < REG_CALLS; call++) {
		CHECK_REFUSED_AS(-FI_EINVAL, mr_register(p->domain, call, &args, 0, NULL));
		still_good(p, call, args.attr.requested_key);
	}
}

/* Without FI_MR_ALLOCATED a region at NULL is one like others (S17); with it, there is no memory to back it. */
PEER_TEST(rules, S17_S79_a_buffer_at_null)
{
	struct iovec iov = { NULL, BYTES };
	enum reg_call call;

	for (call = REG_ATTR; call < REG_CALLS; call++) {
		struct mr_args args = good_args(p, &iov, 1);
		struct fid_mr *mr = untouched;

		if (peer_has(p, FI_MR_ALLOCATED)) {
			CHECK_REFUSED_AS(-FI_EFAULT, mr_register(p->domain, call, &args, 0, &mr));
			CHECK(!mr || mr == untouched, "a refused registration handed out a region (S13)");
			continue;
		}
		CHECK_RC(0, mr_register(p->domain, call, &args, 0, &mr));
		CHECK_RC(0, fi_close(&mr->fid));
	}
}

/* S17: a range may end with the last byte of the address space; one byte more wraps. */
PEER_TEST(rules, S17_up_to_the_last_address)
{
	struct iovec iov = { (void *)(uintptr_t)-PAGE, PAGE };
	enum reg_call call;

	if (peer_has(p, FI_MR_ALLOCATED) || !peer_is_emu())
		NOT_IN_THIS_MODE("there is no memory to back it");
	for (call = REG_ATTR; call < REG_CALLS; call++) {
		struct mr_args args = good_args(p, &iov, 1);
		struct fid_mr *mr = untouched;

		iov.iov_len = PAGE + 1;
		CHECK_RC(-FI_EINVAL, mr_register(p->domain, call, &args, 0, &mr));
		CHECK(mr == untouched, "a refused registration handed out a region (S13)");
		iov.iov_len = PAGE;
		CHECK_RC(0, mr_register(p->domain, call, &args, 0, &mr));
		CHECK_RC(0, fi_close(&mr->fid));
	}
}

/* The buffers of a region, and regions, may overlap: nothing forbids it. */
PEER_TEST(rules, S6_S9_ranges_may_overlap)
{
	const struct iovec iov[2] = { { bytes, BYTES }, { bytes + 16, BYTES - 32 } };
	struct mr_args args = good_args(p, iov, 2);
	struct fid_mr *mr, *within;

	if (p->info->domain_attr->mr_iov_limit < 2)
		NOT_IN_THIS_MODE("%s registers one buffer at a time", peer_provider());
	CHECK_RC(0, mr_register(p->domain, REG_VEC, &args, 0, &mr));
	args = good_args(p, &iov[1], 1);
	CHECK_RC(0, mr_register(p->domain, REG_ATTR, &args, 0, &within));
	CHECK_RC(0, fi_close(&within->fid));
	CHECK_RC(0, fi_close(&mr->fid));
}
