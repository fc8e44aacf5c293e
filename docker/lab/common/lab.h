/* SPDX-License-Identifier: BSD-2-Clause */
/* lab.h - what every exercise begins with: two processes, each with a NIC, and a line between them to talk on.
 *
 * The initiator is the process that was started; the target is its child. A call that fails ends the process that made it, with
 * the call's name. Nothing waits for longer than LAB_PATIENCE_S. */
#ifndef LAB_H
#define LAB_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

enum { LAB_BYTES = 4096, LAB_PATIENCE_S = 20 };

enum lab_side { LAB_INITIATOR, LAB_TARGET };

struct lab {
	enum lab_side side;
	int line;    /* to the other process */
	pid_t child; /* the initiator's */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;
	struct fid_cq *cq;     /* its completions */
	struct fid_cntr *cntr; /* with counters: of its own ops at the initiator, of peers' writes at the target */
	struct fid_av *av;
	fi_addr_t peer; /* the other process, as fi_write(3) and the others take it */
};

/* The value of a call of libfabric that must not be negative. */
#define MUST(call) lab_must(#call, (long)(call))
long lab_must(const char *call, long result);

/* Becomes two processes. Call it before anything of libfabric. */
void lab_fork(struct lab *lab);
/* Opens all down to the endpoint, which is enabled, and learns the other's address. `mr_mode`: the bits of FI_MR_... that the
 * program can do. `counters`: with a counter each. */
void lab_open(struct lab *lab, int mr_mode, int counters);
/* Closes what lab_open() opened. The initiator waits for the target, and returns 1 if that has failed; for main(). */
int lab_close(struct lab *lab);

/* A region of memory. */
struct fid_mr *lab_register(struct lab *lab, void *memory, size_t length, uint64_t access);

/* What an initiator must know of a region of the target. */
struct lab_region {
	uint64_t addr, key, length;
};

/* The line: what one process tells, the other hears, in that order and whole. lab_hear() fails when the other is gone. */
void lab_tell(struct lab *lab, const void *what, size_t length);
void lab_hear(struct lab *lab, void *what, size_t length);

/* Waits for the next completion. 0: the op is done. Else why it failed, as in emu.h, after printing the reason in words. */
int lab_wait(struct lab *lab);

#endif
