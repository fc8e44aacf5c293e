/* SPDX-License-Identifier: BSD-2-Clause */
/* bound.h - what tests of bound regions share: fi_mr_bind and fi_mr_enable at the target, a counter there, and a second
 * endpoint on the target's domain. */
#ifndef TESTS_RULES_BOUND_H
#define TESTS_RULES_BOUND_H

#include "tests/rules/harness/harness.h"

/* The object that fi_mr_bind gets. */
enum bind_to { BIND_COUNTER, BIND_SECOND_COUNTER, BIND_ENDPOINT, BIND_SECOND_ENDPOINT };

/* The calls at the target, and their return values. */
int remote_bind(struct pair *p, const struct remote *r, enum bind_to to, uint64_t flags);
int remote_enable(struct pair *p, const struct remote *r);

/* Leaves the body where the provider, which granted FI_RMA_EVENT, has no events of regions all the same (S97). */
#define NEED_REGION_EVENTS(p)                                                                 \
	do {                                                                                  \
		if (!region_events(p))                                                        \
			NOT_IN_THIS_MODE("%s binds no counters to regions", peer_provider()); \
	} while (0)
bool region_events(struct pair *p);

/* Both counters there, opened and closed; return value of the second close. */
void counters_open(struct pair *p);
int counter_close(struct pair *p, enum bind_to which);
/* Waits until the counter has come to `want`, and checks that it is not beyond. */
void counter_is(struct pair *p, enum bind_to which, uint64_t want);

/* A second endpoint of the target, without some of the capabilities of the first. Returns its address. */
fi_addr_t second_open(struct pair *p, uint64_t without);
int second_close(struct pair *p);

#endif
