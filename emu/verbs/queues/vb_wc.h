/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_wc.h - the device's completions and refusals as work completions. */
#ifndef EMU_VB_WC_H
#define EMU_VB_WC_H

#include "emu/nic/queues/cq.h"
#include "emu/nic/regions/refusal.h"
#include "emu/verbs/queues/vb_wr.h"
#include "emu/verbs/start/vb_abi.h"

/* The status of a request, or with `receive` of a receive, that failed for this cause. `local`: refused on this side, before
 * anything was sent, for what the request's own lkeys say. */
enum ibv_wc_status vb_wc_status(enum refusal_cause cause, bool receive, bool local);

/* Fill in *wc, and free the record of the request (vb_queue_free_to()): the caller has the lock of the CQ. The second one keeps its
 * sentence for ibv_wc_status_str() in this thread. */
void vb_wc_good(const struct completion *c, struct ibv_wc *wc);
void vb_wc_failed(const struct cq_error *error, struct ibv_wc *wc);

#endif
