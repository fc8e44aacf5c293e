/* SPDX-License-Identifier: BSD-2-Clause */
/* remap.h - has the program unmapped, moved or dropped memory while it is registered (S80)? A client of uffd.h.
 *
 * Thread: any, not under uffd_lock(); remap_changed() also with the driver role. */
#ifndef EMU_NET_REMAP_H
#define EMU_NET_REMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "emu/nic/base/limits.h"

/* Watched memory; embedded in the object that has pinned it. */
struct remap {
	struct remap *next, **at; /* under uffd_lock(), like all that follows */
	struct iovec run[LIMIT_IOV];
	size_t count, watched; /* segments; of them, those from the first on that are watched */
	bool changed;
};

/* Idempotent. 0; else what uffd_start() says: then nobody can tell, and remap_begin() says so each time. */
int remap_start(const char **why);
/* Begins to note changes of these segments, which are mapped. 0; -errno: some are not watched (uffd_watch()). To be ended
 * in any case. */
int remap_begin(struct remap *remap, const struct iovec *segments, size_t count);
void remap_end(struct remap *remap);
/* Has there been a change since the last call? Changes by calls that have returned count. So may an unmapping by another thread
 * while the memory was being watched, even if the memory came back by mmap and was registered again at that very moment. */
bool remap_changed(struct remap *remap);

#endif
