/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_connreq.c - connection requests that wait for an answer. */
#include "emu/fi/ep/fi_connreq.h"

#include <stdlib.h>

#include "emu/nic/base/mutex.h"

struct entry {
	struct fid fid;
	struct entry *next;
	struct request request;
};

static struct mutex lock = MUTEX_INITIALIZER;
static struct entry *first GUARDED_BY(lock);

void connreq_forked(void)
{
	mutex_forked(&lock);
	first = NULL;
}

static bool is_one(const struct entry *entry, const struct request *wanted)
{
	return (!wanted->pep || entry->request.pep == wanted->pep) &&
	       (!wanted->handle || &entry->fid == wanted->handle) &&
	       (!wanted->number || entry->request.number == wanted->number);
}

/* The pointer to the first one that matches `wanted`, in which zero matches any. */
static struct entry **find(const struct request *wanted) REQUIRES(lock)
{
	struct entry **at = &first;

	while (*at && !is_one(*at, wanted))
		at = &(*at)->next;
	return at;
}

static bool take(const struct request *wanted, struct request *taken) REQUIRES(lock)
{
	struct entry **at = find(wanted), *entry = *at;

	if (!entry)
		return false;
	*taken = entry->request;
	*at = entry->next;
	free(entry);
	return true;
}

static unsigned count(const struct emu_pep *pep) REQUIRES(lock)
{
	unsigned n = 0;

	for (const struct entry *entry = first; entry; entry = entry->next)
		n += entry->request.pep == pep;
	return n;
}

struct fid *connreq_add(const struct request *request, unsigned most)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->fid.fclass = FI_CLASS_CONNREQ;
	entry->request = *request;
	entry->request.handle = &entry->fid;
	mutex_lock(&lock);
	if (count(request->pep) < most) {
		entry->next = first;
		first = entry;
	} else {
		free(entry);
		entry = NULL;
	}
	mutex_unlock(&lock);
	return entry ? &entry->fid : NULL;
}

bool connreq_find(const struct fid *handle, struct request *found)
{
	struct request wanted = { .handle = (struct fid *)(uintptr_t)handle };
	struct entry *entry;

	mutex_lock(&lock);
	entry = *find(&wanted);
	if (entry)
		*found = entry->request;
	mutex_unlock(&lock);
	return entry;
}

bool connreq_waits(const struct request *request)
{
	bool there;

	mutex_lock(&lock);
	there = *find(request);
	mutex_unlock(&lock);
	return there;
}

bool connreq_take(const struct request *request)
{
	struct request taken;
	bool there;

	mutex_lock(&lock);
	there = take(request, &taken);
	mutex_unlock(&lock);
	return there;
}

bool connreq_take_any(const struct emu_pep *pep, struct request *taken)
{
	struct request wanted = { .pep = pep };
	bool there;

	mutex_lock(&lock);
	there = take(&wanted, taken);
	mutex_unlock(&lock);
	return there;
}
