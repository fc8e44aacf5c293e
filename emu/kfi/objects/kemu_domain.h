/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_domain.h - opening a domain. May sleep. */
#ifndef EMU_KFI_DOMAIN_OPEN_H
#define EMU_KFI_DOMAIN_OPEN_H

#include <kfi_domain.h>

/* kfi_domain(). */
int kemu_domain_open(struct kfid_fabric *fabric, struct kfi_info *info, struct kfid_domain **domain, void *context);

#endif
