/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_work.c - deferred work. Each kind ends in the post of its own calls, whose checks it passes when it is queued. */
#include "emu/fi/fi_work.h"

#include <rdma/fi_errno.h>

#include "emu/fi/fi_atomic.h"
#include "emu/fi/fi_cntr.h"
#include "emu/fi/fi_data.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_message.h"
#include "emu/fi/fi_prov.h"
#include "emu/nic/mr.h"

/* FI_INJECT says nothing here: buffers are the work's until it completes. */
#define KEPT(flags) (((flags) & ~FI_INJECT) | DATA_WORK)

static int check_cntr(const struct emu_domain *domain, const struct fid_cntr *fid)
{
	if (!fid || fid->fid.fclass != FI_CLASS_CNTR)
		return -FI_EINVAL;
	return ((const struct emu_cntr *)fid)->domain == domain ? 0 : -FI_EDOMAIN;
}

static int check_ep(const struct emu_domain *domain, struct fid_ep *fid, uint64_t flags, uint64_t known)
{
	if (!fid)
		return -FI_EINVAL;
	switch (fid->fid.fclass) {
	case FI_CLASS_EP:
	case FI_CLASS_TX_CTX:
	case FI_CLASS_RX_CTX:
	case FI_CLASS_SRX_CTX:
		break;
	default:
		return -FI_EINVAL;
	}
	if (emu_ep(fid)->domain != domain)
		return -FI_EDOMAIN;
	if (!data_trigger(emu_ep(fid))) {
		EMU_WARN(EP_DATA, "deferred work needs FI_TRIGGER in info->caps\n");
		return -FI_EOPNOTSUPP;
	}
	return flags & ~known ? -FI_EBADFLAGS : 0;
}

static int queue_send(struct emu_domain *domain, const struct fi_op_tagged *op, uint64_t group, struct work_call *call)
{
	int err = check_ep(domain, op->ep, op->flags, DATA_PUT_FLAGS);
	struct post post = {
		.iov = op->msg.msg_iov, .iov_count = op->msg.iov_count, .dest = op->msg.addr, .tag = op->msg.tag,
		.context = call, .cq_data = op->msg.data,
	};

	call->context = op->msg.context;
	return err ? err : (int)message_send(emu_ep(op->ep), group, &post, op->msg.desc, KEPT(op->flags));
}

static int queue_recv(struct emu_domain *domain, const struct fi_op_tagged *op, uint64_t group, struct work_call *call)
{
	int err = check_ep(domain, op->ep, op->flags, DATA_RECV_FLAGS);
	struct recv_post post = {
		.iov = op->msg.msg_iov, .iov_count = op->msg.iov_count, .source = op->msg.addr, .tag = op->msg.tag,
		.ignore = op->msg.ignore, .context = call,
	};

	call->context = op->msg.context;
	return err ? err : (int)message_recv(emu_ep(op->ep), group, &post, op->msg.desc, KEPT(op->flags));
}

static int queue_tagged(struct emu_domain *domain, const struct fi_op_tagged *op, struct work_call *call, bool send)
{
	if (!op)
		return -FI_EINVAL;
	return (send ? queue_send : queue_recv)(domain, op, FI_TAGGED, call);
}

static int queue_msg(struct emu_domain *domain, const struct fi_op_msg *op, struct work_call *call, bool send)
{
	struct fi_op_tagged untagged;

	if (!op)
		return -FI_EINVAL;
	untagged = (struct fi_op_tagged){
		.ep = op->ep, .flags = op->flags,
		.msg = {
			.msg_iov = op->msg.msg_iov, .desc = op->msg.desc, .iov_count = op->msg.iov_count, .addr = op->msg.addr,
			.context = op->msg.context, .data = op->msg.data,
		},
	};
	return (send ? queue_send : queue_recv)(domain, &untagged, FI_MSG, call);
}

static int queue_rma(struct emu_domain *domain, const struct fi_op_rma *op, struct work_call *call, enum op_kind kind)
{
	struct fi_msg_rma msg;
	int err;

	if (!op)
		return -FI_EINVAL;
	err = check_ep(domain, op->ep, op->flags, kind == OP_WRITE ? DATA_PUT_FLAGS | FI_COMMIT_COMPLETE : DATA_GET_FLAGS);
	if (!err && op->flags & FI_COMMIT_COMPLETE & ~data_commit(emu_ep(op->ep)))
		err = -FI_EBADFLAGS;
	if (err)
		return err;
	msg = op->msg;
	msg.context = call;
	call->context = op->msg.context;
	return (int)emu_rma_post(emu_ep(op->ep), kind, &msg, KEPT(op->flags));
}

static int queue_atomic(struct emu_domain *domain, const struct fi_op_atomic *op, struct work_call *call,
			struct atomic_call *post)
{
	struct fi_msg_atomic msg = op->msg;
	int err = check_ep(domain, op->ep, post->flags, DATA_PUT_FLAGS);

	if (err)
		return err;
	msg.context = call;
	call->context = op->msg.context;
	post->ep = op->ep;
	post->msg = &msg;
	post->flags = KEPT(post->flags);
	return (int)emu_atomic_post(post);
}

/* The structures begin alike. */
static_assert(offsetof(struct fi_op_fetch_atomic, msg) == offsetof(struct fi_op_atomic, msg) &&
	      offsetof(struct fi_op_compare_atomic, msg) == offsetof(struct fi_op_atomic, msg), "fi_op_*atomic");

static int queue_atomics(struct emu_domain *domain, const struct fi_deferred_work *work, struct work_call *call)
{
	const struct fi_op_compare_atomic *compare = work->op.compare_atomic;
	const struct fi_op_fetch_atomic *fetch = work->op.fetch_atomic;
	struct atomic_call post = { .kind = ATOMIC_PLAIN };

	if (!work->op.atomic)
		return -FI_EINVAL;
	if (work->op_type == FI_OP_ATOMIC) {
		post.flags = work->op.atomic->flags;
	} else if (work->op_type == FI_OP_FETCH_ATOMIC) {
		post.kind = ATOMIC_FETCH;
		post.flags = fetch->flags;
		post.result = (struct atomic_buffer){ fetch->fetch.msg_iov, fetch->fetch.desc, fetch->fetch.iov_count, MR_READ };
	} else {
		post.kind = ATOMIC_COMPARE;
		post.flags = compare->flags;
		post.result = (struct atomic_buffer){ compare->fetch.msg_iov, compare->fetch.desc, compare->fetch.iov_count,
						      MR_READ };
		post.compare = (struct atomic_buffer){ compare->compare.msg_iov, compare->compare.desc,
						       compare->compare.iov_count, MR_WRITE };
	}
	return queue_atomic(domain, work->op.atomic, call, &post);
}

static int queue_change(struct emu_domain *domain, const struct fi_deferred_work *work, const struct when *when)
{
	const struct fi_op_cntr *op = work->op.cntr;
	struct held_change change = { .set = work->op_type == FI_OP_CNTR_SET };
	int err = op ? check_cntr(domain, op->cntr) : -FI_EINVAL;

	if (err)
		return err;
	if (when->done)
		return -FI_EINVAL;
	change.cntr = ((struct emu_cntr *)op->cntr)->cntr;
	change.value = op->value;
	return nic_change_counter(domain->nic, when, &change);
}

static int take_when(struct emu_domain *domain, const struct fi_deferred_work *work, struct when *when)
{
	int err = check_cntr(domain, work->triggering_cntr);

	if (!err && work->completion_cntr)
		err = check_cntr(domain, work->completion_cntr);
	if (err)
		return err;
	*when = (struct when){
		.cntr = ((struct emu_cntr *)work->triggering_cntr)->cntr, .threshold = work->threshold, .errors = true,
		.work = work, .owner = domain,
		.done = work->completion_cntr ? ((struct emu_cntr *)work->completion_cntr)->cntr : NULL,
	};
	return 0;
}

int work_queue(struct emu_domain *domain, const struct fi_deferred_work *work)
{
	struct work_call call;
	int err;

	if (!work)
		return -FI_EINVAL;
	if (!domain_usable(domain))
		return -FI_ENODEV;
	err = take_when(domain, work, &call.when);
	if (err)
		return err;
	switch (work->op_type) {
	case FI_OP_RECV:
	case FI_OP_SEND:
		return queue_msg(domain, work->op.msg, &call, work->op_type == FI_OP_SEND);
	case FI_OP_TRECV:
	case FI_OP_TSEND:
		return queue_tagged(domain, work->op.tagged, &call, work->op_type == FI_OP_TSEND);
	case FI_OP_READ:
		return queue_rma(domain, work->op.rma, &call, OP_READ);
	case FI_OP_WRITE:
		return queue_rma(domain, work->op.rma, &call, OP_WRITE);
	case FI_OP_ATOMIC:
	case FI_OP_FETCH_ATOMIC:
	case FI_OP_COMPARE_ATOMIC:
		return queue_atomics(domain, work, &call);
	case FI_OP_CNTR_SET:
	case FI_OP_CNTR_ADD:
		return queue_change(domain, work, &call.when);
	default:
		return -FI_ENOSYS;
	}
}

int work_cancel(struct emu_domain *domain, const struct fi_deferred_work *work)
{
	if (!work)
		return -FI_EINVAL;
	return domain_usable(domain) ? nic_cancel_work(domain->nic, work) : -FI_ENODEV;
}

int work_flush(struct emu_domain *domain, struct fid_cntr *cntr)
{
	int err = cntr ? check_cntr(domain, cntr) : 0;

	if (!err && !domain_usable(domain))
		err = -FI_ENODEV;
	if (!err)
		nic_flush_work(domain->nic, domain, cntr ? ((struct emu_cntr *)cntr)->cntr : NULL);
	return err;
}
