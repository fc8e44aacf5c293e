/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_fault.c - what fault plans may name, calls that fail, and the list of open devices. */
#include "emu/verbs/device/vb_fault.h"

#include <string.h>

#include "emu/net/os/fork.h"
#include "emu/process/faults/fault_option.h"
#include "emu/process/front/process_front.h"
#include "emu/verbs/start/vb_refuse.h"

/* By enum rdma_cm_event_type. */
enum {
	ADDR_RESOLVED,
	ADDR_ERROR,
	ROUTE_RESOLVED,
	ROUTE_ERROR,
	CONNECT_REQUEST,
	CONNECT_RESPONSE,
	CONNECT_ERROR,
	UNREACHABLE,
	REJECTED,
	ESTABLISHED,
	DISCONNECTED,
	DEVICE_REMOVAL,
	MULTICAST_JOIN,
	MULTICAST_ERROR,
	CM_EVENTS = 16
};
enum { FAILED = 1u << CONNECT_ERROR | 1u << UNREACHABLE | 1u << REJECTED };

static const uint32_t cm_becomes[CM_EVENTS] = {
	[ADDR_RESOLVED] = 1u << ADDR_ERROR,
	[ROUTE_RESOLVED] = 1u << ROUTE_ERROR,
	[CONNECT_REQUEST] = 1u << REJECTED,
	[CONNECT_RESPONSE] = FAILED,
	[CONNECT_ERROR] = FAILED,
	[UNREACHABLE] = FAILED,
	[REJECTED] = FAILED,
	[ESTABLISHED] = FAILED,
	[MULTICAST_JOIN] = 1u << MULTICAST_ERROR,
};

/* Statuses by enum ibv_wc_status, events by enum vb_fault_event. */
const struct process_faults vb_faults = {
	.calls = "ibv_open_device ibv_query_device ibv_query_port ibv_query_gid ibv_alloc_pd ibv_reg_mr ibv_alloc_mw "
		 "ibv_create_comp_channel ibv_create_cq ibv_create_srq ibv_create_qp ibv_modify_qp ibv_post_send ibv_bind_mw "
		 "ibv_post_recv ibv_post_srq_recv "
		 "rdma_create_event_channel rdma_create_id rdma_bind_addr rdma_resolve_addr rdma_resolve_route rdma_listen "
		 "rdma_connect rdma_accept rdma_join_multicast",
	.statuses = "SUCCESS LOC_LEN_ERR LOC_QP_OP_ERR LOC_EEC_OP_ERR LOC_PROT_ERR WR_FLUSH_ERR MW_BIND_ERR BAD_RESP_ERR "
		    "LOC_ACCESS_ERR REM_INV_REQ_ERR REM_ACCESS_ERR REM_OP_ERR RETRY_EXC_ERR RNR_RETRY_EXC_ERR LOC_RDD_VIOL_ERR "
		    "REM_INV_RD_REQ_ERR REM_ABORT_ERR INV_EECN_ERR INV_EEC_STATE_ERR FATAL_ERR RESP_TIMEOUT_ERR GENERAL_ERR",
	.events = "PORT_ERR PORT_ACTIVE GID_CHANGE DEVICE_FATAL CQ_ERR QP_FATAL",
	.status_prefix = "IBV_WC_",
	.event_prefix = "IBV_EVENT_",
	.events_of_qps = 1u << VB_QP_FATAL,
	.events_of_cqs = 1u << VB_CQ_ERR,
	.cm_events =
		"ADDR_RESOLVED ADDR_ERROR ROUTE_RESOLVED ROUTE_ERROR CONNECT_REQUEST CONNECT_RESPONSE CONNECT_ERROR UNREACHABLE "
		"REJECTED ESTABLISHED DISCONNECTED DEVICE_REMOVAL MULTICAST_JOIN MULTICAST_ERROR ADDR_CHANGE TIMEWAIT_EXIT",
	.cm_prefix = "RDMA_CM_EVENT_",
	.cm_becomes = cm_becomes,
	.cm_request = CONNECT_REQUEST,
	.cm_rejected = REJECTED,
	.event = vb_fault_event,
};

atomic_bool vb_port_down;

int vb_fault_met(const char *call, struct ibv_context *ibv, uint64_t qp)
{
	uint64_t number;
	int err = fault_call(call, qp, &number);

	if (err)
		return vb_refuse(err, call, "call %llu: %s (%s), injected by the fault plan (FI_EMU_FAULT).",
				 (unsigned long long)number, strerrorname_np(err), strerror(err));
	if (ibv && atomic_load(&vb_context_of(ibv)->dead))
		return vb_refuse(EIO, call, "the device has failed (IBV_EVENT_DEVICE_FATAL). Destroy all, and open it again.");
	return 0;
}

uint8_t vb_fault_request_met(const char *call, unsigned int kind, uint64_t qp, uint64_t wr_id)
{
	uint32_t status = fault_request(kind, qp);
	char name[FAULT_WORD_MAX];

	if (status)
		vb_refuse(EIO, call, "%s 0x%llx fails%s (IBV_WC_%s), injected by the fault plan (FI_EMU_FAULT).",
			  kind == FAULT_RECEIVES ? "receive" : "request", (unsigned long long)wr_id,
			  kind == FAULT_RECEIVES ? " when it is taken" : "", fault_word_at(vb_faults.statuses, status, name));
	return (uint8_t)status;
}

/* --- open devices --- */

static struct mutex lock = MUTEX_INITIALIZER; /* under it asynchronous events are told */
static struct vb_context *first GUARDED_BY(lock);

/* A child has none: events would go to the parent's descriptors, and the fork may have met the list half changed. */
static void contexts_forked(void)
{
	mutex_forked(&lock);
	first = NULL;
}

static struct fork_reset reset = { .in_child = contexts_forked };

void vb_contexts_add(struct vb_context *context)
{
	(void)fork_register(&reset);
	mutex_lock(&lock);
	if (!first && fault_unplugged())
		atomic_store(&vb_port_down, true);
	context->next = first;
	first = context;
	mutex_unlock(&lock);
}

void vb_contexts_remove(struct vb_context *context)
{
	struct vb_context **at = &first;

	mutex_lock(&lock);
	while (*at && *at != context)
		at = &(*at)->next;
	if (*at)
		*at = context->next;
	mutex_unlock(&lock);
}

void vb_contexts_each(void (*each)(struct vb_context *context, const void *arg), const void *arg)
{
	mutex_lock(&lock);
	for (struct vb_context *context = first; context; context = context->next)
		each(context, arg);
	mutex_unlock(&lock);
}
