/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_bind.c - what a region is bound to, and its enabling (S91 to S105). */
#include <rdma/fi_errno.h>

#include "emu/fi/fi_cntr.h"
#include "emu/fi/fi_ep.h"
#include "emu/fi/fi_mr.h"
#include "emu/fi/fi_prov.h"

static int refuse(int err, const char *why)
{
	EMU_WARN(MR, "%s\n", why);
	return err;
}

/* With the role. */
static int bind_to(struct mr *mr, struct bond_end *end)
{
	if (mr->gated && mr->enabled)
		return refuse(-FI_EOPBADSTATE, "fi_mr_bind: the region is enabled already (S95)");
	if (bond_there(mr, end))
		return refuse(-FI_EINVAL, "fi_mr_bind: bound already");
	if (bond_make(mr, end))
		return refuse(-FI_ENOMEM, "fi_mr_bind: no memory, or too many bindings of one region");
	return 0;
}

static int bind_counter(struct emu_mr *mr, struct emu_cntr *cntr, uint64_t flags)
{
	const struct emu_domain *domain = mr->domain;

	if (!(domain->caps & FI_RMA_EVENT))
		return refuse(-FI_ENOSYS, "fi_mr_bind: the domain was opened without FI_RMA_EVENT in info->caps (S97)");
	if (flags != FI_REMOTE_WRITE)
		return refuse(-FI_EBADFLAGS, "fi_mr_bind: FI_REMOTE_WRITE is what a counter can count (S99)");
	if (cntr->domain != domain)
		return refuse(-FI_EDOMAIN, "fi_mr_bind: the counter is of another domain");
	if ((domain->rules & FI_MR_RMA_EVENT) && !mr->mr->events)
		return refuse(-FI_EINVAL, "fi_mr_bind: under FI_MR_RMA_EVENT a region that is to be bound to a counter is "
			      "registered with the flag FI_RMA_EVENT (S91)");
	return bind_to(mr->mr, &cntr->bonds);
}

static int bind_endpoint(struct emu_mr *mr, struct emu_ep *ep, uint64_t flags)
{
	if (flags)
		return refuse(-FI_EBADFLAGS, "fi_mr_bind: flags are 0 for an endpoint (S105)");
	if (ep->domain != mr->domain)
		return refuse(-FI_EDOMAIN, "fi_mr_bind: the endpoint is of another domain");
	if (!mr->mr->by_endpoint)
		return refuse(-FI_EINVAL, "fi_mr_bind: without FI_MR_ENDPOINT in mr_mode regions belong to the domain");
	if (mr->parts && mr->parts->av && ep->av != mr->parts->av)
		return refuse(-FI_EINVAL, "fi_mr_bind: the av of the region's struct fi_mr_auth_key is not the one bound to the "
			      "endpoint (S163)");
	return bind_to(mr->mr, &ep->bonds);
}

int emu_mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct emu_mr *mr = emu_mr(fid);
	struct driver *driver = nic_driver(mr->domain->nic);
	int err = -FI_EOPBADSTATE;

	if (!bfid || (bfid->fclass != FI_CLASS_CNTR && bfid->fclass != FI_CLASS_EP && bfid->fclass != FI_CLASS_SEP))
		return refuse(-FI_EINVAL, "fi_mr_bind: neither an endpoint nor a counter");
	if (!domain_usable(mr->domain))
		return -FI_ENODEV;
	if (!driver_enter(driver))
		return -FI_EAGAIN;
	if (mr->mr && bfid->fclass == FI_CLASS_CNTR)
		err = bind_counter(mr, (struct emu_cntr *)bfid, flags);
	else if (mr->mr)
		err = bind_endpoint(mr, ((struct emu_ep *)bfid)->whole, flags);
	driver_leave(driver);
	return err;
}

/* With the role. */
static int enable(struct emu_mr *mr)
{
	int err;

	if (mr->mr->enabled)
		return refuse(-FI_EOPBADSTATE, "fi_mr_enable: the region is enabled already (S94)");
	if (mr->mr->by_endpoint && !bond_to_endpoint(mr->mr))
		return refuse(-FI_EINVAL, "fi_mr_enable: under FI_MR_ENDPOINT a region is bound to an endpoint first (S102)");
	err = mr_retake_keys(mr);
	if (!err)
		mr->mr->enabled = true;
	return err;
}

int mr_enable(struct emu_mr *mr)
{
	struct driver *driver = nic_driver(mr->domain->nic);
	int err;

	if (!domain_usable(mr->domain))
		return -FI_ENODEV;
	if (!driver_enter(driver))
		return -FI_EAGAIN;
	err = mr->mr ? enable(mr) : -FI_EOPBADSTATE;
	driver_leave(driver);
	return err;
}
