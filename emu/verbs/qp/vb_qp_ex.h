/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_qp_ex.h - extended queue pairs: requests built by calls, ibv_wr_start() ... ibv_wr_complete().
 *
 * Builders and setters append to a batch, which ibv_wr_complete() posts whole or not at all. From start to complete or abort the
 * batch is the calling thread's, as with hardware, whose drivers hold a lock. A setter copies what it is given: lists and inline
 * data may change when it has returned. No builder returns an error: the first one is kept, and ibv_wr_complete() has it. */
#ifndef EMU_VB_QP_EX_H
#define EMU_VB_QP_EX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/futex_lock.h"
#include "emu/verbs/start/vb_abi.h"

struct vb_qp_kind;

struct vb_batch {
	struct futex_lock lock; /* from start to complete or abort; the fields below are its holder's */
	struct ibv_send_wr *wr; /* requests; sg_list and next are set at the end, since the arrays move as they grow */
	struct ibv_sge *sge;    /* of all of them, one after the other; of inline data: addr is where it begins in `data` */
	uint8_t *data;
	size_t wrs, sges, bytes, wrs_room, sges_room, bytes_room;
	int err;         /* the first one; 0: none */
	const char *why; /* its sentence */
};

/* The head of a queue pair: struct vb_qp begins with it. */
struct vb_qp_head {
	union {
		struct ibv_qp ibv;
		struct ibv_qp_ex ex;
	};
	bool extended;        /* it was made with IBV_QP_INIT_ATTR_SEND_OPS_FLAGS; the rest is an extended one's */
	uint64_t ops;         /* enum ibv_qp_create_send_ops_flags */
	uint32_t sge_most;    /* max_send_sge */
	uint32_t inline_most; /* max_inline_data */
	struct vb_batch batch;
};

/* Posts a list. `whole`: all of it, or none; else up to the first request that is refused, which is *bad. 0 or an errno, after a
 * line of log. Any thread. */
int vb_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad, bool whole);

/* At the end of the making of a queue pair, whose caps are set: `ops` as the program asked. 0; EOPNOTSUPP, after a line of log:
 * an op that its kind does not have. */
int vb_qp_ex_init(struct vb_qp_head *qp, const struct vb_qp_kind *kind, uint64_t ops);
void vb_qp_ex_fini(struct vb_qp_head *qp); /* also of one that is not extended */

#endif
