/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_opened.c - which fabrics and domains are open, by name. */
#include "emu/fi/fi_opened.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct opened *first;	/* in order of opening */

void opened_add(struct opened *opened, struct fid *fid, const char *name)
{
	struct opened **at;

	opened->next = NULL;
	opened->fid = fid;
	snprintf(opened->name, sizeof(opened->name), "%s", name ? name : "");
	pthread_mutex_lock(&lock);
	for (at = &first; *at; at = &(*at)->next)
		;
	*at = opened;
	pthread_mutex_unlock(&lock);
}

void opened_remove(struct opened *opened)
{
	struct opened **at;

	pthread_mutex_lock(&lock);
	for (at = &first; *at != opened; at = &(*at)->next)
		;
	*at = opened->next;
	pthread_mutex_unlock(&lock);
}

struct fid *opened_find(size_t fclass, const char *name)
{
	struct opened *at;

	pthread_mutex_lock(&lock);
	for (at = first; at && (at->fid->fclass != fclass || strcmp(at->name, name)); at = at->next)
		;
	pthread_mutex_unlock(&lock);
	return at ? at->fid : NULL;
}

bool opened_is(const void *fid, const char *name)
{
	const struct opened *at;
	bool is;

	pthread_mutex_lock(&lock);
	for (at = first; at && (const void *)at->fid != fid; at = at->next)
		;
	is = at && !strcmp(at->name, name);
	pthread_mutex_unlock(&lock);
	return is;
}
