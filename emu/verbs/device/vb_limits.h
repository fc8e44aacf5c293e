/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_limits.h - what ibv_query_device() and ibv_query_port() offer, and what calls therefore take. Those of the emulated NIC stand
 * in limits.h; beside the others stands what a program meets beyond (V8). */
#ifndef EMU_VB_LIMITS_H
#define EMU_VB_LIMITS_H

#include "emu/nic/base/limits.h"

enum {
	VB_MAX_QP = 4096,               /* then ENOMEM */
	VB_MAX_QP_WR = 16384,           /* requests of a send or receive queue; beyond: EINVAL */
	VB_MAX_SGE = LIMIT_IOV,         /* of a request; beyond: EINVAL */
	VB_MAX_INLINE = LIMIT_INJECT,   /* bytes that IBV_SEND_INLINE copies; beyond: EINVAL */
	VB_MAX_AH = 65536,              /* then ENOMEM */
	VB_MAX_GROUPS = 20,             /* the system may take more or less, by its settings: then ENOBUFS */
	VB_MAX_SRQ = 4096,              /* then ENOMEM */
	VB_MAX_SRQ_WR = 16384,          /* beyond: EINVAL */
	VB_MAX_CQ = 65536,              /* then ENOMEM */
	VB_MAX_CQE = LIMIT_CQ_SIZE_MAX, /* beyond: EINVAL */
	VB_MAX_MR = 1 << 18,            /* then ENOMEM */
	VB_MAX_MW = 1 << 18,            /* then ENOMEM */
	VB_MAX_PD = 32768,              /* then ENOMEM */
	VB_MAX_RD_ATOMIC = LIMIT_READS, /* of a QP, each way; beyond: EINVAL */
	VB_MAX_DM = 1 << 20,            /* bytes of device memory, all together; then ENOMEM */
	VB_MAX_PKEYS = 1,               /* the default one, VB_PKEY */
	VB_PKEY = 0xffff,
	VB_COMP_VECTORS = 1,
};
#define VB_MAX_MSG (UINT32_C(1) << 31) /* bytes of a message; beyond: IBV_WC_LOC_LEN_ERR */

/* A peer may be out of reach for so long at least, whatever timeout and retry_cnt say: a wire answers in microseconds, and a
 * process of a busy machine gets its turn later. */
#define VB_RETRY_LEAST_NS UINT64_C(2000000000)

/* MTUs of RoCE on Ethernet. Nothing is cut at them here, but the two sides of a connection are to agree on one. */
#define VB_MTU_MAX IBV_MTU_4096
#define VB_MTU_ACTIVE IBV_MTU_1024
#define VB_MAX_DATAGRAM (128 << VB_MTU_ACTIVE) /* bytes of a UD message; beyond: IBV_WC_LOC_LEN_ERR */

#endif
