/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_poll.c - poll sets and wait sets. */
#include "emu/kfi/objects/kemu_open.h"

#include <kfi_errno.h>
#include <stdlib.h>

#include "emu/kfi/objects/kemu_object.h"
#include "emu/kfi/provider/kemu_personality.h"
#include "emu/kfi/provider/kemu_refuse.h"

/* --- poll sets --- */

/* libfabric's object behind a queue or counter, and its count of users; NULL: it is neither. */
static struct fid *polled(struct kfid *kfid, atomic_uint **users)
{
	struct kemu_cntr *cntr;
	struct kemu_cq *cq;

	switch (kfid ? kfid->fclass : KFI_CLASS_UNSPEC) {
	case KFI_CLASS_CQ:
		cq = container_of(kfid, struct kemu_cq, kfid.fid);
		*users = &cq->object.users;
		return &cq->fi->fid;
	case KFI_CLASS_CNTR:
		cntr = container_of(kfid, struct kemu_cntr, kfid.fid);
		*users = &cntr->object.users;
		return &cntr->fi->fid;
	default:
		return NULL;
	}
}

static struct kemu_poll *kemu_poll_of(struct kfid_poll *kfid)
{
	return container_of(kfid, struct kemu_poll, kfid);
}

/* libfabric's objects have ours for their context, which begin with their handle. */
static int kemu_poll_poll(struct kfid_poll *kfid, void **context, int count)
{
	int got = fi_poll(kemu_poll_of(kfid)->fi, context, count);

	for (int i = 0; i < got; i++)
		context[i] = ((struct kfid *)context[i])->context;
	return got;
}

static int kemu_poll_poll_add(struct kfid_poll *kfid, struct kfid *event_kfid, uint64_t flags)
{
	atomic_uint *users;
	struct fid *fid = polled(event_kfid, &users);
	int err = fid ? fi_poll_add(kemu_poll_of(kfid)->fi, fid, flags)
		      : KEMU_REFUSE(-KFI_EINVAL, "kfi_poll_add: neither a completion queue nor a counter.");

	if (!err)
		atomic_fetch_add(users, 1);
	return err;
}

static int kemu_poll_poll_del(struct kfid_poll *kfid, struct kfid *event_kfid, uint64_t flags)
{
	atomic_uint *users;
	struct fid *fid = polled(event_kfid, &users);
	int err = fid ? fi_poll_del(kemu_poll_of(kfid)->fi, fid, flags)
		      : KEMU_REFUSE(-KFI_EINVAL, "kfi_poll_del: neither a completion queue nor a counter.");

	if (!err)
		atomic_fetch_sub(users, 1);
	return err;
}

static struct kfi_ops_poll poll_ops = {
	.size = sizeof(struct kfi_ops_poll),
	.poll = kemu_poll_poll,
	.poll_add = kemu_poll_poll_add,
	.poll_del = kemu_poll_poll_del,
};

static int kemu_poll_close(struct kfid *fid)
{
	struct kemu_poll *poll = container_of(fid, struct kemu_poll, kfid.fid);

	EMU_KERNEL_SLEEPS("kfi_close");
	return kemu_object_close(&poll->object, &poll->fi->fid, poll);
}

static struct kfi_ops poll_fid_ops = {
	.size = sizeof(struct kfi_ops),
	.close = kemu_poll_close,
	KEMU_NO_FID_OPS,
};

int kemu_poll_open(struct kfid_domain *domain, struct kfi_poll_attr *attr, struct kfid_poll **out)
{
	struct fi_poll_attr fi = { .flags = attr ? attr->flags : 0 };
	struct kemu_poll *poll;
	int err;

	EMU_KERNEL_SLEEPS("kfi_poll_open");
	if (!kemu_domain(&domain->fid)->fabric->personality->counters)
		return KEMU_REFUSE(-KFI_ENOSYS, "kfi_poll_open: this provider has no poll sets.");
	if (!out)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_poll_open: pollset is NULL.");
	poll = calloc(1, sizeof(*poll));
	if (!poll)
		return -KFI_ENOMEM;
	poll->domain = kemu_domain(&domain->fid);
	poll->kfid = (struct kfid_poll){ .fid = { .fclass = KFI_CLASS_POLL, .ops = &poll_fid_ops }, .ops = &poll_ops };
	err = fi_poll_open(poll->domain->fi, &fi, &poll->fi);
	err = kemu_object_opened(&poll->object, &poll->domain->object.users, poll, err);
	if (!err)
		*out = &poll->kfid;
	return err;
}

/* --- wait sets --- */

static int kemu_wait_wait(struct kfid_wait *kfid, int timeout)
{
	EMU_KERNEL_SLEEPS("kfi_wait");
	return fi_wait(container_of(kfid, struct kemu_wait, kfid)->fi, timeout);
}

static struct kfi_ops_wait wait_ops = { .size = sizeof(struct kfi_ops_wait), .wait = kemu_wait_wait };

static int kemu_wait_close(struct kfid *fid)
{
	struct kemu_wait *wait = container_of(fid, struct kemu_wait, kfid.kfid);
	int err;

	EMU_KERNEL_SLEEPS("kfi_close");
	err = KEMU_REFUSE_USED(wait->object.users, "queues or counters in the wait set");
	return err ? err : kemu_object_close(&wait->object, &wait->fi->fid, wait);
}

static struct kfi_ops wait_fid_ops = {
	.size = sizeof(struct kfi_ops),
	.close = kemu_wait_close,
	KEMU_NO_FID_OPS,
};

int kemu_wait_open(struct kfid_fabric *fabric, struct kfi_wait_attr *attr, struct kfid_wait **out)
{
	struct fi_wait_attr fi = { .wait_obj = FI_WAIT_UNSPEC };
	struct kemu_wait *wait;
	int err;

	EMU_KERNEL_SLEEPS("kfi_wait_open");
	if (!kemu_fabric(fabric)->personality->waits)
		return KEMU_REFUSE(-KFI_ENOSYS, "kfi_wait_open: this provider has no wait sets.");
	if (!out)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_wait_open: waitset is NULL.");
	if (attr && (attr->flags || (attr->wait_obj != KFI_WAIT_UNSPEC && attr->wait_obj != KFI_WAIT_QUEUE)))
		return KEMU_REFUSE(-KFI_EINVAL,
				   "kfi_wait_open: flags are not 0, or wait_obj is not KFI_WAIT_UNSPEC or KFI_WAIT_QUEUE.");
	wait = calloc(1, sizeof(*wait));
	if (!wait)
		return -KFI_ENOMEM;
	wait->fabric = kemu_fabric(fabric);
	wait->kfid = (struct kfid_wait){ .kfid = { .fclass = KFI_CLASS_WAIT, .ops = &wait_fid_ops }, .ops = &wait_ops };
	err = fi_wait_open(wait->fabric->fi, &fi, &wait->fi);
	err = kemu_object_opened(&wait->object, &wait->fabric->object.users, wait, err);
	if (!err)
		*out = &wait->kfid;
	return err;
}
