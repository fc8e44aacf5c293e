/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_qp_kind.c - the table of types of queue pairs. */
#include "emu/verbs/qp/vb_qp_kind.h"

#include <stddef.h>

#include "emu/nic/device/nic.h"
#include "emu/verbs/device/vb_limits.h"

#define OPCODE(opcode) (UINT32_C(1) << (opcode))

static const struct vb_qp_kind kinds[] = {
	{
		.type = IBV_QPT_RC,
		.name = "RC",
		.opcodes = OPCODE(IBV_WR_RDMA_WRITE) | OPCODE(IBV_WR_RDMA_WRITE_WITH_IMM) | OPCODE(IBV_WR_SEND) |
			   OPCODE(IBV_WR_SEND_WITH_IMM) | OPCODE(IBV_WR_SEND_WITH_INV) | OPCODE(IBV_WR_LOCAL_INV) |
			   OPCODE(IBV_WR_RDMA_READ) | OPCODE(IBV_WR_ATOMIC_CMP_AND_SWP) | OPCODE(IBV_WR_ATOMIC_FETCH_AND_ADD),
		.ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
		       IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV,
		.init_attrs = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.caps = EP_SEND | EP_RECV | EP_READ | EP_WRITE | EP_REMOTE_READ | EP_REMOTE_WRITE | EP_REMOTE_ATOMIC_READ |
			EP_REMOTE_ATOMIC_WRITE,
		.order = EP_ORDER_RAS | EP_ORDER_WAS | EP_ORDER_WAR | EP_ORDER_SAR,
		.rules = EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES | EP_RULE_ALIGNED | EP_RULE_EMPTY_KEYLESS,
		.max_msg = VB_MAX_MSG,
	},
	{
		.type = IBV_QPT_UC,
		.name = "UC",
		.opcodes = OPCODE(IBV_WR_RDMA_WRITE) | OPCODE(IBV_WR_RDMA_WRITE_WITH_IMM) | OPCODE(IBV_WR_SEND) |
			   OPCODE(IBV_WR_SEND_WITH_IMM), /* V185 */
		.ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
		       IBV_QP_EX_WITH_SEND_WITH_IMM,
		.init_attrs = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.caps = EP_SEND | EP_RECV | EP_WRITE | EP_REMOTE_WRITE,
		.rules = EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES | EP_RULE_ALIGNED | EP_RULE_EMPTY_KEYLESS |
			 EP_RULE_UNRELIABLE,
		.max_msg = VB_MAX_MSG,
		.budget_ns = VB_RETRY_LEAST_NS,
	},
};

const struct vb_qp_kind *vb_qp_kind(enum ibv_qp_type type)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}
