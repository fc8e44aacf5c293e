/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_rma.c - remote reads and writes: nine calls, one post. */
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "emu/fi/data/fi_data.h"
#include "emu/fi/data/fi_data_impl.h"
#include "emu/fi/provider/fi_refuse.h"

/* FI_INJECT is for data that is sent; as an endpoint's default it does not apply to reads. */
static uint64_t rma_read_defaults(struct fid_ep *fid)
{
	return emu_ep(fid)->tx_flags & ~FI_INJECT;
}

static const char *rma_call_name(const struct post *post)
{
	return post->kind == OP_WRITE ? "fi_write" : "fi_read";
}

__attribute__((cold)) static int bad_count(const struct emu_ep *ep, const struct post *post)
{
	return REFUSE(EP_DATA, -FI_EINVAL, "%s: %zu remote ranges, from 1 to rma_iov_limit %zu are allowed.", rma_call_name(post),
		      post->remote_count, ep->rma_iov_limit);
}

__attribute__((cold)) static int bad_length(const struct post *post, size_t total)
{
	return REFUSE(EP_DATA, -FI_EINVAL, "%s: the remote ranges together are not as long as the local buffers, %zu B.",
		      rma_call_name(post), total);
}

/* Checks several remote ranges: together they must be as long as the local buffers. */
__attribute__((noinline)) static int check_remote(const struct emu_ep *ep, const struct post *post, size_t total)
{
	size_t left = total;

	if (!post->remote || !post->remote_count || post->remote_count > ep->rma_iov_limit)
		return bad_count(ep, post);
	for (size_t i = 0; i < post->remote_count; i++) {
		if (post->remote[i].length > left)
			return bad_length(post, total);
		left -= post->remote[i].length;
	}
	return left ? bad_length(post, total) : 0;
}

/* EMU_FI_TAGGED_RMA: one receive is named, and no region that could be durable. */
static int check_tagged(const struct post *post, uint64_t flags)
{
	if (post->remote_count != 1)
		return REFUSE(EP_DATA, -FI_EINVAL, "%s: %zu remote ranges, and FI_TAGGED names one receive.", rma_call_name(post),
			      post->remote_count);
	if (flags & FI_COMMIT_COMPLETE && post->kind == OP_WRITE)
		return REFUSE(EP_DATA, -FI_EBADFLAGS,
			      "fi_write: FI_COMMIT_COMPLETE, and FI_TAGGED names a receive, which is not durable.");
	return 0;
}

/* All calls come down to this: `post` has kind, buffers, destination, context and data, and `remote` the ranges. */
static ssize_t rma_post(struct emu_ep *ep, struct post *post, struct remote *remote, void *const *desc, uint64_t flags)
{
	bool write = post->kind == OP_WRITE;
	uint64_t way = write ? FI_WRITE : FI_READ; /* as a capability, and of the completion */
	struct iovec room[LIMIT_IOV];
	struct trigger when;
	ssize_t total;
	int err;

	post->flags = data_post_flags(ep, flags, write ? FI_TAGGED | DATA_LEVELS : FI_TAGGED);
	post->cq_flags = FI_RMA | way | (flags & FI_TAGGED);
	post->remote = remote;
	post->desc = data_names(ep, desc);
	err = data_check_ep(ep, FI_RMA | way);
	if (err)
		return err;
	total = data_check_local(ep, post->iov, post->iov_count, desc, write ? MR_WRITE : MR_READ, flags);
	if (total < 0)
		return total;
	err = data_reach(ep, &post->iov, post->iov_count, desc, write ? MR_WRITE : MR_READ, flags, room);
	if (err)
		return err;
	if (post->remote_count != 1 || !remote || remote->length != (size_t)total)
		err = check_remote(ep, post, (size_t)total);
	if (!err && data_no_dest(ep, post->dest))
		err = data_refuse_dest(rma_call_name(post));
	if (!err)
		err = unlikely(post->flags & POST_TAGGED) ? check_tagged(post, flags)
							  : rkey_keys(ep->domain, remote, post->remote_count);
	if (!err)
		err = data_trigger_of(ep, post->kind, flags, &post->context, &when, &post->when);
	return err ? err : ep_post(ep->dev, post);
}

ssize_t emu_rma_post(struct emu_ep *ep, enum op_kind kind, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct remote remote[LIMIT_IOV];
	struct post post = {
		.kind = kind,
		.dest = msg->addr,
		.iov = msg->msg_iov,
		.iov_count = msg->iov_count,
		.remote_count = msg->rma_iov_count,
		.cq_data = msg->data,
		.context = msg->context,
	};

	for (size_t i = 0; msg->rma_iov && i < msg->rma_iov_count && i < LIMIT_IOV; i++) /* more are refused later */
		remote[i] = (struct remote){
			.addr = msg->rma_iov[i].addr,
			.length = msg->rma_iov[i].len,
			.key = msg->rma_iov[i].key,
		};
	return rma_post(ep, &post, msg->rma_iov ? remote : NULL, msg->desc, flags);
}

/* One remote range as long as the local buffers. */
static ssize_t rma_vector(struct fid_ep *fid, enum op_kind kind, const struct iovec *iov, void **desc, size_t count, fi_addr_t peer,
			  uint64_t addr, uint64_t key, void *context)
{
	struct remote remote = { .addr = addr, .key = key };
	struct post post = {
		.kind = kind,
		.dest = peer,
		.iov = iov,
		.iov_count = count,
		.remote_count = 1,
		.context = context,
	};

	for (size_t i = 0; iov && i < count && i < LIMIT_IOV; i++)
		remote.length += iov[i].iov_len; /* a sum that wraps is longer than max_msg_size: refused later */
	return rma_post(emu_ep(fid), &post, &remote, desc, kind == OP_WRITE ? emu_ep(fid)->tx_flags : rma_read_defaults(fid));
}

/* With one buffer. */
static inline ssize_t rma_single(struct fid_ep *fid, enum op_kind kind, const void *buf, size_t len, void *desc, fi_addr_t peer,
				 uint64_t addr, uint64_t key, void *context, uint64_t data, uint64_t flags)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	struct remote remote = { .addr = addr, .length = len, .key = key };
	struct post post = {
		.kind = kind,
		.dest = peer,
		.iov = &iov,
		.iov_count = 1,
		.remote_count = 1,
		.cq_data = data,
		.context = context,
	};

	return rma_post(emu_ep(fid), &post, &remote, &desc, flags);
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t addr, uint64_t key,
			void *context)
{
	return rma_single(fid, OP_READ, buf, len, desc, src, addr, key, context, 0, rma_read_defaults(fid));
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t src, uint64_t addr,
			 uint64_t key, void *context)
{
	return rma_vector(fid, OP_READ, iov, desc, count, src, addr, key, context);
}

/* FI_TAGGED if a call may ask for it, else 0. */
static uint64_t rma_tagged(const struct emu_ep *ep)
{
	return ep->caps & EMU_FI_TAGGED_RMA ? FI_TAGGED : 0;
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	uint64_t known;

	if (!msg)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_readmsg: msg is NULL.");
	known = DATA_GET_FLAGS | data_trigger(emu_ep(fid)) | rma_tagged(emu_ep(fid));
	if (flags & ~known)
		return REFUSE_FLAGS(EP_DATA, "fi_readmsg", flags & ~known);
	return emu_rma_post(emu_ep(fid), OP_READ, msg, flags);
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t addr, uint64_t key,
			 void *context)
{
	return rma_single(fid, OP_WRITE, buf, len, desc, dest, addr, key, context, 0, emu_ep(fid)->tx_flags);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest, uint64_t addr,
			  uint64_t key, void *context)
{
	return rma_vector(fid, OP_WRITE, iov, desc, count, dest, addr, key, context);
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	uint64_t known;

	if (!msg)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_writemsg: msg is NULL.");
	known = DATA_PUT_FLAGS | data_commit(emu_ep(fid)) | data_trigger(emu_ep(fid)) | rma_tagged(emu_ep(fid));
	if (flags & ~known)
		return REFUSE_FLAGS(EP_DATA, "fi_writemsg", flags & ~known);
	return emu_rma_post(emu_ep(fid), OP_WRITE, msg, flags);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest, uint64_t addr, uint64_t key)
{
	return rma_single(fid, OP_WRITE, buf, len, NULL, dest, addr, key, NULL, 0, FI_INJECT | DATA_SILENT);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest,
			     uint64_t addr, uint64_t key, void *context)
{
	return rma_single(fid, OP_WRITE, buf, len, desc, dest, addr, key, context, data, emu_ep(fid)->tx_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data, fi_addr_t dest, uint64_t addr,
			      uint64_t key)
{
	return rma_single(fid, OP_WRITE, buf, len, NULL, dest, addr, key, NULL, data, FI_INJECT | DATA_SILENT | FI_REMOTE_CQ_DATA);
}

struct fi_ops_rma emu_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
