/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_scalable.c - scalable endpoints and their contexts. */
#include "emu/fi/ep/fi_ep.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emu/fi/av/fi_av.h"
#include "emu/fi/personality/fi_attr.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep_calls.h"
#include "emu/fi/address/fi_addr.h"
#include "emu/fi/personality/fi_settings.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/nic/base/mutex.h"

#define MESSAGES (FI_MSG | FI_TAGGED)
#define TARGETS (FI_RMA | FI_ATOMIC)
#define TX_CAPS (FI_SEND | FI_READ | FI_WRITE)
#define RX_CAPS (FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)

enum { TRIES = 64 }; /* to find a row of free ports */

struct emu_scalable {
	struct emu_ep ep;  /* first; without a device endpoint */
	struct mutex lock; /* guards all below */
	size_t tx_count, rx_count;
	struct emu_ep *tx[LIMIT_CONTEXTS], *rx[LIMIT_CONTEXTS]; /* those that are open */
	int held[LIMIT_CONTEXTS];                               /* sockets that hold the ports; -1: none */
	bool named;                                             /* all are held */
	bool enabled;                                           /* it, or a context */
	unsigned int open;                                      /* contexts */
};

static struct emu_scalable *scalable_of(struct emu_ep *ep)
{
	return (struct emu_scalable *)ep;
}

/* --- the address --- */

/* Holds a port that the system then gives to nobody else; the context that listens there uses SO_REUSEADDR, too. Without `reuse`
 * the port must not be bound yet, even with SO_REUSEADDR. The descriptor, or -errno. */
static int hold_port(struct sockaddr_storage *at, bool reuse)
{
	int fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, err;
	socklen_t length = sizeof(*at);

	if (fd < 0)
		return -errno;
	if (reuse)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, (struct sockaddr *)at, (socklen_t)addr_size((struct sockaddr *)at)) &&
	    !getsockname(fd, (struct sockaddr *)at, &length)) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		return fd;
	}
	err = -errno;
	close(fd);
	return err;
}

static void scalable_release_ports(struct emu_scalable *sep)
{
	for (size_t i = 0; i < LIMIT_CONTEXTS; i++) {
		if (sep->held[i] >= 0)
			close(sep->held[i]);
		sep->held[i] = -1;
	}
}

static size_t held_ports(const struct emu_scalable *sep)
{
	size_t row = sep->ep.domain->attr->row_ports;

	return row && row < sep->rx_count ? row : sep->rx_count;
}

/* Holds the port in `at` and those above. 0; or -errno, and the ports held so far stay held. */
static int hold_ports(struct emu_scalable *sep, struct sockaddr_storage *at, bool reuse)
{
	uint16_t first = 0;

	for (size_t i = 0; i < held_ports(sep); i++) {
		struct sockaddr_storage one = *at;

		if (i > 0 && first + i > UINT16_MAX)
			return -EADDRINUSE;
		if (i > 0)
			addr_set_port(&one, (uint16_t)(first + i));
		sep->held[i] = hold_port(&one, reuse);
		if (sep->held[i] < 0)
			return sep->held[i];
		if (i == 0)
			first = addr_port(&one);
	}
	addr_set_port(at, first);
	return 0;
}

static int try_ports(struct emu_scalable *sep, struct sockaddr_storage *at, bool reuse)
{
	int err = hold_ports(sep, at, reuse);

	if (err)
		scalable_release_ports(sep);
	return err;
}

/* Tries the ports of FI_EMU_PORTS; as in bound_open(), those that were bound before come last. */
static int try_range(struct emu_scalable *sep, const struct bound_config *range, struct sockaddr_storage *at)
{
	int err = -EADDRINUSE;

	for (int reuse = 0; reuse < 2; reuse++) {
		for (size_t first = range->first; err == -EADDRINUSE && first + sep->rx_count - 1 <= range->last; first++) {
			addr_set_port(at, (uint16_t)first);
			err = try_ports(sep, at, reuse);
		}
	}
	return err;
}

static int take_name(struct emu_scalable *sep) REQUIRES(sep->lock)
{
	struct sockaddr_storage at = sep->ep.at;
	struct settings settings;
	int err;

	if (sep->named)
		return 0;
	err = settings_read(&settings);
	if (err)
		return err;
	if (addr_port(&at)) {
		err = try_ports(sep, &at, true); /* this one or none */
	} else if (settings.process.bound.first) {
		err = try_range(sep, &settings.process.bound, &at);
	} else {
		err = -EADDRINUSE;
		for (int i = 0; i < TRIES && err == -EADDRINUSE; i++) {
			at = sep->ep.at;
			err = try_ports(sep, &at, true);
		}
	}
	if (err)
		return REFUSE(EP_CTRL, err, "fi_enable or fi_setname: no %zu ports in a row for the receive contexts: %s.",
			      sep->rx_count, fi_strerror(-err));
	sep->ep.at = at;
	sep->named = true;
	return 0;
}

bool scalable_enabled(const struct emu_ep *ep)
{
	return ep->fid.fid.fclass == FI_CLASS_SEP && ((const struct emu_scalable *)ep)->enabled;
}

int scalable_name(struct emu_ep *ep, struct sockaddr_storage *at)
{
	struct emu_scalable *sep = scalable_of(ep);
	struct sockaddr_storage before;
	int err = 0;

	mutex_lock(&sep->lock);
	before = ep->at;
	scalable_release_ports(sep);
	sep->named = false;
	ep->at = *at;
	if (!addr_port(at))
		err = take_name(sep);
	*at = ep->at;
	if (err)
		ep->at = before;
	mutex_unlock(&sep->lock);
	return err;
}

/* fi_enable(): the name stays from now on. */
static int fix_name(struct emu_scalable *sep) REQUIRES(sep->lock)
{
	int err = take_name(sep);

	sep->enabled = sep->enabled || !err;
	return err;
}

/* --- contexts --- */

static int no_vector(void)
{
	return REFUSE(EP_CTRL, -FI_ENOAV,
		      "fi_enable: the scalable endpoint has no address vector. Bind one by "
		      "fi_scalable_ep_bind first.");
}

int scalable_enable(struct emu_ep *context)
{
	struct emu_scalable *sep = scalable_of(context->scalable);
	int err = sep->ep.av ? 0 : no_vector();

	mutex_lock(&sep->lock);
	if (!err)
		err = fix_name(sep);
	mutex_unlock(&sep->lock);
	if (err)
		return err;
	context->at = sep->ep.at;
	addr_set_port(&context->at,
		      context->fid.fid.fclass == FI_CLASS_RX_CTX ? (uint16_t)(addr_port(&sep->ep.at) + context->index) : 0);
	if (!context->av) {
		av_get(sep->ep.av->av);
		context->av = sep->ep.av;
	}
	return 0;
}

void scalable_forget(struct emu_ep *context)
{
	struct emu_scalable *sep = scalable_of(context->scalable);

	mutex_lock(&sep->lock);
	(context->fid.fid.fclass == FI_CLASS_TX_CTX ? sep->tx : sep->rx)[context->index] = NULL;
	sep->open--;
	mutex_unlock(&sep->lock);
}

/* One side of the scalable endpoint. `caps`: asked by the context's attributes, 0: all. */
static struct emu_ep *context_new(struct emu_scalable *sep, size_t class, unsigned int index, uint64_t caps, void *fid_context)
{
	uint64_t other = class == FI_CLASS_TX_CTX ? RX_CAPS | FI_RMA_EVENT | FI_DIRECTED_RECV | FI_SOURCE | ATTR_CAPS_2_0 : TX_CAPS;
	struct emu_ep *ep = calloc(1, sizeof(*ep));

	if (!ep)
		return NULL;
	ep->domain = sep->ep.domain;
	ep->tag_format = sep->ep.tag_format;
	ep_tables(ep);
	ep->scalable = &sep->ep;
	if (class == FI_CLASS_RX_CTX && ep->domain->attr->binds_contexts)
		ep->bindings.whole = &sep->ep.bindings;
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
	int err = domain_get(domain, kind, domain->attr->ctx_cnt, "fi_tx_context or fi_rx_context");

	if (err) {
		free(ep);
		return err;
	}
	mutex_lock(&sep->lock);
	if (*place) {
		err = REFUSE(EP_CTRL, -FI_EBUSY, "fi_tx_context or fi_rx_context: context %u is open already.", ep->index);
	} else {
		*place = ep;
		sep->open++;
	}
	mutex_unlock(&sep->lock);
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
		return refuse_missing("fi_tx_context", "Contexts are those of an endpoint opened by fi_scalable_ep");
	if (!out || index < 0 || (size_t)index >= sep->tx_count)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_tx_context: index %d, and the endpoint was opened with %zu contexts "
			      "(ep_attr->tx_ctx_cnt); or tx_ep is NULL.",
			      index, sep->tx_count);
	ep = context_new(sep, FI_CLASS_TX_CTX, (unsigned int)index, attr ? attr->caps : 0, context);
	if (!ep)
		return -FI_ENOMEM;
	if (attr && ep_take_tx(ep, attr)) {
		free(ep);
		return -FI_EINVAL;
	}
	if (attr) { /* returns the context's attributes (fi_endpoint(3)) */
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
		return refuse_missing("fi_rx_context", "Contexts are those of an endpoint opened by fi_scalable_ep");
	if (!out || index < 0 || (size_t)index >= sep->rx_count)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_rx_context: index %d, and the endpoint was opened with %zu contexts "
			      "(ep_attr->rx_ctx_cnt); or rx_ep is NULL.",
			      index, sep->rx_count);
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
		return REFUSE(EP_CTRL, -FI_EBUSY, "fi_close: open contexts of the scalable endpoint: %u. Close them first.",
			      sep->open);
	if (domain_usable(domain))
		err = close_end_check(domain, &sep->ep.bindings, "endpoint");
	if (err)
		return err;
	if (domain_usable(domain))
		close_end(domain, &sep->ep.bindings);
	ep_unbind(&sep->ep);
	scalable_release_ports(sep);
	domain_put(domain, &domain->eps);
	mutex_destroy(&sep->lock);
	free(sep);
	return 0;
}

/* Binds an address vector, for all contexts. */
static int sep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	if (!bfid || bfid->fclass != FI_CLASS_AV)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_scalable_ep_bind: a scalable endpoint takes an address vector. Bind "
			      "queues and counters to its contexts.");
	return emu_ep_bind(fid, bfid, flags);
}

static int sep_control(struct fid *fid, int command, void *arg)
{
	struct emu_scalable *sep = (struct emu_scalable *)fid;
	int err;

	(void)arg;
	if (command != FI_ENABLE)
		return refuse_command("a scalable endpoint", command);
	if (!domain_usable(sep->ep.domain))
		return refuse_inherited("fi_enable");
	if (!sep->ep.av)
		return no_vector();
	mutex_lock(&sep->lock);
	err = fix_name(sep);
	mutex_unlock(&sep->lock);
	return err;
}

static struct fi_ops sep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = sep_close,
	.bind = sep_bind,
	.control = sep_control,
	STUB_FID_OPS,
};

static size_t at_least_one(size_t asked)
{
	return asked ? asked : 1;
}

static int check_counts(const struct emu_scalable *sep)
{
	if (sep->tx_count <= LIMIT_CONTEXTS && sep->rx_count <= LIMIT_CONTEXTS)
		return 0;
	return REFUSE(EP_CTRL, -FI_EINVAL,
		      "fi_scalable_ep: %zu transmit and %zu receive contexts, at most %d of each are "
		      "possible.",
		      sep->tx_count, sep->rx_count, LIMIT_CONTEXTS);
}

int emu_scalable_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **out, void *context)
{
	struct emu_domain *domain = emu_domain(fid);
	struct emu_scalable *sep;
	int err;

	if (!info || !out)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_scalable_ep: info or sep is NULL.");
	sep = calloc(1, sizeof(*sep));
	if (!sep)
		return -FI_ENOMEM;
	sep->ep.domain = domain;
	sep->tx_count = at_least_one(info->ep_attr ? info->ep_attr->tx_ctx_cnt : 0);
	sep->rx_count = at_least_one(info->ep_attr ? info->ep_attr->rx_ctx_cnt : 0);
	err = check_counts(sep);
	if (!err)
		err = ep_init(&sep->ep, info);
	if (!err && attr_type(sep->ep.type)->contexts == 1)
		err = REFUSE(EP_CTRL, -FI_EINVAL,
			     "fi_scalable_ep: info->ep_attr->type is one that has no contexts. FI_EP_RDM "
			     "has.");
	if (!err)
		err = domain_get(domain, &domain->eps, domain->attr->ep_cnt, "fi_scalable_ep");
	if (err) {
		free(sep);
		return err;
	}
	for (size_t i = 0; i < LIMIT_CONTEXTS; i++)
		sep->held[i] = -1;
	mutex_init(&sep->lock);
	ep_tables(&sep->ep);
	sep->ep.fid.fid.fclass = FI_CLASS_SEP;
	sep->ep.fid.fid.context = context;
	sep->ep.fid.fid.ops = &sep_fid_ops;
	*out = &sep->ep.fid;
	return 0;
}
