/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_cntr.h - opening a counter. May sleep. */
#ifndef EMU_KFI_CNTR_H
#define EMU_KFI_CNTR_H

#include <kfi_domain.h>

/* kfi_cntr_open(). */
int kemu_cntr_open(struct kfid_domain *domain, struct kfi_cntr_attr *attr, struct kfid_cntr **cntr, void *context);

#endif
