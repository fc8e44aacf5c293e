/* SPDX-License-Identifier: BSD-2-Clause */
/* vwindow.h - what the tests of memory windows are written with. Side 1 binds them to a region of its own memory, and side 0 uses
 * them. Failures end the test. */
#ifndef TESTS_RULES_VERBS_VWINDOW_H
#define TESTS_RULES_VERBS_VWINDOW_H

#include "tests/rules/verbs/vworld.h"

enum {
	VW_BYTES = 64,
	VW_LENGTH = 4096,
	VW_MARK = 0x10,
	VW_OLD = 0x11,
	VW_BINDABLE = V_ALL | IBV_ACCESS_MW_BIND,
	VW_READS = IBV_ACCESS_REMOTE_READ,
	VW_WRITES = IBV_ACCESS_REMOTE_WRITE,
	VW_BOTH = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
};

/* Ends the test as not applicable where the device has none of this type. */
struct ibv_mw *vw_open(struct vworld *w, struct ibv_pd *pd, enum ibv_mw_type type);
struct ibv_mr *vw_region(struct vworld *w, unsigned access);
/* Posts a bind of that queue pair; of type 2 with the next key. And one of side 1 to its memory from the beginning, which must end
 * so. */
int vw_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mr *mr, const void *at, uint64_t length, unsigned access);
void vw_binds(struct vworld *w, struct ibv_mw *mw, struct ibv_mr *mr, uint64_t length, unsigned access, enum ibv_wc_status status);
void vw_invalidates(struct ibv_qp *qp, struct ibv_cq *cq, uint32_t rkey, enum ibv_wc_status status);
/* VW_BYTES of side 0's memory are written there, or read from there, by the queue pair. */
void vw_access(struct vworld *w, struct ibv_qp *qp, struct ibv_cq *cq, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t at,
	       enum ibv_wc_status status);
void vw_writes(struct vworld *w, uint32_t rkey, const void *at, enum ibv_wc_status status);

#endif
