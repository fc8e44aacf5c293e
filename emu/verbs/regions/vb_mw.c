/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_mw.c - memory windows are allocated, and end. */
#include "emu/verbs/regions/vb_mw.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/device/nic.h"
#include "emu/process/check/check_object.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/start/vb_refuse.h"

#define CALL "ibv_alloc_mw"

static atomic_uint count;   /* open */
static atomic_uint handles; /* given out so far */

static int mw_make(struct vb_mw *mw, enum ibv_mw_type type)
{
	struct pd *pd = vb_pd_device(mw->pd, CALL);
	int err;

	if (!pd)
		return errno;
	err = vb_context_enter(mw->pd->root->context, CALL);
	if (err)
		return err;
	err = pd_open_window(pd, type == IBV_MW_TYPE_2, &mw->key); /* V160 */
	vb_context_leave(mw->pd->root->context);
	return err ? vb_refuse(-err, CALL, "no memory for a window, or no key is left.") : 0;
}

static int mw_check(struct ibv_pd *pd, enum ibv_mw_type type)
{
	int err = vb_fault(CALL, pd->context, 0);

	if (!err)
		err = vb_pd_check(pd, CALL);
	if (err || type == IBV_MW_TYPE_1 || type == IBV_MW_TYPE_2)
		return err;
	return vb_refuse(EINVAL, CALL, "type is %d: it is IBV_MW_TYPE_1 or IBV_MW_TYPE_2.", (int)type);
}

struct ibv_mw *vb_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct vb_mw *mw;
	int err;

	if (mw_check(pd, type) || vb_count_take(&count, VB_MAX_MW, CALL, "memory windows", "max_mw"))
		return NULL;
	mw = calloc(1, sizeof(*mw));
	err = mw ? 0 : vb_refuse(ENOMEM, CALL, "no memory for a window.");
	if (!err) {
		mw->pd = vb_pd_of(pd);
		err = mw_make(mw, type);
	}
	if (err) {
		vb_count_give(&count);
		free(mw);
		errno = err;
		return NULL;
	}
	mw->ibv.context = pd->context;
	mw->ibv.pd = pd;
	mw->ibv.rkey = mw->key;
	mw->ibv.type = type;
	mw->handle = mw->ibv.handle = atomic_fetch_add(&handles, 1) + 1;
	mw->check = check_opened(&(struct check_what){ .name = "memory window", .end = "ibv_dealloc_mw" });
	vb_pd_get(mw->pd);
	return &mw->ibv;
}

/* Whether or not it is bound. */
int vb_dealloc_mw(struct ibv_mw *ibv)
{
	struct vb_mw *mw = vb_mw_of(ibv);
	struct vb_pd *root = mw->pd->root;
	int err;

	if (ibv->handle != mw->handle)
		return vb_refuse_handle("ibv_dealloc_mw", ibv->handle, "memory window");
	if (vb_context_usable(root->context)) {
		err = vb_context_enter(root->context, "ibv_dealloc_mw");
		if (err)
			return err;
		pd_close_window(atomic_load(&root->pd), mw->key);
		vb_context_leave(root->context);
	}
	check_closed(mw->check);
	vb_pd_put(mw->pd);
	vb_count_give(&count);
	free(mw);
	return 0;
}
