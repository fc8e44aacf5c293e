/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_gid.c - the GID table: RoCE v2, an entry for each address of this machine. By interface, of each the link-local address, IPv4,
 * IPv6; loopback's last, for hosts without a network. FI_EMU_IFACE leaves one interface, or one address. */
#include "emu/verbs/device/vb_gid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "emu/net/os/fork.h"
#include "emu/net/os/route.h"
#include "emu/nic/base/cancel.h"
#include "emu/nic/base/mutex.h"
#include "emu/process/check/check.h"
#include "emu/process/front/process_front.h"
#include "wire/gid.h"

static struct mutex lock = MUTEX_INITIALIZER; /* a leaf */
static struct vb_gid table[VB_GIDS] GUARDED_BY(lock);
static bool there[VB_GIDS] GUARDED_BY(lock); /* found the last time */
static atomic_bool outdated = true;

static void gids_forked(void)
{
	mutex_forked(&lock);
}

enum { ROUTE_TEXT = 192 };

static struct fork_reset reset = { .in_child = gids_forked };

static const struct in6_addr *ipv6_of(const struct sockaddr *at)
{
	return &((const struct sockaddr_in6 *)at)->sin6_addr;
}

/* The place of an address among those of its interface, and behind all interfaces; -1: it has no GID. */
enum { RANK_LINK, RANK_IPV4, RANK_IPV6, RANK_LOOPBACK, RANK_LOOPBACK_IPV6 };
static int gid_rank(const struct ifaddrs *ifa)
{
	const struct sockaddr *at = ifa->ifa_addr;
	bool loopback = ifa->ifa_flags & IFF_LOOPBACK;

	if (!at || !(ifa->ifa_flags & IFF_UP))
		return -1;
	if (at->sa_family == AF_INET)
		return loopback ? RANK_LOOPBACK : RANK_IPV4;
	if (at->sa_family != AF_INET6)
		return -1;
	if (loopback)
		return RANK_LOOPBACK_IPV6;
	return IN6_IS_ADDR_LINKLOCAL(ipv6_of(at)) ? RANK_LINK : RANK_IPV6;
}

/* Does FI_EMU_IFACE name its interface, or it? */
static bool gid_wanted(const struct ifaddrs *ifa, const char *iface)
{
	char text[INET6_ADDRSTRLEN];
	const struct sockaddr *at = ifa->ifa_addr;
	const void *bytes = at->sa_family == AF_INET ? (const void *)&((const struct sockaddr_in *)at)->sin_addr
						     : (const void *)ipv6_of(at);

	if (!iface || !strcmp(iface, ifa->ifa_name))
		return true;
	return inet_ntop(at->sa_family, bytes, text, sizeof(text)) && !strcmp(text, iface);
}

static void gid_of(union ibv_gid *gid, int family, const void *address)
{
	if (family == AF_INET6)
		memcpy(gid->raw, address, sizeof(gid->raw));
	else
		wire_gid_map(address, gid->raw);
}

/* A found address, to be sorted. */
struct found {
	const struct ifaddrs *ifa;
	int rank;
	uint32_t ifindex;
};

static void gid_fill(struct vb_gid *entry, const struct found *found)
{
	const struct sockaddr *at = found->ifa->ifa_addr;
	bool is_ipv6 = at->sa_family == AF_INET6;

	memset(entry, 0, sizeof(*entry));
	entry->ifindex = found->ifindex;
	memcpy(&entry->at, at, is_ipv6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	gid_of(&entry->gid, at->sa_family, is_ipv6 ? (const void *)ipv6_of(at) : &((const struct sockaddr_in *)at)->sin_addr);
}

/* FI_EMU_ADVERTISE: peers know the first address of that family by another, which is its GID then. */
static void gid_advertise(struct vb_gid *entry, const char **advertised, int rank)
{
	struct in6_addr address;
	int family = rank == RANK_IPV4 ? AF_INET : rank == RANK_IPV6 ? AF_INET6 : AF_UNSPEC;

	if (!*advertised || family == AF_UNSPEC || inet_pton(family, *advertised, &address) != 1)
		return;
	gid_of(&entry->gid, family, &address);
	*advertised = NULL;
}

static int by_place(const void *left, const void *right)
{
	const struct found *a = left, *b = right;
	int loops = (a->rank >= RANK_LOOPBACK) - (b->rank >= RANK_LOOPBACK);

	if (loops)
		return loops;
	if (a->ifindex != b->ifindex)
		return a->ifindex < b->ifindex ? -1 : 1;
	return a->rank - b->rank;
}

static bool gid_same(const struct vb_gid *a, const struct vb_gid *b)
{
	return a->ifindex == b->ifindex && !memcmp(&a->gid, &b->gid, sizeof(a->gid));
}

static bool is_empty(const struct vb_gid *entry)
{
	return !entry->ifindex;
}

/* Into the first free place, unless it is there. */
static void gid_enter(const struct vb_gid *entry) REQUIRES(lock)
{
	int place = -1;

	for (int i = 0; i < VB_GIDS; i++) {
		if (gid_same(&table[i], entry)) {
			there[i] = true;
			return;
		}
		if (place < 0 && is_empty(&table[i]))
			place = i;
	}
	if (place < 0)
		return;
	table[place] = *entry;
	there[place] = true;
}

/* Those that were found before and are not there any more. */
static void gid_drop_gone(void) REQUIRES(lock)
{
	for (int i = 0; i < VB_GIDS; i++) {
		if (!there[i])
			memset(&table[i], 0, sizeof(table[i]));
	}
}

static size_t gid_find(const struct ifaddrs *all, struct found *found, size_t most)
{
	const char *iface = process_front.setting("iface");
	size_t count = 0;

	for (const struct ifaddrs *ifa = all; ifa && count < most; ifa = ifa->ifa_next) {
		int place = gid_rank(ifa);

		if (place >= 0 && gid_wanted(ifa, iface && *iface ? iface : NULL))
			found[count++] = (struct found){ ifa, place, if_nametoindex(ifa->ifa_name) };
	}
	qsort(found, count, sizeof(found[0]), by_place);
	return count;
}

static void gid_enter_all(const struct ifaddrs *all) REQUIRES(lock)
{
	const char *advertised = process_front.setting("advertise");
	struct found found[4 * VB_GIDS];
	struct vb_gid entry;
	size_t count;

	memset(there, 0, sizeof(there));
	count = gid_find(all, found, sizeof(found) / sizeof(found[0]));
	for (size_t i = 0; i < count; i++) {
		gid_fill(&entry, &found[i]);
		gid_advertise(&entry, &advertised, found[i].rank);
		gid_enter(&entry);
	}
	gid_drop_gone();
}

static void gid_make(void) REQUIRES(lock)
{
	int cancel_state = cancel_off(); /* getifaddrs() and if_nametoindex() are points of cancellation */
	struct ifaddrs *all;

	atomic_store(&outdated, false); /* before the look, so that a change after it is not lost */
	if (!fork_register(&reset) && !getifaddrs(&all)) {
		gid_enter_all(all);
		freeifaddrs(all);
	} else {
		atomic_store(&outdated, true);
	}
	cancel_back(cancel_state);
}

void vb_gid_refresh(void)
{
	mutex_lock(&lock);
	gid_make();
	mutex_unlock(&lock);
}

void vb_gid_outdate(void)
{
	atomic_store(&outdated, true);
}

bool vb_gid_get(unsigned int index, struct vb_gid *entry)
{
	bool found = false;

	mutex_lock(&lock);
	if (atomic_load(&outdated))
		gid_make();
	if (index < VB_GIDS && !is_empty(&table[index])) {
		*entry = table[index];
		found = true;
	}
	mutex_unlock(&lock);
	return found;
}

void vb_gid_address(const union ibv_gid *gid, uint32_t scope, struct sockaddr_storage *at)
{
	struct sockaddr_in *in = (struct sockaddr_in *)at;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)at;
	struct in6_addr address;

	memset(at, 0, sizeof(*at));
	memcpy(&address, gid->raw, sizeof(address));
	if (IN6_IS_ADDR_V4MAPPED(&address)) {
		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, gid->raw + 12, sizeof(in->sin_addr));
		return;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_addr = address;
	in6->sin6_scope_id = IN6_IS_ADDR_LINKLOCAL(&address) ? scope : 0;
}

void vb_gid_check_route(const char *call, unsigned int index, const struct vb_gid *own, const struct sockaddr_storage *peer)
{
	char why[ROUTE_TEXT];
	int before = errno;

	if (route_missing(&own->at, peer, why, sizeof(why)))
		check_tell(&(struct check_finding){ .cause = CHECK_NO_ROUTE, .call = call, .here = true },
			   "%s: ah_attr.grh.dgid has no route from here: %s, the address of sgid_index %u. Requests will fail when "
			   "the retries have run out",
			   call, why, index);
	errno = before;
}
