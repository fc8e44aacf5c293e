/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_registry.h - the open fabrics and domains, by name: fi_getinfo takes one as a hint and returns those it knows
 * (fi_domain(3), fi_fabric(3)). And the open passive endpoints: an info may name one by its handle (fi_getinfo(3)).
 * Entries belong to their objects. Any thread: a lock guards the list. */
#ifndef EMU_FI_REGISTRY_H
#define EMU_FI_REGISTRY_H

#include <stdbool.h>

#include <rdma/fabric.h>

struct opened {
	struct opened *next;
	struct fid *fid;
	char name[64];
};

/* `name` may be NULL: then no name finds the object. */
void registry_add(struct opened *opened, struct fid *fid, const char *name);
void registry_remove(struct opened *opened);
/* In a fork's child: forgets the parent's open objects. */
void registry_forked(void);
/* Called with the lock: reads only fields that are constant while the object is open, and calls nothing here. */
typedef bool registry_fits(const struct fid *fid, const void *arg);
/* The first of its class (FI_CLASS_FABRIC, FI_CLASS_DOMAIN) opened under this name (NULL: any) that fits (NULL: all do), or
 * NULL. With `only` that object alone: it may be another provider's, and is dereferenced only if it is open here. */
struct fid *registry_find(size_t fclass, const char *name, const void *only, registry_fits *fits, const void *arg);
/* Is it an open object of this class? */
bool registry_is_a(size_t fclass, const void *fid);
/* Does is() hold for any object of this class? is() is called with the lock, and takes leaf locks at most. */
bool registry_any(size_t fclass, bool (*is)(const struct fid *fid, const void *arg), const void *arg);

#endif
