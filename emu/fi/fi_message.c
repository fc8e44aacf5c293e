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

/* A group is also the flag of its completions (fi_status.c asserts it). */
ssize_t message_send(struct emu_ep *ep, uint64_t group, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct local_side local = {
		.iov = msg->msg_iov, .desc = msg->desc, .count = msg->iov_count, .limit = ep->tx_iov_limit,
		.right = MR_SEND,
	};
	struct post post = {
		.kind = OP_SEND, .flags = data_post_flags(ep, flags) | (group == FI_TAGGED ? POST_TAGGED : 0) |
					  (flags & FI_MATCH_COMPLETE ? POST_MATCH : 0),
		.dest = msg->addr, .iov = msg->msg_iov, .iov_count = msg->iov_count, .cq_data = msg->data,
		.tag = msg->tag, .context = msg->context, .cq_flags = group | CQ_F_SEND,
	};
	struct when when;
	size_t total = 0;
	int    err;

	err = data_check_ep(ep, group, FI_SEND);
	if (!err && flags & data_no_levels(ep))
		err = -FI_EBADFLAGS;
	if (!err)
		err = data_check_local(ep, &local, flags, &total);
	if (!err && data_no_dest(ep, msg->addr))
		err = -FI_EINVAL;
	if (!err)
		err = data_when(ep, flags, &post.context, &when, &post.when);
	return err ? err : ep_post(ep->dev, &post);
}

static uint32_t recv_post_flags(const struct emu_ep *ep, uint64_t flags)
{
	bool complete = flags & FI_COMPLETION || (!ep->rx_selective && !(flags & DATA_WORK));

	return (complete ? POST_COMPLETE : 0) | (flags & DATA_WORK ? POST_WORK : 0) |
	       (flags & FI_MULTI_RECV ? POST_MULTI : 0) | (flags & FI_PEEK ? POST_PEEK : 0) |
	       (flags & FI_CLAIM ? POST_CLAIM : 0) | (flags & FI_DISCARD ? POST_DISCARD : 0);
}

/* Whom a receive is for (FI_DIRECTED_RECV): one address or, with FI_AUTH_KEY, all that show one key. */
static int take_source(const struct emu_ep *ep, uint64_t group, fi_addr_t source, uint64_t flags, struct recv_post *post)
{
	struct sockaddr_storage addr;
	uint64_t stamp;

	post->source = AV_NONE;
	if (!data_directed(ep, group))
		return 0;	/* without the capability the argument is ignored */
	if (source == FI_ADDR_UNSPEC)
		return ep->caps & COMPAT_EXACT_DIRECTED_RECV ? -FI_EINVAL : 0;
	if (flags & COMPAT_AUTH_KEY && !ep->av)
		return -FI_EINVAL; /* a shared context has no address vector of its own */
	if (flags & COMPAT_AUTH_KEY)
		return av_auth_proof(ep->av->keys, source, &post->auth);
	post->source = source;
	return av_lookup(ep->av->av, source, &addr, &stamp);
}

static int posted_to_sharer(void)
{
	EMU_WARN(EP_DATA, "the endpoint has a shared receive context: receives are posted there\n");
	return -FI_EOPNOTSUPP;
}

ssize_t message_recv(struct emu_ep *ep, uint64_t group, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct local_side local = {
		.iov = msg->msg_iov, .desc = msg->desc, .count = msg->iov_count, .limit = ep->rx_iov_limit,
		.right = MR_RECV,
	};
	struct recv_post post = {
		.iov = msg->msg_iov, .iov_count = msg->iov_count,
		.flags = (group == FI_TAGGED ? POST_TAGGED : 0) | recv_post_flags(ep, flags),
		.least = atomic_load_explicit(&ep->whole->min_multi_recv, memory_order_relaxed),
		.tag = msg->tag, .ignore = msg->ignore, .context = msg->context, .cq_flags = group | CQ_F_RECV,
	};
	struct when when;
	size_t total = 0;
	int    err;

	err = data_check_ep(ep, group, FI_RECV);
	if (flags & (FI_PEEK | FI_DISCARD))
		post.iov_count = 0; /* nothing is received */
	else if (!err)
		err = data_check_local(ep, &local, flags & (FI_CLAIM | FI_MULTI_RECV), &total);
	if (!err)
		err = take_source(ep, group, msg->addr, flags, &post);
	if (!err && flags & FI_MULTI_RECV && (msg->iov_count != 1 || !total))
		err = -FI_EINVAL; /* a single buffer (fi_msg(3)) */
	if (!err && ep->srx)
		err = posted_to_sharer();
	if (!err)
		err = data_when(ep, flags, &post.context, &when, &post.when);
	if (err)
		return err;
	return ep->rx_dev ? srx_recv(ep->rx_dev, &post) : ep_recv(ep->dev, &post);
}

ssize_t message_send_one(struct emu_ep *ep, uint64_t group, const void *buf, size_t len, void *desc,
			 struct fi_msg_tagged *msg, uint64_t flags)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	msg->msg_iov = &iov;
	msg->desc = &desc;
	msg->iov_count = 1;
	return message_send(ep, group, msg, flags);
}

ssize_t message_recv_one(struct emu_ep *ep, uint64_t group, void *buf, size_t len, void *desc,
			 struct fi_msg_tagged *msg, uint64_t flags)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	msg->msg_iov = &iov;
	msg->desc = &desc;
	msg->iov_count = 1;
	return message_recv(ep, group, msg, flags);
}
