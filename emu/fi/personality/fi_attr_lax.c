/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_attr_lax.c - personality `lax`: asks for no mr_mode bit, and passes over what other providers do; refusals are the same. */
#include "emu/fi/personality/fi_attr.h"

const struct attr_table attr_lax = {
	ATTR_COMMON,
	.msg_order = ATTR_MSG_ORDER,
	.name = "lax",
	.caps = ATTR_CAPS,
	.mr_key_size = RAW_KEY_PLAIN,
	.mr_cnt = LIMIT_REGIONS,
	.mr_mode = 0,
	.access_ignored = ATTR_CAPS & ~FI_COLLECTIVE,
	.cntr_wait_none = true,
	.binds_late = true,
	.closes_shared = true,
	.close = CLOSE_ANY,
};
