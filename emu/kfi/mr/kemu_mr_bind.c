/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_mr_bind.c - what a region is bound to, and its enabling. */
#include <kfi_errno.h>
#include <stdlib.h>

#include "emu/kfi/mr/kemu_mr.h"
#include "emu/kfi/objects/kemu_queues.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_refuse.h"
#include "emu/kfi/provider/kemu_personality.h"

/* --- regions of an enabled receive context alone: the device learns the binding with the region --- */

/* A fault that the provider does not tell the client, as it is one of the real provider's: then the region stays unbound. */
static bool context_fits(const struct kemu_ep *context)
{
	if (!atomic_load(&context->enabled))
		KEMU_REFUSE(0,
			    "kfi_mr_bind: the receive context is not enabled. The call returns 0 all the same, as provider cxi's "
			    "does, and kfi_mr_enable() will fail. Call kfi_enable() first.");
	else if (!(context->caps & KFI_RMA))
		KEMU_REFUSE(0, "kfi_mr_bind: the receive context was opened without KFI_RMA. The call returns 0 all the same, as "
			       "provider cxi's does, and kfi_mr_enable() will fail. Ask for the capability.");
	else
		return true;
	return false;
}

static int bind_context(struct kemu_mr *mr, struct kfid *bfid, uint64_t flags)
{
	struct kemu_ep *context;

	if (mr->ep)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_mr_bind: the region is bound already, and takes one receive context.");
	if (bfid->fclass != KFI_CLASS_RX_CTX)
		return KEMU_REFUSE(-KFI_ENOSYS, "kfi_mr_bind: regions of this provider are bound to receive contexts alone (S97).");
	if (flags)
		return KEMU_REFUSE_FLAGS("kfi_mr_bind", flags, " (S105)");
	context = kemu_ep(container_of(bfid, struct kfid_ep, fid));
	if (context->domain != mr->domain)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_mr_bind: the receive context is of another domain.");
	if (context_fits(context)) {
		atomic_fetch_add(&context->regions, 1);
		mr->ep = context;
	}
	return 0;
}

/* Registers and enables at the device; nothing is left of what fails. */
static int enable_at_device(struct kemu_mr *mr)
{
	int err = kemu_mr_to_device(mr, mr->pending);

	if (err)
		return err;
	err = fi_mr_bind(mr->fi, &mr->ep->fi->fid, 0);
	if (!err)
		err = fi_mr_enable(mr->fi);
	if (!err)
		return 0;
	fi_close(&mr->fi->fid);
	mr->fi = NULL;
	return err;
}

/* A key that is taken is told at once, as HPE's provider does it; what else fails of an asynchronous registration by its event. */
static int enable_context(struct kemu_mr *mr)
{
	int err;

	if (!mr->ep)
		return KEMU_REFUSE(-KFI_EINVAL,
				   "kfi_mr_enable: the region is bound to no receive context. Call kfi_mr_bind() first "
				   "(S102).");
	if (!mr->pending)
		return KEMU_REFUSE(-KFI_EOPBADSTATE, "kfi_mr_enable: the region is enabled already (S94).");
	err = enable_at_device(mr);
	if (err && err != -KFI_ENOKEY && mr->domain->mr_eq)
		return kemu_eq_tell_mr(mr->domain->mr_eq, &mr->kfid.fid, mr->kfid.fid.context, -err);
	if (err)
		return err;
	free(mr->pending);
	mr->pending = NULL;
	return kemu_mr_completed(mr); /* the event's reader may close the region */
}

/* --- regions that the device knows from the registration on --- */

/* libfabric's object behind one that regions are bound to; NULL: it is none, which libfabric refuses. */
static struct fid *bind_end(struct kfid *bfid)
{
	switch (bfid->fclass) {
	case KFI_CLASS_CNTR:
		return &container_of(bfid, struct kemu_cntr, kfid.fid)->fi->fid;
	case KFI_CLASS_EP:
	case KFI_CLASS_SEP:
	case KFI_CLASS_RX_CTX:
		return &kemu_ep(container_of(bfid, struct kfid_ep, fid))->fi->fid;
	default:
		return NULL;
	}
}

int kemu_mr_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags)
{
	struct kemu_mr *mr = kemu_mr(fid);
	uint64_t fi_flags;

	EMU_KERNEL_SLEEPS("kfi_mr_bind");
	if (!bfid)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_mr_bind: bfid is NULL (S7).");
	if (mr->domain->fabric->personality->contexts_only)
		return bind_context(mr, bfid, flags);
	if (!kemu_fi_flags(flags, &fi_flags))
		return KEMU_REFUSE_FLAGS("kfi_mr_bind", flags & ~fi_flags, " (S99)");
	return fi_mr_bind(mr->fi, bind_end(bfid), fi_flags);
}

int kemu_mr_enable(struct kemu_mr *mr)
{
	int err;

	if (mr->domain->fabric->personality->contexts_only)
		return enable_context(mr);
	err = fi_mr_enable(mr->fi);
	if (!err && mr->domain->mr_eq && (mr->domain->mr_mode & KFI_MR_ENDPOINT))
		err = kemu_mr_completed(mr);
	return err;
}
