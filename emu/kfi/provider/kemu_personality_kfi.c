/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_personality_kfi.c - personality `kfi`: all that kfi_mr(3) promises, and all that the NIC can do. */
#include "emu/kfi/provider/kemu_personality.h"

const struct kemu_personality kemu_personality_kfi = {
	.name = "kfi",
	.prov_name = "emu",
	.endpoints = true,
	.mr_mode = KFI_MR_LOCAL | KFI_MR_RAW | KFI_MR_VIRT_ADDR | KFI_MR_PROV_KEY | KFI_MR_RMA_EVENT | KFI_MR_ENDPOINT,
	.mr_key_max = UINT64_MAX,
	.msg_order = UINT64_MAX,
	.inject_size = SIZE_MAX,
	.cq_data_size = SIZE_MAX,
	.buffered_recv = SIZE_MAX,
	.error_text = true,
	.waits = true,
	.reg_flags = true,
	.local_bits = true,
	.regattr = true,
	.descriptors = true,
	.raw_keys = true,
	.counters = true,
};
