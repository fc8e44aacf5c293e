/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_mw.h - memory windows: what a program gives peers of a region, and takes back, by requests in a send queue (vb_bind.h). The
 * device's are names of 24 bits, below which 8 bits are the program's. Any thread; may wait a slice of the driver role. */
#ifndef EMU_VB_MW_H
#define EMU_VB_MW_H

#include "emu/verbs/regions/vb_pd.h"

struct vb_mw {
	struct ibv_mw ibv;
	struct vb_pd *pd; /* as the program gave it */
	struct check_record *check;
	uint32_t key;    /* one of its keys: ibv.rkey is the program's to write */
	uint32_t handle; /* as ibv.handle, which the program may have overwritten */
};

static inline struct vb_mw *vb_mw_of(struct ibv_mw *ibv)
{
	return (struct vb_mw *)ibv;
}

/* The rkey of a window with the tag of another one. */
static inline uint32_t vb_mw_rkey(const struct vb_mw *mw, uint32_t rkey)
{
	return (mw->key & ~UINT32_C(0xff)) | (rkey & 0xff);
}

/* Calls that programs reach through the context's table. As their man pages say. */
struct ibv_mw *vb_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vb_dealloc_mw(struct ibv_mw *mw);

#endif
