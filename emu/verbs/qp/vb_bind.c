/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_bind.c - binds of memory windows: of type 1 by ibv_bind_mw(), of type 2 by requests. */
#include "emu/verbs/qp/vb_bind.h"

#include <errno.h>

#include "emu/nic/regions/mr_window.h"
#include "emu/verbs/qp/vb_qp.h"
#include "emu/verbs/regions/vb_mr.h"
#include "emu/verbs/regions/vb_mw.h"
#include "emu/verbs/start/vb_refuse.h"

/* The rights that are local mean nothing to a window, and drivers let them pass. */
#define BIND_KNOWN                                                                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | \
	 IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_OPTIONAL_RANGE)

int vb_bind_check(const struct ibv_send_wr *wr, enum ibv_mw_type type)
{
	const char *call = type == IBV_MW_TYPE_1 ? "ibv_bind_mw" : "ibv_post_send";
	const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;
	const struct ibv_mw *mw = wr->bind_mw.mw;

	if (!mw || mw->type != type) /* V170 */
		return vb_refuse(EINVAL, call,
				 "mw is NULL, or of another type: ibv_bind_mw binds windows of type 1, and "
				 "IBV_WR_BIND_MW those of type 2.");
	if (!info->mr && (type == IBV_MW_TYPE_2 || info->addr || info->length))
		return vb_refuse(EINVAL, call, "bind_info.mr is NULL%s.",
				 type == IBV_MW_TYPE_2 ? ", and a window of type 2 ends by IBV_WR_LOCAL_INV"
						       : ", and bind_info.addr or bind_info.length is not 0");
	if (info->mr && info->mr->pd != mw->pd && type == IBV_MW_TYPE_1)
		return vb_refuse(EPERM, call, "bind_info.mr is of another PD than the window.");
	if (info->mw_access_flags & ~(unsigned int)BIND_KNOWN)
		return vb_refuse(EINVAL, call, "mw_access_flags has the bits %#x, which windows do not have.",
				 info->mw_access_flags & ~(unsigned int)BIND_KNOWN);
	if (info->mw_access_flags & IBV_ACCESS_ZERO_BASED && type == IBV_MW_TYPE_1) /* V168 */
		return vb_refuse(EINVAL, call, "mw_access_flags has IBV_ACCESS_ZERO_BASED, which windows of type 2 have alone.");
	return 0;
}

/* Programs that give the upper bits of another window's rkey go on, as with hardware, which takes the lowest 8 bits alone. */
void vb_bind_make(const struct ibv_send_wr *wr, struct mr_bind *bind)
{
	const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;
	struct vb_key key;

	*bind = (struct mr_bind){
		.key = vb_mw_rkey(vb_mw_of(wr->bind_mw.mw), wr->bind_mw.rkey),
		.access = vb_mr_remote_rights(info->mw_access_flags),
		.addr = info->addr,
		.length = info->length,
		.zero_based = info->mw_access_flags & IBV_ACCESS_ZERO_BASED,
	};
	if (info->mr && vb_key_look(info->mr->lkey, &key))
		bind->desc = (uintptr_t)key.desc;
}

int vb_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags & (IBV_SEND_FENCE | IBV_SEND_SIGNALED),
		.bind_mw = { .mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = bind->bind_info },
	};
	int err = vb_post_bind(qp, &wr);

	if (!err)
		mw->rkey = vb_mw_rkey(vb_mw_of(mw), wr.bind_mw.rkey); /* V162 */
	return err;
}
