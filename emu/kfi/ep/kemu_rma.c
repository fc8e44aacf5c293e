/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_rma.c - reads and writes of a peer's memory; with KFI_TAGGED, of the buffer of a tagged receive. */
#include "emu/kfi/ep/kemu_ep.h"

#include <kfi_errno.h>
#include <linux/uio.h>
#include <rdma/fi_rma.h>

#include "emu/kfi/ep/kemu_post.h"
#include "emu/kfi/provider/kemu_refuse.h"

/* One range at the target, or those of a message. */
struct krma_target {
	kfi_addr_t peer;
	uint64_t addr, key;
	const struct kfi_rma_iov *iov; /* NULL: addr and key */
	size_t count;
	uint64_t data;
};

_Static_assert(sizeof(struct kfi_rma_iov) == sizeof(struct fi_rma_iov) &&
		       offsetof(struct kfi_rma_iov, len) == offsetof(struct fi_rma_iov, len) &&
		       offsetof(struct kfi_rma_iov, key) == offsetof(struct fi_rma_iov, key),
	       "struct kfi_rma_iov is libfabric's");

/* In a message the peer's ranges are those of the call, or one of the buffers' length. */
static struct fi_msg_rma krma_message(const struct kemu_ep *ep, const struct kemu_post *post, const struct krma_target *target,
				      struct fi_rma_iov *range)
{
	bool given = target->count;

	*range = (struct fi_rma_iov){ target->addr, post->memory.length, target->key };
	return (struct fi_msg_rma){
		.msg_iov = post->memory.run,
		.desc = (void **)(uintptr_t)post->desc,
		.iov_count = post->memory.count,
		.addr = kemu_peer(ep, target->peer),
		.rma_iov = given ? (const struct fi_rma_iov *)target->iov : range,
		.rma_iov_count = given ? target->count : 1,
		.context = post->context,
		.data = target->data,
	};
}

static ssize_t krma_post(bool write, struct kemu_call call, const struct krma_target *target)
{
	struct kemu_post post;
	ssize_t rc = kemu_post_begin(&post, &call);
	struct fid_ep *ep = call.ep->fi;
	struct fi_rma_iov range;
	struct fi_msg_rma msg;

	if (rc)
		return rc;
	msg = krma_message(call.ep, &post, target, &range);
	if (write)
		rc = post.msg ? fi_writemsg(ep, &msg, post.flags)
			      : fi_writev(ep, msg.msg_iov, msg.desc, msg.iov_count, msg.addr, target->addr, target->key,
					  msg.context);
	else
		rc = post.msg
			     ? fi_readmsg(ep, &msg, call.msg ? post.flags : post.flags & ~FI_INJECT)
			     : fi_readv(ep, msg.msg_iov, msg.desc, msg.iov_count, msg.addr, target->addr, target->key, msg.context);
	return kemu_post_end(&post, rc);
}

static ssize_t krma_readv(struct kfid_ep *kfid, const struct kvec *entries, void **desc, size_t count, kfi_addr_t source,
			  uint64_t addr, uint64_t key, void *context)
{
	return krma_post(false, kemu_call_of(kfid, "kfi_readv", KFI_KVEC, entries, count, desc, context, FI_TRANSMIT),
			 &(struct krma_target){ .peer = source, .addr = addr, .key = key });
}

static ssize_t krma_readbv(struct kfid_ep *kfid, const struct bio_vec *entries, void **desc, size_t count, kfi_addr_t source,
			   uint64_t addr, uint64_t key, void *context)
{
	return krma_post(false, kemu_call_of(kfid, "kfi_readbv", KFI_BVEC, entries, count, desc, context, FI_TRANSMIT),
			 &(struct krma_target){ .peer = source, .addr = addr, .key = key });
}

static ssize_t krma_readsgl(struct kfid_ep *kfid, const struct scatterlist *entries, void **desc, size_t count, kfi_addr_t source,
			    uint64_t addr, uint64_t key, void *context)
{
	return krma_post(false, kemu_call_of(kfid, "kfi_readsgl", KFI_SGL, entries, count, desc, context, FI_TRANSMIT),
			 &(struct krma_target){ .peer = source, .addr = addr, .key = key });
}

static ssize_t krma_readmsg(struct kfid_ep *kfid, const struct kfi_msg_rma *msg, uint64_t flags)
{
	if (!msg || !msg->rma_iov || !msg->rma_iov_count)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_readmsg: msg is NULL, or names no range at the target (rma_iov).");
	return krma_post(false, KEMU_MSG_CALL(kfid, "kfi_readmsg", msg, flags, FI_TRANSMIT),
			 &(struct krma_target){
				 .peer = msg->addr, .iov = msg->rma_iov, .count = msg->rma_iov_count, .data = msg->data });
}

static ssize_t krma_writev(struct kfid_ep *kfid, const struct kvec *entries, void **desc, size_t count, kfi_addr_t dest,
			   uint64_t addr, uint64_t key, void *context)
{
	return krma_post(true, kemu_call_of(kfid, "kfi_writev", KFI_KVEC, entries, count, desc, context, FI_TRANSMIT),
			 &(struct krma_target){ .peer = dest, .addr = addr, .key = key });
}

static ssize_t krma_writebv(struct kfid_ep *kfid, const struct bio_vec *entries, void **desc, size_t count, kfi_addr_t dest,
			    uint64_t addr, uint64_t key, void *context)
{
	return krma_post(true, kemu_call_of(kfid, "kfi_writebv", KFI_BVEC, entries, count, desc, context, FI_TRANSMIT),
			 &(struct krma_target){ .peer = dest, .addr = addr, .key = key });
}

static ssize_t krma_writesgl(struct kfid_ep *kfid, const struct scatterlist *entries, void **desc, size_t count, kfi_addr_t dest,
			     uint64_t addr, uint64_t key, void *context)
{
	return krma_post(true, kemu_call_of(kfid, "kfi_writesgl", KFI_SGL, entries, count, desc, context, FI_TRANSMIT),
			 &(struct krma_target){ .peer = dest, .addr = addr, .key = key });
}

static ssize_t krma_writemsg(struct kfid_ep *kfid, const struct kfi_msg_rma *msg, uint64_t flags)
{
	if (!msg || !msg->rma_iov || !msg->rma_iov_count)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_writemsg: msg is NULL, or names no range at the target (rma_iov).");
	return krma_post(true, KEMU_MSG_CALL(kfid, "kfi_writemsg", msg, flags, FI_TRANSMIT),
			 &(struct krma_target){
				 .peer = msg->addr, .iov = msg->rma_iov, .count = msg->rma_iov_count, .data = msg->data });
}

/* --- one buffer --- */

static ssize_t krma_read(struct kfid_ep *kfid, void *buf, size_t len, void *desc, kfi_addr_t source, uint64_t addr, uint64_t key,
			 void *context)
{
	struct kemu_single one;

	if (!kemu_single_take(&one, kfid, buf, len, desc, FI_TRANSMIT))
		return -KFI_EAGAIN;
	return fi_read(one.fi, one.buf, len, one.desc, kemu_peer(one.ep, source), addr, key, context);
}

static ssize_t krma_write(struct kfid_ep *kfid, const void *buf, size_t len, void *desc, kfi_addr_t dest, uint64_t addr,
			  uint64_t key, void *context)
{
	struct kemu_single one;

	if (!kemu_single_take(&one, kfid, buf, len, desc, FI_TRANSMIT))
		return -KFI_EAGAIN;
	return fi_write(one.fi, one.buf, len, one.desc, kemu_peer(one.ep, dest), addr, key, context);
}

static ssize_t krma_writedata(struct kfid_ep *kfid, const void *buf, size_t len, void *desc, uint64_t data, kfi_addr_t dest,
			      uint64_t addr, uint64_t key, void *context)
{
	struct kemu_single one;

	if (!kemu_single_take(&one, kfid, buf, len, desc, FI_TRANSMIT))
		return -KFI_EAGAIN;
	return fi_writedata(one.fi, one.buf, len, one.desc, data, kemu_peer(one.ep, dest), addr, key, context);
}

static ssize_t krma_inject(struct kfid_ep *kfid, const void *buf, size_t len, kfi_addr_t dest, uint64_t addr, uint64_t key)
{
	const struct kemu_ep *ep = kemu_ep(kfid);

	return fi_inject_write(ep->fi, buf, len, kemu_peer(ep, dest), addr, key);
}

static ssize_t krma_injectdata(struct kfid_ep *kfid, const void *buf, size_t len, uint64_t data, kfi_addr_t dest, uint64_t addr,
			       uint64_t key)
{
	const struct kemu_ep *ep = kemu_ep(kfid);

	return fi_inject_writedata(ep->fi, buf, len, data, kemu_peer(ep, dest), addr, key);
}

struct kfi_ops_rma kemu_rma_ops = {
	.size = sizeof(struct kfi_ops_rma),
	.read = krma_read,
	.readv = krma_readv,
	.readbv = krma_readbv,
	.readmsg = krma_readmsg,
	.write = krma_write,
	.writev = krma_writev,
	.writebv = krma_writebv,
	.writemsg = krma_writemsg,
	.inject = krma_inject,
	.writedata = krma_writedata,
	.injectdata = krma_injectdata,
	.readsgl = krma_readsgl,
	.writesgl = krma_writesgl,
};
