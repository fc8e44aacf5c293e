/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_qp_port.c - the listeners by which peers reach queue pairs. Each is an endpoint of its own, in a protection domain of its own,
 * that stays as long as a queue pair is reached through it. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/device/nic.h"
#include "emu/nic/endpoint/cm.h"
#include "emu/nic/endpoint/pair.h"
#include "emu/nic/queues/av.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/qp/vb_qp.h"
#include "emu/verbs/qp/vb_qp_kind.h"
#include "emu/verbs/qp/vb_srq.h"
#include "emu/verbs/qp/vb_xrcd.h"
#include "emu/verbs/queues/vb_cq.h"
#include "emu/verbs/start/vb_refuse.h"

enum { NEW_PORTS = 16 }; /* new listeners that are tried for a queue pair */

struct vb_qp_port {
	struct vb_qp_port *next;
	struct nic *nic;
	struct pd *pd;
	struct ep *ep;
	unsigned int users; /* queue pairs */
};

/* Of the process. With the driver role. */
static struct vb_qp_port *ports;

static bool hears_nothing(void *owner, const struct cm_event *event)
{
	(void)owner;
	(void)event;
	return false;
}

static const struct cm_ops listener_ops = { .event = hears_nothing };
static const struct cm_ops pair_ops = { .event = vb_qp_event };

/* With the role. */
static int port_open(struct nic *nic, struct vb_qp_port **out) REQUIRES(driver_role)
{
	struct ep_attr attr = { .cm = &listener_ops, .passive = true, .pairs = true, .tag = AV_NONE };
	struct vb_qp_port *port = calloc(1, sizeof(*port));
	int err;

	if (!port)
		return -ENOMEM;
	port->nic = nic;
	err = pd_open(nic, &port->pd);
	attr.pd = port->pd;
	if (!err)
		err = ep_open(nic, &attr, &port->ep);
	if (err) {
		if (port->pd)
			(void)pd_close(port->pd);
		free(port);
		return err;
	}
	port->next = ports;
	ports = port;
	*out = port;
	return 0;
}

/* With the role, and no queue pair is reached through it. */
static void port_close(struct vb_qp_port *port) REQUIRES(driver_role)
{
	struct vb_qp_port **at = &ports;
	int err;

	while (*at != port)
		at = &(*at)->next;
	*at = port->next;
	ep_close(port->ep);
	err = pd_close(port->pd);
	assert(!err);
	(void)err;
	free(port);
}

static int open_through(struct vb_qp *qp, struct pd *pd, struct vb_qp_port *port)
{
	struct ep_attr attr = {
		.pd = pd,
		.tx_cq = qp->send_cq ? qp->send_cq->cq : NULL,
		.rx_cq = qp->recv_cq ? qp->recv_cq->cq : NULL,
		.caps = vb_qp_caps(qp, 0),
		.order = qp->kind->order,
		.rules = qp->kind->rules,
		.tx_size = qp->cap.max_send_wr + 1,
		.rx_size = qp->cap.max_recv_wr + 1,
		.srx = qp->srq ? qp->srq->srx : NULL,
		.cm = &pair_ops,
		.tag = (uint64_t)(uintptr_t)&qp->rq,
		.through = port->ep,
		.xrc = qp->xrcd ? vb_xrcd_device(qp->xrcd) : NULL,
		.datagrams = qp->kind->datagrams,
		.bindings = qp->windows,
		.owner = qp,
	};
	int err = ep_open(port->nic, &attr, &qp->ep);

	if (err)
		return err;
	qp->port = port;
	port->users++;
	return 0;
}

/* -EADDRINUSE: another process has its port for datagrams. */
static int open_behind_new(struct vb_qp *qp, struct pd *pd, struct nic *nic) REQUIRES(driver_role)
{
	struct vb_qp_port *port;
	int err = port_open(nic, &port);

	if (err)
		return err;
	err = open_through(qp, pd, port);
	if (err)
		port_close(port);
	return err;
}

int vb_qp_port_open(struct vb_qp *qp, struct pd *pd, const char *call)
{
	struct nic *nic = atomic_load(&qp->context->nic);
	struct vb_qp_port *port;
	int err = vb_context_enter(qp->context, call);

	if (err)
		return err;
	nic_unplug(nic, atomic_load(&vb_port_down)); /* it may have been before there was a NIC */
	err = -EADDRINUSE;
	for (port = ports; port && err == -EADDRINUSE; port = port->next)
		if (port->nic == nic)
			err = open_through(qp, pd, port);
	for (int i = 0; i < NEW_PORTS && err == -EADDRINUSE; i++)
		err = open_behind_new(qp, pd, nic);
	vb_context_leave(qp->context);
	return err ? vb_refuse(-err, call,
			       "it cannot listen for its peer (%s). Destroy some, raise RLIMIT_NOFILE, or widen FI_EMU_PORTS.",
			       strerror(-err))
		   : 0;
}

void vb_qp_port_close(struct vb_qp *qp)
{
	if (!--qp->port->users)
		port_close(qp->port);
}
