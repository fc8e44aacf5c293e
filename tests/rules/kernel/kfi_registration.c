/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_registration.c - the registration calls of kfi_mr(3), for each form of vector. */
#include "tests/rules/kernel/kworld.h"

#include <linux/dma-mapping.h>

/* Registers with these arguments by the form's own call and by kfi_mr_regattr(); both must answer `want`, and leave nothing: a
 * refusal the client's variable as it was. */
static void expect(const struct kworld *world, const struct kbuffer *buffer, struct kask ask, int want)
{
	for (int by_attr = 0; by_attr < 2; by_attr++) {
		struct kfid_mr before, *mr = &before;
		int rc;

		ask.by_attr = by_attr;
		rc = kregister(&world->target, buffer, &ask, &mr);
		CHECK(rc == want, "by_attr %d: %d in place of %d", by_attr, rc, want);
		if (!rc)
			CHECK_RC(0, kfi_close(&mr->fid));
		else
			CHECK(mr == &before, "a refused registration changed *mr (S13)");
	}
}

KEACH_TEST(S2_S12_S13_all_calls_register)
{
	struct kbuffer buffer;
	int context;

	kbuffer_make(&buffer, KPARTS);
	for (int by_attr = 0; by_attr < 2; by_attr++) {
		struct kask ask = { .form = form,
				    .by_attr = by_attr,
				    .count = KPARTS,
				    .access = KALL_REMOTE,
				    .key = kfresh_key(),
				    .context = &context };
		struct kfid_mr *mr = NULL;

		CHECK_RC(0, kregister(&world->target, &buffer, &ask, &mr));
		CHECK(mr && mr->fid.fclass == KFI_CLASS_MR && mr->fid.context == &context, "no region with its context (S13)");
		kregion_enable(world, mr);
		CHECK_RC(0, krma(world, KRMA_WRITE, mr, 0, 8, 0x5a));
		CHECK(*kbuffer_at(&buffer, 7) == 0x5a, "the write did not arrive");
		CHECK_RC(0, krma(world, KRMA_READ, mr, 0, 8, 0x5a));
		kregion_close(world, mr);
	}
	kbuffer_free(&buffer);
}

/* S9, S63: one key for all parts, which are one space where offsets count; virtual addresses begin at iova. */
KEACH_TEST(S9_S19_S63_a_vector_is_one_region)
{
	struct kbuffer buffer;
	struct kfid_mr *mr;

	kbuffer_make(&buffer, KPARTS);
	kbuffer_fill(&buffer, 0);
	mr = kregion(world, &buffer, form, KALL_REMOTE);
	if (mr->iova) {
		CHECK_RC(0, krma(world, KRMA_WRITE, mr, 1, 4, 9));
		CHECK(*kbuffer_at(&buffer, 1) == 9, "the first byte is not at iova");
	} else {
		CHECK_RC(0, krma(world, KRMA_WRITE, mr, 0, buffer.length, 0x77));
		for (size_t i = 0; i < buffer.length; i++)
			CHECK(*kbuffer_at(&buffer, i) == 0x77, "byte %zu of %zu was not written", i, buffer.length);
		CHECK_RC(0, krma(world, KRMA_READ, mr, 510, 8, 0x77));
		CHECK(krma(world, KRMA_WRITE, mr, 1, buffer.length, 1) == KFI_EACCES, "a write past the end was not refused (S65)");
		CHECK(*kbuffer_at(&buffer, 1) == 0x77, "a refused write changed a byte");
	}
	kregion_close(world, mr);
	kbuffer_free(&buffer);
}

KEACH_TEST(S4_S7_an_offset_is_refused)
{
	struct kbuffer buffer;

	kbuffer_make(&buffer, KPARTS);
	expect(world, &buffer, (struct kask){ .form = form, .count = 1, .access = KALL_REMOTE, .key = kfresh_key(), .offset = 1 },
	       -KFI_EINVAL);
	kbuffer_free(&buffer);
}

KEACH_TEST(S5_unknown_flags_are_refused)
{
	struct kbuffer buffer;

	kbuffer_make(&buffer, KPARTS);
	expect(world, &buffer, (struct kask){ .form = form, .count = 1, .access = KALL_REMOTE, .key = kfresh_key(), .flags = 1 },
	       -KFI_EBADFLAGS);
	expect(world, &buffer,
	       (struct kask){ .form = form, .count = 1, .access = KALL_REMOTE, .key = kfresh_key(), .flags = 1ULL << 40 },
	       -KFI_EBADFLAGS);
	kbuffer_free(&buffer);
}

KEACH_TEST(S7_unknown_access_bits_are_refused)
{
	struct kbuffer buffer;

	kbuffer_make(&buffer, KPARTS);
	expect(world, &buffer, (struct kask){ .form = form, .count = 1, .access = KFI_TAGGED, .key = kfresh_key() }, -KFI_EINVAL);
	kbuffer_free(&buffer);
}

KEACH_TEST(S11_a_count_of_none_or_too_many_is_refused)
{
	struct kbuffer buffer;

	kbuffer_make(&buffer, KPARTS);
	expect(world, &buffer, (struct kask){ .form = form, .count = 0, .access = KALL_REMOTE, .key = kfresh_key() }, -KFI_EINVAL);
	expect(world, &buffer,
	       (struct kask){ .form = form,
			      .count = world->target.info->domain_attr->mr_iov_limit + 1,
			      .access = KALL_REMOTE,
			      .key = kfresh_key() },
	       -KFI_EINVAL);
	kbuffer_free(&buffer);
}

/* Entries past the count are not looked at. */
KEACH_TEST(S11_entries_past_the_count_are_not_read)
{
	struct kask ask = { .form = form, .count = 1, .access = KALL_REMOTE, .key = kfresh_key() };
	struct kbuffer buffer;
	struct kfid_mr *mr = NULL;

	kbuffer_make(&buffer, 2);
	buffer.bvec[1] = (struct bio_vec){ .bv_page = NULL, .bv_len = 8 };
	CHECK_RC(0, kregister(&world->target, &buffer, &ask, &mr));
	kregion_enable(world, mr);
	CHECK_RC(0, krma(world, KRMA_WRITE, mr, 504, 8, 3));
	CHECK(krma(world, KRMA_WRITE, mr, 505, 8, 3) == KFI_EACCES, "the region goes past its one entry");
	kregion_close(world, mr);
	kbuffer_free(&buffer);
}

KTEST(S7_missing_arguments_are_refused)
{
	struct kwish wish = { 0 };
	struct kworld world;
	struct kfid_domain *domain;
	struct kfid_mr *mr = NULL;
	char byte;

	kworld_open(&world, &wish);
	domain = world.target.domain;
	CHECK_RC(-KFI_EINVAL, kfi_mr_reg(domain, &byte, 1, KALL_REMOTE, 0, kfresh_key(), 0, NULL, NULL));
	CHECK_RC(-KFI_EINVAL, kfi_mr_regv(domain, NULL, 1, KALL_REMOTE, 0, kfresh_key(), 0, &mr, NULL));
	CHECK_RC(-KFI_EINVAL, kfi_mr_regbv(domain, NULL, 1, KALL_REMOTE, 0, kfresh_key(), 0, &mr, NULL));
	CHECK_RC(-KFI_EINVAL, kfi_mr_regsgl(domain, NULL, 1, KALL_REMOTE, 0, kfresh_key(), 0, &mr, NULL));
	CHECK_RC(-KFI_EINVAL, kfi_mr_regattr(domain, NULL, 0, &mr));
	CHECK(!mr, "a refused registration handed out a region (S13)");
	kworld_close(&world);
}

KEACH_TEST(S6_S14_S15_S16_a_region_has_descriptor_and_key_at_once)
{
	struct kbuffer buffer;
	struct kfid_mr *mr;

	kbuffer_make(&buffer, KPARTS);
	mr = kregion(world, &buffer, form, KALL_REMOTE | KFI_SEND);
	CHECK(kfi_mr_key(mr) != KFI_KEY_NOTAVAIL, "no key");
	CHECK(kfi_mr_desc(mr) && kfi_mr_desc(mr) == kfi_mr_desc(mr), "no descriptor");
	CHECK_RC(0, krma(world, KRMA_WRITE, mr, 0, 1, 1));
	kregion_close(world, mr);
	kbuffer_free(&buffer);
}

KTEST(S20_a_scatterlist_must_be_mapped)
{
	struct kwish wish = { 0 };
	struct kask ask = { .form = KFORM_SGL, .count = KPARTS, .access = KALL_REMOTE };
	struct kbuffer buffer;
	struct kworld world;

	kworld_open(&world, &wish);
	kbuffer_make(&buffer, KPARTS);
	ask.key = kfresh_key();
	expect(&world, &buffer, ask, 0);
	dma_unmap_sgtable(NULL, &buffer.table, DMA_BIDIRECTIONAL, 0);
	ask.key = kfresh_key();
	expect(&world, &buffer, ask, -KFI_EINVAL);
	CHECK_RC(0, dma_map_sgtable(NULL, &buffer.table, DMA_BIDIRECTIONAL, 0));
	expect(&world, &buffer, ask, 0);
	kbuffer_free(&buffer);
	kworld_close(&world);
}

KTEST(S21_the_type_selects_the_vector)
{
	static const int wrong[] = { 0, 4, 99, -1 };
	struct kwish wish = { 0 };
	struct kbuffer buffer;
	struct kworld world;

	kworld_open(&world, &wish);
	kbuffer_make(&buffer, KPARTS);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct kfi_mr_attr attr = { .type = (enum kfi_iov_type)wrong[i],
					    .mr_iov = buffer.kvec,
					    .iov_count = 1,
					    .access = KALL_REMOTE,
					    .requested_key = kfresh_key() };
		struct kfid_mr *mr = NULL;

		CHECK_RC(-KFI_EINVAL, kfi_mr_regattr(world.target.domain, &attr, 0, &mr));
		CHECK(!mr, "a refused registration handed out a region (S13)");
	}
	kbuffer_free(&buffer);
	kworld_close(&world);
}
