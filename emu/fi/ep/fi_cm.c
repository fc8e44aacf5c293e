/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_cm.c - connecting, accepting, leaving. */
#include "emu/fi/ep/fi_ep_calls.h"

#include <rdma/fi_errno.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/address/fi_addr.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_front_end.h"
#include "emu/fi/queues/fi_eq.h"

static bool on_event(void *owner, const struct cm_event *event)
{
	struct emu_ep *ep = owner;
	struct fid *fid = &ep->fid.fid;

	if (event->kind == CM_REFUSED)
		return !emu_eq_push_refused(ep->eq, fid, (int)status_of(event->err), event->data, event->length);
	return !emu_eq_push_cm(ep->eq, event->kind == CM_CONNECTED ? FI_CONNECTED : FI_SHUTDOWN, fid, NULL, event->data,
			       event->length);
}

const struct cm_ops emu_ep_cm_events = { .event = on_event };

/* For both calls that begin a connection, once in an endpoint's life. Enables the endpoint. */
static int begin(const char *call, struct emu_ep *ep, const void *param, size_t paramlen)
	TRY_ACQUIRE(0, driver_role) UNCHECKED /* 0 is what is left when it was taken */
{
	int err;

	if (paramlen && !param)
		return REFUSE(EP_CTRL, -FI_EINVAL, "%s: paramlen is %zu and param NULL.", call, paramlen);
	if (ep->begun)
		return REFUSE(EP_CTRL, -FI_EOPBADSTATE,
			      "%s: the endpoint has been connected or accepted before. A connection "
			      "takes a new endpoint.",
			      call);
	if (!domain_usable(ep->domain))
		return refuse_inherited(call);
	err = ep->dev ? 0 : emu_ep_enable(ep);
	if (!err && !driver_enter(nic_driver(ep->domain->nic)))
		err = -FI_EAGAIN;
	return err;
}

static void begun(struct emu_ep *ep, int err) RELEASE(driver_role)
{
	driver_leave(nic_driver(ep->domain->nic));
	ep->begun = !err; /* after a failure the program may repeat the call */
}

static int no_connections(const char *call)
{
	return refuse_missing(call, "Connections are for endpoints of type FI_EP_MSG; of others the address vector names the "
				    "peers");
}

int emu_ep_connect(struct fid_ep *fid, const void *addr, const void *param, size_t paramlen)
{
	struct emu_ep *ep = emu_ep(fid)->primary;
	struct sockaddr_storage to;
	int err;

	if (ep->type != FI_EP_MSG)
		return no_connections("fi_connect");
	if (ep->request.number)
		return REFUSE(EP_CTRL, -FI_EOPBADSTATE,
			      "fi_connect: the endpoint was opened with the info of an FI_CONNREQ "
			      "event. Call fi_accept.");
	if (!addr || !addr_size(addr))
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_connect: addr is NULL, or no IPv4 or IPv6 socket address.");
	err = own_address_take(addr, addr_size(addr), ep->domain->addr_format, &to);
	if (err || !addr_port(&to))
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_connect: addr %s. Take it from fi_getname of the passive endpoint.",
			      err ? "is not of the domain's addr_format" : "has port 0");
	err = begin("fi_connect", ep, param, paramlen);
	if (err)
		return err;
	ep->asked = to;
	err = ep_connect(ep->dev, &to, param, paramlen);
	begun(ep, err);
	return err;
}

int emu_ep_accept(struct fid_ep *fid, const void *param, size_t paramlen)
{
	struct emu_ep *ep = emu_ep(fid)->primary;
	int err;

	if (ep->type != FI_EP_MSG)
		return no_connections("fi_accept");
	if (!ep->request.number)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_accept: the endpoint was not opened with the info of an FI_CONNREQ event. "
			      "Pass that info to fi_endpoint.");
	err = begin("fi_accept", ep, param, paramlen);
	if (err)
		return err;
	/* Else the request was rejected meanwhile, or its passive endpoint closed. */
	err = connreq_waits(&ep->request) ? ep_accept(ep->dev, &ep->request.peer, ep->request.number, param, paramlen)
					  : -FI_ECONNREFUSED;
	if (!err)
		connreq_take(&ep->request);
	begun(ep, err);
	return err;
}

/* For an endpoint that connected, the peer's name is the one given to fi_connect(). */
int emu_ep_getpeer(struct fid_ep *fid, void *addr, size_t *addrlen)
{
	struct emu_ep *ep = emu_ep(fid)->primary;
	struct sockaddr_storage peer;
	bool there;

	if (ep->type != FI_EP_MSG)
		return no_connections("fi_getpeer");
	if (!domain_usable(ep->domain))
		return refuse_inherited("fi_getpeer");
	if (!ep->dev)
		return REFUSE(EP_CTRL, -FI_ENOTCONN, "fi_getpeer: the endpoint has no peer. Call fi_connect or fi_accept first.");
	if (!driver_enter(nic_driver(ep->domain->nic)))
		return -FI_EAGAIN;
	there = ep_peer(ep->dev, &peer);
	driver_leave(nic_driver(ep->domain->nic));
	return there ? address_tell(ep->request.number ? &peer : &ep->asked, addr, addrlen) : -FI_ENOTCONN;
}

/* Posted ops are given time to arrive, as in fi_close(). */
int emu_ep_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct emu_ep *ep = emu_ep(fid)->primary;
	int err;

	if (ep->type != FI_EP_MSG)
		return no_connections("fi_shutdown");
	if (flags)
		return REFUSE_FLAGS(EP_CTRL, "fi_shutdown", flags);
	if (!domain_usable(ep->domain))
		return refuse_inherited("fi_shutdown");
	if (!ep->begun)
		return REFUSE(EP_CTRL, -FI_ENOTCONN,
			      "fi_shutdown: the endpoint has no peer. Call fi_connect or fi_accept "
			      "first.");
	err = ep_drained(ep->domain->nic, ep->dev);
	if (err)
		return err;
	ep_shutdown(ep->dev);
	driver_leave(nic_driver(ep->domain->nic));
	return 0;
}
