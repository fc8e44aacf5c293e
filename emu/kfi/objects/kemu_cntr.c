/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_cntr.c - counters. */
#include "emu/kfi/objects/kemu_open.h"

#include <kfi_errno.h>
#include <stdlib.h>

#include "emu/kfi/objects/kemu_object.h"
#include "emu/kfi/provider/kemu_refuse.h"
#include "emu/kfi/provider/kemu_personality.h"

static struct kemu_cntr *kemu_cntr_of(struct kfid_cntr *kfid)
{
	return container_of(kfid, struct kemu_cntr, kfid);
}

static uint64_t kemu_cntr_read(struct kfid_cntr *cntr)
{
	return fi_cntr_read(kemu_cntr_of(cntr)->fi);
}

static uint64_t kemu_cntr_readerr(struct kfid_cntr *cntr)
{
	return fi_cntr_readerr(kemu_cntr_of(cntr)->fi);
}

static int kemu_cntr_add(struct kfid_cntr *cntr, uint64_t value)
{
	return fi_cntr_add(kemu_cntr_of(cntr)->fi, value);
}

static int kemu_cntr_adderr(struct kfid_cntr *cntr, uint64_t value)
{
	return fi_cntr_adderr(kemu_cntr_of(cntr)->fi, value);
}

static int kemu_cntr_set(struct kfid_cntr *cntr, uint64_t value)
{
	return fi_cntr_set(kemu_cntr_of(cntr)->fi, value);
}

static int kemu_cntr_seterr(struct kfid_cntr *cntr, uint64_t value)
{
	return fi_cntr_seterr(kemu_cntr_of(cntr)->fi, value);
}

static int kemu_cntr_wait(struct kfid_cntr *cntr, uint64_t threshold, int timeout)
{
	EMU_KERNEL_SLEEPS("kfi_cntr_wait");
	return fi_cntr_wait(kemu_cntr_of(cntr)->fi, threshold, timeout);
}

static struct kfi_ops_cntr cntr_ops = {
	.size = sizeof(struct kfi_ops_cntr),
	.read = kemu_cntr_read,
	.readerr = kemu_cntr_readerr,
	.add = kemu_cntr_add,
	.set = kemu_cntr_set,
	.wait = kemu_cntr_wait,
	.adderr = kemu_cntr_adderr,
	.seterr = kemu_cntr_seterr,
};

static int kemu_cntr_close(struct kfid *fid)
{
	struct kemu_cntr *cntr = container_of(fid, struct kemu_cntr, kfid.fid);
	int err;

	EMU_KERNEL_SLEEPS("kfi_close");
	err = KEMU_REFUSE_USED(cntr->object.users, "endpoints to which the counter is bound, and poll sets with it");
	return err ? err : kemu_object_close(&cntr->object, &cntr->fi->fid, cntr);
}

static struct kfi_ops cntr_fid_ops = {
	.size = sizeof(struct kfi_ops),
	.close = kemu_cntr_close,
	KEMU_NO_FID_OPS,
};

static int open_cntr(struct kemu_cntr *cntr, const struct kfi_cntr_attr *attr)
{
	struct fi_cntr_attr fi = { .events = FI_CNTR_EVENTS_COMP };
	int err;

	if (!attr)
		return fi_cntr_open(cntr->domain->fi, NULL, &cntr->fi, cntr);
	if (attr->events != KFI_CNTR_EVENTS_COMP)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_cntr_open: events %d is not KFI_CNTR_EVENTS_COMP.", (int)attr->events);
	if (attr->flags)
		return KEMU_REFUSE_FLAGS("kfi_cntr_open", attr->flags, "");
	err = kemu_wait_attr(cntr->domain->fabric, "kfi_cntr_open", attr->wait_obj, attr->wait_set, false, &cntr->object,
			     &fi.wait_obj, &fi.wait_set);
	return err ? err : fi_cntr_open(cntr->domain->fi, &fi, &cntr->fi, cntr);
}

int kemu_cntr_open(struct kfid_domain *domain, struct kfi_cntr_attr *attr, struct kfid_cntr **out, void *context)
{
	struct kemu_cntr *cntr;
	int err;

	EMU_KERNEL_SLEEPS("kfi_cntr_open");
	if (!kemu_domain(&domain->fid)->fabric->personality->counters)
		return KEMU_REFUSE(-KFI_ENOSYS, "kfi_cntr_open: this provider has no counters.");
	if (!out)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_cntr_open: cntr is NULL.");
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return -KFI_ENOMEM;
	cntr->domain = kemu_domain(&domain->fid);
	cntr->kfid = (struct kfid_cntr){ .fid = { .fclass = KFI_CLASS_CNTR, .context = context, .ops = &cntr_fid_ops },
					 .ops = &cntr_ops };
	err = kemu_object_opened(&cntr->object, &cntr->domain->object.users, cntr, open_cntr(cntr, attr));
	if (!err)
		*out = &cntr->kfid;
	return err;
}
