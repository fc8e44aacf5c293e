/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_av.h - opening an address vector. May sleep. */
#ifndef EMU_KFI_AV_H
#define EMU_KFI_AV_H

#include <kfi_domain.h>

/* kfi_av_open(). */
int kemu_av_open(struct kfid_domain *domain, struct kfi_av_attr *attr, struct kfid_av **av, void *context);

#endif
