/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_queues.h - what the queues do for the other objects. Any thread, unless said. */
#ifndef EMU_KFI_QUEUES_H
#define EMU_KFI_QUEUES_H

#include <kfi_eq.h>
#include <stdbool.h>
#include <stdint.h>

struct kemu_cq;
struct kemu_eq;
struct kemu_fabric;
struct kemu_window;

/* The event queue behind a handle, or NULL: the handle is of another class, or the queue of another fabric. */
struct kemu_eq *kemu_eq_of(struct kfid *fid, const struct kemu_fabric *fabric);
/* Reports the end of an asynchronous registration: KFI_MR_COMPLETE, or the error `err` (positive) by kfi_eq_readerr(). 0 or
 * -KFI_ENOMEM. */
int kemu_eq_tell_mr(struct kemu_eq *eq, struct kfid *mr, void *context, int err);
/* Takes back what is not read yet of a region that closes. */
void kemu_eq_forget(struct kemu_eq *eq, const struct kfid *fid);

/* An operation whose buffers lie in a window: libfabric gets what this returns for its context, and the queue gives the client's
 * context back and frees the window when the operation completes. `silent`: the client was to have no completion, and gets one only
 * for a failure. NULL: no memory. */
void *kemu_cq_lend(struct kemu_cq *cq, void *context, struct kemu_window *window, bool silent);
/* The operation was not posted after all: the window stays the caller's. */
void kemu_cq_unlend(struct kemu_cq *cq, void *lent);
/* For kfi_cancel(): what libfabric knows for this context, which is itself where nothing is lent. */
void *kemu_cq_lent(struct kemu_cq *cq, void *context);

/* It has as many entries that nobody has read as its size. Any thread. */
bool kemu_cq_saturated(struct kemu_cq *cq);

#endif
