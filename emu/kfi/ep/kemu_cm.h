/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_cm.h - names, connections, and passive endpoints. May sleep, unless said. */
#ifndef EMU_KFI_CM_OPS_H
#define EMU_KFI_CM_OPS_H

#include <kfi_cm.h>

struct fid;

extern struct kfi_ops_cm kemu_cm_ops;

/* kfi_passive_ep(). */
int kemu_pep_open(struct kfid_fabric *fabric, struct kfi_info *info, struct kfid_pep **pep, void *context);
/* An info's handle, in libfabric's terms: of a passive endpoint, or of a connection request. Any context. */
struct fid *kemu_handle_to_fi(kfid_t handle);

#endif
