/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_access.c - keys and rights of kfi_mr(3), for each form of vector. */
#include "tests/rules/kernel/kworld.h"

KEACH_TEST(S1_S40_unregistered_memory_is_out_of_reach)
{
	struct kbuffer buffer;
	struct kfid_mr *mr;
	uint64_t key = kfresh_key();

	kbuffer_make(&buffer, KPARTS);
	kbuffer_fill(&buffer, 4);
	CHECK(krma_at(world, KRMA_WRITE, 0, key, 8, 1) == KFI_EACCES, "a write without a region was not refused");
	CHECK(krma_at(world, KRMA_READ, (uintptr_t)kbuffer_at(&buffer, 0), key, 8, 4) == KFI_EACCES,
	      "a read without a region was not refused");
	mr = kregion(world, &buffer, form, KALL_REMOTE);
	CHECK(krma_at(world, KRMA_WRITE, mr->iova, kfi_mr_key(mr) ^ 1, 8, 1) == KFI_EACCES, "a wrong key was not refused");
	CHECK(*kbuffer_at(&buffer, 0) == 4, "a refused write changed a byte");
	CHECK_RC(0, krma(world, KRMA_WRITE, mr, 0, 8, 1));
	kregion_close(world, mr);
	kbuffer_free(&buffer);
}

/* S22, S27 to S31: exactly what was given. */
KEACH_TEST(S22_S27_S29_S31_remote_rights_are_kept)
{
	static const uint64_t rights[] = { KFI_REMOTE_READ, KFI_REMOTE_WRITE, KALL_REMOTE, 0,
					   KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE };
	struct kbuffer buffer;

	kbuffer_make(&buffer, KPARTS);
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		struct kfid_mr *mr = kregion(world, &buffer, form, rights[i]);
		int may_read = rights[i] & KFI_REMOTE_READ ? 0 : KFI_EACCES,
		    may_write = rights[i] & KFI_REMOTE_WRITE ? 0 : KFI_EACCES;

		kbuffer_fill(&buffer, 8);
		CHECK_RC(may_read, krma(world, KRMA_READ, mr, 0, 8, 8));
		CHECK_RC(may_write, krma(world, KRMA_WRITE, mr, 0, 8, 6));
		CHECK(*kbuffer_at(&buffer, 0) == (may_write ? 8 : 6), "the byte is %d", *kbuffer_at(&buffer, 0));
		kregion_close(world, mr);
	}
	kbuffer_free(&buffer);
}

KEACH_TEST(S35_a_key_in_use_is_refused)
{
	struct kask ask = { .form = form, .count = KPARTS, .access = KALL_REMOTE, .key = kfresh_key() };
	struct kfid_mr *mr = NULL, *again = NULL;
	struct kbuffer buffer;
	int rc;

	kbuffer_make(&buffer, KPARTS);
	CHECK_RC(0, kregister(&world->target, &buffer, &ask, &mr));
	rc = kregister(&world->target, &buffer, &ask, &again);
	if (world->target.info->domain_attr->mr_mode & KFI_MR_PROV_KEY) {
		CHECK_RC(0, rc);
		CHECK_RC(0, kfi_close(&again->fid));
	} else {
		CHECK_RC(-KFI_ENOKEY, rc);
	}
	CHECK_RC(0, kfi_close(&mr->fid));
	CHECK_RC(0, kregister(&world->target, &buffer, &ask, &mr));
	CHECK_RC(0, kfi_close(&mr->fid));
	kbuffer_free(&buffer);
}

KEACH_TEST(S36_the_key_that_stands_for_none_is_refused)
{
	struct kask ask = { .form = form, .count = 1, .access = KALL_REMOTE, .key = KFI_KEY_NOTAVAIL };
	struct kfid_mr *mr = NULL;
	struct kbuffer buffer;

	if (world->target.info->domain_attr->mr_mode & KFI_MR_PROV_KEY)
		return; /* no key is asked for (S37) */
	kbuffer_make(&buffer, 1);
	CHECK_RC(-KFI_EKEYREJECTED, kregister(&world->target, &buffer, &ask, &mr));
	kbuffer_free(&buffer);
}

KEACH_TEST(S41_S175_a_key_ends_with_its_region)
{
	struct kbuffer buffer;
	struct kfid_mr *mr;
	uint64_t addr, key;

	kbuffer_make(&buffer, KPARTS);
	mr = kregion(world, &buffer, form, KALL_REMOTE);
	addr = mr->iova;
	key = kfi_mr_key(mr);
	CHECK_RC(0, krma_at(world, KRMA_WRITE, addr, key, 8, 2));
	kregion_close(world, mr);
	kbuffer_fill(&buffer, 3);
	CHECK(krma_at(world, KRMA_WRITE, addr, key, 8, 2) == KFI_EACCES, "a closed region was written to");
	CHECK(*kbuffer_at(&buffer, 0) == 3, "a refused write changed a byte");
	kbuffer_free(&buffer);
}
