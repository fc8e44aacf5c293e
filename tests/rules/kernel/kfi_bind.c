/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_bind.c - kfi_mr_bind() and kfi_close() of kfi_mr(3): counters, endpoints, and what must be closed first. */
#include "tests/rules/kernel/kworld.h"

static struct kfid_cntr *open_counter(const struct kside *side)
{
	struct kfi_cntr_attr attr = { .events = KFI_CNTR_EVENTS_COMP };
	struct kfid_cntr *cntr;

	CHECK_RC(0, kfi_cntr_open(side->domain, &attr, &cntr, NULL));
	return cntr;
}

static void await_count(struct kfid_cntr *cntr, uint64_t count)
{
	struct deadline deadline = deadline_start();

	while (kfi_cntr_read(cntr) < count)
		deadline_check(&deadline, "a count");
	CHECK(kfi_cntr_read(cntr) == count, "%llu events in place of %llu", (unsigned long long)kfi_cntr_read(cntr),
	      (unsigned long long)count);
}

KTEST(S96_S98_a_counter_counts_writes)
{
	struct kwish wish = { .caps = KFI_RMA_EVENT };
	struct kfid_cntr *cntr;
	struct kbuffer buffer;
	struct kworld world;
	struct kfid_mr *mr;

	kworld_open(&world, &wish);
	kbuffer_make(&buffer, KPARTS);
	mr = kregion(&world, &buffer, KFORM_BVEC, KALL_REMOTE);
	cntr = open_counter(&world.target);
	CHECK_RC(0, kfi_mr_bind(mr, &cntr->fid, KFI_REMOTE_WRITE));
	for (int i = 0; i < 5; i++)
		CHECK_RC(0, krma(&world, KRMA_WRITE, mr, 0, 8, 1));
	CHECK_RC(0, krma(&world, KRMA_READ, mr, 0, 8, 1));
	await_count(cntr, 5);
	CHECK_RC(-KFI_EBUSY, kfi_close(&mr->fid)); /* S181 */
	CHECK_RC(0, kfi_close(&cntr->fid));
	CHECK_RC(0, kfi_close(&mr->fid));
	kbuffer_free(&buffer);
	kworld_close(&world);
}

KTEST(S97_without_events_a_counter_is_refused)
{
	struct kwish wish = { 0 };
	struct kfid_cntr *cntr;
	struct kbuffer buffer;
	struct kworld world;
	struct kfid_mr *mr;

	kworld_open(&world, &wish);
	kbuffer_make(&buffer, 1);
	mr = kregion(&world, &buffer, KFORM_KVEC, KALL_REMOTE);
	cntr = open_counter(&world.target);
	CHECK_RC(-KFI_ENOSYS, kfi_mr_bind(mr, &cntr->fid, KFI_REMOTE_WRITE));
	CHECK_RC(0, kfi_close(&mr->fid));
	CHECK_RC(0, kfi_close(&cntr->fid));
	kbuffer_free(&buffer);
	kworld_close(&world);
}

KTEST(S99_other_events_are_refused)
{
	struct kwish wish = { .caps = KFI_RMA_EVENT };
	struct kfid_cntr *cntr;
	struct kbuffer buffer;
	struct kworld world;
	struct kfid_mr *mr;

	kworld_open(&world, &wish);
	kbuffer_make(&buffer, 1);
	mr = kregion(&world, &buffer, KFORM_KVEC, KALL_REMOTE);
	cntr = open_counter(&world.target);
	CHECK_RC(-KFI_EBADFLAGS, kfi_mr_bind(mr, &cntr->fid, 0));
	CHECK_RC(-KFI_EBADFLAGS, kfi_mr_bind(mr, &cntr->fid, KFI_REMOTE_READ));
	CHECK_RC(-KFI_EBADFLAGS, kfi_mr_bind(mr, &cntr->fid, 1ULL << 62));
	CHECK_RC(-KFI_EINVAL, kfi_mr_bind(mr, &world.target.cq->fid, 0));
	CHECK_RC(-KFI_EINVAL, kfi_mr_bind(mr, NULL, 0));
	CHECK_RC(0, kfi_close(&mr->fid));
	CHECK_RC(0, kfi_close(&cntr->fid));
	kbuffer_free(&buffer);
	kworld_close(&world);
}

KTEST(S180_a_bound_region_is_busy)
{
	struct kwish wish = { .mr_mode = KFI_MR_ENDPOINT };
	struct kask ask = { .form = KFORM_SGL, .count = KPARTS, .access = KALL_REMOTE, .key = kfresh_key() };
	struct kfid_mr *mr = NULL;
	struct kbuffer buffer;
	struct kworld world;

	kworld_open(&world, &wish);
	kbuffer_make(&buffer, KPARTS);
	CHECK_RC(0, kregister(&world.target, &buffer, &ask, &mr));
	CHECK(kfi_mr_enable(mr) < 0, "a region that is bound to nothing was enabled");
	CHECK(krma_at(&world, KRMA_WRITE, mr->iova, kfi_mr_key(mr), 8, 1) == KFI_EACCES,
	      "a region that is not enabled was reached");
	kregion_enable(&world, mr);
	CHECK_RC(0, krma(&world, KRMA_WRITE, mr, 0, 8, 1));
	CHECK_RC(-KFI_EBUSY, kfi_close(&mr->fid));
	CHECK_RC(0, krma(&world, KRMA_WRITE, mr, 0, 8, 1)); /* and is still there */
	CHECK_RC(0, kfi_close(&world.target.ep->fid));
	world.target.ep = NULL;
	CHECK_RC(0, kfi_close(&mr->fid));
	kbuffer_free(&buffer);
	kworld_close(&world);
}
