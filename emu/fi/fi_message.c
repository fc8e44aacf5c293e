/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_message.c - messages: the checks, and the post for each direction. */
#include "emu/fi/fi_message.h"

#include <rdma/fi_errno.h>

#include "emu/fi/fi_av.h"
#include "emu/fi/fi_av_auth.h"
#include "emu/fi/fi_compat.h"
#include "emu/fi/fi_data.h"
#include "emu/fi/fi_prov.h"
#include "emu/nic/av.h"
#include "emu/nic/mr.h"

/* A group is also the flag of its completions (fi_status.c asserts it), and that of tagged posts the flag of these. */
ssize_t message_send(struct emu_ep *ep, uint64_t group, struct post *post, void *const *desc, uint64_t flags)
{
	struct when when;
	ssize_t total;
	int err = data_check_ep(ep, group | FI_SEND);

	if (!err && flags & data_no_levels(ep))
		err = -FI_EBADFLAGS;
	if (err)
		return err;
	total = data_check_local(ep, post->iov, post->iov_count, desc, MR_SEND, flags);
	if (total < 0)
		return total;
	if (data_no_dest(ep, post->dest))
		return -FI_EINVAL;
	err = data_when(ep, flags, &post->context, &when, &post->when);
	if (err)
		return err;
	post->kind = OP_SEND;
	post->flags = data_post_flags(ep, flags, 0) | (uint32_t)(group & POST_TAGGED) |
		      (flags & FI_MATCH_COMPLETE ? POST_MATCH : 0);
	post->cq_flags = group | CQ_F_SEND;
	return ep_post(ep->dev, post);
}

static uint32_t recv_post_flags(const struct emu_ep *ep, uint64_t flags)
{
	bool always = !ep->rx_selective && !(flags & DATA_WORK);
	uint32_t kept = (uint32_t)(flags & (FI_COMPLETION | FI_MULTI_RECV | FI_PEEK)) | (always ? POST_COMPLETE : 0);

	if (flags & (DATA_WORK | FI_CLAIM | FI_DISCARD))
		kept |= (flags & DATA_WORK ? POST_WORK : 0) | (flags & FI_CLAIM ? POST_CLAIM : 0) |
			(flags & FI_DISCARD ? POST_DISCARD : 0);
	return kept;
}

/* Whom a receive is for (FI_DIRECTED_RECV): one address or, with FI_AUTH_KEY, all that show one key. */
__attribute__((noinline))
static int take_source(const struct emu_ep *ep, fi_addr_t source, uint64_t flags, struct recv_post *post)
{
	struct sockaddr_storage addr;
	uint64_t stamp;

	if (source ==FI_ADDR_UNSPEC)
		return ep->caps & COMPAT_EXACT_DIRECTED_RECV ? -FI_EINVAL : 0;
	if (flags & COMPAT_AUTH_KEY && !ep->av)
		return -FI_EINVAL; /* a shared context has no address vector of its own */
	if (flags & COMPAT_AUTH_KEY)
		return av_auth_proof(ep->av->keys, source, &post->auth);
	post->source = source;
	return av_lookup(ep->av->av, source, &addr, &stamp);
}

__attribute__((cold))
static int posted_to_sharer(void)
{
	EMU_WARN(EP_DATA, "the endpoint has a shared receive context: receives are posted there\n");
	return -FI_EOPNOTSUPP;
}

ssize_t message_recv(struct emu_ep *ep, uint64_t group, struct recv_post *post, void *const *desc, uint64_t flags)
{
	fi_addr_t source = post->source;
	struct when when;
	ssize_t total = 0;
	int    err = data_check_ep(ep, group | FI_RECV);

	if (flags & (FI_PEEK | FI_DISCARD))
		post->iov_count = 0; /* nothing is received */
	else if (!err)
		total = data_check_local(ep, post->iov, post->iov_count, desc, MR_RECV, flags & (FI_CLAIM | FI_MULTI_RECV));
	if (total < 0)
		return total;
	post->source = AV_NONE;
	if (!err && data_directed(ep, group)) /* without the capability the argument is ignored */
		err = take_source(ep, source, flags, post);
	if (!err && flags & FI_MULTI_RECV && (post->iov_count != 1 || !total))
		err = -FI_EINVAL; /* a single buffer (fi_msg(3)) */
	if (!err && ep->srx)
		err = posted_to_sharer();
	if (!err)
		err = data_when(ep, flags, &post->context, &when, &post->when);
	if (err)
		return err;
	post->flags = (uint32_t)(group & POST_TAGGED) | recv_post_flags(ep, flags);
	post->cq_flags = group | CQ_F_RECV;
	if (flags & FI_MULTI_RECV)
		post->least = atomic_load_explicit(&ep->whole->min_multi_recv, memory_order_relaxed);
	return ep->rx_dev ? srx_recv(ep->rx_dev, post) : ep_recv(ep->dev, post);
}
