/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_attr_lax.c - personality `lax`: asks for no mr_mode bit; refusals are the same. */
#include "emu/fi/fi_attr.h"

#include "emu/nic/raw_key.h"

const struct attr_table attr_lax = {
	.name = "lax",
	.caps = ATTR_CAPS,
	.mr_mode = 0,
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
	.cntr_wait_none = true,
};
