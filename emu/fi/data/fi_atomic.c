/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_atomic.c - remote atomics: ten calls, one post; and the queries about them (fi_atomic(3)). */
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>

#include "emu/fi/data/fi_data.h"
#include "emu/fi/data/fi_data_impl.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/nic/regions/mr.h"

/* 0, or -FI_EOPNOTSUPP. */
static int check_what(uint8_t kind, enum fi_datatype datatype, enum fi_op op, struct atomic_what *what)
{
	*what = (struct atomic_what){ .kind = kind, .type = (uint8_t)datatype, .op = (uint8_t)op };
	if (what->type == (unsigned)datatype && what->op == (unsigned)op && atomic_valid(*what))
		return 0;
	return -FI_EOPNOTSUPP;
}

__attribute__((cold)) static int not_defined(const struct fi_msg_atomic *msg)
{
	char op[64], type[64];

	return REFUSE(EP_DATA, -FI_EOPNOTSUPP,
		      "fi_atomic: operation %s on %s is not defined for this call. Ask fi_query_atomic "
		      "what there is.",
		      fi_tostr_r(op, sizeof(op), &msg->op, FI_TYPE_ATOMIC_OP),
		      fi_tostr_r(type, sizeof(type), &msg->datatype, FI_TYPE_ATOMIC_TYPE));
}

/* Elements to bytes. */
static int take_buffer(const struct emu_ep *ep, const struct atomic_buffer *buffer, size_t size, uint64_t flags,
		       struct iovec iov[LIMIT_IOV], size_t *total)
{
	ssize_t sum;

	if (buffer->count > ep->tx_iov_limit || (buffer->count && !buffer->ioc))
		return REFUSE(EP_DATA, -FI_EINVAL,
			      "fi_atomic: %zu local buffers, up to iov_limit %zu are allowed, and the array "
			      "is not NULL.",
			      buffer->count, ep->tx_iov_limit);
	for (size_t i = 0; i < buffer->count; i++) {
		if (buffer->ioc[i].count > LIMIT_ATOMIC / size)
			return REFUSE(EP_DATA, -FI_EMSGSIZE,
				      "fi_atomic: a buffer of %zu elements, at most %zu fit into one "
				      "call. Ask fi_query_atomic.",
				      buffer->ioc[i].count, LIMIT_ATOMIC / size);
		iov[i] = (struct iovec){ .iov_base = buffer->ioc[i].addr, .iov_len = buffer->ioc[i].count * size };
	}
	sum = data_check_local(ep, iov, buffer->count, buffer->desc, buffer->right, flags);
	if (sum < 0)
		return (int)sum;
	*total = (size_t)sum;
	return data_reach(ep, &(const struct iovec *){ iov }, buffer->count, buffer->desc, buffer->right, flags, iov);
}

/* The remote ranges, and how many bytes they are together. */
static int take_remotes(const struct emu_ep *ep, const struct fi_msg_atomic *msg, size_t size, struct remote remote[LIMIT_IOV],
			size_t *total)
{
	*total = 0;
	if (!msg->rma_iov || !msg->rma_iov_count || msg->rma_iov_count > ep->rma_iov_limit)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_atomic: %zu remote ranges, from 1 to rma_iov_limit %zu are allowed.",
			      msg->rma_iov_count, ep->rma_iov_limit);
	for (size_t i = 0; i < msg->rma_iov_count; i++) {
		const struct fi_rma_ioc *ioc = &msg->rma_iov[i];

		if (!ioc->count)
			return REFUSE(EP_DATA, -FI_EINVAL, "fi_atomic: a remote range of no element.");
		if (ioc->count > (LIMIT_ATOMIC - *total) / size)
			return REFUSE(EP_DATA, -FI_EMSGSIZE,
				      "fi_atomic: more than the %zu elements that fit into one call. Ask "
				      "fi_query_atomic.",
				      LIMIT_ATOMIC / size);
		remote[i] = (struct remote){ .addr = ioc->addr, .length = ioc->count * size, .key = ioc->key };
		*total += remote[i].length;
	}
	return rkey_keys(ep->domain, remote, msg->rma_iov_count);
}

static int mismatch(const char *what, size_t has, size_t wants)
{
	return REFUSE(EP_DATA, -FI_EINVAL,
		      "fi_atomic: the %s buffers are %zu B, the remote ranges %zu B. Both are of one "
		      "length.",
		      what, has, wants);
}

/* The arrays that a post points to. */
struct bytes {
	struct iovec operand[LIMIT_IOV], compare[LIMIT_IOV], result[LIMIT_IOV];
	struct remote remote[LIMIT_IOV];
	struct post_atomic atomic;
};

/* Checks and fills in the buffers of this kind: each is as long as the remote ranges together. */
static int take_buffers(const struct emu_ep *ep, const struct atomic_call *call, struct bytes *bytes, struct post *post)
{
	struct atomic_what what = bytes->atomic.what;
	bool operands = what.op != ATOMIC_READ;
	struct atomic_buffer operand = { call->msg->msg_iov, call->msg->desc, operands ? call->msg->iov_count : 0, MR_WRITE };
	size_t size = atomic_size(what.type), total, sent = 0, compared = 0, fetched = 0;
	int err = take_remotes(ep, call->msg, size, bytes->remote, &total);

	err = err ? err : take_buffer(ep, &operand, size, call->flags, bytes->operand, &sent);
	err = err ? err : take_buffer(ep, &call->compare, size, call->flags, bytes->compare, &compared);
	err = err ? err : take_buffer(ep, &call->result, size, call->flags & ~FI_INJECT, bytes->result, &fetched);
	if (err)
		return err;
	if (operands && sent != total)
		return mismatch("operand", sent, total);
	if (what.kind == ATOMIC_COMPARE && compared != total)
		return mismatch("compare", compared, total);
	if (what.kind != ATOMIC_PLAIN && fetched != total)
		return mismatch("result", fetched, total);
	if (call->flags & FI_INJECT && sent + compared > ep->inject_size)
		return REFUSE(EP_DATA, -FI_EMSGSIZE,
			      "fi_atomic: %zu B to inject, and inject_size is %zu. Post it without "
			      "FI_INJECT.",
			      sent + compared, ep->inject_size);
	post->iov = bytes->operand;
	post->iov_count = operand.count;
	post->desc = data_names(ep, operand.desc);
	bytes->atomic = (struct post_atomic){
		.what = what,
		.compare = bytes->compare,
		.compare_count = call->compare.count,
		.compare_desc = data_names(ep, call->compare.desc),
		.result = bytes->result,
		.result_count = call->result.count,
		.result_desc = data_names(ep, call->result.desc),
	};
	post->atomic = &bytes->atomic;
	post->remote = bytes->remote;
	post->remote_count = call->msg->rma_iov_count;
	return 0;
}

/* The one post. */
ssize_t emu_atomic_post(const struct atomic_call *call)
{
	const struct fi_msg_atomic *msg = call->msg;
	struct emu_ep *ep = emu_ep(call->ep);
	struct bytes bytes;
	struct post post = {
		.kind = OP_ATOMIC,
		.dest = msg->addr,
		.cq_data = msg->data,
		.context = msg->context,
		.flags = data_post_flags(ep, call->flags, DATA_LEVELS),
		.cq_flags = FI_ATOMIC | (call->kind == ATOMIC_PLAIN ? FI_WRITE : FI_READ),
	};
	struct trigger when;
	int err = data_check_ep(ep, FI_ATOMIC | (msg->op == FI_ATOMIC_READ ? FI_READ : FI_WRITE));

	if (!err && check_what(call->kind, msg->datatype, msg->op, &bytes.atomic.what))
		err = not_defined(msg);
	err = err ? err : take_buffers(ep, call, &bytes, &post);
	if (!err && data_no_dest(ep, msg->addr))
		err = data_refuse_dest("fi_atomic");
	if (!err)
		err = data_trigger_of(ep, OP_ATOMIC, call->flags, &post.context, &when, &post.when);
	return err ? err : ep_post(ep->dev, &post);
}

/* --- fi_atomic ... --- */

/* A call with one remote range, as long as its buffers: those for results if it has any. */
struct single {
	struct fi_rma_ioc remote;
	struct fi_msg_atomic msg;
};

static void single_set(struct single *single, const struct fi_ioc *iov, void **desc, size_t count, fi_addr_t peer, uint64_t addr,
		       uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	single->remote = (struct fi_rma_ioc){ .addr = addr, .key = key };
	single->msg = (struct fi_msg_atomic){
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = peer,
		.rma_iov = &single->remote,
		.rma_iov_count = 1,
		.datatype = type,
		.op = op,
		.context = context,
	};
}

static void single_length(struct single *single, const struct fi_ioc *iov, size_t count)
{
	for (size_t i = 0; iov && i < count && i < LIMIT_IOV; i++)
		single->remote.count += iov[i].count; /* a sum that wraps has a part that is too long: refused later */
}

/* FI_INJECT as an endpoint's default does not apply to ops that return data. */
static uint64_t atomic_fetch_defaults(struct fid_ep *ep)
{
	return emu_ep(ep)->tx_flags & ~FI_INJECT;
}

static int atomic_check_flags(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	if (!msg)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_atomicmsg: msg is NULL.");
	if (flags & FI_TAGGED)
		return REFUSE(EP_DATA, -FI_EOPNOTSUPP, "fi_atomicmsg: FI_TAGGED, and there are no tagged atomics. Leave it out.");
	flags &= ~(DATA_PUT_FLAGS | data_commit(emu_ep(ep)) | data_trigger(emu_ep(ep)));
	return flags ? REFUSE_FLAGS(EP_DATA, "fi_atomicmsg", flags) : 0;
}

static ssize_t atomic_writev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count, fi_addr_t peer, uint64_t addr,
			     uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	struct single single;

	single_set(&single, iov, desc, count, peer, addr, key, type, op, context);
	single_length(&single, iov, count);
	return emu_atomic_post(&(struct atomic_call){
		.ep = ep,
		.kind = ATOMIC_PLAIN,
		.msg = &single.msg,
		.flags = emu_ep(ep)->tx_flags,
	});
}

static ssize_t atomic_write(struct fid_ep *ep, const void *buf, size_t count, void *desc, fi_addr_t peer, uint64_t addr,
			    uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };

	return atomic_writev(ep, &ioc, &desc, 1, peer, addr, key, type, op, context);
}

static ssize_t atomic_writemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	int err = atomic_check_flags(ep, msg, flags);

	return err ? err : emu_atomic_post(&(struct atomic_call){ .ep = ep, .kind = ATOMIC_PLAIN, .msg = msg, .flags = flags });
}

static ssize_t atomic_inject(struct fid_ep *ep, const void *buf, size_t count, fi_addr_t peer, uint64_t addr, uint64_t key,
			     enum fi_datatype type, enum fi_op op)
{
	struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };
	struct single single;

	single_set(&single, &ioc, NULL, 1, peer, addr, key, type, op, NULL);
	single_length(&single, &ioc, 1);
	return emu_atomic_post(
		&(struct atomic_call){ .ep = ep, .kind = ATOMIC_PLAIN, .msg = &single.msg, .flags = FI_INJECT | DATA_SILENT });
}

static ssize_t atomic_readwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count, struct fi_ioc *resultv,
				 void **result_desc, size_t result_count, fi_addr_t peer, uint64_t addr, uint64_t key,
				 enum fi_datatype type, enum fi_op op, void *context)
{
	struct single single;

	single_set(&single, iov, desc, count, peer, addr, key, type, op, context);
	single_length(&single, resultv, result_count);
	return emu_atomic_post(&(struct atomic_call){
		.ep = ep,
		.kind = ATOMIC_FETCH,
		.msg = &single.msg,
		.flags = atomic_fetch_defaults(ep),
		.result = { resultv, result_desc, result_count, MR_READ },
	});
}

static ssize_t atomic_readwrite(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
				fi_addr_t peer, uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	struct fi_ioc ioc = { (void *)(uintptr_t)buf, count }, resultv = { result, count };

	return atomic_readwritev(ep, &ioc, &desc, 1, &resultv, &result_desc, 1, peer, addr, key, type, op, context);
}

static ssize_t atomic_readwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, struct fi_ioc *resultv, void **result_desc,
				   size_t result_count, uint64_t flags)
{
	int err = atomic_check_flags(ep, msg, flags);

	return err ? err
		   : emu_atomic_post(&(struct atomic_call){
			     .ep = ep,
			     .kind = ATOMIC_FETCH,
			     .msg = msg,
			     .flags = flags,
			     .result = { resultv, result_desc, result_count, MR_READ },
		     });
}

static ssize_t atomic_compwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
				 const struct fi_ioc *comparev, void **compare_desc, size_t compare_count, struct fi_ioc *resultv,
				 void **result_desc, size_t result_count, fi_addr_t peer, uint64_t addr, uint64_t key,
				 enum fi_datatype type, enum fi_op op, void *context)
{
	struct single single;

	single_set(&single, iov, desc, count, peer, addr, key, type, op, context);
	single_length(&single, iov, count);
	return emu_atomic_post(&(struct atomic_call){
		.ep = ep,
		.kind = ATOMIC_COMPARE,
		.msg = &single.msg,
		.flags = atomic_fetch_defaults(ep),
		.compare = { comparev, compare_desc, compare_count, MR_WRITE },
		.result = { resultv, result_desc, result_count, MR_READ },
	});
}

static ssize_t atomic_compwrite(struct fid_ep *ep, const void *buf, size_t count, void *desc, const void *compare,
				void *compare_desc, void *result, void *result_desc, fi_addr_t peer, uint64_t addr, uint64_t key,
				enum fi_datatype type, enum fi_op op, void *context)
{
	struct fi_ioc ioc = { (void *)(uintptr_t)buf, count }, resultv = { result, count };
	struct fi_ioc comparev = { (void *)(uintptr_t)compare, count };

	return atomic_compwritev(ep, &ioc, &desc, 1, &comparev, &compare_desc, 1, &resultv, &result_desc, 1, peer, addr, key, type,
				 op, context);
}

static ssize_t atomic_compwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, const struct fi_ioc *comparev,
				   void **compare_desc, size_t compare_count, struct fi_ioc *resultv, void **result_desc,
				   size_t result_count, uint64_t flags)
{
	int err = atomic_check_flags(ep, msg, flags);

	return err ? err
		   : emu_atomic_post(&(struct atomic_call){
			     .ep = ep,
			     .kind = ATOMIC_COMPARE,
			     .msg = msg,
			     .flags = flags,
			     .compare = { comparev, compare_desc, compare_count, MR_WRITE },
			     .result = { resultv, result_desc, result_count, MR_READ },
		     });
}

/* --- queries --- */

static int valid(struct fid_ep *fid, uint8_t kind, enum fi_datatype type, enum fi_op op, size_t *count)
{
	struct atomic_what what;
	int err;

	if (!count)
		return REFUSE(EP_DATA, -FI_EINVAL, "fi_atomicvalid: count is NULL.");
	err = emu_ep(fid)->caps & FI_ATOMIC ? check_what(kind, type, op, &what) : -FI_EOPNOTSUPP;
	if (!err)
		*count = LIMIT_ATOMIC / atomic_size(what.type);
	return err;
}

static int atomic_writevalid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return valid(ep, ATOMIC_PLAIN, type, op, count);
}

static int atomic_readwritevalid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return valid(ep, ATOMIC_FETCH, type, op, count);
}

static int atomic_compwritevalid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return valid(ep, ATOMIC_COMPARE, type, op, count);
}

int emu_query_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags)
{
	uint8_t kind = flags & FI_FETCH_ATOMIC ? ATOMIC_FETCH : flags & FI_COMPARE_ATOMIC ? ATOMIC_COMPARE : ATOMIC_PLAIN;
	const uint64_t both = FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC;
	struct atomic_what what;
	int err;

	(void)domain;
	if (!attr || (flags & both) == both)
		return REFUSE(DOMAIN, -FI_EINVAL,
			      "fi_query_atomic: attr is NULL, or flags ask for FI_FETCH_ATOMIC and "
			      "FI_COMPARE_ATOMIC at once.");
	if (flags & FI_TAGGED)
		return -FI_EOPNOTSUPP;
	if (flags & ~both)
		return REFUSE_FLAGS(DOMAIN, "fi_query_atomic", flags & ~both);
	err = check_what(kind, type, op, &what);
	if (err)
		return err;
	attr->size = atomic_size(what.type);
	attr->count = LIMIT_ATOMIC / attr->size;
	return 0;
}

struct fi_ops_atomic emu_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.write = atomic_write,
	.writev = atomic_writev,
	.writemsg = atomic_writemsg,
	.inject = atomic_inject,
	.readwrite = atomic_readwrite,
	.readwritev = atomic_readwritev,
	.readwritemsg = atomic_readwritemsg,
	.compwrite = atomic_compwrite,
	.compwritev = atomic_compwritev,
	.compwritemsg = atomic_compwritemsg,
	.writevalid = atomic_writevalid,
	.readwritevalid = atomic_readwritevalid,
	.compwritevalid = atomic_compwritevalid,
};
