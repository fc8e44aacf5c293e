/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_post.c - buffers, descriptors, flags and windows of data transfer calls. */
#include "emu/kfi/ep/kemu_post.h"

#include <kfi_errno.h>
#include <kfi_tagged.h>

#include "emu/kfi/mr/kemu_memory.h"
#include "emu/kfi/objects/kemu_queues.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_refuse.h"

bool kemu_post_no_room(const struct kemu_ep *ep, uint64_t side)
{
	struct kemu_cq *cq = side == FI_TRANSMIT ? ep->tx_cq : ep->rx_cq;

	return cq && kemu_cq_saturated(cq);
}

static int take_flags(struct kemu_post *post, const struct kemu_call *call)
{
	post->flags = 0;
	if (!call->msg)
		return 0;
	if (!kemu_fi_flags(call->flags, &post->flags))
		return KEMU_REFUSE_FLAGS(call->vector.call, call->flags & ~post->flags, "");
	if (call->flags & KFI_MULTI_RECV && call->vector.count != 1)
		return KEMU_REFUSE(-KFI_ENOSYS, "%s: %zu entries with KFI_MULTI_RECV, which takes one.", call->vector.call,
				   call->vector.count);
	return 0;
}

/* The operation makes a completion in any case, by which the window ends; a queue that was to have none for it does not show it. */
static int lend_window(struct kemu_post *post, const struct kemu_call *call)
{
	const struct kemu_ep *ep = call->ep;
	bool transmit = call->side == FI_TRANSMIT, silent = transmit ? ep->tx_selective : ep->rx_selective;
	uint64_t defaults = call->side;

	if (call->flags & KFI_CLAIM)
		return KEMU_REFUSE(-KFI_EINVAL, "%s: %zu separate buffers with KFI_CLAIM, which takes %d.", call->vector.call,
				   call->vector.count, KEMU_RUNS);
	post->lender = transmit ? ep->tx_cq : ep->rx_cq;
	if (!post->lender)
		return KEMU_REFUSE(-KFI_ENOCQ,
				   "%s: more than %d separate buffers, and no completion queue is bound by which their operation "
				   "could end.",
				   call->vector.call, KEMU_RUNS);
	if (!post->msg && !fi_control(&ep->fi->fid, FI_GETOPSFLAG, &defaults))
		post->flags = defaults & ~call->side;
	post->context = kemu_cq_lend(post->lender, call->context, post->memory.window, silent && !(post->flags & FI_COMPLETION));
	post->flags |= FI_COMPLETION;
	post->msg = true;
	return post->context ? 0 : -KFI_ENOMEM;
}

int kemu_post_begin(struct kemu_post *post, const struct kemu_call *call)
{
	int err = take_flags(post, call);

	/* A buffer for many messages is taken all the same: kcxi_recvmsg(). */
	if (!err && !(call->flags & KFI_MULTI_RECV) && kemu_saturated(call->ep, call->side))
		err = -KFI_EAGAIN;
	post->memory.count = post->memory.length = 0;
	post->memory.window = NULL;
	if (!err && call->vector.count) /* the type of no buffers is not looked at */
		err = kemu_memory_take(&post->memory, &call->vector);
	if (err)
		return err;
	post->desc = call->vector.desc ? post->memory.desc : NULL;
	post->context = call->context;
	post->msg = call->msg;
	post->lender = NULL;
	if (!post->memory.window)
		return 0;
	err = lend_window(post, call);
	if (err)
		kemu_window_free(post->memory.window);
	return err;
}

ssize_t kemu_post_end(struct kemu_post *post, ssize_t rc)
{
	if (rc && post->lender) {
		kemu_cq_unlend(post->lender, post->context);
		kemu_window_free(post->memory.window);
	}
	return rc;
}

void *kemu_post_single(const struct kemu_ep *ep, const void **buf, size_t len, void *desc)
{
	struct iovec buffer = { (void *)(uintptr_t)*buf, len };

	if (!(ep->domain->mr_mode & KFI_MR_LOCAL))
		return NULL;
	if (desc)
		kemu_desc_translate(ep->domain, desc, &buffer);
	*buf = buffer.iov_base;
	return desc;
}

bool kemu_single_take(struct kemu_single *one, struct kfid_ep *kfid, const void *buf, size_t len, void *desc, uint64_t side)
{
	one->ep = kemu_ep(kfid);
	one->fi = one->ep->fi;
	one->desc = kemu_post_single(one->ep, &buf, len, desc);
	one->buf = (void *)(uintptr_t)buf;
	return !kemu_saturated(one->ep, side);
}
