/* SPDX-License-Identifier: BSD-2-Clause */
/* uffd.h - the kernel's events when the program unmaps, moves or drops memory (userfaultfd in user mode: no privilege).
 *
 * Clients keep knowledge about memory by its address and have that memory watched. They are told of a change before anybody could
 * use knowledge that it made stale. Told are munmap, mmap over it, mremap, brk, and madvise with MADV_DONTNEED, _FREE or
 * _REMOVE: not mprotect, a truncated file, or a copy after a fork. Nothing changes for the program's own accesses.
 *
 * The kernel lets such a call return only when its event has been read, and any free() may be such a call. Hence:
 *  U1 events are read by a thread that does nothing else. It waits neither for the driver role nor for a job, since
 *     their holders free memory.
 *  U2 an event is read, and the clients are told, under uffd_lock(): so a thread that has the lock after munmap returned
 *     knows that all clients have been told.
 *  U3 under the lock nothing allocates, frees, unmaps, logs, or waits for another lock or role. So tables that changed()
 *     writes are made beforehand, and work that needs the role is noted for later.
 *
 * Thread: any that may use the NIC (net_mine()), never from a signal handler. Addresses are rounded outward to pages. */
#ifndef EMU_NET_UFFD_H
#define EMU_NET_UFFD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/base/mutex.h"

struct mr_pages;

/* Owner: the caller of uffd_add(), until uffd_remove() has returned. Both callbacks run under the lock, on any thread. */
struct uffd_client {
	struct uffd_client *next;
	/* These bytes are gone or replaced, or are about to become zero. May call uffd_unwatch(). On the reader's thread. */
	void (*changed)(struct uffd_client *client, uint64_t addr, uint64_t length);
	/* Does it know anything about one of these bytes? Then they stay watched. */
	bool (*holds)(struct uffd_client *client, uint64_t addr, uint64_t length);
};

/* Opens the descriptor and starts the thread, unless they are there; they then stay until uffd_end(), as memory may be
 * unmapped until then. 0, or -errno and *why in words: -ENOSYS, -EPERM (forbidden, as in many containers), -EOPNOTSUPP
 * (the kernel or processor lacks a feature), or the error of starting a thread. */
int uffd_start(const char **why);
/* While nobody calls another function here, and no client holds memory: joins the thread, and ends what is still watched. Clients
 * stay added. */
void uffd_end(void);

void uffd_add(struct uffd_client *client);    /* after uffd_start() succeeded; not under the lock */
void uffd_remove(struct uffd_client *client); /* not under the lock; the client has unwatched its memory before */

extern struct mutex uffd_mutex; /* for the attributes; taken by these two alone */

void uffd_lock(void) ACQUIRE(uffd_mutex);
void uffd_unlock(void) RELEASE(uffd_mutex);

/* Watches memory, not under the lock. Call it before reading which pages are there. 0 and *ticket; else the range, or
 * some of it, is not watched: -EINVAL (not mapped, wraps, part of a huge page, or a kind of memory that this kernel does not
 * watch), -EBUSY (watched by the program itself), -EPERM (a shared mapping of a file that may only be read), -ENODEV. */
int uffd_watch(uint64_t addr, uint64_t length, uint64_t *ticket);
/* Under the lock, after the caller has looked at the memory: has nothing been told or unwatched since uffd_watch()? Only then
 * may a client enter what it saw in its table, before it releases the lock. */
bool uffd_unchanged(uint64_t ticket) REQUIRES(uffd_mutex);
/* Under the lock: a client no longer holds this memory. The watch on pages that no client holds ends. Only for memory that
 * uffd_watch() took: before 6.16 the kernel would end the program's own watch as well. */
void uffd_unwatch(uint64_t addr, uint64_t length) REQUIRES(uffd_mutex);

/* --- remap.c, a client: has the program unmapped, moved or dropped memory while it is registered (S80)? Thread: any, not
 * under uffd_lock(); remap_changed() also with the driver role. --- */

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

/* --- mr_watch.c, a client: makes the tables of known pages (FI_MR_MMU_NOTIFY) forget pages that the program replaces (S108).
 * Without it, where userfaultfd is forbidden or the memory cannot be watched, a page that was replaced and touched since
 * cannot be told from the old one. Any thread that may use the NIC. --- */

/* Watches the memory of a table of these segments, as far as possible, until mr_pages_close(). Call it before the table
 * learns anything. NULL, or why nothing is ever watched in this process, in words. */
const char *mr_watch(struct mr_pages *pages, const struct iovec *segments, size_t count);

#endif
