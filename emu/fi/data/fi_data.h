/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_data.h - data transfer: what all calls share before a post, and deferred work. Any thread; nothing blocks. */
#ifndef EMU_FI_DATA_H
#define EMU_FI_DATA_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/ep/fi_ep_calls.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_kernel.h"
#include "emu/nic/base/likely.h"

struct emu_domain;

/* --- Shared by all data transfer calls: the checks before a post, and the tables of calls. All variants of a call narrow to
 * one post (fi_rma.c, fi_message.c), which passes these checks in this order. Any thread; nothing blocks. --- */

/* Flags of fi_writemsg, fi_sendmsg and fi_tsendmsg, of fi_readmsg, of fi_recvmsg and fi_trecvmsg. */
#define DATA_PUT_FLAGS (DATA_TX_DEFAULTS | FI_MORE | FI_FENCE | FI_REMOTE_CQ_DATA)
#define DATA_GET_FLAGS (FI_COMPLETION | ATTR_LEVELS | FI_MORE | FI_FENCE)
#define DATA_RECV_FLAGS (DATA_RX_DEFAULTS | FI_MORE)
/* More of fi_trecvmsg. */
#define DATA_PEEK_FLAGS (FI_PEEK | FI_CLAIM | FI_DISCARD)

/* The inject calls have no descriptor and need none; they never complete in the queue. Not a flag of libfabric. */
#define DATA_SILENT (1ull << 63)
/* Deferred work: the call's context is a struct deferred_work_call. Not a flag of libfabric either. */
#define DATA_WORK (1ull << 62)

/* The trigger of such a call, and the context of its completion. */
struct deferred_work_call {
	struct trigger when;
	void *context;
};

/* Why an endpoint refuses a call: -FI_ENODEV in a fork's child; -FI_EOPBADSTATE before fi_enable; -FI_EOPNOTSUPP if it was
 * opened without one of the capabilities. */
int data_refuse_ep(const struct emu_ep *ep, uint64_t caps) __attribute__((cold));

/* -FI_EINVAL: data_no_dest(). */
int data_refuse_dest(const char *call) __attribute__((cold));

/* 0, or that. `caps` are a call's two: FI_MSG, FI_TAGGED, FI_RMA or FI_ATOMIC, and FI_SEND ... */
static inline int data_check_ep(const struct emu_ep *ep, uint64_t caps)
{
	return (ep->open_caps & caps) == caps && domain_usable(ep->domain) ? 0 : data_refuse_ep(ep, caps);
}

/* Checks the local side of one call: `desc` one for each buffer, or NULL; `right` MR_SEND, MR_RECV, MR_READ or MR_WRITE, which the
 * descriptors must allow; `flags` may have FI_INJECT. The sum of the bytes; or -FI_EINVAL, -FI_EMSGSIZE, or -FI_EFAULT from a
 * registration cache, after a line of log. */
ssize_t data_check_local(const struct emu_ep *ep, const struct iovec *iov, size_t count, void *const *desc, uint32_t right,
			 uint64_t flags);

/* For sentences about a local buffer: the right that it needs, and the calls whose buffers need it. */
const char *data_right_name(uint32_t right);
const char *data_calls_by(uint32_t right);

/* The descriptors by which such a call names regions of its own side, or NULL. */
static inline void *const *data_names(const struct emu_ep *ep, void *const *desc)
{
	return ep->domain->looks_at_descs ? desc : NULL;
}

/* Below, `group` is FI_MSG or FI_TAGGED. Do its receives match the source (FI_DIRECTED_RECV and similar)? */
static inline bool data_directed(const struct emu_ep *ep, uint64_t group)
{
	if (!(ep->caps & (FI_DIRECTED_RECV | COMPAT_TAGGED_DIRECTED_RECV | COMPAT_EXACT_DIRECTED_RECV)))
		return false;
	if (ep->caps & FI_DIRECTED_RECV)
		return true;
	return ep->caps & COMPAT_TAGGED_DIRECTED_RECV ? group == FI_TAGGED : ep->caps & COMPAT_EXACT_DIRECTED_RECV;
}

/* FI_AUTH_KEY if a receive may be for one key (fi_msg(3)), else 0. */
static inline uint64_t data_recv_by_key(const struct emu_ep *ep, uint64_t group)
{
	return ep->domain->av_auth && data_directed(ep, group) ? COMPAT_AUTH_KEY : 0;
}

/* FI_MULTI_RECV if a receive may ask for it, else 0. */
static inline uint64_t data_multi(const struct emu_ep *ep, uint64_t group)
{
	return ep->caps & (group == FI_TAGGED ? COMPAT_TAGGED_MULTI_RECV : FI_MULTI_RECV) ? FI_MULTI_RECV : 0;
}

/* The defaults of receives: FI_MULTI_RECV applies only to those that know it. */
static inline uint64_t data_recv_defaults(const struct emu_ep *ep, uint64_t group)
{
	return data_multi(ep, group) ? ep->rx_flags : ep->rx_flags & ~FI_MULTI_RECV;
}

/* Is there no destination although the endpoint needs one? */
static inline bool data_no_dest(const struct emu_ep *ep, fi_addr_t dest)
{
	return dest == FI_ADDR_UNSPEC && ep->type != FI_EP_MSG;
}

/* A call with one of these flags needs data_find_trigger(). */
#define DATA_WAITS (FI_TRIGGER | DATA_WORK | DATA_SILENT | DATA_WATCHED)
int data_find_trigger(const struct emu_ep *ep, unsigned int kind, uint64_t flags, void **context, struct trigger *when,
		      const struct trigger **out);

/* Finds the trigger of a call with these flags and this context, which posts an op of that kind, or a receive (OP_POSTED_KINDS). 0:
 * if there is one, `when` has it, and *out, NULL before, points there. Else -FI_EINVAL, -FI_EDOMAIN, -FI_ENOSYS; or -FI_EAGAIN, as
 * a fault plan has it. *context becomes the context of the completion. */
static inline int data_trigger_of(const struct emu_ep *ep, unsigned int kind, uint64_t flags, void **context, struct trigger *when,
				  const struct trigger **out)
{
	return flags & DATA_WAITS ? data_find_trigger(ep, kind, flags, context, when, out) : 0;
}

/* enum post_flag of those of a call's flags that few calls have. */
#define DATA_RARE (FI_FENCE | FI_REMOTE_CQ_DATA | DATA_WORK)
static inline uint32_t data_rare_flags(uint64_t flags)
{
	return (flags & FI_FENCE ? POST_FENCE : 0) | (flags & FI_REMOTE_CQ_DATA ? POST_CQ_DATA : 0) |
	       (flags & FI_COMMIT_COMPLETE ? POST_COMMIT : 0) | (flags & DATA_WORK ? POST_WORK : 0) |
	       (flags & FI_TAGGED ? POST_TAGGED : 0) | (flags & FI_DELIVERY_COMPLETE ? POST_DELIVERED : 0) |
	       (flags & (FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE) ? POST_SENT : 0);
}

/* Of writes and atomics. */
#define DATA_LEVELS (FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_COMMIT_COMPLETE)
/* enum post_flag of a transmit call's flags. `more`: DATA_LEVELS and FI_TAGGED where the kind of call knows them, else 0. */
static inline uint32_t data_post_flags(const struct emu_ep *ep, uint64_t flags, uint64_t more)
{
	bool told = flags & FI_COMPLETION || !(ep->tx_selective || flags & (DATA_WORK | DATA_SILENT));
	uint64_t rare = flags & (DATA_RARE | more);

	return (flags & FI_INJECT ? POST_INJECT : 0) | (told ? POST_COMPLETE : 0) | (unlikely(rare) ? data_rare_flags(rare) : 0);
}

/* The one post of remote reads and writes (fi_rma.c). `flags` are in force: the endpoint's defaults, or those of the *msg call,
 * checked against those that it knows. */
ssize_t emu_rma_post(struct emu_ep *ep, enum op_kind kind, const struct fi_msg_rma *msg, uint64_t flags);

/* --- what is wrong with the descriptor of a local buffer, in words. Any thread; only for refused calls. --- */

/* -FI_EINVAL, for S72 to S75 and S23 to S26 alike; the sentence tells them apart. `desc` NULL: there is none. `access`: the
 * rights that the region must have, which `right` names. */
int desc_refuse(const struct emu_domain *domain, const char *call, const char *right, const struct iovec *buffer, const void *desc,
		uint32_t access) __attribute__((cold));

/* --- the table of remote atomics, and fi_query_atomic(). Any thread; nothing blocks. --- */

/* One of the three buffers of a call. */
struct atomic_buffer {
	const struct fi_ioc *ioc;
	void *const *desc;
	size_t count;
	uint32_t right; /* as in struct local_side */
};

struct atomic_call {
	struct fid_ep *ep;
	uint8_t kind; /* enum atomic_kind */
	const struct fi_msg_atomic *msg;
	struct atomic_buffer compare, result;
	uint64_t flags; /* in force: the endpoint's defaults, or those of the *msg call */
};

/* The one post: 0; or a negative errno, and nothing was posted. */
ssize_t emu_atomic_post(const struct atomic_call *call);

/* fi_atomic(3): 0 and *attr; -FI_EOPNOTSUPP: there is no such operation; -FI_EINVAL, -FI_EBADFLAGS. */
int emu_query_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags);

/* --- Deferred work of a domain (fi_trigger(3)): operations, and changes of counters, that wait for a counter. Any thread. --- */

/* FI_QUEUE_WORK. 0, or the error that the call of the operation would return; -FI_EINVAL, -FI_EDOMAIN, -FI_ENOSYS; -FI_EAGAIN. */
int deferred_work_queue(struct emu_domain *domain, const struct fi_deferred_work *work);
/* FI_CANCEL_WORK. 0; -FI_ENOENT: it is not there any more. */
int deferred_work_cancel(struct emu_domain *domain, const struct fi_deferred_work *work);
/* FI_FLUSH_WORK: all work, or the work that waits for one counter. 0, -FI_EINVAL. */
int deferred_work_flush(struct emu_domain *domain, struct fid_cntr *cntr);

#endif
