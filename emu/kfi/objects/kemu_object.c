/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_object.c - the counts of objects' users, refused calls, and wait objects. */
#include "emu/kfi/objects/kemu_object.h"

#include <kfi_errno.h>
#include <stdlib.h>

#include "emu/kfi/provider/kemu_personality.h"
#include "emu/kfi/provider/kemu_refuse.h"

int kemu_object_opened(struct kemu_object *object, atomic_uint *from, void *memory, int err)
{
	if (err) {
		free(memory);
		return err;
	}
	object->from = from;
	atomic_fetch_add(from, 1);
	if (object->bound)
		atomic_fetch_add(object->bound, 1);
	return 0;
}

void kemu_object_bind(struct kemu_object *object, struct kemu_eq *eq)
{
	object->bound = &eq->object.users;
	atomic_fetch_add(object->bound, 1);
}

void kemu_object_end(struct kemu_object *object, void *memory)
{
	if (object->bound)
		atomic_fetch_sub(object->bound, 1);
	atomic_fetch_sub(object->from, 1);
	free(memory);
}

int kemu_object_close(struct kemu_object *object, struct fid *fi, void *memory)
{
	int err = fi_close(fi);

	if (!err)
		kemu_object_end(object, memory);
	return err;
}

int kemu_no_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags)
{
	(void)bfid, (void)flags;
	return KEMU_REFUSE(-KFI_ENOSYS, "bind: nothing is bound to an object of class %zu.", fid->fclass);
}

int kemu_no_control(struct kfid *fid, int command, void *arg)
{
	(void)arg;
	return KEMU_REFUSE(-KFI_ENOSYS, "kfi_control: command %d is not one of an object of class %zu.", command, fid->fclass);
}

int kemu_no_ops_open(struct kfid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	(void)flags, (void)ops, (void)context;
	return KEMU_REFUSE(-KFI_EINVAL, "kfi_open_ops: an object of class %zu has no table `%s`.", fid->fclass,
			   name ? name : "(NULL)");
}

int kemu_wait_attr(const struct kemu_fabric *fabric, const char *call, enum kfi_wait_obj wait_obj, struct kfid_wait *wait_set,
		   bool handler, struct kemu_object *object, enum fi_wait_obj *fi, struct fid_wait **fi_set)
{
	struct kemu_wait *set;

	if (wait_obj != KFI_WAIT_NONE && !fabric->personality->waits)
		return KEMU_REFUSE(-KFI_ENOSYS, "%s: wait_obj %d, and provider %s has KFI_WAIT_NONE alone.", call, (int)wait_obj,
				   fabric->personality->prov_name);
	*fi = handler ? FI_WAIT_FD : FI_WAIT_NONE;
	switch (wait_obj) {
	case KFI_WAIT_NONE:
		return 0;
	case KFI_WAIT_UNSPEC:
	case KFI_WAIT_QUEUE:
		*fi = FI_WAIT_FD;
		return 0;
	case KFI_WAIT_SET:
		break;
	default:
		return KEMU_REFUSE(-KFI_EINVAL, "%s: wait_obj %d is none of KFI_WAIT_NONE to KFI_WAIT_QUEUE.", call, (int)wait_obj);
	}
	if (!wait_set)
		return KEMU_REFUSE(-KFI_EINVAL, "%s: KFI_WAIT_SET, and wait_set is NULL.", call);
	if (handler)
		return KEMU_REFUSE(-KFI_ENOSYS, "%s: a handler and a wait set. Take one of them.", call);
	set = container_of(wait_set, struct kemu_wait, kfid);
	object->bound = &set->object.users;
	*fi_set = set->fi;
	*fi = FI_WAIT_SET;
	return 0;
}

int kemu_time_left(uint64_t end, int timeout)
{
	uint64_t now = emu_kernel_ns();

	if (timeout < 0)
		return -1;
	return now < end ? (int)((end - now + 999999) / 1000000) : 0;
}
