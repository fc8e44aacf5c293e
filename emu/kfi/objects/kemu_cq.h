/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_cq.h - opening a completion queue. May sleep. */
#ifndef EMU_KFI_CQ_H
#define EMU_KFI_CQ_H

#include "emu/kfi/objects/kemu_queues.h"
#include "emu/kfi/provider/kemu_objects.h"

/* kfi_cq_open(). Its handler is armed from the beginning. */
int kemu_cq_open(struct kfid_domain *domain, struct kfi_cq_attr *attr, struct kfid_cq **cq, kfi_comp_handler comp_handler,
		 void *context);

#endif
