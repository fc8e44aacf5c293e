/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_msg.c - messages: nine calls, one post for each direction. */
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "emu/fi/fi_data.h"
#include "emu/nic/mr.h"

static ssize_t send_post(struct emu_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct local_side local = {
		.iov = msg->msg_iov, .desc = msg->desc, .count = msg->iov_count, .limit = ep->tx_iov_limit,
		.right = MR_SEND,
	};
	struct post post = {
		.kind = OP_SEND, .flags = data_post_flags(ep, flags), .dest = msg->addr, .iov = msg->msg_iov,
		.iov_count = msg->iov_count, .cq_data = msg->data, .context = msg->context,
		.cq_flags = CQ_F_MSG | CQ_F_SEND,
	};
	size_t total = 0;
	int    err;

	err = data_check_ep(ep, FI_MSG, FI_SEND);
	if (!err)
		err = data_check_local(ep, &local, flags, &total);
	if (!err && msg->addr == FI_ADDR_UNSPEC)
		err = -FI_EINVAL;
	return err ? err : ep_post(ep->dev, &post);
}

static ssize_t recv_post(struct emu_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct local_side local = {
		.iov = msg->msg_iov, .desc = msg->desc, .count = msg->iov_count, .limit = ep->rx_iov_limit,
		.right = MR_RECV,
	};
	struct recv_post post = {
		.iov = msg->msg_iov, .iov_count = msg->iov_count,
		.flags = !ep->rx_selective || flags & FI_COMPLETION ? POST_COMPLETE : 0,
		.source = ep->caps & FI_DIRECTED_RECV ? msg->addr : AV_NONE, /* else the argument is ignored */
		.context = msg->context, .cq_flags = CQ_F_MSG | CQ_F_RECV,
	};
	size_t total = 0;
	int    err;

	err = data_check_ep(ep, FI_MSG, FI_RECV);
	if (!err)
		err = data_check_local(ep, &local, 0, &total);
	return err ? err : ep_recv(ep->dev, &post);
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t src,
			 void *context)
{
	struct fi_msg msg = { .msg_iov = iov, .desc = desc, .iov_count = count, .addr = src, .context = context };

	return recv_post(emu_ep(fid), &msg, emu_ep(fid)->rx_flags);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src, void *context)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	return msg_recvv(fid, &iov, &desc, 1, src, context);
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	if (!msg)
		return -FI_EINVAL;
	if (flags & ~DATA_RECV_FLAGS)
		return -FI_EBADFLAGS;
	return recv_post(emu_ep(fid), msg, flags);
}

static ssize_t send_single(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest, void *context,
			   uint64_t data, uint64_t flags)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	struct fi_msg msg = {
		.msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = dest, .context = context, .data = data,
	};

	return send_post(emu_ep(fid), &msg, flags);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest, void *context)
{
	return send_single(fid, buf, len, desc, dest, context, 0, emu_ep(fid)->tx_flags);
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest,
			 void *context)
{
	struct fi_msg msg = { .msg_iov = iov, .desc = desc, .iov_count = count, .addr = dest, .context = context };

	return send_post(emu_ep(fid), &msg, emu_ep(fid)->tx_flags);
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	if (!msg)
		return -FI_EINVAL;
	if (flags & ~DATA_PUT_FLAGS)
		return -FI_EBADFLAGS;
	return send_post(emu_ep(fid), msg, flags);
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest)
{
	return send_single(fid, buf, len, NULL, dest, NULL, 0, FI_INJECT | DATA_SILENT);
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc, uint64_t data,
			    fi_addr_t dest, void *context)
{
	return send_single(fid, buf, len, desc, dest, context, data, emu_ep(fid)->tx_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data, fi_addr_t dest)
{
	return send_single(fid, buf, len, NULL, dest, NULL, data, FI_INJECT | DATA_SILENT | FI_REMOTE_CQ_DATA);
}

struct fi_ops_msg emu_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};
