/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_atomic.c - atomic operations. Their vectors, of addresses and counts of values, are libfabric's as they are. */
#include "emu/kfi/ep/kemu_ep.h"

#include <kfi_errno.h>
#include <rdma/fi_atomic.h>
#include <string.h>

#include "emu/kfi/ep/kemu_post.h"
#include "emu/kfi/mr/kemu_memory.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_refuse.h"

_Static_assert((int)KFI_INT8 == (int)FI_INT8 && (int)KFI_UINT64 == (int)FI_UINT64 && (int)KFI_FLOAT == (int)FI_FLOAT &&
		       (int)KFI_LONG_DOUBLE_COMPLEX == (int)FI_LONG_DOUBLE_COMPLEX,
	       "datatypes are libfabric's");
_Static_assert((int)KFI_MIN == (int)FI_MIN && (int)KFI_BXOR == (int)FI_BXOR && (int)KFI_ATOMIC_READ == (int)FI_ATOMIC_READ &&
		       (int)KFI_CSWAP == (int)FI_CSWAP && (int)KFI_MSWAP == (int)FI_MSWAP,
	       "operations are libfabric's");
_Static_assert(sizeof(struct kfi_ioc) == sizeof(struct fi_ioc) && sizeof(struct kfi_rma_ioc) == sizeof(struct fi_rma_ioc) &&
		       offsetof(struct kfi_ioc, count) == offsetof(struct fi_ioc, count) &&
		       offsetof(struct kfi_rma_ioc, count) == offsetof(struct fi_rma_ioc, count) &&
		       offsetof(struct kfi_rma_ioc, key) == offsetof(struct fi_rma_ioc, key),
	       "vectors are libfabric's");
_Static_assert(KFI_FETCH_ATOMIC == FI_FETCH_ATOMIC && KFI_COMPARE_ATOMIC == FI_COMPARE_ATOMIC &&
		       sizeof(struct kfi_atomic_attr) == sizeof(struct fi_atomic_attr),
	       "queries are libfabric's");

/* Values as libfabric gets them: more than KEMU_RUNS are passed on as they are, and refused there. */
struct values {
	struct fi_ioc ioc[KEMU_RUNS];
	const struct fi_ioc *at;
	void **desc;
	size_t count;
};

static size_t value_size(enum kfi_datatype datatype)
{
	static const uint8_t sizes[KFI_DATATYPE_LAST] = {
		[KFI_INT8] = 1,          [KFI_UINT8] = 1,
		[KFI_INT16] = 2,         [KFI_UINT16] = 2,
		[KFI_INT32] = 4,         [KFI_UINT32] = 4,
		[KFI_INT64] = 8,         [KFI_UINT64] = 8,
		[KFI_FLOAT] = 4,         [KFI_DOUBLE] = 8,
		[KFI_FLOAT_COMPLEX] = 8, [KFI_DOUBLE_COMPLEX] = 16,
		[KFI_LONG_DOUBLE] = 16,  [KFI_LONG_DOUBLE_COMPLEX] = 32,
	};

	return datatype < KFI_DATATYPE_LAST ? sizes[datatype] : 0;
}

/* Gives values their addresses in the windows of the regions that their descriptors name. */
static void values_take(struct values *values, const struct kemu_ep *ep, const struct kfi_ioc *ioc, void **desc, size_t count,
			enum kfi_datatype datatype)
{
	values->at = (const struct fi_ioc *)ioc;
	values->desc = kemu_descs(ep, desc);
	values->count = count;
	if (!values->desc || !ioc || count > KEMU_RUNS)
		return;
	memcpy(values->ioc, ioc, count * sizeof(*ioc));
	for (size_t i = 0; i < count; i++) {
		struct iovec buffer = { ioc[i].addr, ioc[i].count * value_size(datatype) };

		if (desc[i])
			kemu_desc_translate(ep->domain, desc[i], &buffer);
		values->ioc[i].addr = buffer.iov_base;
	}
	values->at = values->ioc;
}

static struct fi_msg_atomic katomic_message(const struct kfi_msg_atomic *msg, const struct values *values)
{
	return (struct fi_msg_atomic){
		.msg_iov = values->at,
		.desc = values->desc,
		.iov_count = values->count,
		.addr = msg->addr,
		.rma_iov = (const struct fi_rma_ioc *)msg->rma_iov,
		.rma_iov_count = msg->rma_iov_count,
		.datatype = (enum fi_datatype)msg->datatype,
		.op = (enum fi_op)msg->op,
		.context = msg->context,
		.data = msg->data,
	};
}

static int katomic_check(const char *call, const struct kfi_msg_atomic *msg, uint64_t flags, uint64_t *fi_flags)
{
	if (!msg)
		return KEMU_REFUSE(-KFI_EINVAL, "%s: msg is NULL.", call);
	if (!kemu_fi_flags(flags, fi_flags))
		return KEMU_REFUSE_FLAGS(call, flags & ~*fi_flags, "");
	return 0;
}

/* --- without a result --- */

static ssize_t katomic_writev(struct kfid_ep *kfid, const struct kfi_ioc *iov, void **desc, size_t count, kfi_addr_t dest,
			      uint64_t addr, uint64_t key, enum kfi_datatype datatype, enum kfi_op op, void *context)
{
	struct kemu_ep *ep = kemu_ep(kfid);
	struct values values;

	values_take(&values, ep, iov, desc, count, datatype);
	return fi_atomicv(ep->fi, values.at, values.desc, count, dest, addr, key, (enum fi_datatype)datatype, (enum fi_op)op,
			  context);
}

static ssize_t katomic_write(struct kfid_ep *kfid, const void *buf, size_t count, void *desc, kfi_addr_t dest, uint64_t addr,
			     uint64_t key, enum kfi_datatype datatype, enum kfi_op op, void *context)
{
	struct kemu_ep *ep = kemu_ep(kfid);
	void *known = kemu_post_single(ep, &buf, count * value_size(datatype), desc);

	return fi_atomic(ep->fi, buf, count, known, dest, addr, key, (enum fi_datatype)datatype, (enum fi_op)op, context);
}

static ssize_t katomic_writemsg(struct kfid_ep *kfid, const struct kfi_msg_atomic *msg, uint64_t flags)
{
	struct kemu_ep *ep = kemu_ep(kfid);
	struct fi_msg_atomic fi_msg;
	struct values values;
	uint64_t fi_flags;
	int err = katomic_check("kfi_atomicmsg", msg, flags, &fi_flags);

	if (err)
		return err;
	values_take(&values, ep, msg->msg_iov, msg->desc, msg->iov_count, msg->datatype);
	fi_msg = katomic_message(msg, &values);
	return fi_atomicmsg(ep->fi, &fi_msg, fi_flags);
}

static ssize_t katomic_inject(struct kfid_ep *kfid, const void *buf, size_t count, kfi_addr_t dest, uint64_t addr, uint64_t key,
			      enum kfi_datatype datatype, enum kfi_op op)
{
	return fi_inject_atomic(kemu_ep(kfid)->fi, buf, count, dest, addr, key, (enum fi_datatype)datatype, (enum fi_op)op);
}

/* --- with one --- */

static ssize_t katomic_readwritev(struct kfid_ep *kfid, const struct kfi_ioc *iov, void **desc, size_t count,
				  struct kfi_ioc *resultv, void **result_desc, size_t result_count, kfi_addr_t dest, uint64_t addr,
				  uint64_t key, enum kfi_datatype datatype, enum kfi_op op, void *context)
{
	struct kemu_ep *ep = kemu_ep(kfid);
	struct values values, result;

	values_take(&values, ep, iov, desc, count, datatype);
	values_take(&result, ep, resultv, result_desc, result_count, datatype);
	return fi_fetch_atomicv(ep->fi, values.at, values.desc, count, (struct fi_ioc *)(uintptr_t)result.at, result.desc,
				result_count, dest, addr, key, (enum fi_datatype)datatype, (enum fi_op)op, context);
}

static ssize_t katomic_readwrite(struct kfid_ep *kfid, const void *buf, size_t count, void *desc, void *result, void *result_desc,
				 kfi_addr_t dest, uint64_t addr, uint64_t key, enum kfi_datatype datatype, enum kfi_op op,
				 void *context)
{
	struct kemu_ep *ep = kemu_ep(kfid);
	size_t len = count * value_size(datatype);
	const void *result_at = result;
	void *known = kemu_post_single(ep, &buf, len, desc), *result_known = kemu_post_single(ep, &result_at, len, result_desc);

	return fi_fetch_atomic(ep->fi, buf, count, known, (void *)(uintptr_t)result_at, result_known, dest, addr, key,
			       (enum fi_datatype)datatype, (enum fi_op)op, context);
}

static ssize_t katomic_readwritemsg(struct kfid_ep *kfid, const struct kfi_msg_atomic *msg, struct kfi_ioc *resultv,
				    void **result_desc, size_t result_count, uint64_t flags)
{
	struct kemu_ep *ep = kemu_ep(kfid);
	struct values values, result;
	struct fi_msg_atomic fi_msg;
	uint64_t fi_flags;
	int err = katomic_check("kfi_fetch_atomicmsg", msg, flags, &fi_flags);

	if (err)
		return err;
	values_take(&values, ep, msg->msg_iov, msg->desc, msg->iov_count, msg->datatype);
	values_take(&result, ep, resultv, result_desc, result_count, msg->datatype);
	fi_msg = katomic_message(msg, &values);
	return fi_fetch_atomicmsg(ep->fi, &fi_msg, (struct fi_ioc *)(uintptr_t)result.at, result.desc, result_count, fi_flags);
}

/* --- by comparison --- */

static ssize_t katomic_compwritev(struct kfid_ep *kfid, const struct kfi_ioc *iov, void **desc, size_t count,
				  const struct kfi_ioc *comparev, void **compare_desc, size_t compare_count,
				  struct kfi_ioc *resultv, void **result_desc, size_t result_count, kfi_addr_t dest, uint64_t addr,
				  uint64_t key, enum kfi_datatype datatype, enum kfi_op op, void *context)
{
	struct kemu_ep *ep = kemu_ep(kfid);
	struct values values, compare, result;

	values_take(&values, ep, iov, desc, count, datatype);
	values_take(&compare, ep, comparev, compare_desc, compare_count, datatype);
	values_take(&result, ep, resultv, result_desc, result_count, datatype);
	return fi_compare_atomicv(ep->fi, values.at, values.desc, count, compare.at, compare.desc, compare_count,
				  (struct fi_ioc *)(uintptr_t)result.at, result.desc, result_count, dest, addr, key,
				  (enum fi_datatype)datatype, (enum fi_op)op, context);
}

static ssize_t katomic_compwrite(struct kfid_ep *kfid, const void *buf, size_t count, void *desc, const void *compare,
				 void *compare_desc, void *result, void *result_desc, kfi_addr_t dest, uint64_t addr, uint64_t key,
				 enum kfi_datatype datatype, enum kfi_op op, void *context)
{
	struct kemu_ep *ep = kemu_ep(kfid);
	size_t len = count * value_size(datatype);
	const void *result_at = result;
	void *known = kemu_post_single(ep, &buf, len, desc);
	void *compare_known = kemu_post_single(ep, &compare, len, compare_desc);
	void *result_known = kemu_post_single(ep, &result_at, len, result_desc);

	return fi_compare_atomic(ep->fi, buf, count, known, compare, compare_known, (void *)(uintptr_t)result_at, result_known,
				 dest, addr, key, (enum fi_datatype)datatype, (enum fi_op)op, context);
}

static ssize_t katomic_compwritemsg(struct kfid_ep *kfid, const struct kfi_msg_atomic *msg, const struct kfi_ioc *comparev,
				    void **compare_desc, size_t compare_count, struct kfi_ioc *resultv, void **result_desc,
				    size_t result_count, uint64_t flags)
{
	struct kemu_ep *ep = kemu_ep(kfid);
	struct values values, compare, result;
	struct fi_msg_atomic fi_msg;
	uint64_t fi_flags;
	int err = katomic_check("kfi_compare_atomicmsg", msg, flags, &fi_flags);

	if (err)
		return err;
	values_take(&values, ep, msg->msg_iov, msg->desc, msg->iov_count, msg->datatype);
	values_take(&compare, ep, comparev, compare_desc, compare_count, msg->datatype);
	values_take(&result, ep, resultv, result_desc, result_count, msg->datatype);
	fi_msg = katomic_message(msg, &values);
	return fi_compare_atomicmsg(ep->fi, &fi_msg, compare.at, compare.desc, compare_count, (struct fi_ioc *)(uintptr_t)result.at,
				    result.desc, result_count, fi_flags);
}

/* --- what is offered --- */

static int katomic_writevalid(struct kfid_ep *kfid, enum kfi_datatype datatype, enum kfi_op op, size_t *count)
{
	return fi_atomicvalid(kemu_ep(kfid)->fi, (enum fi_datatype)datatype, (enum fi_op)op, count);
}

static int katomic_readwritevalid(struct kfid_ep *kfid, enum kfi_datatype datatype, enum kfi_op op, size_t *count)
{
	return fi_fetch_atomicvalid(kemu_ep(kfid)->fi, (enum fi_datatype)datatype, (enum fi_op)op, count);
}

static int katomic_compwritevalid(struct kfid_ep *kfid, enum kfi_datatype datatype, enum kfi_op op, size_t *count)
{
	return fi_compare_atomicvalid(kemu_ep(kfid)->fi, (enum fi_datatype)datatype, (enum fi_op)op, count);
}

int kemu_query_atomic(struct kfid_domain *domain, enum kfi_datatype datatype, enum kfi_op op, struct kfi_atomic_attr *attr,
		      uint64_t flags)
{
	return fi_query_atomic(kemu_domain(&domain->fid)->fi, (enum fi_datatype)datatype, (enum fi_op)op,
			       (struct fi_atomic_attr *)attr, flags);
}

struct kfi_ops_atomic kemu_atomic_ops = {
	.size = sizeof(struct kfi_ops_atomic),
	.write = katomic_write,
	.writev = katomic_writev,
	.writemsg = katomic_writemsg,
	.inject = katomic_inject,
	.readwrite = katomic_readwrite,
	.readwritev = katomic_readwritev,
	.readwritemsg = katomic_readwritemsg,
	.compwrite = katomic_compwrite,
	.compwritev = katomic_compwritev,
	.compwritemsg = katomic_compwritemsg,
	.writevalid = katomic_writevalid,
	.readwritevalid = katomic_readwritevalid,
	.compwritevalid = katomic_compwritevalid,
};
