/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_bind.h - requests that bind memory windows. The device judges them in their turn (mr_may_bind_window()); here is what a call
 * refuses. Any thread. */
#ifndef EMU_VB_BIND_H
#define EMU_VB_BIND_H

#include "emu/verbs/start/vb_abi.h"

struct mr_bind;

/* May a request be posted that binds so, by the call of windows of this type? 0; or an errno, after a line of log. */
int vb_bind_check(const struct ibv_send_wr *wr, enum ibv_mw_type type);
/* What the device is to do for it. */
void vb_bind_make(const struct ibv_send_wr *wr, struct mr_bind *bind);
/* ibv_bind_mw(), of the context's table. As its man page says. */
int vb_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

#endif
