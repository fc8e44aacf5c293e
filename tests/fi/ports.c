/* SPDX-License-Identifier: BSD-2-Clause */
/* ports.c - FI_EMU_PORTS and FI_EMU_ADVERTISE: which ports endpoints take, and which address they are known by. */
#include "tests/fi/ends.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONTEXTS = 4 };

/* Of the sockets of this sort, SOCK_STREAM or SOCK_DGRAM. */
static bool binds(int sort, uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, sort, 0);
	bool bound = !bind(fd, (struct sockaddr *)&at, sizeof(at));

	close(fd);
	return bound;
}

/* Of no use to ask whether a port was given back: one of datagrams may be that of another process' stream, and stay so after it. */
static bool is_free(uint16_t port)
{
	return binds(SOCK_STREAM, port) && binds(SOCK_DGRAM, port);
}

/* So many ports in a row of lo that nobody has, below those that the system gives. Returns the first. */
static uint16_t use_ports(uint16_t count)
{
	uint16_t first = (uint16_t)(20000 + getpid() * 16 % 11008), found = 0; /* tests beside this one look elsewhere */
	char range[16];

	for (uint16_t port = first; found < count; port++) {
		found = is_free(port) ? found + 1 : 0;
		first = (uint16_t)(port + 1 - found);
		cr_assert_lt(port, 32000, "no %d ports in a row are free", count);
	}
	snprintf(range, sizeof(range), "%d-%d", first, first + count - 1);
	setenv("FI_EMU_IFACE", "127.0.0.1", 1);
	setenv("FI_EMU_PORTS", range, 1);
	return first;
}

static struct sockaddr_in name_of(struct fid *fid)
{
	struct sockaddr_in name = { 0 };
	size_t length = sizeof(name);

	RC(0, fi_getname(fid, &name, &length));
	cr_assert_eq(name.sin_family, AF_INET);
	return name;
}

static uint16_t port_of(struct fid *fid)
{
	return ntohs(name_of(fid).sin_port);
}

/* To itself, by its own name. */
static void check_self(struct world *world)
{
	struct fi_cq_tagged_entry entry;
	char out[8] = "message", in[8] = "";

	RC(0, fi_recv(world->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_send(world->ep, out, sizeof(out), NULL, world->self, NULL));
	for (int i = 0; i < 2; i++)
		RC(1, world_next(world, &entry));
	cr_assert_str_eq(in, out);
}

static void check_type(enum fi_ep_type type)
{
	uint16_t first = use_ports(2);
	struct world world[3];

	world_need_emu();
	for (int i = 0; i < 2; i++) {
		world_open(&world[i], &(struct want){ .caps = FI_MSG, .type = type });
		cr_assert(port_of(&world[i].ep->fid) >= first && port_of(&world[i].ep->fid) <= first + 1);
		check_self(&world[i]);
	}
	cr_assert_neq(port_of(&world[0].ep->fid), port_of(&world[1].ep->fid));
	world_open_disabled(&world[2], &(struct want){ .caps = FI_MSG, .type = type });
	RC(-FI_EADDRINUSE, fi_enable(world[2].ep));
	world_close(&world[0]);
	RC(0, fi_enable(world[2].ep));
	world_close(&world[1]);
	world_close(&world[2]);
}

Test(fi_ports, of_reliable_datagrams)
{
	check_type(FI_EP_RDM);
}

Test(fi_ports, of_unreliable_datagrams)
{
	check_type(FI_EP_DGRAM);
}

Test(fi_ports, of_passive_and_connected_endpoints)
{
	uint16_t first = use_ports(3);
	struct fid_ep *end[2];
	struct net net;

	world_need_emu();
	net_open(&net);
	net_listen(&net);
	cr_assert(port_of(&net.pep->fid) >= first && port_of(&net.pep->fid) < first + 3);
	connected(&net, end);
	close_ends(end);
	net_close(&net);
}

static struct fid_ep *open_scalable(const struct world *world, const struct want *want, struct fi_info **info)
{
	struct fi_info *hints = world_hints(want);
	struct fid_ep *sep, *rx;

	hints->ep_attr->rx_ctx_cnt = CONTEXTS;
	RC(0, world_getinfo(want, hints, info));
	RC(0, fi_scalable_ep(world->domain, *info, &sep, NULL));
	RC(0, fi_scalable_ep_bind(sep, &world->av->fid, 0));
	RC(0, fi_rx_context(sep, 0, NULL, &rx, NULL));
	RC(0, fi_ep_bind(rx, &world->cq->fid, FI_RECV));
	RC(0, fi_enable(sep));
	RC(0, fi_enable(rx));
	return sep;
}

/* The ports of receive contexts are in a row, and nobody else is given them. */
Test(fi_ports, of_scalable_endpoints)
{
	const struct want want = { .caps = FI_MSG };
	uint16_t first = use_ports(CONTEXTS + 1);
	struct fid_ep *sep, *other, *rx;
	struct fi_info *info;
	struct world world;

	world_need_emu();
	world_open_disabled(&world, &want);
	sep = open_scalable(&world, &want, &info);
	cr_assert_eq(port_of(&sep->fid), first);
	RC(0, fi_enable(world.ep));
	cr_assert_eq(port_of(&world.ep->fid), first + CONTEXTS, "only that is left");
	RC(0, fi_scalable_ep(world.domain, info, &other, NULL));
	RC(0, fi_scalable_ep_bind(other, &world.av->fid, 0));
	RC(0, fi_rx_context(other, 0, NULL, &rx, NULL));
	RC(0, fi_ep_bind(rx, &world.cq->fid, FI_RECV));
	RC(-FI_EADDRINUSE, fi_enable(other));
	fi_freeinfo(info);
}

/* It is known by an address at which no socket listens. Endpoints of this process find it all the same. */
static void check_advertised(enum fi_ep_type type, const char *local)
{
	struct sockaddr_in name;
	struct world world;

	world_need_emu();
	setenv("FI_EMU_LOCAL", local, 1);
	setenv("FI_EMU_IFACE", "127.0.0.1", 1);
	setenv("FI_EMU_ADVERTISE", "192.0.2.7", 1);
	world_open(&world, &(struct want){ .caps = FI_MSG, .type = type });
	name = name_of(&world.ep->fid);
	cr_assert_eq(name.sin_addr.s_addr, inet_addr("192.0.2.7"));
	cr_assert_neq(name.sin_port, 0);
	check_self(&world);
	world_close(&world);
}

Test(fi_ports, advertised_to_neighbours)
{
	check_advertised(FI_EP_RDM, "unix");
}

Test(fi_ports, advertised_over_tcp)
{
	check_advertised(FI_EP_RDM, "tcp");
}

Test(fi_ports, advertised_in_datagrams)
{
	check_advertised(FI_EP_DGRAM, "unix");
}

/* WIRE-105: what a secret is proved for is the address that was dialled, and that is the one advertised. */
Test(fi_ports, advertised_with_a_secret)
{
	char path[] = "/tmp/emu-secret-XXXXXX";
	int file = mkstemp(path);

	cr_assert(file >= 0 && write(file, path, sizeof(path)) == sizeof(path));
	close(file);
	setenv("FI_EMU_SECRET_FILE", path, 1);
	check_advertised(FI_EP_RDM, "tcp");
	check_advertised(FI_EP_DGRAM, "tcp");
	unlink(path);
}

/* A peer that is bound to another address of the same machine is not called gone, and the address is named. */
Test(fi_ports, peers_at_another_address)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un other = { .sun_family = AF_UNIX };
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	int log, listener = socket(AF_UNIX, SOCK_STREAM, 0);
	const char *sentence, *said;
	char name[32], text[400];
	struct world world;
	fi_addr_t peer;

	world_need_emu();
	at.sin_port = htons(use_ports(1));
	unsetenv("FI_EMU_PORTS");
	snprintf(name, sizeof(name), "127.0.0.2:%d", ntohs(at.sin_port));
	RC(0, bind(listener, (struct sockaddr *)&other,
		   offsetof(struct sockaddr_un, sun_path) + 1 +
			   (socklen_t)snprintf(other.sun_path + 1, sizeof(other.sun_path) - 1, "emu-%s", name)));
	RC(0, listen(listener, 1));
	log = world_catch_log("warn");
	world_open(&world, &(struct want){ .caps = FI_MSG });
	RC(1, fi_av_insert(world.av, &at, 1, &peer, 0, NULL));
	RC(0, fi_send(world.ep, text, 1, NULL, peer, NULL));
	RC(-FI_EAVAIL, world_next(&world, &entry));
	RC(1, fi_cq_readerr(world.cq, &error, 0));
	cr_assert_eq(error.err, FI_ECONNREFUSED);
	sentence = fi_cq_strerror(world.cq, error.prov_errno, error.err_data, text, sizeof(text));
	cr_assert(!strstr(sentence, "gone") && strstr(sentence, "bound to another address"), "%s", sentence);
	said = world_logged(log);
	cr_assert(strstr(said, name), "%s", said);
	world_close(&world);
	close(listener);
}

/* An address of another family says nothing of this one. */
Test(fi_ports, advertised_of_another_family)
{
	struct world world;

	world_need_emu();
	setenv("FI_EMU_IFACE", "127.0.0.1", 1);
	setenv("FI_EMU_ADVERTISE", "2001:db8::7", 1);
	world_open(&world, &(struct want){ .caps = FI_MSG });
	cr_assert_eq(name_of(&world.ep->fid).sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	world_close(&world);
}

Test(fi_ports, connections_to_who_is_advertised)
{
	struct fid_ep *end[2];
	struct net net;

	world_need_emu();
	setenv("FI_EMU_LOCAL", "tcp", 1);
	setenv("FI_EMU_IFACE", "127.0.0.1", 1);
	setenv("FI_EMU_ADVERTISE", "192.0.2.7", 1);
	net_open(&net);
	net_listen(&net);
	cr_assert_eq(name_of(&net.pep->fid).sin_addr.s_addr, inet_addr("192.0.2.7"));
	connected(&net, end);
	close_ends(end);
	net_close(&net);
}

/* fi_cm(3): the provider allocates a port for an address without one, as soon as fi_setname() names it. */
static void check_named(struct fid *fid, uint16_t first, uint16_t count)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint16_t port;

	RC(0, fi_setname(fid, &name, sizeof(name)));
	port = port_of(fid);
	cr_assert(port && port == port_of(fid) && name_of(fid).sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	cr_assert(!count || (port >= first && port < first + count), "port %d", port);
	cr_assert_not(is_free(port));
}

/* The port stays the same, and is the one at which the endpoint is reached. */
Test(fi_ports, named_without_a_port)
{
	static const enum fi_ep_type types[] = { FI_EP_RDM, FI_EP_DGRAM };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		uint16_t port;
		struct world w;

		world_open_disabled(&w, &(struct want){ .type = types[i], .caps = FI_MSG });
		check_named(&w.ep->fid, 0, 0);
		check_named(&w.ep->fid, 0, 0); /* the first one is given back */
		port = port_of(&w.ep->fid);
		world_enable(&w);
		cr_expect_eq(port_of(&w.ep->fid), port, "type %d", types[i]);
		check_self(&w);
		RC(-FI_EOPBADSTATE,
		   fi_setname(&w.ep->fid, &(struct sockaddr_in){ .sin_family = AF_INET }, sizeof(struct sockaddr_in)));
		world_close(&w);
		cr_expect(binds(types[i] == FI_EP_DGRAM ? SOCK_DGRAM : SOCK_STREAM, port));
	}
}

Test(fi_ports, named_and_never_enabled)
{
	struct world w;
	uint16_t port;

	world_open_disabled(&w, &(struct want){ .caps = FI_MSG });
	check_named(&w.ep->fid, 0, 0);
	port = port_of(&w.ep->fid);
	RC(0, fi_close(&w.ep->fid));
	cr_expect(binds(SOCK_STREAM, port));
	RC(0, fi_endpoint(w.domain, w.info, &w.ep, NULL));
	world_close(&w);
}

Test(fi_ports, a_passive_endpoint_named_without_a_port)
{
	struct fid_ep *end[2];
	struct fid_pep *pep;
	struct net net;
	uint16_t port;

	net_open(&net);
	check_named(&net.pep->fid, 0, 0);
	port = port_of(&net.pep->fid);
	net_listen(&net);
	cr_expect_eq(port_of(&net.pep->fid), port);
	connected(&net, end);
	message(&net, end[0], end[1], 7);
	close_ends(end);
	end[0] = ep_new(&net, net.info); /* it dials from there */
	check_named(&end[0]->fid, 0, 0);
	port = port_of(&end[0]->fid);
	RC(0, fi_connect(end[0], &net.name, NULL, 0));
	fi_freeinfo(expect(&net, FI_CONNREQ, net.pep).info);
	cr_expect_eq(port_of(&end[0]->fid), port);
	RC(0, fi_close(&end[0]->fid));
	RC(0, fi_passive_ep(net.fabric, net.info, &pep, NULL)); /* one that never listens */
	check_named(&pep->fid, 0, 0);
	port = port_of(&pep->fid);
	RC(0, fi_close(&pep->fid));
	cr_expect(binds(SOCK_STREAM, port));
	net_close(&net);
}

/* FI_EMU_PORTS rules these ports, too. */
Test(fi_ports, named_without_a_port_in_a_range)
{
	uint16_t first = use_ports(2);
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	size_t length = sizeof(name);
	struct world w, other;
	struct fid_ep *third;

	world_open_disabled(&w, &(struct want){ .caps = FI_MSG });
	world_open_disabled(&other, &(struct want){ .caps = FI_MSG });
	check_named(&w.ep->fid, first, 2);
	check_named(&other.ep->fid, first, 2);
	cr_assert_neq(port_of(&w.ep->fid), port_of(&other.ep->fid));
	RC(0, fi_endpoint(w.domain, w.info, &third, NULL));
	RC(0, fi_setname(&third->fid, &name, sizeof(name)));
	RC(-FI_EOPBADSTATE, fi_getname(&third->fid, &name, &length)); /* fi_enable() may find one */
	RC(0, fi_close(&third->fid));
	world_enable(&w);
	world_enable(&other);
	check_self(&w);
	world_close(&other);
	world_close(&w);
}

/* All receive contexts have their ports from then on. */
Test(fi_ports, a_scalable_endpoint_named_without_a_port)
{
	struct fid_ep *sep, *rx;
	struct fi_info *info;
	struct world w;
	uint16_t port;

	world_open(&w, &(struct want){ .caps = FI_MSG | FI_NAMED_RX_CTX });
	info = fi_dupinfo(w.info);
	info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = CONTEXTS;
	RC(0, fi_scalable_ep(w.domain, info, &sep, NULL));
	check_named(&sep->fid, 0, 0);
	check_named(&sep->fid, 0, 0);
	port = port_of(&sep->fid);
	for (uint16_t i = 0; i < CONTEXTS; i++)
		cr_expect_not(is_free((uint16_t)(port + i)));
	RC(0, fi_scalable_ep_bind(sep, &w.av->fid, 0));
	RC(0, fi_rx_context(sep, 1, NULL, &rx, NULL));
	RC(0, fi_ep_bind(rx, &w.cq->fid, FI_RECV));
	RC(0, fi_enable(rx));
	cr_expect_eq(port_of(&sep->fid), port);
	RC(-FI_EOPBADSTATE, fi_setname(&sep->fid, &(struct sockaddr_in){ .sin_family = AF_INET }, sizeof(struct sockaddr_in)));
	RC(0, fi_close(&rx->fid));
	RC(0, fi_close(&sep->fid));
	cr_expect(binds(SOCK_STREAM, port));
	fi_freeinfo(info);
	world_close(&w);
}
