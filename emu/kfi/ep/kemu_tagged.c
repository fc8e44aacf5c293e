/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_tagged.c - tagged messages. */
#include "emu/kfi/ep/kemu_ep.h"

#include <kfi_errno.h>
#include <linux/uio.h>
#include <rdma/fi_tagged.h>

#include "emu/kfi/ep/kemu_post.h"
#include "emu/kfi/provider/kemu_refuse.h"

/* Posts a receive, or a send with data. The caller fills in the tag, the bits ignored, and the data. */
static ssize_t ktagged_post(struct kemu_call call, kfi_addr_t peer, struct fi_msg_tagged msg)
{
	struct kemu_post post;
	ssize_t rc = kemu_post_begin(&post, &call);
	struct fid_ep *ep = call.ep->fi;

	if (rc)
		return rc;
	msg.msg_iov = post.memory.run;
	msg.desc = post.desc;
	msg.iov_count = post.memory.count;
	msg.addr = call.side == FI_RECV ? kemu_source(call.ep, peer) : kemu_peer(call.ep, peer);
	msg.context = post.context;
	if (call.side == FI_RECV)
		rc = post.msg ? fi_trecvmsg(ep, &msg, post.flags)
			      : fi_trecvv(ep, msg.msg_iov, msg.desc, msg.iov_count, msg.addr, msg.tag, msg.ignore, msg.context);
	else
		rc = post.msg ? fi_tsendmsg(ep, &msg, post.flags)
			      : fi_tsendv(ep, msg.msg_iov, msg.desc, msg.iov_count, msg.addr, msg.tag, msg.context);
	return kemu_post_end(&post, rc);
}

static ssize_t ktagged_recvv(struct kfid_ep *kfid, const struct kvec *entries, void **desc, size_t count, kfi_addr_t source,
			     uint64_t tag, uint64_t ignore, void *context)
{
	return ktagged_post(kemu_call_of(kfid, "kfi_trecvv", KFI_KVEC, entries, count, desc, context, FI_RECV), source,
			    (struct fi_msg_tagged){ .tag = tag, .ignore = ignore });
}

static ssize_t ktagged_recvbv(struct kfid_ep *kfid, const struct bio_vec *entries, void **desc, size_t count, kfi_addr_t source,
			      uint64_t tag, uint64_t ignore, void *context)
{
	return ktagged_post(kemu_call_of(kfid, "kfi_trecvbv", KFI_BVEC, entries, count, desc, context, FI_RECV), source,
			    (struct fi_msg_tagged){ .tag = tag, .ignore = ignore });
}

static ssize_t ktagged_recvsgl(struct kfid_ep *kfid, const struct scatterlist *entries, void **desc, size_t count,
			       kfi_addr_t source, uint64_t tag, uint64_t ignore, void *context)
{
	return ktagged_post(kemu_call_of(kfid, "kfi_trecvsgl", KFI_SGL, entries, count, desc, context, FI_RECV), source,
			    (struct fi_msg_tagged){ .tag = tag, .ignore = ignore });
}

static ssize_t ktagged_recvmsg(struct kfid_ep *kfid, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	if (!msg)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_trecvmsg: msg is NULL.");
	return ktagged_post(KEMU_MSG_CALL(kfid, "kfi_trecvmsg", msg, flags, FI_RECV), msg->addr,
			    (struct fi_msg_tagged){ .tag = msg->tag, .ignore = msg->ignore });
}

static ssize_t ktagged_sendv(struct kfid_ep *kfid, const struct kvec *entries, void **desc, size_t count, kfi_addr_t dest,
			     uint64_t tag, void *context)
{
	return ktagged_post(kemu_call_of(kfid, "kfi_tsendv", KFI_KVEC, entries, count, desc, context, FI_TRANSMIT), dest,
			    (struct fi_msg_tagged){ .tag = tag });
}

static ssize_t ktagged_sendbv(struct kfid_ep *kfid, const struct bio_vec *entries, void **desc, size_t count, kfi_addr_t dest,
			      uint64_t tag, void *context)
{
	return ktagged_post(kemu_call_of(kfid, "kfi_tsendbv", KFI_BVEC, entries, count, desc, context, FI_TRANSMIT), dest,
			    (struct fi_msg_tagged){ .tag = tag });
}

static ssize_t ktagged_sendsgl(struct kfid_ep *kfid, const struct scatterlist *entries, void **desc, size_t count, kfi_addr_t dest,
			       uint64_t tag, void *context)
{
	return ktagged_post(kemu_call_of(kfid, "kfi_tsendsgl", KFI_SGL, entries, count, desc, context, FI_TRANSMIT), dest,
			    (struct fi_msg_tagged){ .tag = tag });
}

static ssize_t ktagged_sendmsg(struct kfid_ep *kfid, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	if (!msg)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_tsendmsg: msg is NULL.");
	return ktagged_post(KEMU_MSG_CALL(kfid, "kfi_tsendmsg", msg, flags, FI_TRANSMIT), msg->addr,
			    (struct fi_msg_tagged){ .tag = msg->tag, .data = msg->data });
}

/* --- one buffer --- */

static ssize_t ktagged_recv(struct kfid_ep *kfid, void *buf, size_t len, void *desc, kfi_addr_t source, uint64_t tag,
			    uint64_t ignore, void *context)
{
	struct kemu_single one;

	if (!kemu_single_take(&one, kfid, buf, len, desc, FI_RECV))
		return -KFI_EAGAIN;
	return fi_trecv(one.fi, one.buf, len, one.desc, kemu_source(one.ep, source), tag, ignore, context);
}

static ssize_t ktagged_send(struct kfid_ep *kfid, const void *buf, size_t len, void *desc, kfi_addr_t dest, uint64_t tag,
			    void *context)
{
	struct kemu_single one;

	if (!kemu_single_take(&one, kfid, buf, len, desc, FI_TRANSMIT))
		return -KFI_EAGAIN;
	return fi_tsend(one.fi, one.buf, len, one.desc, kemu_peer(one.ep, dest), tag, context);
}

static ssize_t ktagged_senddata(struct kfid_ep *kfid, const void *buf, size_t len, void *desc, uint64_t data, kfi_addr_t dest,
				uint64_t tag, void *context)
{
	struct kemu_single one;

	if (!kemu_single_take(&one, kfid, buf, len, desc, FI_TRANSMIT))
		return -KFI_EAGAIN;
	return fi_tsenddata(one.fi, one.buf, len, one.desc, data, kemu_peer(one.ep, dest), tag, context);
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
