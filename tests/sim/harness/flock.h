/* SPDX-License-Identifier: BSD-2-Clause */
/* flock.h - members of groups: processes with one endpoint each, and what they do together. A collective's expected result is
 * computed by itself, member by member. A check that fails names the seed.
 * Thread: one. */
#ifndef TESTS_SIM_FLOCK_H
#define TESTS_SIM_FLOCK_H

#include "emu/nic/collectives/collective.h"
#include "tests/sim/harness/world.h"

enum { MEMBERS = 16, FLOCK_S = 120 /* seconds in which everything ends */ };

/* One member of the flock: a process with one endpoint. */
struct bird {
	struct node *node;
	struct pd *pd;
	struct av *av;
	struct cq *cq;
	struct cntr *cntr;
	struct ep *ep;
	uint64_t index[MEMBERS]; /* of the others, and of itself */
};

struct flock {
	struct world *world;
	int size;
	struct bird bird[MEMBERS];
};

/* A group at one member. */
struct seat {
	struct coll_group *group;
	bool told, good;
	struct refusal why;
};

/* One collective of the whole flock, with the buffers of each member. */
struct act {
	struct flock *flock;
	struct coll_post post; /* count, type, op, root */
	size_t element, parts_in, parts_out;
	uint8_t *in[MEMBERS], *out[MEMBERS];
	int done[MEMBERS]; /* 1: good, -1: failed */
	int cause[MEMBERS];
};

/* Members that have been asked to join. */
struct wait {
	struct seat *seat;
	int count;
};

extern const int everybody[MEMBERS];

/* `size` members that know each other. */
void flock_open(struct flock *flock, uint64_t seed, int size);
void flock_close(struct flock *flock);
/* coll_join() of one, with these members in that order. seat_joined() is told. */
int flock_join(struct flock *flock, int member, const int *members, int count, struct seat *seat);
void seat_joined(void *owner, const struct refusal *why);
bool seats_told(void *wait);
/* All join one group, and have joined it. */
void flock_join_all(struct flock *flock, struct seat *seat);
void seat_leave(struct flock *flock, int member, struct seat *seat);
void flock_leave_all(struct flock *flock, struct seat *seat);
/* Reads all queues: into `done` and `cause` of the acts. */
void flock_read(struct flock *flock);

/* 32-bit sums. */
struct coll_post act_plain(enum coll_kind kind, size_t count);
void act_open(struct act *act, struct flock *flock, const struct coll_post *post);
void act_close(struct act *act);
int act_begin(struct act *act, int member, struct seat *seat);
bool act_done(void *act);
/* All have ended well, with the result expected. */
void act_check(const struct act *act);
/* From beginning to end. */
void act_run(struct flock *flock, struct seat *seat, const struct coll_post *post);

#endif
