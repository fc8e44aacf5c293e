/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_addr.c - socket addresses: this machine's own, names resolved, routes, and their text. */
#include "emu/fi/address/fi_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/fi/provider/fi_compat.h"

static const struct sockaddr_in *v4(const void *addr)
{
	return addr;
}

static const struct sockaddr_in6 *v6(const void *addr)
{
	return addr;
}

size_t addr_size(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

uint16_t addr_port(const struct sockaddr_storage *addr)
{
	return ntohs(addr->ss_family == AF_INET ? v4(addr)->sin_port : v6(addr)->sin6_port);
}

void addr_set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
}

bool addr_is_wildcard(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return v4(addr)->sin_addr.s_addr == htonl(INADDR_ANY);
	return addr->ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&v6(addr)->sin6_addr);
}

static bool is_loopback(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ntohl(v4(addr)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&v6(addr)->sin6_addr);
}

bool addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return v4(a)->sin_addr.s_addr == v4(b)->sin_addr.s_addr;
	return !memcmp(&v6(a)->sin6_addr, &v6(b)->sin6_addr, sizeof(struct in6_addr));
}

int addr_family(uint32_t format)
{
	switch (format) {
	case FI_FORMAT_UNSPEC:
	case FI_SOCKADDR:
		return AF_UNSPEC;
	case FI_SOCKADDR_IN:
		return AF_INET;
	case FI_SOCKADDR_IN6:
		return AF_INET6;
	case COMPAT_SOCKADDR_IP:
		return fi_version() >= COMPAT_SOCKADDR_IP_SINCE ? AF_UNSPEC : -1;
	default:
		return -1;
	}
}

uint32_t addr_format(int family, uint32_t asked)
{
	if (asked == FI_SOCKADDR || asked == COMPAT_SOCKADDR_IP)
		return asked;
	return family == AF_INET ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
}

size_t addr_text(const struct sockaddr *addr, char *text, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "?";
	int length;

	if (addr->sa_family == AF_INET) {
		inet_ntop(AF_INET, &v4(addr)->sin_addr, host, sizeof(host));
		length = snprintf(text, size, "fi_sockaddr_in://%s:%u", host, ntohs(v4(addr)->sin_port));
	} else if (addr->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6(addr)->sin6_addr, host, sizeof(host));
		length = snprintf(text, size, "fi_sockaddr_in6://[%s]:%u", host, ntohs(v6(addr)->sin6_port));
	} else {
		length = snprintf(text, size, "fi_sockaddr://family %u", addr->sa_family);
	}
	return (size_t)length + 1;
}

/* The address's network and prefix length: "192.0.2.0/24". */
static void write_network(const struct sockaddr *addr, const struct sockaddr *mask, char *text, size_t size)
{
	bool is_v4 = addr->sa_family == AF_INET;
	const uint8_t *from = is_v4 ? (const uint8_t *)&v4(addr)->sin_addr : v6(addr)->sin6_addr.s6_addr;
	const uint8_t *keep = is_v4 ? (const uint8_t *)&v4(mask)->sin_addr : v6(mask)->sin6_addr.s6_addr;
	uint8_t network[16] = { 0 };
	unsigned bits = 0;
	char host[INET6_ADDRSTRLEN] = "?";

	for (size_t i = 0; i < (is_v4 ? 4 : 16); i++) {
		network[i] = from[i] & keep[i];
		bits += (unsigned)__builtin_popcount(keep[i]);
	}
	inet_ntop(addr->sa_family, network, host, sizeof(host));
	snprintf(text, size, "%s/%u", host, bits);
}

static bool usable(const struct ifaddrs *ifa, const char *iface, int family)
{
	struct sockaddr_storage wanted[RESOLVED_MAX];

	if (!ifa->ifa_addr || !ifa->ifa_netmask || !(ifa->ifa_flags & IFF_UP) || !addr_size(ifa->ifa_addr))
		return false;
	if (family != AF_UNSPEC && family != ifa->ifa_addr->sa_family)
		return false;
	if (ifa->ifa_addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6(ifa->ifa_addr)->sin6_addr))
		return false;
	if (!iface || !strcmp(iface, ifa->ifa_name))
		return true;
	return addr_resolve(iface, NULL, AF_UNSPEC, true, false, wanted) == 1 &&
	       addr_same_host(&wanted[0], (const struct sockaddr_storage *)ifa->ifa_addr);
}

/* The order of the list: IPv4 before IPv6, loopback after both. */
static int rank(const struct sockaddr_storage *addr)
{
	return (is_loopback(addr) ? 2 : 0) + (addr->ss_family == AF_INET6 ? 1 : 0);
}

static void local_addr_fill(struct local_addr *local, const struct ifaddrs *ifa)
{
	memset(local, 0, sizeof(*local));
	memcpy(&local->addr, ifa->ifa_addr, addr_size(ifa->ifa_addr));
	addr_set_port(&local->addr, 0);
	snprintf(local->iface, sizeof(local->iface), "%s", ifa->ifa_name);
	write_network(ifa->ifa_addr, ifa->ifa_netmask, local->network, sizeof(local->network));
}

int addr_local(const char *iface, int family, struct local_addr **list, size_t *count)
{
	struct ifaddrs *all, *ifa;
	size_t total = 0, used = 0;

	if (getifaddrs(&all))
		return -errno;
	for (ifa = all; ifa; ifa = ifa->ifa_next)
		total++;
	*list = calloc(total + 1, sizeof(**list));
	if (!*list) {
		freeifaddrs(all);
		return -ENOMEM;
	}
	for (int at = 0; at < 4; at++) {
		for (ifa = all; ifa; ifa = ifa->ifa_next) {
			if (!usable(ifa, iface, family))
				continue;
			if (rank((const struct sockaddr_storage *)ifa->ifa_addr) == at)
				local_addr_fill(&(*list)[used++], ifa);
		}
	}
	freeifaddrs(all);
	*count = used;
	return 0;
}

int addr_resolve(const char *node, const char *service, int family, bool numeric, bool passive, struct sockaddr_storage *out)
{
	struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	int count = 0;

	hints.ai_flags = (numeric ? AI_NUMERICHOST : 0) | (passive ? AI_PASSIVE : 0);
	if (getaddrinfo(node, service, &hints, &found))
		return -FI_ENODATA;
	for (int pass = 0; pass < 2; pass++) {
		for (struct addrinfo *info = found; info && count < RESOLVED_MAX; info = info->ai_next) {
			if (info->ai_family != (pass ? AF_INET6 : AF_INET))
				continue;
			memset(&out[count], 0, sizeof(out[count]));
			memcpy(&out[count++], info->ai_addr, info->ai_addrlen);
		}
	}
	freeaddrinfo(found);
	return count ? count : -FI_ENODATA;
}

bool addr_route(const struct sockaddr_storage *to, struct sockaddr_storage *from)
{
	struct sockaddr_storage target = *to;
	socklen_t length = sizeof(*from);
	bool ok;
	int fd;

	fd = socket(to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	addr_set_port(&target, 9); /* nothing is sent: connect() on a datagram socket only looks for the route */
	memset(from, 0, sizeof(*from));
	ok = !connect(fd, (const struct sockaddr *)&target, (socklen_t)addr_size((const struct sockaddr *)&target)) &&
	     !getsockname(fd, (struct sockaddr *)from, &length);
	close(fd);
	if (ok)
		addr_set_port(from, 0);
	return ok;
}
