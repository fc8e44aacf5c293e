/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_cxi_ext.h - what provider cxi has besides: two tables for kfi_open_ops(), and the form of its addresses. */
#ifndef EMU_KFI_CXI_EXT_H
#define EMU_KFI_CXI_EXT_H

#include <kfabric.h>

struct device;

#define KFI_CXI_FAB_OPS_1 "cxi_fab_ops_v1" /* of a fabric */
#define KFI_CXI_DOM_OPS_1 "cxi_dom_ops_v1" /* of a domain */

struct kfi_cxi_fabric_ops {
	/* Domains that are opened later reserve what kfi_domain_attr asks for (true), or the defaults (false). */
	int (*enable_dynamic_rsrc_alloc)(struct kfid *fid, bool enable);
};

struct kfi_cxi_domain_ops {
	/* Gives the device for which memory is mapped (dma_map_sgtable()). The provider owns it. */
	int (*get_device)(struct kfid *fid, struct device **device);
};

/* An address of format KFI_ADDR_CXI, in 8 bytes. */
struct kcxi_addr {
	uint64_t pid : 12;
	uint64_t nic : 32;
	uint64_t flags : 10; /* the provider's own */
};

#endif
