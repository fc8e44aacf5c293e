/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_opened.c - what is open: fabrics and domains by name, passive endpoints. */
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
	struct fid *fid;

	pthread_mutex_lock(&lock);
	for (at = first; at && (at->fid->fclass != fclass || strcmp(at->name, name)); at = at->next)
		;
	fid = at ? at->fid : NULL;
	pthread_mutex_unlock(&lock);
	return fid;
}

/* With the lock. */
static const struct opened *find(const void *fid)
{
	const struct opened *at;

	for (at = first; at && (const void *)at->fid != fid; at = at->next)
		;
	return at;
}

bool opened_is(const void *fid, const char *name)
{
	const struct opened *at;
	bool is;

	pthread_mutex_lock(&lock);
	at = find(fid);
	is = at && !strcmp(at->name, name);
	pthread_mutex_unlock(&lock);
	return is;
}

bool opened_is_a(size_t fclass, const void *fid)
{
	const struct opened *at;
	bool is;

	pthread_mutex_lock(&lock);
	at = find(fid);
	is = at && at->fid->fclass == fclass;
	pthread_mutex_unlock(&lock);
	return is;
}
