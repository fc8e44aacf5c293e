/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_ops.c - the calls that programs reach inline, through the tables of the context. Each room's are entered here; what is left
 * NULL fails with ENOSYS or EOPNOTSUPP in the program's own inline function. */
#include "emu/process/check/check_object.h"
#include "emu/verbs/device/vb_context.h"
#include "emu/verbs/device/vb_device.h"
#include "emu/verbs/qp/vb_bind.h"
#include "emu/verbs/qp/vb_qp.h"
#include "emu/verbs/qp/vb_recv.h"
#include "emu/verbs/qp/vb_srq.h"
#include "emu/verbs/qp/vb_xrcd.h"
#include "emu/verbs/queues/vb_cq.h"
#include "emu/verbs/regions/vb_mr.h"
#include "emu/verbs/regions/vb_mw.h"
#include "emu/verbs/start/vb_refuse.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* no argument is looked at */

/* What is not built: each call fails with EOPNOTSUPP, which clients take for "skip". A member that is NULL would make it ENOSYS,
 * as of a library that is older than the call.
 *
 * One that returns an errno, or a null pointer, with errno. */
#define UNBUILT(name, ...)                                    \
	static int no_##name(__VA_ARGS__)                     \
	{                                                     \
		return vb_absent("ibv_" #name, "not built."); \
	}
#define UNBUILT_POINTER(type, name, ...)                            \
	static type *no_##name(__VA_ARGS__)                         \
	{                                                           \
		return vb_absent("ibv_" #name, "not built."), NULL; \
	}

UNBUILT_POINTER(struct ibv_dmah, alloc_dmah, struct ibv_context *context, struct ibv_dmah_init_attr *attr)
UNBUILT_POINTER(void, alloc_buf, struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
UNBUILT_POINTER(struct ibv_counters, create_counters, struct ibv_context *context, struct ibv_counters_init_attr *attr)
UNBUILT_POINTER(struct ibv_flow_action, create_flow_action_esp, struct ibv_context *context, struct ibv_flow_action_esp_attr *attr)
UNBUILT(modify_qp_rate_limit, struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
UNBUILT(modify_cq, struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
UNBUILT(post_srq_ops, struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad)
UNBUILT_POINTER(struct ibv_rwq_ind_table, create_rwq_ind_table, struct ibv_context *context,
		struct ibv_rwq_ind_table_init_attr *attr)
UNBUILT_POINTER(struct ibv_wq, create_wq, struct ibv_context *context, struct ibv_wq_init_attr *attr)
UNBUILT_POINTER(struct ibv_flow, create_flow, struct ibv_qp *qp, struct ibv_flow_attr *attr)

#pragma GCC diagnostic pop

/* What ends or changes such an object has none, and stays NULL. */
static void fill_unbuilt(struct vb_abi_context *abi)
{
	abi->alloc_dmah = no_alloc_dmah;
	abi->alloc_buf = no_alloc_buf;
	abi->create_counters = no_create_counters;
	abi->create_flow_action_esp = no_create_flow_action_esp;
	abi->modify_qp_rate_limit = no_modify_qp_rate_limit;
	abi->modify_cq = no_modify_cq;
	abi->post_srq_ops = no_post_srq_ops;
	abi->create_rwq_ind_table = no_create_rwq_ind_table;
	abi->create_wq = no_create_wq;
	abi->ibv_create_flow = no_create_flow;
}

static void fill_device_ops(struct vb_abi_context *abi)
{
	abi->query_device_ex = vb_query_device_ex;
	abi->query_port = vb_query_port;
	abi->query_rt_values = vb_query_rt_values;
}

static void fill_region_ops(struct vb_abi_context *abi)
{
	abi->alloc_td = vb_alloc_td;
	abi->dealloc_td = vb_dealloc_td;
	abi->alloc_parent_domain = vb_alloc_parent_domain;
	abi->alloc_dm = vb_alloc_dm;
	abi->free_dm = vb_free_dm;
	abi->reg_dm_mr = vb_reg_dm_mr;
	abi->alloc_null_mr = vb_alloc_null_mr;
	abi->context.ops.alloc_mw = vb_alloc_mw;
	abi->context.ops.dealloc_mw = vb_dealloc_mw;
	abi->advise_mr = vb_advise_mr;
	abi->reg_mr_ex = ibv_reg_mr_ex;
}

static void fill_queue_ops(struct vb_abi_context *abi)
{
	abi->context.ops.poll_cq = check_posts() ? vb_poll_cq_checked : vb_poll_cq;
	abi->context.ops.req_notify_cq = vb_req_notify_cq;
	abi->create_cq_ex = vb_create_cq_ex;
}

static void fill_qp_ops(struct vb_abi_context *abi)
{
	abi->context.ops.post_send = vb_post_send_op;
	abi->context.ops.bind_mw = vb_bind_mw;
	abi->context.ops.post_recv = vb_post_recv;
	abi->context.ops.post_srq_recv = vb_post_srq_recv;
	abi->create_qp_ex = vb_create_qp_ex;
	abi->create_srq_ex = vb_create_srq_ex;
	abi->get_srq_num = vb_get_srq_num;
	abi->open_qp = vb_open_qp;
	abi->open_xrcd = vb_open_xrcd;
	abi->close_xrcd = vb_close_xrcd;
}

void vb_fill_ops(struct vb_abi_context *abi)
{
	fill_unbuilt(abi);
	fill_device_ops(abi);
	fill_region_ops(abi);
	fill_queue_ops(abi);
	fill_qp_ops(abi);
}
