/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_connreq.c - connection requests that wait for an answer. */
#include "emu/fi/ep/fi_ep.h"

#include <stdlib.h>

#include "emu/nic/base/mutex.h"

struct connreq_entry {
	struct fid fid;
	struct connreq_entry *next;
	struct connreq request;
};

static struct mutex lock = MUTEX_INITIALIZER;
static struct connreq_entry *first GUARDED_BY(lock);

void connreq_forked(void)
{
	mutex_forked(&lock);
	first = NULL;
}

static bool is_one(const struct connreq_entry *entry, const struct connreq *wanted)
{
	return (!wanted->pep || entry->request.pep == wanted->pep) && (!wanted->handle || &entry->fid == wanted->handle) &&
	       (!wanted->number || entry->request.number == wanted->number);
}

/* The pointer to the first one that matches `wanted`, in which zero matches any. */
static struct connreq_entry **connreq_find_link(const struct connreq *wanted) REQUIRES(lock)
{
	struct connreq_entry **at = &first;

	while (*at && !is_one(*at, wanted))
		at = &(*at)->next;
	return at;
}

static bool connreq_unlink(const struct connreq *wanted, struct connreq *taken) REQUIRES(lock)
{
	struct connreq_entry **at = connreq_find_link(wanted), *entry = *at;

	if (!entry)
		return false;
	*taken = entry->request;
	*at = entry->next;
	free(entry);
	return true;
}

static unsigned connreq_count(const struct emu_pep *pep) REQUIRES(lock)
{
	unsigned n = 0;

	for (const struct connreq_entry *entry = first; entry; entry = entry->next)
		n += entry->request.pep == pep;
	return n;
}

struct fid *connreq_add(const struct connreq *request, unsigned most)
{
	struct connreq_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->fid.fclass = FI_CLASS_CONNREQ;
	entry->request = *request;
	entry->request.handle = &entry->fid;
	mutex_lock(&lock);
	if (connreq_count(request->pep) < most) {
		entry->next = first;
		first = entry;
	} else {
		free(entry);
		entry = NULL;
	}
	mutex_unlock(&lock);
	return entry ? &entry->fid : NULL;
}

bool connreq_find(const struct fid *handle, struct connreq *found)
{
	struct connreq wanted = { .handle = (struct fid *)(uintptr_t)handle };
	struct connreq_entry *entry;

	mutex_lock(&lock);
	entry = *connreq_find_link(&wanted);
	if (entry)
		*found = entry->request;
	mutex_unlock(&lock);
	return entry;
}

bool connreq_waits(const struct connreq *request)
{
	bool there;

	mutex_lock(&lock);
	there = *connreq_find_link(request);
	mutex_unlock(&lock);
	return there;
}

bool connreq_take(const struct connreq *request)
{
	struct connreq taken;
	bool there;

	mutex_lock(&lock);
	there = connreq_unlink(request, &taken);
	mutex_unlock(&lock);
	return there;
}

bool connreq_take_any(const struct emu_pep *pep, struct connreq *taken)
{
	struct connreq wanted = { .pep = pep };
	bool there;

	mutex_lock(&lock);
	there = connreq_unlink(&wanted, taken);
	mutex_unlock(&lock);
	return there;
}
