/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_personality_kcxi.c - personality `kcxi`: what HPE's provider for Slingshot, shs-kfabric's prov/cxi, does. */
#include <errno.h>

#include "emu/kfi/provider/kemu_addr.h"
#include "emu/kfi/provider/kemu_personality.h"

const struct kemu_personality kemu_personality_kcxi = {
	.name = "kcxi",
	.prov_name = "kcxi",
	.fabric_prefix = "cxi/",
	.domain_prefix = "cxi",
	.protocol = KFI_PROTO_CXI,
	.cxi_addresses = true,
	.caps = KFI_MSG | KFI_RMA | KFI_TAGGED | KFI_TAGGED_RMA | KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE | KFI_REMOTE_READ |
		KFI_REMOTE_WRITE | KFI_MULTI_RECV | KFI_RMA_EVENT | KFI_SOURCE | KFI_DIRECTED_RECV | KFI_NAMED_RX_CTX |
		KFI_LOCAL_COMM | KFI_REMOTE_COMM,
	.contexts = KEMU_CONTEXTS,        /* KCXI_MAX_RX_CTX */
	.own_index = true,                /* kcxi_sendmsg(), kcxi_rma_command() */
	.saturates = true,                /* kcxi_cq_saturated() */
	.overflow = 2000000,              /* MAX_CQ_OVERFLOW_ENTRY_CNT, kcxi_cq_entry_alloc() */
	.flags_alone = true,              /* kcxi_tx_ctx_get_op_flags() */
	.resource_mgmt = KFI_RM_DISABLED, /* KCXI_DOM_RESOURCE_MGMT: but it retries, and tells when a queue is full */
	.not_ready = EREMOTEIO,           /* kcxi_msg_tx_req_cb(), kcxi_rma_req_cb() */
	.mr_mode = KFI_MR_ENDPOINT,
	.mr_mode_always = true,
	.mr_key_max = (1ULL << 52) - 1, /* the match bits above belong to the provider */
	.empty_vectors = true,
	.contexts_only = true,
	.binds_blindly = true,
	.keys_at_enable = true,
	.region_events = true,
	.bound_closes = true,
};
