/* SPDX-License-Identifier: BSD-2-Clause */
/* numbers.c - idr and ida: an array of slots, sorted by number. */
#include <linux/err.h>
#include <linux/idr.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

/* The first slot whose number is not below `id`. The lock is held, as in all of the static functions. */
static int slot_at(const struct idr *idr, int id)
{
	int low = 0, high = idr->emu_count;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (idr->emu_slots[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct emu_idr_slot *slot_of(const struct idr *idr, unsigned long id)
{
	int at = id <= INT32_MAX ? slot_at(idr, (int)id) : idr->emu_count;

	return at < idr->emu_count && (unsigned long)idr->emu_slots[at].id == id ? &idr->emu_slots[at] : NULL;
}

static int slots_grow(struct idr *idr, gfp_t flags)
{
	int room = idr->emu_room ? 2 * idr->emu_room : 16;
	struct emu_idr_slot *slots;

	if (idr->emu_count < idr->emu_room)
		return 0;
	slots = (kmalloc_array)((size_t)room, sizeof(*slots), flags);
	if (!slots)
		return -ENOMEM;
	if (idr->emu_count)
		memcpy(slots, idr->emu_slots, (size_t)idr->emu_count * sizeof(*slots));
	kfree(idr->emu_slots);
	idr->emu_slots = slots;
	idr->emu_room = room;
	return 0;
}

/* The lowest free number in min to max, both included. */
static int idr_take(struct idr *idr, void *pointer, int min_id, int max_id, gfp_t flags)
{
	int at = slot_at(idr, min_id), id = min_id, err;

	while (at < idr->emu_count && idr->emu_slots[at].id == id) {
		if (id == max_id)
			return -ENOSPC;
		at++;
		id++;
	}
	if (id > max_id)
		return -ENOSPC;
	err = slots_grow(idr, flags);
	if (err)
		return err;
	memmove(&idr->emu_slots[at + 1], &idr->emu_slots[at], (size_t)(idr->emu_count - at) * sizeof(*idr->emu_slots));
	idr->emu_slots[at] = (struct emu_idr_slot){ .id = id, .pointer = pointer };
	idr->emu_count++;
	return id;
}

static int last_id(int end)
{
	return end > 0 ? end - 1 : INT32_MAX;
}

int(idr_alloc)(struct idr *idr, void *pointer, int start, int end, gfp_t flags)
{
	int id;

	if (WARN_ON(start < 0))
		return -EINVAL;
	pthread_mutex_lock(&idr->emu_lock);
	id = idr_take(idr, pointer, start, last_id(end), flags);
	pthread_mutex_unlock(&idr->emu_lock);
	return id;
}

int(idr_alloc_cyclic)(struct idr *idr, void *pointer, int start, int end, gfp_t flags)
{
	int id;

	if (WARN_ON(start < 0))
		return -EINVAL;
	pthread_mutex_lock(&idr->emu_lock);
	id = idr_take(idr, pointer, max(start, idr->emu_next), last_id(end), flags);
	if (id == -ENOSPC)
		id = idr_take(idr, pointer, start, last_id(end), flags);
	if (id >= 0)
		idr->emu_next = id == INT32_MAX ? 0 : id + 1;
	pthread_mutex_unlock(&idr->emu_lock);
	return id;
}

void *idr_find(struct idr *idr, unsigned long id)
{
	struct emu_idr_slot *slot;
	void *pointer;

	pthread_mutex_lock(&idr->emu_lock);
	slot = slot_of(idr, id);
	pointer = slot ? slot->pointer : NULL;
	pthread_mutex_unlock(&idr->emu_lock);
	return pointer;
}

void *idr_remove(struct idr *idr, unsigned long id)
{
	struct emu_idr_slot *slot;
	void *pointer = NULL;

	pthread_mutex_lock(&idr->emu_lock);
	slot = slot_of(idr, id);
	if (slot) {
		pointer = slot->pointer;
		idr->emu_count--;
		memmove(slot, slot + 1, (size_t)(&idr->emu_slots[idr->emu_count] - slot) * sizeof(*slot));
	}
	pthread_mutex_unlock(&idr->emu_lock);
	return pointer;
}

void *idr_replace(struct idr *idr, void *pointer, unsigned long id)
{
	void *old = ERR_PTR(-ENOENT);
	struct emu_idr_slot *slot;

	pthread_mutex_lock(&idr->emu_lock);
	slot = slot_of(idr, id);
	if (slot) {
		old = slot->pointer;
		slot->pointer = pointer;
	}
	pthread_mutex_unlock(&idr->emu_lock);
	return old;
}

void *idr_get_next(struct idr *idr, int *id)
{
	void *pointer = NULL;
	int at;

	pthread_mutex_lock(&idr->emu_lock);
	at = slot_at(idr, *id);
	if (at < idr->emu_count) {
		*id = idr->emu_slots[at].id;
		pointer = idr->emu_slots[at].pointer;
	}
	pthread_mutex_unlock(&idr->emu_lock);
	return pointer;
}

int idr_for_each(struct idr *idr, int (*call)(int id, void *pointer, void *data), void *data)
{
	void *pointer;
	int id, err = 0;

	idr_for_each_entry(idr, pointer, id) {
		err = call(id, pointer, data);
		if (err)
			break;
	}
	return err;
}

bool idr_is_empty(struct idr *idr)
{
	bool is_empty;

	pthread_mutex_lock(&idr->emu_lock);
	is_empty = !idr->emu_count;
	pthread_mutex_unlock(&idr->emu_lock);
	return is_empty;
}

void idr_destroy(struct idr *idr)
{
	pthread_mutex_lock(&idr->emu_lock);
	kfree(idr->emu_slots);
	idr->emu_slots = NULL;
	idr->emu_count = idr->emu_room = idr->emu_next = 0;
	pthread_mutex_unlock(&idr->emu_lock);
}

int emu_kernel_ida_alloc(struct ida *ida, unsigned int min_id, unsigned int max_id, gfp_t flags)
{
	int id;

	if (min_id > INT32_MAX)
		return -ENOSPC;
	pthread_mutex_lock(&ida->emu_idr.emu_lock);
	id = idr_take(&ida->emu_idr, ida, (int)min_id, (int)min(max_id, (unsigned int)INT32_MAX), flags);
	pthread_mutex_unlock(&ida->emu_idr.emu_lock);
	return id;
}
