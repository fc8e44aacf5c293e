/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations that are refused, in words, and post nothing. */
#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernel/said.h"
#include "tests/kfi/kpair.h"

enum { SEPARATE = 9 };

static const struct kpair_wish wish = { .caps = KFI_ATOMIC | KFI_MULTI_RECV };

/* The call said these words since said_begin(), and nothing was posted. */
static void said_of(const struct kend *end, const char *words)
{
	cr_assert(strstr(said(), words), "%s in place of: %s", said(), words);
	kend_silent(end);
}

Test(kfi_refused, messages_that_are_none)
{
	struct kpair pair;

	kpair_open(&pair, &wish);
	said_begin();
	RC(-KFI_EINVAL, kfi_recvmsg(pair.a.rx, NULL, 0));
	said_of(&pair.a, "kfi_recvmsg: msg is NULL");
	RC(-KFI_EINVAL, kfi_sendmsg(pair.a.tx, NULL, 0));
	said_of(&pair.a, "kfi_sendmsg: msg is NULL");
	RC(-KFI_EINVAL, kfi_trecvmsg(pair.a.rx, NULL, 0));
	said_of(&pair.a, "kfi_trecvmsg: msg is NULL");
	RC(-KFI_EINVAL, kfi_tsendmsg(pair.a.tx, NULL, 0));
	said_of(&pair.a, "kfi_tsendmsg: msg is NULL");
	RC(-KFI_EINVAL, kfi_readmsg(pair.a.tx, NULL, 0));
	said_of(&pair.a, "kfi_readmsg: msg is NULL");
	RC(-KFI_EINVAL, kfi_writemsg(pair.a.tx, &(struct kfi_msg_rma){ .type = KFI_KVEC }, 0));
	said_of(&pair.a, "kfi_writemsg: msg is NULL, or names no range at the target");
	RC(-KFI_EINVAL, kfi_atomicmsg(pair.a.tx, NULL, 0));
	said_of(&pair.a, "kfi_atomicmsg: msg is NULL");
	RC(-KFI_EINVAL, kfi_fetch_atomicmsg(pair.a.tx, NULL, NULL, NULL, 0, 0));
	said_of(&pair.a, "kfi_fetch_atomicmsg: msg is NULL");
	RC(-KFI_EINVAL, kfi_compare_atomicmsg(pair.a.tx, NULL, NULL, NULL, 0, NULL, NULL, 0, 0));
	said_of(&pair.a, "kfi_compare_atomicmsg: msg is NULL");
	kpair_close(&pair);
}

Test(kfi_refused, flags_that_are_unknown)
{
	char byte = 0;
	struct kvec iov = { &byte, 1 };
	struct kfi_rma_iov range = { 0 };
	struct kfi_msg m = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1 };
	struct kfi_msg_tagged t = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1 };
	struct kfi_msg_rma r = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .rma_iov = &range, .rma_iov_count = 1 };
	struct kpair pair;

	kpair_open(&pair, &wish);
	m.addr = t.addr = r.addr = pair.a.peer;
	said_begin();
	RC(-KFI_EBADFLAGS, kfi_sendmsg(pair.a.tx, &m, KFI_TAGGED_MULTI_RECV | KFI_COMPLETION)); /* libfabric's FI_MATCH_COMPLETE */
	said_of(&pair.a, "kfi_sendmsg: the flags 0x80000000 (KFI_TAGGED_MULTI_RECV) mean nothing here");
	RC(-KFI_EBADFLAGS, kfi_recvmsg(pair.a.rx, &m, KFI_COMPLETION | KFI_SOURCE | 1ULL << 40));
	said_of(&pair.a, "kfi_recvmsg: the flags 0x200010000000000 (bit 40, KFI_SOURCE) mean nothing here");
	RC(-KFI_EBADFLAGS, kfi_tsendmsg(pair.a.tx, &t, 1ULL << 40));
	RC(-KFI_EBADFLAGS, kfi_trecvmsg(pair.a.rx, &t, 1ULL << 40));
	RC(-KFI_EBADFLAGS, kfi_writemsg(pair.a.tx, &r, 1ULL << 40));
	RC(-KFI_EBADFLAGS, kfi_readmsg(pair.a.tx, &r, 1ULL << 40));
	RC(-KFI_EBADFLAGS, kfi_atomicmsg(pair.a.tx, &(struct kfi_msg_atomic){ .addr = r.addr }, 1ULL << 40));
	RC(-KFI_EBADFLAGS, kfi_writemsg(pair.a.tx, &r, KFI_TAGGED)); /* without the capability */
	kend_silent(&pair.a);
	kpair_close(&pair);
}

Test(kfi_refused, vectors_that_are_none)
{
	struct kvec iov = { &iov, 8 };
	struct kfi_msg m = { .type = (enum kfi_iov_type)99, .msg_iov = &iov, .iov_count = 1 };
	struct bio_vec vec;
	struct page *page = alloc_page(GFP_KERNEL);
	struct kpair pair;

	kpair_open(&pair, &wish);
	m.addr = pair.a.peer;
	said_begin();
	RC(-KFI_EINVAL, kfi_sendmsg(pair.a.tx, &m, 0));
	said_of(&pair.a, "kfi_sendmsg: type is 99");
	RC(-KFI_EINVAL, kfi_sendv(pair.a.tx, NULL, NULL, 1, pair.a.peer, NULL));
	said_of(&pair.a, "kfi_sendv: the vector is NULL");
	RC(-KFI_EINVAL, kfi_writev(pair.a.tx, &iov, NULL, 257, pair.a.peer, 0, 1, NULL));
	said_of(&pair.a, "kfi_writev: 257 entries");
	bvec_set_page(&vec, page, 8, PAGE_SIZE - 4);
	RC(-KFI_EINVAL, kfi_trecvbv(pair.a.rx, &vec, NULL, 1, KFI_ADDR_UNSPEC, 1, 0, NULL));
	said_of(&pair.a, "kfi_trecvbv: entry 0, 8 B at");
	__free_page(page);
	RC(-KFI_EINVAL, kfi_readbv(pair.a.tx, &vec, NULL, 1, pair.a.peer, 0, 1, NULL));
	said_of(&pair.a, "one of them is freed");
	kpair_close(&pair);
}

Test(kfi_refused, too_many_separate_buffers)
{
	struct kvec iov[SEPARATE];
	struct kpair pair;

	for (int i = 0; i < SEPARATE; i++)
		iov[i] = (struct kvec){ kmalloc(64, GFP_KERNEL), 64 };
	kpair_open(&pair, &wish);
	said_begin();
	RC(-KFI_EINVAL, kfi_sendv(pair.a.tx, iov, NULL, SEPARATE, pair.a.peer, NULL));
	said_of(&pair.a, "kfi_sendv: 9 separate buffers. The NIC takes 8");
	kpair_close(&pair);
	for (int i = 0; i < SEPARATE; i++)
		kfree(iov[i].iov_base);
}

/* The name of a claimed message is the client's context, which an operation in a window does not show. */
Test(kfi_refused, claims_of_many_buffers)
{
	struct bio_vec vec[SEPARATE];
	struct kfi_msg_tagged t = {
		.type = KFI_BVEC, .msg_biov = vec, .iov_count = SEPARATE, .addr = KFI_ADDR_UNSPEC, .context = vec
	};
	struct kpair pair;

	for (int i = 0; i < SEPARATE; i++)
		bvec_set_page(&vec[i], alloc_pages(GFP_KERNEL, 1), PAGE_SIZE, 0);
	kpair_open(&pair, &wish);
	said_begin();
	RC(-KFI_EINVAL, kfi_trecvmsg(pair.a.rx, &t, KFI_CLAIM));
	said_of(&pair.a, "kfi_trecvmsg: 9 separate buffers with KFI_CLAIM, which takes 8");
	kpair_close(&pair);
	for (int i = 0; i < SEPARATE; i++)
		__free_pages(vec[i].bv_page, 1);
}

/* Both sides say it: the initiator by the completion, and the target's provider in its log. */
Test(kfi_refused, what_the_target_refuses)
{
	struct kpair_completion failed;
	struct kfid_mr *mr;
	struct kpair pair;
	char bytes[8];

	setenv("FI_LOG_LEVEL", "warn", 1); /* libfabric's, at level error else */
	kpair_open(&pair, &wish);
	mr = kend_region(&pair.b, bytes, 8, KFI_REMOTE_READ);
	said_begin();
	RC(0, kfi_write(pair.a.tx, bytes, 8, NULL, pair.a.peer, 0, mr->key, bytes));
	failed = kend_next(&pair.a);
	cr_assert_eq(failed.err, KFI_EACCES);
	cr_assert_eq(failed.entry.op_context, bytes);
	cr_assert(strstr(failed.text, "KFI_REMOTE_WRITE"), "%s", failed.text);
	cr_assert(strstr(said(), "refused to"), "%s", said());
	RC(0, kfi_close(&mr->fid));
	RC(0, kfi_write(pair.a.tx, bytes, 8, NULL, pair.a.peer, 0, 1000, bytes));
	failed = kend_next(&pair.a);
	cr_assert(strstr(failed.text, "kfi_close"), "%s", failed.text);
	kpair_close(&pair);
}
