/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_bind.c - binding and enabling a region (S91 to S105). */
#include <rdma/fi_errno.h>

#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/mr/fi_mr.h"
#include "emu/fi/provider/fi_words.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/queues/fi_queues.h"
#include "emu/nic/regions/mr_rules.h"

/* With the role. */
static int mr_bind_end(struct emu_mr *mr, struct binding_end *end)
{
	switch (mr_may_bind(mr->mr, end, mr->domain->rules & FI_MR_RMA_EVENT)) {
	case MR_RULE_NO_EVENTS:
		return REFUSE(MR, -FI_EINVAL,
			      "fi_mr_bind: under FI_MR_RMA_EVENT a region that is to be bound to a counter is "
			      "registered with the flag FI_RMA_EVENT (S91).");
	case MR_RULE_NOT_BY_ENDPOINT:
		return REFUSE(MR, -FI_EINVAL, "fi_mr_bind: without FI_MR_ENDPOINT in mr_mode regions belong to the domain.");
	case MR_RULE_ENABLED:
		return REFUSE(MR, -FI_EOPBADSTATE, "fi_mr_bind: the region is enabled already (S95).");
	case MR_RULE_BOUND:
		return REFUSE(MR, -FI_EINVAL, "fi_mr_bind: bound already.");
	default:
		if (binding_add(mr->mr, end))
			return REFUSE(MR, -FI_ENOMEM, "fi_mr_bind: no memory, or too many bindings of one region.");
		return 0;
	}
}

static int bind_counter(struct emu_mr *mr, struct emu_cntr *cntr, uint64_t flags)
{
	const struct emu_domain *domain = mr->domain;
	char names[FLAG_NAMES_MAX];

	if (!(domain->caps & FI_RMA_EVENT))
		return REFUSE(MR, -FI_ENOSYS, "fi_mr_bind: the domain was opened without FI_RMA_EVENT in info->caps (S97).");
	if (flags != FI_REMOTE_WRITE)
		return REFUSE(MR, -FI_EBADFLAGS,
			      "fi_mr_bind: a counter counts FI_REMOTE_WRITE only (S99), and the flags are %#llx (%s). Pass that "
			      "alone.",
			      (unsigned long long)flags, flag_names(flags, FI_TYPE_CAPS, names));
	if (cntr->domain != domain)
		return REFUSE(MR, -FI_EDOMAIN, "fi_mr_bind: the counter is of another domain.");
	return mr_bind_end(mr, &cntr->bindings);
}

static int bind_endpoint(struct emu_mr *mr, struct emu_ep *ep, uint64_t flags)
{
	char names[FLAG_NAMES_MAX];

	if (flags)
		return REFUSE(MR, -FI_EBADFLAGS, "fi_mr_bind: flags are 0 for an endpoint (S105), and not %#llx (%s).",
			      (unsigned long long)flags, flag_names(flags, FI_TYPE_CAPS, names));
	if (ep->domain != mr->domain)
		return REFUSE(MR, -FI_EDOMAIN, "fi_mr_bind: the endpoint is of another domain.");
	if (mr->parts && mr->parts->av && ep->av != mr->parts->av)
		return REFUSE(MR, -FI_EINVAL,
			      "fi_mr_bind: the av of the region's struct fi_mr_auth_key is not the one bound to "
			      "the endpoint (S163).");
	return mr_bind_end(mr, &ep->bindings);
}

/* A context of a scalable endpoint is a part of it, and peers reach regions by the whole (S104). Personalities that bind to
 * receive contexts let peers reach those regions by that context's address (fi_rx_addr()) alone. */
static int check_context(const struct emu_mr *mr, const struct emu_ep *context)
{
	if (!mr->domain->attr->binds_contexts)
		return REFUSE(MR, -FI_EINVAL,
			      "fi_mr_bind: to a receive context of a scalable endpoint; under FI_MR_ENDPOINT a "
			      "region is bound to the scalable endpoint itself (S102).");
	if (!context->dev)
		return REFUSE(MR, -FI_EOPBADSTATE, "fi_mr_bind: the receive context is not enabled. Call fi_enable on it first.");
	return 0;
}

static int mr_bind_check_object(const struct emu_mr *mr, const struct fid *bfid)
{
	switch (bfid ? bfid->fclass : FI_CLASS_UNSPEC) {
	case FI_CLASS_CNTR:
	case FI_CLASS_EP:
	case FI_CLASS_SEP:
		return 0;
	case FI_CLASS_TX_CTX:
		return REFUSE(MR, -FI_EINVAL,
			      "fi_mr_bind: to a transmit context of a scalable endpoint; under FI_MR_ENDPOINT a "
			      "region is bound to the scalable endpoint itself (S102). Programs over MPICH: set "
			      "MPIR_CVAR_CH4_OFI_ENABLE_SCALABLE_ENDPOINTS=0.");
	case FI_CLASS_RX_CTX:
		return check_context(mr, (const struct emu_ep *)bfid);
	default:
		return REFUSE(MR, -FI_EINVAL, "fi_mr_bind: neither an endpoint nor a counter.");
	}
}

int emu_mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct emu_mr *mr = emu_mr(fid);
	struct driver *driver = nic_driver(mr->domain->nic);
	int err = mr_bind_check_object(mr, bfid);

	if (err)
		return err;
	if (!domain_usable(mr->domain))
		return refuse_inherited("fi_mr_bind.");
	if (!driver_enter(driver))
		return -FI_EAGAIN;
	if (mr->mr && bfid->fclass == FI_CLASS_CNTR)
		err = bind_counter(mr, (struct emu_cntr *)bfid, flags);
	else if (mr->mr)
		err = bind_endpoint(mr, ((struct emu_ep *)bfid)->primary, flags);
	else
		err = REFUSE(MR, -FI_EOPBADSTATE, "fi_mr_bind: the registration of the region has failed. Close it.");
	driver_leave(driver);
	return err;
}

/* With the role. */
static int enable(struct emu_mr *mr)
{
	int err;

	switch (mr_may_enable(mr->mr)) {
	case MR_RULE_ENABLED:
		return REFUSE(MR, -FI_EOPBADSTATE, "fi_mr_enable: the region is enabled already (S94).");
	case MR_RULE_UNBOUND:
		return REFUSE(MR, -FI_EINVAL, "fi_mr_enable: under FI_MR_ENDPOINT a region is bound to an endpoint first (S102).");
	default:
		err = mr_retake_keys(mr);
		if (!err)
			mr->mr->enabled = true;
		return err;
	}
}

int mr_enable(struct emu_mr *mr)
{
	struct driver *driver = nic_driver(mr->domain->nic);
	int err;

	if (!domain_usable(mr->domain))
		return refuse_inherited("fi_mr_enable.");
	if (!driver_enter(driver))
		return -FI_EAGAIN;
	err = mr->mr ? enable(mr)
		     : REFUSE(MR, -FI_EOPBADSTATE,
			      "fi_mr_enable: the registration of the region has failed. Close "
			      "it.");
	driver_leave(driver);
	return err;
}
