/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_data.h - the tables of data transfer calls, which kemu_ep.c gives to the endpoints that it opens. Any thread. */
#ifndef EMU_KFI_DATA_H
#define EMU_KFI_DATA_H

#include <kfi_atomic.h>
#include <kfi_endpoint.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>

extern struct kfi_ops_msg kemu_msg_ops;
extern struct kfi_ops_rma kemu_rma_ops;
extern struct kfi_ops_tagged kemu_tagged_ops;
extern struct kfi_ops_atomic kemu_atomic_ops;

/* kfi_cancel() */
ssize_t kemu_cancel(struct kfid *fid, void *context);
/* kfi_query_atomic() */
int kemu_query_atomic(struct kfid_domain *domain, enum kfi_datatype datatype, enum kfi_op op, struct kfi_atomic_attr *attr,
		      uint64_t flags);

#endif
