/* SPDX-License-Identifier: BSD-2-Clause */
/* world.h - an open device with a PD, in one process. Failures end the test. */
#ifndef TESTS_VERBS_WORLD_H
#define TESTS_VERBS_WORLD_H

#include <infiniband/verbs.h>

struct verbs {
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_pd *pd;
};

/* The first device. */
void verbs_open(struct verbs *verbs);
void verbs_close(struct verbs *verbs);

/* The fault plan, for the first device that is opened. */
void fault_plan(const char *text);

/* From here on standard error goes to a file; `said_has`: does it hold this text? */
void said_begin(void);
int said_has(const char *text);

#endif
