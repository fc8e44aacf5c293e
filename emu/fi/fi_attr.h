/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_attr.h - a personality: what is offered, asked and allowed, as data. Behaviour comes from these values, never from
 * a personality's name. Each table is one file: fi_attr_strict.c, fi_attr_lax.c. Constant. */
#ifndef EMU_FI_ATTR_H
#define EMU_FI_ATTR_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>

#include "emu/nic/limits.h"

struct attr_table {
	const char *name;
	uint64_t caps;		/* of RDM endpoints: those that are built */
	int      mr_mode;	/* asked of a program, of the bits that it offers */
	size_t   mr_key_size;
	size_t   mr_iov_limit;
	size_t   iov_limit;	/* transmit and receive */
	size_t   rma_iov_limit;
	size_t   inject_size;
	size_t   max_msg_size;
	size_t   cq_data_size;
	uint64_t msg_order;
	size_t   tx_size, rx_size;
	size_t   buffered_recv;
	size_t   cntr_cnt, cq_cnt, ep_cnt, mr_cnt;	/* a domain */
	size_t   max_err_data;
};

extern const struct attr_table attr_strict, attr_lax;

/* What both tables offer: they differ in what they ask. */
#define ATTR_CAPS \
	(FI_MSG | FI_RMA | FI_READ | FI_WRITE | FI_SEND | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | \
	 FI_DIRECTED_RECV | FI_SOURCE | FI_FENCE | FI_LOCAL_COMM | FI_REMOTE_COMM)
#define ATTR_MSG_ORDER \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_WAS | FI_ORDER_SAR | \
	 FI_ORDER_SAW | FI_ORDER_SAS | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW)
#define ATTR_MAX_MSG_SIZE ((size_t)INT64_MAX)

/* Protocol of the endpoints: provider-specific (the high bit), so no other provider's is taken for it. */
#define ATTR_PROTOCOL		(0x80000000u | 0x656d75u)
#define ATTR_PROTOCOL_VERSION	1u

#endif
