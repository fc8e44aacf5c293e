/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr.c - registration: argument checks and the way to the device's table. */
#include "emu/fi/fi_mr.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/fi_compat.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_prov.h"
#include "emu/fi/fi_stubs.h"
#include "emu/nic/guard.h"

struct emu_mr {
	struct fid_mr fid;
	struct emu_domain *domain;
	struct mr *mr;		/* device's; touched with the driver role only */
};

/* What all three calls say. */
struct request {
	const struct iovec *iov;
	size_t   count;
	uint64_t access, offset, key, flags;
	void    *context;
};

/* After this returned no byte of the region is touched (S175, S176). In a fork's child only the object goes. */
static int mr_close(struct fid *fid)
{
	struct emu_mr *mr = (struct emu_mr *)fid;
	struct emu_domain *domain = mr->domain;

	if (domain_usable(domain)) {
		if (!driver_enter(nic_driver(domain->nic)))
			return -FI_EAGAIN;
		pd_remove_region(domain->pd, mr->mr);
		driver_leave(nic_driver(domain->nic));
	}
	atomic_fetch_sub(&domain->users, 1);
	free(mr);
	return 0;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
	.bind = stub_bind,	/* S97 */
	.control = stub_control,
	.ops_open = stub_ops_open,
	.tostr = stub_tostr,
	.ops_set = stub_ops_set,
};

static int invalid(const char *what)
{
	EMU_WARN(MR, "registration: %s\n", what);
	return -FI_EINVAL;
}

static int check_segment(const struct emu_domain *domain, const struct iovec *segment, size_t *total)
{
	size_t room = SIZE_MAX - *total;

	/* S3: the page of 1.9 and later asks for a length. */
	if (!segment->iov_len && FI_VERSION_GE(domain->api, FI_VERSION(1, 9)))
		return invalid("length 0 (S3)");
	/* (NULL, SIZE_MAX) is the whole address space; only a range that wraps is refused. */
	if (segment->iov_len && segment->iov_len - 1 > SIZE_MAX - (uintptr_t)segment->iov_base)
		return invalid("the range goes past the end of the address space");
	if (segment->iov_len > room)
		return invalid("the segments together are longer than the address space");
	*total += segment->iov_len;
	return 0;
}

/* Flags first: they say how to read the rest. None is built: each belongs to a capability that is not granted (S5). */
static int check(const struct emu_domain *domain, const struct request *req)
{
	size_t total = 0;
	int    err = 0;

	if (req->flags) {
		EMU_WARN(MR, "registration: flags %#llx not supported (S5)\n", (unsigned long long)req->flags);
		return -FI_EBADFLAGS;
	}
	if (req->access & ~(uint64_t)MR_ACCESS_ALL)
		return invalid("access has bits that are none of the six rights (S22)");
	if (req->offset)
		return invalid("offset is reserved and must be 0 (S4)");
	if (!req->count || !req->iov)
		return invalid("no segments (S11)");
	if (req->count > domain->attr->mr_iov_limit)
		return invalid("more segments than mr_iov_limit (S10)");
	for (size_t i = 0; i < req->count && !err; i++)
		err = check_segment(domain, &req->iov[i], &total);
	return err;
}

/* FI_MR_ALLOCATED: what is registered could be pinned (S79). Without it nothing need be there (S17, S82). */
static int populate(const struct emu_domain *domain, const struct request *req)
{
	bool writable = req->access & (FI_RECV | FI_READ | FI_REMOTE_WRITE);

	if (!(domain->rules & FI_MR_ALLOCATED))
		return 0;
	for (size_t i = 0; i < req->count; i++) {
		const struct iovec *segment = &req->iov[i];

		if (segment->iov_len && guard_populate(segment->iov_base, segment->iov_len, writable)) {
			EMU_WARN(MR, "registration: %zu B at %p are not backed by memory that could be %s (S79, "
				 "FI_MR_ALLOCATED)\n", segment->iov_len, segment->iov_base,
				 writable ? "written" : "read");
			return -FI_EFAULT;
		}
	}
	return 0;
}

static int add(struct emu_mr *mr, const struct request *req)
{
	struct emu_domain *domain = mr->domain;
	struct mr_attr attr = {
		.iov = req->iov,
		.iov_count = req->count,
		.access = (uint32_t)req->access,
		.key = req->key,
		.provider_key = domain->rules & FI_MR_PROV_KEY, /* then the key asked is ignored (S37) */
		.key_bytes = (uint8_t)domain->attr->mr_key_size,
		.virtual_addr = domain->rules & FI_MR_VIRT_ADDR,
		.owner = mr,
	};
	int err;

	if (!driver_enter(nic_driver(domain->nic)))
		return -FI_EAGAIN;
	err = mr_add(pd_regions(domain->pd), &attr, &mr->mr);
	if (!err) {
		mr->fid.mem_desc = (void *)(uintptr_t)mr->mr->desc;
		mr->fid.key = mr->mr->key;
	}
	driver_leave(nic_driver(domain->nic));
	if (err == -FI_ENOKEY)
		EMU_WARN(MR, "registration: key %#llx is in use (S35)\n", (unsigned long long)req->key);
	else if (err == -FI_EKEYREJECTED)
		EMU_WARN(MR, "registration: key %#llx is not available (S36)\n", (unsigned long long)req->key);
	else if (err)
		EMU_WARN(MR, "registration: %s; a domain holds at most %d regions\n", fi_strerror(-err), LIMIT_REGIONS);
	return err;
}

static int mr_register(struct emu_domain *domain, const struct request *req, struct fid_mr **out)
{
	struct emu_mr *mr;
	int err;

	if (!domain_usable(domain))
		return -FI_ENODEV;
	if (!out)
		return -FI_EINVAL;
	err = check(domain, req);
	if (err)
		return err;
	guard_check();
	err = populate(domain, req);
	if (err)
		return err;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	mr->domain = domain;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = req->context;
	mr->fid.fid.ops = &mr_fid_ops;
	err = add(mr, req);
	if (err) {
		free(mr);
		return err;
	}
	atomic_fetch_add(&domain->users, 1);
	*out = &mr->fid;
	return 0;
}

int emu_mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset, uint64_t requested_key,
	       uint64_t flags, struct fid_mr **mr, void *context)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	return emu_mr_regv(fid, &iov, 1, access, offset, requested_key, flags, mr, context);
}

int emu_mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access, uint64_t offset,
		uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
{
	struct request req = {
		.iov = iov, .count = count, .access = access, .offset = offset, .key = requested_key, .flags = flags,
		.context = context,
	};

	return mr_register((struct emu_domain *)fid, &req, mr);
}

/* Reads no field that the program's API version does not define; iface, device and hmem_data belong to FI_HMEM and are
 * ignored without it (S138), page_size is a hint (S154). */
int emu_mr_regattr(struct fid *fid, const struct fi_mr_attr *given, uint64_t flags, struct fid_mr **mr)
{
	const struct compat_mr_attr *attr = (const struct compat_mr_attr *)given;
	struct emu_domain *domain = (struct emu_domain *)fid;
	struct request req;

	if (!attr)
		return -FI_EINVAL;
	if (FI_VERSION_GE(domain->api, FI_VERSION(1, 5)) && attr->auth_key_size)
		return invalid("auth_key_size is not the domain's, which is 0 (S159)");
	if (FI_VERSION_GE(domain->api, FI_VERSION(2, 0)) && attr->base_mr) {
		EMU_WARN(MR, "registration: regions within regions (base_mr) are not there yet\n");
		return -FI_ENOSYS;
	}
	req = (struct request){
		.iov = attr->mr_iov, .count = attr->iov_count, .access = attr->access, .offset = attr->offset,
		.key = attr->requested_key, .flags = flags, .context = attr->context,
	};
	return mr_register(domain, &req, mr);
}
