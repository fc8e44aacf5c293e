/* SPDX-License-Identifier: BSD-2-Clause */
/* qp_pair.h - two queue pairs of one process that are each other's peers, with a region each. Failures end the test. */
#ifndef TESTS_VERBS_QP_PAIR_H
#define TESTS_VERBS_QP_PAIR_H

#include "tests/verbs/world.h"

enum { QP_SPAN = 1 << 20, QP_WR = 32, QP_SGE = 4, QP_INLINE = 64, QP_PSN = 0x1234 };

struct qp_pair {
	struct verbs verbs;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	struct ibv_mr *mr[2];
	unsigned char *memory[2]; /* QP_SPAN bytes */
	unsigned int access;      /* qp_access_flags of both */
	unsigned char timeout, rnr_retry;
};

/* In RESET, RC; of that type. */
void qp_pair_open(struct qp_pair *pair);
void qp_pair_open_type(struct qp_pair *pair, enum ibv_qp_type type);
void qp_pair_close(struct qp_pair *pair);
void qp_pair_close_queues(struct qp_pair *pair); /* all but the device and the PD */
/* Another queue pair in the place of one side's, in RESET: of its type, and with the side's completion queue, where `init` names
 * none. */
void qp_replace(struct qp_pair *pair, int side, struct ibv_qp_init_attr init);
/* One queue pair to a state, from the one before it; all to RTS. The attributes, which the caller may change, for the first. */
int qp_attr_for(const struct qp_pair *pair, int side, enum ibv_qp_state state, struct ibv_qp_attr *attr);
void qp_to(struct qp_pair *pair, int side, enum ibv_qp_state state);
void qp_pair_meet(struct qp_pair *pair);
/* A request of one side, which is posted: `length` bytes of its memory from 0, to or from `at` in the other's. */
struct ibv_send_wr qp_request(const struct qp_pair *pair, int side, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length,
			      struct ibv_sge *sge);
void qp_post(struct qp_pair *pair, int side, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length, uint64_t wr_id);
void qp_receive(struct qp_pair *pair, int side, uint32_t length, uint64_t wr_id);
/* The next completion of that side. */
struct ibv_wc qp_next(struct qp_pair *pair, int side);
/* Checks that it is of this request, and has this status. */
struct ibv_wc qp_done(struct qp_pair *pair, int side, uint64_t wr_id, enum ibv_wc_status status);

#endif
