/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_mr.c - registering memory, again, and no longer. */
#include "emu/verbs/regions/vb_mr.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/net/memory/dmabuf.h"
#include "emu/nic/base/errno.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/regions/mr_rules.h"
#include "emu/process/check/check_object.h"
#include "emu/process/report/report.h"
#include "emu/process/report/report_regions.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/start/vb_refuse.h"

/* Newer headers name it, and no device here has it. */
#define ACCESS_KNOWN                                                                                            \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | \
	 IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB)
#define ACCESS_NEED_LOCAL (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
#define ACCESS_WRITES (IBV_ACCESS_LOCAL_WRITE | ACCESS_NEED_LOCAL | IBV_ACCESS_MW_BIND)

/* Optional flags that no device knows are ignored, as IBV_ACCESS_RELAXED_ORDERING is: that is what makes them optional. */
static int reg_check_access(const char *call, int access)
{
	int wrong = access & ~(ACCESS_KNOWN | (int)IBV_ACCESS_OPTIONAL_RANGE);

	if (wrong) /* V14 */
		return vb_refuse(EINVAL, call, "access has the bits %#x, which this device does not know. Leave them out.",
				 (unsigned)wrong);
	if (access & ACCESS_NEED_LOCAL && !(access & IBV_ACCESS_LOCAL_WRITE)) /* V13 */
		return vb_refuse(EINVAL, call, "access has %s without IBV_ACCESS_LOCAL_WRITE. Add it.",
				 access & IBV_ACCESS_REMOTE_WRITE ? "IBV_ACCESS_REMOTE_WRITE" : "IBV_ACCESS_REMOTE_ATOMIC");
	if (access & IBV_ACCESS_HUGETLB && !(access & IBV_ACCESS_ON_DEMAND))
		return vb_refuse(EINVAL, call, "access has IBV_ACCESS_HUGETLB without IBV_ACCESS_ON_DEMAND, to which it belongs.");
	return 0;
}

uint32_t vb_mr_remote_rights(unsigned int access)
{
	return (access & IBV_ACCESS_REMOTE_READ ? MR_REMOTE_READ : 0) | (access & IBV_ACCESS_REMOTE_WRITE ? MR_REMOTE_WRITE : 0) |
	       (access & IBV_ACCESS_REMOTE_ATOMIC ? MR_REMOTE_ATOMIC : 0);
}

/* V15: it may be read from here in any case. */
static uint32_t region_rights(int access)
{
	return MR_SEND | MR_WRITE | (access & IBV_ACCESS_LOCAL_WRITE ? MR_RECV | MR_READ : 0) |
	       vb_mr_remote_rights((unsigned int)access);
}

/* (NULL, SIZE_MAX) with ON_DEMAND: all memory that there is, and will be. */
static bool is_implicit(const struct vb_mr_request *request)
{
	return !request->addr && request->length == SIZE_MAX && request->access & IBV_ACCESS_ON_DEMAND;
}

static atomic_uint count;   /* open */
static atomic_uint handles; /* given out so far */

static int reg_check_range(const struct vb_mr_request *request)
{
	const struct iovec here = { request->addr, request->length };
	const struct iovec there = { (void *)(uintptr_t)request->iova, request->length };

	if (mr_may_hold(&here, 1, 1, true) != MR_RULE_NONE) /* V17 */
		return vb_refuse(EINVAL, request->call, "%zu B at %p go past the end of the address space.", request->length,
				 request->addr);
	if (mr_may_hold(&there, 1, 1, true) == MR_RULE_NONE)
		return 0;
	return vb_refuse(EINVAL, request->call, "%zu B at iova %#llx go past 2^64.", request->length,
			 (unsigned long long)request->iova);
}

/* V135: of a new region; a change of rights leaves it where it is. */
static int check_iova(const struct vb_mr_request *request)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (request->access & IBV_ACCESS_ZERO_BASED || !(((uintptr_t)request->addr ^ request->iova) % page))
		return 0;
	return vb_refuse(EINVAL, request->call,
			 "iova %#llx is not as far behind the beginning of a page, of %llu B, as the address, %p.",
			 (unsigned long long)request->iova, (unsigned long long)page, request->addr);
}

/* V16: memory that is not there cannot be pinned, which a region without ON_DEMAND asks for. */
static int check_memory(const struct vb_mr_request *request)
{
	bool writes = request->access & ACCESS_WRITES;

	if (!request->length || request->access & IBV_ACCESS_ON_DEMAND || request->dmabuf ||
	    !guard_populate(request->addr, request->length, writes))
		return 0;
	return vb_refuse(EFAULT, request->call,
			 "%zu B at %p are not backed by memory that could be %s. Map them before, %s or register with "
			 "IBV_ACCESS_ON_DEMAND.",
			 request->length, request->addr, writes ? "written" : "read", writes ? "writable," : "");
}

/* For reports: the object may have several regions in turn. */
static const void *region_name(const struct vb_mr *mr)
{
	return (const void *)(uintptr_t)mr->ibv.lkey;
}

/* Of memory that belongs to the program, which is not to unmap it unless the region is ON_DEMAND. */
static struct check_record *note_opened(const struct vb_mr_request *request, uint64_t key)
{
	bool own = !request->dmabuf && !request->dm;

	return check_opened(&(struct check_what){
		.name = "region",
		.end = "ibv_dereg_mr",
		.at = request->addr,
		.length = request->length,
		.key = key,
		.written = own && request->length && request->access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC),
		.pinned = own && !(request->access & IBV_ACCESS_ON_DEMAND),
	});
}

/* Reports know the lkey as the local descriptor, for which a key may be mistaken. */
static void tell_opened(const struct vb_mr *mr)
{
	if (!report_on())
		return;
	report_region_opened(&(struct region_facts){ .object = region_name(mr),
						     .pd = atomic_load(&mr->pd->root->pd),
						     .key = mr->ibv.rkey,
						     .desc = mr->ibv.lkey,
						     .asked = mr->ibv.rkey,
						     .addr = mr->iova,
						     .length = mr->ibv.length,
						     .access = region_rights(mr->access),
						     .virtual_addr = true });
}

/* [role] Under the key that the region had before, if `old` is one; under another if that is in use in its new PD. */
static int region_enter(const struct vb_mr_request *request, struct pd *pd, const struct vb_mr *old, struct mr **region)
	REQUIRES(driver_role)
{
	const struct iovec iov = { (void *)(uintptr_t)request->iova, request->length };
	struct mr_attr attr = {
		.iov = &iov,
		.iov_count = 1,
		.access = region_rights(request->access),
		.provider_key = !old,
		.key = old ? old->ibv.rkey : 0,
		.key_bytes = VB_RKEY_BYTES,
		.virtual_addr = true,
		.shift = (uintptr_t)request->addr - request->iova,
		.windows = (request->access & (IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED)) == IBV_ACCESS_MW_BIND, /* V163 */
		.names = pd_windows(pd),
	};
	int err;

	if (old)
		pd_remove_region(atomic_load(&old->pd->root->pd), old->mr); /* V25, V26, V27 */
	err = mr_add(pd_regions(pd), &attr, region);                        /* V10, V23 */
	attr.provider_key = true;
	return err == -NIC_ENOKEY && old ? mr_add(pd_regions(pd), &attr, region) : err;
}

/* 0; or EBUSY, after a line of log. */
static int region_may_end(const struct vb_mr *mr, const char *call) REQUIRES(driver_role)
{
	if (mr_may_close(mr->mr, false) == MR_RULE_NONE)
		return 0;
	return vb_refuse(EBUSY, call, "%u memory windows are bound to it. Invalidate them, or deallocate them first.",
			 (unsigned int)mr->mr->subs); /* V171 */
}

/* The device's region, in the place of `old` if that is not NULL, which has ended whether this succeeds or not; unless nothing was
 * done, then *done is false. And the facts of it that only the role's holder may read. */
static int region_add(const struct vb_mr_request *request, const struct vb_mr *old, struct vb_mr *mr, const void **desc, bool *done)
{
	struct pd *pd = vb_pd_device(request->pd, request->call);
	struct nic *nic = atomic_load(&request->pd->root->context->nic);
	int err;

	*done = false;
	if (!pd)
		return errno;
	err = nic_fault_register(nic);
	if (err)
		return vb_refuse(-err, request->call, "%s, injected by the fault plan (FI_EMU_FAULT).", strerror(-err));
	err = vb_context_enter(request->pd->root->context, request->call);
	if (err)
		return err;
	nic_check_guard(nic);
	if (old)
		err = region_may_end(old, request->call);
	*done = !err;
	if (!err)
		err = region_enter(request, pd, old, &mr->mr);
	if (!err) {
		pd_added_region(pd, mr->mr);
		mr->ibv.rkey = (uint32_t)mr->mr->key;
		*desc = (const void *)(uintptr_t)mr->mr->desc;
	}
	vb_context_leave(request->pd->root->context);
	return err < 0 ? vb_refuse(ENOMEM, request->call, "no memory, or no key is left.") : err;
}

/* After it has returned 0 no byte of the region is touched. */
static int region_remove(struct vb_mr *mr, const char *call)
{
	int err = vb_context_enter(mr->pd->root->context, call);

	if (err)
		return err;
	err = region_may_end(mr, call);
	if (!err)
		pd_remove_region(atomic_load(&mr->pd->root->pd), mr->mr);
	vb_context_leave(mr->pd->root->context);
	return err;
}

static void mr_fill(struct vb_mr *mr, const struct vb_mr_request *request)
{
	mr->ibv.context = request->pd->ibv.context;
	mr->ibv.pd = &request->pd->ibv;
	mr->ibv.addr = request->addr; /* V18 */
	mr->ibv.length = request->length;
	mr->pd = request->pd;
	mr->dmabuf = request->dmabuf;
	mr->dm = request->dm;
	mr->iova = request->iova;
	mr->access = request->access;
}

static struct vb_key key_of(const struct vb_mr_request *request)
{
	return (struct vb_key){ .root = request->pd->root,
				.addr = request->iova,
				.length = request->length,
				.shift = (uintptr_t)request->addr - request->iova,
				.access = (region_rights(request->access) & (MR_SEND | MR_WRITE | MR_RECV | MR_READ)) |
					  (request->access & IBV_ACCESS_ON_DEMAND ? VB_KEY_ON_DEMAND : 0) };
}

static int mr_make(const struct vb_mr_request *request, struct vb_mr *mr)
{
	struct vb_key key = key_of(request);
	bool done;
	int err;

	mr_fill(mr, request);
	err = region_add(request, NULL, mr, &key.desc, &done);
	if (err)
		return err;
	err = vb_key_open(&key, mr->ibv.rkey, &mr->ibv.lkey);
	if (err) {
		region_remove(mr, request->call);
		return vb_refuse(err, request->call, "no memory, or 2^24 regions are registered in the process.");
	}
	mr->handle = mr->ibv.handle = atomic_fetch_add(&handles, 1) + 1;
	tell_opened(mr);
	mr->check = note_opened(request, mr->ibv.rkey);
	vb_pd_get(request->pd);
	if (mr->dm)
		vb_dm_get(mr->dm);
	return 0;
}

static int reg_check(const struct vb_mr_request *request)
{
	int err = vb_pd_check(&request->pd->ibv, request->call);

	if (!err)
		err = reg_check_access(request->call, request->access);
	if (!err && !is_implicit(request))
		err = reg_check_range(request);
	if (!err && !is_implicit(request))
		err = check_memory(request);
	return err;
}

struct ibv_mr *vb_mr_register(const struct vb_mr_request *request)
{
	struct vb_mr *mr;

	if (vb_fault("ibv_reg_mr", request->pd->ibv.context, 0) || reg_check(request) || check_iova(request) ||
	    vb_count_take(&count, VB_MAX_MR, request->call, "regions", "max_mr"))
		return NULL;
	mr = calloc(1, sizeof(*mr));
	if (mr && !mr_make(request, mr))
		return &mr->ibv;
	vb_count_give(&count);
	free(mr);
	return NULL;
}

/* All of it but the object's memory. In a fork's child, where the region is the parent's, nothing else is left to do. */
static int mr_unmake(struct vb_mr *mr)
{
	int err = 0;

	if (mr->mr && vb_context_usable(mr->pd->root->context))
		err = region_remove(mr, "ibv_dereg_mr");
	if (err)
		return err;
	vb_key_close(mr->ibv.lkey); /* V24 */
	report_region_closed(region_name(mr));
	check_closed(mr->check);
	dmabuf_unmap(mr->dmabuf);
	if (mr->dm)
		vb_dm_put(mr->dm);
	vb_pd_put(mr->pd);
	return 0;
}

int ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct vb_mr *mr = vb_mr_of(ibv);
	int err = ibv->handle == mr->handle ? mr_unmake(mr) : vb_refuse_handle("ibv_dereg_mr", ibv->handle, "region");

	if (err)
		return err;
	if (mr->handle)
		vb_count_give(&count);
	free(mr);
	return 0;
}

static struct ibv_mr *reg_at(const char *call, struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	return vb_mr_register(&(struct vb_mr_request){ .call = call,
						       .pd = vb_pd_of(pd),
						       .addr = addr,
						       .length = length,
						       .iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova, /* V21, V22 */
						       .access = (int)access });
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return reg_at("ibv_reg_mr", pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

#undef ibv_reg_mr_iova
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return reg_at("ibv_reg_mr_iova", pd, addr, length, iova, (unsigned int)access);
}

/* Of headers since v30, in the place of the two above where flags may be optional ones. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	return reg_at("ibv_reg_mr", pd, addr, length, iova, access);
}

/* A change of the object: both keys stay. What is refused before anything is done leaves the region as it was; what fails then
 * leaves none. The code for both is one. */
static int mr_exchange(struct vb_mr *mr, const struct vb_mr_request *request)
{
	struct vb_key key = key_of(request);
	struct vb_mr old = *mr;
	bool done;

	if (reg_check(request))
		return IBV_REREG_MR_ERR_CMD;
	if (region_add(request, &old, mr, &key.desc, &done)) {
		if (!done)
			return IBV_REREG_MR_ERR_CMD;
		mr->mr = NULL;
		key.length = 0;
		key.access = 0;
		vb_key_change(mr->ibv.lkey, &key);
		return IBV_REREG_MR_ERR_CMD;
	}
	mr_fill(mr, request);
	vb_key_change(mr->ibv.lkey, &key);
	report_region_closed(region_name(mr));
	tell_opened(mr);
	check_closed(mr->check);
	mr->check = note_opened(request, mr->ibv.rkey);
	vb_pd_get(request->pd);
	vb_pd_put(old.pd);
	return 0;
}

int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	const int known = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
	const char *call = "ibv_rereg_mr", *wrong = NULL;
	struct vb_mr *mr = vb_mr_of(ibv);
	struct vb_mr_request request = {
		.call = call,
		.pd = mr->pd,
		.addr = ibv->addr,
		.length = ibv->length,
		.iova = mr->iova,
		.access = mr->access,
	};

	if (ibv->handle != mr->handle) {
		vb_refuse_handle(call, ibv->handle, "region");
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (!flags || flags & ~known)
		wrong = "set one at least of IBV_REREG_MR_CHANGE_TRANSLATION, _PD and _ACCESS, and no other bit";
	else if (flags & IBV_REREG_MR_CHANGE_TRANSLATION && (!addr || !length))
		wrong = "IBV_REREG_MR_CHANGE_TRANSLATION needs an address and a length, and one of them is 0";
	else if (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		wrong = "access is given, and means something with IBV_REREG_MR_CHANGE_ACCESS alone. Set that, or give 0";
	else if (flags & IBV_REREG_MR_CHANGE_PD && (!pd || pd->context != ibv->context))
		wrong = "IBV_REREG_MR_CHANGE_PD needs a PD of the region's context, and pd is NULL or another's";
	else if (!mr->mr || mr->dmabuf || mr->dm)
		wrong = "a null region, one of a DMA-buf or of device memory, or one that a change has ended is not changed. "
			"Register another";
	if (wrong) { /* V28 */
		vb_refuse(EINVAL, call, "flags are %#x: %s.", (unsigned)flags, wrong);
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD)
		request.pd = vb_pd_of(pd);
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		request.access = access;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		request.addr = addr;
		request.length = length;
		request.iova = request.access & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr;
	}
	return mr_exchange(mr, &request);
}
