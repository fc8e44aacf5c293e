/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_ops.c - the calls that programs reach inline, through the tables of the context. Each room's are entered here; what is left
 * NULL fails with ENOSYS or EOPNOTSUPP in the program's own inline function. */
#include "emu/process/check/check_object.h"
#include "emu/verbs/device/vb_context.h"
#include "emu/verbs/device/vb_query.h"
#include "emu/verbs/entry/vb_unbuilt.h"
#include "emu/verbs/qp/vb_qp.h"
#include "emu/verbs/qp/vb_recv.h"
#include "emu/verbs/qp/vb_srq.h"
#include "emu/verbs/queues/vb_cq.h"
#include "emu/verbs/regions/vb_mr.h"

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
	abi->context.ops.post_recv = vb_post_recv;
	abi->context.ops.post_srq_recv = vb_post_srq_recv;
	abi->create_qp_ex = vb_create_qp_ex;
	abi->create_srq_ex = vb_create_srq_ex;
	abi->get_srq_num = vb_get_srq_num;
}

void vb_fill_ops(struct vb_abi_context *abi)
{
	vb_fill_unbuilt(abi);
	fill_device_ops(abi);
	fill_region_ops(abi);
	fill_queue_ops(abi);
	fill_qp_ops(abi);
}
