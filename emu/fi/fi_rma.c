/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_rma.c - remote reads and writes: nine calls, one post. */
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "emu/fi/fi_data.h"
#include "emu/fi/fi_prov.h"
#include "emu/fi/fi_target.h"
#include "emu/nic/mr.h"

static int check_remote(const struct emu_ep *ep, const struct fi_msg_rma *msg, size_t total)
{
	size_t left = total;

	if (!msg->rma_iov || !msg->rma_iov_count || msg->rma_iov_count > ep->rma_iov_limit) {
		EMU_WARN(EP_DATA, "bad argument: %zu remote ranges, from 1 to rma_iov_limit %zu are allowed\n",
			 msg->rma_iov_count, ep->rma_iov_limit);
		return -FI_EINVAL;
	}
	for (size_t i = 0; i < msg->rma_iov_count; i++) {
		if (msg->rma_iov[i].len > left)
			break;
		left -= msg->rma_iov[i].len;
		if (i + 1 == msg->rma_iov_count && !left)
			return data_no_dest(ep, msg->addr) ? -FI_EINVAL : 0;
	}
	EMU_WARN(EP_DATA, "bad argument: the remote ranges together are not as long as the local buffers, %zu B\n",
		 total);
	return -FI_EINVAL;
}

ssize_t emu_rma_post(struct emu_ep *ep, enum op_kind kind, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct remote remote[LIMIT_IOV];
	bool   write = kind == OP_WRITE;
	struct local_side local = {
		.iov = msg->msg_iov, .desc = msg->desc, .count = msg->iov_count, .limit = ep->tx_iov_limit,
		.right = write ? MR_WRITE : MR_READ,
	};
	struct post post = {
		.kind = kind, .flags = data_post_flags(ep, flags) | (write && flags & FI_COMMIT_COMPLETE ? POST_COMMIT : 0),
		.dest = msg->addr, .iov = msg->msg_iov,
		.iov_count = msg->iov_count, .remote = remote,
		.remote_count = msg->rma_iov_count, .cq_data = msg->data, .context = msg->context,
		.cq_flags = CQ_F_RMA | (write ? CQ_F_WRITE : CQ_F_READ),
	};
	struct when when;
	size_t total = 0;
	int    err;

	err = data_check_ep(ep, FI_RMA, write ? FI_WRITE : FI_READ);
	if (!err)
		err = data_check_local(ep, &local, flags, &total);
	if (!err)
		err = check_remote(ep, msg, total);
	if (!err)
		err = target_remotes(ep->domain, msg->rma_iov, msg->rma_iov_count, remote);
	if (!err)
		err = data_when(ep, flags, &post.context, &when, &post.when);
	return err ? err : ep_post(ep->dev, &post);
}

/* One remote range as long as the local buffers. */
static ssize_t rma_vector(struct fid_ep *fid, enum op_kind kind, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t peer, uint64_t addr, uint64_t key, void *context, uint64_t data, uint64_t flags)
{
	struct fi_rma_iov remote = { .addr = addr, .key = key };
	struct fi_msg_rma msg = {
		.msg_iov = iov, .desc = desc, .iov_count = count, .addr = peer, .rma_iov = &remote, .rma_iov_count = 1,
		.context = context, .data = data,
	};

	for (size_t i = 0; iov && i < count && i < LIMIT_IOV; i++)
		remote.len += iov[i].iov_len; /* a sum that wraps is longer than max_msg_size: refused later */
	return emu_rma_post(emu_ep(fid), kind, &msg, flags);
}

static ssize_t rma_single(struct fid_ep *fid, enum op_kind kind, const void *buf, size_t len, void *desc,
			  fi_addr_t peer, uint64_t addr, uint64_t key, void *context, uint64_t data, uint64_t flags)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	return rma_vector(fid, kind, &iov, &desc, 1, peer, addr, key, context, data, flags);
}

/* FI_INJECT is for what is sent; as an endpoint's default it does not mean reads. */
static uint64_t get_defaults(struct fid_ep *fid)
{
	return emu_ep(fid)->tx_flags & ~FI_INJECT;
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t addr,
			uint64_t key, void *context)
{
	return rma_single(fid, OP_READ, buf, len, desc, src, addr, key, context, 0, get_defaults(fid));
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t src,
			 uint64_t addr, uint64_t key, void *context)
{
	return rma_vector(fid, OP_READ, iov, desc, count, src, addr, key, context, 0, get_defaults(fid));
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	if (!msg)
		return -FI_EINVAL;
	if (flags & ~(DATA_GET_FLAGS | data_trigger(emu_ep(fid))))
		return -FI_EBADFLAGS;
	return emu_rma_post(emu_ep(fid), OP_READ, msg, flags);
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t addr,
			 uint64_t key, void *context)
{
	return rma_single(fid, OP_WRITE, buf, len, desc, dest, addr, key, context, 0, emu_ep(fid)->tx_flags);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest,
			  uint64_t addr, uint64_t key, void *context)
{
	return rma_vector(fid, OP_WRITE, iov, desc, count, dest, addr, key, context, 0, emu_ep(fid)->tx_flags);
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	if (!msg)
		return -FI_EINVAL;
	if (flags & ~(DATA_PUT_FLAGS | data_commit(emu_ep(fid)) | data_trigger(emu_ep(fid))))
		return -FI_EBADFLAGS;
	return emu_rma_post(emu_ep(fid), OP_WRITE, msg, flags);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest, uint64_t addr, uint64_t key)
{
	return rma_single(fid, OP_WRITE, buf, len, NULL, dest, addr, key, NULL, 0, FI_INJECT | DATA_SILENT);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc, uint64_t data,
			     fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	return rma_single(fid, OP_WRITE, buf, len, desc, dest, addr, key, context, data,
			  emu_ep(fid)->tx_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data, fi_addr_t dest,
			      uint64_t addr, uint64_t key)
{
	return rma_single(fid, OP_WRITE, buf, len, NULL, dest, addr, key, NULL, data,
			  FI_INJECT | DATA_SILENT | FI_REMOTE_CQ_DATA);
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
