/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_attr_strict.c - personality `strict`: holds a program to every mr_mode bit that it offers. */
#include "emu/fi/fi_attr.h"

#include "emu/nic/raw_key.h"

const struct attr_table attr_strict = {
	.name = "strict",
	.caps = ATTR_CAPS,
	.mr_mode = FI_MR_LOCAL | FI_MR_RAW | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
		   FI_MR_ENDPOINT | FI_MR_RMA_EVENT | FI_MR_MMU_NOTIFY,
	.mr_key_size = RAW_KEY_PLAIN,
	.raw_key_size = RAW_KEY_LONG,
	.mr_iov_limit = LIMIT_IOV,
	.iov_limit = LIMIT_IOV,
	.rma_iov_limit = LIMIT_IOV,
	.inject_size = LIMIT_INJECT,
	.max_msg_size = ATTR_MAX_MSG_SIZE,
	.cq_data_size = 8,
	.msg_order = ATTR_MSG_ORDER,
	.tx_size = LIMIT_TX_OPS,
	.rx_size = LIMIT_RX_OPS,
	.buffered_recv = LIMIT_UNEXPECTED_BYTES,
	.cntr_cnt = 65536,
	.cq_cnt = 65536,
	.ep_cnt = 65536,
	.ctx_cnt = 65536,
	.mr_cnt = LIMIT_REGIONS,
	.max_err_data = LIMIT_ERROR_TEXT,
	.cntr_wait_none = false,
};
