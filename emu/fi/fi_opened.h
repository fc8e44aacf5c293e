/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_opened.h - which fabrics and domains are open, by name: fi_getinfo takes one as a hint and names those it knows
 * (fi_domain(3), fi_fabric(3)). And which passive endpoints, whose address an info may stand for (fi_getinfo(3), handle).
 * Entries belong to their objects. Any thread: a leaf lock guards the list. */
#ifndef EMU_FI_OPENED_H
#define EMU_FI_OPENED_H

#include <stdbool.h>

#include <rdma/fabric.h>

struct opened {
	struct opened *next;
	struct fid *fid;
	char name[64];
};

/* `name` may be NULL: the object is then found by no name. */
void opened_add(struct opened *opened, struct fid *fid, const char *name);
void opened_remove(struct opened *opened);
/* The first of its class (FI_CLASS_FABRIC, FI_CLASS_DOMAIN) opened under this name, or NULL. */
struct fid *opened_find(size_t fclass, const char *name);
/* Is this, which may be another provider's, an open object of ours with this name? Never followed otherwise. */
bool opened_is(const void *fid, const char *name);
/* One of this class, whatever its name? */
bool opened_is_a(size_t fclass, const void *fid);

#endif
