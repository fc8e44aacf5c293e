/* SPDX-License-Identifier: BSD-2-Clause */
/* gid.h - GIDs of InfiniBand as addresses of IP, as frames carry these, and back: one of IPv4 is mapped to IPv6. Pure. */
#ifndef WIRE_GID_H
#define WIRE_GID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire/codec.h"

static inline bool wire_gid_is_ipv4(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, mapped, sizeof(mapped));
}

static inline void wire_gid_map(const void *ipv4, uint8_t gid[16])
{
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, ipv4, 4);
}

static inline void wire_gid_get(const struct wire_address_fields *from, uint8_t gid[16])
{
	if (from->family == 6)
		memcpy(gid, from->addr, 16);
	else
		wire_gid_map(from->addr, gid);
}

static inline void wire_gid_put(const uint8_t gid[16], uint16_t port, struct wire_address_fields *to)
{
	bool ipv4 = wire_gid_is_ipv4(gid);

	*to = (struct wire_address_fields){ .family = ipv4 ? 4 : 6, .port = port };
	memcpy(to->addr, gid + (ipv4 ? 12 : 0), ipv4 ? 4 : 16);
}

#endif
