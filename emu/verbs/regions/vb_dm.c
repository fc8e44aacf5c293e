/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_dm.c - device memory: memory of the process, which programs reach by copies and by regions alone. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "emu/process/check/check_object.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/regions/vb_mr.h"
#include "emu/verbs/start/vb_refuse.h"

enum { LOG_ALIGN_LEAST = 6, LOG_ALIGN_MOST = 12, COPY_ALIGN = 4 };

struct vb_dm {
	struct ibv_dm ibv;
	char *bytes;
	size_t length;
	atomic_uint users; /* regions */
	struct check_record *check;
};

static atomic_size_t taken; /* of the device's */

static bool dm_holds(const struct vb_dm *dm, uint64_t offset, size_t length)
{
	return offset <= dm->length && length <= dm->length - offset;
}

static int dm_refuse(const char *call, const struct vb_dm *dm, int errnum, uint64_t offset, size_t length)
{
	return vb_refuse(errnum, call, "%zu B from offset %llu on go past the end of device memory of %zu B.", length,
			 (unsigned long long)offset, dm->length);
}

/* Hardware copies whole words. */
static int dm_check(const char *call, const struct vb_dm *dm, uint64_t offset, size_t length)
{
	if (!dm_holds(dm, offset, length))
		return dm_refuse(call, dm, EFAULT, offset, length);
	if (offset % COPY_ALIGN || length % COPY_ALIGN)
		return vb_refuse(EINVAL, call, "%zu B from offset %llu on: both must be multiples of %d.", length,
				 (unsigned long long)offset, COPY_ALIGN);
	return 0;
}

static int copy_to(struct ibv_dm *ibv, uint64_t offset, const void *from, size_t length)
{
	struct vb_dm *dm = (struct vb_dm *)ibv;
	int err = dm_check("ibv_memcpy_to_dm", dm, offset, length);

	if (!err)
		memcpy(dm->bytes + offset, from, length);
	return err;
}

static int copy_from(void *to, struct ibv_dm *ibv, uint64_t offset, size_t length)
{
	const struct vb_dm *dm = (const struct vb_dm *)ibv;
	int err = dm_check("ibv_memcpy_from_dm", dm, offset, length);

	if (!err)
		memcpy(to, dm->bytes + offset, length);
	return err;
}

static struct vb_dm *dm_new(size_t length, unsigned int log_align)
{
	size_t align = (size_t)1 << (log_align > LOG_ALIGN_LEAST ? log_align : LOG_ALIGN_LEAST);
	struct vb_dm *dm = calloc(1, sizeof(*dm));

	if (!dm)
		return NULL;
	dm->length = length;
	dm->bytes = aligned_alloc(align, (length + align - 1) / align * align);
	if (dm->bytes)
		return memset(dm->bytes, 0, length), dm;
	free(dm);
	return NULL;
}

static bool take_bytes(size_t length)
{
	if (length > VB_MAX_DM)
		return false;
	if (atomic_fetch_add(&taken, length) <= VB_MAX_DM - length)
		return true;
	atomic_fetch_sub(&taken, length);
	return false;
}

struct ibv_dm *vb_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct vb_dm *dm;

	if (attr->comp_mask || !attr->length || attr->log_align_req > LOG_ALIGN_MOST)
		return vb_refuse_null(EINVAL, "ibv_alloc_dm",
				      "comp_mask %#x, length %zu, log_align_req %u: comp_mask must be 0, length at least 1, and "
				      "log_align_req at most %d.",
				      attr->comp_mask, attr->length, attr->log_align_req, LOG_ALIGN_MOST);
	if (!take_bytes(attr->length))
		return vb_refuse_null(ENOMEM, "ibv_alloc_dm",
				      "%zu B are not left of max_dm_size, %d. Free device memory, or ask for less.", attr->length,
				      VB_MAX_DM);
	dm = dm_new(attr->length, attr->log_align_req);
	if (!dm) {
		atomic_fetch_sub(&taken, attr->length);
		return vb_refuse_null(ENOMEM, "ibv_alloc_dm", "the process has no memory for %zu B.", attr->length);
	}
	dm->ibv.context = context;
	dm->ibv.memcpy_to_dm = copy_to;
	dm->ibv.memcpy_from_dm = copy_from;
	dm->check = check_opened(&(struct check_what){ .name = "device memory", .end = "ibv_free_dm" });
	vb_context_get(vb_context_of(context));
	return &dm->ibv;
}

int vb_free_dm(struct ibv_dm *ibv)
{
	struct vb_dm *dm = (struct vb_dm *)ibv;

	if (atomic_load(&dm->users))
		return vb_refuse(EBUSY, "ibv_free_dm", "%u regions are registered in it. Deregister them first.",
				 atomic_load(&dm->users));
	atomic_fetch_sub(&taken, dm->length);
	vb_context_put(vb_context_of(ibv->context));
	check_closed(dm->check);
	free(dm->bytes);
	free(dm);
	return 0;
}

void vb_dm_get(struct vb_dm *dm)
{
	atomic_fetch_add(&dm->users, 1);
}

void vb_dm_put(struct vb_dm *dm)
{
	atomic_fetch_sub(&dm->users, 1);
}

struct ibv_mr *vb_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibv, uint64_t offset, size_t length, unsigned int access)
{
	struct vb_dm *dm = (struct vb_dm *)ibv;

	if (!(access & IBV_ACCESS_ZERO_BASED) || access & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | IBV_ACCESS_MW_BIND))
		return vb_refuse_null(
			EINVAL, "ibv_reg_dm_mr",
			"access is %#x. A region of device memory needs IBV_ACCESS_ZERO_BASED, and takes no ON_DEMAND, "
			"HUGETLB or MW_BIND.",
			access);
	if (ibv->context != pd->context)
		return vb_refuse_null(EINVAL, "ibv_reg_dm_mr", "pd and dm are of two contexts. Use a PD of the context of dm.");
	if (!dm_holds(dm, offset, length)) {
		dm_refuse("ibv_reg_dm_mr", dm, EINVAL, offset, length);
		return NULL;
	}
	return vb_mr_register(&(struct vb_mr_request){ .call = "ibv_reg_dm_mr",
						       .pd = vb_pd_of(pd),
						       .addr = dm->bytes + offset,
						       .length = length,
						       .access = (int)access,
						       .dm = dm });
}
