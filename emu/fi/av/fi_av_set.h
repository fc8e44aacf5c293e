/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_av_set.h - address vector sets (fi_av_set(3)): ordered addresses, from which groups are made. A group has a copy, so that a
 * set may change, and be closed, at any time. Any thread. */
#ifndef EMU_FI_AV_SET_H
#define EMU_FI_AV_SET_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/fi_collective.h>

#include "emu/nic/base/futex_lock.h"
#include "emu/nic/base/limits.h"

struct emu_av;

/* fi_addr_t of groups and of sets, which no address vector gives out, as its indices are small. */
#define COLL_ADDRESS_GROUP (1ull << 62)
#define COLL_ADDRESS_SET (1ull << 61)

struct emu_av_set {
	struct fid_av_set fid;
	struct emu_av *av;
	fi_addr_t address;
	struct futex_lock lock; /* guards those below; a leaf. A set's own: a child has the parent's as they were at the fork */
	size_t count;
	uint64_t member[LIMIT_MEMBERS];
};

int emu_av_set_open(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set, void *context);
/* Copies the members; returns how many there are. */
size_t av_set_members(struct emu_av_set *set, uint64_t members[LIMIT_MEMBERS]);

#endif
