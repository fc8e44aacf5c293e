/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_object.h - what the objects share when they are opened: refused calls, and wait objects. Any thread. */
#ifndef EMU_KFI_OBJECT_H
#define EMU_KFI_OBJECT_H

#include <kfi_eq.h>
#include <rdma/fi_eq.h>

#include "emu/kfi/provider/kemu_objects.h"

/* Calls that an object does not have: -KFI_ENOSYS. */
int kemu_no_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags);
int kemu_no_control(struct kfid *fid, int command, void *arg);
/* kfi_open_ops() of an object without tables: -KFI_EINVAL, as of an unknown name. */
int kemu_no_ops_open(struct kfid *fid, const char *name, uint64_t flags, void **ops, void *context);

/* What a queue or counter waits on, in libfabric's terms; a queue with a handler has a descriptor for the softirq thread. 0;
 * -KFI_ENOSYS: the personality has no waiting, or a handler and a wait set; -KFI_EINVAL. */
int kemu_wait_attr(const struct kemu_fabric *fabric, const char *call, enum kfi_wait_obj wait_obj, struct kfid_wait *wait_set,
		   bool handler, enum fi_wait_obj *fi, struct kemu_wait **set);

/* What is left in ms of a timeout that ends at `end` (emu_kernel_ns()); without end it stays -1. Any context. */
int kemu_time_left(uint64_t end, int timeout);

#endif
