/* SPDX-License-Identifier: BSD-2-Clause */
/* bound.c - ports out of a range, and the address that peers are told. */
#include "emu/net/link/bound.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static in_port_t *port_of(struct sockaddr_storage *at)
{
	return at->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)at)->sin6_port : &((struct sockaddr_in *)at)->sin_port;
}

int bound_open(const struct bound_config *config, const struct sockaddr_storage *at,
	       int (*bind)(const struct sockaddr_storage *at, bool reuse))
{
	static atomic_uint turn; /* each endpoint begins behind the one before, and each process elsewhere */
	struct sockaddr_storage one = *at;
	uint32_t count = (uint32_t)config->last - config->first + 1, start;
	int fd = -EADDRINUSE;

	if (!config->first || *port_of(&one))
		return bind(at, true);
	start = (uint32_t)getpid() * 31 + atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed);
	for (uint32_t i = 0; i < 2 * count && fd == -EADDRINUSE; i++) {
		*port_of(&one) = htons((uint16_t)(config->first + (start + i) % count));
		fd = bind(&one, i >= count);
	}
	return fd;
}

void bound_known(const struct bound_config *config, struct sockaddr_storage *at)
{
	in_port_t port = *port_of(at);

	if (config->advertised.ss_family != at->ss_family)
		return;
	*at = config->advertised;
	*port_of(at) = port;
}

int bound_names(const struct bound_config *config, int fd, struct bound *bound)
{
	socklen_t length = sizeof(bound->real);

	memset(bound, 0, sizeof(*bound));
	if (getsockname(fd, (struct sockaddr *)&bound->real, &length))
		return -errno;
	bound->known = bound->real;
	bound_known(config, &bound->known);
	return 0;
}

bool bound_is_known(const struct bound *bound, const struct sockaddr_storage *at)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)&bound->known, *b6 = (const struct sockaddr_in6 *)at;
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)&bound->known, *b4 = (const struct sockaddr_in *)at;

	if (bound->known.ss_family != at->ss_family)
		return false;
	if (at->ss_family == AF_INET6)
		return a6->sin6_port == b6->sin6_port && !memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
	return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
}
