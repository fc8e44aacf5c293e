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

/* FI_SOCKADDR_IP of libfabric 2.3, which older headers have not: either family, where the running library knows the format. */
Test(fi_addr, a_format_for_both_families)
{
	enum { BOTH = 17 };
	char end[] = "127.0.0.1";
	struct fi_info *info;
	struct world w;
	fi_addr_t peer;

	world_need_emu();
	if (!world_has(FI_VERSION(2, 3))) {
		RC(-FI_ENODATA, ask(end, "4711", 0, BOTH, &info));
		return;
	}
	RC(0, ask(end, "4711", 0, BOTH, &info));
	cr_expect(info->addr_format == BOTH && is_v4(info->dest_addr, end, 4711));
	fi_freeinfo(info);
	world_open(&w, &want);
	fi_freeinfo(w.info);
	RC(0, fi_close(&w.ep->fid));
	RC(0, ask(end, NULL, FI_SOURCE, BOTH, &w.info));
	RC(0, fi_endpoint(w.domain, w.info, &w.ep, NULL));
	RC(0, fi_close(&w.ep->fid));
	RC(1, fi_av_insertsvc(w.av, end, "4711", &peer, 0, NULL));
	w.ep = NULL;
	world_close(&w);
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

/* An info whose own address the program took out, or made a wildcard with a port. */
static void expect_own(const char *peer, const char *own, uint16_t port)
{
	struct sockaddr_in *any, name;
	size_t length = sizeof(name);
	struct fid_ep *ep;
	struct world w;

	world_open(&w, &want);
	RC(0, fi_close(&w.ep->fid));
	fi_freeinfo(w.info);
	RC(0, ask(peer, "4711", 0, FI_SOCKADDR_IN, &w.info));
	any = w.info->src_addr;
	any->sin_addr.s_addr = htonl(INADDR_ANY);
	any->sin_port = htons(port);
	if (!port) {
		free(any);
		w.info->src_addr = NULL;
		w.info->src_addrlen = 0;
	}
	RC(0, fi_endpoint(w.domain, w.info, &ep, NULL));
	RC(0, fi_ep_bind(ep, &w.av->fid, 0));
	RC(0, fi_ep_bind(ep, &w.cq->fid, FI_TRANSMIT | FI_RECV));
	RC(0, fi_enable(ep));
	RC(0, fi_getname(&ep->fid, &name, &length));
	cr_expect(is_v4(&name, own, port ? port : ntohs(name.sin_port)));
	RC(0, fi_close(&ep->fid));
	w.ep = NULL;
	world_close(&w);
}

Test(fi_addr, own_address_left_open_is_where_the_route_to_the_peer_begins)
{
	expect_own("127.0.0.1", "127.0.0.1", 0);
	expect_own("127.0.0.1", "127.0.0.1", 4713);
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

enum { PLAIN = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY, BOUND = PLAIN | FI_MR_ENDPOINT };

static struct fid_domain *domain_as(const struct want *as, struct world *w)
{
	struct fid_domain *domain;
	struct fi_info *info;

	RC(0, world_getinfo(as, world_hints(as), &info));
	RC(0, fi_domain(w->fabric, info, &domain, NULL));
	fi_freeinfo(info);
	return domain;
}

/* That the first info for this carries the domain, or none. */
static void expect_domain(const struct want *as, struct fid_domain *domain)
{
	struct fi_info *info;

	RC(0, world_getinfo(as, world_hints(as), &info));
	cr_expect_eq(info->domain_attr->domain, domain);
	fi_freeinfo(info);
}

/* As Open MPI 5 opens what an info carries. */
Test(fi_addr, an_info_carries_a_domain_of_its_own_mode)
{
	struct want plain = { .caps = FI_MSG | FI_RMA, .mr_mode = PLAIN };
	struct want bound = { .caps = FI_MSG | FI_RMA, .mr_mode = BOUND };
	struct want events = { .caps = FI_MSG | FI_RMA | FI_RMA_EVENT, .mr_mode = BOUND };
	struct want memory = { .caps = FI_MSG | FI_RMA | FI_HMEM, .mr_mode = BOUND };
	struct fid_domain *domain;
	struct world w;

	setenv("FI_EMU_IFACE", "lo", 1);
	world_open(&w, &plain);
	expect_domain(&plain, w.domain);
	expect_domain(&bound, NULL);
	domain = domain_as(&bound, &w);
	expect_domain(&plain, w.domain);
	expect_domain(&bound, domain);
	expect_domain(&events, NULL);
	expect_domain(&memory, NULL);
	RC(0, fi_close(&domain->fid));
	domain = domain_as(&events, &w);
	expect_domain(&bound, domain);
	expect_domain(&events, domain);
	RC(0, fi_close(&domain->fid));
	world_close(&w);
}

/* A domain in the hints is the one of the info, which says its mode; if that was offered. */
Test(fi_addr, a_domain_given_keeps_its_mode)
{
	struct want plain = { .caps = FI_MSG | FI_RMA, .mr_mode = PLAIN }, bound = { .caps = FI_MSG | FI_RMA, .mr_mode = BOUND };
	struct want sender = { .caps = FI_MSG, .mr_mode = BOUND };
	int log = world_catch_log("warn");
	struct fid_domain *second;
	struct fi_info *hints, *info;
	struct world w;

	setenv("FI_EMU_IFACE", "lo", 1);
	world_open(&w, &plain);
	second = domain_as(&bound, &w);
	hints = world_hints(&sender);
	hints->domain_attr->domain = second;
	RC(0, world_getinfo(&sender, hints, &info));
	cr_expect(info->domain_attr->domain == second && info->domain_attr->mr_mode == BOUND);
	fi_freeinfo(info);
	hints = world_hints(&plain);
	hints->domain_attr->domain = second;
	world_logged(log);
	RC(-FI_ENODATA, world_getinfo(&plain, hints, &info));
	cr_expect(strstr(world_logged(log), "domain_attr->domain is open with mr_mode 0x274, and mr_mode 0x74 is offered"));
	RC(0, fi_close(&second->fid));
	world_close(&w);
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

/* An endpoint listens at the address of the interface in use, never at all of them. */
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
