/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_local.c - local buffers and descriptors of kfi_mr(3): where KFI_MR_LOCAL holds, and where it does not. */
#include "tests/rules/kernel/kworld.h"

/* One region at the initiator with this right, and an operation that needs `needs`. */
struct local {
	struct kworld world;
	struct kbuffer own, remote;
	struct kfid_mr *mr, *remote_mr;
};

static struct kfid_mr *local_region(struct local *local, uint64_t access)
{
	struct kask ask = { .form = KFORM_BVEC, .count = 1, .access = access, .key = kfresh_key() };
	struct kfid_mr *mr = NULL;

	CHECK_RC(0, kregister(&local->world.initiator, &local->own, &ask, &mr));
	return mr;
}

/* The operation that needs this right of the initiator's buffer: 0, the error of the post, or that of the completion. */
static int use(struct local *local, uint64_t right, void *desc)
{
	const struct kside *side = &local->world.initiator;
	struct kfid_ep *ep = side->ep;
	void *buf = kbuffer_at(&local->own, 0);
	struct kfi_cq_tagged_entry entry;
	ssize_t rc;

	switch (right) {
	case KFI_SEND:
		rc = kfi_send(ep, buf, 8, desc, side->peer, NULL);
		break;
	case KFI_WRITE:
		rc = kfi_write(ep, buf, 8, desc, side->peer, local->remote_mr->iova, kfi_mr_key(local->remote_mr), NULL);
		break;
	case KFI_READ:
		rc = kfi_read(ep, buf, 8, desc, side->peer, local->remote_mr->iova, kfi_mr_key(local->remote_mr), NULL);
		break;
	default:
		rc = kfi_recv(ep, buf, 8, desc, KFI_ADDR_UNSPEC, NULL);
		CHECK(rc || right == KFI_RECV, "no operation needs %#llx", (unsigned long long)right);
		return (int)rc;
	}
	return rc ? (int)rc : kcompletion(side, &entry);
}

static void local_open(struct local *local, const struct kwish *wish)
{
	kworld_open(&local->world, wish);
	kbuffer_make(&local->own, 1);
	kbuffer_make(&local->remote, 1);
	local->remote_mr = kregion(&local->world, &local->remote, KFORM_KVEC, KALL_REMOTE);
}

static void local_close(struct local *local)
{
	CHECK_RC(0, kfi_close(&local->remote_mr->fid));
	kworld_close(&local->world);
	kbuffer_free(&local->own);
	kbuffer_free(&local->remote);
}

static const uint64_t rights[] = { KFI_WRITE, KFI_READ, KFI_SEND, KFI_RECV };

/* S72: each buffer is registered, for what is done with it, and its descriptor passed. */
KTEST(S23_S24_S25_S26_S72_local_buffers_are_registered)
{
	struct kwish wish = { .mr_mode = KFI_MR_LOCAL };
	struct local local;

	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		struct kfid_mr *right, *wrong;

		check_label("access %#llx", (unsigned long long)rights[i]);
		local_open(&local, &wish);
		CHECK(local.world.initiator.info->domain_attr->mr_mode & KFI_MR_LOCAL,
		      "KFI_MR_LOCAL was offered, and is not asked for");
		right = local_region(&local, rights[i]);
		wrong = local_region(&local, (KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE) & ~rights[i]);
		CHECK(use(&local, rights[i], NULL), "a buffer without a descriptor was taken");
		CHECK(use(&local, rights[i], kfi_mr_desc(wrong)), "a region without the right was taken");
		CHECK_RC(0, use(&local, rights[i], kfi_mr_desc(right)));
		CHECK_RC(0, kfi_close(&wrong->fid));
		CHECK_RC(0, kfi_close(&right->fid));
		local_close(&local);
	}
}

KTEST(S73_S77_local_buffers_need_no_region)
{
	struct kwish wish = { 0 };
	struct local local;

	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		struct kfid_mr *right;

		local_open(&local, &wish);
		right = local_region(&local, rights[i]);
		CHECK_RC(0, use(&local, rights[i], NULL));
		CHECK_RC(0, use(&local, rights[i], kfi_mr_desc(right)));
		CHECK_RC(0, kfi_close(&right->fid));
		local_close(&local);
	}
}
