/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_attr.c - the three registration calls, and the checks of their arguments. */
#include "emu/fi/mr/fi_mr.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_front_end.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_words.h"
#include "emu/net/memory/dmabuf.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/regions/mr_rules.h"

static int mr_refuse(const char *what)
{
	return REFUSE(MR, -FI_EINVAL, "fi_mr_reg: %s.", what);
}

/* S3: the man page of 1.9 and later asks for a length. */
static int mr_check_segments(const struct emu_domain *domain, const struct mr_request *req)
{
	bool may_be_empty = FI_VERSION_LT(domain->api, FI_VERSION(1, 9)) || domain->attr->empty_regions;

	switch (mr_may_hold(req->iov, req->count, domain->attr->mr_iov_limit, may_be_empty)) {
	case MR_RULE_NO_SEGMENT:
		return mr_refuse("no segments (S11)");
	case MR_RULE_MANY_SEGMENTS:
		return mr_refuse("more segments than mr_iov_limit (S10)");
	case MR_RULE_EMPTY:
		return mr_refuse("length 0 (S3). A region has at least one byte");
	case MR_RULE_WRAPS:
		return mr_refuse("the range goes past the end of the address space");
	case MR_RULE_TOO_LONG:
		return mr_refuse("the segments together are longer than the address space");
	default:
		return 0;
	}
}

/* The known flags: the first API version that has it, and the capability that it needs. */
static const struct {
	uint64_t flag, cap;
	uint32_t since;
} flags_known[] = {
	{ FI_RMA_EVENT, FI_RMA_EVENT, FI_VERSION(1, 0) },    { COMPAT_MR_DMABUF, FI_HMEM, FI_VERSION(1, 20) },
	{ COMPAT_MR_SINGLE_USE, 0, FI_VERSION(2, 0) },       { FI_RMA_PMEM, FI_RMA_PMEM, FI_VERSION(1, 0) },
	{ FI_HMEM_DEVICE_ONLY, FI_HMEM, FI_VERSION(1, 13) }, { FI_HMEM_HOST_ALLOC, FI_HMEM, FI_VERSION(1, 14) },
	{ COMPAT_MR_NOCACHE, 0, FI_VERSION(1, 0) }, /* the cache holds only buffers without a region */
};

/* S5 */
static int mr_check_flags(const struct emu_domain *domain, uint64_t flags)
{
	char names[FLAG_NAMES_MAX];

	for (size_t i = 0; i < sizeof(flags_known) / sizeof(flags_known[0]); i++) {
		if ((domain->caps & flags_known[i].cap) == flags_known[i].cap && FI_VERSION_GE(domain->api, flags_known[i].since))
			flags &= ~flags_known[i].flag;
	}
	if (domain->av_auth)
		flags &= ~COMPAT_AUTH_KEY; /* S167 */
	if (!flags)
		return 0;
	return REFUSE(MR, -FI_EBADFLAGS,
		      "fi_mr_reg: the flags %#llx (%s) are not supported, or not by the capabilities asked for (S5). Leave "
		      "them out, or ask for the capability in hints->caps.",
		      (unsigned long long)flags, flag_names(flags, FI_TYPE_OP_FLAGS, names));
}

/* Takes the descriptor of the region given as base_mr. */
static int take_base(const struct emu_domain *domain, const struct fid_mr *base, struct mr_request *req)
{
	if (!base)
		return 0;
	if (!mr_is_ours(&base->fid))
		return mr_refuse("base_mr is no region of this provider (S121)");
	if (((const struct emu_mr *)base)->domain != domain)
		return mr_refuse("base_mr is a region of another domain (S121)");
	if (!mr_complete(base))
		return mr_refuse("the registration of base_mr is not complete (S121)");
	req->base = base->mem_desc;
	return 0;
}

/* A hook passes on its own object, which has the region's descriptor; and from fi_mr_reg what lay on its stack. */
static void take_base_of_hook(const struct emu_domain *domain, const struct fid_mr *given, struct mr_request *req)
{
	struct mr_local region;
	struct fid_mr base;

	if (given && kernel_copy(&base, given, sizeof(base)) == KERNEL_COPIED && base.fid.fclass == FI_CLASS_MR &&
	    mr_table_local_why(pd_regions(domain->pd), base.mem_desc, NULL, 0, 0, &region) == MR_LOCAL_OK)
		req->base = base.mem_desc;
}

static int mr_check_access(const struct emu_domain *domain, uint64_t access)
{
	uint64_t odd = access & ~(STATUS_RIGHTS | (domain->caps & FI_COLLECTIVE) | domain->attr->access_ignored);
	char names[FLAG_NAMES_MAX];

	if (odd)
		return REFUSE(
			MR, -FI_EINVAL,
			"fi_mr_reg: access has bits that are none of the six rights (S22): %#llx (%s). Leave them out; the rights "
			"are FI_SEND, FI_RECV, FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE.",
			(unsigned long long)odd, flag_names(odd, FI_TYPE_CAPS, names));
	if (mr_may_grant(status_rights(access)) == MR_RULE_COLLECTIVE_ALONE)
		return mr_refuse(
			"access has FI_COLLECTIVE alone (S184). Add FI_SEND for buffers that are sent, FI_RECV for results");
	return 0;
}

/* Flags first: they tell how to read the rest. */
static int mr_request_check(const struct emu_domain *domain, const struct mr_request *req)
{
	int err = mr_check_flags(domain, req->flags);

	if (err)
		return err;
	err = mr_check_access(domain, req->access);
	if (err)
		return err;
	if (req->offset)
		return mr_refuse("offset is reserved and must be 0 (S4)");
	return mr_check_segments(domain, req);
}

/* Finds where the region's bytes lie. */
static int find_bytes(struct emu_domain *domain, struct mr_request *req)
{
	int err = 0;

	if (req->given) {
		err = mr_dmabuf_open(req->given, req->access, &req->dmabuf);
		if (!err)
			req->shift = (uintptr_t)req->dmabuf->bytes.iov_base - (uintptr_t)req->iov->iov_base;
	} else if (!req->base) {
		err = mr_find_device(domain, req);
	}
	if (err || !(req->flags & FI_RMA_PMEM))
		return err;
	return req->dmabuf ? mr_check_pmem(&req->dmabuf->bytes, 1) : mr_check_pmem(req->iov, req->count);
}

static int mr_check_and_register(struct emu_domain *domain, struct mr_request *req, struct fid_mr **mr)
{
	int err;

	if (!domain_usable(domain))
		return refuse_inherited("fi_mr_reg");
	if (!mr)
		return REFUSE(MR, -FI_EINVAL, "fi_mr_reg: mr is NULL.");
	err = mr_request_check(domain, req);
	if (!err)
		err = find_bytes(domain, req);
	if (!err)
		err = mr_register(domain, req, mr);
	if (err)
		dmabuf_unmap(req->dmabuf);
	return err;
}

int emu_mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset, uint64_t requested_key,
	       uint64_t flags, struct fid_mr **mr, void *context)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	return emu_mr_regv(fid, &iov, 1, access, offset, requested_key, flags, mr, context);
}

int emu_mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access, uint64_t offset, uint64_t requested_key,
		uint64_t flags, struct fid_mr **mr, void *context)
{
	struct emu_domain *domain = (struct emu_domain *)fid;
	struct mr_request req = {
		.iov = iov,
		.count = count,
		.access = access,
		.offset = offset,
		.key = requested_key,
		.flags = flags,
		.context = context,
		.auth = domain->auth,
		.device = DEVICE_ANY,
	};

	if (domain->av_auth)
		return REFUSE(MR, -FI_ENOSYS,
			      "fi_mr_reg: under FI_AV_AUTH_KEY it has no room for the keys (S160). Call "
			      "fi_mr_regattr.");
	if (flags & COMPAT_MR_DMABUF)
		return REFUSE(MR, -FI_EBADFLAGS,
			      "fi_mr_reg: FI_MR_DMABUF is for fi_mr_regattr, where the descriptor is given "
			      "(S8).");
	return mr_check_and_register(domain, &req, mr);
}

/* Takes the attributes of newer API versions, and those of FI_HMEM; req has the others already. */
static int take_newer(struct emu_domain *domain, const struct compat_mr_attr *attr, struct mr_request *req, struct iovec *named)
{
	int err = 0;

	if (FI_VERSION_GE(domain->api, FI_VERSION(2, 0)) && domain->hooked)
		take_base_of_hook(domain, attr->base_mr, req);
	else if (FI_VERSION_GE(domain->api, FI_VERSION(2, 0)))
		err = take_base(domain, attr->base_mr, req);
	if (!err && !req->base)
		err = mr_check_hmem(domain, attr, req);
	if (err)
		return err;
	if (!(req->flags & COMPAT_MR_DMABUF))
		return 0;
	req->given = (const struct compat_mr_dmabuf *)attr->mr_iov;
	err = mr_check_dmabuf(req->given, attr->iov_count, attr, domain->api);
	if (err)
		return err;
	*named = (struct iovec){ (void *)((uintptr_t)req->given->base_addr + req->given->offset), req->given->len };
	req->iov = named;
	return 0;
}

/* Reads no field that the program's API version does not define. iface and device belong to FI_HMEM and are ignored
 * without it (S138); sub_mr_cnt is a hint (S129). A region within another has the base's iface, device, hmem_data and
 * page_size; those given are ignored (S125). */
int emu_mr_regattr(struct fid *fid, const struct fi_mr_attr *given, uint64_t flags, struct fid_mr **mr)
{
	const struct compat_mr_attr *attr = (const struct compat_mr_attr *)given;
	struct emu_domain *domain = (struct emu_domain *)fid;
	struct mr_request req;
	struct iovec named;
	int err;

	if (!attr)
		return REFUSE(MR, -FI_EINVAL, "fi_mr_regattr: attr is NULL.");
	err = mr_check_flags(domain, flags); /* they tell how to read the rest */
	if (err)
		return err;
	req = (struct mr_request){
		.iov = attr->mr_iov,
		.count = attr->iov_count,
		.access = attr->access,
		.offset = attr->offset,
		.key = attr->requested_key,
		.flags = flags,
		.context = attr->context,
		.auth = domain->auth,
		.device = DEVICE_ANY,
	};
	err = mr_take_auth(domain, attr, &req);
	if (!err)
		err = take_newer(domain, attr, &req, &named);
	if (!err)
		err = mr_check_and_register(domain, &req, mr);
	if (err)
		free(req.auths);
	return err;
}
