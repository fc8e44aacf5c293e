/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_qp_kind.c - the table of types of queue pairs. */
#include "emu/verbs/qp/vb_qp_kind.h"

#include <stddef.h>

#include "emu/nic/device/nic.h"
#include "emu/verbs/device/vb_limits.h"

#define OPCODE(opcode) (UINT32_C(1) << (opcode))

/* Of all that have a peer, which may bind memory windows (V175); and of those that answer: no packet of UC invalidates, reads or is
 * an atomic (V178, V185). */
#define CONNECTED_OPCODES                                                                                                      \
	(OPCODE(IBV_WR_RDMA_WRITE) | OPCODE(IBV_WR_RDMA_WRITE_WITH_IMM) | OPCODE(IBV_WR_SEND) | OPCODE(IBV_WR_SEND_WITH_IMM) | \
	 OPCODE(IBV_WR_LOCAL_INV) | OPCODE(IBV_WR_BIND_MW))
#define RELIABLE_OPCODES                                                                                                   \
	(CONNECTED_OPCODES | OPCODE(IBV_WR_SEND_WITH_INV) | OPCODE(IBV_WR_RDMA_READ) | OPCODE(IBV_WR_ATOMIC_CMP_AND_SWP) | \
	 OPCODE(IBV_WR_ATOMIC_FETCH_AND_ADD))
#define CONNECTED_OPS                                                                                                          \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | \
	 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define RELIABLE_OPS                                                                                                   \
	(CONNECTED_OPS | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static const struct vb_qp_kind kinds[] = {
	{
		.type = IBV_QPT_RC,
		.name = "RC",
		.opcodes = RELIABLE_OPCODES,
		.ops = RELIABLE_OPS,
		.init_attrs = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.caps = EP_SEND | EP_RECV | EP_READ | EP_WRITE | EP_REMOTE_READ | EP_REMOTE_WRITE | EP_REMOTE_ATOMIC_READ |
			EP_REMOTE_ATOMIC_WRITE,
		.order = EP_ORDER_ALL,
		.rules = EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES | EP_RULE_ALIGNED | EP_RULE_EMPTY_KEYLESS,
		.max_msg = VB_MAX_MSG,
	},
	{
		.type = IBV_QPT_UC,
		.name = "UC",
		.opcodes = CONNECTED_OPCODES,
		.ops = CONNECTED_OPS,
		.init_attrs = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.caps = EP_SEND | EP_RECV | EP_WRITE | EP_REMOTE_WRITE,
		.rules = EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES | EP_RULE_ALIGNED | EP_RULE_EMPTY_KEYLESS |
			 EP_RULE_UNRELIABLE,
		.max_msg = VB_MAX_MSG,
		.budget_ns = VB_RETRY_LEAST_NS,
	},
	{
		.type = IBV_QPT_XRC_SEND,
		.name = "XRC_SEND",
		.lacks = VB_QP_RECEIVES,
		.opcodes = RELIABLE_OPCODES,
		.ops = RELIABLE_OPS,
		.init_attrs = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.caps = EP_SEND | EP_READ | EP_WRITE,
		.order = EP_ORDER_ALL,
		.rules = EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES | EP_RULE_ALIGNED | EP_RULE_EMPTY_KEYLESS |
			 EP_RULE_NAMES_SRX,
		.max_msg = VB_MAX_MSG,
	},
	{
		.type = IBV_QPT_XRC_RECV,
		.name = "XRC_RECV",
		.lacks = VB_QP_SENDS | VB_QP_RECEIVES,
		.init_attrs = IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.caps = EP_RECV | EP_REMOTE_READ | EP_REMOTE_WRITE | EP_REMOTE_ATOMIC_READ | EP_REMOTE_ATOMIC_WRITE,
		.order = EP_ORDER_ALL,
		.rules = EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES | EP_RULE_ALIGNED | EP_RULE_EMPTY_KEYLESS,
		.max_msg = VB_MAX_MSG,
	},
	{
		.type = IBV_QPT_UD,
		.name = "UD",
		.opcodes = OPCODE(IBV_WR_SEND) | OPCODE(IBV_WR_SEND_WITH_IMM),
		.ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
		.init_attrs = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.caps = EP_SEND | EP_RECV,
		.rules = EP_RULE_RECEIVE_FIRST,
		.datagrams = true,
		.max_msg = VB_MAX_DATAGRAM, /* V151 */
	},
};

const struct vb_qp_kind *vb_qp_kind(enum ibv_qp_type type)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}
