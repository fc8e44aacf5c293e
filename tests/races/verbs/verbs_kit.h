/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_kit.h - what a process of a case has over libibverbs, and what it does in a few words. What fails ends the process. One
 * thread, but where a case makes another. */
#ifndef TESTS_RACES_VERBS_KIT_H
#define TESTS_RACES_VERBS_KIT_H

#include <infiniband/verbs.h>

#include "tests/races/case.h"

enum { SIDES = 3, LANES = 2 };

/* Places in a side's memory, a few pages from each other. */
enum {
	X = 0, /* what others reach, in most cases of side 0 */
	Y = 0x4000,
	HEAD = 0x8000, /* a lock, a flag */
	FROM = 0xc000, /* sources */
	INTO = 0x14000,
	BOX = 0x1c000, /* receives */
	SPAN = 0x24000,
	SHORT = 64,
	LONG = 8192,
	WORD = 8,
	GRH = 40,
};

/* What a case does and needs. */
struct wanted {
	void (*round)(void);   /* as race_case.run */
	enum ibv_qp_type type; /* 0: RC */
	bool srq;              /* one for all queue pairs of a side */
	bool events;           /* completion queues of requests have a channel */
	bool extended;         /* queue pairs take the extended calls */
	bool manager;          /* side 1 connects to side 0 by rdma_cm; one lane */
	bool stream;           /* by rsockets; there are no objects of verbs */
};

/* Rows of a table; behind the function may come .type and so on. */
#define VERBS_RACE(title, of, causes, processes, function, ...) \
	RACE(title, of, causes, processes, kit_round, .want = &(const struct wanted){ .round = (function), __VA_ARGS__ })
#define VERBS_TWIN(title, of, processes, function, ...) \
	TWIN(title, of, processes, kit_round, .want = &(const struct wanted){ .round = (function), __VA_ARGS__ })

void kit_round(unsigned round);

extern const struct race_set verbs_remote, verbs_target, verbs_local, verbs_receives, verbs_objects, verbs_memory, verbs_processes;

struct remote {
	uint64_t at;
	uint32_t rkey, qp_num[SIDES][LANES]; /* to each side */
	union ibv_gid gid;
};

struct manager;

struct mine {
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t *memory;                               /* SPAN bytes */
	struct ibv_cq *sends[LANES], *receives[LANES]; /* of all queue pairs of a lane */
	struct ibv_comp_channel *channel;
	struct ibv_srq *srq;
	struct ibv_qp *qp[SIDES][LANES];
	struct ibv_ah *ah[SIDES];
	struct remote remote[SIDES];
	struct manager *manager;
	int stream;
};

extern struct mine mine;

/* All sides call it: the bytes of one come to the others, by a way that the NIC has no part in. */
void share(unsigned from, void *bytes, size_t length);

/* --- requests --- */

struct ibv_sge part(unsigned at, unsigned length);
/* A request of one buffer: signaled, and not posted yet. An atomic adds 1; a compare-and-swap has 0 become 1. */
struct ibv_send_wr request(unsigned to, enum ibv_wr_opcode opcode, unsigned at, unsigned remote, unsigned length,
			   struct ibv_sge *sge);
void post(unsigned to, unsigned lane, struct ibv_send_wr *wr);
void begin(unsigned to, unsigned lane, enum ibv_wr_opcode opcode, unsigned at, unsigned remote, unsigned length);
/* With those flags alone. */
void begin_as(unsigned to, unsigned lane, unsigned flags, enum ibv_wr_opcode opcode, unsigned at, unsigned remote, unsigned length);
void finish(unsigned lane); /* waits for one that is signaled */
void does(unsigned to, unsigned lane, enum ibv_wr_opcode opcode, unsigned at, unsigned remote, unsigned length);
void expects(unsigned from, unsigned lane, unsigned at, unsigned length); /* posts a receive */
void received(unsigned lane);                                             /* waits for one */

/* --- this side's memory, by the CPU --- */

void look(unsigned at, unsigned length);
void fill(unsigned at, unsigned length, unsigned value);
uint64_t word(unsigned at);
void poll_byte(unsigned at, unsigned before); /* until the byte is another than before */

#endif
