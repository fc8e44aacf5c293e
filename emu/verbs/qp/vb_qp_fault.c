/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_qp_fault.c - asynchronous events on demand, and the state that goes with each. */
#include "emu/nic/device/nic.h"
#include "emu/nic/endpoint/pair.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/device/vb_gid.h"
#include "emu/verbs/qp/vb_qp.h"
#include "emu/verbs/queues/vb_async.h"
#include "emu/verbs/queues/vb_cq.h"

/* An event, and what it is to happen to: the number of a queue pair's or queue's creation, or qp_num. */
struct happening {
	unsigned int event; /* enum vb_fault_event */
	uint64_t qp, cq;
	bool met;
};

static void happen_to_context(struct vb_context *context, const void *arg)
{
	static const enum ibv_event_type types[] = {
		[VB_PORT_ERR] = IBV_EVENT_PORT_ERR,
		[VB_PORT_ACTIVE] = IBV_EVENT_PORT_ACTIVE,
		[VB_GID_CHANGE] = IBV_EVENT_GID_CHANGE,
		[VB_DEVICE_FATAL] = IBV_EVENT_DEVICE_FATAL,
	};
	unsigned int event = ((const struct happening *)arg)->event;

	if (event == VB_DEVICE_FATAL) {
		atomic_fetch_or(&fault_calls_shown, FAULT_CALLS_FRONT);
		atomic_store(&context->dead, true);
	}
	vb_async_tell(context, &(struct ibv_async_event){ .event_type = types[event], .element.port_num = VB_PORTS }, NULL);
}

static void happen_to_qp(void *owner, void *arg) REQUIRES(driver_role)
{
	struct happening *it = arg;
	struct vb_qp *qp = owner;
	struct vb_cq *cq = qp->send_cq && qp->send_cq->ibv.handle == it->cq ? qp->send_cq : qp->recv_cq;

	if ((it->event == VB_QP_FATAL && qp->number != it->qp && qp->head.ibv.qp_num != it->qp) ||
	    (it->event == VB_CQ_ERR && (!cq || cq->ibv.handle != it->cq)))
		return;
	if (it->event == VB_CQ_ERR && !it->met)
		vb_cq_break(cq);
	it->met |= it->event == VB_CQ_ERR || vb_qp_state(qp) != IBV_QPS_RESET;
	if (vb_qp_state(qp) != IBV_QPS_RESET)
		vb_qp_fail(qp, it->event != VB_DEVICE_FATAL);
}

/* The role may be the caller's. */
const char *vb_fault_event(unsigned int event, uint64_t qp, uint64_t cq) UNCHECKED
{
	struct happening it = { .event = event, .qp = qp, .cq = cq, .met = event <= VB_DEVICE_FATAL };
	struct nic *nic = net_mine() ? net_nic() : NULL;
	bool of_port = event == VB_PORT_ERR || event == VB_PORT_ACTIVE;
	bool take = nic && (of_port || event >= VB_DEVICE_FATAL) && !driver_mine(nic_driver(nic));

	if (event == VB_GID_CHANGE)
		vb_gid_outdate();
	if (take && !driver_enter(nic_driver(nic)))
		return "it comes in a signal handler that has interrupted the device";
	if (of_port)
		atomic_store(&vb_port_down, event == VB_PORT_ERR);
	if (of_port && nic)
		nic_unplug(nic, event == VB_PORT_ERR);
	if (event <= VB_DEVICE_FATAL)
		vb_contexts_each(happen_to_context, &it);
	if (nic && event >= VB_DEVICE_FATAL)
		nic_each_pair(nic, happen_to_qp, &it);
	if (take)
		driver_leave(nic_driver(nic));
	if (it.met)
		return NULL;
	return event == VB_CQ_ERR
		       ? "no completion queue that a queue pair uses has this number. The first that was made is 1"
		       : "no queue pair out of RESET has this number. It is the qp_num, or 1 for the first that was made";
}
