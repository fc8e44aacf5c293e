/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_tagged.c - tagged messages. */
#include "emu/kfi/ep/kemu_ep.h"

#include <kfi_errno.h>
#include <linux/uio.h>
#include <rdma/fi_tagged.h>

#include "emu/kfi/ep/kemu_post.h"
#include "emu/kfi/provider/kemu_refuse.h"

static ssize_t ktagged_recv_post(const struct kemu_call *call, kfi_addr_t source, uint64_t tag, uint64_t ignore)
{
	struct kemu_post post;
	ssize_t rc = kemu_post_begin(&post, call);
	struct fi_msg_tagged msg;

	if (rc)
		return rc;
	source = kemu_source(call->ep, source);
	msg = (struct fi_msg_tagged){
		.msg_iov = post.memory.run,
		.desc = post.desc,
		.iov_count = post.memory.count,
		.addr = source,
		.tag = tag,
		.ignore = ignore,
		.context = post.context,
	};
	rc = post.msg ? fi_trecvmsg(call->ep->fi, &msg, post.flags)
		      : fi_trecvv(call->ep->fi, msg.msg_iov, msg.desc, msg.iov_count, source, tag, ignore, msg.context);
	return kemu_post_end(&post, rc);
}

static ssize_t ktagged_send_post(const struct kemu_call *call, kfi_addr_t dest, uint64_t tag, uint64_t data)
{
	struct kemu_post post;
	ssize_t rc = kemu_post_begin(&post, call);
	struct fi_msg_tagged msg;

	if (rc)
		return rc;
	dest = kemu_peer(call->ep, dest);
	msg = (struct fi_msg_tagged){
		.msg_iov = post.memory.run,
		.desc = post.desc,
		.iov_count = post.memory.count,
		.addr = dest,
		.tag = tag,
		.context = post.context,
		.data = data,
	};
	rc = post.msg ? fi_tsendmsg(call->ep->fi, &msg, post.flags)
		      : fi_tsendv(call->ep->fi, msg.msg_iov, msg.desc, msg.iov_count, dest, tag, msg.context);
	return kemu_post_end(&post, rc);
}

static ssize_t ktagged_recvv(struct kfid_ep *kfid, const struct kvec *entries, void **desc, size_t count, kfi_addr_t source,
			     uint64_t tag, uint64_t ignore, void *context)
{
	struct kemu_call call = kemu_call_of(kfid, "kfi_trecvv", KFI_KVEC, entries, count, desc, context, FI_RECV);

	return ktagged_recv_post(&call, source, tag, ignore);
}

static ssize_t ktagged_recvbv(struct kfid_ep *kfid, const struct bio_vec *entries, void **desc, size_t count, kfi_addr_t source,
			      uint64_t tag, uint64_t ignore, void *context)
{
	struct kemu_call call = kemu_call_of(kfid, "kfi_trecvbv", KFI_BVEC, entries, count, desc, context, FI_RECV);

	return ktagged_recv_post(&call, source, tag, ignore);
}

static ssize_t ktagged_recvsgl(struct kfid_ep *kfid, const struct scatterlist *entries, void **desc, size_t count,
			       kfi_addr_t source, uint64_t tag, uint64_t ignore, void *context)
{
	struct kemu_call call = kemu_call_of(kfid, "kfi_trecvsgl", KFI_SGL, entries, count, desc, context, FI_RECV);

	return ktagged_recv_post(&call, source, tag, ignore);
}

static ssize_t ktagged_recvmsg(struct kfid_ep *kfid, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	struct kemu_call call;

	if (!msg)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_trecvmsg: msg is NULL.");
	call = kemu_call_of(kfid, "kfi_trecvmsg", msg->type, msg->msg_iov, msg->iov_count, msg->desc, msg->context, FI_RECV);
	call.flags = flags;
	call.msg = true;
	return ktagged_recv_post(&call, msg->addr, msg->tag, msg->ignore);
}

static ssize_t ktagged_sendv(struct kfid_ep *kfid, const struct kvec *entries, void **desc, size_t count, kfi_addr_t dest,
			     uint64_t tag, void *context)
{
	struct kemu_call call = kemu_call_of(kfid, "kfi_tsendv", KFI_KVEC, entries, count, desc, context, FI_TRANSMIT);

	return ktagged_send_post(&call, dest, tag, 0);
}

static ssize_t ktagged_sendbv(struct kfid_ep *kfid, const struct bio_vec *entries, void **desc, size_t count, kfi_addr_t dest,
			      uint64_t tag, void *context)
{
	struct kemu_call call = kemu_call_of(kfid, "kfi_tsendbv", KFI_BVEC, entries, count, desc, context, FI_TRANSMIT);

	return ktagged_send_post(&call, dest, tag, 0);
}

static ssize_t ktagged_sendsgl(struct kfid_ep *kfid, const struct scatterlist *entries, void **desc, size_t count, kfi_addr_t dest,
			       uint64_t tag, void *context)
{
	struct kemu_call call = kemu_call_of(kfid, "kfi_tsendsgl", KFI_SGL, entries, count, desc, context, FI_TRANSMIT);

	return ktagged_send_post(&call, dest, tag, 0);
}

static ssize_t ktagged_sendmsg(struct kfid_ep *kfid, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	struct kemu_call call;

	if (!msg)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_tsendmsg: msg is NULL.");
	call = kemu_call_of(kfid, "kfi_tsendmsg", msg->type, msg->msg_iov, msg->iov_count, msg->desc, msg->context, FI_TRANSMIT);
	call.flags = flags;
	call.msg = true;
	return ktagged_send_post(&call, msg->addr, msg->tag, msg->data);
}

/* --- one buffer --- */

static ssize_t ktagged_recv(struct kfid_ep *kfid, void *buf, size_t len, void *desc, kfi_addr_t source, uint64_t tag,
			    uint64_t ignore, void *context)
{
	struct kemu_ep *ep = kemu_ep(kfid);
	const void *at = buf;
	void *known = kemu_post_single(ep, &at, len, desc);

	if (kemu_saturated(ep, FI_RECV))
		return -KFI_EAGAIN;
	return fi_trecv(ep->fi, (void *)(uintptr_t)at, len, known, kemu_source(ep, source), tag, ignore, context);
}

static ssize_t ktagged_send(struct kfid_ep *kfid, const void *buf, size_t len, void *desc, kfi_addr_t dest, uint64_t tag,
			    void *context)
{
	struct kemu_ep *ep = kemu_ep(kfid);
	void *known = kemu_post_single(ep, &buf, len, desc);

	if (kemu_saturated(ep, FI_TRANSMIT))
		return -KFI_EAGAIN;
	return fi_tsend(ep->fi, buf, len, known, kemu_peer(ep, dest), tag, context);
}

static ssize_t ktagged_senddata(struct kfid_ep *kfid, const void *buf, size_t len, void *desc, uint64_t data, kfi_addr_t dest,
				uint64_t tag, void *context)
{
	struct kemu_ep *ep = kemu_ep(kfid);
	void *known = kemu_post_single(ep, &buf, len, desc);

	if (kemu_saturated(ep, FI_TRANSMIT))
		return -KFI_EAGAIN;
	return fi_tsenddata(ep->fi, buf, len, known, data, kemu_peer(ep, dest), tag, context);
}

static ssize_t ktagged_inject(struct kfid_ep *kfid, const void *buf, size_t len, kfi_addr_t dest, uint64_t tag)
{
	const struct kemu_ep *ep = kemu_ep(kfid);

	return fi_tinject(ep->fi, buf, len, kemu_peer(ep, dest), tag);
}

static ssize_t ktagged_injectdata(struct kfid_ep *kfid, const void *buf, size_t len, uint64_t data, kfi_addr_t dest, uint64_t tag)
{
	const struct kemu_ep *ep = kemu_ep(kfid);

	return fi_tinjectdata(ep->fi, buf, len, data, kemu_peer(ep, dest), tag);
}

struct kfi_ops_tagged kemu_tagged_ops = {
	.size = sizeof(struct kfi_ops_tagged),
	.recv = ktagged_recv,
	.recvv = ktagged_recvv,
	.recvbv = ktagged_recvbv,
	.recvmsg = ktagged_recvmsg,
	.send = ktagged_send,
	.sendv = ktagged_sendv,
	.sendbv = ktagged_sendbv,
	.sendmsg = ktagged_sendmsg,
	.inject = ktagged_inject,
	.senddata = ktagged_senddata,
	.injectdata = ktagged_injectdata,
	.recvsgl = ktagged_recvsgl,
	.sendsgl = ktagged_sendsgl,
};
