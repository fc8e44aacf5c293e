/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_mr.h - regions: the registration calls, and the parts of the object. Any thread; may sleep. */
#ifndef EMU_KFI_MR_H
#define EMU_KFI_MR_H

#include <kfi_domain.h>
#include <stdint.h>

#include "emu/kfi/mr/kemu_memory.h"
#include "emu/kfi/provider/kemu_objects.h"

/* --- the registration calls, which kemu_domain.c gives to the domains that it opens --- */

extern struct kfi_ops_mr kemu_mr_ops;

/* Commands of kfi_control() on a domain: KFI_MAP_RAW_MR, KFI_UNMAP_KEY. */
int kemu_mr_domain_control(struct kfid *domain, int command, void *arg);

/* --- the parts of the region object --- */

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
