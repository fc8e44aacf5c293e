/* SPDX-License-Identifier: BSD-2-Clause */
/* guess.h - how fast keys can be guessed: LIMIT_GUESSES a second, all peers together. After that, a connection that names
 * another wrong key is not read for the rest of the second; bytes already received are still processed. A peer that names no
 * wrong key does not notice. Thread: holder of the driver role. */
#ifndef EMU_NIC_GUESS_H
#define EMU_NIC_GUESS_H

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct nic;

/* A request named a key that does not exist. */
void guess_made(struct conn *conn);
/* Reads held connections again when it is time. Returns when the next tick is due, UINT64_MAX: none is held. */
uint64_t guess_tick(struct nic *nic);

#endif
