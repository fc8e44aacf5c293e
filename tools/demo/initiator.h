/* SPDX-License-Identifier: BSD-2-Clause */
/* initiator.h - shared by the parts of the initiator. */
#ifndef DEMO_INITIATOR_H
#define DEMO_INITIATOR_H

#include "channel.h"
#include "endpoint.h"

struct initiator {
	struct channel channel;
	struct endpoint endpoint;
	const char *target_log; /* the log file of the target's provider */
	int64_t target_pid;
	int deviations; /* failed expectations */
};

/* A region of the target, as the target has told it. */
struct remote_region {
	uint32_t number;
	size_t length;
	uint64_t address, key;
};

/* If not `met`, counts a deviation and says it; returns `met`. */
bool expect(struct initiator *in, bool met, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

struct remote_region remote_register(struct initiator *in, size_t length, uint64_t access);
uint64_t remote_hash(struct initiator *in, const struct remote_region *remote);

/* Refused operations, each with its sentence on both sides and a good write after it (refusals.c). */
void show_refusals(struct initiator *in);

#endif
