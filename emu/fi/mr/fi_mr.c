/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr.c - the region object: registration, after fi_mr_attr.c has checked the call, and closing. */
#include "emu/fi/mr/fi_mr.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/provider/fi_watched.h"
#include "emu/fi/av/fi_av.h"
#include "emu/fi/personality/fi_attr.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_front_end.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/process/report/report.h"
#include "emu/process/report/report_regions.h"
#include "emu/net/memory/dmabuf.h"
#include "emu/net/memory/uring.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/regions/mr_pages.h"
#include "emu/nic/regions/mr_rules.h"

/* Frees the memory only. */
static void parts_free(struct mr_parts *parts)
{
	if (parts)
		free(parts->async);
	free(parts);
}

/* [role] May the region be closed? Changes nothing. */
static int close_check(const struct emu_mr *mr)
{
	const struct close_policy *close = mr->domain->close;

	switch (mr->mr ? mr_may_close(mr->mr, close->region_waits) : MR_RULE_NONE) {
	case MR_RULE_HAS_REGIONS:
		return REFUSE(MR, -FI_EBUSY, "fi_close: regions open within the region: %u. Close them first (S126).",
			      mr->mr->subs);
	case MR_RULE_REFRESHES:
		return REFUSE(MR, -FI_EBUSY, "fi_close: fi_mr_refresh is at work on the region. Wait for it first.");
	case MR_RULE_HAS_BINDINGS:
		return REFUSE(MR, -FI_EBUSY,
			      "fi_close: an endpoint or counter that the region is bound to is open (S180, S181, "
			      "FI_EMU_MR_CLOSE=%s). Close that first.",
			      close->name);
	default:
		return 0;
	}
}

/* The check and the removal are atomic: a region within it, or a refresh, begins before, or no longer finds the region. A job that
 * is registering it uses its segments until mr_async_close() returns; only then they are freed. */
static int mr_remove_checked(struct emu_mr *mr)
{
	struct driver *driver = nic_driver(mr->domain->nic);
	bool async = mr->parts && mr->parts->async;
	struct mr *gone = NULL;
	int err;

	if (!driver_enter(driver))
		return -FI_EAGAIN;
	err = close_check(mr);
	if (!err) {
		gone = mr->mr;
		mr->mr = NULL;
	}
	if (gone && !async)
		pd_remove_region(mr->domain->pd, gone);
	driver_leave(driver);
	if (err || !async)
		return err;
	mr_async_close(mr);
	driver_take(driver);
	if (gone)
		pd_remove_region(mr->domain->pd, gone);
	driver_leave(driver);
	return 0;
}

/* After it has returned no byte of the region is touched (S175, S176). In a fork's child it frees the object only. */
static int mr_close(struct fid *fid)
{
	struct emu_mr *mr = emu_mr(fid);
	struct emu_domain *domain = mr->domain;
	int err;

	if (domain_usable(domain)) {
		err = mr_remove_checked(mr);
		if (err)
			return err;
		report_region_closed(mr);
	}
	if (mr->parts && mr->parts->av)
		av_put(mr->parts->av->av);
	if (mr->parts) {
		uring_unpin(mr->parts->pin);
		dmabuf_unmap(mr->parts->dmabuf);
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
		return refuse_command("a region", command);
	}
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
	.bind = emu_mr_bind,
	.control = mr_control,
	STUB_FID_OPS,
};

bool mr_is_ours(const struct fid *fid)
{
	return fid->fclass == FI_CLASS_MR && (fid->ops == &mr_fid_ops || check_has_table(fid->ops));
}

/* Piece by piece, so that a close of the region meanwhile does not wait for gigabytes. */
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

/* Under FI_MR_ALLOCATED registered memory must be such that it could be pinned (S79). Else none has to be there (S17, S82). */
static int mr_populate(const struct emu_domain *domain, const struct mr_memory *memory)
{
	bool writable = mr_rights_write(status_rights(memory->access));
	int err = 0;

	if (!(domain->rules & FI_MR_ALLOCATED))
		return 0;
	for (size_t i = 0; i < memory->count && !err; i++) {
		const struct iovec *segment = &memory->iov[i];

		err = populate(segment, writable, memory->stop);
		if (err == -FI_EFAULT)
			REFUSE(MR, err,
			       "fi_mr_reg: %zu B at %p are not backed by memory that could be %s (S79, "
			       "FI_MR_ALLOCATED). Map the memory before it is registered%s.",
			       segment->iov_len, segment->iov_base, writable ? "written" : "read",
			       writable ? ", and writable where the access asks for it" : "");
	}
	return err;
}

int mr_back(const struct emu_domain *domain, const struct mr_memory *memory, struct mr_backing *backing)
{
	struct mr_memory bytes = *memory;
	struct iovec iov[LIMIT_IOV];
	int err;

	*backing = (struct mr_backing){ NULL, NULL };
	for (size_t i = 0; i < memory->count; i++)
		iov[i] = (struct iovec){ (char *)memory->iov[i].iov_base + memory->shift, memory->iov[i].iov_len };
	bytes.iov = iov;
	err = mr_populate(domain, &bytes);
	if (!err && !bytes.shift)
		err = mr_pages_now(domain, bytes.iov, bytes.count, &backing->pages);
	/* The program cannot change a mapping of the provider or of a device, so it is not pinned. A failed pin leaves nothing, and
	 * where memory is pinned there is no table of pages to give back (mr_pin_rules()). */
	if (!err && !bytes.shift && domain->pinned)
		err = mr_pin(bytes.iov, bytes.count, &backing->pin);
	return err;
}

void mr_unback(struct mr_backing *backing)
{
	mr_pages_close(backing->pages);
	uring_unpin(backing->pin);
	*backing = (struct mr_backing){ NULL, NULL };
}

/* Atomic stores, as a program may read while the worker thread writes (S174). A raw key does not fit (S43). */
void mr_publish(struct emu_mr *mr)
{
	uint64_t key = mr->mr->key_tail ? FI_KEY_NOTAVAIL : mr->mr->key;

	__atomic_store_n(&mr->fid.key, key, __ATOMIC_RELAXED);
	__atomic_store_n(&mr->fid.mem_desc, (void *)(uintptr_t)mr->mr->desc, __ATOMIC_RELEASE);
}

bool mr_complete(const struct fid_mr *mr)
{
	return __atomic_load_n(&mr->mem_desc, __ATOMIC_ACQUIRE);
}

/* `most`: regions of a domain. */
__attribute__((cold)) static int not_added(int err, const struct mr_request *req, size_t most)
{
	switch (err) {
	case -FI_ENOKEY:
		return REFUSE(MR, err,
			      "fi_mr_reg: key %#llx is in use (S35). Ask for another requested_key, or close the region "
			      "that has it.",
			      (unsigned long long)req->key);
	case -FI_EKEYREJECTED:
		return REFUSE(MR, err,
			      "fi_mr_reg: key %#llx is not available (S36). A key fits into mr_key_size bytes, and all "
			      "ones is none.",
			      (unsigned long long)req->key);
	case -FI_EINVAL:
		return REFUSE(MR, err, "fi_mr_regattr: not fully inside the region given as base_mr (S122).");
	default:
		return REFUSE(MR, err, "fi_mr_reg: %s. A domain holds at most %zu regions (mr_cnt).", fi_strerror(-err), most);
	}
}

/* [role] For reports. */
static void describe_region(const struct emu_mr *mr, const struct mr_request *req, struct region_facts *facts)
{
	if (!report_on())
		return;
	*facts = (struct region_facts){
		.object = mr,
		.pd = mr->domain->pd,
		.key = mr->mr->key,
		.desc = mr->mr->desc,
		.asked = req->key,
		.addr = (uintptr_t)req->iov[0].iov_base,
		.length = mr->mr->length,
		.access = mr->mr->access,
		.virtual_addr = mr->mr->virtual_addr,
	};
}

/* S35, S37 */
static bool draws_key(const struct emu_domain *domain, uint64_t access)
{
	return domain->rules & FI_MR_PROV_KEY || (domain->draws_local_keys && !(access & (FI_REMOTE_READ | FI_REMOTE_WRITE)));
}

/* The region owns the table of pages if this succeeds. */
static int mr_add_region(struct emu_mr *mr, const struct mr_request *req, const struct mr_backing *backing)
{
	struct emu_domain *domain = mr->domain;
	bool async = mr->parts && mr->parts->async;
	bool by_endpoint = domain->rules & FI_MR_ENDPOINT, events = req->flags & FI_RMA_EVENT;
	struct mr_attr attr = {
		.iov = req->iov,
		.iov_count = req->count,
		.access = status_rights(req->access),
		.key = req->key,
		.auth = req->auth,
		.auths = req->auths,
		.provider_key = draws_key(domain, req->access),
		.key_bytes = (uint8_t)domain->attr->mr_key_size,
		.regions_max = domain->attr->mr_cnt,
		.raw = domain->rules & FI_MR_RAW,
		.virtual_addr = domain->rules & FI_MR_VIRT_ADDR,
		.registering = async,
		.by_endpoint = by_endpoint,
		.events = events,
		.gated = by_endpoint || (events && (domain->rules & FI_MR_RMA_EVENT)), /* S92, S101 */
		.single_use = req->flags & COMPAT_MR_SINGLE_USE,
		.persistent = req->flags & FI_RMA_PMEM,
		.shift = req->shift,
		.pages = backing->pages,
		.pin = backing->pin,
		.context = req->context,
	};
	struct region_facts facts;
	int err;

	if (!driver_enter(nic_driver(domain->nic)))
		return -FI_EAGAIN;
	nic_check_guard(domain->nic);
	attr.base = req->base ? mr_find_local(pd_regions(domain->pd), req->base) : NULL;
	err = req->base && !attr.base ? -FI_EINVAL : 0; /* it has been closed */
	if (!err)
		err = mr_add(pd_regions(domain->pd), &attr, &mr->mr);
	if (!err)
		pd_added_region(domain->pd, mr->mr);
	if (!err && !async)
		mr_publish(mr);
	if (!err)
		describe_region(mr, req, &facts);
	driver_leave(nic_driver(domain->nic));
	if (!err)
		report_region_opened(&facts);
	return err ? not_added((int)status_of(err), req, domain->attr->mr_cnt) : 0;
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

/* An asynchronous registration fails as it does without a plan: by its event. */
static int injected(const struct emu_domain *domain)
{
	int err = nic_fault_register(domain->nic);

	return err ? REFUSE(MR, err, "fi_mr_reg: %s, injected by the fault plan (FI_EMU_FAULT).", fi_strerror(-err)) : 0;
}

int mr_register(struct emu_domain *domain, const struct mr_request *req, struct fid_mr **out)
{
	struct emu_eq *eq = domain_reg_eq(domain);
	struct mr_backing backing = { NULL, NULL };
	struct emu_mr *mr;
	int fault = injected(domain), err = eq ? 0 : fault;

	if (!err && !eq && !req->base)
		err = mr_back(domain, &(struct mr_memory){ req->iov, req->count, req->shift, req->access, NULL }, &backing);
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
		err = mr_add_region(mr, req, &backing);
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
