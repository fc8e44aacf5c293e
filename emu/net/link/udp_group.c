/* SPDX-License-Identifier: BSD-2-Clause */
/* udp_group.c - ports for what is sent to groups: IP multicast. All processes of a host have the same number, and each gets its
 * copy of what is sent to a group that it hears. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "emu/net/link/tcp_line.h"
#include "emu/net/os/nocancel_socket.h"
#include "emu/nic/device/link.h"

enum { HOPS = 1 }; /* routers pass nothing on */

static int group_set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

/* What it does not hear by itself does not come, whatever other sockets hear. */
static void group_options(int fd, int family)
{
	(void)group_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (family == AF_INET6) {
		(void)group_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		(void)group_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
		(void)group_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, HOPS);
#ifdef IPV6_MULTICAST_ALL
		(void)group_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
#endif
	} else {
		(void)group_set(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1);
		(void)group_set(fd, IPPROTO_IP, IP_MULTICAST_TTL, HOPS);
		(void)group_set(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
	}
}

int groups_open(void *link, int family, struct ep *ep, struct port **port)
{
	struct sockaddr_storage at = { .ss_family = (sa_family_t)family };
	int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	group_options(fd, family);
	((struct sockaddr_in *)&at)->sin_port = htons(LINK_GROUP_PORT); /* at one place in both families */
	if (!bind(fd, (const struct sockaddr *)&at, tcp_address_length(&at)))
		return port_new(link, fd, ep, port);
	err = -errno;
	nocancel_close(fd);
	return err;
}

int groups_hear(struct port *port, const struct sockaddr_storage *group, uint32_t interface, bool join)
{
	struct group_req request = { .gr_interface = interface };
	int level = group->ss_family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;

	memcpy(&request.gr_group, group, sizeof(*group));
	if (!setsockopt(port->fd, level, join ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP, &request, sizeof(request)))
		return 0;
	return -errno;
}

int groups_by(struct port *port, uint32_t interface)
{
	struct ip_mreqn request = { .imr_ifindex = (int)interface };
	int err = 0;

	if (port->interface == interface)
		return 0;
	if (port->bound.real.ss_family == AF_INET6)
		err = group_set(port->fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)interface);
	else if (setsockopt(port->fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof(request)))
		err = -errno;
	if (!err)
		port->interface = interface;
	return err;
}
