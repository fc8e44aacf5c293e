/* SPDX-License-Identifier: BSD-2-Clause */
/* lab.h - what an exercise for libfabric begins with: two processes, each with a NIC, and a line between them (line.h). */
#ifndef LAB_H
#define LAB_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "line.h"

struct lab {
	enum lab_side side;
	struct lab_line line; /* to the other process */
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

/* Opens all down to the endpoint, which is enabled, and learns the other's address. `mr_mode`: the bits of FI_MR_... that the
 * program can do. `counters`: with a counter each. */
void lab_open(struct lab *lab, int mr_mode, int counters);
/* Closes what lab_open() opened. The initiator waits for the target, and returns 1 if that has failed; for main(). */
int lab_close(struct lab *lab);

/* A region of memory. */
struct fid_mr *lab_register(struct lab *lab, void *memory, size_t length, uint64_t access);

/* Waits for the next completion. 0: the op is done. Else why it failed, as in emu.h, after printing the reason in words. */
int lab_wait(struct lab *lab);

#endif
