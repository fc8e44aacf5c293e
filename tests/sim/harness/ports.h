/* SPDX-License-Identifier: BSD-2-Clause */
/* ports.h - the link's ports for datagrams, in memory: what is sent arrives after a drawn delay, or twice, or changed, or
 * never, as the weather is. */
#ifndef TESTS_SIM_PORTS_H
#define TESTS_SIM_PORTS_H

#include "tests/sim/harness/world.h"

/* The four of link_ops. */
int ports_bind(void *link, struct sockaddr_storage *at, bool hears, struct ep *ep, struct port **port);
void ports_unbind(struct port *port);
int ports_emit(struct port *port, const struct sockaddr_storage *to, const void *bytes, size_t length);
ssize_t ports_take(struct port *port, void *bytes, size_t room, struct sockaddr_storage *from);

/* Tells the node's endpoints what has arrived; how many it told. */
int ports_poll(struct node *node);
/* When something arrives at a node that runs, or a port takes more. */
uint64_t ports_next_ns(const struct world *world);
void ports_kill(struct node *node);
void ports_free(struct world *world);

/* A datagram from nowhere, which arrives at once. */
void ports_inject(struct world *world, uint16_t port, const void *bytes, size_t length);
/* Takes the last datagram that is on its way to a port off it: its length, 0: there is none. *from: the port that sent it. */
size_t ports_steal(struct world *world, uint16_t port, void *bytes, size_t room, uint16_t *from);

#endif
