/* SPDX-License-Identifier: BSD-2-Clause */
/* asked.h - an endpoint that posts to a peer which, once met, hears nothing and says nothing: so a test says to the initiator's
 * half what it likes, and sees what waits. Owner: the test. */
#ifndef TESTS_SIM_ASKED_H
#define TESTS_SIM_ASKED_H

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/requests/requester.h"
#include "tests/sim/harness/bed.h"

enum { ASKED_LONG = 1 << 20, ASKED_AT_ONCE = ASKED_LONG / LIMIT_SEGMENT };
enum { ASKED_NOTHING = 0, ASKED_GOOD = -1 }; /* else a cause */

struct asked {
	struct bed bed;
	struct party *party;
	struct session *session;
	struct requester *req; /* may have ASKED_AT_ONCE requests unacknowledged */
	uint64_t first;        /* number of the first request to come */
};

/* Sent bytes come from here, and fetched ones go to the last of its three parts. */
extern uint8_t asked_memory[3 * ASKED_LONG];

void asked_open(struct asked *asked);
void asked_close(struct asked *asked);
/* Frames that can leave now do. */
void asked_settle(struct asked *asked);
/* Posts, and lets it leave. An ATOMIC fetches. */
void asked_post(struct asked *asked, enum op_kind kind, uint64_t length, uint32_t flags);
/* Posts alone. */
void asked_post_at(struct asked *asked, enum op_kind kind, uint64_t key, uint64_t addr, uint64_t length, uint32_t flags);
/* The result of an op since the last time. */
int asked_came_to(struct asked *asked);

#endif
