/* SPDX-License-Identifier: BSD-2-Clause */
/* getinfo_addr.c - own and peer's addresses: node, service, FI_SOURCE, hints, formats, FI_EMU_IFACE. */
#include "tests/fi/world.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static const struct want want = { .caps = FI_MSG };

static int ask(const char *node, const char *service, uint64_t flags, uint32_t format, struct fi_info **info)
{
	struct fi_info *hints = world_hints(&want);
	int err;

	hints->addr_format = format;
	err = fi_getinfo(FI_VERSION(1, 17), node, service, flags, hints, info);
	fi_freeinfo(hints);
	return err;
}

static const struct sockaddr_in *in(const void *addr)
{
	cr_assert(addr);
	return addr;
}

static bool is_v4(const void *addr, const char *host, uint16_t port)
{
	struct in_addr want_addr;

	inet_pton(AF_INET, host, &want_addr);
	return in(addr)->sin_family == AF_INET && in(addr)->sin_addr.s_addr == want_addr.s_addr &&
	       ntohs(in(addr)->sin_port) == port;
}

Test(fi_addr, without_anything_every_own_address_loopback_last)
{
	struct fi_info *info, *one;
	bool loopback = false;

	world_need_emu();
	RC(0, ask(NULL, NULL, 0, FI_SOCKADDR_IN, &info));
	for (one = info; one; one = one->next) {
		cr_expect(one->addr_format == FI_SOCKADDR_IN && one->src_addrlen == sizeof(struct sockaddr_in));
		cr_expect(in(one->src_addr)->sin_addr.s_addr != INADDR_ANY && !one->dest_addr);
		cr_expect(one->domain_attr->name && one->fabric_attr->name);
		cr_expect(!loopback || is_v4(one->src_addr, "127.0.0.1", 0), "an interface after loopback");
		loopback = loopback || is_v4(one->src_addr, "127.0.0.1", 0);
	}
	fi_freeinfo(info);
}

Test(fi_addr, node_and_service_name_the_peer)
{
	struct fi_info *info;

	world_need_emu();
	RC(0, ask("127.0.0.1", "4711", FI_NUMERICHOST, 0, &info));
	cr_expect(is_v4(info->dest_addr, "127.0.0.1", 4711) && is_v4(info->src_addr, "127.0.0.1", 0));
	cr_expect(!strcmp(info->domain_attr->name, "lo"));
	fi_freeinfo(info);
	RC(0, ask("localhost", "4711", 0, FI_SOCKADDR, &info));
	cr_expect(info->addr_format == FI_SOCKADDR && info->dest_addrlen == sizeof(struct sockaddr_in));
	fi_freeinfo(info);
	RC(-FI_ENODATA, ask("localhost", "4711", FI_NUMERICHOST, 0, &info)); /* no resolution asked */
	RC(-FI_ENODATA, ask("127.0.0.1", "4711", 0, FI_SOCKADDR_IN6, &info));
}

Test(fi_addr, with_source_they_name_the_own_address)
{
	struct fi_info *info, *one;

	world_need_emu();
	RC(0, ask("127.0.0.1", "4711", FI_SOURCE, 0, &info));
	cr_expect(is_v4(info->src_addr, "127.0.0.1", 4711) && !info->dest_addr && !info->next);
	fi_freeinfo(info);
	RC(0, ask(NULL, "4711", FI_SOURCE, FI_SOCKADDR_IN, &info));
	for (one = info; one; one = one->next)
		cr_expect(ntohs(in(one->src_addr)->sin_port) == 4711);
	fi_freeinfo(info);
	RC(-FI_ENODATA, ask("203.0.113.77", "4711", FI_SOURCE, 0, &info)); /* not this machine's */
	RC(-FI_ENODATA, ask(NULL, NULL, FI_SOURCE, 0, &info));
}

Test(fi_addr, hints_fill_what_is_left)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(5000) };
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(6000) };
	struct fi_info *hints, *info;

	world_need_emu();
	own.sin_addr.s_addr = peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	hints = world_hints(&want);
	hints->src_addr = memcpy(malloc(sizeof(own)), &own, sizeof(own));
	hints->src_addrlen = sizeof(own);
	hints->dest_addr = memcpy(malloc(sizeof(peer)), &peer, sizeof(peer));
	hints->dest_addrlen = sizeof(peer);
	RC(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	cr_expect(is_v4(info->src_addr, "127.0.0.1", 5000) && is_v4(info->dest_addr, "127.0.0.1", 6000));
	fi_freeinfo(info);
	RC(0, fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", "7000", 0, hints, &info)); /* the name goes before the hint */
	cr_expect(is_v4(info->src_addr, "127.0.0.1", 5000) && is_v4(info->dest_addr, "127.0.0.1", 7000));
	fi_freeinfo(info);
	hints->src_addrlen = 3;
	RC(-FI_ENODATA, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
}

Test(fi_addr, domain_and_fabric_by_name)
{
	struct fi_info *hints, *info;

	world_need_emu();
	hints = world_hints(&want);
	hints->domain_attr->name = strdup("lo");
	RC(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	for (struct fi_info *one = info; one; one = one->next)
		cr_expect(!strcmp(one->domain_attr->name, "lo"));
	fi_freeinfo(info);
	hints->fabric_attr->name = strdup("203.0.113.0/24");
	RC(-FI_ENODATA, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
}

/* fi_domain(3), fi_fabric(3): open objects are named, and taken as hints; others' are never followed. */
Test(fi_addr, domain_and_fabric_by_object)
{
	struct fi_info *hints, *info;
	struct world w;

	setenv("FI_EMU_IFACE", "lo", 1);
	world_open(&w, &want);
	RC(0, ask(NULL, NULL, 0, FI_SOCKADDR_IN, &info));
	cr_expect(info->domain_attr->domain == w.domain && info->fabric_attr->fabric == w.fabric);
	fi_freeinfo(info);
	hints = world_hints(&want);
	hints->domain_attr->domain = w.domain;
	hints->fabric_attr->fabric = w.fabric;
	RC(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(info);
	hints->domain_attr->domain = (struct fid_domain *)0x10;
	RC(-FI_ENODATA, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	world_close(&w);
	RC(0, ask(NULL, NULL, 0, FI_SOCKADDR_IN, &info));
	cr_expect(!info->domain_attr->domain && !info->fabric_attr->fabric);
	fi_freeinfo(info);
}

Test(fi_addr, interface_setting_limits_the_choice)
{
	struct fi_info *info;

	world_need_emu();
	setenv("FI_EMU_IFACE", "lo", 1);
	RC(0, ask(NULL, NULL, 0, FI_SOCKADDR_IN, &info));
	cr_expect(is_v4(info->src_addr, "127.0.0.1", 0) && !info->next);
	fi_freeinfo(info);
	setenv("FI_EMU_IFACE", "127.0.0.1", 1);
	RC(0, ask(NULL, NULL, 0, 0, &info));
	cr_expect(is_v4(info->src_addr, "127.0.0.1", 0) && !info->next);
	fi_freeinfo(info);
	setenv("FI_EMU_IFACE", "nosuch0", 1);
	RC(-FI_ENODATA, ask(NULL, NULL, 0, 0, &info));
}

/* What an endpoint listens at is the address of the interface in use, never all of them. */
Test(fi_addr, endpoint_has_the_address_of_its_info)
{
	struct sockaddr_in name;
	size_t length = sizeof(name);
	struct world w;

	setenv("FI_EMU_IFACE", "lo", 1);
	world_open_disabled(&w, &want);
	RC(-FI_EOPBADSTATE, fi_getname(&w.ep->fid, &name, &length));
	world_enable(&w);
	RC(0, fi_getname(&w.ep->fid, &name, &length));
	cr_expect(name.sin_addr.s_addr == htonl(INADDR_LOOPBACK) && name.sin_port);
	length = 4;
	RC(-FI_ETOOSMALL, fi_getname(&w.ep->fid, &name, &length));
	cr_expect(length == sizeof(name));
	RC(-FI_EOPBADSTATE, fi_setname(&w.ep->fid, &name, sizeof(name)));
	world_close(&w);
}
