/* SPDX-License-Identifier: BSD-2-Clause */
/* initiator.h - what the parts of the initiator share. */
#ifndef DEMO_INITIATOR_H
#define DEMO_INITIATOR_H

#include "channel.h"
#include "endpoint.h"

struct initiator {
	struct channel channel;
	struct endpoint endpoint;
	const char *target_log;	/* file with what the target's provider logged */
	int64_t target_pid;
	int deviations;		/* what did not go as the demo states */
};

/* A region of the target's, as told by it. */
struct remote {
	uint32_t number;
	size_t length;
	uint64_t address, key;
};

/* Notes, and says, what did not go as stated; returns `met`. */
bool expect(struct initiator *in, bool met, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

struct remote remote_register(struct initiator *in, size_t length, uint64_t access);
uint64_t remote_hash(struct initiator *in, const struct remote *remote);

/* Refused operations, each with its sentence on both sides and a good write after it (refusals.c). */
void show_refusals(struct initiator *in);

#endif
