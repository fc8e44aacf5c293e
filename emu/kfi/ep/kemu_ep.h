/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_ep.h - endpoints and contexts of all kinds: opening, and what the kinds share. May sleep. */
#ifndef EMU_KFI_EP_H
#define EMU_KFI_EP_H

#include "emu/kfi/provider/kemu_objects.h"

/* kfi_endpoint(), kfi_scalable_ep(), kfi_stx_context(), kfi_srx_context(), kfi_tx_context(), kfi_rx_context(). */
int kemu_ep_open(struct kfid_domain *domain, struct kfi_info *info, struct kfid_ep **ep, void *context);
int kemu_scalable_open(struct kfid_domain *domain, struct kfi_info *info, struct kfid_ep **sep, void *context);
int kemu_stx_open(struct kfid_domain *domain, struct kfi_tx_attr *attr, struct kfid_stx **stx, void *context);
int kemu_srx_open(struct kfid_domain *domain, struct kfi_rx_attr *attr, struct kfid_ep **srx, void *context);
int kemu_tx_context(struct kfid_ep *sep, int index, struct kfi_tx_attr *attr, struct kfid_ep **tx, void *context);
int kemu_rx_context(struct kfid_ep *sep, int index, struct kfi_rx_attr *attr, struct kfid_ep **rx, void *context);

/* A new object of this class, with all tables; NULL: no memory. */
struct kemu_ep *kemu_ep_new(struct kemu_domain *domain, size_t class, void *context);
/* Counts it in its domain, when libfabric's object is open. */
void kemu_ep_count(struct kemu_ep *ep);
/* kfi_enable() of a context: finds its scalable endpoint an address first, if that has none. */
int kemu_context_enable(struct kemu_ep *context);
/* kfi_control() with KFI_ALIAS. */
int kemu_ep_alias(struct kemu_ep *ep, const struct kfi_alias *alias);

/* kfi_ep_bind() and kfi_scalable_ep_bind(). */
int kemu_ep_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags);

#endif
