/* SPDX-License-Identifier: BSD-2-Clause */
/* lines.h - the link (emu/nic/device/link.h) in memory: dials, listeners, byte streams, and how they break.
 *
 * A cable is one connection: two ends, each a `struct line`, and a pipe each way. A pipe holds a bounded number of
 * bytes, which become readable after a drawn delay, in drawn pieces. A cable that is cut delivers the bytes before the
 * cut and then fails at both ends, each in its own time and way: end of stream, reset, or conn_down(). */
#ifndef TESTS_SIM_LINES_H
#define TESTS_SIM_LINES_H

#include "tests/sim/harness/world.h"

extern const struct link_ops lines_ops; /* `link` is the node */

/* When the next thing happens on any stream: now or earlier if an end has something that its node should take. */
uint64_t lines_next_ns(const struct world *world);
/* Breaks all of a dead node's streams and forgets its listeners. */
void lines_kill(struct node *node);
/* Frees cables that both sides have closed. */
void lines_sweep(struct world *world);
/* How many ends a node has not closed. */
int lines_open(const struct node *node);
/* Bytes sent and not yet received, of all streams. */
uint64_t lines_in_flight(const struct world *world);
void lines_free(struct world *world);

/* An end in the hands of a test: dials, speaks and listens raw bytes. */
struct raw;
struct raw *raw_dial(struct world *world, uint16_t port);
/* In the place of a listener that is asleep: the next dial that was not taken; NULL: none. */
struct raw *raw_answer(struct world *world, uint16_t port);
void raw_note(struct raw *raw, uint64_t number); /* link.h; seen by a device that polls, or when the connection ends */
void raw_send(struct raw *raw, const void *bytes, size_t length); /* runs the world until all is taken */
size_t raw_recv(struct raw *raw, void *bytes, size_t length);     /* what is there now */
void raw_pause(struct raw *raw);                                  /* a little time, after which all have done what there is to do */
void raw_hear(struct raw *raw, void *bytes, size_t length);       /* exactly so many, once they have come */
bool raw_closed(struct raw *raw);                                 /* the other side has closed, and all it sent was received */
void raw_close(struct raw *raw);

#endif
