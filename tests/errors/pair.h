/* SPDX-License-Identifier: BSD-2-Clause */
/* pair.h - what the programs of the catalogue begin with: two endpoints of one process, and memory at both.
 * A call that fails ends the program with status 1 and the call's name. */
#ifndef TESTS_ERRORS_PAIR_H
#define TESTS_ERRORS_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

enum { PAIR_BYTES = 1 << 17 }; /* longer than what goes without a receive */

/* What differs from program to program; zero: as most have it. */
struct pair_want {
	int mr_mode;     /* offered; 0: FI_MR_BASIC's bits and FI_MR_LOCAL */
	uint64_t caps;   /* 0: messages, tagged ones, RMA and atomics */
	uint64_t target; /* the target endpoint's; 0: the same */
	uint64_t access; /* of the target's region; 0: remote reads and writes */
	uint64_t flags;  /* of its registration */
	uint64_t mode;   /* that the program has, such as FI_CONTEXT */
	bool unmanaged;  /* FI_RM_DISABLED */
	size_t queue;    /* entries of the completion queues; 0: 64 */
	enum fi_wait_obj wait;
	uint32_t api; /* 0: 1.17 */
	enum fi_progress progress;
};

struct side {
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	fi_addr_t peer; /* the other side */
	char *memory;   /* PAIR_BYTES */
	struct fid_mr *mr;
	void *desc;
	/* With FI_COLLECTIVE. */
	struct fid_eq *eq;
	struct fid_mc *mc;
	fi_addr_t group;
};

struct pair {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct side initiator, target;
	uint64_t addr, key; /* of the target's memory, as the initiator names it */
};

/* The value of a call that must not be negative. */
#define MUST(call) pair_must(#call, (long)(call))
long pair_must(const char *call, long result);

void pair_open(struct pair *pair, const struct pair_want *want);
/* In place of the target, at this address; the initiator knows it as its peer from now on. */
void pair_meet(struct pair *pair, const void *address);
/* A further region of the target's memory, or of other memory. */
struct fid_mr *pair_register(struct pair *pair, void *memory, size_t length, uint64_t access, uint64_t flags);
/* The next completion of a side: 0, or the error's prov_errno, whose sentence it prints. */
int pair_wait(struct side *side);
/* Waits until a tagged message with this tag has arrived there, and leaves it. */
void pair_arrived(struct side *side, uint64_t tag);
/* Posts a write of the initiator's first bytes, and waits for its end. */
int pair_write(struct pair *pair, uint64_t addr, size_t length, uint64_t key);
/* Both sides become the two members of a group. */
void pair_join(struct pair *pair);
/* Closes what is open; NULL is open no more. Returns 0, for main(). */
int pair_close(struct pair *pair);

#endif
