/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ep_ops.c - the endpoint's smaller calls: cancel, options, own address. */
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep_calls.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/address/fi_addr.h"
#include "emu/fi/personality/fi_attr.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"

static ssize_t ep_op_cancel(fid_t fid, void *context)
{
	struct emu_ep *ep = (struct emu_ep *)fid;
	struct driver *driver = nic_driver(ep->domain->nic);
	int err;

	if (!domain_usable(ep->domain))
		return refuse_inherited("fi_cancel");
	if (!ep->dev && !ep->rx_dev)
		return REFUSE(EP_CTRL, -FI_EOPBADSTATE, "fi_cancel: the endpoint is not enabled. Call fi_enable first.");
	if (!driver_enter(driver))
		return -FI_EAGAIN;
	err = ep->rx_dev ? srx_cancel(ep->rx_dev, context) : ep_cancel(ep->dev, context);
	driver_leave(driver);
	return err;
}

int option_tell(size_t size, void *value, size_t *length)
{
	if (!value || !length)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_getopt: optval or optlen is NULL.");
	if (*length < sizeof(size)) {
		*length = sizeof(size);
		return REFUSE(EP_CTRL, -FI_ETOOSMALL, "fi_getopt: optlen is too small. The option is a size_t, %zu B.",
			      sizeof(size));
	}
	memcpy(value, &size, sizeof(size));
	*length = sizeof(size);
	return 0;
}

/* One kind of op: the most bytes of one, or of one that is injected. */
static const struct size_option {
	int name;
	uint64_t cap; /* an endpoint without it has no such size */
	bool inject;
} size_options[] = {
	{ COMPAT_OPT_MAX_MSG_SIZE, FI_MSG, false },       { COMPAT_OPT_INJECT_MSG_SIZE, FI_MSG, true },
	{ COMPAT_OPT_MAX_TAGGED_SIZE, FI_TAGGED, false }, { COMPAT_OPT_INJECT_TAGGED_SIZE, FI_TAGGED, true },
	{ COMPAT_OPT_MAX_RMA_SIZE, FI_RMA, false },       { COMPAT_OPT_INJECT_RMA_SIZE, FI_RMA, true },
	{ COMPAT_OPT_MAX_ATOMIC_SIZE, FI_ATOMIC, false }, { COMPAT_OPT_INJECT_ATOMIC_SIZE, FI_ATOMIC, true },
};

/* -FI_ENOPROTOOPT: no such option, or the endpoint does not have it. */
static int option_of_kind(const struct emu_ep *ep, int name, size_t *size)
{
	for (size_t i = 0; i < sizeof(size_options) / sizeof(size_options[0]); i++) {
		const struct size_option *option = &size_options[i];

		if (option->name != name || !(ep->caps & option->cap))
			continue;
		*size = option->inject ? ep->inject_size : option->cap == FI_ATOMIC ? LIMIT_ATOMIC : ep->max_msg_size;
		return 0;
	}
	return -FI_ENOPROTOOPT;
}

/* FI_OPT_FIREWALL_ADDR: no endpoint is taken to be behind a firewall by itself, its peers say so (FI_FIREWALL_ADDR). The header has
 * a bool, and provider tcp answers with an int: either is told. */
static int tell_firewall(void *value, size_t *length)
{
	const int behind = 0;

	if (!value || !length)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_getopt: optval or optlen is NULL.");
	if (*length < sizeof(bool)) {
		*length = sizeof(bool);
		return REFUSE(EP_CTRL, -FI_ETOOSMALL, "fi_getopt: optlen is too small. FI_OPT_FIREWALL_ADDR is a bool.");
	}
	*length = *length < sizeof(behind) ? sizeof(bool) : sizeof(behind);
	memcpy(value, &behind, *length);
	return 0;
}

/* All other options are sizes. */
static int ep_op_getopt(fid_t fid, int level, int name, void *value, size_t *length)
{
	struct emu_ep *ep = ((struct emu_ep *)fid)->primary;
	size_t size;
	int err;

	if (level != FI_OPT_ENDPOINT)
		return -FI_ENOPROTOOPT;
	switch (name) {
	case FI_OPT_TX_SIZE:
		size = ep->tx_size;
		break;
	case FI_OPT_RX_SIZE:
		size = ep->rx_size;
		break;
	case FI_OPT_MIN_MULTI_RECV:
		if (!caps_multi(ep->caps))
			return -FI_ENOPROTOOPT;
		size = atomic_load_explicit(&ep->min_multi_recv, memory_order_relaxed);
		break;
	case FI_OPT_CM_DATA_SIZE:
		if (ep->type != FI_EP_MSG)
			return -FI_ENOPROTOOPT;
		size = LIMIT_CM_DATA;
		break;
	case COMPAT_OPT_FIREWALL_ADDR:
		return ep->type == FI_EP_MSG ? -FI_ENOPROTOOPT : tell_firewall(value, length);
	default:
		err = option_of_kind(ep, name, &size);
		if (err)
			return err;
	}
	return option_tell(size, value, length);
}

/* FI_OPT_CUDA_API_PERMITTED, of endpoints with FI_HMEM: the NIC makes no calls of CUDA, permitted or not (fi_endpoint(3)). */
static int permit_cuda(const struct emu_ep *ep, const void *value, size_t length)
{
	const struct emu_hmem_ops *hmem = domain_hmem(ep->domain);

	if (!hmem || !hmem->devices(EMU_HMEM_CUDA))
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_setopt: FI_OPT_CUDA_API_PERMITTED, and there is no CUDA here.");
	if (!value || length != sizeof(bool))
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_setopt: optval is NULL, or optlen %zu is not %zu, that of a bool.", length,
			      sizeof(bool));
	return 0;
}

/* The kernel's front end asks for it (fi_kernel.h). */
static int set_port_shift(struct emu_ep *ep, const void *value, size_t length)
{
	if (!(ep->domain->attr->caps & ATTR_CAPS_KERNEL) || ep->fid.fid.fclass != FI_CLASS_SEP || scalable_enabled(ep))
		return -FI_ENOPROTOOPT;
	if (length != sizeof(ep->port_shift))
		return -FI_EINVAL;
	memcpy(&ep->port_shift, value, sizeof(ep->port_shift));
	return 0;
}

/* The other sizes are fixed by the info that the endpoint was opened with. */
static int ep_op_setopt(fid_t fid, int level, int name, const void *value, size_t length)
{
	struct emu_ep *ep = ((struct emu_ep *)fid)->primary;
	size_t size;

	if (level == FI_OPT_ENDPOINT && name == COMPAT_OPT_CUDA_API_PERMITTED && ep->caps & FI_HMEM)
		return permit_cuda(ep, value, length);
	if (level == FI_OPT_ENDPOINT && name == EMU_FI_OPT_PORT_SHIFT)
		return set_port_shift(ep, value, length);
	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV || !caps_multi(ep->caps))
		return -FI_ENOPROTOOPT;
	if (!value || length != sizeof(size))
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_setopt: optval is NULL, or optlen %zu is not %zu, that of a size_t.", length,
			      sizeof(size));
	memcpy(&size, value, sizeof(size));
	atomic_store_explicit(&ep->min_multi_recv, size, memory_order_relaxed);
	return 0;
}

struct compat_ops_ep emu_ep_ops = {
	.base = {
		.size = sizeof(struct compat_ops_ep),
		.cancel = ep_op_cancel,
		.getopt = ep_op_getopt,
		.setopt = ep_op_setopt,
		.tx_ctx = emu_tx_context,
		.rx_ctx = emu_rx_context,
		.rx_size_left = stub_size_left,
		.tx_size_left = stub_size_left,
	},
	.COMPAT_XPU(export_xpu) = stub_ep_export_xpu,
};

static int ep_op_setname(fid_t fid, void *addr, size_t length)
{
	struct emu_ep *ep = ((struct emu_ep *)fid)->primary;
	struct sockaddr_storage at;
	int err = own_address_take(addr, length, ep->domain->addr_format, &at);

	if (err)
		return REFUSE(EP_CTRL, err, "fi_setname: addr is NULL, too short, or not of the endpoint's addr_format.");
	if (ep->dev || ep->scalable || scalable_enabled(ep))
		return REFUSE(EP_CTRL, -FI_EOPBADSTATE,
			      "fi_setname: the endpoint is enabled already, or is a context of a "
			      "scalable one. Name it before fi_enable.");
	err = ep->fid.fid.fclass == FI_CLASS_SEP ? scalable_name(ep, &at) : own_port_hold(&at, ep->type == FI_EP_DGRAM, &ep->port);
	if (!err)
		ep->at = at;
	return err;
}

/* Not valid before fi_enable unless fi_setname, or the info, gave an address: fi_cm(3) asks no more. An accepting endpoint's name
 * is that of the passive endpoint, as with sockets; only the two NICs use its own address. */
static int ep_op_getname(fid_t fid, void *addr, size_t *length)
{
	struct emu_ep *ep = ((struct emu_ep *)fid)->primary;
	struct sockaddr_storage name = ep->scalable ? ep->scalable->at : ep->at; /* contexts have no name of their own */

	if (!length || (*length && !addr))
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_getname: addrlen is NULL, or says that addr has room and addr is NULL.");
	if (ep->request.number && !addr_port(&ep->at))
		name = ep->request.passive;
	else if (ep->dev && !ep->scalable)
		ep_name(ep->dev, &name);
	else if (!addr_port(&name))
		return REFUSE(EP_CTRL, -FI_EOPBADSTATE,
			      "fi_getname: the endpoint has no address before fi_enable. Call that "
			      "first.");
	else
		net_known(&name);
	return address_tell(&name, addr, length);
}

struct fi_ops_cm emu_ep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = ep_op_setname,
	.getname = ep_op_getname,
	.getpeer = emu_ep_getpeer,
	.connect = emu_ep_connect,
	.listen = stub_listen,
	.accept = emu_ep_accept,
	.reject = stub_reject,
	.shutdown = emu_ep_shutdown,
	.join = emu_ep_join,
};
