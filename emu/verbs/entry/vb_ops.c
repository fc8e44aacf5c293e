/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_ops.c - the calls that programs reach inline, through the tables of the context. Each room's are entered here; what is left
 * NULL fails with ENOSYS or EOPNOTSUPP in the program's own inline function. */
#include "emu/verbs/device/vb_context.h"

static void fill_queue_ops(struct vb_abi_context *abi)
{
	(void)abi; /* verbs/queues: poll_cq, req_notify_cq, create_cq_ex, modify_cq */
}

static void fill_qp_ops(struct vb_abi_context *abi)
{
	(void)abi; /* verbs/qp: post_send, post_recv, post_srq_recv, create_qp_ex, create_srq_ex, get_srq_num */
}

void vb_fill_ops(struct vb_abi_context *abi)
{
	fill_queue_ops(abi);
	fill_qp_ops(abi);
}
