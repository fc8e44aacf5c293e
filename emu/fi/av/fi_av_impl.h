/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_av_impl.h - what an address vector is made of: the shared log, and symmetric names. */
#ifndef EMU_FI_AV_IMPL_H
#define EMU_FI_AV_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct av;
struct av_shared;

/* --- An address vector by name, of several processes (FI_SHARED_AV). A log in shared memory records all insertions and
 * removals; each process replays the log on a vector of its own, in the same order, so that all have the same indices. The log
 * exists as long as a process has it open; the next opener clears away what dead processes leave. Any thread. --- */

/* Names are per user and named domain. `av` is empty and follows the log from now on. 0; -FI_ENOENT: `read_only`, and no process
 * has it; -FI_EINVAL: the name is too long, or has other characters than letters, digits and . _ -; -errno. */
int av_shared_open(struct av *av, const char *domain, const char *name, bool read_only, struct av_shared **shared);
void av_shared_close(struct av_shared *shared); /* NULL: nothing */
/* As av_insert(), av_remove(), for all. -FI_EACCES where it is read only; -FI_ENOMEM: the log is full. */
int av_shared_insert(struct av_shared *shared, const struct sockaddr_storage *addr, uint64_t *index);
int av_shared_remove(struct av_shared *shared, uint64_t index);
/* Programs get this as map_addr: the fi_addr_t of every insertion, in order, as libfabric's own programs expect. */
void *av_shared_map(struct av_shared *shared);

/* --- The n-th name of a symmetric range: 10.1.1.1 and 1 give 10.1.1.2, host09 and 1 give host10, 5000 and 1 give 5001
 * (fi_av_insertsym, fi_av(3)). Pure. --- */

enum {
	SYM_NAME_MAX = 256,      /* bytes of a name */
	SYM_COUNT_MAX = 1 << 16, /* nodes, and services, of one call */
};

/* False if the name has no n-th successor of its kind or is too long. `out`: SYM_NAME_MAX bytes. */
bool sym_node(const char *first, size_t n, char *out);
bool sym_service(const char *first, size_t n, char *out);

#endif
