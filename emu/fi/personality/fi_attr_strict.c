/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_attr_strict.c - personality `strict`: holds a program to every mr_mode bit that it offers. */
#include "emu/fi/personality/fi_attr.h"

const struct attr_table attr_strict = {
	ATTR_COMMON,
	.msg_order = ATTR_MSG_ORDER,
	.name = "strict",
	.caps = ATTR_CAPS,
	.mr_key_size = RAW_KEY_PLAIN,
	.mr_cnt = LIMIT_REGIONS,
	.mr_mode = FI_MR_LOCAL | FI_MR_RAW | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT | FI_MR_RMA_EVENT |
		   FI_MR_MMU_NOTIFY | FI_MR_HMEM | FI_MR_COLLECTIVE,
	.close = CLOSE_ANY,
};
