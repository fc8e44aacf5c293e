/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_reach.c - local buffers in memory of devices: descriptors under FI_MR_HMEM, and where the bytes are. Memory of the host that a
 * device's interface has allocated is the program's as any other. */
#include "emu/fi/data/fi_data_impl.h"

#include <rdma/fi_errno.h>

#include "emu/fi/data/fi_data.h"
#include "emu/fi/mr/fi_mr_cache.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/nic/regions/mr.h"
#include "emu/nic/regions/mr_table.h"

bool reach_is_device(const struct emu_domain *domain, const struct iovec *iov)
{
	const struct emu_hmem_ops *hmem = domain_hmem(domain);
	struct emu_hmem_info info = { .device = 0 };

	return hmem && hmem->query(iov->iov_base, iov->iov_len, &info) != -FI_ENOENT && info.device != EMU_HMEM_HOST;
}

/* The descriptor of a buffer on a device: S134 to S137. `reached` is where the NIC touches it. */
static int check_device_desc(const struct emu_domain *domain, const struct iovec *iov, const void *desc, uint32_t right,
			     const struct emu_hmem_info *info, const struct iovec *reached)
{
	const char *name = domain_hmem(domain)->iface_name(info->iface);

	if (!desc && domain->rules & FI_MR_HMEM)
		return REFUSE(
			EP_DATA, -FI_EINVAL,
			"%s: local buffer %p, %zu B, is memory of %s:%d, and its descriptor is missing (S134). Under FI_MR_HMEM "
			"register it by fi_mr_regattr and pass fi_mr_desc() of its region.",
			data_calls_by(right), iov->iov_base, iov->iov_len, name, info->device);
	if (!desc)
		return domain->cache ? mr_cache_register_device(domain, reached, right & (MR_RECV | MR_READ), info->iface) : 0;
	if (domain->rules & FI_MR_HMEM && mr_table_local_ok(pd_regions(domain->pd), desc, iov->iov_base, iov->iov_len, right))
		return desc_refuse(domain, data_calls_by(right), data_right_name(right), iov, desc, right);
	return 0;
}

/* An injected buffer is taken wherever it is, but under FI_MR_HMEM the page wants it to be the host's: since 2.0 in calls that have
 * no descriptor, since 2.6 with the flag, too (S134). */
static int check_injected(const struct emu_ep *ep, const struct iovec *iov, uint32_t right, uint64_t flags)
{
	uint32_t since = flags & DATA_SILENT ? FI_VERSION(2, 0) : FI_VERSION(2, 6);

	if (!(ep->domain->rules & FI_MR_HMEM) || FI_VERSION_LT(ep->domain->api, since))
		return 0;
	return REFUSE(EP_DATA, -FI_EINVAL,
		      "%s: local buffer %p, %zu B, to inject is memory of a device. Under FI_MR_HMEM inject memory of the host, or "
		      "post it with a descriptor and without FI_INJECT (S134).",
		      data_calls_by(right), iov->iov_base, iov->iov_len);
}

__attribute__((cold)) static int refuse_overrun(const struct emu_hmem_ops *hmem, const struct iovec *iov, uint32_t right)
{
	char why[HMEM_WHY_SIZE];

	return REFUSE(EP_DATA, -FI_EFAULT, "%s: local buffer %p, %zu B: %s.", data_calls_by(right), iov->iov_base, iov->iov_len,
		      hmem_why(hmem, iov->iov_base, why));
}

int reach_devices(const struct emu_ep *ep, const struct iovec **iov, size_t count, void *const *desc, uint32_t right,
		  uint64_t flags, struct iovec *room)
{
	const struct emu_hmem_ops *hmem = domain_hmem(ep->domain);
	const struct iovec *from = *iov;

	if (!ep->domain->looks_at_descs)
		desc = NULL;
	for (size_t i = 0; i < count; i++) {
		struct emu_hmem_info info;
		struct iovec reached = from[i];
		int err = from[i].iov_len ? hmem->query(from[i].iov_base, from[i].iov_len, &info) : -FI_ENOENT;

		if (err == -FI_EFAULT)
			return refuse_overrun(hmem, &from[i], right);
		if (!err && info.device != EMU_HMEM_HOST) {
			reached.iov_base = info.reach;
			err = flags & FI_INJECT
				      ? check_injected(ep, &from[i], right, flags)
				      : check_device_desc(ep->domain, &from[i], desc ? desc[i] : NULL, right, &info, &reached);
			if (err)
				return err;
		}
		room[i] = reached;
	}
	*iov = room;
	return 0;
}
