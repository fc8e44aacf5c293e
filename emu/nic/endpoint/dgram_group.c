/* SPDX-License-Identifier: BSD-2-Clause */
/* dgram_group.c - queue pairs are attached to groups, and datagrams find the ways there (WIRE-154). Those behind a listener share
 * its ports for groups: a group is heard there, at an interface, as long as one of them is attached. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/endpoint/ep_impl.h"
#include "emu/nic/endpoint/pair.h"
#include "wire/gid.h"

enum { IPV4, IPV6, FAMILIES };
enum { INTERFACES = 32 };

struct dgram_group {
	struct dgram_group *next;
	uint8_t gid[16];
	size_t count;
	uint32_t interface[INTERFACES];
};

bool group_is(const uint8_t gid[16])
{
	role_assert();
	return gid[0] == 0xff || (wire_gid_is_ipv4(gid) && gid[12] >> 4 == 14);
}

void group_ipv4(const uint8_t gid[16], uint8_t ipv4[4])
{
	role_assert();
	if (wire_gid_is_ipv4(gid)) {
		memcpy(ipv4, gid + 12, 4);
		return;
	}
	ipv4[0] = 239;
	ipv4[1] = 192;
	ipv4[2] = ipv4[3] = 0;
	for (int i = 0; i < 16; i++)
		ipv4[2 + i % 2] ^= gid[i];
}

/* Of a group by its GID, in each family. */
static void group_address(const uint8_t gid[16], int family, struct sockaddr_storage *at)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)at;
	struct sockaddr_in *in = (struct sockaddr_in *)at;

	memset(at, 0, sizeof(*at));
	if (family == IPV6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(LINK_GROUP_PORT);
		memcpy(&in6->sin6_addr, gid, sizeof(in6->sin6_addr));
		return;
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(LINK_GROUP_PORT);
	group_ipv4(gid, (uint8_t *)&in->sin_addr);
}

static int group_port(struct ep *listener, int family)
{
	struct nic *nic = listener->nic;

	if (listener->dgram.groups[family])
		return 0;
	if (!nic->link.bind_groups)
		return -EOPNOTSUPP;
	return nic->link.bind_groups(nic->link_arg, family == IPV6 ? AF_INET6 : AF_INET, listener, &listener->dgram.groups[family]);
}

struct port *group_way(struct ep *listener, const struct datagram_to *to, struct sockaddr_storage *at)
{
	int family = wire_gid_is_ipv4(to->sgid) ? IPV4 : IPV6;

	nic_role(listener->nic);
	group_address(to->dgid, family, at);
	if (group_port(listener, family) || listener->nic->link.groups_by(listener->dgram.groups[family], to->interface))
		return NULL;
	return listener->dgram.groups[family];
}

static struct dgram_group **group_find(const struct ep *ep, const uint8_t gid[16])
{
	struct dgram_group **at = &ep->pairing->groups;

	while (*at && memcmp((*at)->gid, gid, sizeof((*at)->gid)) != 0)
		at = &(*at)->next;
	return at;
}

bool group_has(const struct ep *ep, const uint8_t gid[16])
{
	nic_role(ep->nic);
	return *group_find(ep, gid);
}

bool ep_is_attached(const struct ep *ep)
{
	nic_role(ep->nic);
	return ep->pairing->groups;
}

/* By another queue pair behind the listener? */
static bool group_is_heard(const struct ep *ep, const uint8_t gid[16], uint32_t interface)
{
	struct ep *const *at = ep->attr.through->pairs->at;

	for (int i = 0; i < 256; i++) {
		const struct dgram_group *group = at[i] && at[i] != ep ? *group_find(at[i], gid) : NULL;

		for (size_t k = 0; group && k < group->count; k++)
			if (group->interface[k] == interface)
				return true;
	}
	return false;
}

/* The listener hears it there, or does so no more, unless another needs it. 0 or -errno. */
static int group_hear_at(struct ep *ep, const struct dgram_group *group, int family, uint32_t interface, bool join)
{
	struct ep *listener = ep->attr.through;
	struct sockaddr_storage at;
	int err;

	if (!join && group_is_heard(ep, group->gid, interface))
		return 0;
	group_address(group->gid, family, &at);
	err = listener->nic->link.hear_group(listener->dgram.groups[family], &at, interface, join);
	return err == -EADDRINUSE ? 0 : err; /* it does already */
}

/* 0: in one family, and at one interface, at least. */
static int group_hear(struct ep *ep, const struct dgram_group *group, bool join)
{
	struct ep *listener = ep->attr.through;
	int result = -ENODEV;

	for (int family = 0; family < FAMILIES; family++) {
		bool has = family == IPV4 || !wire_gid_is_ipv4(group->gid);
		int err = !has || (!join && !listener->dgram.groups[family]) ? -EAFNOSUPPORT : group_port(listener, family);

		for (size_t i = 0; !err && i < group->count; i++) {
			int one = group_hear_at(ep, group, family, group->interface[i], join);

			result = one && result ? one : 0;
		}
		if (err == -EOPNOTSUPP)
			return err;
	}
	return result;
}

int ep_attach(struct ep *ep, const uint8_t gid[16], const uint32_t *interfaces, size_t count)
{
	struct dgram_group *group;
	int err;

	nic_role(ep->nic);
	if (*group_find(ep, gid)) /* V156 */
		return 0;
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	memcpy(group->gid, gid, sizeof(group->gid));
	group->count = count < INTERFACES ? count : INTERFACES;
	memcpy(group->interface, interfaces, group->count * sizeof(*interfaces));
	err = group_hear(ep, group, true);
	if (err) {
		free(group);
		return err;
	}
	group->next = ep->pairing->groups;
	ep->pairing->groups = group;
	return 0;
}

int ep_detach(struct ep *ep, const uint8_t gid[16])
{
	struct dgram_group **at = group_find(ep, gid), *group = *at;

	nic_role(ep->nic);
	if (!group)
		return -EINVAL;
	*at = group->next;
	(void)group_hear(ep, group, false);
	free(group);
	return 0;
}

void groups_close(struct ep *ep)
{
	nic_role(ep->nic);
	while (ep->pairing && ep->pairing->groups)
		(void)ep_detach(ep, ep->pairing->groups->gid);
	for (int family = 0; family < FAMILIES; family++) {
		if (ep->dgram.groups[family])
			ep->nic->link.unbind(ep->dgram.groups[family]);
		ep->dgram.groups[family] = NULL;
	}
}
