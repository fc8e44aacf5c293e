/* SPDX-License-Identifier: BSD-2-Clause */
/* ports.c - see ports.h. */
#include "tests/sim/harness/ports.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

struct port {
	struct node *node;
	struct ep *ep;
	struct port *next;
	uint16_t number;
	bool hears, refused; /* of what it has sent: nobody was there */
	uint64_t full_ns;    /* has said -EAGAIN, and takes more from then on; 0: has not */
};

struct packet {
	struct packet *next;
	uint16_t from, to; /* from: 0: nowhere */
	uint64_t at_ns;
	size_t length;
	uint8_t bytes[];
};

static struct sockaddr_in *in_of(const struct sockaddr_storage *at)
{
	return (struct sockaddr_in *)(uintptr_t)at; /* the port is at the same place in sockaddr_in6 */
}

static struct port *port_at(const struct world *world, uint16_t number)
{
	struct port *port = world->ports;

	while (port && port->number != number)
		port = port->next;
	return port;
}

static void in_role(const struct node *node)
{
	WORLD_CHECK(node->world, !node->nic || driver_mine(nic_driver(node->nic)), "a port is used without the driver role");
}

int ports_bind(void *link, struct sockaddr_storage *at, bool hears, struct ep *ep, struct port **out)
{
	struct node *node = link;
	struct world *world = node->world;
	uint16_t number = ntohs(in_of(at)->sin_port);
	struct port *port;

	in_role(node);
	if (!number)
		number = world->next_port++;
	if (port_at(world, number))
		return -EADDRINUSE;
	port = calloc(1, sizeof(*port));
	assert(port);
	*port = (struct port){ .node = node, .ep = ep, .next = world->ports, .number = number, .hears = hears };
	world->ports = port;
	in_of(at)->sin_port = htons(number);
	*out = port;
	return 0;
}

void ports_unbind(struct port *port)
{
	struct port **at = &port->node->world->ports;

	in_role(port->node);
	while (*at != port)
		at = &(*at)->next;
	*at = port->next;
	free(port);
}

static void packet_new(struct world *world, uint16_t from, uint16_t to, uint64_t at_ns, const void *bytes, size_t length)
{
	struct packet *packet = malloc(sizeof(*packet) + length);

	assert(packet);
	*packet = (struct packet){ .next = world->packets, .from = from, .to = to, .at_ns = at_ns, .length = length };
	memcpy(packet->bytes, bytes, length);
	world->packets = packet;
}

static uint64_t draw_arrival(struct world *world)
{
	return world->now_ns + rnd_below(&world->rnd, world->weather.delay_max_ns + 1);
}

int ports_emit(struct port *port, const struct sockaddr_storage *to, const void *bytes, size_t length)
{
	struct world *world = port->node->world;
	const struct weather *weather = &world->weather;
	int copies = 1;

	in_role(port->node);
	WORLD_CHECK(world, length <= 1452, "a datagram of %zu B does not fit an Ethernet frame", length);
	if (port->full_ns > world->now_ns || rnd_percent(&world->rnd, weather->full_percent)) {
		if (port->full_ns <= world->now_ns)
			port->full_ns = draw_arrival(world) + 1;
		return -EAGAIN;
	}
	world->moves++;
	world->packets_sent++;
	if (rnd_percent(&world->rnd, weather->lose_percent))
		return rnd_percent(&world->rnd, 50) ? 0 : -ENOBUFS;
	port->refused |= port->hears && !port_at(world, ntohs(in_of(to)->sin_port));
	copies += rnd_percent(&world->rnd, weather->twice_percent);
	while (copies--) {
		packet_new(world, port->number, ntohs(in_of(to)->sin_port), draw_arrival(world), bytes, length);
		if (rnd_percent(&world->rnd, weather->flip_percent))
			world->packets->bytes[rnd_below(&world->rnd, length)] ^= (uint8_t)(1 << rnd_below(&world->rnd, 8));
	}
	return 0;
}

void ports_inject(struct world *world, uint16_t port, const void *bytes, size_t length)
{
	packet_new(world, 0, port, world->now_ns, bytes, length);
}

size_t ports_steal(struct world *world, uint16_t port, void *bytes, size_t room, uint16_t *from)
{
	struct packet **at = &world->packets, *packet;
	size_t length;

	while (*at && (*at)->to != port)
		at = &(*at)->next;
	packet = *at;
	if (!packet)
		return 0;
	length = packet->length < room ? packet->length : room;
	memcpy(bytes, packet->bytes, length);
	*from = packet->from;
	*at = packet->next;
	free(packet);
	return length;
}

/* The one for this port that arrived first, or NULL. */
static struct packet **arrived(struct world *world, uint16_t number)
{
	struct packet **first = NULL;

	for (struct packet **at = &world->packets; *at; at = &(*at)->next)
		if ((*at)->to == number && (*at)->at_ns <= world->now_ns && (!first || (*at)->at_ns < (*first)->at_ns))
			first = at;
	return first;
}

ssize_t ports_take(struct port *port, void *bytes, size_t room, struct sockaddr_storage *from)
{
	struct world *world = port->node->world;
	struct packet **at = arrived(world, port->number), *packet;
	ssize_t length;

	in_role(port->node);
	if (port->refused) {
		port->refused = false;
		return -ECONNREFUSED;
	}
	if (!at)
		return -EAGAIN;
	if (world->arriving)
		world->arriving();
	packet = *at;
	*at = packet->next;
	length = (ssize_t)packet->length;
	if (from) {
		memset(from, 0, sizeof(*from));
		from->ss_family = AF_INET;
		in_of(from)->sin_port = htons(packet->from);
	}
	memcpy(bytes, packet->bytes, packet->length < room ? packet->length : room);
	free(packet);
	world->moves++;
	return length;
}

int ports_poll(struct node *node)
{
	struct world *world = node->world;
	struct port *port, *next;
	int events = 0;

	for (port = world->ports; port && !node->dead; port = next) {
		next = port->next;
		if (port->node != node)
			continue;
		if (port->full_ns && port->full_ns <= world->now_ns) {
			port->full_ns = 0;
			ep_writable(port->ep);
			events++;
		}
		if (port->refused || arrived(world, port->number)) {
			ep_readable(port->ep, port);
			events++;
		}
	}
	return events;
}

uint64_t ports_next_ns(const struct world *world)
{
	uint64_t next = UINT64_MAX;

	for (const struct packet *packet = world->packets; packet; packet = packet->next) {
		const struct port *port = port_at(world, packet->to);

		if (port && !port->node->dead && packet->at_ns < next)
			next = packet->at_ns;
	}
	for (const struct port *port = world->ports; port; port = port->next) {
		if (port->refused && !port->node->dead)
			return world->now_ns;
		if (port->full_ns && !port->node->dead && port->full_ns < next)
			next = port->full_ns;
	}
	return next;
}

/* The ports themselves are the device's. */
void ports_kill(struct node *node)
{
	for (struct port *port = node->world->ports; port; port = port->next)
		if (port->node == node)
			port->number = 0;
}

void ports_free(struct world *world)
{
	struct packet *packet;

	while ((packet = world->packets)) {
		world->packets = packet->next;
		free(packet);
	}
	WORLD_CHECK(world, !world->ports, "a port was left open");
}
