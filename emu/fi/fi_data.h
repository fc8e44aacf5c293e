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

/* What keeps an endpoint from a call: -FI_ENODEV in a fork's child; -FI_EOPBADSTATE before fi_enable; -FI_EOPNOTSUPP if it was
 * opened without one of the capabilities. */
int data_refuse_ep(const struct emu_ep *ep, uint64_t caps) __attribute__((cold));

/* 0, or that. `caps` are a call's two: FI_MSG, FI_TAGGED, FI_RMA or FI_ATOMIC, and FI_SEND ... */
static inline int data_check_ep(const struct emu_ep *ep, uint64_t caps)
{
	return (ep->open_caps & caps) == caps && domain_usable(ep->domain) ? 0 : data_refuse_ep(ep, caps);
}

/* The local side of one call: `desc` one for each buffer, or NULL; `right` MR_SEND, MR_RECV, MR_READ or MR_WRITE, which the
 * descriptors must allow; `flags` says about FI_INJECT. The bytes together; -FI_EINVAL or -FI_EMSGSIZE, or -FI_EFAULT from a
 * registration cache, after a line of log. */
ssize_t data_check_local(const struct emu_ep *ep, const struct iovec *iov, size_t count, void *const *desc, uint32_t right,
			 uint64_t flags);

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
	if (!(ep->caps & (FI_DIRECTED_RECV | COMPAT_TAGGED_DIRECTED_RECV | COMPAT_EXACT_DIRECTED_RECV)))
		return false;
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

/* What a call with flags of these may wait for, or may not. */
#define DATA_WAITS (FI_TRIGGER | DATA_WORK | DATA_SILENT)
int data_find_when(const struct emu_ep *ep, uint64_t flags, void **context, struct when *when, const struct when **out);

/* What a call with these flags and this context waits for: 0 and *out, which is NULL before, if it is anything, being `when`;
 * -FI_EINVAL, -FI_EDOMAIN, -FI_ENOSYS. *context becomes what the completion tells. */
static inline int data_when(const struct emu_ep *ep, uint64_t flags, void **context, struct when *when, const struct when **out)
{
	return flags & DATA_WAITS ? data_find_when(ep, flags, context, when, out) : 0;
}

/* enum post_flag of a transmit call's flags. Those of libfabric's that a kind of call has more than all, under their own names,
 * are in `more`. */
static inline uint32_t data_post_flags(const struct emu_ep *ep, uint64_t flags, uint64_t more)
{
	uint32_t kept = (uint32_t)(flags & (FI_INJECT | FI_FENCE | FI_REMOTE_CQ_DATA | more));

	if (flags & DATA_WORK)
		return kept | POST_WORK | (flags & FI_COMPLETION ? POST_COMPLETE : 0);
	if (flags & DATA_SILENT)
		return kept;
	return kept | (ep->tx_selective ? (uint32_t)(flags & FI_COMPLETION) : POST_COMPLETE);
}

/* The one post of remote reads and writes (fi_rma.c). `flags` are in force: the endpoint's defaults, or those of the *msg call,
 * checked against what it knows. */
ssize_t emu_rma_post(struct emu_ep *ep, enum op_kind kind, const struct fi_msg_rma *msg, uint64_t flags);

extern struct fi_ops_msg emu_msg_ops;
extern struct fi_ops_rma emu_rma_ops;
extern struct fi_ops_tagged emu_tagged_ops;

#endif
