/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_cxi.c - personality kcxi: what HPE's provider does with regions, its bugs among it. */
#include "tests/rules/kernel/kworld.h"

#include <linux/slab.h>

static const struct kwish cxi = { .personality = "kcxi" };
static const struct kwish cxi_async = { .personality = "kcxi", .async = true };

static struct kfid_mr *cxi_register(const struct kworld *world, const struct kbuffer *buffer, uint64_t key, void *context)
{
	struct kask ask = { .form = KFORM_BVEC, .count = buffer->parts, .access = KALL_REMOTE, .key = key, .context = context };
	struct kfid_mr *mr = NULL;

	CHECK_RC(0, kregister(&world->target, buffer, &ask, &mr));
	return mr;
}

KTEST(S22_kcxi_needs_a_remote_right)
{
	struct kask ask = { .form = KFORM_KVEC, .count = 1, .access = KFI_SEND | KFI_RECV, .key = 5 };
	struct kfid_mr *mr = NULL;
	struct kbuffer buffer;
	struct kworld world;

	kworld_open(&world, &cxi);
	kbuffer_make(&buffer, 1);
	CHECK_RC(-KFI_EINVAL, kregister(&world.target, &buffer, &ask, &mr));
	ask.access = 0;
	CHECK_RC(-KFI_EINVAL, kregister(&world.target, &buffer, &ask, &mr));
	ask.access = KFI_REMOTE_READ;
	ask.flags = 1;
	CHECK_RC(-KFI_EBADFLAGS, kregister(&world.target, &buffer, &ask, &mr));
	ask.flags = 0;
	ask.by_attr = true;
	CHECK_RC(-KFI_ENOSYS, kregister(&world.target, &buffer, &ask, &mr));
	CHECK(!mr, "a refused registration handed out a region");
	kbuffer_free(&buffer);
	kworld_close(&world);
}

KTEST(S35_kcxi_tells_a_key_in_use_when_it_is_enabled)
{
	struct kbuffer buffer;
	struct kworld world;
	struct kfid_mr *first, *second;

	kworld_open(&world, &cxi);
	kbuffer_make(&buffer, KPARTS);
	first = cxi_register(&world, &buffer, 77, NULL);
	kregion_enable(&world, first);
	second = cxi_register(&world, &buffer, 77, NULL);
	CHECK_RC(0, kfi_mr_bind(second, &world.target.rx->fid, 0));
	CHECK_RC(-KFI_ENOKEY, kfi_mr_enable(second));
	CHECK_RC(0, krma(&world, KRMA_WRITE, first, 0, 8, 1));
	CHECK_RC(0, kfi_close(&second->fid));
	CHECK_RC(0, kfi_close(&first->fid));
	kbuffer_free(&buffer);
	kworld_close(&world);
}

/* Also where success is told by an event: the call fails, and there is none. */
KTEST(S35_S171_kcxi_tells_a_key_in_use_by_no_event)
{
	struct kfi_eq_entry entry;
	struct kfid_mr *first, *second;
	struct kbuffer buffer;
	struct kworld world;
	uint32_t event;
	ssize_t rc;
	struct deadline deadline = deadline_start();

	kworld_open(&world, &cxi_async);
	kbuffer_make(&buffer, KPARTS);
	first = cxi_register(&world, &buffer, 77, NULL);
	kregion_enable(&world, first);
	while ((rc = kfi_eq_read(world.target.eq, &event, &entry, sizeof(entry), 0)) == -KFI_EAGAIN)
		deadline_check(&deadline, "KFI_MR_COMPLETE");
	CHECK(rc == sizeof(entry) && event == KFI_MR_COMPLETE && entry.fid == &first->fid, "another event");
	second = cxi_register(&world, &buffer, 77, &event);
	CHECK_RC(0, kfi_mr_bind(second, &world.target.rx->fid, 0));
	CHECK_RC(-KFI_ENOKEY, kfi_mr_enable(second));
	CHECK_RC(-KFI_EAGAIN, kfi_eq_read(world.target.eq, &event, &entry, sizeof(entry), 0));
	CHECK_RC(0, kfi_close(&second->fid));
	CHECK_RC(0, kfi_close(&first->fid));
	kbuffer_free(&buffer);
	kworld_close(&world);
}

KTEST(S36_kcxi_keys_are_match_bits)
{
	struct kask ask = { .form = KFORM_KVEC, .count = 1, .access = KALL_REMOTE, .key = UINT64_MAX };
	struct kfid_mr *mr = NULL;
	struct kbuffer buffer;
	struct kworld world;

	kworld_open(&world, &cxi);
	kbuffer_make(&buffer, 1);
	CHECK_RC(-KFI_EKEYREJECTED, kregister(&world.target, &buffer, &ask, &mr));
	ask.key = 1ULL << 56;
	CHECK_RC(-KFI_EKEYREJECTED, kregister(&world.target, &buffer, &ask, &mr));
	kbuffer_free(&buffer);
	kworld_close(&world);
}

/* kfi_mr_bind() takes enabled receive contexts alone, once; a region that is bound closes, and the context does not. */
KTEST(S102_S180_kcxi_binds_to_receive_contexts)
{
	struct kbuffer buffer;
	struct kworld world;
	struct kfid_mr *mr;

	kworld_open(&world, &cxi);
	kbuffer_make(&buffer, KPARTS);
	mr = cxi_register(&world, &buffer, 9, NULL);
	CHECK_RC(-KFI_EINVAL, kfi_mr_enable(mr));
	CHECK_RC(-KFI_ENOSYS, kfi_mr_bind(mr, &world.target.tx->fid, 0));
	CHECK_RC(-KFI_ENOSYS, kfi_mr_bind(mr, &world.target.sep->fid, 0));
	CHECK_RC(-KFI_EBADFLAGS, kfi_mr_bind(mr, &world.target.rx->fid, KFI_REMOTE_WRITE));
	CHECK_RC(0, kfi_mr_bind(mr, &world.target.rx->fid, 0));
	CHECK_RC(-KFI_EINVAL, kfi_mr_bind(mr, &world.target.rx->fid, 0));
	CHECK_RC(0, kfi_mr_enable(mr));
	CHECK_RC(0, krma(&world, KRMA_WRITE, mr, 0, 8, 1));
	CHECK_RC(-KFI_EBUSY, kfi_close(&world.target.rx->fid));
	CHECK_RC(0, kfi_close(&mr->fid));
	kbuffer_free(&buffer);
	kworld_close(&world);
}

/* Its bug: the bind to a context that is not enabled returns 0. */
KTEST(S102_kcxi_binds_blindly)
{
	struct kfid_ep *late;
	struct kbuffer buffer;
	struct kworld world;
	struct kfid_mr *mr;

	kworld_open(&world, &cxi);
	kbuffer_make(&buffer, KPARTS);
	mr = cxi_register(&world, &buffer, 10, NULL);
	if (world.target.info->ep_attr->rx_ctx_cnt < 2 || kfi_rx_context(world.target.sep, 1, NULL, &late, NULL))
		NOT_APPLICABLE("the endpoint has one receive context");
	CHECK_RC(0, kfi_mr_bind(mr, &late->fid, 0));
	CHECK_RC(-KFI_EINVAL, kfi_mr_enable(mr));
	CHECK_RC(0, kfi_close(&mr->fid));
	CHECK_RC(0, kfi_close(&late->fid));
	kbuffer_free(&buffer);
	kworld_close(&world);
}

KTEST(S11_kcxi_takes_empty_regions)
{
	struct kfid_mr *mr = NULL;
	struct kworld world;
	char byte;

	kworld_open(&world, &cxi);
	CHECK_RC(0, kfi_mr_reg(world.target.domain, &byte, 0, KALL_REMOTE, 0, 11, 0, &mr, NULL));
	kregion_enable(&world, mr);
	CHECK_RC(0, krma(&world, KRMA_WRITE, mr, 0, 0, 0));
	CHECK(krma(&world, KRMA_WRITE, mr, 0, 1, 0), "a byte was written to an empty region");
	CHECK_RC(0, kfi_close(&mr->fid));
	CHECK_RC(0, kfi_mr_regsgl(world.target.domain, NULL, 0, KALL_REMOTE, 0, 12, 0, &mr, NULL));
	CHECK_RC(0, kfi_close(&mr->fid));
	kworld_close(&world);
}

/* Peers' accesses complete with the region's context. */
KTEST(S27_S29_kcxi_tells_of_accesses)
{
	struct kwish wish = cxi;
	struct kfi_cq_tagged_entry entry = { 0 };
	struct kbuffer buffer;
	struct kworld world;
	struct kfid_mr *mr;

	wish.caps = KFI_RMA_EVENT;
	kworld_open(&world, &wish);
	kbuffer_make(&buffer, KPARTS);
	mr = cxi_register(&world, &buffer, 13, &buffer);
	kregion_enable(&world, mr);
	CHECK_RC(0, krma(&world, KRMA_WRITE, mr, 0, 8, 1));
	CHECK_RC(0, kcompletion(&world.target, &entry));
	CHECK(entry.op_context == &buffer && entry.flags == (KFI_RMA | KFI_REMOTE_WRITE) && entry.len == 8,
	      "flags %#llx, %zu bytes", (unsigned long long)entry.flags, entry.len);
	CHECK_RC(0, krma(&world, KRMA_READ, mr, 0, 8, 1));
	CHECK_RC(0, kcompletion(&world.target, &entry));
	CHECK(entry.op_context == &buffer && entry.flags == (KFI_RMA | KFI_REMOTE_READ), "flags %#llx",
	      (unsigned long long)entry.flags);
	CHECK_RC(0, kfi_close(&mr->fid));
	kbuffer_free(&buffer);
	kworld_close(&world);
}

/* Sizes, and many at once: the cases of HPE's own tests. */
KTEST(S33_kcxi_regions_of_many_sizes)
{
	static const size_t sizes[] = { 1, 123, 1234, 1 << 20 };
	struct kfid_mr *mr[30];
	struct kworld world;
	char *memory = kmalloc(1 << 20, GFP_KERNEL);

	CHECK(memory, "no memory");
	kworld_open(&world, &cxi);
	for (size_t i = 0; i < 30; i++) {
		size_t size = sizes[i % 4];

		CHECK_RC(0, kfi_mr_reg(world.target.domain, memory, size, KALL_REMOTE, 0, 100 + i, 0, &mr[i], NULL));
		kregion_enable(&world, mr[i]);
		CHECK_RC(0, krma(&world, KRMA_WRITE, mr[i], size - 1, 1, (uint8_t)i));
		CHECK(memory[size - 1] == (char)i, "the write did not arrive");
		CHECK(krma(&world, KRMA_WRITE, mr[i], size, 1, 0), "a write past the end was not refused");
	}
	for (size_t i = 0; i < 30; i++)
		CHECK_RC(0, kfi_close(&mr[i]->fid));
	kworld_close(&world);
	kfree(memory);
}
