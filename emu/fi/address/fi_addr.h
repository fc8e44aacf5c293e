/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_addr.h - socket addresses: this machine's own, names resolved, routes, and their text. Owns nothing; any thread;
 * name resolution may block. */
#ifndef EMU_FI_ADDR_H
#define EMU_FI_ADDR_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* One usable address of this machine. */
struct local_addr {
	struct sockaddr_storage addr; /* port 0 */
	char iface[IF_NAMESIZE];
	char network[64]; /* "192.0.2.0/24" */
};

enum { RESOLVED_MAX = 16 }; /* most addresses used of one name */

/* Bytes of an IPv4 or IPv6 socket address; 0 for other families. */
size_t addr_size(const struct sockaddr *addr);
uint16_t addr_port(const struct sockaddr_storage *addr);
void addr_set_port(struct sockaddr_storage *addr, uint16_t port);
bool addr_is_wildcard(const struct sockaddr_storage *addr);
bool addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* AF_INET, AF_INET6 or AF_UNSPEC (FI_FORMAT_UNSPEC, FI_SOCKADDR, FI_SOCKADDR_IP); -1 for a format that is not ours. */
int addr_family(uint32_t format);
/* The format of an address of this family, if `asked` was asked for: a format that takes both families stays. */
uint32_t addr_format(int family, uint32_t asked);

/* "fi_sockaddr_in://192.0.2.1:4711". Returns the size needed, with the terminator; always terminates if size > 0. */
size_t addr_text(const struct sockaddr *addr, char *text, size_t size);

/* This machine's usable addresses of a family (AF_UNSPEC: both): interfaces that are up, IPv4 first, loopback last, no
 * link-local ones (a peer cannot use them). `iface` (may be NULL) limits them to an interface, by name or address.
 * 0 and *list (to be freed), *count may be 0; -errno. */
int addr_local(const char *iface, int family, struct local_addr **list, size_t *count);

/* Resolves as getaddrinfo(); IPv4 first. `passive`: without a node the result is any address, not loopback. Returns how many
 * were written to `out` (RESOLVED_MAX), or -FI_ENODATA. */
int addr_resolve(const char *node, const char *service, int family, bool numeric, bool passive, struct sockaddr_storage *out);

/* The address from which this machine would speak to `to`, port 0. False if there is no route. */
bool addr_route(const struct sockaddr_storage *to, struct sockaddr_storage *from);

#endif
