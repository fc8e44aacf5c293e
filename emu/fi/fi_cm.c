/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_cm.c - connecting, accepting, leaving. */
#include "emu/fi/fi_cm.h"

#include <rdma/fi_errno.h>

#include "emu/fi/fi_addr.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_ep.h"
#include "emu/fi/fi_eq.h"
#include "emu/fi/fi_own_addr.h"
#include "emu/fi/fi_prov.h"
#include "emu/fi/fi_request.h"

static bool on_event(void *owner, const struct cm_event *event)
{
	struct emu_ep *ep = owner;
	struct fid *fid = &ep->fid.fid;

	if (event->kind == CM_REFUSED)
		return !emu_eq_push_refused(ep->eq, fid, event->err, event->data, event->length);
	return !emu_eq_push_cm(ep->eq, event->kind == CM_CONNECTED ? FI_CONNECTED : FI_SHUTDOWN, fid, NULL, event->data,
			       event->length);
}

const struct cm_ops emu_ep_cm_events = { .event = on_event };

/* Of both calls that begin a connection: once in an endpoint's life, which is enabled by it. */
static int begin(struct emu_ep *ep, const void *param, size_t paramlen)
{
	int err;

	if (paramlen && !param)
		return -FI_EINVAL;
	if (ep->begun)
		return -FI_EOPBADSTATE;
	if (!domain_usable(ep->domain))
		return -FI_ENODEV;
	err = ep->dev ? 0 : emu_ep_enable(ep);
	if (!err && !driver_enter(nic_driver(ep->domain->nic)))
		err = -FI_EAGAIN;
	return err;
}

static void begun(struct emu_ep *ep, int err)
{
	driver_leave(nic_driver(ep->domain->nic));
	ep->begun = err != -FI_EAGAIN;
}

int emu_ep_connect(struct fid_ep *fid, const void *addr, const void *param, size_t paramlen)
{
	struct emu_ep *ep = emu_ep(fid)->whole;
	struct sockaddr_storage to;
	int err;

	if (ep->type != FI_EP_MSG)
		return -FI_ENOSYS;
	if (ep->request.number)
		return -FI_EOPBADSTATE; /* it is there to accept */
	if (!addr || !addr_size(addr))
		return -FI_EINVAL;
	err = own_address_take(addr, addr_size(addr), ep->domain->addr_format, &to);
	if (!err && !addr_port(&to))
		err = -FI_EINVAL;
	if (!err)
		err = begin(ep, param, paramlen);
	if (err)
		return err;
	ep->asked = to;
	err = ep_connect(ep->dev, &to, param, paramlen);
	begun(ep, err);
	return err;
}

int emu_ep_accept(struct fid_ep *fid, const void *param, size_t paramlen)
{
	struct emu_ep *ep = emu_ep(fid)->whole;
	int err;

	if (ep->type != FI_EP_MSG)
		return -FI_ENOSYS;
	if (!ep->request.number) {
		EMU_WARN(EP_CTRL, "fi_accept: the endpoint was not opened with the info of an FI_CONNREQ event\n");
		return -FI_EINVAL;
	}
	err = begin(ep, param, paramlen);
	if (err)
		return err;
	err = request_take(&ep->request) ? ep_accept(ep->dev, &ep->request.peer, ep->request.number, param, paramlen) :
					   -FI_ECONNREFUSED; /* rejected meanwhile, or its passive endpoint was closed */
	begun(ep, err);
	return err;
}

/* The peer of who asked is known by the name that it was asked by. */
int emu_ep_getpeer(struct fid_ep *fid, void *addr, size_t *addrlen)
{
	struct emu_ep *ep = emu_ep(fid)->whole;
	struct sockaddr_storage peer;
	bool there;

	if (ep->type != FI_EP_MSG)
		return -FI_ENOSYS;
	if (!domain_usable(ep->domain))
		return -FI_ENODEV;
	if (!ep->dev)
		return -FI_ENOTCONN;
	if (!driver_enter(nic_driver(ep->domain->nic)))
		return -FI_EAGAIN;
	there = ep_peer(ep->dev, &peer);
	driver_leave(nic_driver(ep->domain->nic));
	return there ? address_tell(ep->request.number ? &peer : &ep->asked, addr, addrlen) : -FI_ENOTCONN;
}

/* What was posted is given time to arrive, as in fi_close(). */
int emu_ep_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct emu_ep *ep = emu_ep(fid)->whole;
	int err;

	if (ep->type != FI_EP_MSG)
		return -FI_ENOSYS;
	if (flags)
		return -FI_EBADFLAGS;
	if (!domain_usable(ep->domain))
		return -FI_ENODEV;
	if (!ep->begun)
		return -FI_ENOTCONN;
	err = ep_drained(ep->domain->nic, ep->dev);
	if (err)
		return err;
	ep_shutdown(ep->dev);
	driver_leave(nic_driver(ep->domain->nic));
	return 0;
}
