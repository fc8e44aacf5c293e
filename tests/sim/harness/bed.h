/* SPDX-License-Identifier: BSD-2-Clause */
/* bed.h - the world that most tests begin with: parties on NICs of their own, which all know each other. */
#ifndef TESTS_SIM_BED_H
#define TESTS_SIM_BED_H

#include "tests/sim/harness/tap.h"
#include "tests/sim/harness/workload.h"

struct bed {
	struct world *world;
	struct model *model;
	struct node *node[MODEL_PARTIES];
	struct party *party[MODEL_PARTIES];
};

enum { BED_BOTH = MR_REMOTE_READ | MR_REMOTE_WRITE };
#define BED_LIMIT_NS (60 * SIM_SECOND) /* of virtual time: more than any retry budget */

/* The seed may be overridden by SIM_SEED. Either config may be NULL. */
void bed_open(struct bed *bed, uint64_t seed, int parties, const struct nic_config *nic, const struct party_config *party);
void bed_close(struct bed *bed);
/* Posts, from the first party to the second: an atomic is a sum of 64 bytes that returns nothing. `target` and `offset` are not for
 * messages. */
struct job *bed_post(struct bed *bed, enum op_kind kind, struct region *target, uint64_t offset, uint64_t length, uint32_t flags);
/* Every party with an endpoint knows all others. */
void bed_meet(struct bed *bed);

#endif
