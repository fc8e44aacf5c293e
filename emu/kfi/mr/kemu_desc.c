/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_desc.c - the descriptors of regions that lie in windows. */
#include "emu/kfi/mr/kemu_desc.h"

#include <pthread.h>
#include <stdlib.h>

#include "emu/kfi/mr/kemu_memory.h"

struct windowed {
	struct windowed *next;
	const struct kemu_domain *domain;
	const void *desc;
	const struct kemu_window *window;
};

static pthread_rwlock_t windowed_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct windowed *windowed; /* under the lock */
static size_t windowed_count;     /* 0: nothing is looked for. Written under the lock */

bool kemu_desc_add(const struct kemu_domain *domain, const void *desc, const struct kemu_window *window)
{
	struct windowed *entry = malloc(sizeof(*entry));

	if (!entry)
		return false;
	*entry = (struct windowed){ .domain = domain, .desc = desc, .window = window };
	pthread_rwlock_wrlock(&windowed_lock);
	entry->next = windowed;
	windowed = entry;
	__atomic_fetch_add(&windowed_count, 1, __ATOMIC_RELEASE);
	pthread_rwlock_unlock(&windowed_lock);
	return true;
}

void kemu_desc_forget(const struct kemu_window *window)
{
	struct windowed *entry;

	if (!__atomic_load_n(&windowed_count, __ATOMIC_ACQUIRE))
		return;
	pthread_rwlock_wrlock(&windowed_lock);
	for (struct windowed **at = &windowed; (entry = *at);) {
		if (entry->window != window) {
			at = &entry->next;
			continue;
		}
		*at = entry->next;
		free(entry);
		__atomic_fetch_sub(&windowed_count, 1, __ATOMIC_RELEASE);
	}
	pthread_rwlock_unlock(&windowed_lock);
}

void kemu_desc_translate(const struct kemu_domain *domain, const void *desc, struct iovec *buffer)
{
	if (!__atomic_load_n(&windowed_count, __ATOMIC_ACQUIRE))
		return;
	pthread_rwlock_rdlock(&windowed_lock);
	for (const struct windowed *entry = windowed; entry; entry = entry->next)
		if (entry->desc == desc && entry->domain == domain)
			kemu_window_translate(entry->window, buffer);
	pthread_rwlock_unlock(&windowed_lock);
}
