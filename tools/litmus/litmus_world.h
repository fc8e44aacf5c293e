/* SPDX-License-Identifier: BSD-2-Clause */
/* litmus_world.h - the objects of a test: for each side a region and its endpoints, all in one process. One thread. */
#ifndef LITMUS_WORLD_H
#define LITMUS_WORLD_H

#include <rdma/fi_domain.h>
#include <stddef.h>

#include "tools/litmus/litmus.h"

enum { ENDPOINTS = 2 }; /* of a side */

struct litmus_side {
	struct fid_cq *cq;
	struct fid_ep *ep[ENDPOINTS];
	struct fid_cntr *counter, *met; /* of its operations; of writes to it; NULL: the test does not look */
	fi_addr_t address[ENDPOINTS];
	struct fid_mr *mr;
	uint8_t *memory;
	uint64_t key;
};

struct litmus_world {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct litmus_side side[SIDES];
	unsigned sides;
	size_t bytes; /* of the region of each */
};

/* Has a side a step of that verb? */
bool world_has_verb(const struct litmus *test, enum verb verb);
/* `order`: bits of msg_order. `bytes`: of the region of each side, which are zero. */
void world_open(struct litmus_world *world, const struct litmus *test, uint64_t order, size_t bytes);
void world_close(struct litmus_world *world);

#endif
