/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_data.h - what the data transfer calls share: the checks before a post, and their tables. All variants of a call
 * narrow to one post (fi_rma.c, fi_message.c), which passes these checks in this order. Any thread; nothing blocks. */
#ifndef EMU_FI_DATA_H
#define EMU_FI_DATA_H

#include <stdint.h>
#include <sys/uio.h>

#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "emu/fi/fi_compat.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_ep.h"

/* Flags that may be defaults of an endpoint's side, with exceptions: data_tx_defaults(). FI_COMMIT_COMPLETE is for writes of
 * endpoints with FI_RMA_PMEM alone: data_commit(); FI_MATCH_COMPLETE for fi_tsendmsg. */
#define DATA_TX_DEFAULTS (FI_COMPLETION | FI_INJECT | ATTR_LEVELS)
#define DATA_RX_DEFAULTS (FI_COMPLETION | ATTR_LEVELS)
/* Flags of fi_writemsg, fi_sendmsg and fi_tsendmsg, of fi_readmsg, of fi_recvmsg and fi_trecvmsg. */
#define DATA_PUT_FLAGS	(DATA_TX_DEFAULTS | FI_MORE | FI_FENCE | FI_REMOTE_CQ_DATA)
#define DATA_GET_FLAGS	(FI_COMPLETION | ATTR_LEVELS | FI_MORE | FI_FENCE)
#define DATA_RECV_FLAGS	(DATA_RX_DEFAULTS | FI_MORE)
/* More of fi_trecvmsg. */
#define DATA_PEEK_FLAGS	(FI_PEEK | FI_CLAIM | FI_DISCARD)

/* The calls that copy have no descriptor and need none; they never complete in the queue. Not a flag of libfabric. */
#define DATA_SILENT	(1ull << 63)
/* Deferred work: the call's context is a struct work_call. Not a flag of libfabric either. */
#define DATA_WORK	(1ull << 62)

/* What such a call waits for, and what its completion tells. */
struct work_call {
	struct when when;
	void *context;
};

/* Local side of one call. */
struct local_side {
	const struct iovec *iov;
	void *const *desc;	/* one for each iov, or NULL */
	size_t   count;
	size_t   limit;		/* the endpoint's iov_limit for it */
	uint32_t right;		/* MR_SEND, MR_RECV, MR_READ or MR_WRITE: what the descriptors must allow */
};

/* 0; -FI_ENODEV in a fork's child; -FI_EOPBADSTATE before fi_enable; -FI_EOPNOTSUPP if the endpoint was opened without
 * `group` (FI_MSG, FI_TAGGED, FI_RMA) or `cap` (FI_SEND ...). */
int data_check_ep(const struct emu_ep *ep, uint64_t group, uint64_t cap);

/* 0 and *total; -FI_EINVAL or -FI_EMSGSIZE, or -FI_EFAULT from a registration cache, after a line of log. `flags` says
 * about FI_INJECT. */
int data_check_local(const struct emu_ep *ep, const struct local_side *local, uint64_t flags, size_t *total);

/* FI_COMMIT_COMPLETE where it may be asked of a write (S133), else 0. As a default it means no other op. */
static inline uint64_t data_commit(const struct emu_ep *ep)
{
	return ep->caps & FI_RMA_PMEM ? FI_COMMIT_COMPLETE : 0;
}

/* Levels that the endpoint does not have: nobody says that an unreliable datagram has arrived. */
static inline uint64_t data_no_levels(const struct emu_ep *ep)
{
	return ep->type == FI_EP_DGRAM ? FI_DELIVERY_COMPLETE : 0;
}

static inline uint64_t data_tx_defaults(const struct emu_ep *ep)
{
	return (DATA_TX_DEFAULTS | data_commit(ep)) & ~data_no_levels(ep);
}

/* Below, `group` is FI_MSG or FI_TAGGED. Do receives of it look at the source (FI_DIRECTED_RECV and its kin)? */
static inline bool data_directed(const struct emu_ep *ep, uint64_t group)
{
	if (ep->caps & FI_DIRECTED_RECV)
		return true;
	return ep->caps & COMPAT_TAGGED_DIRECTED_RECV ? group == FI_TAGGED : ep->caps & COMPAT_EXACT_DIRECTED_RECV;
}

/* FI_AUTH_KEY where a receive may be for one key (fi_msg(3)), else 0. */
static inline uint64_t data_recv_by_key(const struct emu_ep *ep, uint64_t group)
{
	return ep->domain->av_auth && data_directed(ep, group) ? COMPAT_AUTH_KEY : 0;
}

/* FI_MULTI_RECV where it may be asked of a receive, else 0. */
static inline uint64_t data_multi(const struct emu_ep *ep, uint64_t group)
{
	return ep->caps & (group == FI_TAGGED ? COMPAT_TAGGED_MULTI_RECV : FI_MULTI_RECV) ? FI_MULTI_RECV : 0;
}

/* The defaults of receives: FI_MULTI_RECV means those alone that know it. */
static inline uint64_t data_recv_defaults(const struct emu_ep *ep, uint64_t group)
{
	return data_multi(ep, group) ? ep->rx_flags : ep->rx_flags & ~FI_MULTI_RECV;
}

/* Is there no destination, where the endpoint needs one? */
static inline bool data_no_dest(const struct emu_ep *ep, fi_addr_t dest)
{
	return dest == FI_ADDR_UNSPEC && ep->type != FI_EP_MSG;
}

/* FI_TRIGGER where it may be asked of a call, else 0. */
static inline uint64_t data_trigger(const struct emu_ep *ep)
{
	return ep->caps & FI_TRIGGER;
}

/* What a call with these flags and this context waits for: 0 and *out, NULL if nothing, else `when`; -FI_EINVAL, -FI_EDOMAIN,
 * -FI_ENOSYS. *context becomes what the completion tells. */
int data_when(const struct emu_ep *ep, uint64_t flags, void **context, struct when *when, const struct when **out);

/* enum post_flag of a transmit call's flags. */
uint32_t data_post_flags(const struct emu_ep *ep, uint64_t flags);

/* The one post of remote reads and writes (fi_rma.c). `flags` are in force: the endpoint's defaults, or those of the *msg call,
 * checked against what it knows. */
ssize_t emu_rma_post(struct emu_ep *ep, enum op_kind kind, const struct fi_msg_rma *msg, uint64_t flags);

extern struct fi_ops_msg emu_msg_ops;
extern struct fi_ops_rma emu_rma_ops;
extern struct fi_ops_tagged emu_tagged_ops;

#endif
