/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_fabric.h - opening a fabric. May sleep. */
#ifndef EMU_KFI_FABRIC_H
#define EMU_KFI_FABRIC_H

#include <kfabric.h>

/* kfi_fabric() of the provider. -KFI_ENODATA: there is no fabric of that name. */
int kemu_fabric_open(struct kfi_fabric_attr *attr, struct kfid_fabric **fabric, void *context);
/* How many are open. Any thread. */
unsigned int kemu_fabrics_open(void);

/* What kfi_getinfo() tells of those that are open. Any thread; the handles stay the clients'. */
/* The name of this one, copied; NULL: none is open by this handle, or there is no memory. */
char *kemu_fabric_name(const struct kfid_fabric *fabric);
/* The first one that was opened by this name, or NULL. */
struct kfid_fabric *kemu_fabric_named(const char *name);

#endif
