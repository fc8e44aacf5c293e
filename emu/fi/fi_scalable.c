/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_scalable.c - scalable endpoints and their contexts. */
#include "emu/fi/fi_scalable.h"

#include <errno.h>
#include <pthread.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emu/fi/fi_addr.h"
#include "emu/fi/fi_av.h"
#include "emu/fi/fi_close_policy.h"
#include "emu/fi/fi_data.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_ep.h"
#include "emu/fi/fi_negotiate.h"
#include "emu/fi/fi_prov.h"
#include "emu/fi/fi_stubs.h"

#define MESSAGES (FI_MSG | FI_TAGGED)
#define TARGETS	 (FI_RMA | FI_ATOMIC)
#define TX_CAPS	 (FI_SEND | FI_READ | FI_WRITE)
#define RX_CAPS	 (FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)

enum { TRIES = 64 };	/* to find so many ports in a row */

struct emu_scalable {
	struct emu_ep ep;		/* first; without a device endpoint */
	pthread_mutex_t lock;		/* of all below */
	size_t tx_count, rx_count;
	struct emu_ep *tx[LIMIT_CONTEXTS], *rx[LIMIT_CONTEXTS];	/* those that are open */
	int  held[LIMIT_CONTEXTS];	/* sockets that hold the ports; -1: none */
	bool named;			/* all are held */
	unsigned int open;		/* contexts */
};

static struct emu_scalable *scalable_of(struct emu_ep *ep)
{
	return (struct emu_scalable *)ep;
}

/* --- the address --- */

/* A port that nobody else is given; who listens there uses SO_REUSEADDR, too. The descriptor, or -errno. */
static int hold_port(struct sockaddr_storage *at)
{
	int fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, err;
	socklen_t length = sizeof(*at);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, (struct sockaddr *)at, (socklen_t)addr_size((struct sockaddr *)at)) &&
	    !getsockname(fd, (struct sockaddr *)at, &length))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static void let_go(struct emu_scalable *sep)
{
	for (size_t i = 0; i < LIMIT_CONTEXTS; i++) {
		if (sep->held[i] >= 0)
			close(sep->held[i]);
		sep->held[i] = -1;
	}
}

/* The first port as in `at`, and those above. 0 or -errno, and what is held is held. */
static int hold_ports(struct emu_scalable *sep, struct sockaddr_storage *at)
{
	uint16_t first = 0;

	for (size_t i = 0; i < sep->rx_count; i++) {
		struct sockaddr_storage one = *at;

		if (i > 0 && first + i > UINT16_MAX)
			return -EADDRINUSE;
		if (i > 0)
			addr_set_port(&one, (uint16_t)(first + i));
		sep->held[i] = hold_port(&one);
		if (sep->held[i] < 0)
			return sep->held[i];
		if (i == 0)
			first = addr_port(&one);
	}
	addr_set_port(at, first);
	return 0;
}

/* With the lock. */
static int take_name(struct emu_scalable *sep)
{
	struct sockaddr_storage at;
	int err = -EADDRINUSE;

	if (sep->named)
		return 0;
	for (int i = 0; i < TRIES && err == -EADDRINUSE; i++) {
		at = sep->ep.at;
		err = hold_ports(sep, &at);
		if (err)
			let_go(sep);
		if (addr_port(&sep->ep.at))
			break; /* this one or none */
	}
	if (err) {
		EMU_WARN(EP_CTRL, "no %zu ports in a row for the receive contexts: %s\n", sep->rx_count, fi_strerror(-err));
		return err;
	}
	sep->ep.at = at;
	sep->named = true;
	return 0;
}

bool scalable_named(const struct emu_ep *ep)
{
	return ep->fid.fid.fclass == FI_CLASS_SEP && ((const struct emu_scalable *)ep)->named;
}

/* --- contexts --- */

int scalable_enable(struct emu_ep *context)
{
	struct emu_scalable *sep = scalable_of(context->scalable);
	int err = sep->ep.av ? 0 : -FI_ENOAV;

	pthread_mutex_lock(&sep->lock);
	if (!err)
		err = take_name(sep);
	pthread_mutex_unlock(&sep->lock);
	if (err)
		return err;
	context->at = sep->ep.at;
	addr_set_port(&context->at, context->fid.fid.fclass == FI_CLASS_RX_CTX ?
		      (uint16_t)(addr_port(&sep->ep.at) + context->index) : 0);
	if (!context->av) {
		av_get(sep->ep.av->av);
		context->av = sep->ep.av;
	}
	return 0;
}

void scalable_forget(struct emu_ep *context)
{
	struct emu_scalable *sep = scalable_of(context->scalable);

	pthread_mutex_lock(&sep->lock);
	(context->fid.fid.fclass == FI_CLASS_TX_CTX ? sep->tx : sep->rx)[context->index] = NULL;
	sep->open--;
	pthread_mutex_unlock(&sep->lock);
}

/* One side of the scalable endpoint. `caps`: asked by the context's attributes, 0: all. */
static struct emu_ep *context_new(struct emu_scalable *sep, size_t class, unsigned int index, uint64_t caps,
				  void *fid_context)
{
	uint64_t other = class == FI_CLASS_TX_CTX ? RX_CAPS | FI_RMA_EVENT | FI_DIRECTED_RECV | FI_SOURCE | ATTR_CAPS_2_0 : TX_CAPS;
	struct emu_ep *ep = calloc(1, sizeof(*ep));

	if (!ep)
		return NULL;
	ep_tables(ep);
	ep->domain = sep->ep.domain;
	ep->scalable = &sep->ep;
	ep->index = index;
	ep->caps = sep->ep.caps & ~other;
	if (caps)
		ep->caps &= caps_complete(caps) & ~other;
	ep->auth = sep->ep.auth;
	ep->max_msg_size = sep->ep.max_msg_size;
	ep->tx_flags = sep->ep.tx_flags;
	ep->rx_flags = sep->ep.rx_flags;
	ep->tx_order = sep->ep.tx_order;
	ep->inject_size = sep->ep.inject_size;
	ep->tx_iov_limit = sep->ep.tx_iov_limit;
	ep->rma_iov_limit = sep->ep.rma_iov_limit;
	ep->rx_iov_limit = sep->ep.rx_iov_limit;
	ep->tx_size = sep->ep.tx_size;
	ep->rx_size = sep->ep.rx_size;
	atomic_init(&ep->min_multi_recv, LIMIT_MIN_MULTI_RECV);
	ep->fid.fid.fclass = class;
	ep->fid.fid.context = fid_context;
	return ep;
}

/* Puts it into its place: 0 and *out; else it is freed. */
static int context_add(struct emu_scalable *sep, struct emu_ep **place, struct emu_ep *ep, struct fid_ep **out)
{
	struct emu_domain *domain = sep->ep.domain;
	atomic_uint *kind = ep->fid.fid.fclass == FI_CLASS_TX_CTX ? &domain->tx_contexts : &domain->rx_contexts;
	int err = domain_get(domain, kind, domain->attr->ctx_cnt, "contexts");

	if (err) {
		free(ep);
		return err;
	}
	pthread_mutex_lock(&sep->lock);
	if (*place) {
		err = -FI_EBUSY;
	} else {
		*place = ep;
		sep->open++;
	}
	pthread_mutex_unlock(&sep->lock);
	if (err) {
		domain_put(domain, kind);
		free(ep);
		return err;
	}
	*out = &ep->fid;
	return 0;
}

int emu_tx_context(struct fid_ep *fid, int index, struct fi_tx_attr *attr, struct fid_ep **out, void *context)
{
	struct emu_scalable *sep = scalable_of(emu_ep(fid));
	struct emu_ep *ep;

	if (fid->fid.fclass != FI_CLASS_SEP)
		return -FI_ENOSYS;
	if (!out || index < 0 || (size_t)index >= sep->tx_count)
		return -FI_EINVAL;
	ep = context_new(sep, FI_CLASS_TX_CTX, (unsigned int)index, attr ? attr->caps : 0, context);
	if (!ep)
		return -FI_ENOMEM;
	if (attr && ep_take_tx(ep, attr)) {
		free(ep);
		return -FI_EINVAL;
	}
	if (attr) {	/* what it has (fi_endpoint(3)) */
		attr->caps = ep->caps;
		attr->inject_size = ep->inject_size;
		attr->size = ep->tx_size;
		attr->iov_limit = ep->tx_iov_limit;
		attr->rma_iov_limit = ep->rma_iov_limit;
	}
	return context_add(sep, &sep->tx[index], ep, out);
}

int emu_rx_context(struct fid_ep *fid, int index, struct fi_rx_attr *attr, struct fid_ep **out, void *context)
{
	struct emu_scalable *sep = scalable_of(emu_ep(fid));
	struct emu_ep *ep;

	if (fid->fid.fclass != FI_CLASS_SEP)
		return -FI_ENOSYS;
	if (!out || index < 0 || (size_t)index >= sep->rx_count)
		return -FI_EINVAL;
	ep = context_new(sep, FI_CLASS_RX_CTX, (unsigned int)index, attr ? attr->caps : 0, context);
	if (!ep)
		return -FI_ENOMEM;
	if (attr && ep_take_rx(ep, attr)) {
		free(ep);
		return -FI_EINVAL;
	}
	if (attr) {
		attr->caps = ep->caps;
		attr->size = ep->rx_size;
		attr->iov_limit = ep->rx_iov_limit;
	}
	return context_add(sep, &sep->rx[index], ep, out);
}

/* --- the endpoint --- */

static int sep_close(struct fid *fid)
{
	struct emu_scalable *sep = (struct emu_scalable *)fid;
	struct emu_domain *domain = sep->ep.domain;
	int err = 0;

	if (sep->open)
		return -FI_EBUSY;
	if (domain_usable(domain))
		err = close_end_check(domain, &sep->ep.bonds, "endpoint");
	if (err)
		return err;
	if (domain_usable(domain))
		close_end(domain, &sep->ep.bonds);
	ep_unbind(&sep->ep);
	let_go(sep);
	domain_put(domain, &domain->eps);
	pthread_mutex_destroy(&sep->lock);
	free(sep);
	return 0;
}

/* An address vector, which is that of all its contexts. */
static int sep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	return bfid && bfid->fclass == FI_CLASS_AV ? emu_ep_bind(fid, bfid, flags) : -FI_EINVAL;
}

static int sep_control(struct fid *fid, int command, void *arg)
{
	struct emu_scalable *sep = (struct emu_scalable *)fid;
	int err;

	(void)arg;
	if (command != FI_ENABLE)
		return -FI_ENOSYS;
	if (!domain_usable(sep->ep.domain))
		return -FI_ENODEV;
	if (!sep->ep.av)
		return -FI_ENOAV;
	pthread_mutex_lock(&sep->lock);
	err = take_name(sep);
	pthread_mutex_unlock(&sep->lock);
	return err;
}

static struct fi_ops sep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = sep_close,
	.bind = sep_bind,
	.control = sep_control,
	.ops_open = stub_ops_open,
	.tostr = stub_tostr,
	.ops_set = stub_ops_set,
};

static size_t at_least_one(size_t asked)
{
	return asked ? asked : 1;
}

int emu_scalable_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **out, void *context)
{
	struct emu_domain *domain = emu_domain(fid);
	struct emu_scalable *sep;
	int err;

	if (!info || !out)
		return -FI_EINVAL;
	sep = calloc(1, sizeof(*sep));
	if (!sep)
		return -FI_ENOMEM;
	sep->ep.domain = domain;
	sep->tx_count = at_least_one(info->ep_attr ? info->ep_attr->tx_ctx_cnt : 0);
	sep->rx_count = at_least_one(info->ep_attr ? info->ep_attr->rx_ctx_cnt : 0);
	err = sep->tx_count > LIMIT_CONTEXTS || sep->rx_count > LIMIT_CONTEXTS ? -FI_EINVAL : ep_init(&sep->ep, info);
	if (!err && attr_type(sep->ep.type)->contexts == 1)
		err = -FI_EINVAL;
	if (!err)
		err = domain_get(domain, &domain->eps, domain->attr->ep_cnt, "endpoints");
	if (err) {
		free(sep);
		return err;
	}
	for (size_t i = 0; i < LIMIT_CONTEXTS; i++)
		sep->held[i] = -1;
	pthread_mutex_init(&sep->lock, NULL);
	ep_tables(&sep->ep);
	sep->ep.fid.fid.fclass = FI_CLASS_SEP;
	sep->ep.fid.fid.context = context;
	sep->ep.fid.fid.ops = &sep_fid_ops;
	*out = &sep->ep.fid;
	return 0;
}
