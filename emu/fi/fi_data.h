/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_data.h - what the data transfer calls share: the checks before a post, and their tables. All variants of a call
 * narrow to one post (fi_rma.c, fi_msg.c), which passes these checks in this order. Any thread; nothing blocks. */
#ifndef EMU_FI_DATA_H
#define EMU_FI_DATA_H

#include <stdint.h>
#include <sys/uio.h>

#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include "emu/fi/fi_ep.h"

/* Completion levels: all are met, since no completion comes before the target's verdict. FI_COMMIT_COMPLETE is not
 * there yet, FI_MATCH_COMPLETE never. */
#define DATA_LEVELS	(FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
/* Flags that may be defaults of an endpoint's side. */
#define DATA_TX_DEFAULTS (FI_COMPLETION | FI_INJECT | DATA_LEVELS)
#define DATA_RX_DEFAULTS (FI_COMPLETION | DATA_LEVELS)
/* Flags of fi_writemsg and fi_sendmsg, of fi_readmsg, of fi_recvmsg. */
#define DATA_PUT_FLAGS	(DATA_TX_DEFAULTS | FI_MORE | FI_FENCE | FI_REMOTE_CQ_DATA)
#define DATA_GET_FLAGS	(FI_COMPLETION | DATA_LEVELS | FI_MORE | FI_FENCE)
#define DATA_RECV_FLAGS	(DATA_RX_DEFAULTS | FI_MORE)

/* The calls that copy have no descriptor and need none; they never complete in the queue. Not a flag of libfabric. */
#define DATA_SILENT	(1ull << 63)

/* Local side of one call. */
struct local_side {
	const struct iovec *iov;
	void *const *desc;	/* one for each iov, or NULL */
	size_t   count;
	size_t   limit;		/* the endpoint's iov_limit for it */
	uint32_t right;		/* MR_SEND, MR_RECV, MR_READ or MR_WRITE: what the descriptors must allow */
};

/* 0; -FI_ENODEV in a fork's child; -FI_EOPBADSTATE before fi_enable; -FI_EOPNOTSUPP if the endpoint was opened without
 * `group` (FI_MSG, FI_RMA) or `cap` (FI_SEND ...). */
int data_check_ep(const struct emu_ep *ep, uint64_t group, uint64_t cap);

/* 0 and *total; -FI_EINVAL or -FI_EMSGSIZE after a line of log. `flags` says about FI_INJECT. */
int data_check_local(const struct emu_ep *ep, const struct local_side *local, uint64_t flags, size_t *total);

/* enum post_flag of a transmit call's flags. */
uint32_t data_post_flags(const struct emu_ep *ep, uint64_t flags);

extern struct fi_ops_msg emu_msg_ops;
extern struct fi_ops_rma emu_rma_ops;

#endif
