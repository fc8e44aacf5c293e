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

int data_refuse_ep(const struct emu_ep *ep, uint64_t caps)
{
	if (!domain_usable(ep->domain))
		return -FI_ENODEV;
	if (!ep->dev && !ep->rx_dev)
		return -FI_EOPBADSTATE;
	EMU_WARN(EP_DATA, "the endpoint was opened without the capability %#llx for this call\n", (unsigned long long)caps);
	return -FI_EOPNOTSUPP;
}

__attribute__((cold))
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

__attribute__((cold))
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

/* What is not known to be good: 0, or an errno after a line of log. Under FI_MR_LOCAL there must be a descriptor (S72). Without,
 * a registration cache registers the buffer, if there is one (S188); and a descriptor that is looked at is valid (S75). */
__attribute__((noinline, cold))
static int check_desc(const struct emu_domain *domain, const struct iovec *iov, const void *desc, uint32_t right)
{
	int err = -FI_EINVAL;

	if (desc)
		err = mr_table_local_ok(pd_regions(domain->pd), desc, iov->iov_base, iov->iov_len, right & domain->desc_rights);
	else if (!(domain->rules & FI_MR_LOCAL))
		return mr_cache_register(domain, iov, right & (MR_RECV | MR_READ));
	return err ? bad_desc(err, iov, desc, right) : 0;
}

/* Almost always it is known. The buffer is not empty. */
static inline bool good_desc(const struct emu_domain *domain, const struct iovec *iov, const void *desc, uint32_t right)
{
	if (!desc)
		return !domain->needs_descs;
	return mr_table_local_sure(pd_regions(domain->pd), desc, iov->iov_base, iov->iov_len, right & domain->desc_rights);
}

__attribute__((cold))
static ssize_t too_long(size_t most)
{
	EMU_WARN(EP_DATA, "the buffers together are longer than max_msg_size, %zu\n", most);
	return -FI_EMSGSIZE;
}

__attribute__((cold))
static ssize_t too_long_to_inject(size_t bytes, size_t most)
{
	EMU_WARN(EP_DATA, "%zu B to inject, inject_size is %zu\n", bytes, most);
	return -FI_EMSGSIZE;
}

/* One buffer that may be `left` bytes long: how long it is, or an errno. */
static inline ssize_t check_buffer(const struct emu_ep *ep, const struct iovec *iov, const void *desc, uint32_t right,
				   uint64_t flags, size_t left)
{
	bool may_stay_empty = right == MR_RECV && !(flags & (FI_CLAIM | FI_MULTI_RECV));
	int  err;

	if (!iov->iov_len)
		return 0;
	if (!iov->iov_base && !may_stay_empty)
		return invalid("a buffer at address 0");
	if (iov->iov_len > left)
		return too_long(right == MR_RECV ? ATTR_MAX_MSG_SIZE : ep->max_msg_size);
	if (flags & FI_INJECT || good_desc(ep->domain, iov, desc, right))
		return (ssize_t)iov->iov_len;
	err = check_desc(ep->domain, iov, desc, right);
	return err ? err : (ssize_t)iov->iov_len;
}

__attribute__((noinline))
static ssize_t check_vector(const struct emu_ep *ep, const struct iovec *iov, size_t count, void *const *desc, uint32_t right,
			    uint64_t flags)
{
	size_t most = right == MR_RECV ? ATTR_MAX_MSG_SIZE : ep->max_msg_size, left = most;

	if (count > (right == MR_RECV ? ep->rx_iov_limit : ep->tx_iov_limit))
		return invalid("more buffers than iov_limit");
	if (count && !iov)
		return invalid("no buffers");
	for (size_t i = 0; i < count; i++) {
		ssize_t length = check_buffer(ep, &iov[i], desc ? desc[i] : NULL, right, flags, left);

		if (length < 0)
			return length;
		left -= (size_t)length;
	}
	return (ssize_t)(most - left);
}

ssize_t data_check_local(const struct emu_ep *ep, const struct iovec *iov, size_t count, void *const *desc, uint32_t right,
			 uint64_t flags)
{
	/* A receive may have more room than any message needs. */
	size_t  most = right == MR_RECV ? ATTR_MAX_MSG_SIZE : ep->max_msg_size;
	ssize_t total;

	if (flags & FI_INJECT || !ep->domain->looks_at_descs)
		desc = NULL;
	if ((uintptr_t)desc & MR_DESC_MARK && count)
		return invalid("a descriptor in the place of an array of descriptors (S72, S75)");
	if (count == 1 && iov)
		total = check_buffer(ep, iov, desc ? *desc : NULL, right, flags, most);
	else
		total = check_vector(ep, iov, count, desc, right, flags);
	if (flags & FI_INJECT && total > (ssize_t)ep->inject_size)
		return too_long_to_inject((size_t)total, ep->inject_size);
	return total;
}

int data_find_when(const struct emu_ep *ep, uint64_t flags, void **context, struct when *when, const struct when **out)
{
	const struct fi_triggered_context *trigger = *context;
	const struct emu_cntr *cntr;

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
