/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_way.c - see vb_way.h. */
#include "emu/verbs/device/vb_way.h"

#include <errno.h>
#include <unistd.h>

#include "wire/gid.h"

bool vb_ip_everywhere(const struct sockaddr *at)
{
	if (at->sa_family == AF_INET)
		return ((const struct sockaddr_in *)at)->sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)at)->sin6_addr);
}

bool vb_ip_same(const struct sockaddr_storage *a, const struct sockaddr *b)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a, *b6 = (const struct sockaddr_in6 *)b;
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a, *b4 = (const struct sockaddr_in *)b;

	if (a->ss_family != b->sa_family)
		return false;
	if (b->sa_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return !memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
}

void vb_ip_gid(const struct sockaddr_storage *at, union ibv_gid *gid)
{
	if (at->ss_family == AF_INET6)
		memcpy(gid->raw, &((const struct sockaddr_in6 *)at)->sin6_addr, sizeof(gid->raw));
	else
		wire_gid_map(&((const struct sockaddr_in *)at)->sin_addr, gid->raw);
}

/* One of a link is that of its interface alone. */
int vb_ip_place(const struct sockaddr *at, struct vb_gid *own)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)at;
	bool local = at->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);

	for (unsigned int i = 0; i < VB_GIDS; i++)
		if (vb_gid_get(i, own) && vb_ip_same(&own->at, at) && (!local || own->ifindex == in6->sin6_scope_id))
			return (int)i;
	return -1;
}

/* 0 or an errno. */
static int route_from(const struct sockaddr *to, struct sockaddr_storage *from)
{
	socklen_t length = sizeof(*from);
	int fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return errno;
	if (connect(fd, to, vb_ip_length(to)) || getsockname(fd, (struct sockaddr *)from, &length))
		err = errno;
	close(fd);
	return err;
}

int vb_ip_way(const struct sockaddr *to, struct sockaddr_storage *from, struct vb_gid *own)
{
	bool named = from->ss_family && !vb_ip_everywhere((struct sockaddr *)from);
	int err = named ? 0 : route_from(to, from), place = err ? -1 : vb_ip_place((struct sockaddr *)from, own);

	return err ? -err : place < 0 ? -ENODEV : place;
}
