/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_object.h - the open objects of checked fabrics. Each gets a table of its own for fi_close() and fi_control(), which is
 * how it is found again. Any thread. */
#ifndef EMU_FI_CHECK_OBJECT_H
#define EMU_FI_CHECK_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "emu/fi/check/fi_check_tell.h"
#include "emu/fi/check/fi_check_wait.h"
#include "emu/nic/base/interval_tree.h"
#include "emu/nic/base/limits.h"

struct check_object {
	struct check_object *next, **at;
	unsigned int forks;   /* where it was opened */
	struct fid *fid;      /* NULL: a raw key */
	struct fi_ops *plain; /* its table before */
	struct fi_ops ops;    /* the one that it has */
	struct call_stack opened;
	const struct fid *domain;      /* a raw key's */
	uint64_t key;                  /* a raw key's, a region's */
	uint64_t contexts;             /* endpoints: FI_CONTEXT, FI_CONTEXT2, if contexts are the provider's until completion */
	atomic_uint_fast64_t accessed; /* endpoints: a peer's last access, by check_progress_mark() */
	enum fi_threading threading;   /* domains and what is in them */
	atomic_int inside;             /* fi_check_serial.h: the thread that is in a call; 0: none */
	const char *_Atomic inside_call;
	struct check_wait wait; /* queues of completions */
	atomic_bool read;       /* queues of completions: somebody has tried to */
	bool manual;            /* domains and what is in them: the program makes the progress */
	bool loses;             /* likewise: full queues lose entries (FI_RM_DISABLED) */
	uint8_t spans;          /* regions */
	uint64_t access;
	struct interval span[LIMIT_IOV];
};

/* Takes an object that was opened. NULL without memory: it is not checked. `parent` may be NULL. */
struct check_object *check_adopt(struct fid *fid, const struct check_object *parent);
/* The record of an adopted object; NULL: it is not adopted. */
struct check_object *check_object_of(const struct fid *fid);
/* Notes the memory of a region that was adopted. */
void check_region(struct check_object *region, const struct iovec *iov, size_t count, uint64_t access);
/* May a peer write to these bytes? */
bool check_is_remote(const struct iovec *iov, size_t count);
/* A peer's access to a region was executed. */
void check_accessed(const struct fid_ep *ep);
/* Tells of objects that are open while the process ends. */
void check_objects_exit(void);
/* In a fork's child. */
void check_objects_forked(void);

#endif
