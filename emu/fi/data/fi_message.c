/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_message.c - messages: the checks, and the post for each direction. */
#include "emu/fi/data/fi_data_impl.h"

#include <rdma/fi_errno.h>

#include "emu/fi/data/fi_data.h"
#include "emu/fi/av/fi_av.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/regions/mr.h"

/* A group is also the flag of its completions. */
ssize_t message_send(struct emu_ep *ep, uint64_t group, struct post *post, void *const *desc, uint64_t flags)
{
	struct iovec room[LIMIT_IOV];
	struct trigger when;
	ssize_t total;
	int err = data_check_ep(ep, group | FI_SEND);

	if (!err && flags & data_no_levels(ep))
		err = REFUSE_FLAGS(EP_DATA, group == FI_MSG ? "fi_send" : "fi_tsend", flags & data_no_levels(ep));
	if (err)
		return err;
	total = data_check_local(ep, post->iov, post->iov_count, desc, MR_SEND, flags);
	if (total < 0)
		return total;
	if (data_no_dest(ep, post->dest))
		return data_refuse_dest(group == FI_MSG ? "fi_send" : "fi_tsend");
	err = data_reach(ep, &post->iov, post->iov_count, desc, MR_SEND, flags, room);
	if (!err)
		err = data_trigger_of(ep, OP_SEND, flags, &post->context, &when, &post->when);
	if (err)
		return err;
	post->kind = OP_SEND;
	post->desc = data_names(ep, desc);
	post->flags = data_post_flags(ep, flags, 0) | (group & FI_TAGGED ? POST_TAGGED : 0) |
		      (flags & FI_MATCH_COMPLETE ? POST_MATCH : 0);
	post->cq_flags = group | FI_SEND;
	return ep_post(ep->dev, post);
}

static uint32_t recv_post_flags(const struct emu_ep *ep, uint64_t flags)
{
	bool always = !ep->rx_selective && !(flags & DATA_WORK);
	uint32_t kept = always || flags & FI_COMPLETION ? POST_COMPLETE : 0;

	if (flags & (DATA_WORK | FI_MULTI_RECV | FI_PEEK | FI_CLAIM | FI_DISCARD))
		kept |= (flags & DATA_WORK ? POST_WORK : 0) | (flags & FI_MULTI_RECV ? POST_MULTI : 0) |
			(flags & FI_PEEK ? POST_PEEK : 0) | (flags & FI_CLAIM ? POST_CLAIM : 0) |
			(flags & FI_DISCARD ? POST_DISCARD : 0);
	if (flags & FI_MULTI_RECV && ep->domain->attr->multi_last)
		kept |= POST_MULTI_LAST;
	return kept;
}

/* The source that a receive is for (FI_DIRECTED_RECV): one address or, with FI_AUTH_KEY, all peers that show one key. */
__attribute__((noinline)) static int take_source(const struct emu_ep *ep, fi_addr_t source, uint64_t flags, struct recv_post *post)
{
	struct sockaddr_storage addr;
	uint64_t stamp;

	if (source == FI_ADDR_UNSPEC && !(ep->caps & COMPAT_EXACT_DIRECTED_RECV))
		return 0;
	if (source == FI_ADDR_UNSPEC)
		return REFUSE(EP_DATA, -FI_EINVAL,
			      "fi_recv: under FI_EXACT_DIRECTED_RECV a receive names its sender, and "
			      "src_addr is FI_ADDR_UNSPEC.");
	if (flags & COMPAT_AUTH_KEY && !ep->av)
		return REFUSE(EP_DATA, -FI_EINVAL,
			      "fi_recv: FI_AUTH_KEY names a key of an address vector, and a shared receive "
			      "context has none.");
	if (flags & COMPAT_AUTH_KEY ? av_auth_proof(ep->av->keys, source, &post->auth)
				    : av_lookup(ep->av->av, source, &addr, &stamp))
		return REFUSE(EP_DATA, -FI_EINVAL,
			      "fi_recv: src_addr %#llx is not in the address vector. Pass the fi_addr_t "
			      "that fi_av_insert gave, or FI_ADDR_UNSPEC.",
			      (unsigned long long)source);
	if (!(flags & COMPAT_AUTH_KEY))
		post->source = source;
	return 0;
}

__attribute__((cold)) static int posted_to_sharer(void)
{
	return REFUSE(EP_DATA, -FI_EOPNOTSUPP, "fi_recv: the endpoint has a shared receive context. Post receives there.");
}

ssize_t message_recv(struct emu_ep *ep, uint64_t group, struct recv_post *post, void *const *desc, uint64_t flags)
{
	fi_addr_t source = post->source;
	struct iovec room[LIMIT_IOV];
	struct trigger when;
	ssize_t total = 0;
	int err = data_check_ep(ep, group | FI_RECV);

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
		err = REFUSE(EP_DATA, -FI_EINVAL,
			     "fi_recvmsg: FI_MULTI_RECV takes one buffer of some length (fi_msg(3)), and "
			     "%zu are given, %zd B together.",
			     post->iov_count, total);
	if (!err)
		err = data_reach(ep, &post->iov, post->iov_count, desc, MR_RECV, 0, room);
	if (!err && ep->srx)
		err = posted_to_sharer();
	if (!err)
		err = data_trigger_of(ep, OP_POSTED_KINDS, flags, &post->context, &when, &post->when);
	if (err)
		return err;
	post->flags = (group & FI_TAGGED ? POST_TAGGED : 0) | recv_post_flags(ep, flags);
	post->cq_flags = group | FI_RECV;
	post->desc = data_names(ep, desc);
	if (flags & FI_MULTI_RECV)
		post->least = atomic_load_explicit(&ep->primary->min_multi_recv, memory_order_relaxed);
	return ep->rx_dev ? srx_recv(ep->rx_dev, post) : ep_recv(ep->dev, post);
}
