/* SPDX-License-Identifier: BSD-2-Clause */
/* idr.h - numbers for pointers, and numbers alone.
 * A lock inside guards each of them; what a pointer refers to is the caller's to guard. Numbers are given lowest first. */
#ifndef EMU_KERNEL_LINUX_IDR_H
#define EMU_KERNEL_LINUX_IDR_H

#include <linux/gfp.h>
#include <linux/types.h>
#include <pthread.h>

struct emu_idr_slot {
	int id;
	void *pointer;
};

struct idr {
	pthread_mutex_t emu_lock;
	struct emu_idr_slot *emu_slots; /* by id */
	int emu_count, emu_room;
	int emu_next; /* idr_alloc_cyclic() begins here */
};

#define IDR_INIT(name)                                \
	{                                             \
		.emu_lock = PTHREAD_MUTEX_INITIALIZER \
	}
#define DEFINE_IDR(name) struct idr name = IDR_INIT(name)
#define idr_init(idr) ((void)(*(idr) = (struct idr)IDR_INIT(idr)))

/* From `start` up to below `end` (0: no end). -ENOSPC, -ENOMEM, or -EINVAL for a negative `start`. */
int idr_alloc(struct idr *idr, void *pointer, int start, int end, gfp_t flags);
int idr_alloc_cyclic(struct idr *idr, void *pointer, int start, int end, gfp_t flags);
#define idr_alloc(idr, pointer, start, end, flags) \
	(EMU_KERNEL_ALLOCATES("idr_alloc", flags), idr_alloc(idr, pointer, start, end, flags))
#define idr_alloc_cyclic(idr, pointer, start, end, flags) \
	(EMU_KERNEL_ALLOCATES("idr_alloc_cyclic", flags), idr_alloc_cyclic(idr, pointer, start, end, flags))
void *idr_find(struct idr *idr, unsigned long id);
void *idr_remove(struct idr *idr, unsigned long id);
void *idr_replace(struct idr *idr, void *pointer, unsigned long id); /* the old one, or ERR_PTR(-ENOENT) */
void *idr_get_next(struct idr *idr, int *id);                        /* the first from *id on, and its id */
int idr_for_each(struct idr *idr, int (*call)(int id, void *pointer, void *data), void *data);
bool idr_is_empty(struct idr *idr);
void idr_destroy(struct idr *idr);

#define idr_for_each_entry(idr, entry, id) for ((id) = 0; ((entry) = idr_get_next(idr, &(id))) != NULL; (id)++)

/* They only say that the allocation may sleep: nothing is held back for a later one. */
#define idr_preload(flags) EMU_KERNEL_ALLOCATES("idr_preload", flags)
#define idr_preload_end() ((void)0)

struct ida {
	struct idr emu_idr;
};

#define DEFINE_IDA(name) struct ida name = { .emu_idr = IDR_INIT(name) }
#define ida_init(ida) idr_init(&(ida)->emu_idr)

/* `min` to `max`, both included; they are below 2^31. */
int emu_kernel_ida_alloc(struct ida *ida, unsigned int min, unsigned int max, gfp_t flags);
#define ida_alloc_range(ida, min, max, flags) (EMU_KERNEL_ALLOCATES("ida_alloc", flags), emu_kernel_ida_alloc(ida, min, max, flags))
#define ida_alloc(ida, flags) ida_alloc_range(ida, 0, INT32_MAX, flags)
#define ida_alloc_min(ida, min, flags) ida_alloc_range(ida, min, INT32_MAX, flags)
#define ida_alloc_max(ida, max, flags) ida_alloc_range(ida, 0, max, flags)
#define ida_free(ida, id) ((void)idr_remove(&(ida)->emu_idr, id))
#define ida_simple_get(ida, start, end, flags) ida_alloc_range(ida, start, (end) ? (end)-1 : INT32_MAX, flags)
#define ida_simple_remove(ida, id) ida_free(ida, id)
#define ida_is_empty(ida) idr_is_empty(&(ida)->emu_idr)
#define ida_destroy(ida) idr_destroy(&(ida)->emu_idr)

#endif
