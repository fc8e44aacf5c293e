/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_data.c - the checks that the data transfer calls share. */
#include "emu/fi/fi_data.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_trigger.h>

#include "emu/fi/fi_cntr.h"
#include "emu/fi/fi_compat.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_mr_cache.h"
#include "emu/fi/fi_prov.h"

int data_check_ep(const struct emu_ep *ep, uint64_t group, uint64_t cap)
{
	if (!domain_usable(ep->domain))
		return -FI_ENODEV;
	if (!ep->dev && !ep->rx_dev)
		return -FI_EOPBADSTATE;
	if ((ep->caps & group) && (ep->caps & cap))
		return 0;
	EMU_WARN(EP_DATA, "the endpoint was opened without the capability %#llx for this call\n",
		 (unsigned long long)(group | cap));
	return -FI_EOPNOTSUPP;
}

static int invalid(const char *what)
{
	EMU_WARN(EP_DATA, "bad argument: %s\n", what);
	return -FI_EINVAL;
}

static const char *right_name(uint32_t right)
{
	switch (right) {
	case MR_SEND:
		return "FI_SEND";
	case MR_RECV:
		return "FI_RECV";
	case MR_READ:
		return "FI_READ";
	default:
		return "FI_WRITE";
	}
}

static int bad_desc(int err, const struct iovec *iov, const void *desc, uint32_t right)
{
	if (err == -FI_EACCES) /* a region that is there is told apart in words only: S72 names one error */
		EMU_WARN(EP_DATA, "local buffer %p, %zu B: its descriptor's region has no right %s (S23-S26)\n",
			 iov->iov_base, iov->iov_len, right_name(right));
	else
		EMU_WARN(EP_DATA, "local buffer %p, %zu B: descriptor %p is %s (%s)\n", iov->iov_base, iov->iov_len,
			 desc, desc ? "none of an open region that holds all of it" : "missing",
			 desc ? "S72, S75" : "S72");
	return -FI_EINVAL;
}

/* S74: without FI_MR_LOCAL, and before API 1.22, descriptors are ignored, and so is where they are said to stand. */
static bool looks_at_descs(const struct emu_domain *domain)
{
	return domain->rules & FI_MR_LOCAL || !FI_VERSION_LT(domain->api, FI_VERSION(1, 22));
}

/* S72: under FI_MR_LOCAL every buffer needs a valid descriptor. Without: one that is looked at is valid or NULL (S75); then a
 * registration cache registers the buffer, if there is one (S188). */
static int check_desc(const struct emu_ep *ep, const struct iovec *iov, const void *desc, uint32_t right)
{
	const struct emu_domain *domain = ep->domain;
	bool required = domain->rules & FI_MR_LOCAL;
	int  err = -FI_EINVAL;

	if (!iov->iov_len)
		return 0;
	if (!required && !desc)
		return domain->cache ? mr_cache_register(domain, iov, right & (MR_RECV | MR_READ)) : 0;
	if (desc)
		err = mr_table_local_ok(pd_regions(domain->pd), desc, iov->iov_base, iov->iov_len,
					required ? right : 0);
	return err ? bad_desc(err, iov, desc, right) : 0;
}

static int check_sizes(const struct emu_ep *ep, const struct local_side *local, uint64_t flags, size_t *total)
{
	bool   may_stay_empty = local->right == MR_RECV && !(flags & (FI_CLAIM | FI_MULTI_RECV));
	/* A receive may have more room than any message needs. */
	size_t sum = 0, most = local->right == MR_RECV ? ATTR_MAX_MSG_SIZE : ep->max_msg_size;

	if (local->count > local->limit)
		return invalid("more buffers than iov_limit");
	if (local->count && !local->iov)
		return invalid("no buffers");
	for (size_t i = 0; i < local->count; i++) {
		const struct iovec *iov = &local->iov[i];

		if (iov->iov_len && !iov->iov_base && !may_stay_empty)
			return invalid("a buffer at address 0");
		if (iov->iov_len > most - sum) {
			EMU_WARN(EP_DATA, "the buffers together are longer than max_msg_size, %zu\n", most);
			return -FI_EMSGSIZE;
		}
		sum += iov->iov_len;
	}
	if (flags & FI_INJECT && sum > ep->inject_size) {
		EMU_WARN(EP_DATA, "%zu B to inject, inject_size is %zu\n", sum, ep->inject_size);
		return -FI_EMSGSIZE;
	}
	*total = sum;
	return 0;
}

int data_check_local(const struct emu_ep *ep, const struct local_side *local, uint64_t flags, size_t *total)
{
	void *const *desc = looks_at_descs(ep->domain) ? local->desc : NULL;
	int err = check_sizes(ep, local, flags, total);

	if (flags & FI_INJECT)
		return err;
	if (!err && local->count && (uintptr_t)desc & MR_DESC_MARK)
		return invalid("a descriptor in the place of an array of descriptors (S72, S75)");
	for (size_t i = 0; i < local->count && !err; i++)
		err = check_desc(ep, &local->iov[i], desc ? desc[i] : NULL, local->right);
	return err;
}

int data_when(const struct emu_ep *ep, uint64_t flags, void **context, struct when *when, const struct when **out)
{
	const struct fi_triggered_context *trigger = *context;
	const struct emu_cntr *cntr;

	*out = NULL;
	if (flags & DATA_WORK) {
		const struct work_call *call = *context;

		*when = call->when;
		*context = call->context;
		*out = when;
		return 0;
	}
	if (flags & DATA_SILENT) /* there is no context to say when */
		return ep->tx_flags & FI_TRIGGER ? -FI_ENOSYS : 0;
	if (!(flags & FI_TRIGGER))
		return 0;
	if (!trigger)
		return invalid("FI_TRIGGER without a struct fi_triggered_context");
	if (trigger->event_type != FI_TRIGGER_THRESHOLD)
		return -FI_ENOSYS;
	cntr = (const struct emu_cntr *)trigger->trigger.threshold.cntr;
	if (!cntr || cntr->fid.fid.fclass != FI_CLASS_CNTR)
		return invalid("FI_TRIGGER without a counter");
	if (cntr->domain != ep->domain)
		return -FI_EDOMAIN;
	*when = (struct when){ .cntr = cntr->cntr, .threshold = trigger->trigger.threshold.threshold };
	*out = when;
	return 0;
}

uint32_t data_post_flags(const struct emu_ep *ep, uint64_t flags)
{
	bool complete = !(flags & DATA_SILENT) && (!ep->tx_selective || flags & FI_COMPLETION);

	if (flags & DATA_WORK)
		complete = flags & FI_COMPLETION;
	return (flags & DATA_WORK ? POST_WORK : 0) | (complete ? POST_COMPLETE : 0) | (flags & FI_INJECT ? POST_INJECT : 0) |
	       (flags & FI_FENCE ? POST_FENCE : 0) | (flags & FI_REMOTE_CQ_DATA ? POST_CQ_DATA : 0);
}
