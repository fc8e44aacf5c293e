/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_domain.h - opening a domain. May sleep. */
#ifndef EMU_KFI_DOMAIN_OPEN_H
#define EMU_KFI_DOMAIN_OPEN_H

#include <kfi_domain.h>

/* kfi_domain(). */
int kemu_domain_open(struct kfid_fabric *fabric, struct kfi_info *info, struct kfid_domain **domain, void *context);

/* What kfi_getinfo() tells of those that are open. Any thread; the handles stay the clients'. */
/* The name of this one, copied; NULL: none is open by this handle, or there is no memory. With a fabric: in that one. */
char *kemu_domain_name(const struct kfid_domain *domain, const struct kfid_fabric *fabric);
/* The first one that was opened by this name in this fabric, or NULL. */
struct kfid_domain *kemu_domain_named(const char *name, const struct kfid_fabric *fabric);

#endif
