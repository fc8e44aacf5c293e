/* SPDX-License-Identifier: BSD-2-Clause */
/* couple.h - two queue pairs of two nodes that are each other's peers, with a region each, in the simulator. */
#ifndef TESTS_SIM_COUPLE_H
#define TESTS_SIM_COUPLE_H

#include "tests/sim/harness/ends.h"

enum { PSN_A = 0x123456, PSN_B = 0xffffff, MTU = 1024, COUPLE_SPAN = 256 << 10 };

struct couple {
	struct world *world;
	struct end pairs[2], qp[2]; /* listeners of two nodes, and a queue pair of each */
	uint8_t *memory[2];         /* COUPLE_SPAN bytes, in a region that is addressed by offset */
	struct mr *mr[2];
	uint64_t key[2];
};

void couple_open(struct couple *couple, uint64_t seed);
/* With rules (enum ep_rule) of each side, and a fault plan of side 0, or NULL. */
void couple_open_ruled(struct couple *couple, uint64_t seed, const uint32_t rules[2], const struct fault_plan *plan);
void couple_close(struct couple *couple);
/* One side alone, which couple_close() then leaves out. */
void couple_end(struct couple *couple, int side);
/* One side to RTR, to RTS; both to both. */
void couple_rtr(struct couple *couple, int side);
void couple_rts(struct couple *couple, int side);
void couple_meet(struct couple *couple);
/* Posts an RMA or message of `length` bytes from, or to, offset 0 of one side's memory. `context` is its number. */
int couple_post(struct couple *couple, int side, enum op_kind kind, uint64_t addr, size_t length, uintptr_t context);
int couple_receive(struct couple *couple, int side, size_t length, uintptr_t context);
/* The next completion of a side: its number, and why it has failed. */
uintptr_t couple_next(struct couple *couple, int side, enum refusal_cause *cause);
/* No completion is there, nor comes in a second. */
void couple_nothing(struct couple *couple, int side);
/* Runs the script with the first connection cut, once at each byte of either way; of a long way at each near its ends, and at some
 * in between. `chunk_max`: bytes that arrive at once; 0: as ever. */
void couple_cut_everywhere(void (*script)(struct couple *couple), uint64_t seed, uint32_t chunk_max);

#endif
