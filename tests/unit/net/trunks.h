/* SPDX-License-Identifier: BSD-2-Clause */
/* trunks.h - lines that share a stream (trunk.h), in the link of pairs.h, which dials itself: so both sides of a trunk are here.
 * test_trunk.c and test_trunk_full.c are in two programs, one for each kind of stream. */
#ifndef EMU_TESTS_TRUNKS_H
#define EMU_TESTS_TRUNKS_H

#include "emu/net/link/trunk.h"
#include "pairs.h"

enum { TRUNK_PAIRS = 4 };

extern const uint8_t here[WIRE_PROCESS_LEN], elsewhere[WIRE_PROCESS_LEN]; /* what the peer's process is said to be */

/* `one` dialled `two`. The first is alone, the others are channels of a trunk, each numbered by its place. */
extern struct conn *one[TRUNK_PAIRS], *two[TRUNK_PAIRS];

void greet(struct conn **dialler, struct conn **accepter); /* a pair that line_join() may be called for */
void join(struct conn *dialler, struct conn *accepter, const uint8_t *process);
void open_trunks(void);                           /* open_link(): the second line to `here` or `elsewhere` begins a trunk */
extern unsigned int besides;                      /* sockets that it opened */
void open_trunk(void);                            /* `one` and `two`, joined */
struct trunk *trunk_at(bool dialled);             /* the last one made; NULL: none */
void turn(void);                                  /* a flush and a poll */
void calm(void);                                  /* turns after which nothing is on its way */
void expect(struct conn *conn, const char *text); /* turns until it has come, and it alone */
void tell(struct conn *conn, const char *text);   /* sends it whole, as one piece */
ssize_t try_send(struct conn *conn, const char *bytes, size_t length);

#define UNTIL(condition)     \
	while (!(condition)) \
	turn()

#endif
