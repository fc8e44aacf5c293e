/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_attr_kcxi.c - personality `kcxi`: what programs of kfabric meet with HPE's provider cxi. */
#include "emu/fi/personality/fi_attr.h"

/* The row of ports that one pid is: emu/kfi's KEMU_PID_PORTS. 40 tries take some two seconds, where HPE's rnr_timeout is a time. */
enum { KCXI_KEY_BYTES = 7, KCXI_REGIONS = 2048, KCXI_ROW_PORTS = EMU_FI_ROW_PORTS, KCXI_RNR_TRIES = 40 };

const struct attr_table attr_kcxi = {
	ATTR_COMMON,
	.name = "kcxi",
	.caps = (ATTR_CAPS & ~FI_COLLECTIVE) | ATTR_CAPS_KERNEL,
	.mr_mode = FI_MR_ENDPOINT,
	.mr_key_size = KCXI_KEY_BYTES,
	.mr_cnt = KCXI_REGIONS,
	.row_ports = KCXI_ROW_PORTS,
	.rnr_most = KCXI_RNR_TRIES,
	.receives_first = true,
	.binds_contexts = true,
	.empty_regions = true,
	.multi_last = true,
	.multi_buf = true,
	.kernel_words = true,
	.close = CLOSE_MR_FIRST,
};
