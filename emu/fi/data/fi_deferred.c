/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_deferred.c - deferred work. Each kind ends in the post of its own calls, whose checks it passes when it is queued. */
#include "emu/fi/data/fi_data.h"

#include <rdma/fi_errno.h>

#include "emu/fi/data/fi_data_impl.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/queues/fi_queues.h"
#include "emu/nic/regions/mr.h"

/* FI_INJECT has no meaning here: the work has the buffers until it completes. */
#define KEPT(flags) (((flags) & ~FI_INJECT) | DATA_WORK)

static int check_cntr(const struct emu_domain *domain, const struct fid_cntr *fid)
{
	if (!fid || fid->fid.fclass != FI_CLASS_CNTR)
		return REFUSE(EP_DATA, -FI_EINVAL,
			      "deferred work: triggering_cntr, completion_cntr or op.cntr->cntr is no "
			      "counter.");
	return ((const struct emu_cntr *)fid)->domain == domain
		       ? 0
		       : REFUSE(EP_DATA, -FI_EDOMAIN, "deferred work: a counter is of another domain.");
}

static int check_ep(const struct emu_domain *domain, struct fid_ep *fid, uint64_t flags, uint64_t known)
{
	if (!fid)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_control, FI_QUEUE_WORK: the endpoint is NULL.");
	switch (fid->fid.fclass) {
	case FI_CLASS_EP:
	case FI_CLASS_TX_CTX:
	case FI_CLASS_RX_CTX:
	case FI_CLASS_SRX_CTX:
		break;
	default:
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_control, FI_QUEUE_WORK: the object named as its endpoint is none.");
	}
	if (emu_ep(fid)->domain != domain)
		return REFUSE(EP_DATA, -FI_EDOMAIN, "fi_control, FI_QUEUE_WORK: the endpoint is of another domain.");
	if (!data_trigger(emu_ep(fid)))
		return REFUSE(EP_DATA, -FI_EOPNOTSUPP,
			      "fi_control, FI_QUEUE_WORK: deferred work needs FI_TRIGGER. Ask for it in "
			      "hints->caps.");
	return flags & ~known ? REFUSE_FLAGS(EP_DATA, "fi_control, FI_QUEUE_WORK", flags & ~known) : 0;
}

static int queue_send(struct emu_domain *domain, const struct fi_op_tagged *op, uint64_t group, struct deferred_work_call *call)
{
	int err = check_ep(domain, op->ep, op->flags, DATA_PUT_FLAGS);
	struct post post = {
		.iov = op->msg.msg_iov,
		.iov_count = op->msg.iov_count,
		.dest = op->msg.addr,
		.tag = op->msg.tag,
		.context = call,
		.cq_data = op->msg.data,
	};

	call->context = op->msg.context;
	if (!err && group == FI_TAGGED)
		err = tag_check_send(emu_ep(op->ep), post.tag);
	return err ? err : (int)message_send(emu_ep(op->ep), group, &post, op->msg.desc, KEPT(op->flags));
}

static int queue_recv(struct emu_domain *domain, const struct fi_op_tagged *op, uint64_t group, struct deferred_work_call *call)
{
	int err = check_ep(domain, op->ep, op->flags, DATA_RECV_FLAGS);
	struct recv_post post = {
		.iov = op->msg.msg_iov,
		.iov_count = op->msg.iov_count,
		.source = op->msg.addr,
		.tag = op->msg.tag,
		.ignore = op->msg.ignore,
		.context = call,
	};

	call->context = op->msg.context;
	if (!err && group == FI_TAGGED)
		err = tag_check_recv(emu_ep(op->ep), post.tag, post.ignore);
	return err ? err : (int)message_recv(emu_ep(op->ep), group, &post, op->msg.desc, KEPT(op->flags));
}

static int queue_tagged(struct emu_domain *domain, const struct fi_op_tagged *op, struct deferred_work_call *call, bool send)
{
	if (!op)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_control, FI_QUEUE_WORK: work->op names no operation.");
	return (send ? queue_send : queue_recv)(domain, op, FI_TAGGED, call);
}

static int queue_msg(struct emu_domain *domain, const struct fi_op_msg *op, struct deferred_work_call *call, bool send)
{
	struct fi_op_tagged untagged;

	if (!op)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_control, FI_QUEUE_WORK: work->op names no operation.");
	untagged = (struct fi_op_tagged){
		.ep = op->ep, .flags = op->flags,
		.msg = {
			.msg_iov = op->msg.msg_iov, .desc = op->msg.desc, .iov_count = op->msg.iov_count, .addr = op->msg.addr,
			.context = op->msg.context, .data = op->msg.data,
		},
	};
	return (send ? queue_send : queue_recv)(domain, &untagged, FI_MSG, call);
}

static int queue_rma(struct emu_domain *domain, const struct fi_op_rma *op, struct deferred_work_call *call, enum op_kind kind)
{
	struct fi_msg_rma msg;
	int err;

	if (!op)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_control, FI_QUEUE_WORK: work->op names no operation.");
	err = check_ep(domain, op->ep, op->flags, kind == OP_WRITE ? DATA_PUT_FLAGS | FI_COMMIT_COMPLETE : DATA_GET_FLAGS);
	if (!err && op->flags & FI_COMMIT_COMPLETE & ~data_commit(emu_ep(op->ep)))
		err = REFUSE_FLAGS(EP_DATA, "fi_control, FI_QUEUE_WORK", (uint64_t)FI_COMMIT_COMPLETE);
	if (err)
		return err;
	msg = op->msg;
	msg.context = call;
	call->context = op->msg.context;
	return (int)emu_rma_post(emu_ep(op->ep), kind, &msg, KEPT(op->flags));
}

static int queue_atomic(struct emu_domain *domain, const struct fi_op_atomic *op, struct deferred_work_call *call,
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

/* The structures have the same beginning. */
static_assert(offsetof(struct fi_op_fetch_atomic, msg) == offsetof(struct fi_op_atomic, msg) &&
		      offsetof(struct fi_op_compare_atomic, msg) == offsetof(struct fi_op_atomic, msg),
	      "fi_op_*atomic");

static int queue_atomics(struct emu_domain *domain, const struct fi_deferred_work *work, struct deferred_work_call *call)
{
	const struct fi_op_compare_atomic *compare = work->op.compare_atomic;
	const struct fi_op_fetch_atomic *fetch = work->op.fetch_atomic;
	struct atomic_call post = { .kind = ATOMIC_PLAIN };

	if (!work->op.atomic)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_control, FI_QUEUE_WORK: work->op names no operation.");
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
		post.compare = (struct atomic_buffer){ compare->compare.msg_iov, compare->compare.desc, compare->compare.iov_count,
						       MR_WRITE };
	}
	return queue_atomic(domain, work->op.atomic, call, &post);
}

static int queue_change(struct emu_domain *domain, const struct fi_deferred_work *work, const struct trigger *when)
{
	const struct fi_op_cntr *op = work->op.cntr;
	struct deferred_change change = { .set = work->op_type == FI_OP_CNTR_SET };
	int err = op ? check_cntr(domain, op->cntr)
		     : REFUSE(EP_DATA, -FI_EINVAL,
			      "fi_control, FI_QUEUE_WORK: work->op names no "
			      "operation.");

	if (err)
		return err;
	if (when->done)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_control, FI_QUEUE_WORK: a change of a counter has no completion_cntr.");
	change.cntr = ((struct emu_cntr *)op->cntr)->cntr;
	change.value = op->value;
	return nic_change_counter(domain->nic, when, &change);
}

static int take_when(struct emu_domain *domain, const struct fi_deferred_work *work, struct trigger *when)
{
	int err = check_cntr(domain, work->triggering_cntr);

	if (!err && work->completion_cntr)
		err = check_cntr(domain, work->completion_cntr);
	if (err)
		return err;
	*when = (struct trigger){
		.cntr = ((struct emu_cntr *)work->triggering_cntr)->cntr,
		.threshold = work->threshold,
		.errors = true,
		.work = work,
		.owner = domain,
		.done = work->completion_cntr ? ((struct emu_cntr *)work->completion_cntr)->cntr : NULL,
	};
	return 0;
}

int deferred_work_queue(struct emu_domain *domain, const struct fi_deferred_work *work)
{
	struct deferred_work_call call;
	int err;

	if (!work)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_control, FI_QUEUE_WORK: arg is NULL.");
	if (!domain_usable(domain))
		return refuse_inherited("fi_control, FI_QUEUE_WORK");
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
		return REFUSE(EP_DATA, -FI_ENOSYS, "fi_control, FI_QUEUE_WORK: op_type %d is not offered.", (int)work->op_type);
	}
}

int deferred_work_cancel(struct emu_domain *domain, const struct fi_deferred_work *work)
{
	if (!work)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_control, FI_CANCEL_WORK: arg is NULL.");
	return domain_usable(domain) ? nic_cancel_work(domain->nic, work) : refuse_inherited("fi_control, FI_CANCEL_WORK");
}

int deferred_work_flush(struct emu_domain *domain, struct fid_cntr *cntr)
{
	int err = cntr ? check_cntr(domain, cntr) : 0;

	if (!err && !domain_usable(domain))
		err = refuse_inherited("fi_control, FI_FLUSH_WORK");
	if (!err)
		nic_flush_work(domain->nic, domain, cntr ? ((struct emu_cntr *)cntr)->cntr : NULL);
	return err;
}
