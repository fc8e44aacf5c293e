/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ep_ops.c - the endpoint's smaller calls: cancel, options, own address. */
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "emu/fi/fi_addr.h"
#include "emu/fi/fi_compat.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_ep.h"
#include "emu/fi/fi_stubs.h"

static ssize_t ep_op_cancel(fid_t fid, void *context)
{
	struct emu_ep *ep = (struct emu_ep *)fid;
	struct driver *driver = nic_driver(ep->domain->nic);
	int err;

	if (!domain_usable(ep->domain))
		return -FI_ENODEV;
	if (!ep->dev)
		return -FI_EOPBADSTATE;
	if (!driver_enter(driver))
		return -FI_EAGAIN;
	err = ep_cancel(ep->dev, context);
	driver_leave(driver);
	return err;
}

/* All options that there are tell a size. */
static int ep_op_getopt(fid_t fid, int level, int name, void *value, size_t *length)
{
	struct emu_ep *ep = (struct emu_ep *)fid;
	size_t size;

	if (level != FI_OPT_ENDPOINT)
		return -FI_ENOPROTOOPT;
	switch (name) {
	case FI_OPT_TX_SIZE:
		size = ep->tx_size;
		break;
	case FI_OPT_RX_SIZE:
		size = ep->rx_size;
		break;
	case COMPAT_OPT_MAX_MSG_SIZE:
	case COMPAT_OPT_MAX_RMA_SIZE:
		size = ep->max_msg_size;
		break;
	case COMPAT_OPT_INJECT_MSG_SIZE:
	case COMPAT_OPT_INJECT_RMA_SIZE:
		size = ep->inject_size;
		break;
	default:
		return -FI_ENOPROTOOPT;
	}
	if (!value || !length)
		return -FI_EINVAL;
	if (*length < sizeof(size)) {
		*length = sizeof(size);
		return -FI_ETOOSMALL;
	}
	memcpy(value, &size, sizeof(size));
	*length = sizeof(size);
	return 0;
}

static int ep_op_setopt(fid_t fid, int level, int name, const void *value, size_t length)
{
	(void)fid, (void)level, (void)name, (void)value, (void)length;
	return -FI_ENOPROTOOPT; /* the sizes are fixed by the info that the endpoint was opened with */
}

struct fi_ops_ep emu_ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = ep_op_cancel,
	.getopt = ep_op_getopt,
	.setopt = ep_op_setopt,
	.tx_ctx = stub_tx_ctx,
	.rx_ctx = stub_rx_ctx,
	.rx_size_left = stub_size_left,
	.tx_size_left = stub_size_left,
};

static int ep_op_setname(fid_t fid, void *addr, size_t length)
{
	struct emu_ep *ep = (struct emu_ep *)fid;
	int family = addr_family(ep->domain->addr_format);
	const struct sockaddr *given = addr;

	if (!addr || length < sizeof(*given) || !addr_size(given) || length < addr_size(given))
		return -FI_EINVAL;
	if (family != AF_UNSPEC && family != given->sa_family)
		return -FI_EINVAL;
	if (ep->dev)
		return -FI_EOPBADSTATE;
	memset(&ep->at, 0, sizeof(ep->at));
	memcpy(&ep->at, given, addr_size(given));
	return 0;
}

/* Not valid before fi_enable unless a port was given: fi_cm(3) asks no more. */
static int ep_op_getname(fid_t fid, void *addr, size_t *length)
{
	struct emu_ep *ep = (struct emu_ep *)fid;
	struct sockaddr_storage name = ep->at;
	size_t given, size;

	if (!length || (*length && !addr))
		return -FI_EINVAL;
	if (ep->dev)
		ep_name(ep->dev, &name);
	else if (!addr_port(&name))
		return -FI_EOPBADSTATE;
	given = *length;
	size = addr_size((const struct sockaddr *)&name);
	if (given)
		memcpy(addr, &name, given < size ? given : size);
	*length = size;
	return given < size ? -FI_ETOOSMALL : 0;
}

struct fi_ops_cm emu_ep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = ep_op_setname,
	.getname = ep_op_getname,
	.getpeer = stub_getpeer,
	.connect = stub_connect,
	.listen = stub_listen,
	.accept = stub_accept,
	.reject = stub_reject,
	.shutdown = stub_shutdown,
	.join = stub_join,
};
