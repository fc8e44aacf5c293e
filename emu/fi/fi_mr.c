/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr.c - the region object: registration of what fi_mr_attr.c has checked, and its end. */
#include "emu/fi/fi_mr.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/fi_av.h"
#include "emu/fi/fi_close_policy.h"
#include "emu/fi/fi_compat.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_mr_dmabuf.h"
#include "emu/fi/fi_mr_pin.h"
#include "emu/fi/fi_mr_raw.h"
#include "emu/fi/fi_mr_refresh.h"
#include "emu/fi/fi_prov.h"
#include "emu/fi/fi_stubs.h"
#include "emu/net/uring.h"
#include "emu/nic/av.h"
#include "emu/nic/guard.h"
#include "emu/nic/mr_pages.h"

/* The memory alone. */
static void parts_free(struct mr_parts *parts)
{
	if (parts)
		free(parts->async);
	free(parts);
}

/* May it go? Changes nothing. */
static int close_check(const struct emu_mr *mr)
{
	const struct emu_domain *domain = mr->domain;
	int err = 0;

	if (!driver_enter(nic_driver(domain->nic)))
		return -FI_EAGAIN;
	if (mr->mr && mr->mr->subs) {
		EMU_WARN(MR, "a region does not close while %u regions within it are open (S126)\n", mr->mr->subs);
		err = -FI_EBUSY;
	} else if (mr->mr && mr->mr->refreshes) {
		EMU_WARN(MR, "a region does not close while fi_mr_refresh is at work on it\n");
		err = -FI_EBUSY;
	} else if (mr->mr && mr->mr->bonds && domain->close->region_waits) {
		EMU_WARN(MR, "a region does not close while an endpoint or counter that it is bound to is open "
			 "(S180, S181, FI_EMU_MR_CLOSE=%s)\n", domain->close->name);
		err = -FI_EBUSY;
	}
	driver_leave(nic_driver(domain->nic));
	return err;
}

/* After this returned no byte of the region is touched (S175, S176). In a fork's child only the object goes. */
static int mr_close(struct fid *fid)
{
	struct emu_mr *mr = emu_mr(fid);
	struct emu_domain *domain = mr->domain;
	int err;

	if (domain_usable(domain)) {
		err = close_check(mr);
		if (err)
			return err;
		if (mr->parts && mr->parts->async)
			mr_async_close(mr);
		driver_enter(nic_driver(domain->nic));
		if (mr->mr)
			pd_remove_region(domain->pd, mr->mr);
		driver_leave(nic_driver(domain->nic));
	}
	if (mr->parts && mr->parts->av)
		av_put(mr->parts->av->av);
	if (mr->parts) {
		uring_unpin(mr->parts->pin);
		mr_dmabuf_close(mr->parts->dmabuf);
	}
	parts_free(mr->parts);
	atomic_fetch_sub(&domain->users, 1);
	free(mr);
	return 0;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
	switch (command) {
	case FI_GET_RAW_MR:
		return mr_raw_attr(emu_mr(fid), arg);
	case FI_REFRESH:
		return mr_refresh(emu_mr(fid), arg);
	case FI_ENABLE:
		return mr_enable(emu_mr(fid));
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
	.bind = emu_mr_bind,
	.control = mr_control,
	.ops_open = stub_ops_open,
	.tostr = stub_tostr,
	.ops_set = stub_ops_set,
};

/* Piece by piece, so that who closes the region meanwhile does not wait for gigabytes. */
static int populate(const struct iovec *segment, bool writable, const atomic_bool *stop)
{
	size_t done = 0, piece;

	for (; done < segment->iov_len; done += piece) {
		piece = segment->iov_len - done < SLICE_POPULATE ? segment->iov_len - done : SLICE_POPULATE;
		if (stop && atomic_load_explicit(stop, memory_order_relaxed))
			return -FI_ECANCELED;
		if (guard_populate((char *)segment->iov_base + done, piece, writable))
			return -FI_EFAULT;
	}
	return 0;
}

/* FI_MR_ALLOCATED: what is registered could be pinned (S79). Without it nothing need be there (S17, S82). */
static int mr_populate(const struct emu_domain *domain, const struct mr_memory *memory)
{
	bool writable = memory->access & (FI_RECV | FI_READ | FI_REMOTE_WRITE);
	int err = 0;

	if (!(domain->rules & FI_MR_ALLOCATED))
		return 0;
	for (size_t i = 0; i < memory->count && !err; i++) {
		const struct iovec *segment = &memory->iov[i];

		err = populate(segment, writable, memory->stop);
		if (err == -FI_EFAULT)
			EMU_WARN(MR, "registration: %zu B at %p are not backed by memory that could be %s (S79, "
				 "FI_MR_ALLOCATED)\n", segment->iov_len, segment->iov_base,
				 writable ? "written" : "read");
	}
	return err;
}

int mr_back(const struct emu_domain *domain, const struct mr_memory *memory, struct mr_backing *backing)
{
	struct mr_memory bytes = *memory;
	int err;

	*backing = (struct mr_backing){ NULL, NULL };
	if (bytes.dmabuf) {
		bytes.iov = &bytes.dmabuf->bytes;
		bytes.count = 1;
	}
	err = mr_populate(domain, &bytes);
	if (!err && !bytes.dmabuf)
		err = mr_pages_now(domain, bytes.iov, bytes.count, &backing->pages);
	/* A mapping of the provider's is changed by nobody. What fails leaves nothing, and where memory is pinned there is no
	 * table of pages to give back (mr_pin_rules()). */
	if (!err && !bytes.dmabuf && domain->pinned)
		err = mr_pin(bytes.iov, bytes.count, &backing->pin);
	return err;
}

void mr_unback(struct mr_backing *backing)
{
	mr_pages_close(backing->pages);
	uring_unpin(backing->pin);
	*backing = (struct mr_backing){ NULL, NULL };
}

/* Atomic stores, as a program may look while the worker thread is at it (S174). A raw key does not fit (S43). */
void mr_publish(struct emu_mr *mr)
{
	uint64_t key = mr->mr->key_tail ? FI_KEY_NOTAVAIL : mr->mr->key;

	__atomic_store_n(&mr->fid.key, key, __ATOMIC_RELAXED);
	__atomic_store_n(&mr->fid.mem_desc, (void *)(uintptr_t)mr->mr->desc, __ATOMIC_RELEASE);
}

bool mr_complete(const struct emu_mr *mr)
{
	return __atomic_load_n(&mr->fid.mem_desc, __ATOMIC_ACQUIRE);
}

/* S122, with the role. */
static bool within(const struct mr *base, const struct mr_request *req)
{
	for (size_t i = 0; i < req->count; i++)
		if (!mr_covers(base, (uintptr_t)req->iov[i].iov_base, req->iov[i].iov_len))
			return false;
	return true;
}

/* The table of pages is the region's if this succeeds. */
static int add(struct emu_mr *mr, const struct mr_request *req, const struct mr_backing *backing)
{
	struct emu_domain *domain = mr->domain;
	bool async = mr->parts && mr->parts->async;
	bool by_endpoint = domain->rules & FI_MR_ENDPOINT, events = req->flags & FI_RMA_EVENT;
	struct mr_attr attr = {
		.iov = req->iov,
		.iov_count = req->count,
		.access = (uint32_t)req->access,
		.key = req->key,
		.auth = req->auth,
		.auths = req->auths,
		.provider_key = domain->rules & FI_MR_PROV_KEY, /* then the key asked is ignored (S37) */
		.key_bytes = (uint8_t)domain->attr->mr_key_size,
		.raw = domain->rules & FI_MR_RAW,
		.virtual_addr = domain->rules & FI_MR_VIRT_ADDR,
		.registering = async,
		.by_endpoint = by_endpoint,
		.events = events,
		.gated = by_endpoint || (events && (domain->rules & FI_MR_RMA_EVENT)), /* S92, S101 */
		.single_use = req->flags & COMPAT_MR_SINGLE_USE,
		.base = req->base ? req->base->mr : NULL,
		.persistent = req->flags & FI_RMA_PMEM,
		.shift = req->dmabuf ? (uintptr_t)req->dmabuf->bytes.iov_base - (uintptr_t)req->iov->iov_base : 0,
		.pages = backing->pages,
		.pin = backing->pin,
	};
	int err;

	if (!driver_enter(nic_driver(domain->nic)))
		return -FI_EAGAIN;
	nic_check_guard(domain->nic);
	err = attr.base && !within(attr.base, req) ? -FI_EINVAL : mr_add(pd_regions(domain->pd), &attr, &mr->mr);
	if (!err && !async)
		mr_publish(mr);
	driver_leave(nic_driver(domain->nic));
	if (err == -FI_ENOKEY)
		EMU_WARN(MR, "registration: key %#llx is in use (S35)\n", (unsigned long long)req->key);
	else if (err == -FI_EKEYREJECTED)
		EMU_WARN(MR, "registration: key %#llx is not available (S36)\n", (unsigned long long)req->key);
	else if (err == -FI_EINVAL)
		EMU_WARN(MR, "registration: not fully inside the region given as base_mr (S122)\n");
	else if (err)
		EMU_WARN(MR, "registration: %s; a domain holds at most %d regions\n", fi_strerror(-err), LIMIT_REGIONS);
	return err;
}

/* Takes no reference yet. */
static int parts_open(struct emu_mr *mr, const struct mr_request *req, struct emu_eq *eq, struct pin *pin)
{
	if (!eq && !req->av && !req->dmabuf && !pin)
		return 0;
	mr->parts = calloc(1, sizeof(*mr->parts));
	if (!mr->parts)
		return -FI_ENOMEM;
	mr->parts->av = req->av;
	mr->parts->all_keys = req->all_keys;
	mr->parts->dmabuf = req->dmabuf;
	mr->parts->pin = pin;
	return eq ? mr_async_open(mr, eq) : 0;
}

/* An asynchronous one fails as it does without a plan: by its event. */
static int injected(const struct emu_domain *domain)
{
	int err = nic_fault_register(domain->nic);

	if (err)
		EMU_WARN(MR, "registration: %s, injected by the fault plan (FI_EMU_FAULT)\n", fi_strerror(-err));
	return err;
}

int mr_register(struct emu_domain *domain, const struct mr_request *req, struct fid_mr **out)
{
	struct emu_eq *eq = domain_reg_eq(domain);
	struct mr_backing backing = { NULL, NULL };
	struct emu_mr *mr;
	int fault = injected(domain), err = eq ? 0 : fault;

	if (!err && !eq && !req->base)
		err = mr_back(domain, &(struct mr_memory){ req->iov, req->count, req->dmabuf, req->access, NULL }, &backing);
	if (err)
		return err;
	mr = calloc(1, sizeof(*mr));
	if (!mr) {
		mr_unback(&backing);
		return -FI_ENOMEM;
	}
	mr->domain = domain;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = req->context;
	mr->fid.fid.ops = &mr_fid_ops;
	mr->fid.key = FI_KEY_NOTAVAIL;
	err = parts_open(mr, req, eq, backing.pin);
	if (!err)
		err = add(mr, req, &backing);
	if (err) {
		mr_unback(&backing);
		parts_free(mr->parts);
		free(mr);
		return err;
	}
	if (req->av)
		av_get(req->av->av);
	atomic_fetch_add(&domain->users, 1);
	*out = &mr->fid;
	if (eq)
		mr_async_begin(mr, req, fault);
	return 0;
}
