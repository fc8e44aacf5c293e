/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_object.h - what the objects share: the counts of their users, refused calls, and wait objects. Any thread. */
#ifndef EMU_KFI_OBJECT_H
#define EMU_KFI_OBJECT_H

#include <kfi_errno.h>
#include <kfi_eq.h>
#include <rdma/fi_eq.h>

#include "emu/kfi/provider/kemu_objects.h"
#include "emu/kfi/provider/kemu_refuse.h"

/* The end of a call that opens. `err` is what libfabric's call said, and what this gives back: the object stands in the counts of
 * what it was opened from and of what it is bound to, or its memory is freed. */
int kemu_object_opened(struct kemu_object *object, atomic_uint *from, void *memory, int err);
/* Binds it to an event queue, which stays open as long as it. */
void kemu_object_bind(struct kemu_object *object, struct kemu_eq *eq);
/* kfi_close(): closes libfabric's object; then takes this one out of the counts, and frees its memory. May sleep. */
int kemu_object_close(struct kemu_object *object, struct fid *fi, void *memory);
/* The last part of that alone. */
void kemu_object_end(struct kemu_object *object, void *memory);

/* kfi_close() of an object with users, which `what` names: -KFI_EBUSY after a sentence; else 0. */
#define KEMU_REFUSE_USED(users, what)                                                                                \
	({                                                                                                           \
		unsigned int kemu_count = atomic_load(&(users));                                                     \
		kemu_count ? KEMU_REFUSE(-KFI_EBUSY, "kfi_close: " what ": %u. Close those first.", kemu_count) : 0; \
	})

/* Calls that an object does not have: -KFI_ENOSYS. */
int kemu_no_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags);
int kemu_no_control(struct kfid *fid, int command, void *arg);
/* kfi_open_ops() of an object without tables: -KFI_EINVAL, as of an unknown name. */
int kemu_no_ops_open(struct kfid *fid, const char *name, uint64_t flags, void **ops, void *context);
/* The last members of the table of an object that has none of these calls. */
#define KEMU_NO_FID_OPS .bind = kemu_no_bind, .control = kemu_no_control, .ops_open = kemu_no_ops_open

/* What a queue or counter waits on, in libfabric's terms; a queue with a handler has a descriptor for the softirq thread. 0;
 * -KFI_ENOSYS: the personality has no waiting, or a handler and a wait set; -KFI_EINVAL. `object` is bound to a wait set. */
int kemu_wait_attr(const struct kemu_fabric *fabric, const char *call, enum kfi_wait_obj wait_obj, struct kfid_wait *wait_set,
		   bool handler, struct kemu_object *object, enum fi_wait_obj *fi, struct fid_wait **fi_set);

/* What is left in ms of a timeout that ends at `end` (emu_kernel_ns()); without end it stays -1. Any context. */
int kemu_time_left(uint64_t end, int timeout);

#endif
