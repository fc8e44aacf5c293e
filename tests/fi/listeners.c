/* SPDX-License-Identifier: BSD-2-Clause */
/* listeners.c - by default every socket of the provider's is bound to the address of the interface in use, and to no other. */
#include "tests/fi/ends.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { FDS = 1024 };

static bool is_wildcard(const struct sockaddr_storage *at)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)at;
	const struct sockaddr_in *in = (const struct sockaddr_in *)at;

	return at->ss_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr) : in->sin_addr.s_addr == htonl(INADDR_ANY);
}

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &((const struct sockaddr_in6 *)b)->sin6_addr, 16);
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr == ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

/* Of the sockets that take what comes from outside, as a listener or as a port for datagrams; how many there are. */
static int check_sockets(const struct sockaddr_storage *name)
{
	int count = 0;

	for (int fd = 0; fd < FDS; fd++) {
		struct sockaddr_storage at = { 0 };
		socklen_t length = sizeof(at), size = sizeof(int);
		int listens = 0, type = 0;

		if (getsockname(fd, (struct sockaddr *)&at, &length) || (at.ss_family != AF_INET && at.ss_family != AF_INET6) ||
		    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) ||
		    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) || (!listens && type != SOCK_DGRAM))
			continue;
		cr_assert(!is_wildcard(&at), "descriptor %d takes what comes to any address", fd);
		cr_assert(same_address(&at, name), "descriptor %d is bound to another address", fd);
		count++;
	}
	return count;
}

static void check_type(enum fi_ep_type type)
{
	struct sockaddr_storage name = { 0 };
	size_t length = sizeof(name);
	struct world world;

	world_open(&world, &(struct want){ .caps = FI_MSG, .type = type });
	RC(0, fi_getname(&world.ep->fid, &name, &length));
	cr_assert_eq(check_sockets(&name), 1);
	world_close(&world);
}

Test(fi_listeners, reliable_datagrams)
{
	check_type(FI_EP_RDM);
}

Test(fi_listeners, unreliable_datagrams)
{
	check_type(FI_EP_DGRAM);
}

Test(fi_listeners, a_chosen_interface)
{
	setenv("FI_EMU_IFACE", "lo", 1);
	check_type(FI_EP_RDM);
}

/* The passive endpoint's, and that of each side of a connection. */
Test(fi_listeners, connected_endpoints)
{
	struct fid_ep *end[2];
	struct net net;

	net_open(&net);
	net_listen(&net);
	connected(&net, end);
	cr_assert_eq(check_sockets(&net.name), 3);
	close_ends(end);
	net_close(&net);
}
