/* SPDX-License-Identifier: BSD-2-Clause */
/* soak.h - what the processes of a soak share, in memory that was mapped before they were forked. */
#ifndef TESTS_PROCESS_SOAK_H
#define TESTS_PROCESS_SOAK_H

#include <stdatomic.h>

#include "tests/rules/harness/peer.h"

enum { SOAK_MEMBERS = 8 };

/* The task of all, and how far each is. */
enum soak_stage {
	SOAK_WORKING,
	SOAK_DRAINED, /* no op is under way */
	SOAK_HEARD,   /* and no message */
	SOAK_CLOSED,
};

struct soak_member {
	_Atomic uint32_t life;  /* counts its processes */
	_Atomic uint32_t ready; /* the life that the rest is of; another than `life`: it is starting */
	_Atomic uint32_t stage;
	uint8_t name[PEER_ADDR_MAX];
	uint64_t key, base;     /* of its region */
	long own_kb[2], fds[2]; /* after a third of the time, and in the end */
};

struct soak {
	_Atomic uint32_t stage; /* enum soak_stage */
	_Atomic uint32_t warm;
	uint64_t kills;
	struct soak_member member[SOAK_MEMBERS];
	/* Written by the row's process alone. */
	uint64_t ops[SOAK_MEMBERS], cuts[SOAK_MEMBERS], failed[SOAK_MEMBERS];
	_Atomic uint64_t sent[SOAK_MEMBERS][SOAK_MEMBERS], heard[SOAK_MEMBERS][SOAK_MEMBERS]; /* of both present lives */
};

/* One of the processes: works until the stage says otherwise. Ends the process with a word if anything is wrong. */
void soak_member(struct soak *soak, int slot);

#endif
