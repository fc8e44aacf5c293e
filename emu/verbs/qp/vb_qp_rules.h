/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_qp_rules.h - which changes ibv_modify_qp() may make: one table of the transitions of each type of queue pairs, with the
 * attributes that each needs and allows, and the range of each attribute.
 *
 * Source: man ibv_modify_qp, InfiniBand specification 10.3.1 and 11.2.5.2, and what the kernel's core takes from user space.
 * Pure: no state, no device, any thread. */
#ifndef EMU_VB_QP_RULES_H
#define EMU_VB_QP_RULES_H

#include <infiniband/verbs.h>
#include <stddef.h>

enum {
	VB_PSN_MASK = 0xffffff, /* PSNs have 24 bits; what a program sets above them is dropped, as by the kernel */
	VB_QPN_MAX = 0xffffff,
	VB_TIMEOUT_MAX = 31, /* 5 bits */
	VB_RNR_TIMER_MAX = 31,
	VB_RETRY_MAX = 7, /* 3 bits */
};

/* Of the device and its ports: ibv_query_device(), ibv_query_port(). */
struct vb_qp_limits {
	unsigned int ports;                     /* 1 to this */
	unsigned int pkeys;                     /* entries of the table of P_Keys */
	unsigned int gids;                      /* entries of the table of GIDs */
	enum ibv_mtu mtu;                       /* max_mtu */
	unsigned int rd_initiated, rd_answered; /* max_qp_init_rd_atom, max_qp_rd_atom */
};

/* The state that the call asks for; without IBV_QP_STATE the present one. */
enum ibv_qp_state vb_qp_next(enum ibv_qp_state state, const struct ibv_qp_attr *attr, int mask);

/* May a queue pair of this type and state be changed so? Looks at the attributes that mask names. 0; or EINVAL, and one
 * sentence without a period in `why` (always terminated): the transition, mask bit, attribute or limit that forbids it.
 * EOPNOTSUPP: another type. */
int vb_qp_check(enum ibv_qp_type type, enum ibv_qp_state state, const struct ibv_qp_attr *attr, int mask,
		const struct vb_qp_limits *limits, char *why, size_t size);

/* "RESET" ... "ERR"; "an unknown state". */
const char *vb_qp_state_name(enum ibv_qp_state state);

#endif
