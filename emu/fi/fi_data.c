/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_data.c - the checks that the data transfer calls share. */
#include "emu/fi/fi_data.h"

#include <rdma/fi_errno.h>

#include "emu/fi/fi_compat.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_prov.h"

int data_check_ep(const struct emu_ep *ep, uint64_t group, uint64_t cap)
{
	if (!domain_usable(ep->domain))
		return -FI_ENODEV;
	if (!ep->dev)
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

/* S72: under FI_MR_LOCAL every buffer needs a valid descriptor. Without: ignored before API 1.22 (S74), from then on
 * valid or NULL (S75). */
static int check_desc(const struct emu_ep *ep, const struct iovec *iov, const void *desc, uint32_t right)
{
	const struct emu_domain *domain = ep->domain;
	bool required = domain->rules & FI_MR_LOCAL;
	int  err = -FI_EINVAL;

	if (!iov->iov_len)
		return 0;
	if (!required && (!desc || FI_VERSION_LT(domain->api, FI_VERSION(1, 22))))
		return 0;
	if (desc)
		err = mr_table_local_ok(pd_regions(domain->pd), desc, iov->iov_base, iov->iov_len,
					required ? right : 0);
	return err ? bad_desc(err, iov, desc, right) : 0;
}

static int check_sizes(const struct emu_ep *ep, const struct local_side *local, uint64_t flags, size_t *total)
{
	size_t sum = 0;

	if (local->count > local->limit)
		return invalid("more buffers than iov_limit");
	if (local->count && !local->iov)
		return invalid("no buffers");
	for (size_t i = 0; i < local->count; i++) {
		const struct iovec *iov = &local->iov[i];

		if (iov->iov_len && !iov->iov_base)
			return invalid("a buffer at address 0");
		if (iov->iov_len > ep->max_msg_size - sum) {
			EMU_WARN(EP_DATA, "the buffers together are longer than max_msg_size\n");
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
	int err = check_sizes(ep, local, flags, total);

	if (flags & FI_INJECT)
		return err;
	for (size_t i = 0; i < local->count && !err; i++)
		err = check_desc(ep, &local->iov[i], local->desc ? local->desc[i] : NULL, local->right);
	return err;
}

uint32_t data_post_flags(const struct emu_ep *ep, uint64_t flags)
{
	bool complete = !(flags & DATA_SILENT) && (!ep->tx_selective || flags & FI_COMPLETION);

	return (complete ? POST_COMPLETE : 0) | (flags & FI_INJECT ? POST_INJECT : 0) |
	       (flags & FI_FENCE ? POST_FENCE : 0) | (flags & FI_REMOTE_CQ_DATA ? POST_CQ_DATA : 0);
}
