/* SPDX-License-Identifier: BSD-2-Clause */
/* plug.h - a NIC on a link in memory whose other ends are in the hands of a fuzz target: no delays, no draws, no world.
 *
 * Lives as long as the process; time only goes on. Dials of the device are refused. Thread: one. */
#ifndef TESTS_FUZZ_PLUG_H
#define TESTS_FUZZ_PLUG_H

#include "emu/nic/device/nic.h"

enum { PLUG_LINES = 16, PLUG_OUT = 32 * 1024 };

struct line {
	struct plug *plug;
	struct conn *conn;
	bool used; /* by the device */
	bool dialled, rx_paused, wants;
	bool ended;        /* by the target */
	const uint8_t *in; /* what the device is to receive, */
	size_t left;
	size_t piece;          /* so many bytes at once; 0: any */
	uint8_t out[PLUG_OUT]; /* what it has sent */
	size_t said;
	uint64_t note; /* its last, beside that */
};

struct plug {
	struct nic *nic;
	struct ep *ep; /* the endpoint that listens */
	uint64_t now_ns, random;
	struct flush *flushes;
	unsigned turn; /* whose slot is taken next: what was closed can be read a while */
	struct line line[PLUG_LINES];
};

void plug_open(struct plug *plug, const struct nic_config *config);
/* A connection to the listening endpoint; NULL: it was not taken. */
struct line *plug_dial(struct plug *plug);
/* From here on the device receives the end, and may close. */
void plug_end(struct line *line);
/* Lets the device work until there is nothing left to do. */
void plug_run(struct plug *plug);

#endif
