/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_fabric.h - opening a fabric. May sleep. */
#ifndef EMU_KFI_FABRIC_H
#define EMU_KFI_FABRIC_H

#include <kfabric.h>

/* kfi_fabric() of the provider. -KFI_ENODATA: there is no fabric of that name. */
int kemu_fabric_open(struct kfi_fabric_attr *attr, struct kfid_fabric **fabric, void *context);
/* How many are open. Any thread. */
unsigned int kemu_fabrics_open(void);

#endif
