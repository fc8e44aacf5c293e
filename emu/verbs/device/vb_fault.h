/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_fault.h - errors on demand (emu_fault(5), emuctl(1)): calls that fault plans name, events, and the state behind them.
 * Any thread. */
#ifndef EMU_VB_FAULT_H
#define EMU_VB_FAULT_H

#include "emu/nic/base/likely.h"
#include "emu/process/faults/fault_calls.h"
#include "emu/verbs/device/vb_context.h"
#include "emu/verbs/start/vb_front_end.h"

/* At the head of each call of vb_faults.calls, with no lock but a batch's (ibv_wr_start(), which waits meanwhile on this queue
 * pair): 0; or the errno by which it fails and does nothing, which errno has,
 * too, after a line of log. Variants of a call have one name. `context` NULL: none yet; `qp`: number of the queue pair, 0: none. */
int vb_fault_met(const char *call, struct ibv_context *context, uint64_t qp) __attribute__((cold));
static inline bool vb_fault_shown(void)
{
	return unlikely(atomic_load_explicit(&fault_calls_shown, memory_order_relaxed));
}
static inline int vb_fault(const char *call, struct ibv_context *context, uint64_t qp)
{
	return vb_fault_shown() ? vb_fault_met(call, context, qp) : 0;
}
/* A request or a receive is posted (fault_request()), with the lock: the status by which it is to fail, after a line of log; 0:
 * none. */
uint8_t vb_fault_request_met(const char *call, unsigned int kind, uint64_t qp, uint64_t wr_id) __attribute__((cold));

/* As in vb_faults.events: of the device up to DEVICE_FATAL, then of queue pairs. They happen in vb_qp_fault.c. */
enum vb_fault_event { VB_PORT_ERR, VB_PORT_ACTIVE, VB_GID_CHANGE, VB_DEVICE_FATAL, VB_CQ_ERR, VB_QP_FATAL };
const char *vb_fault_event(unsigned int event, uint64_t qp, uint64_t cq);

/* Devices that this process has opened, none of its parent's: one more; one less, if it is there; and each of them. */
void vb_contexts_add(struct vb_context *context);
void vb_contexts_remove(struct vb_context *context);
void vb_contexts_each(void (*each)(struct vb_context *context, const void *arg), const void *arg);
/* Are the ports down? */
extern atomic_bool vb_port_down;

#endif
