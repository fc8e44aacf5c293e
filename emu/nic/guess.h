/* SPDX-License-Identifier: BSD-2-Clause */
/* guess.h - how fast keys can be guessed: LIMIT_GUESSES a second, all peers together. A connection that names one after
 * that is not read until the second is over, but for what was received with it; a peer that names no wrong key does not
 * notice. Thread: holder of the driver role. */
#ifndef EMU_NIC_GUESS_H
#define EMU_NIC_GUESS_H

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct nic;

struct guesses {
	uint64_t until_ns;	/* the end of this second */
	uint32_t left;		/* wrong keys in it, until who names one is held */
	bool     holding;	/* connections */
};

/* A request named a key that there is not. */
void guess_made(struct conn *conn);
/* Reads again whom it is time to. When the next is due, UINT64_MAX: nobody is held. */
uint64_t guess_tick(struct nic *nic);

#endif
