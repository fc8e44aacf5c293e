/* SPDX-License-Identifier: BSD-2-Clause */
/* amo.c - remote atomics of a pair. */
#include "tests/rules/harness/amo.h"

#include <rdma/fi_atomic.h>

static const struct {
	const char *name;
	enum fi_op op;
} sorts[AMOS] = {
	[AMO_SUM] = { "atomic sum", FI_SUM },
	[AMO_FETCH_SUM] = { "fetching sum", FI_SUM },
	[AMO_SWAP] = { "compare and swap", FI_CSWAP },
	[AMO_READ] = { "atomic read", FI_ATOMIC_READ },
};

const char *amo_name(enum amo amo)
{
	return sorts[amo].name;
}

bool amo_changes(enum amo amo)
{
	return amo != AMO_READ;
}

static bool offered(struct pair *p, enum amo amo)
{
	struct fid_ep *ep = p->peer.ep;
	size_t count = 0;
	int rc;

	if (amo == AMO_SUM)
		rc = fi_atomicvalid(ep, FI_UINT64, sorts[amo].op, &count);
	else if (amo == AMO_SWAP)
		rc = fi_compare_atomicvalid(ep, FI_UINT64, sorts[amo].op, &count);
	else
		rc = fi_fetch_atomicvalid(ep, FI_UINT64, sorts[amo].op, &count);
	return !rc && count >= AMO_MOST;
}

static void (*chosen)(struct pair *p);

static void if_offered(struct pair *p)
{
	enum amo amo;

	for (amo = 0; amo < AMOS; amo++)
		if (!offered(p, amo))
			NOT_IN_THIS_MODE("%s has no %s of %d 8-byte integers", peer_provider(), amo_name(amo), AMO_MOST);
	chosen(p);
}

void amo_each(void (*body)(struct pair *p))
{
	static const struct peer_want wants[] = {
		{ .caps = WITH_ATOMICS },
		{ .caps = WITH_ATOMICS, .mr_mode = FI_MR_BASIC_BITS | FI_MR_LOCAL },
		{ .caps = WITH_ATOMICS, .mr_mode = FI_MR_RAW | FI_MR_ENDPOINT | FI_MR_BASIC_BITS | FI_MR_LOCAL },
	};

	chosen = body;
	pair_each_of(wants, sizeof(wants) / sizeof(*wants), if_offered);
}

void amo_local(struct pair *p, const uint64_t *old, size_t count, struct amo_local *local)
{
	uint64_t *bytes = p->local.iov[0].iov_base;

	CHECK(count <= AMO_MOST, "%zu elements do not fit", count);
	*local = (struct amo_local){
		.operand = bytes,
		.compare = bytes + AMO_MOST,
		.result = bytes + 2 * AMO_MOST,
		.operand_desc = p->desc,
		.compare_desc = p->desc,
		.result_desc = p->desc,
	};
	pattern_fill(local->operand, count * AMO_SIZE, ++p->seed);
	memset(local->compare, 0, count * AMO_SIZE);
	if (old)
		memcpy(local->compare, old, count * AMO_SIZE);
	memset(local->result, 0x5A, count * AMO_SIZE);
}

static ssize_t amo_post(struct pair *p, enum amo amo, const struct amo_local *local, const struct fi_msg_atomic *msg, size_t count,
			uint64_t flags)
{
	struct fi_ioc comparev = { local->compare, count }, resultv = { local->result, count };
	void *compare_desc = local->compare_desc, *result_desc = local->result_desc;
	struct fid_ep *ep = p->peer.ep;

	if (amo == AMO_SUM)
		return fi_atomicmsg(ep, msg, flags);
	if (amo == AMO_SWAP)
		return fi_compare_atomicmsg(ep, msg, &comparev, &compare_desc, 1, &resultv, &result_desc, 1, flags);
	return fi_fetch_atomicmsg(ep, msg, &resultv, &result_desc, 1, flags);
}

struct outcome amo_call(struct pair *p, enum amo amo, const struct amo_local *local, uint64_t addr, uint64_t key, size_t count,
			uint64_t flags)
{
	struct fi_ioc ioc = { local->operand, count };
	struct fi_rma_ioc rma = { .addr = addr, .count = count, .key = key };
	void *desc = local->operand_desc;
	struct op op = { .done = false };
	struct fi_msg_atomic msg = {
		.msg_iov = &ioc,
		.desc = &desc,
		.iov_count = 1,
		.addr = p->to,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.datatype = FI_UINT64,
		.op = sorts[amo].op,
		.context = &op,
	};
	struct deadline guard = deadline_start();
	struct outcome out = { 0 };

	do
		out.rc = amo_post(p, amo, local, &msg, count, FI_COMPLETION | p->level | flags);
	while (peer_again(&p->peer, out.rc, &guard));
	if (out.rc)
		return out;
	peer_wait(&p->peer, &op);
	out.err = op.err;
	out.prov_errno = op.prov_errno;
	out.text = op.err ? p->peer.text : "";
	return out;
}

/* The element's value afterwards; a swap finds the value that it compares with. */
static uint64_t after(enum amo amo, uint64_t old, uint64_t operand)
{
	return amo == AMO_READ ? old : amo == AMO_SWAP ? operand : old + operand;
}

void ok_amo(struct pair *p, enum amo amo, struct remote *r, uint64_t off, size_t count)
{
	uint64_t old[AMO_MOST], new[AMO_MOST];
	struct amo_local local;
	struct outcome out;
	size_t i;

	CHECK(count <= AMO_MOST, "%zu elements do not fit", count);
	remote_image(r, off, old, count * AMO_SIZE);
	amo_local(p, old, count, &local);
	for (i = 0; i < count; i++)
		new[i] = after(amo, old[i], local.operand[i]);
	out = amo_call(p, amo, &local, remote_addr(r, off), r->key, count, 0);
	CHECK(!out.rc, "posting %s returned %zd (%s)", amo_name(amo), out.rc, fi_strerror((int)-out.rc));
	CHECK(!out.err, "a good %s of %zu elements at %llu failed: err %d, %s", amo_name(amo), count, (unsigned long long)off,
	      out.err, out.text);
	for (i = 0; i < count && amo != AMO_SUM; i++)
		CHECK(local.result[i] == old[i], "%s returned 0x%llx, expected 0x%llx", amo_name(amo),
		      (unsigned long long)local.result[i], (unsigned long long)old[i]);
	remote_image_set(r, off, new, count * AMO_SIZE);
	remote_verify(p, r);
}

void deny_amo(struct pair *p, enum amo amo, uint64_t addr, uint64_t key, size_t count, const char *rules)
{
	struct amo_local local;
	struct outcome out;
	size_t i;

	amo_local(p, NULL, count, &local);
	out = amo_call(p, amo, &local, addr, key, count, 0);
	check_denied(p, &out, amo_name(amo), rules);
	for (i = 0; i < count; i++)
		CHECK(local.result[i] == 0x5A5A5A5A5A5A5A5A, "a refused %s changed the result buffer", amo_name(amo));
	all_verify(p);
	live(p);
}
