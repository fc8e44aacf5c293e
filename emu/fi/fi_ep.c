/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ep.c - the endpoint object: open, enable, close. */
#include "emu/fi/fi_ep.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu/fi/fi_addr.h"
#include "emu/fi/fi_av.h"
#include "emu/fi/fi_cntr.h"
#include "emu/fi/fi_cq.h"
#include "emu/fi/fi_data.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_negotiate.h"
#include "emu/fi/fi_prov.h"
#include "emu/fi/fi_settings.h"
#include "emu/fi/fi_stubs.h"

#define INITIATES(caps) (((caps) & FI_MSG && (caps) & FI_SEND) || ((caps) & FI_RMA && (caps) & (FI_READ | FI_WRITE)))
#define RECEIVES(caps) ((caps) & FI_MSG && (caps) & FI_RECV)

static uint32_t device_caps(uint64_t caps)
{
	static const struct { uint64_t with, cap; uint32_t bit; } map[] = {
		{ FI_MSG, FI_SEND, EP_SEND }, { FI_MSG, FI_RECV, EP_RECV },
		{ FI_RMA, FI_READ, EP_READ }, { FI_RMA, FI_WRITE, EP_WRITE },
		{ FI_RMA, FI_REMOTE_READ, EP_REMOTE_READ }, { FI_RMA, FI_REMOTE_WRITE, EP_REMOTE_WRITE },
		{ FI_MSG, FI_DIRECTED_RECV, EP_DIRECTED_RECV }, { 0, FI_SOURCE, EP_SOURCE },
	};
	uint32_t bits = 0;

	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
		if ((caps & map[i].with) == map[i].with && caps & map[i].cap)
			bits |= map[i].bit;
	}
	return bits;
}

static uint32_t device_order(uint64_t order)
{
	return (order & FI_ORDER_RAS ? EP_ORDER_RAS : 0) | (order & FI_ORDER_WAS ? EP_ORDER_WAS : 0) |
	       (order & (FI_ORDER_WAR | FI_ORDER_RMA_WAR) ? EP_ORDER_WAR : 0);
}

static void fill_attr(const struct emu_ep *ep, struct ep_attr *attr)
{
	*attr = (struct ep_attr){
		.pd = ep->domain->pd,
		.av = ep->av->av,
		.tx_cq = ep->tx_cq ? ep->tx_cq->cq : NULL,
		.rx_cq = ep->rx_cq ? ep->rx_cq->cq : NULL,
		.caps = device_caps(ep->caps),
		.order = device_order(ep->tx_order),
		.tx_size = (uint32_t)ep->tx_size,
		.rx_size = (uint32_t)ep->rx_size,
		.at = ep->at,
		.owner = (void *)(uintptr_t)ep,
	};
	for (int i = 0; i < EP_CNTRS; i++)
		attr->cntr[i] = ep->cntr[i] ? ep->cntr[i]->cntr : NULL;
}

static int ep_enable(struct emu_ep *ep)
{
	struct nic *nic = ep->domain->nic;
	struct ep_attr attr;
	int err;

	if (!domain_usable(ep->domain))
		return -FI_ENODEV;
	if (ep->dev)
		return -FI_EOPBADSTATE;
	if (!ep->av)
		return -FI_ENOAV;
	if ((INITIATES(ep->caps) && !ep->tx_cq) || (RECEIVES(ep->caps) && !ep->rx_cq))
		return -FI_ENOCQ;
	fill_attr(ep, &attr);
	if (!driver_enter(nic_driver(nic)))
		return -FI_EAGAIN;
	err = ep_open(nic, &attr, &ep->dev);
	driver_leave(nic_driver(nic));
	if (err) {
		char text[80];

		addr_text((const struct sockaddr *)&ep->at, text, sizeof(text));
		EMU_WARN(EP_CTRL, "endpoint cannot listen at %s: %s\n", text, fi_strerror(-err));
	}
	return err;
}

/* Lets the device finish what it owes to peers: slices, with the role given up between them, up to TIME_BYE_NS. */
static int drain_and_close(struct emu_ep *ep)
{
	static const struct timespec pause = { .tv_nsec = 50000 };
	struct nic *nic = ep->domain->nic;
	struct timespec now;
	uint64_t end = 0;

	for (;;) {
		if (!driver_enter(nic_driver(nic)))
			return -FI_EAGAIN;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (!end)
			end = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + TIME_BYE_NS;
		if (ep_quiet(ep->dev) || (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec > end)
			break;
		nic_work(nic);
		driver_leave(nic_driver(nic));
		nanosleep(&pause, NULL);
	}
	ep_close(ep->dev);
	driver_leave(nic_driver(nic));
	return 0;
}

static int ep_close_fid(struct fid *fid)
{
	struct emu_ep *ep = (struct emu_ep *)fid;
	int err;

	if (ep->dev && domain_usable(ep->domain)) {
		err = drain_and_close(ep);
		if (err)
			return err;
	}
	ep_unbind(ep);
	domain_put(ep->domain, &ep->domain->eps);
	free(ep);
	return 0;
}

/* FI_GETOPSFLAG, FI_SETOPSFLAG: the word says by FI_TRANSMIT or FI_RECV which side is meant. */
static int ep_ops_flags(struct emu_ep *ep, uint64_t *word, bool set)
{
	uint64_t side = word ? *word & (FI_TRANSMIT | FI_RECV) : 0;
	uint64_t flags = word ? *word & ~side : 0;
	bool     tx = side == FI_TRANSMIT;

	if (!word || (side != FI_TRANSMIT && side != FI_RECV))
		return -FI_EINVAL;
	if (!set) {
		*word = side | (tx ? ep->tx_flags : ep->rx_flags);
		return 0;
	}
	if (flags & ~(tx ? DATA_TX_DEFAULTS : DATA_RX_DEFAULTS))
		return -FI_EBADFLAGS;
	*(tx ? &ep->tx_flags : &ep->rx_flags) = flags;
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct emu_ep *ep = (struct emu_ep *)fid;

	switch (command) {
	case FI_ENABLE:
		return ep_enable(ep);
	case FI_GETOPSFLAG:
		return ep_ops_flags(ep, arg, false);
	case FI_SETOPSFLAG:
		return ep_ops_flags(ep, arg, true);
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = ep_close_fid,
	.bind = emu_ep_bind,
	.control = ep_control,
	.ops_open = stub_ops_open,
	.tostr = stub_tostr,
	.ops_set = stub_ops_set,
};

static size_t limit(size_t given, size_t most)
{
	return given ? given : most;
}

/* The info is the program's by now: everything in it is checked again. */
static int take_info(struct emu_ep *ep, const struct fi_info *info)
{
	const struct attr_table *attr = ep->domain->attr;
	const struct fi_tx_attr *tx = info->tx_attr;
	const struct fi_rx_attr *rx = info->rx_attr;

	if ((info->caps & ~attr->caps) ||
	    (info->ep_attr && info->ep_attr->type != FI_EP_UNSPEC && info->ep_attr->type != FI_EP_RDM))
		return -FI_EINVAL;
	ep->caps = info->caps ? caps_complete(info->caps) : attr->caps;
	ep->tx_flags = tx ? tx->op_flags : 0;
	ep->rx_flags = rx ? rx->op_flags : 0;
	ep->tx_order = tx ? tx->msg_order : attr->msg_order;
	ep->inject_size = limit(tx ? tx->inject_size : 0, attr->inject_size);
	ep->tx_iov_limit = limit(tx ? tx->iov_limit : 0, attr->iov_limit);
	ep->rma_iov_limit = limit(tx ? tx->rma_iov_limit : 0, attr->rma_iov_limit);
	ep->rx_iov_limit = limit(rx ? rx->iov_limit : 0, attr->iov_limit);
	ep->tx_size = limit(tx ? tx->size : 0, attr->tx_size);
	ep->rx_size = limit(rx ? rx->size : 0, attr->rx_size);
	ep->max_msg_size = attr->max_msg_size;
	if ((ep->tx_flags & ~DATA_TX_DEFAULTS) || (ep->rx_flags & ~DATA_RX_DEFAULTS) ||
	    (ep->tx_order & ~attr->msg_order) || ep->inject_size > attr->inject_size ||
	    ep->tx_iov_limit > attr->iov_limit || ep->rma_iov_limit > attr->rma_iov_limit ||
	    ep->rx_iov_limit > attr->iov_limit || ep->tx_size > attr->tx_size || ep->rx_size > attr->rx_size)
		return -FI_EINVAL;
	return 0;
}

/* The own address: as the info says, else the first that this machine has. Never a wildcard: it is told to peers. */
static int choose_address(struct emu_ep *ep, const struct fi_info *info)
{
	int family = addr_family(ep->domain->addr_format);
	const struct sockaddr *given = info->src_addr;
	struct local_addr *local;
	struct settings settings;
	uint16_t port = 0;
	size_t count;
	int    err;

	if (given) {
		if (info->src_addrlen < sizeof(*given) || !addr_size(given) || info->src_addrlen < addr_size(given))
			return -FI_EINVAL;
		memcpy(&ep->at, given, addr_size(given));
		if (!addr_is_wildcard(&ep->at))
			return 0;
		port = addr_port(&ep->at);
		family = given->sa_family;
	}
	err = settings_read(&settings);
	if (!err)
		err = addr_local(settings.iface, family, &local, &count);
	if (err)
		return err;
	if (count) {
		ep->at = local[0].addr;
		addr_set_port(&ep->at, port);
	}
	free(local);
	return count ? 0 : -FI_EADDRNOTAVAIL;
}

int emu_ep_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **out, void *context)
{
	struct emu_domain *domain = emu_domain(fid);
	struct emu_ep *ep;
	int err;

	if (!info || !out)
		return -FI_EINVAL;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -FI_ENOMEM;
	ep->domain = domain;
	err = take_info(ep, info);
	if (!err)
		err = choose_address(ep, info);
	if (!err)
		err = domain_get(domain, &domain->eps, domain->attr->ep_cnt, "endpoints");
	if (err) {
		free(ep);
		return err;
	}
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.ops = &emu_ep_ops;
	ep->fid.cm = &emu_ep_cm_ops;
	ep->fid.msg = &emu_msg_ops;
	ep->fid.rma = &emu_rma_ops;
	ep->fid.tagged = &stub_tagged;
	ep->fid.atomic = &stub_atomic;
	ep->fid.collective = &stub_collective;
	*out = &ep->fid;
	return 0;
}

int emu_ep_open2(struct fid_domain *fid, struct fi_info *info, struct fid_ep **ep, uint64_t flags, void *context)
{
	return flags ? -FI_EBADFLAGS : emu_ep_open(fid, info, ep, context);
}
