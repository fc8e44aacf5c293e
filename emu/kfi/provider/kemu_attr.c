/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_attr.c - attributes of kfabric in libfabric's, and back. */
#include "emu/kfi/provider/kemu_info.h"

#include <linux/slab.h>
#include <linux/string.h>
#include <stdlib.h>

#include "emu/fi/provider/fi_kernel.h"
#include "emu/kfi/mr/kemu_memory.h"
#include "emu/kfi/provider/kemu_addr.h"
#include "emu/kfi/provider/kemu_personality.h"

#define SAME_VALUE(kfi, fi) _Static_assert((int)(kfi) == (int)(fi), #kfi)

SAME_VALUE(KFI_EP_MSG, FI_EP_MSG);
SAME_VALUE(KFI_EP_DGRAM, FI_EP_DGRAM);
SAME_VALUE(KFI_EP_RDM, FI_EP_RDM);
SAME_VALUE(KFI_THREAD_SAFE, FI_THREAD_SAFE);
SAME_VALUE(KFI_THREAD_FID, FI_THREAD_FID);
SAME_VALUE(KFI_THREAD_DOMAIN, FI_THREAD_DOMAIN);
SAME_VALUE(KFI_THREAD_COMPLETION, FI_THREAD_COMPLETION);
SAME_VALUE(KFI_THREAD_ENDPOINT, FI_THREAD_ENDPOINT);
SAME_VALUE(KFI_PROGRESS_AUTO, FI_PROGRESS_AUTO);
SAME_VALUE(KFI_PROGRESS_MANUAL, FI_PROGRESS_MANUAL);
SAME_VALUE(KFI_RM_DISABLED, FI_RM_DISABLED);
SAME_VALUE(KFI_RM_ENABLED, FI_RM_ENABLED);
SAME_VALUE(KFI_AV_MAP, FI_AV_MAP);
SAME_VALUE(KFI_AV_TABLE, FI_AV_TABLE);
SAME_VALUE(KFI_TC_DSCP, FI_TC_DSCP);
SAME_VALUE(KFI_TC_BEST_EFFORT, FI_TC_BEST_EFFORT);
SAME_VALUE(KFI_TC_NETWORK_CTRL, FI_TC_NETWORK_CTRL);
SAME_VALUE(KFI_ORDER_RAR, FI_ORDER_RAR);
SAME_VALUE(KFI_ORDER_SAS, FI_ORDER_SAS);
_Static_assert((size_t)KFI_SHARED_CONTEXT == (size_t)FI_SHARED_CONTEXT, "KFI_SHARED_CONTEXT");

#define TX_RIGHTS (KFI_SEND | KFI_READ | KFI_WRITE)
#define RX_RIGHTS (KFI_RECV | KFI_REMOTE_READ | KFI_REMOTE_WRITE)
#define RIGHTS (TX_RIGHTS | RX_RIGHTS)

static size_t limited_to(size_t value, size_t limit)
{
	return value < limit ? value : limit;
}

/* False, with the member that has no meaning at libfabric's provider. */
static bool bad_member(const char **why, const char *member)
{
	*why = member;
	return false;
}

/* Without any right an endpoint has all of them: fi_getinfo(3). */
static bool has_targets(uint64_t kfi)
{
	return kfi & (KFI_RMA | KFI_ATOMIC) && (!(kfi & RIGHTS) || kfi & (KFI_REMOTE_READ | KFI_REMOTE_WRITE));
}

/* KFI_TAGGED_RMA alone is tagged RMA: HPE's provider asks for no other capability with it, where libfabric's has it as an
 * addition to tagged messages and RMA. Rights that name operations of one kind alone would leave those of the other without any. */
static uint64_t implied_by_tagged_rma(uint64_t kfi, uint64_t side)
{
	uint64_t messages = KFI_SEND | KFI_RECV, accesses = RIGHTS & ~messages, caps = KFI_TAGGED | KFI_RMA;

	if (!(kfi & KFI_TAGGED_RMA))
		return 0;
	if (!(kfi & RIGHTS))
		return caps;
	return caps | (kfi & messages ? 0 : messages & side) | (kfi & accesses ? 0 : accesses & side);
}

static bool caps_to_fi(const struct kemu_personality *personality, uint64_t kfi, uint64_t side, uint64_t *fi, const char **why)
{
	*why = "a capability (caps)";
	kfi |= implied_by_tagged_rma(kfi, side);
	if (!kemu_fi_caps(kfi, fi) || (personality->caps && kfi & ~personality->caps))
		return false;
	if (personality->region_events && kfi & KFI_RMA_EVENT && has_targets(kfi))
		*fi |= EMU_FI_REGION_EVENTS;
	return true;
}

bool kemu_caps_to_fi(const struct kemu_personality *personality, uint64_t kfi, uint64_t *fi, const char **why)
{
	return caps_to_fi(personality, kfi, RIGHTS, fi, why);
}

bool kemu_tx_attr_to_fi(const struct kemu_personality *personality, const struct kfi_tx_attr *kfi, struct fi_tx_attr *fi,
			const char **why)
{
	if (!caps_to_fi(personality, kfi->caps, TX_RIGHTS, &fi->caps, why))
		return false;
	if (!kemu_fi_flags(kfi->op_flags, &fi->op_flags))
		return bad_member(why, "tx_attr->op_flags");
	if (kfi->msg_order & ~personality->msg_order)
		return bad_member(why, "tx_attr->msg_order");
	if (kfi->inject_size > personality->inject_size)
		return bad_member(why, "tx_attr->inject_size");
	if (kfi->iov_limit > KEMU_VECTOR_MAX)
		return bad_member(why, "tx_attr->iov_limit");
	fi->mode = kfi->mode & ~KFI_LOCAL_MR;
	fi->msg_order = kfi->msg_order;
	fi->comp_order = kfi->comp_order;
	fi->inject_size = kfi->inject_size;
	fi->size = kfi->size;
	fi->iov_limit = limited_to(kfi->iov_limit, KEMU_RUNS); /* kemu_memory.h makes so many of them */
	fi->rma_iov_limit = kfi->rma_iov_limit;
	fi->tclass = kfi->tclass;
	return true;
}

bool kemu_rx_attr_to_fi(const struct kemu_personality *personality, const struct kfi_rx_attr *kfi, struct fi_rx_attr *fi,
			const char **why)
{
	if (!caps_to_fi(personality, kfi->caps, RX_RIGHTS, &fi->caps, why))
		return false;
	if (!kemu_fi_flags(kfi->op_flags, &fi->op_flags))
		return bad_member(why, "rx_attr->op_flags");
	if (kfi->msg_order & ~personality->msg_order)
		return bad_member(why, "rx_attr->msg_order");
	if (kfi->iov_limit > KEMU_VECTOR_MAX)
		return bad_member(why, "rx_attr->iov_limit");
	if (kfi->total_buffered_recv > personality->buffered_recv)
		return bad_member(why, "rx_attr->total_buffered_recv");
	fi->mode = kfi->mode & ~KFI_LOCAL_MR;
	fi->msg_order = kfi->msg_order;
	fi->comp_order = kfi->comp_order;
	fi->total_buffered_recv = kfi->total_buffered_recv;
	fi->size = kfi->size;
	fi->iov_limit = limited_to(kfi->iov_limit, KEMU_RUNS);
	return true;
}

/* Keys of infos of libfabric are of malloc(). */
static bool key_to_fi(const uint8_t *key, size_t size, uint8_t **fi, size_t *fi_size, const char **why)
{
	if (!key != !size)
		return bad_member(why, "auth_key_size, with or without auth_key");
	*why = NULL;
	*fi = size ? malloc(size) : NULL;
	if (size && !*fi)
		return false;
	if (size)
		memcpy(*fi, key, size);
	*fi_size = size;
	return true;
}

bool kemu_ep_attr_to_fi(const struct kemu_personality *personality, const struct kfi_ep_attr *kfi, struct fi_ep_attr *fi,
			const char **why)
{
	if (!personality->endpoints && kfi->type != KFI_EP_UNSPEC && kfi->type != KFI_EP_RDM)
		return bad_member(why, "ep_attr->type");
	if (personality->protocol ? kfi->protocol && kfi->protocol != personality->protocol
				  : kfi->protocol && !(kfi->protocol & KFI_PROV_SPECIFIC))
		return bad_member(why, "ep_attr->protocol");
	fi->type = personality->endpoints ? (enum fi_ep_type)kfi->type : FI_EP_RDM;
	fi->protocol = personality->protocol ? FI_PROTO_UNSPEC : kfi->protocol;
	fi->protocol_version = personality->protocol ? 0 : kfi->protocol_version;
	fi->max_msg_size = kfi->max_msg_size;
	fi->msg_prefix_size = kfi->msg_prefix_size;
	fi->max_order_raw_size = kfi->max_order_raw_size;
	fi->max_order_war_size = kfi->max_order_war_size;
	fi->max_order_waw_size = kfi->max_order_waw_size;
	fi->mem_tag_format = kfi->mem_tag_format;
	fi->tx_ctx_cnt = kfi->tx_ctx_cnt;
	fi->rx_ctx_cnt = kfi->rx_ctx_cnt;
	return key_to_fi(kfi->auth_key, kfi->auth_key_size, &fi->auth_key, &fi->auth_key_size, why);
}

static bool mr_attr_to_fi(const struct kemu_personality *personality, const struct kfi_domain_attr *kfi, struct fi_domain_attr *fi,
			  const char **why)
{
	int mr_mode = kfi->mr_mode | (kfi->mode & KFI_LOCAL_MR ? KFI_MR_LOCAL : 0);

	*why = "domain_attr->mr_mode";
	if (personality->mr_mode_always) {
		if (mr_mode & ~personality->mr_mode)
			return false;
		mr_mode = personality->mr_mode;
	}
	if (!kemu_fi_mr_mode(mr_mode, &fi->mr_mode))
		return false;
	if (kfi->mr_iov_limit > KEMU_VECTOR_MAX)
		return bad_member(why, "domain_attr->mr_iov_limit");
	fi->mr_iov_limit = limited_to(kfi->mr_iov_limit, KEMU_RUNS);
	fi->mr_key_size = kfi->mr_key_size;
	fi->mr_cnt = kfi->mr_cnt;
	return true;
}

bool kemu_domain_attr_to_fi(const struct kemu_personality *personality, const struct kfi_domain_attr *kfi,
			    struct fi_domain_attr *fi, const char **why)
{
	if (!kemu_caps_to_fi(personality, kfi->caps, &fi->caps, why) || !mr_attr_to_fi(personality, kfi, fi, why))
		return false;
	if (kfi->cq_data_size > personality->cq_data_size)
		return bad_member(why, "domain_attr->cq_data_size");
	if (personality->resource_mgmt && kfi->resource_mgmt && kfi->resource_mgmt != personality->resource_mgmt)
		return bad_member(why, "domain_attr->resource_mgmt");
	fi->threading = (enum fi_threading)kfi->threading;
	fi->control_progress = (enum fi_progress)kfi->control_progress;
	fi->data_progress = (enum fi_progress)kfi->data_progress;
	fi->resource_mgmt = personality->resource_mgmt ? FI_RM_ENABLED : (enum fi_resource_mgmt)kfi->resource_mgmt;
	fi->av_type = (enum fi_av_type)kfi->av_type;
	fi->cq_data_size = kfi->cq_data_size;
	fi->cq_cnt = kfi->cq_cnt;
	fi->ep_cnt = kfi->ep_cnt;
	fi->tx_ctx_cnt = kfi->tx_ctx_cnt;
	fi->rx_ctx_cnt = kfi->rx_ctx_cnt;
	fi->max_ep_tx_ctx = kfi->max_ep_tx_ctx;
	fi->max_ep_rx_ctx = kfi->max_ep_rx_ctx;
	fi->max_ep_stx_ctx = kfi->max_ep_stx_ctx;
	fi->max_ep_srx_ctx = kfi->max_ep_srx_ctx;
	fi->cntr_cnt = kfi->cntr_cnt;
	fi->mode = kfi->mode & ~KFI_LOCAL_MR;
	fi->max_err_data = kfi->max_err_data;
	fi->tclass = kfi->tclass;
	return key_to_fi(kfi->auth_key, kfi->auth_key_size, &fi->auth_key, &fi->auth_key_size, why);
}

/* --- back --- */

uint64_t kemu_caps_from_fi(const struct kemu_personality *personality, uint64_t fi)
{
	return kemu_kfi_caps(fi) & (personality->caps ? personality->caps : UINT64_MAX);
}

void kemu_tx_attr_from_fi(const struct kemu_personality *personality, const struct fi_tx_attr *fi, struct kfi_tx_attr *kfi)
{
	*kfi = (struct kfi_tx_attr){
		.caps = kemu_caps_from_fi(personality, fi->caps),
		.mode = fi->mode,
		.msg_order = fi->msg_order & KFI_ORDER_STRICT & personality->msg_order,
		.comp_order = fi->comp_order & (KFI_ORDER_STRICT | KFI_ORDER_DATA),
		.inject_size = limited_to(fi->inject_size, personality->inject_size),
		.size = fi->size,
		.iov_limit = KEMU_VECTOR_MAX,
		.rma_iov_limit = fi->rma_iov_limit,
		.tclass = fi->tclass,
	};
	kemu_fi_flags(fi->op_flags, &kfi->op_flags); /* the same bits */
}

void kemu_rx_attr_from_fi(const struct kemu_personality *personality, const struct fi_rx_attr *fi, struct kfi_rx_attr *kfi)
{
	*kfi = (struct kfi_rx_attr){
		.caps = kemu_caps_from_fi(personality, fi->caps),
		.mode = fi->mode,
		.msg_order = fi->msg_order & KFI_ORDER_STRICT & personality->msg_order,
		.comp_order = fi->comp_order & (KFI_ORDER_STRICT | KFI_ORDER_DATA),
		.total_buffered_recv = limited_to(fi->total_buffered_recv, personality->buffered_recv),
		.size = fi->size,
		.iov_limit = KEMU_VECTOR_MAX,
	};
	kemu_fi_flags(fi->op_flags, &kfi->op_flags);
}

static bool key_from_fi(const uint8_t *key, size_t size, uint8_t **kfi, size_t *kfi_size)
{
	*kfi = key && size ? kmemdup(key, size, GFP_KERNEL) : NULL;
	*kfi_size = *kfi ? size : 0;
	return !key || !size || *kfi;
}

bool kemu_ep_attr_from_fi(const struct kemu_personality *personality, const struct fi_ep_attr *fi, struct kfi_ep_attr *kfi)
{
	*kfi = (struct kfi_ep_attr){
		.type = (enum kfi_ep_type)fi->type,
		.protocol = personality->protocol ? personality->protocol : fi->protocol,
		.protocol_version = fi->protocol_version,
		.max_msg_size = fi->max_msg_size,
		.msg_prefix_size = fi->msg_prefix_size,
		.max_order_raw_size = fi->max_order_raw_size,
		.max_order_war_size = fi->max_order_war_size,
		.max_order_waw_size = fi->max_order_waw_size,
		.mem_tag_format = fi->mem_tag_format,
		.tx_ctx_cnt = fi->tx_ctx_cnt,
		.rx_ctx_cnt = fi->rx_ctx_cnt,
	};
	return key_from_fi(fi->auth_key, fi->auth_key_size, &kfi->auth_key, &kfi->auth_key_size);
}

bool kemu_domain_attr_from_fi(const struct kemu_personality *personality, const struct fi_domain_attr *fi,
			      struct kfi_domain_attr *kfi)
{
	*kfi = (struct kfi_domain_attr){
		.threading = (enum kfi_threading)fi->threading,
		.control_progress = (enum kfi_progress)fi->control_progress,
		.data_progress = (enum kfi_progress)fi->data_progress,
		.resource_mgmt = personality->resource_mgmt ? personality->resource_mgmt
							    : (enum kfi_resource_mgmt)fi->resource_mgmt,
		.av_type = (enum kfi_av_type)fi->av_type,
		.mr_mode = kemu_kfi_mr_mode(fi->mr_mode),
		.mr_key_size = fi->mr_key_size,
		.cq_data_size = limited_to(fi->cq_data_size, personality->cq_data_size),
		.cq_cnt = fi->cq_cnt,
		.ep_cnt = fi->ep_cnt,
		.tx_ctx_cnt = fi->tx_ctx_cnt,
		.rx_ctx_cnt = fi->rx_ctx_cnt,
		.max_ep_tx_ctx = fi->max_ep_tx_ctx,
		.max_ep_rx_ctx = fi->max_ep_rx_ctx,
		.max_ep_stx_ctx = personality->counters ? fi->max_ep_stx_ctx : 0,
		.max_ep_srx_ctx = personality->counters ? fi->max_ep_srx_ctx : 0,
		.cntr_cnt = personality->counters ? fi->cntr_cnt : 0,
		.mr_iov_limit = KEMU_VECTOR_MAX,
		.caps = kemu_caps_from_fi(personality, fi->caps),
		.mode = fi->mode,
		.max_err_data = personality->error_text ? fi->max_err_data : 0,
		.mr_cnt = fi->mr_cnt,
		.tclass = fi->tclass,
	};
	if (personality->cxi_addresses)
		kfi->max_ep_rx_ctx = limited_to(kfi->max_ep_rx_ctx, KEMU_CONTEXTS);
	return key_from_fi(fi->auth_key, fi->auth_key_size, &kfi->auth_key, &kfi->auth_key_size);
}
