/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_msg.c - messages. */
#include "emu/kfi/ep/kemu_ep.h"

#include <kfi_errno.h>
#include <linux/uio.h>
#include <rdma/fi_endpoint.h>

#include "emu/kfi/ep/kemu_post.h"
#include "emu/kfi/provider/kemu_refuse.h"

/* Posts a receive, or a send with `data`. */
static ssize_t kmsg_post(struct kemu_call call, kfi_addr_t peer, uint64_t data)
{
	struct kemu_post post;
	ssize_t rc = kemu_post_begin(&post, &call);
	struct fid_ep *ep = call.ep->fi;
	struct fi_msg msg;

	if (rc)
		return rc;
	msg = (struct fi_msg){
		.msg_iov = post.memory.run,
		.desc = post.desc,
		.iov_count = post.memory.count,
		.addr = call.side == FI_RECV ? kemu_source(call.ep, peer) : kemu_peer(call.ep, peer),
		.context = post.context,
		.data = data,
	};
	if (call.side == FI_RECV)
		rc = post.msg ? fi_recvmsg(ep, &msg, post.flags)
			      : fi_recvv(ep, msg.msg_iov, msg.desc, msg.iov_count, msg.addr, msg.context);
	else
		rc = post.msg ? fi_sendmsg(ep, &msg, post.flags)
			      : fi_sendv(ep, msg.msg_iov, msg.desc, msg.iov_count, msg.addr, msg.context);
	return kemu_post_end(&post, rc);
}

static ssize_t kmsg_recvv(struct kfid_ep *kfid, const struct kvec *entries, void **desc, size_t count, kfi_addr_t source,
			  void *context)
{
	return kmsg_post(kemu_call_of(kfid, "kfi_recvv", KFI_KVEC, entries, count, desc, context, FI_RECV), source, 0);
}

static ssize_t kmsg_recvbv(struct kfid_ep *kfid, const struct bio_vec *entries, void **desc, size_t count, kfi_addr_t source,
			   void *context)
{
	return kmsg_post(kemu_call_of(kfid, "kfi_recvbv", KFI_BVEC, entries, count, desc, context, FI_RECV), source, 0);
}

static ssize_t kmsg_recvsgl(struct kfid_ep *kfid, const struct scatterlist *entries, void **desc, size_t count, kfi_addr_t source,
			    void *context)
{
	return kmsg_post(kemu_call_of(kfid, "kfi_recvsgl", KFI_SGL, entries, count, desc, context, FI_RECV), source, 0);
}

static ssize_t kmsg_recvmsg(struct kfid_ep *kfid, const struct kfi_msg *msg, uint64_t flags)
{
	if (!msg)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_recvmsg: msg is NULL.");
	return kmsg_post(KEMU_MSG_CALL(kfid, "kfi_recvmsg", msg, flags, FI_RECV), msg->addr, 0);
}

static ssize_t kmsg_sendv(struct kfid_ep *kfid, const struct kvec *entries, void **desc, size_t count, kfi_addr_t dest,
			  void *context)
{
	return kmsg_post(kemu_call_of(kfid, "kfi_sendv", KFI_KVEC, entries, count, desc, context, FI_TRANSMIT), dest, 0);
}

static ssize_t kmsg_sendbv(struct kfid_ep *kfid, const struct bio_vec *entries, void **desc, size_t count, kfi_addr_t dest,
			   void *context)
{
	return kmsg_post(kemu_call_of(kfid, "kfi_sendbv", KFI_BVEC, entries, count, desc, context, FI_TRANSMIT), dest, 0);
}

static ssize_t kmsg_sendsgl(struct kfid_ep *kfid, const struct scatterlist *entries, void **desc, size_t count, kfi_addr_t dest,
			    void *context)
{
	return kmsg_post(kemu_call_of(kfid, "kfi_sendsgl", KFI_SGL, entries, count, desc, context, FI_TRANSMIT), dest, 0);
}

static ssize_t kmsg_sendmsg(struct kfid_ep *kfid, const struct kfi_msg *msg, uint64_t flags)
{
	if (!msg)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_sendmsg: msg is NULL.");
	return kmsg_post(KEMU_MSG_CALL(kfid, "kfi_sendmsg", msg, flags, FI_TRANSMIT), msg->addr, msg->data);
}

/* --- one buffer --- */

static ssize_t kmsg_recv(struct kfid_ep *kfid, void *buf, size_t len, void *desc, kfi_addr_t source, void *context)
{
	struct kemu_single one;

	if (!kemu_single_take(&one, kfid, buf, len, desc, FI_RECV))
		return -KFI_EAGAIN;
	return fi_recv(one.fi, one.buf, len, one.desc, kemu_source(one.ep, source), context);
}

static ssize_t kmsg_send(struct kfid_ep *kfid, const void *buf, size_t len, void *desc, kfi_addr_t dest, void *context)
{
	struct kemu_single one;

	if (!kemu_single_take(&one, kfid, buf, len, desc, FI_TRANSMIT))
		return -KFI_EAGAIN;
	return fi_send(one.fi, one.buf, len, one.desc, kemu_peer(one.ep, dest), context);
}

static ssize_t kmsg_senddata(struct kfid_ep *kfid, const void *buf, size_t len, void *desc, uint64_t data, kfi_addr_t dest,
			     void *context)
{
	struct kemu_single one;

	if (!kemu_single_take(&one, kfid, buf, len, desc, FI_TRANSMIT))
		return -KFI_EAGAIN;
	return fi_senddata(one.fi, one.buf, len, one.desc, data, kemu_peer(one.ep, dest), context);
}

static ssize_t kmsg_inject(struct kfid_ep *kfid, const void *buf, size_t len, kfi_addr_t dest)
{
	const struct kemu_ep *ep = kemu_ep(kfid);

	return fi_inject(ep->fi, buf, len, kemu_peer(ep, dest));
}

static ssize_t kmsg_injectdata(struct kfid_ep *kfid, const void *buf, size_t len, uint64_t data, kfi_addr_t dest)
{
	const struct kemu_ep *ep = kemu_ep(kfid);

	return fi_injectdata(ep->fi, buf, len, data, kemu_peer(ep, dest));
}

struct kfi_ops_msg kemu_msg_ops = {
	.size = sizeof(struct kfi_ops_msg),
	.recv = kmsg_recv,
	.recvv = kmsg_recvv,
	.recvbv = kmsg_recvbv,
	.recvmsg = kmsg_recvmsg,
	.send = kmsg_send,
	.sendv = kmsg_sendv,
	.sendbv = kmsg_sendbv,
	.sendmsg = kmsg_sendmsg,
	.inject = kmsg_inject,
	.senddata = kmsg_senddata,
	.injectdata = kmsg_injectdata,
	.recvsgl = kmsg_recvsgl,
	.sendsgl = kmsg_sendsgl,
};
