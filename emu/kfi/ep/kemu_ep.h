/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_ep.h - endpoints and contexts of all kinds: opening, and the tables of their calls. May sleep, unless said. */
#ifndef EMU_KFI_EP_H
#define EMU_KFI_EP_H

#include <kfi_atomic.h>
#include <kfi_cm.h>
#include <kfi_endpoint.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>

#include "emu/kfi/provider/kemu_objects.h"

struct fid;

/* --- opening, and what the kinds share --- */

/* kfi_endpoint(), kfi_scalable_ep(), kfi_stx_context(), kfi_srx_context(), kfi_tx_context(), kfi_rx_context(). */
int kemu_ep_open(struct kfid_domain *domain, struct kfi_info *info, struct kfid_ep **ep, void *context);
int kemu_scalable_open(struct kfid_domain *domain, struct kfi_info *info, struct kfid_ep **sep, void *context);
int kemu_stx_open(struct kfid_domain *domain, struct kfi_tx_attr *attr, struct kfid_stx **stx, void *context);
int kemu_srx_open(struct kfid_domain *domain, struct kfi_rx_attr *attr, struct kfid_ep **srx, void *context);
int kemu_tx_context(struct kfid_ep *sep, int index, struct kfi_tx_attr *attr, struct kfid_ep **tx, void *context);
int kemu_rx_context(struct kfid_ep *sep, int index, struct kfi_rx_attr *attr, struct kfid_ep **rx, void *context);

/* A new object of this class, with all tables; NULL: no memory. */
struct kemu_ep *kemu_ep_new(struct kemu_domain *domain, size_t class, void *context);
/* The end of a call that opens. `err` is what libfabric's call said, and what this gives back: the object is counted in its domain,
 * or its memory is freed. */
int kemu_ep_opened(struct kemu_ep *ep, int err, struct kfid_ep **out);
/* kfi_enable() of a context: finds its scalable endpoint an address first, if that has none. */
int kemu_context_enable(struct kemu_ep *context);
/* kfi_control() with KFI_ALIAS. */
int kemu_ep_alias(struct kemu_ep *ep, const struct kfi_alias *alias);

/* kfi_ep_bind() and kfi_scalable_ep_bind(). */
int kemu_ep_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags);

/* --- names, connections, and passive endpoints --- */

extern struct kfi_ops_cm kemu_cm_ops;

/* kfi_passive_ep(). */
int kemu_pep_open(struct kfid_fabric *fabric, struct kfi_info *info, struct kfid_pep **pep, void *context);
/* An info's handle, in libfabric's terms: of a passive endpoint, or of a connection request. Any context. */
struct fid *kemu_handle_to_fi(kfid_t handle);

/* --- the tables of data transfer calls, which kemu_ep.c gives to the endpoints that it opens. Any thread. --- */

extern struct kfi_ops_msg kemu_msg_ops;
extern struct kfi_ops_rma kemu_rma_ops;
extern struct kfi_ops_tagged kemu_tagged_ops;
extern struct kfi_ops_atomic kemu_atomic_ops;

/* kfi_query_atomic() */
int kemu_query_atomic(struct kfid_domain *domain, enum kfi_datatype datatype, enum kfi_op op, struct kfi_atomic_attr *attr,
		      uint64_t flags);

#endif
