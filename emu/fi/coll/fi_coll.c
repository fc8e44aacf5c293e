/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_coll.c - collectives: ten calls, one post; the buffers that they may touch, and what is offered (fi_collective(3)). */
#include "emu/fi/coll/fi_coll.h"

#include <assert.h>
#include <rdma/fi_errno.h>

#include "emu/fi/data/fi_data.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/nic/collectives/coll_schedule.h"
#include "emu/nic/regions/mr.h"
#include "emu/fi/mr/fi_mr_cache.h"
#include "emu/nic/regions/mr_table.h"

#define SAME_KIND(ours, theirs) static_assert((int)(ours) == (int)(theirs), "kinds of collectives")
SAME_KIND(COLL_BARRIER, FI_BARRIER);
SAME_KIND(COLL_BROADCAST, FI_BROADCAST);
SAME_KIND(COLL_ALLTOALL, FI_ALLTOALL);
SAME_KIND(COLL_ALLREDUCE, FI_ALLREDUCE);
SAME_KIND(COLL_ALLGATHER, FI_ALLGATHER);
SAME_KIND(COLL_REDUCE_SCATTER, FI_REDUCE_SCATTER);
SAME_KIND(COLL_REDUCE, FI_REDUCE);
SAME_KIND(COLL_SCATTER, FI_SCATTER);
SAME_KIND(COLL_GATHER, FI_GATHER);

static const struct {
	const char *call;
	bool reduces, rooted;
} kinds[COLL_KINDS] = {
	[COLL_BARRIER] = { "fi_barrier", false, false },     [COLL_BROADCAST] = { "fi_broadcast", false, true },
	[COLL_ALLTOALL] = { "fi_alltoall", false, false },   [COLL_ALLREDUCE] = { "fi_allreduce", true, false },
	[COLL_ALLGATHER] = { "fi_allgather", false, false }, [COLL_REDUCE_SCATTER] = { "fi_reduce_scatter", true, false },
	[COLL_REDUCE] = { "fi_reduce", true, true },         [COLL_SCATTER] = { "fi_scatter", false, true },
	[COLL_GATHER] = { "fi_gather", false, true },
};

/* The arguments of any call; those that it lacks are zero. */
struct coll_call {
	enum coll_kind kind;
	const void *buf;
	size_t count;
	void *desc;
	void *result, *result_desc;
	fi_addr_t group, root;
	enum fi_datatype type;
	enum fi_op op;
	uint64_t flags;
	void *context;
};

#define COLL_FLAGS (FI_COMPLETION | FI_MORE | ATTR_LEVELS)

static int coll_refuse_ep(const struct emu_ep *ep, const char *call)
{
	if (!domain_usable(ep->domain))
		return refuse_inherited(call);
	if (ep->scalable || !(ep->caps & FI_COLLECTIVE))
		return REFUSE(EP_DATA, -FI_EOPNOTSUPP,
			      "%s: the endpoint was opened without FI_COLLECTIVE, or is a context of a scalable one. Ask for it in "
			      "hints->caps.",
			      call);
	return REFUSE(EP_DATA, -FI_EOPBADSTATE, "%s: the endpoint is not enabled. Call fi_enable first.", call);
}

/* Is there such a collective on such elements? 0, or -FI_EOPNOTSUPP. */
static int check_elements(enum coll_kind kind, enum fi_datatype type, enum fi_op op)
{
	bool known = (unsigned)type < ATOMIC_TYPES && atomic_size((uint8_t)type);

	if (kind == COLL_BARRIER)
		return 0;
	if (!known)
		return -FI_EOPNOTSUPP;
	if (!kinds[kind].reduces)
		return 0;
	return (unsigned)op < ATOMIC_OPS && coll_reduces((uint8_t)type, (uint8_t)op) ? 0 : -FI_EOPNOTSUPP;
}

static int check_call(const struct emu_ep *ep, const struct coll_call *call)
{
	const char *name = kinds[call->kind].call;
	char op[64], type[64];

	if (!domain_usable(ep->domain) || ep->scalable || !(ep->open_caps & FI_COLLECTIVE))
		return coll_refuse_ep(ep, name);
	if (call->flags & ~COLL_FLAGS)
		return REFUSE_FLAGS(EP_DATA, name, call->flags & ~COLL_FLAGS);
	if (check_elements(call->kind, call->type, call->op))
		return REFUSE(EP_DATA, -FI_EOPNOTSUPP,
			      "%s: datatype %s, operation %s is not offered. Ask fi_query_collective what is.", name,
			      fi_tostr_r(type, sizeof(type), &call->type, FI_TYPE_ATOMIC_TYPE),
			      kinds[call->kind].reduces ? fi_tostr_r(op, sizeof(op), &call->op, FI_TYPE_ATOMIC_OP) : "none");
	if (call->kind != COLL_BARRIER && call->count > LIMIT_COLL_BYTES / atomic_size((uint8_t)call->type))
		return REFUSE(EP_DATA, -FI_EMSGSIZE, "%s: %zu elements, at most %zu are offered. Ask fi_query_collective.", name,
			      call->count, LIMIT_COLL_BYTES / atomic_size((uint8_t)call->type));
	return 0;
}

/* [role] The group and the root's place in it. */
static int call_group(const struct emu_ep *ep, const struct coll_call *call, struct coll_group **group, uint32_t *root)
	REQUIRES(driver_role)
{
	const struct emu_mc *mc = mc_find(ep, call->group);
	const char *name = kinds[call->kind].call;

	*root = 0;
	if (!mc)
		return REFUSE(EP_DATA, -FI_EINVAL,
			      "%s: coll_addr %#llx is no group of this endpoint. Pass fi_mc_addr() of what "
			      "fi_join_collective gave.",
			      name, (unsigned long long)call->group);
	if (!coll_is_joined(mc->group))
		return REFUSE(EP_DATA, -FI_EOPBADSTATE,
			      "%s: the endpoint has not joined the group. Read FI_JOIN_COMPLETE from its event queue first.", name);
	*group = mc->group;
	if (!kinds[call->kind].rooted)
		return 0;
	*root = coll_rank(mc->group, call->root);
	if (*root == UINT32_MAX)
		return REFUSE(EP_DATA, -FI_EINVAL,
			      "%s: root_addr %#llx is no member of the group. Pass the fi_addr_t that the address vector set has.",
			      name, (unsigned long long)call->root);
	return 0;
}

/* 0, or an errno after a line of log. Buffers that this member does not use are not looked at, and named by nothing. */
static int check_buffers(const struct emu_ep *ep, struct coll_call *call, const struct coll_shape *shape)
{
	bool fills = call->kind == COLL_BROADCAST && shape->rank != shape->root;
	uint64_t bytes[COLL_BUFFERS];
	struct iovec in, out;
	int err;

	coll_extents(shape, bytes);
	in = (struct iovec){ (void *)(uintptr_t)call->buf, bytes[COLL_BUF] };
	out = (struct iovec){ call->result, bytes[COLL_RESULT] };
	err = coll_check_buffer(ep->domain, kinds[call->kind].call, &in, &call->desc, fills ? MR_RECV : MR_SEND);
	return err ? err : coll_check_buffer(ep->domain, kinds[call->kind].call, &out, &call->result_desc, MR_RECV);
}

static ssize_t coll_call_post(struct fid_ep *fid, struct coll_call call)
{
	struct emu_ep *asked = emu_ep(fid), *ep = asked->primary;
	struct driver *driver = nic_driver(ep->domain->nic);
	struct coll_shape shape = { .kind = call.kind, .count = call.count };
	struct coll_group *group;
	struct coll_post post;
	int err = check_call(asked, &call);

	if (err)
		return err;
	if (!driver_enter(driver))
		return -FI_EAGAIN;
	err = call_group(ep, &call, &group, &shape.root);
	if (!err) {
		shape.size = coll_size(group);
		shape.rank = coll_own_rank(group);
	}
	driver_leave(driver);
	if (err)
		return err;
	shape.element = call.kind == COLL_BARRIER ? 0 : (uint32_t)atomic_size((uint8_t)call.type);
	err = check_buffers(ep, &call, &shape);
	if (err)
		return err;
	post = (struct coll_post){
		.kind = call.kind,
		.flags = data_post_flags(asked, call.flags | (asked->tx_flags & FI_COMPLETION), 0),
		.root = shape.root,
		.buf = call.buf,
		.result = call.kind == COLL_BROADCAST ? (void *)(uintptr_t)call.buf : call.result,
		.desc = { call.desc, call.result_desc },
		.count = call.count,
		.type = (uint8_t)call.type,
		.op = (uint8_t)call.op,
		.context = call.context,
		.cq_flags = FI_COLLECTIVE,
	};
	if (!driver_enter(driver))
		return -FI_EAGAIN;
	err = call_group(ep, &call, &group, &post.root); /* it may have been closed meanwhile */
	if (!err)
		err = coll_begin(group, &post);
	driver_leave(driver);
	return err;
}

#define CALL(...) coll_call_post(ep, (struct coll_call){ __VA_ARGS__ })

static ssize_t coll_barrier2(struct fid_ep *ep, fi_addr_t group, uint64_t flags, void *context)
{
	return CALL(.kind = COLL_BARRIER, .group = group, .flags = flags, .context = context);
}

static ssize_t coll_barrier(struct fid_ep *ep, fi_addr_t group, void *context)
{
	return coll_barrier2(ep, group, 0, context);
}

static ssize_t coll_broadcast(struct fid_ep *ep, void *buf, size_t count, void *desc, fi_addr_t group, fi_addr_t root,
			      enum fi_datatype type, uint64_t flags, void *context)
{
	return CALL(.kind = COLL_BROADCAST, .buf = buf, .count = count, .desc = desc, .group = group, .root = root, .type = type,
		    .flags = flags, .context = context);
}

static ssize_t coll_alltoall(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
			     fi_addr_t group, enum fi_datatype type, uint64_t flags, void *context)
{
	return CALL(.kind = COLL_ALLTOALL, .buf = buf, .count = count, .desc = desc, .result = result, .result_desc = result_desc,
		    .group = group, .type = type, .flags = flags, .context = context);
}

static ssize_t coll_allreduce(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
			      fi_addr_t group, enum fi_datatype type, enum fi_op op, uint64_t flags, void *context)
{
	return CALL(.kind = COLL_ALLREDUCE, .buf = buf, .count = count, .desc = desc, .result = result, .result_desc = result_desc,
		    .group = group, .type = type, .op = op, .flags = flags, .context = context);
}

static ssize_t coll_allgather(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
			      fi_addr_t group, enum fi_datatype type, uint64_t flags, void *context)
{
	return CALL(.kind = COLL_ALLGATHER, .buf = buf, .count = count, .desc = desc, .result = result, .result_desc = result_desc,
		    .group = group, .type = type, .flags = flags, .context = context);
}

static ssize_t coll_reduce_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
				   fi_addr_t group, enum fi_datatype type, enum fi_op op, uint64_t flags, void *context)
{
	return CALL(.kind = COLL_REDUCE_SCATTER, .buf = buf, .count = count, .desc = desc, .result = result,
		    .result_desc = result_desc, .group = group, .type = type, .op = op, .flags = flags, .context = context);
}

static ssize_t coll_reduce(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
			   fi_addr_t group, fi_addr_t root, enum fi_datatype type, enum fi_op op, uint64_t flags, void *context)
{
	return CALL(.kind = COLL_REDUCE, .buf = buf, .count = count, .desc = desc, .result = result, .result_desc = result_desc,
		    .group = group, .root = root, .type = type, .op = op, .flags = flags, .context = context);
}

static ssize_t coll_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
			    fi_addr_t group, fi_addr_t root, enum fi_datatype type, uint64_t flags, void *context)
{
	return CALL(.kind = COLL_SCATTER, .buf = buf, .count = count, .desc = desc, .result = result, .result_desc = result_desc,
		    .group = group, .root = root, .type = type, .flags = flags, .context = context);
}

static ssize_t coll_gather(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
			   fi_addr_t group, fi_addr_t root, enum fi_datatype type, uint64_t flags, void *context)
{
	return CALL(.kind = COLL_GATHER, .buf = buf, .count = count, .desc = desc, .result = result, .result_desc = result_desc,
		    .group = group, .root = root, .type = type, .flags = flags, .context = context);
}

/* libfabric has no call for it, and no page. */
static ssize_t coll_msg(struct fid_ep *ep, const struct fi_msg_collective *msg, struct fi_ioc *results, void **desc, size_t count,
			uint64_t flags)
{
	(void)ep, (void)msg, (void)results, (void)desc, (void)count, (void)flags;
	return refuse_missing("collective call", "Each collective has a call of its own");
}

struct fi_ops_collective emu_collective_ops = {
	.size = sizeof(struct fi_ops_collective),
	.barrier = coll_barrier,
	.broadcast = coll_broadcast,
	.alltoall = coll_alltoall,
	.allreduce = coll_allreduce,
	.allgather = coll_allgather,
	.reduce_scatter = coll_reduce_scatter,
	.reduce = coll_reduce,
	.scatter = coll_scatter,
	.gather = coll_gather,
	.msg = coll_msg,
	.barrier2 = coll_barrier2,
};

int emu_query_collective(struct fid_domain *domain, enum fi_collective_op coll, struct fi_collective_attr *attr, uint64_t flags)
{
	size_t size;

	(void)domain;
	if (!attr || attr->mode)
		return REFUSE(DOMAIN, -FI_EINVAL, "fi_query_collective: attr is NULL, or attr->mode is not 0.");
	if (flags)
		return REFUSE_FLAGS(DOMAIN, "fi_query_collective", flags);
	if ((unsigned)coll >= COLL_KINDS)
		return -FI_EOPNOTSUPP;
	if (check_elements((enum coll_kind)coll, attr->datatype, attr->op))
		return -FI_EOPNOTSUPP;
	size = coll == FI_BARRIER ? 0 : atomic_size((uint8_t)attr->datatype);
	attr->datatype_attr.size = size;
	attr->datatype_attr.count = size ? LIMIT_COLL_BYTES / size : 0;
	attr->max_members = LIMIT_MEMBERS;
	return 0;
}

/* --- may a collective touch this buffer? --- */

static const char *rights_name(const struct emu_domain *domain, uint32_t right)
{
	if (domain->rules & FI_MR_COLLECTIVE)
		return right == MR_SEND ? "FI_COLLECTIVE, or none FI_SEND" : "FI_COLLECTIVE, or none FI_RECV";
	return right == MR_SEND ? "FI_SEND" : "FI_RECV";
}

int coll_check_buffer(const struct emu_domain *domain, const char *call, const struct iovec *buffer, void **desc, uint32_t right)
{
	bool registered = domain->rules & FI_MR_COLLECTIVE;
	uint32_t rights = registered ? right | MR_COLLECTIVE : right & domain->desc_rights;

	if (!buffer->iov_len || !(registered || domain->looks_at_descs))
		*desc = NULL;
	if (!buffer->iov_len)
		return 0;
	if (!buffer->iov_base)
		return REFUSE(EP_DATA, -FI_EINVAL, "%s: a buffer of %zu B at address 0.", call, buffer->iov_len);
	if (!*desc && registered)
		return REFUSE(
			EP_DATA, -FI_EINVAL,
			"%s: local buffer %p, %zu B: descriptor missing (S185). Under FI_MR_COLLECTIVE register the buffer with "
			"FI_COLLECTIVE and pass fi_mr_desc() of its region.",
			call, buffer->iov_base, buffer->iov_len);
	if (!*desc && !(domain->rules & FI_MR_LOCAL))
		return domain->cache ? mr_cache_register(domain, buffer, right == MR_RECV) : 0;
	if (*desc && mr_table_local_ok(pd_regions(domain->pd), *desc, buffer->iov_base, buffer->iov_len, rights) == 0)
		return 0;
	return desc_refuse(domain, call, rights_name(domain, right), buffer, *desc, rights);
}
