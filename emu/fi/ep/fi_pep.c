/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_pep.c - the passive endpoint object. It belongs to the fabric, and its device endpoint to a protection domain of its
 * own that has no region. */
#include "emu/fi/ep/fi_ep.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/address/fi_addr.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_registry.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/fi/queues/fi_eq.h"
#include "emu/net/thread/net.h"
#include "emu/nic/endpoint/cm.h"

struct emu_pep {
	struct fid_pep fid;
	struct emu_fabric *fabric;
	struct opened opened;
	struct fi_info *info;
	struct emu_eq *eq;
	struct sockaddr_storage at;
	struct own_port *port; /* of `at`, until it listens; NULL: the program has named one, or none */
	atomic_uint backlog;
	struct nic *nic;               /* this and those below: from fi_listen() on */
	const struct net_claim *claim; /* the NIC's */
	struct pd *pd;
	struct ep *dev;
};

/* The info to accept with: that of the passive endpoint, with the peer as destination, at any port. */
static struct fi_info *connreq_info(const struct emu_pep *pep, const struct sockaddr_storage *peer, struct fid *handle)
{
	struct fi_info *info = fi_dupinfo(pep->info);
	size_t size = addr_size((const struct sockaddr *)peer);
	struct sockaddr_storage own = pep->at;

	if (!info)
		return NULL;
	addr_set_port(&own, 0);
	free(info->src_addr);
	free(info->dest_addr);
	info->src_addr = malloc(size);
	info->dest_addr = malloc(size);
	info->handle = handle;
	info->src_addrlen = info->dest_addrlen = size;
	if (!info->src_addr || !info->dest_addr) {
		fi_freeinfo(info);
		return NULL;
	}
	memcpy(info->src_addr, &own, size);
	memcpy(info->dest_addr, peer, size);
	return info;
}

static bool on_request(void *owner, const struct cm_event *event)
{
	struct emu_pep *pep = owner;
	struct connreq request = { .pep = pep, .number = event->request };
	struct fi_info *info;

	request.peer = *event->peer;
	ep_name(pep->dev, &request.passive);
	request.handle = connreq_add(&request, atomic_load(&pep->backlog));
	if (!request.handle)
		return false;
	info = connreq_info(pep, event->peer, request.handle);
	if (info && !emu_eq_push_cm(pep->eq, FI_CONNREQ, &pep->fid.fid, info, event->data, event->length))
		return true;
	connreq_take(&request);
	return false;
}

static const struct cm_ops pep_events = { .event = on_request };

static int pep_setname(fid_t fid, void *addr, size_t length)
{
	struct emu_pep *pep = (struct emu_pep *)fid;
	struct sockaddr_storage at;
	int err = own_address_take(addr, length, pep->info->addr_format, &at);

	if (err)
		return REFUSE(EP_CTRL, err, "fi_setname: addr is NULL, too short, or not of the endpoint's addr_format.");
	if (pep->dev)
		return REFUSE(EP_CTRL, -FI_EOPBADSTATE,
			      "fi_setname: the passive endpoint listens already. Name it before "
			      "fi_listen.");
	err = own_port_hold(&at, false, &pep->port);
	if (!err)
		pep->at = at;
	return err;
}

static int pep_getname(fid_t fid, void *addr, size_t *length)
{
	struct emu_pep *pep = (struct emu_pep *)fid;
	struct sockaddr_storage name = pep->at;

	if (!length || (*length && !addr))
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_getname: addrlen is NULL, or says that addr has room and addr is NULL.");
	if (pep->dev)
		ep_name(pep->dev, &name);
	else if (!addr_port(&name))
		return REFUSE(EP_CTRL, -FI_EOPBADSTATE,
			      "fi_getname: the passive endpoint has no address before fi_listen. "
			      "Call that first.");
	else
		net_known(&name);
	return address_tell(&name, addr, length);
}

static int pep_open_device(struct emu_pep *pep)
{
	struct ep_attr attr = { .at = pep->at, .cm = &pep_events, .passive = true, .owner = pep };
	int err = pd_open(pep->nic, &pep->pd);

	if (err)
		return err;
	attr.pd = pep->pd;
	if (!driver_enter(nic_driver(pep->nic))) {
		role_assert(); /* a signal handler in the holder */
		pd_close(pep->pd);
		return -FI_EAGAIN;
	}
	err = ep_open(pep->nic, &attr, &pep->dev);
	if (err)
		pd_close(pep->pd);
	else
		own_port_free(&pep->port);
	driver_leave(nic_driver(pep->nic));
	return err;
}

static int pep_listen(struct fid_pep *fid)
{
	struct emu_pep *pep = (struct emu_pep *)fid;
	int err;

	if (pep->dev)
		return REFUSE(EP_CTRL, -FI_EOPBADSTATE, "fi_listen: the passive endpoint listens already.");
	if (!pep->eq)
		return REFUSE(EP_CTRL, -FI_ENOEQ,
			      "fi_listen: the passive endpoint has no event queue. Bind one with "
			      "fi_pep_bind first.");
	if (!emu_eq_mine(pep->eq))
		return refuse_inherited("fi_listen");
	err = emu_nic_start(&pep->nic);
	pep->claim = atomic_load(&net_claim);
	if (!err) {
		err = pep_open_device(pep);
		if (err)
			net_end();
	}
	if (err) {
		char text[80];

		addr_text((const struct sockaddr *)&pep->at, text, sizeof(text));
		REFUSE(EP_CTRL, err, "fi_listen: no endpoint can listen at %s: %s.", text, fi_strerror(-err));
	}
	return err;
}

static int pep_reject(struct fid_pep *fid, fid_t handle, const void *param, size_t paramlen)
{
	struct emu_pep *pep = (struct emu_pep *)fid;
	struct connreq request;
	int err;

	if ((paramlen && !param) || !pep->dev || !connreq_find(handle, &request) || request.pep != pep)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_reject: the handle is no request of this passive endpoint that waits "
			      "for an answer, or param is NULL.");
	if (!net_runs(pep->claim))
		return refuse_inherited("fi_reject");
	if (!driver_enter(nic_driver(pep->nic)))
		return -FI_EAGAIN;
	err = connreq_waits(&request) ? ep_reject(pep->dev, &request.peer, request.number, param, paramlen)
				      : REFUSE(EP_CTRL, -FI_EINVAL, "fi_reject: the request has been answered.");
	if (!err)
		connreq_take(&request);
	driver_leave(nic_driver(pep->nic));
	return err;
}

static int pep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct emu_pep *pep = (struct emu_pep *)fid;
	struct emu_eq *eq = (struct emu_eq *)bfid;

	if (!bfid || bfid->fclass != FI_CLASS_EQ || pep->eq || emu_eq_fabric(eq) != pep->fabric)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_pep_bind: a passive endpoint takes one event queue of its fabric, and "
			      "nothing else.");
	if (flags)
		return REFUSE_FLAGS(EP_CTRL, "fi_pep_bind", flags);
	emu_eq_get(eq);
	pep->eq = eq;
	return 0;
}

static int pep_control(struct fid *fid, int command, void *arg)
{
	struct emu_pep *pep = (struct emu_pep *)fid;

	if (command != FI_BACKLOG)
		return refuse_command("a passive endpoint", command);
	if (!arg || *(int *)arg < 1)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_control, FI_BACKLOG: arg is NULL, or points to an int below 1.");
	atomic_store(&pep->backlog, *(int *)arg < LIMIT_BACKLOG ? (unsigned)*(int *)arg : LIMIT_BACKLOG);
	return 0;
}

/* Rejects all requests without an answer. */
static int pep_close_device(struct emu_pep *pep)
{
	struct connreq request;
	int err = ep_drained(pep->nic, pep->dev);

	if (err)
		return err;
	while (connreq_take_any(pep, &request))
		ep_reject(pep->dev, &request.peer, request.number, NULL, 0);
	driver_leave(nic_driver(pep->nic));
	err = ep_drained(pep->nic, pep->dev);
	if (err)
		return err;
	ep_close(pep->dev);
	pd_close(pep->pd);
	driver_leave(nic_driver(pep->nic));
	return 0;
}

static int pep_close(struct fid *fid)
{
	struct emu_pep *pep = (struct emu_pep *)fid;
	bool listens = pep->dev && net_runs(pep->claim);
	int err = listens ? pep_close_device(pep) : 0;
	struct connreq late;

	if (err)
		return err;
	while (connreq_take_any(pep, &late))
		;
	registry_remove(&pep->opened);
	if (pep->eq) {
		emu_eq_withdraw(pep->eq, fid);
		emu_eq_put(pep->eq);
	}
	atomic_fetch_sub(&pep->fabric->users, 1);
	own_port_free(&pep->port);
	fi_freeinfo(pep->info);
	free(pep);
	if (listens)
		net_end();
	return 0;
}

static int pep_getopt(fid_t fid, int level, int name, void *value, size_t *length)
{
	size_t size = LIMIT_CM_DATA;

	(void)fid;
	if (level != FI_OPT_ENDPOINT || name != FI_OPT_CM_DATA_SIZE)
		return -FI_ENOPROTOOPT;
	return option_tell(size, value, length);
}

static int pep_setopt(fid_t fid, int level, int name, const void *value, size_t length)
{
	(void)fid, (void)level, (void)name, (void)value, (void)length;
	return -FI_ENOPROTOOPT;
}

static ssize_t pep_cancel(fid_t fid, void *context)
{
	(void)fid, (void)context;
	return refuse_missing("fi_cancel", "A passive endpoint has no receives");
}

static struct fi_ops pep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = pep_close,
	.bind = pep_bind,
	.control = pep_control,
	STUB_FID_OPS,
};

static struct compat_ops_ep pep_ops = {
	.base = {
		.size = sizeof(struct compat_ops_ep),
		.cancel = pep_cancel,
		.getopt = pep_getopt,
		.setopt = pep_setopt,
		.tx_ctx = stub_tx_ctx,
		.rx_ctx = stub_rx_ctx,
		.rx_size_left = stub_size_left,
		.tx_size_left = stub_size_left,
	},
	.COMPAT_XPU(export_xpu) = stub_ep_export_xpu,
};

static struct fi_ops_cm pep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = pep_setname,
	.getname = pep_getname,
	.getpeer = stub_getpeer,
	.connect = stub_connect,
	.listen = pep_listen,
	.accept = stub_accept,
	.reject = pep_reject,
	.shutdown = stub_shutdown,
	.join = stub_join,
};

bool emu_pep_address(const struct fid *handle, struct sockaddr_storage *at)
{
	const struct emu_pep *pep = (const struct emu_pep *)handle;

	if (!registry_is_a(FI_CLASS_PEP, handle))
		return false;
	*at = pep->at;
	if (pep->dev)
		ep_name(pep->dev, at);
	return true;
}

int emu_pep_open(struct fid_fabric *fid, struct fi_info *info, struct fid_pep **out, void *context)
{
	struct emu_pep *pep;
	int err;

	if (!info || !out || !info->ep_attr || info->ep_attr->type != FI_EP_MSG)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_passive_ep: info or pep is NULL, or info->ep_attr->type is not "
			      "FI_EP_MSG.");
	pep = calloc(1, sizeof(*pep));
	if (!pep)
		return -FI_ENOMEM;
	pep->info = fi_dupinfo(info);
	err = pep->info ? own_address(info, info->addr_format, &pep->at) : -FI_ENOMEM;
	if (err) {
		fi_freeinfo(pep->info);
		free(pep);
		return err;
	}
	pep->fabric = emu_fabric(fid);
	atomic_init(&pep->backlog, LIMIT_BACKLOG);
	pep->fid.fid.fclass = FI_CLASS_PEP;
	pep->fid.fid.context = context;
	pep->fid.fid.ops = &pep_fid_ops;
	pep->fid.ops = &pep_ops.base;
	pep->fid.cm = &pep_cm_ops;
	registry_add(&pep->opened, &pep->fid.fid, NULL);
	atomic_fetch_add(&pep->fabric->users, 1);
	*out = &pep->fid;
	return 0;
}
