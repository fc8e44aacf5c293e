/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_own_addr.c - an endpoint's own address, and addresses given by and to programs. */
#include "emu/fi/info/fi_own_addr.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/info/fi_addr.h"
#include "emu/fi/info/fi_settings.h"
#include "emu/fi/provider/fi_refuse.h"

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

/* The first address of this machine. */
static int first_address(int family, uint16_t port, struct sockaddr_storage *at)
{
	struct local_addr *local;
	struct settings settings;
	size_t count;
	int err;

	err = settings_read(&settings);
	if (!err)
		err = addr_local(settings.iface, family, &local, &count);
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
			      settings.iface ? settings.iface : "not set");
}

int own_address(const struct fi_info *info, uint32_t format, struct sockaddr_storage *at)
{
	int err;

	if (!info->src_addr)
		return first_address(addr_family(format), 0, at);
	err = own_address_take(info->src_addr, info->src_addrlen, FI_FORMAT_UNSPEC, at);
	if (err)
		return REFUSE(CORE, err,
			      "fi_endpoint: info->src_addr is no IPv4 or IPv6 socket address of info->src_addrlen "
			      "bytes. Pass an info as fi_getinfo gave it.");
	if (!addr_is_wildcard(at))
		return 0;
	return first_address(at->ss_family, addr_port(at), at);
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
