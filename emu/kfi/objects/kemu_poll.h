/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_poll.h - opening poll sets and wait sets. May sleep. */
#ifndef EMU_KFI_POLL_H
#define EMU_KFI_POLL_H

#include <kfi_domain.h>

/* kfi_poll_open() and kfi_wait_open(). */
int kemu_poll_open(struct kfid_domain *domain, struct kfi_poll_attr *attr, struct kfid_poll **pollset);
int kemu_wait_open(struct kfid_fabric *fabric, struct kfi_wait_attr *attr, struct kfid_wait **waitset);

#endif
