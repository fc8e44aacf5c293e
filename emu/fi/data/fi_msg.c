/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_msg.c - messages without tags: nine calls. */
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "emu/fi/data/fi_data.h"
#include "emu/fi/data/fi_data_impl.h"
#include "emu/fi/provider/fi_refuse.h"

static ssize_t msg_recv_vector(struct fid_ep *fid, const struct iovec *iov, void *const *desc, size_t count, fi_addr_t src,
			       void *context, uint64_t flags)
{
	struct recv_post post = { .iov = iov, .iov_count = count, .source = src, .context = context };

	return message_recv(emu_ep(fid), FI_MSG, &post, desc, flags);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src, void *context)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	return msg_recv_vector(fid, &iov, &desc, 1, src, context, data_recv_defaults(emu_ep(fid), FI_MSG));
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t src, void *context)
{
	return msg_recv_vector(fid, iov, desc, count, src, context, data_recv_defaults(emu_ep(fid), FI_MSG));
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *from, uint64_t flags)
{
	uint64_t unknown;

	if (!from)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_recvmsg: msg is NULL.");
	unknown = flags & ~(DATA_RECV_FLAGS | data_trigger(emu_ep(fid)) | data_multi(emu_ep(fid), FI_MSG) |
			    data_recv_by_key(emu_ep(fid), FI_MSG));
	if (unknown)
		return REFUSE_FLAGS(EP_DATA, "fi_recvmsg", unknown);
	return msg_recv_vector(fid, from->msg_iov, from->desc, from->iov_count, from->addr, from->context, flags);
}

static ssize_t msg_send_vector(struct fid_ep *fid, const struct iovec *iov, void *const *desc, size_t count, fi_addr_t dest,
			       void *context, uint64_t data, uint64_t flags)
{
	struct post post = { .iov = iov, .iov_count = count, .dest = dest, .context = context, .cq_data = data };

	return message_send(emu_ep(fid), FI_MSG, &post, desc, flags);
}

static ssize_t msg_send_one(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest, void *context,
			    uint64_t data, uint64_t flags)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	return msg_send_vector(fid, &iov, &desc, 1, dest, context, data, flags);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest, void *context)
{
	return msg_send_one(fid, buf, len, desc, dest, context, 0, emu_ep(fid)->tx_flags);
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest, void *context)
{
	return msg_send_vector(fid, iov, desc, count, dest, context, 0, emu_ep(fid)->tx_flags);
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *from, uint64_t flags)
{
	if (!from)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_sendmsg: msg is NULL.");
	if (flags & ~(DATA_PUT_FLAGS | data_trigger(emu_ep(fid))))
		return REFUSE_FLAGS(EP_DATA, "fi_sendmsg", flags & ~(DATA_PUT_FLAGS | data_trigger(emu_ep(fid))));
	return msg_send_vector(fid, from->msg_iov, from->desc, from->iov_count, from->addr, from->context, from->data, flags);
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest)
{
	return msg_send_one(fid, buf, len, NULL, dest, NULL, 0, FI_INJECT | DATA_SILENT);
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest,
			    void *context)
{
	return msg_send_one(fid, buf, len, desc, dest, context, data, emu_ep(fid)->tx_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data, fi_addr_t dest)
{
	return msg_send_one(fid, buf, len, NULL, dest, NULL, data, FI_INJECT | DATA_SILENT | FI_REMOTE_CQ_DATA);
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
