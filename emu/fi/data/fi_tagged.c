/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_tagged.c - tagged messages: nine calls. */
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "emu/fi/data/fi_data.h"
#include "emu/fi/data/fi_data_impl.h"
#include "emu/fi/provider/fi_refuse.h"

static ssize_t tagged_recv_vector(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct recv_post post = {
		.iov = msg->msg_iov,
		.iov_count = msg->iov_count,
		.source = msg->addr,
		.tag = msg->tag,
		.ignore = msg->ignore,
		.context = msg->context,
	};

	return message_recv(emu_ep(fid), FI_TAGGED, &post, msg->desc, flags);
}

static ssize_t tagged_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t tag, uint64_t ignore,
			   void *context)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct recv_post post = {
		.iov = &iov,
		.iov_count = 1,
		.source = src,
		.tag = tag,
		.ignore = ignore,
		.context = context,
	};

	return message_recv(emu_ep(fid), FI_TAGGED, &post, &desc, data_recv_defaults(emu_ep(fid), FI_TAGGED));
}

static ssize_t tagged_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t src, uint64_t tag,
			    uint64_t ignore, void *context)
{
	struct fi_msg_tagged msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = src,
		.tag = tag,
		.ignore = ignore,
		.context = context,
	};

	return tagged_recv_vector(fid, &msg, data_recv_defaults(emu_ep(fid), FI_TAGGED));
}

/* FI_DISCARD goes with a peek, or with the claim of a message that a peek has claimed, but not with both. It is one message. */
static bool peek_flags_fit(uint64_t flags)
{
	uint64_t peek = flags & DATA_PEEK_FLAGS;

	if (peek && flags & FI_MULTI_RECV)
		return false;
	return peek != FI_DISCARD && peek != DATA_PEEK_FLAGS;
}

static ssize_t tagged_recvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	uint64_t unknown = flags & ~(DATA_RECV_FLAGS | data_trigger(emu_ep(fid)) | DATA_PEEK_FLAGS |
				     data_multi(emu_ep(fid), FI_TAGGED) | data_recv_by_key(emu_ep(fid), FI_TAGGED));

	if (!msg)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_trecvmsg: msg is NULL.");
	if (unknown)
		return REFUSE_FLAGS(EP_DATA, "fi_trecvmsg", unknown);
	if (!peek_flags_fit(flags))
		return REFUSE(EP_DATA, -FI_EBADFLAGS,
			      "fi_trecvmsg: FI_DISCARD goes with FI_PEEK or with FI_CLAIM, not with "
			      "both, and none of them with FI_MULTI_RECV.");
	if (flags & FI_CLAIM && !msg->context) /* the context names the claimed message */
		return REFUSE(EP_DATA, -FI_EINVAL,
			      "fi_trecvmsg: FI_CLAIM without a context. Pass the struct fi_context that the "
			      "message was peeked with.");
	return tagged_recv_vector(fid, msg, flags);
}

static ssize_t tagged_send_vector(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct post post = {
		.iov = msg->msg_iov,
		.iov_count = msg->iov_count,
		.dest = msg->addr,
		.tag = msg->tag,
		.context = msg->context,
		.cq_data = msg->data,
	};

	return message_send(emu_ep(fid), FI_TAGGED, &post, msg->desc, flags);
}

static ssize_t tagged_send_one(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t tag,
			       void *context, uint64_t data, uint64_t flags)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	struct post post = {
		.iov = &iov,
		.iov_count = 1,
		.dest = dest,
		.tag = tag,
		.context = context,
		.cq_data = data,
	};

	return message_send(emu_ep(fid), FI_TAGGED, &post, &desc, flags);
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t tag, void *context)
{
	return tagged_send_one(fid, buf, len, desc, dest, tag, context, 0, emu_ep(fid)->tx_flags);
}

static ssize_t tagged_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest, uint64_t tag,
			    void *context)
{
	struct fi_msg_tagged msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = dest,
		.tag = tag,
		.context = context,
	};

	return tagged_send_vector(fid, &msg, emu_ep(fid)->tx_flags);
}

static ssize_t tagged_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	if (!msg)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_tsendmsg: msg is NULL.");
	if (flags & ~(DATA_PUT_FLAGS | FI_MATCH_COMPLETE | data_trigger(emu_ep(fid))))
		return REFUSE_FLAGS(EP_DATA, "fi_tsendmsg",
				    flags & ~(DATA_PUT_FLAGS | FI_MATCH_COMPLETE | data_trigger(emu_ep(fid))));
	return tagged_send_vector(fid, msg, flags);
}

static ssize_t tagged_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest, uint64_t tag)
{
	return tagged_send_one(fid, buf, len, NULL, dest, tag, NULL, 0, FI_INJECT | DATA_SILENT);
}

static ssize_t tagged_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest,
			       uint64_t tag, void *context)
{
	return tagged_send_one(fid, buf, len, desc, dest, tag, context, data, emu_ep(fid)->tx_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data, fi_addr_t dest, uint64_t tag)
{
	return tagged_send_one(fid, buf, len, NULL, dest, tag, NULL, data, FI_INJECT | DATA_SILENT | FI_REMOTE_CQ_DATA);
}

struct fi_ops_tagged emu_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = tagged_recv,
	.recvv = tagged_recvv,
	.recvmsg = tagged_recvmsg,
	.send = tagged_send,
	.sendv = tagged_sendv,
	.sendmsg = tagged_sendmsg,
	.inject = tagged_inject,
	.senddata = tagged_senddata,
	.injectdata = tagged_injectdata,
};
