/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_window.c - lays pages side by side under further addresses, so that many buffers are few; descriptors of regions
 * that lie there. */
#include <emu_pages.h>
#include <kfi_errno.h>
#include <linux/mm_types.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <pthread.h>

#include "emu/kfi/mr/kemu_memory.h"

struct kemu_window {
	struct iovec mapped[KEMU_RUNS];
	size_t count;
	size_t parts;
	struct {
		struct iovec from; /* the client's bytes */
		char *to;          /* where they are besides */
	} part[];
};

/* Whole pages, with no gap, where one follows the other. */
static bool joins(const struct iovec *run, const struct iovec *next)
{
	uintptr_t end = (uintptr_t)run->iov_base + run->iov_len;

	return !(end % PAGE_SIZE) && !((uintptr_t)next->iov_base % PAGE_SIZE) && emu_pages_can_map(run->iov_base, run->iov_len) &&
	       emu_pages_can_map(next->iov_base, next->iov_len);
}

/* Maps runs that join. */
static bool window_map(struct kemu_window *window, const struct iovec *run, size_t count, struct iovec *out)
{
	struct iovec *mapped = &window->mapped[window->count];

	mapped->iov_base = emu_pages_map(run, count, &mapped->iov_len);
	if (!mapped->iov_base)
		return false;
	window->count++;
	out->iov_base = (char *)mapped->iov_base + (uintptr_t)run->iov_base % PAGE_SIZE;
	out->iov_len = 0;
	for (size_t i = 0; i < count; i++) {
		window->part[window->parts].from = run[i];
		window->part[window->parts++].to = (char *)out->iov_base + out->iov_len;
		out->iov_len += run[i].iov_len;
	}
	return true;
}

static int window_fill(struct kemu_memory *memory, const struct iovec *run, size_t count)
{
	for (size_t i = 0, end; i < count; i = end) {
		struct iovec *out = &memory->run[memory->count];

		for (end = i + 1; end < count && joins(&run[end - 1], &run[end]);)
			end++;
		if (memory->count++ == KEMU_RUNS)
			return -KFI_EINVAL;
		if (end == i + 1)
			*out = run[i];
		else if (!window_map(memory->window, &run[i], end - i, out))
			return -KFI_ENOMEM;
	}
	return 0;
}

int kemu_window_open(struct kemu_memory *memory, const struct iovec *run, size_t count)
{
	int err;

	memory->count = 0;
	memory->window = calloc(1, sizeof(*memory->window) + count * sizeof(memory->window->part[0]));
	if (!memory->window)
		return -KFI_ENOMEM;
	err = window_fill(memory, run, count);
	if (err) {
		kemu_window_free(memory->window);
		memory->window = NULL;
	}
	return err;
}

void kemu_window_free(struct kemu_window *window)
{
	for (size_t i = 0; window && i < window->count; i++)
		munmap(window->mapped[i].iov_base, window->mapped[i].iov_len);
	free(window);
}

void kemu_window_translate(const struct kemu_window *window, struct iovec *buffer)
{
	for (size_t i = 0; i < window->parts; i++) {
		const struct iovec *from = &window->part[i].from;
		size_t offset = (uintptr_t)buffer->iov_base - (uintptr_t)from->iov_base;

		if (offset < from->iov_len && buffer->iov_len <= from->iov_len - offset) {
			buffer->iov_base = window->part[i].to + offset;
			return;
		}
	}
}

/* --- the descriptors of regions that lie in windows --- */

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
