/* SPDX-License-Identifier: BSD-2-Clause */
/* model.h - what a world of NICs must do, and whether it does.
 *
 * Properties, each checked as soon as it can be: every posted op completes exactly once, with an outcome that is
 * allowed to it; memory is what the completed ops made it, and nothing else changed; refused ops changed nothing; each
 * message and each remote CQ data arrives exactly once and in order; counters are exact; in the end all is quiet. */
#ifndef TESTS_SIM_MODEL_H
#define TESTS_SIM_MODEL_H

#include "tests/sim/harness/job.h"

struct model {
	struct world *world;
	struct party *party[MODEL_PARTIES];
	int parties;
	struct region *regions;
	struct job **job; /* by id, from 1 */
	uint64_t jobs, jobs_room;
	uint64_t open;     /* jobs posted and not done */
	uint64_t hearings; /* good messages and CQ data that a program has not heard of yet */
	uint64_t numbers[MODEL_PARTIES][MODEL_PARTIES], messages[MODEL_PARTIES][MODEL_PARTIES];
	uint64_t heard[MODEL_PARTIES][MODEL_PARTIES]; /* number of the last write with CQ data heard of */
	struct intake *intakes;
	struct outcomes peers_may; /* what ops to a dead peer may come to */
	struct outcomes any_may;   /* and what any op may, where memory runs out */
	bool counts_exact;         /* no fault that leaves open how often the target executed a request */
	bool messages_pass;        /* a fault plan lets messages pass each other, of a sender that promises no order of them */
	bool writes_held;          /* a fault plan has bytes of writes seen later than their completion */
	bool one_source;           /* each party gets messages from one other only */
	uint64_t completions;
	uint64_t cuts; /* that hit connections while jobs were open */
};

struct model *model_open(struct world *world);
/* Checks and frees; closes the world, too. */
void model_close(struct model *model);
/* A step of the world, and programs look at their queues. False: nothing can happen any more. */
bool model_step(struct model *model);
/* Steps until every job is done. Fails if that takes more than limit_ns. */
void model_finish(struct model *model, uint64_t limit_ns);
/* The same, and until every good message was heard of: posts receives where there are none, and takes back those that
 * are left over. */
void model_drain(struct model *model, uint64_t limit_ns);
/* Steps until all endpoints are quiet and nothing is on its way. */
void model_quiet(struct model *model, uint64_t limit_ns);
/* Everything that must hold when no job is open. */
void model_check(struct model *model);
/* Drain, quiet, check: how most tests end. */
void model_end(struct model *model, uint64_t limit_ns);
/* Posts receives for all where there are none, so that what waits for one goes on. */
void model_post_lacking(struct model *model);
/* Runs for so long, whatever happens. */
void model_pass(struct model *model, uint64_t ns);
/* The node's process dies. Its own ops are forgotten; from here on ops of others to it may come to peers_may, and none
 * else may. */
void model_kill(struct model *model, struct node *node);
/* Memory may run out: sessions may be given up, and what they had under way. */
void model_scarce(struct model *model);
/* Takes what is in a party's queues. */
void model_read(struct party *party);

#endif
