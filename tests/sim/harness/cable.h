/* SPDX-License-Identifier: BSD-2-Clause */
/* cable.h - one simulated connection: two ends, a pipe each way, and the ways in which it fails.
 * Owner: the world, until both ends are closed. */
#ifndef TESTS_SIM_CABLE_H
#define TESTS_SIM_CABLE_H

#include <stdio.h>

#include "tests/sim/harness/pipe.h"
#include "tests/sim/harness/world.h"

struct line {
	struct cable *cable;
	struct node *node; /* whose end it is; NULL: a test's (raw), or not accepted yet */
	struct conn *conn;
	bool up, closed, want_write, rx_paused;
	bool told;                                                     /* conn_down() was called: no event after it */
	uint64_t executed;                                             /* of this side's requests, as the peer has noted */
	uint64_t note, noted;                                          /* the peer's last, and the last of them that was told */
	uint64_t down_ns;                                              /* broken: when this end notices */
	enum line_failure { FAIL_END, FAIL_RESET, FAIL_DOWN } failure; /* broken: how */
};

struct cable {
	struct world *world;
	uint32_t number;     /* how many were dialled before it */
	uint16_t port;       /* where to */
	struct line end[2];  /* 0: the dialler's */
	struct pipe pipe[2]; /* 0: from the dialler */
	uint64_t cut_at[2];  /* breaks after so many bytes of the direction; UINT64_MAX: never */
	uint64_t flip_at[2]; /* this byte of the direction is changed; UINT64_MAX: none */
	bool planned[2];     /* that cut was asked for by world_fault(), not drawn */
	struct tap *tap[2];
	bool answered; /* the dial was */
	uint64_t answer_ns;
	struct node *acceptor; /* whose listener it reached */
	uint64_t accept_ns;
	bool broken;
};

struct cable *cable_open(struct world *world, uint16_t port);
void cable_free(struct cable *cable);
/* Both ends find out, each in its own time and way. Lossy: bytes on their way may or may not get through. */
void cable_break(struct cable *cable, bool lossy);

/* When the cable breaks because one of its nodes is cut off; UINT64_MAX: none is. */
uint64_t cable_timeout_ns(const struct cable *cable);
/* It does; nothing that was on its way arrives. */
void cable_time_out(struct cable *cable);

int line_dir(const struct line *line); /* in which it sends */
ssize_t line_send(struct line *line, const struct iovec *iov, int count);
ssize_t line_recv(struct line *line, const struct iovec *iov, int count);
void line_close(struct line *line);
void line_kill(struct line *line); /* its process died; the device still holds it */
bool line_writable(struct line *line);
bool line_has_input(struct line *line); /* bytes, or a failure that recv() tells */
bool line_fails_now(struct line *line); /* conn_down() is due */
bool line_ended(struct line *line);     /* nothing will come any more */
uint64_t line_next_ns(struct line *line);

#endif
