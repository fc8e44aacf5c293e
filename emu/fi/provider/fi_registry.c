/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_registry.c - the list of open objects: fabrics and domains by name, passive endpoints. */
#include "emu/fi/provider/fi_registry.h"

#include <stdio.h>
#include <string.h>

#include "emu/nic/base/mutex.h"

static struct mutex lock = MUTEX_INITIALIZER;
static struct opened *first GUARDED_BY(lock); /* in order of opening */

void registry_add(struct opened *opened, struct fid *fid, const char *name)
{
	struct opened **at;

	opened->next = NULL;
	opened->fid = fid;
	snprintf(opened->name, sizeof(opened->name), "%s", name ? name : "");
	mutex_lock(&lock);
	for (at = &first; *at; at = &(*at)->next)
		;
	*at = opened;
	mutex_unlock(&lock);
}

void registry_remove(struct opened *opened)
{
	struct opened **at;

	mutex_lock(&lock);
	for (at = &first; *at && *at != opened; at = &(*at)->next)
		;
	if (*at) /* not one that a fork's child has inherited */
		*at = opened->next;
	mutex_unlock(&lock);
}

void registry_forked(void)
{
	mutex_forked(&lock);
	first = NULL;
}

struct fid *registry_find(size_t fclass, const char *name, const void *only, registry_fits *fits, const void *arg)
{
	struct fid *fid = NULL;

	mutex_lock(&lock);
	for (struct opened *at = first; at && !fid; at = at->next) {
		if (at->fid->fclass == fclass && (!only || (const void *)at->fid == only) && (!name || !strcmp(at->name, name)) &&
		    (!fits || fits(at->fid, arg)))
			fid = at->fid;
	}
	mutex_unlock(&lock);
	return fid;
}

bool registry_is_a(size_t fclass, const void *fid)
{
	return fid && registry_find(fclass, NULL, fid, NULL, NULL);
}

bool registry_any(size_t fclass, bool (*is)(const struct fid *fid, const void *arg), const void *arg)
{
	bool any = false;

	mutex_lock(&lock);
	for (const struct opened *at = first; at && !any; at = at->next)
		any = at->fid->fclass == fclass && is(at->fid, arg);
	mutex_unlock(&lock);
	return any;
}
