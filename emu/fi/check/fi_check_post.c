/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_post.c - what the device tells of watched posts: libfabric's part (check_post.c has the rest). */
#include "emu/fi/check/fi_check_impl.h"

#include <inttypes.h>
#include <stddef.h>

#include <rdma/fi_errno.h>

#include "emu/fi/check/fi_check.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/provider/fi_kernel.h"
#include "emu/fi/provider/fi_watched.h"
#include "emu/fi/queues/fi_queues.h"
#include "emu/nic/ops/op.h"

/* Orders of reads and of atomics that fetch behind other operations. */
#define READ_LAST (FI_ORDER_RAW | FI_ORDER_RMA_RAW | FI_ORDER_ATOMIC_RAW | FI_ORDER_RAS)

static const char *post_call(const struct post *post)
{
	switch (post->kind) {
	case OP_SEND:
		return post->flags & POST_TAGGED ? "fi_tsend" : "fi_send";
	case OP_WRITE:
		return "fi_write";
	case OP_READ:
		return "fi_read";
	default:
		return "fi_atomic";
	}
}

static size_t context_size(uint64_t mode)
{
	return mode & FI_CONTEXT2 ? sizeof(struct fi_context2) : sizeof(struct fi_context);
}

static struct check_post *post_new(const struct emu_ep *ep, const char *call, const void *context, bool receive)
{
	const struct check_object *object = ep ? check_object_of(&ep->primary->fid.fid) : NULL;
	struct check_post *post = check_post_new(ep ? ep->primary : NULL, call, receive);

	if (post && context && object && object->contexts)
		check_post_context(post, context, context_size(object->contexts));
	return post;
}

/* Regions that are named by offsets may begin anywhere. */
static void look_at_alignment(const struct emu_ep *ep, const struct post *from)
{
	size_t align;

	if (!from->atomic || !ep || !(ep->domain->rules & FI_MR_VIRT_ADDR))
		return;
	align = atomic_alignment(from->atomic->what.type);
	for (size_t i = 0; i < from->remote_count; i++)
		if (from->remote[i].addr % align) {
			check_tell(&(struct check_finding){ .cause = CHECK_UNALIGNED, .call = "fi_atomic", .here = true },
				   "fi_atomic: the remote address %#" PRIx64 " is no multiple of %zu", from->remote[i].addr, align);
			return;
		}
}

/* Results may go where the operands are. */
static bool stays(const struct check_post *post, const struct post *from)
{
	return from->kind != OP_READ &&
	       !(from->atomic && check_buffers_overlap(post->iov, post->count, from->atomic->result, from->atomic->result_count));
}

static void *watch_post(void *owner, const struct post *from)
{
	const struct emu_ep *ep = owner;
	struct check_post *post;

	if (ep)
		check_serial_enter(check_serial_of(ep->domain, ep->tx_cq), post_call(from));
	look_at_alignment(ep, from);
	if (from->flags & POST_INJECT) {
		check_post_copied(post_call(from), from->iov, from->iov_count);
		return NULL;
	}
	post = post_new(owner, post_call(from), from->context, false);
	if (!post)
		return NULL;
	post->fenced = from->flags & POST_FENCE;
	post->dest = from->dest;
	post->behind_writes = ep && ep->tx_order & READ_LAST;
	check_post_buffers(post, from->iov, from->iov_count);
	if (from->atomic)
		check_post_buffers(post, from->atomic->compare, from->atomic->compare_count);
	if (stays(post, from))
		check_post_stays(post);
	if (from->kind == OP_READ) {
		check_post_reads(post, from->remote[0].key, from->remote[0].addr);
		check_post_vector(post, from->iov, from->iov_count);
		check_post_enter(post, from->iov, from->iov_count);
		return post;
	}
	if (from->atomic)
		check_post_vector(post, from->atomic->result, from->atomic->result_count);
	check_post_enter(post, from->atomic ? from->atomic->result : NULL, from->atomic ? from->atomic->result_count : 0);
	return post;
}

static void *watch_receive(void *owner, const struct recv_post *from)
{
	const struct emu_ep *ep = owner;
	struct check_post *post;

	if (ep)
		check_serial_enter(check_serial_of(ep->domain, ep->rx_cq), from->flags & POST_TAGGED ? "fi_trecv" : "fi_recv");
	if (from->flags & POST_CLAIM && !(from->flags & POST_PEEK)) {
		post = post_new(owner, "fi_trecvmsg", NULL, true);
		if (post) {
			post->tag = from->tag;
			post->ignore = from->ignore;
			check_post_enter(post, NULL, 0);
		}
		return post;
	}
	if (from->flags & (POST_PEEK | POST_CLAIM | POST_DISCARD))
		return NULL;
	post = post_new(owner, from->flags & POST_TAGGED ? "fi_trecv" : "fi_recv", from->context, true);
	if (!post)
		return NULL;
	check_post_buffers(post, from->iov, from->iov_count);
	/* Messages come into the buffer of many one by one; by tagged RMA peers write without a message. */
	if (!(from->flags & POST_MULTI) && !(ep && ep->caps & EMU_FI_TAGGED_RMA))
		check_post_stays(post);
	check_post_vector(post, from->iov, from->iov_count);
	check_post_enter(post, NULL, 0);
	return post;
}

static void watch_claimed(void *watch, uint64_t tag)
{
	const struct check_post *post = watch;

	if ((tag ^ post->tag) & ~post->ignore)
		check_tell(&(struct check_finding){ .cause = CHECK_CLAIM, .call = post->call, .posted = &post->posted },
			   "%s: by FI_CLAIM it asks for the tag %#" PRIx64 ", bits %#" PRIx64
			   " ignored, and the message that its context has claimed has the tag %#" PRIx64,
			   post->call, post->tag, post->ignore, tag);
}

static void watch_posted(void *owner, int err)
{
	const struct emu_ep *ep = owner;
	const struct check_object *object;

	if (!ep)
		return;
	check_serial_leave(check_serial_of(ep->domain, ep->tx_cq));
	if (ep->rx_cq != ep->tx_cq)
		check_serial_leave(check_serial_of(ep->domain, ep->rx_cq));
	if (!check_progress_missing(ep, err == -FI_EAGAIN))
		return;
	object = check_object_of(&ep->primary->fid.fid);
	if (object && (object->manual || (ep->tx_cq && cq_ready(ep->tx_cq->cq))))
		check_tell(
			&(struct check_finding){ .cause = CHECK_NO_PROGRESS, .here = true },
			"a post was tried %d times in a row, got -FI_EAGAIN each time, and no queue or counter was read meanwhile",
			CHECK_RETRIES);
}

static void watch_accessed(void *owner)
{
	check_accessed(&((const struct emu_ep *)owner)->primary->fid);
}

const struct watch_ops check_watch = {
	.post = watch_post,
	.receive = watch_receive,
	.drop = check_post_drop,
	.posted = watch_posted,
	.place = check_post_place,
	.cancelled = check_post_place,
	.claimed = watch_claimed,
	.end = check_post_end,
	.accessed = watch_accessed,
};

void check_posts_dropped(const struct check_left *left, bool exits)
{
	check_tell(&(struct check_finding){ .cause = CHECK_IN_FLIGHT, .call = left->call, .posted = &left->posted, .here = !exits },
		   left->count == 1 ? "%s, and %u operation has not completed, %s"
				    : "%s, and %u operations have not completed, %s among them",
		   exits ? "the process exits" : "fi_close of an endpoint", left->count, left->call);
}
