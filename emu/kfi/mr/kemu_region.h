/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_region.h - the parts of the region object. Any thread; may sleep. */
#ifndef EMU_KFI_REGION_H
#define EMU_KFI_REGION_H

#include <stdint.h>

#include "emu/kfi/mr/kemu_memory.h"
#include "emu/kfi/provider/kemu_objects.h"

/* What a client asks to register. */
struct kemu_mr_request {
	struct kemu_memory memory;
	uint64_t access, offset, key, flags; /* flags: libfabric's */
	void *context;
	uint8_t *auth_key; /* read during the call */
	size_t auth_key_size;
};

/* kemu_mr.c: registers it at the device, and sets `fi`. 0, or what fi_mr_regattr() says. */
int kemu_mr_to_device(struct kemu_mr *mr, const struct kemu_mr_request *request);
/* The registration has completed: the client may read key and descriptor, and finds the event if it waits for one. */
int kemu_mr_completed(struct kemu_mr *mr);

/* kemu_mr_bind.c: kfi_mr_bind(), kfi_mr_enable(). */
int kemu_mr_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags);
int kemu_mr_enable(struct kemu_mr *mr);

/* kemu_mr_raw.c: kfi_mr_raw_attr(), kfi_mr_refresh(). */
int kemu_mr_raw_attr(struct kemu_mr *mr, const struct kfi_mr_raw_attr *attr);
int kemu_mr_refresh(struct kemu_mr *mr, const struct kfi_mr_modify *modify);

/* -KFI_EINVAL, after a sentence. */
int kemu_mr_unknown_command(const char *what, int command);

#endif
