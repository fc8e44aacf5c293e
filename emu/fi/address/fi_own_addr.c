/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_own_addr.c - an endpoint's own address, and addresses given by and to programs. */
#include "emu/fi/address/fi_addr.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/fi/personality/fi_settings.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/net/link/bound.h"

int own_address_take(const void *given, size_t length, uint32_t format, struct sockaddr_storage *at)
{
	const struct sockaddr *from = given;
	int family = addr_family(format);

	if (!from || length < sizeof(*from) || !addr_size(from) || length < addr_size(from))
		return -FI_EINVAL;
	if (family != AF_UNSPEC && family != from->sa_family)
		return -FI_EINVAL;
	memset(at, 0, sizeof(*at));
	memcpy(at, from, addr_size(from));
	return 0;
}

/* Where the route to the info's peer begins, if it names one. */
static bool routed_address(const struct fi_info *info, int family, struct sockaddr_storage *at)
{
	struct sockaddr_storage peer;

	return !own_address_take(info->dest_addr, info->dest_addrlen, FI_FORMAT_UNSPEC, &peer) &&
	       (family == AF_UNSPEC || family == peer.ss_family) && addr_route(&peer, at);
}

/* This machine's address: the one for the info's peer, else the first. */
static int any_address(const struct fi_info *info, int family, uint16_t port, struct sockaddr_storage *at)
{
	struct local_addr *local;
	struct settings settings;
	size_t count;
	int err;

	err = settings_read(&settings);
	if (!err && !settings.process.iface && routed_address(info, family, at)) {
		addr_set_port(at, port);
		return 0;
	}
	if (!err)
		err = addr_local(settings.process.iface, family, &local, &count);
	if (err)
		return err;
	if (count) {
		*at = local[0].addr;
		addr_set_port(at, port);
	}
	free(local);
	return count ? 0
		     : REFUSE(CORE, -FI_EADDRNOTAVAIL,
			      "fi_endpoint: no interface has a usable address of that family; "
			      "FI_EMU_IFACE is %s.",
			      settings.process.iface ? settings.process.iface : "not set");
}

int own_address(const struct fi_info *info, uint32_t format, struct sockaddr_storage *at)
{
	int err;

	if (!info->src_addr)
		return any_address(info, addr_family(format), 0, at);
	err = own_address_take(info->src_addr, info->src_addrlen, FI_FORMAT_UNSPEC, at);
	if (err)
		return REFUSE(CORE, err,
			      "fi_endpoint: info->src_addr is no IPv4 or IPv6 socket address of info->src_addrlen "
			      "bytes. Pass an info as fi_getinfo gave it.");
	if (!addr_is_wildcard(at))
		return 0;
	return any_address(info, at->ss_family, addr_port(at), at);
}

struct own_port {
	int fd;
};

/* Alone at first: with SO_REUSEADDR two could hold one port. Then a listener with that may bind the port, too. */
static int hold(const struct sockaddr_storage *at, int type)
{
	int fd = socket(at->ss_family, type | SOCK_CLOEXEC, 0), one = 1, err;

	if (fd < 0)
		return -errno;
	if (!bind(fd, (const struct sockaddr *)at, (socklen_t)addr_size((const struct sockaddr *)at))) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		return fd;
	}
	err = -errno;
	close(fd);
	return err;
}

static int hold_stream(const struct sockaddr_storage *at, bool reuse)
{
	return reuse && addr_port(at) ? -EADDRINUSE : hold(at, SOCK_STREAM);
}

static int hold_datagrams(const struct sockaddr_storage *at, bool reuse)
{
	return reuse && addr_port(at) ? -EADDRINUSE : hold(at, SOCK_DGRAM);
}

/* Gives it the port. */
static int choose_port(struct sockaddr_storage *at, bool datagrams, struct own_port *port)
{
	struct settings settings;
	struct bound bound;
	int err = settings_read(&settings);

	if (err)
		return err;
	port->fd = bound_open(&settings.process.bound, at, datagrams ? hold_datagrams : hold_stream);
	if (port->fd < 0)
		return port->fd;
	err = bound_names(&settings.process.bound, port->fd, &bound);
	if (!err)
		addr_set_port(at, addr_port(&bound.real));
	return err;
}

int own_port_hold(struct sockaddr_storage *at, bool datagrams, struct own_port **port)
{
	struct own_port *held = NULL;
	int err;

	if (!addr_port(at)) {
		held = malloc(sizeof(*held));
		if (!held)
			return -FI_ENOMEM;
		held->fd = -1;
		err = choose_port(at, datagrams, held);
		if (err)
			own_port_free(&held);
		if (err && err != -EADDRINUSE)
			return REFUSE(EP_CTRL, err, "fi_setname: no endpoint can have that address: %s.", fi_strerror(-err));
	}
	own_port_free(port);
	*port = held;
	return 0;
}

void own_port_free(struct own_port **port)
{
	if (*port && (*port)->fd >= 0)
		close((*port)->fd);
	free(*port);
	*port = NULL;
}

int address_tell(const struct sockaddr_storage *name, void *addr, size_t *length)
{
	size_t given, size = addr_size((const struct sockaddr *)name);

	if (!length || (*length && !addr))
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_getname or fi_getpeer: addrlen is NULL, or says that addr has room and "
			      "addr is NULL.");
	given = *length;
	if (given)
		memcpy(addr, name, given < size ? given : size);
	*length = size;
	return given < size ? -FI_ETOOSMALL : 0; /* *length is the size needed: programs ask for it this way */
}
