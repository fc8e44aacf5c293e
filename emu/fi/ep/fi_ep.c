/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ep.c - the endpoint object: open, enable, close. */
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/ep/fi_ep_calls.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu/fi/domain/fi_auth.h"
#include "emu/fi/av/fi_av.h"
#include "emu/fi/personality/fi_attr.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/address/fi_addr.h"
#include "emu/fi/personality/fi_settings.h"
#include "emu/fi/provider/fi_words.h"
#include "emu/fi/provider/fi_kernel.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_registry.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/fi/provider/fi_watched.h"
#include "emu/fi/queues/fi_queues.h"
#include "emu/fi/queues/fi_eq.h"
#include "emu/process/report/report.h"

#define MESSAGES (FI_MSG | FI_TAGGED)
#define INITIATES(caps)                                                                                             \
	(((caps)&MESSAGES && (caps)&FI_SEND) || ((caps) & (FI_RMA | FI_ATOMIC) && (caps) & (FI_READ | FI_WRITE)) || \
	 (caps)&FI_COLLECTIVE)
#define TAGGED_TARGETS (EMU_FI_TAGGED_RMA | FI_RMA | FI_TAGGED | FI_RECV)
#define RECEIVES(caps) ((caps)&MESSAGES && (caps)&FI_RECV)

static uint32_t device_caps(uint64_t caps)
{
	static const struct {
		uint64_t with, cap;
		uint32_t bit;
	} map[] = {
		{ FI_MSG, FI_SEND, EP_SEND },
		{ FI_MSG, FI_RECV, EP_RECV },
		{ FI_TAGGED, FI_SEND, EP_TSEND },
		{ FI_TAGGED, FI_RECV, EP_TRECV },
		{ FI_RMA, FI_READ, EP_READ },
		{ FI_RMA, FI_WRITE, EP_WRITE },
		{ FI_RMA, FI_REMOTE_READ, EP_REMOTE_READ },
		{ FI_RMA, FI_REMOTE_WRITE, EP_REMOTE_WRITE },
		{ 0, FI_DIRECTED_RECV, EP_DIRECTED_RECV },
		{ 0, FI_SOURCE, EP_SOURCE },
		{ FI_SOURCE, FI_SOURCE_ERR, EP_SOURCE_ERR },
		{ 0, FI_RMA_EVENT, EP_RMA_EVENT },
		{ FI_ATOMIC, FI_REMOTE_READ, EP_REMOTE_ATOMIC_READ },
		{ FI_ATOMIC, FI_REMOTE_WRITE, EP_REMOTE_ATOMIC_WRITE },
		{ TAGGED_TARGETS, FI_REMOTE_READ, EP_TAGGED_READ },
		{ TAGGED_TARGETS, FI_REMOTE_WRITE, EP_TAGGED_WRITE },
		{ 0, FI_COLLECTIVE, EP_COLLECTIVE },
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
	/* That of all accesses is also that of RMA, and that of atomics. */
	static const struct {
		uint64_t fi;
		uint32_t device;
	} pairs[] = {
		{ FI_ORDER_RAS, EP_ORDER_RAS },
		{ FI_ORDER_WAS, EP_ORDER_WAS },
		{ FI_ORDER_SAR, EP_ORDER_SAR },
		{ FI_ORDER_SAW, EP_ORDER_SAW },
		{ FI_ORDER_SAS, EP_ORDER_SAS },
		{ FI_ORDER_RAR, EP_ORDER_RAR | EP_ORDER_RMA_RAR | EP_ORDER_ATOMIC_RAR },
		{ FI_ORDER_RAW, EP_ORDER_RAW | EP_ORDER_RMA_RAW | EP_ORDER_ATOMIC_RAW },
		{ FI_ORDER_WAR, EP_ORDER_WAR | EP_ORDER_RMA_WAR | EP_ORDER_ATOMIC_WAR },
		{ FI_ORDER_WAW, EP_ORDER_WAW | EP_ORDER_RMA_WAW | EP_ORDER_ATOMIC_WAW },
		{ FI_ORDER_RMA_RAR, EP_ORDER_RMA_RAR },
		{ FI_ORDER_RMA_RAW, EP_ORDER_RMA_RAW },
		{ FI_ORDER_RMA_WAR, EP_ORDER_RMA_WAR },
		{ FI_ORDER_RMA_WAW, EP_ORDER_RMA_WAW },
		{ FI_ORDER_ATOMIC_RAR, EP_ORDER_ATOMIC_RAR },
		{ FI_ORDER_ATOMIC_RAW, EP_ORDER_ATOMIC_RAW },
		{ FI_ORDER_ATOMIC_WAR, EP_ORDER_ATOMIC_WAR },
		{ FI_ORDER_ATOMIC_WAW, EP_ORDER_ATOMIC_WAW },
	};
	uint32_t bits = order ? 0 : EP_ORDER_NONE;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		bits |= order & pairs[i].fi ? pairs[i].device : 0;
	return bits;
}

static void fill_attr(struct emu_ep *ep, struct ep_attr *attr)
{
	*attr = (struct ep_attr){
		.pd = ep->domain->pd,
		.av = ep->av ? ep->av->av : NULL,
		.cm = ep->type == FI_EP_MSG ? &emu_ep_cm_events : NULL,
		.datagrams = ep->type == FI_EP_DGRAM,
		.tx_cq = ep->tx_cq ? ep->tx_cq->cq : NULL,
		.rx_cq = ep->rx_cq ? ep->rx_cq->cq : NULL,
		.caps = device_caps(ep->scalable ? ep->caps & ~FI_COLLECTIVE : ep->caps) |
			(ep->domain->caps & EMU_FI_REGION_EVENTS ? EP_REGION_EVENTS : 0) |
			(check_wants_accesses(&ep->primary->fid) ? EP_WATCHED : 0),
		.order = ep->domain->rc_order ? EP_ORDER_ALL : device_order(ep->tx_order),
		.tx_size = (uint32_t)ep->tx_size,
		.rx_size = (uint32_t)ep->rx_size,
		.stx = ep->stx ? ep->stx->dev : NULL,
		.srx = ep->srx ? ep->srx->rx_dev : NULL,
		.rx_selective = ep->rx_selective,
		.auth = ep->auth,
		.auths = ep->auths,
		.bindings = ep->scalable && !ep->bindings.whole ? &ep->scalable->bindings : &ep->bindings,
		.known_port = ep->scalable ? (uint16_t)(addr_port(&ep->scalable->at) - ep->scalable->port_shift) : 0,
		.port_shift = ep->scalable ? ep->scalable->port_shift : 0,
		.at = ep->at,
		.tag = AV_NONE,
		.owner = (void *)(uintptr_t)ep,
	};
	for (int i = 0; i < EP_CNTRS; i++)
		attr->cntr[i] = ep->cntr[i] ? ep->cntr[i]->cntr : NULL;
}

static int take_keys(struct emu_ep *ep)
{
	if (!ep->domain->av_auth)
		return 0;
	ep->auths = av_auth_all(ep->av->keys, NULL, &ep->auths_used);
	return ep->auths ? 0 : -FI_ENOMEM;
}

static void give_keys(struct emu_ep *ep)
{
	if (ep->auths)
		av_auth_give(ep->av->keys, ep->auths_used);
	free(ep->auths);
	ep->auths = NULL;
}

/* Checks for the bindings that an endpoint needs. */
static int ep_check_bound(const struct emu_ep *ep)
{
	if (ep->type == FI_EP_MSG && !ep->eq)
		return REFUSE(EP_CTRL, -FI_ENOEQ,
			      "fi_enable: an endpoint of type FI_EP_MSG needs an event queue. Bind one "
			      "with fi_ep_bind first.");
	if (ep->type != FI_EP_MSG && !ep->av)
		return REFUSE(EP_CTRL, -FI_ENOAV,
			      "fi_enable: the endpoint needs an address vector. Bind one with fi_ep_bind "
			      "first.");
	if (INITIATES(ep->caps) && !ep->tx_cq)
		return REFUSE(EP_CTRL, -FI_ENOCQ,
			      "fi_enable: the endpoint has no completion queue for what it sends, reads and "
			      "writes. Bind one by fi_ep_bind with FI_TRANSMIT first.");
	if (RECEIVES(ep->caps) && !ep->rx_cq)
		return REFUSE(EP_CTRL, -FI_ENOCQ,
			      "fi_enable: the endpoint has no completion queue for what it receives. Bind "
			      "one by fi_ep_bind with FI_RECV first, or open it without FI_RECV.");
	if ((ep->tx_shared && !ep->stx) || (ep->rx_shared && !ep->srx))
		return REFUSE(EP_CTRL, -FI_EOPBADSTATE,
			      "fi_enable: the endpoint was opened with FI_SHARED_CONTEXT. Bind the "
			      "shared context by fi_ep_bind first.");
	return 0;
}

int emu_ep_enable(struct emu_ep *ep)
{
	struct nic *nic = ep->domain->nic;
	struct ep_attr attr;
	int err;

	if (!domain_usable(ep->domain))
		return refuse_inherited("fi_enable");
	if (ep->dev)
		return REFUSE(EP_CTRL, -FI_EOPBADSTATE, "fi_enable: the endpoint is enabled already.");
	if (ep->scalable) {
		err = scalable_enable(ep);
		if (err)
			return err;
	}
	err = ep_check_bound(ep);
	if (!err)
		err = take_keys(ep);
	if (err)
		return err;
	fill_attr(ep, &attr);
	if (!driver_enter(nic_driver(nic))) {
		give_keys(ep);
		return -FI_EAGAIN;
	}
	if (ep->type == FI_EP_DGRAM)
		own_port_free(&ep->port);
	err = ep_open(nic, &attr, &ep->dev);
	if (!err)
		own_port_free(&ep->port);
	driver_leave(nic_driver(nic));
	ep->open_caps = err ? 0 : ep->caps;
	ep_tell_aliases(ep);
	if (err) {
		char text[80];

		give_keys(ep);
		addr_text((const struct sockaddr *)&ep->at, text, sizeof(text));
		REFUSE(EP_CTRL, err, "fi_enable: no endpoint can be at %s: %s.", text, fi_strerror(-err));
	}
	return err;
}

/* Slices, with the role given up between them. */
int ep_drained(struct nic *nic, struct ep *dev) UNCHECKED /* the loop is left with the role */
{
	static const struct timespec pause = { .tv_nsec = 50000 };
	struct timespec now;
	uint64_t end = 0;

	for (;;) {
		if (!driver_enter(nic_driver(nic)))
			return -FI_EAGAIN;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (!end)
			end = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + TIME_BYE_NS;
		if (ep_quiet(dev) || (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec > end)
			return 0;
		nic_work(nic);
		driver_leave(nic_driver(nic));
		nanosleep(&pause, NULL);
	}
}

static int drain_and_close(struct emu_ep *ep)
{
	int err = ep_drained(ep->domain->nic, ep->dev);

	if (err)
		return err;
	ep_close(ep->dev);
	driver_leave(nic_driver(ep->domain->nic));
	if (ep->eq)
		emu_eq_withdraw(ep->eq, &ep->fid.fid);
	return 0;
}

static int ep_close_device(struct emu_ep *ep)
{
	int err = close_end_check(ep->domain, &ep->bindings, "endpoint");

	if (!err && ep->dev)
		err = drain_and_close(ep);
	if (!err)
		close_end(ep->domain, &ep->bindings);
	return err;
}

static atomic_uint *counted_as(const struct emu_ep *ep)
{
	switch (ep->fid.fid.fclass) {
	case FI_CLASS_TX_CTX:
		return &ep->domain->tx_contexts;
	case FI_CLASS_RX_CTX:
		return &ep->domain->rx_contexts;
	default:
		return &ep->domain->eps;
	}
}

/* In a fork's child only the object goes. */
int emu_ep_close(struct fid *fid)
{
	struct emu_ep *ep = (struct emu_ep *)fid;
	int err;

	if (ep->aliases)
		return REFUSE(EP_CTRL, -FI_EBUSY, "fi_close: the endpoint has aliases (fi_ep_alias). Close them first.");
	if (ep->groups && domain_usable(ep->domain))
		return REFUSE(EP_CTRL, -FI_EBUSY, "fi_close: the endpoint is in groups (fi_join_collective). Close them first.");
	err = domain_usable(ep->domain) ? ep_close_device(ep) : 0;
	if (err)
		return err;
	give_keys(ep);
	ep_unbind(ep);
	if (ep->scalable)
		scalable_forget(ep);
	own_port_free(&ep->port);
	domain_put(ep->domain, counted_as(ep));
	free(ep);
	return 0;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = emu_ep_close,
	.bind = emu_ep_bind,
	.control = emu_ep_control,
	STUB_FID_OPS,
};

static size_t limit(size_t given, size_t most)
{
	return given ? given : most;
}

/* And takes the request that it shall accept, or the address of a passive endpoint. */
static int take_type(struct emu_ep *ep, const struct fi_info *info)
{
	const struct attr_table *attr = ep->domain->attr;
	const struct attr_type *type;

	ep->type = info->ep_attr && info->ep_attr->type != FI_EP_UNSPEC ? info->ep_attr->type : FI_EP_RDM;
	type = attr_type(ep->type);
	if (!type || info->caps & ~attr_type_caps(attr, type, ep->domain->api))
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_endpoint: info->ep_attr->type or info->caps %#llx is not offered. Pass "
			      "an info as fi_getinfo gave it.",
			      (unsigned long long)info->caps);
	ep->caps = info->caps ? caps_complete(info->caps) : attr_type_caps(attr, type, ep->domain->api) & ~ATTR_CAPS_ASKED;
	ep->max_msg_size = attr_type_message(attr, type);
	if (ep->type != FI_EP_MSG)
		return 0;
	if (ep->domain->av_auth)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_endpoint: the domain has FI_AV_AUTH_KEY, and FI_EP_MSG has no address "
			      "vector to hold keys.");
	if (info->handle && !connreq_find(info->handle, &ep->request) && !registry_is_a(FI_CLASS_PEP, info->handle))
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_endpoint: info->handle is neither a connection request that waits for an "
			      "answer nor an open passive endpoint.");
	return 0;
}

/* Refuses default flags of the operations of one side; `side`: "transmit". */
__attribute__((cold)) static int refuse_defaults(const char *side, uint64_t flags)
{
	char names[FLAG_NAMES_MAX];

	return REFUSE(EP_CTRL, -FI_EINVAL,
		      "%s attributes: op_flags has %#llx (%s), which is not offered. Pass what fi_getinfo gave.", side,
		      (unsigned long long)flags, flag_names(flags, FI_TYPE_OP_FLAGS, names));
}

int ep_take_tx(struct emu_ep *ep, const struct fi_tx_attr *tx)
{
	const struct attr_table *attr = ep->domain->attr;
	uint64_t order = ep->type == FI_EP_DGRAM ? 0 : attr->msg_order;

	ep->tx_flags = tx ? tx->op_flags : 0;
	ep->tx_order = tx ? tx->msg_order : order;
	ep->inject_size = limit(tx ? tx->inject_size : 0, attr->inject_size);
	ep->tx_iov_limit = limit(tx ? tx->iov_limit : 0, attr->iov_limit);
	ep->rma_iov_limit = limit(tx ? tx->rma_iov_limit : 0, attr->rma_iov_limit);
	ep->tx_size = limit(tx ? tx->size : 0, attr->tx_size);
	if (ep->tx_flags & ~data_tx_defaults(ep))
		return refuse_defaults("transmit", ep->tx_flags & ~data_tx_defaults(ep));
	if (ep->tx_order & ~order)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "transmit attributes: msg_order has %#llx, which is not offered. Pass what fi_getinfo gave.",
			      (unsigned long long)(ep->tx_order & ~order));
	if (ep->inject_size > attr->inject_size || ep->tx_iov_limit > attr->iov_limit || ep->rma_iov_limit > attr->rma_iov_limit ||
	    ep->tx_size > attr->tx_size)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "transmit attributes: inject_size %zu, iov_limit %zu, rma_iov_limit %zu, size "
			      "%zu, at most %zu, %zu, %zu, %zu are offered. Pass what fi_getinfo gave.",
			      ep->inject_size, ep->tx_iov_limit, ep->rma_iov_limit, ep->tx_size, attr->inject_size, attr->iov_limit,
			      attr->rma_iov_limit, attr->tx_size);
	return 0;
}

int ep_take_rx(struct emu_ep *ep, const struct fi_rx_attr *rx)
{
	const struct attr_table *attr = ep->domain->attr;
	uint64_t known = DATA_RX_DEFAULTS | caps_multi(ep->caps);

	ep->rx_flags = rx ? rx->op_flags : 0;
	ep->rx_iov_limit = limit(rx ? rx->iov_limit : 0, attr->iov_limit);
	ep->rx_size = limit(rx ? rx->size : 0, attr->rx_size);
	atomic_init(&ep->min_multi_recv, LIMIT_MIN_MULTI_RECV);
	if (ep->rx_flags & ~known)
		return refuse_defaults("receive", ep->rx_flags & ~known);
	if (ep->rx_iov_limit > attr->iov_limit || ep->rx_size > attr->rx_size)
		return REFUSE(
			EP_CTRL, -FI_EINVAL,
			"receive attributes: iov_limit %zu, size %zu, at most %zu, %zu are offered. Pass what fi_getinfo gave.",
			ep->rx_iov_limit, ep->rx_size, attr->iov_limit, attr->rx_size);
	return 0;
}

/* One context a side, or a shared one. */
static int take_contexts(struct emu_ep *ep, const struct fi_ep_attr *attr)
{
	size_t tx = attr ? attr->tx_ctx_cnt : 0, rx = attr ? attr->rx_ctx_cnt : 0;

	ep->tx_shared = tx == FI_SHARED_CONTEXT;
	ep->rx_shared = rx == FI_SHARED_CONTEXT;
	if ((!ep->tx_shared && tx > 1) || (!ep->rx_shared && rx > 1))
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_endpoint: %zu transmit and %zu receive contexts. An endpoint has one of "
			      "each; fi_scalable_ep opens more.",
			      tx, rx);
	return 0;
}

/* The program may have changed the info: everything in it is checked again. */
static int take_info(struct emu_ep *ep, const struct fi_info *info)
{
	int err = take_type(ep, info);

	if (err)
		return err;
	err = ep_take_tx(ep, info->tx_attr);
	if (!err)
		err = ep_take_rx(ep, info->rx_attr);
	ep->auth = ep->domain->auth;
	ep->tag_format = tag_format(ep->domain, info);
	if (err || !info->ep_attr || !auth_known(ep->domain->api))
		return err;
	return auth_take(ep->domain, "fi_endpoint", info->ep_attr->auth_key, info->ep_attr->auth_key_size, &ep->auth);
}

int ep_init(struct emu_ep *ep, const struct fi_info *info)
{
	int err = take_info(ep, info);

	if (err || emu_pep_address(info->handle, &ep->at))
		return err;
	return own_address(info, ep->domain->addr_format, &ep->at);
}

void ep_tables(struct emu_ep *ep)
{
	ep->primary = ep;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.ops = &emu_ep_ops.base;
	ep->fid.cm = &emu_ep_cm_ops;
	ep->fid.msg = &emu_msg_ops;
	ep->fid.rma = &emu_rma_ops;
	ep->fid.tagged = &emu_tagged_ops;
	ep->fid.atomic = &emu_atomic_ops;
	ep->fid.collective = &emu_collective_ops;
	if (report_on() || nic_fault_fills(ep->domain->nic))
		check_ep_tables(&ep->fid); /* whose posts are watched */
	tag_format_tables(ep);
}

int emu_ep_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **out, void *context)
{
	struct emu_domain *domain = emu_domain(fid);
	struct emu_ep *ep;
	int err;

	if (!info || !out)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_endpoint: info or ep is NULL.");
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -FI_ENOMEM;
	ep->domain = domain;
	err = ep_init(ep, info);
	if (!err)
		err = take_contexts(ep, info->ep_attr);
	if (!err)
		err = domain_get(domain, &domain->eps, domain->attr->ep_cnt, "fi_endpoint");
	if (err) {
		free(ep);
		return err;
	}
	ep_tables(ep);
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	*out = &ep->fid;
	return 0;
}

int emu_ep_open2(struct fid_domain *fid, struct fi_info *info, struct fid_ep **ep, uint64_t flags, void *context)
{
	return flags ? REFUSE_FLAGS(EP_CTRL, "fi_endpoint2", flags) : emu_ep_open(fid, info, ep, context);
}
