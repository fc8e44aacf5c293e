/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_coll_buffer.c - may a collective touch this buffer? */
#include "emu/fi/coll/fi_coll_buffer.h"

#include <rdma/fi_errno.h>

#include "emu/fi/data/fi_desc.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/mr/fi_mr_cache.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/nic/regions/mr.h"
#include "emu/nic/regions/mr_table.h"

static const char *rights_name(const struct emu_domain *domain, uint32_t right)
{
	if (domain->rules & FI_MR_COLLECTIVE)
		return right == MR_SEND ? "FI_COLLECTIVE, or none FI_SEND" : "FI_COLLECTIVE, or none FI_RECV";
	return right == MR_SEND ? "FI_SEND" : "FI_RECV";
}

int coll_check_buffer(const struct emu_domain *domain, const char *call, const struct iovec *buffer, void **desc, uint32_t right)
{
	bool registered = domain->rules & FI_MR_COLLECTIVE;
	uint32_t rights = registered ? right | MR_COLLECTIVE : right & domain->desc_rights;

	if (!buffer->iov_len || !(registered || domain->looks_at_descs))
		*desc = NULL;
	if (!buffer->iov_len)
		return 0;
	if (!buffer->iov_base)
		return REFUSE(EP_DATA, -FI_EINVAL, "%s: a buffer of %zu B at address 0.", call, buffer->iov_len);
	if (!*desc && registered)
		return REFUSE(
			EP_DATA, -FI_EINVAL,
			"%s: local buffer %p, %zu B: descriptor missing (S185). Under FI_MR_COLLECTIVE register the buffer with "
			"FI_COLLECTIVE and pass fi_mr_desc() of its region.",
			call, buffer->iov_base, buffer->iov_len);
	if (!*desc && !(domain->rules & FI_MR_LOCAL))
		return domain->cache ? mr_cache_register(domain, buffer, right == MR_RECV) : 0;
	if (*desc && mr_table_local_ok(pd_regions(domain->pd), *desc, buffer->iov_base, buffer->iov_len, rights) == 0)
		return 0;
	return desc_refuse(domain, call, rights_name(domain, right), buffer, *desc, rights);
}
