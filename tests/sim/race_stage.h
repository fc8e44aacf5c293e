/* SPDX-License-Identifier: BSD-2-Clause */
/* race_stage.h - two parties of whose accesses a layer above is told (emu/nic/ops/races.h), and what it was told.
 *
 * The simulator has one thread, and all its NICs have the same functions. */
#ifndef EMU_TESTS_RACE_STAGE_H
#define EMU_TESTS_RACE_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/ops/races.h"
#include "emu/nic/ops/watch.h"
#include "tests/sim/harness/bed.h"

enum {
	BYTES = 192,
	PLACES = 8,
	/* No counter tells of accesses. */
	STAGE_CAPS = EP_SEND | EP_RECV | EP_READ | EP_WRITE | EP_REMOTE_READ | EP_REMOTE_WRITE | EP_DIRECTED_RECV | EP_SOURCE |
		     EP_REMOTE_ATOMIC_READ | EP_REMOTE_ATOMIC_WRITE | EP_TSEND | EP_TRECV
};
#define LATE SIM_SECOND

struct stage_told {
	uint64_t hold_ns, stay_ns, late_ns, completes_ns, stored; /* what is answered; and bytes by store() */
	bool apart;                                               /* writes come by store() */
	unsigned arrived, due, executed, closed, open;
	unsigned closed_first; /* before they were executed */
	unsigned ended;        /* sessions */
	unsigned met;          /* what was open when the last one came */
	struct race_access last;
};

extern struct stage_told told;

struct stage {
	struct nic_config config;
	struct bed bed;
	struct region *target; /* of the second party */
};

void stage_open(struct stage *stage, uint64_t hold_ns, uint32_t order);
void stage_end(struct stage *stage);
/* By the first party, and lets an eighth of LATE pass. */
struct job *stage_post(struct stage *stage, enum op_kind kind, uint64_t place, uint32_t flags);
/* Are these the bytes of the target's place? */
bool stage_has(struct stage *stage, const uint8_t *bytes, uint64_t place);

/* For beds of a test's own. */
extern const struct race_ops stage_races;
extern const struct watch_ops stage_watch;

#endif
