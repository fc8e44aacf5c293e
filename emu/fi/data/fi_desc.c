/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_desc.c - the words for a bad descriptor of a local buffer, which check_desc() in fi_data.c has found. */
#include "emu/fi/data/fi_data.h"

#include <rdma/fi_errno.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/mr/fi_mr.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_registry.h"
#include "emu/nic/memory/guard.h"

/* The kernel reads it, as the program may have given any `at`. */
static bool is_region_object(const void *at)
{
	struct emu_mr mr;

	return kernel_copy(&mr, at, sizeof(mr)) == KERNEL_COPIED && mr_is_ours(&mr.fid.fid);
}

static bool names_region(const struct fid *fid, const void *desc)
{
	struct mr_local region;

	return mr_table_local_why(pd_regions(((const struct emu_domain *)fid)->pd), desc, NULL, 0, 0, &region) == MR_LOCAL_OK;
}

/* For a descriptor of no region of this domain, open or closed. */
static const char *strange(const void *desc)
{
	if (is_region_object(desc))
		return "is the struct fid_mr itself. Pass fi_mr_desc() of it";
	if (!((uintptr_t)desc & MR_DESC_MARK))
		return "is an address or a number, and no descriptor. Pass fi_mr_desc() of the buffer's region";
	if (registry_any(FI_CLASS_DOMAIN, names_region, desc))
		return "names a region of another domain. Register the buffer in the domain of the endpoint";
	return "was given by no open domain. Pass fi_mr_desc() of the buffer's region";
}

static int out_of_region(const char *call, const struct iovec *buffer, const void *desc, const struct mr_local *region)
{
	uint64_t at = (uintptr_t)buffer->iov_base, end = region->base + region->length;

	if (at >= region->base && at < end)
		return REFUSE(EP_DATA, -FI_EINVAL,
			      "%s: local buffer %p, %zu B: runs %llu B past the end of the region of "
			      "descriptor %p, %llu B at 0x%llx (S75). Register all of the buffer, or post less of it.",
			      call, buffer->iov_base, buffer->iov_len, (unsigned long long)(buffer->iov_len - (end - at)), desc,
			      (unsigned long long)region->length, (unsigned long long)region->base);
	return REFUSE(EP_DATA, -FI_EINVAL,
		      "%s: local buffer %p, %zu B: descriptor %p is that of another region, %llu B at "
		      "0x%llx (S75). Pass fi_mr_desc() of the buffer's own region.",
		      call, buffer->iov_base, buffer->iov_len, desc, (unsigned long long)region->length,
		      (unsigned long long)region->base);
}

int desc_refuse(const struct emu_domain *domain, const char *call, const char *right, const struct iovec *buffer, const void *desc,
		uint32_t access)
{
	struct mr_local region;

	if (!desc)
		return REFUSE(EP_DATA, -FI_EINVAL,
			      "%s: local buffer %p, %zu B: descriptor missing (S72). Under FI_MR_LOCAL "
			      "register the buffer and pass fi_mr_desc() of its region.",
			      call, buffer->iov_base, buffer->iov_len);
	switch (mr_table_local_why(pd_regions(domain->pd), desc, buffer->iov_base, buffer->iov_len, access, &region)) {
	case MR_LOCAL_RIGHT:
		return REFUSE(EP_DATA, -FI_EINVAL,
			      "%s: local buffer %p, %zu B: the region of its descriptor has no right %s "
			      "(S23-S26). Add it to the access given to fi_mr_reg.",
			      call, buffer->iov_base, buffer->iov_len, right);
	case MR_LOCAL_OUTSIDE:
		return out_of_region(call, buffer, desc, &region);
	case MR_LOCAL_CLOSED:
		return REFUSE(EP_DATA, -FI_EINVAL,
			      "%s: local buffer %p, %zu B: the region of descriptor %p has been closed by "
			      "fi_close (S75). Keep a region open until its last post.",
			      call, buffer->iov_base, buffer->iov_len, desc);
	default:
		return REFUSE(EP_DATA, -FI_EINVAL, "%s: local buffer %p, %zu B: descriptor %p %s (S72, S75).", call,
			      buffer->iov_base, buffer->iov_len, desc, strange(desc));
	}
}
