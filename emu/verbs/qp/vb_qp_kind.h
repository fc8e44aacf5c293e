/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_qp_kind.h - what each type of queue pair is: one table. Constant; any thread. */
#ifndef EMU_VB_QP_KIND_H
#define EMU_VB_QP_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/verbs/start/vb_abi.h"

/* What it may lack: a PD and a send queue, in whose place it has an XRC domain; a receive queue, or an SRQ. */
enum { VB_QP_SENDS = 0x1, VB_QP_RECEIVES = 0x2 };

struct vb_qp_kind {
	enum ibv_qp_type type;
	const char *name;    /* "RC" */
	unsigned int lacks;  /* VB_QP_... */
	uint32_t opcodes;    /* its requests: 1 << enum ibv_wr_opcode */
	uint64_t ops;        /* what send_ops_flags may name */
	uint32_t init_attrs; /* what comp_mask of its init attributes may name */
	uint32_t caps;       /* enum ep_cap: what it may do at most (vb_qp_caps()) */
	uint32_t order;      /* enum ep_order */
	uint32_t rules;      /* enum ep_rule */
	bool datagrams;      /* ep_attr.datagrams: requests name an address handle */
	uint32_t max_msg;    /* bytes of a message; beyond: IBV_WC_LOC_LEN_ERR */
	uint64_t budget_ns;  /* a peer may be out of reach for so long; 0: as timeout and retry_cnt say */
};

/* NULL: the device has none of that type. */
const struct vb_qp_kind *vb_qp_kind(enum ibv_qp_type type);

#endif
