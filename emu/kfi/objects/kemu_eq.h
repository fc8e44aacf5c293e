/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_eq.h - opening an event queue. May sleep. */
#ifndef EMU_KFI_EQ_OPEN_H
#define EMU_KFI_EQ_OPEN_H

#include "emu/kfi/objects/kemu_queues.h"
#include "emu/kfi/provider/kemu_objects.h"

/* kfi_eq_open(). Its handler is armed from the beginning. */
int kemu_eq_open(struct kfid_fabric *fabric, struct kfi_eq_attr *attr, struct kfid_eq **eq, kfi_event_handler event_handler,
		 void *context);
/* The event queue behind a handle, or NULL: the handle is of another class, or the queue of another fabric. */
struct kemu_eq *kemu_eq_of(struct kfid *fid, const struct kemu_fabric *fabric);

#endif
