/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_mr.h - memory regions. The device's rules judge them (emu/nic/regions); here are what a program may ask for, and keys: an lkey
 * (vb_key.h) and an rkey, which the device draws, are different numbers. Any thread; may wait a slice of the driver role. */
#ifndef EMU_VB_MR_H
#define EMU_VB_MR_H

#include "emu/verbs/regions/vb_key.h"
#include "emu/verbs/regions/vb_pd.h"

struct dmabuf;
struct mr;
struct vb_dm;

enum { VB_RKEY_BYTES = 4 };

struct vb_mr {
	struct ibv_mr ibv;
	struct vb_pd *pd;      /* as the program gave it */
	struct mr *mr;         /* the device's; with the driver role only. NULL: a null region, or a change of it has failed */
	struct dmabuf *dmabuf; /* its bytes lie in this mapping; NULL: at the program's addresses */
	struct vb_dm *dm;      /* likewise, in this device memory */
	uint64_t iova;         /* by which peers and posts address its first byte */
	int access;            /* enum ibv_access_flags */
	struct check_record *check;
	uint32_t handle; /* as ibv.handle, which the program may have overwritten; 0: a null region's */
};

static inline struct vb_mr *vb_mr_of(struct ibv_mr *ibv)
{
	return (struct vb_mr *)ibv;
}

/* What is to be registered. */
struct vb_mr_request {
	const char *call; /* for sentences */
	struct vb_pd *pd;
	void *addr;            /* where the bytes are; NULL with SIZE_MAX and ON_DEMAND: all memory */
	size_t length;         /* bytes; 0 is allowed */
	uint64_t iova;         /* by which peers and posts address the first one */
	int access;            /* enum ibv_access_flags */
	struct dmabuf *dmabuf; /* the region's, if this succeeds; or NULL */
	struct vb_dm *dm;      /* likewise counted (vb_dm_get()); or NULL */
};

/* For ibv_dereg_mr(). NULL, after a line of log, with errno: EINVAL, EFAULT (memory that is not there), ENOMEM, ENOENT (no open
 * PD), ENODEV, or what a fault plan says. */
struct ibv_mr *vb_mr_register(const struct vb_mr_request *request);

/* Of enum ibv_access_flags what peers may do, in enum mr_access. */
uint32_t vb_mr_remote_rights(unsigned int access);

/* Calls that programs reach through the context's table. As their man pages say. */
struct ibv_mr *vb_alloc_null_mr(struct ibv_pd *pd);
int vb_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *list, uint32_t count);
/* vb_dm.c */
struct ibv_dm *vb_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int vb_free_dm(struct ibv_dm *dm);
struct ibv_mr *vb_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length, unsigned int access);
/* A region of it begins, or has ended. */
void vb_dm_get(struct vb_dm *dm);
void vb_dm_put(struct vb_dm *dm);

#endif
