/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_pd.h - protection domains; parent domains, which stand for one; and thread domains, which change nothing here, since each call
 * is for any thread. Any thread. */
#ifndef EMU_VB_PD_H
#define EMU_VB_PD_H

#include <stdatomic.h>

#include "emu/verbs/device/vb_context.h"

struct pd;

struct vb_td {
	struct ibv_td ibv;
	atomic_uint users; /* parent domains */
};

struct check_record;

struct vb_pd {
	struct ibv_pd ibv;
	struct vb_context *context;
	struct vb_pd *root;    /* of a parent domain: the PD that it stands for in the end; else itself */
	struct vb_pd *base;    /* of a parent domain: the PD that it was made with; else NULL */
	struct vb_td *td;      /* likewise; NULL: none */
	struct pd *_Atomic pd; /* the device's, of a root; NULL: no object has needed it yet */
	atomic_uint users;     /* objects that were made with it */
	struct check_record *check;
	uint32_t handle; /* as ibv.handle, which the program may have overwritten */
};

static inline struct vb_pd *vb_pd_of(struct ibv_pd *ibv)
{
	return (struct vb_pd *)ibv;
}

/* Is it open? 0; or ENOENT, after a line of log: its handle or its context are others than it was given. */
int vb_pd_check(struct ibv_pd *pd, const char *call);
/* The device's protection domain of a PD or parent domain, and with it the process's NIC. NULL with errno, after a line of log. */
struct pd *vb_pd_device(struct vb_pd *pd, const char *call);
/* One more object of it (a region, a QP, an SRQ, an AH, a window), which keeps it from being deallocated; or one less. */
static inline void vb_pd_get(struct vb_pd *pd)
{
	atomic_fetch_add(&pd->users, 1);
}
static inline void vb_pd_put(struct vb_pd *pd)
{
	atomic_fetch_sub(&pd->users, 1);
}

/* Calls that programs reach through the context's table. As their man pages say. */
struct ibv_td *vb_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int vb_dealloc_td(struct ibv_td *td);
struct ibv_pd *vb_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr);

#endif
