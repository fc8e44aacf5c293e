/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_attr_kfi.c - personality `kfi`: what kfi_mr(3) promises. It asks for the mr_mode bits that kfabric has, of those offered. */
#include "emu/fi/personality/fi_attr.h"

const struct attr_table attr_kfi = {
	ATTR_COMMON,
	.msg_order = ATTR_MSG_ORDER,
	.name = "kfi",
	.caps = (ATTR_CAPS & ~FI_COLLECTIVE) | ATTR_CAPS_KERNEL,
	.mr_key_size = RAW_KEY_PLAIN,
	.mr_cnt = LIMIT_REGIONS,
	.mr_mode = FI_MR_LOCAL | FI_MR_RAW | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_ENDPOINT | FI_MR_RMA_EVENT,
	.binds_contexts = true,
	.empty_regions = true,
	.multi_last = true,
	.kernel_words = true,
	.close = CLOSE_MR_LAST,
};
