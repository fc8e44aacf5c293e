/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_addr.h - socket addresses: this machine's own, names resolved, routes, and their text; an endpoint's own. Owns nothing; any
 * thread; name resolution may block. */
#ifndef EMU_FI_ADDR_H
#define EMU_FI_ADDR_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct fi_info;
struct own_port; /* a port that the system gives to nobody else, from fi_setname() until the endpoint has its socket */

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

/* --- an endpoint's own address, and addresses given by and to programs --- */

/* The address at which an endpoint listens: as in the info, else the one from which the route to the info's peer leads, else
 * this machine's first one. Never a wildcard, as peers are told it. 0 or -errno. */
int own_address(const struct fi_info *info, uint32_t format, struct sockaddr_storage *at);
/* Takes an address from a program; -FI_EINVAL if it does not have the format. */
int own_address_take(const void *given, size_t length, uint32_t format, struct sockaddr_storage *at);
/* An address without a port gets one (fi_cm(3)), which *port holds, in the place of the one held before. A listener may bind it all
 * the same; a socket of datagrams must have it free. Where each port of FI_EMU_PORTS was bound before, the address stays without
 * one: fi_enable() looks for those that are free again. 0; or -errno after a line of log, and nothing has changed. */
int own_port_hold(struct sockaddr_storage *at, bool datagrams, struct own_port **port);
void own_port_free(struct own_port **port); /* *port NULL: none is held */
/* fi_getname(), fi_getpeer(): as much as fits; *length becomes the size needed. 0, -FI_ETOOSMALL, -FI_EINVAL. */
int address_tell(const struct sockaddr_storage *name, void *addr, size_t *length);

#endif
