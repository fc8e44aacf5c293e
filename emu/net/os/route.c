/* SPDX-License-Identifier: BSD-2-Clause */
/* route.c - asks for a route by a socket that sends nothing. */
#include "emu/net/os/route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "emu/net/os/nocancel_socket.h"

static int route_error(const struct sockaddr_storage *from, const struct sockaddr_storage *to)
{
	const socklen_t length = from->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	int fd = socket(from->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return 0;
	if (!bind(fd, (const struct sockaddr *)from, length) && nocancel_connect(fd, (const struct sockaddr *)to, length))
		err = errno;
	nocancel_close(fd);
	/* EINVAL: from the loopback address to another host. Others are of firewalls, and none of the route. */
	return err == ENETUNREACH || err == EHOSTUNREACH || err == EADDRNOTAVAIL || err == EINVAL ? err : 0;
}

static const char *ip_text(const struct sockaddr_storage *at, char text[INET6_ADDRSTRLEN])
{
	const void *bytes = at->ss_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)at)->sin6_addr
						      : (const void *)&((const struct sockaddr_in *)at)->sin_addr;

	return inet_ntop(at->ss_family, bytes, text, INET6_ADDRSTRLEN);
}

int route_missing(const struct sockaddr_storage *from, const struct sockaddr_storage *to, char *text, size_t size)
{
	char here[INET6_ADDRSTRLEN], there[INET6_ADDRSTRLEN];
	int err = route_error(from, to);

	if (err)
		snprintf(text, size, "%s is not reached (%s) from %s", ip_text(to, there), strerror(err), ip_text(from, here));
	return err;
}
