/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_mr.h - the registration calls, which kemu_domain.c gives to the domains that it opens. Any thread; may sleep. */
#ifndef EMU_KFI_MR_H
#define EMU_KFI_MR_H

#include <kfi_domain.h>

extern struct kfi_ops_mr kemu_mr_ops;

/* Commands of kfi_control() on a domain: KFI_MAP_RAW_MR, KFI_UNMAP_KEY. */
int kemu_mr_domain_control(struct kfid *domain, int command, void *arg);

#endif
