/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_memory.h - kvec, bio_vec and scatterlist as libfabric's iovec; descriptors of regions. Any thread; never sleeps. */
#ifndef EMU_KFI_MEMORY_H
#define EMU_KFI_MEMORY_H

#include <kfabric.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

struct kemu_domain;
struct kemu_window;

/* Buffers that touch become one. The NIC takes KEMU_RUNS of them. Of a vector with more, those with whole pages between them, of
 * alloc_pages() or vmalloc(), are laid side by side in a window, as an IOMMU does it: the same pages under further addresses. */

enum { KEMU_RUNS = 8, KEMU_VECTOR_MAX = 256 };

/* What a client gave. `call` names it in the sentence of a refusal. */
struct kemu_vector {
	const char *call;
	enum kfi_iov_type type;
	const void *entries;
	size_t count;
	/* Descriptors, one for each entry, which are translated (kemu_desc_translate()); NULL: the buffers have none. */
	void **desc;
	struct kemu_domain *domain;       /* of the descriptors */
	const struct kemu_window *within; /* the buffers are of a region that lies in this window; NULL: of none */
};

struct kemu_memory {
	struct iovec run[KEMU_RUNS];
	void *desc[KEMU_RUNS]; /* where descriptors were given */
	size_t count;
	size_t length;              /* bytes in all */
	struct kemu_window *window; /* some of the runs lie in it; NULL: they are all the client's own addresses */
};

/* Reads a vector: a kvec's, bio_vec's, or mapped scatterlist's; entries of length 0 are left out. 0, and the caller ends the
 * window; -KFI_EINVAL: the type, a NULL vector, too many entries, an entry that is not mapped (S20), a page that is freed, or
 * buffers that fit no window; -KFI_ENOMEM. */
int kemu_memory_take(struct kemu_memory *memory, const struct kemu_vector *vector);
/* Ends the window, if there is one. NULL is allowed. */
void kemu_window_free(struct kemu_window *window);

/* kemu_window.c: makes at most KEMU_RUNS of `count` runs. -KFI_EINVAL: they cannot be; -KFI_ENOMEM. Both without a sentence. */
int kemu_window_open(struct kemu_memory *memory, const struct iovec *run, size_t count);
/* Gives bytes of the client their address in the window; those that are not in it keep theirs. */
void kemu_window_translate(const struct kemu_window *window, struct iovec *buffer);

/* --- descriptors of regions that lie in windows. The device knows such a region by the window's addresses, and the client names
 * its own: so operations look here. --- */

/* False: no memory. Each is forgotten once, before its window ends. */
bool kemu_desc_add(const struct kemu_domain *domain, const void *desc, const struct kemu_window *window);
void kemu_desc_forget(const struct kemu_window *window);
/* Gives a buffer the address that the device knows for it in the region of `desc`. One that is not in it keeps its own, and the
 * device refuses it. */
void kemu_desc_translate(const struct kemu_domain *domain, const void *desc, struct iovec *buffer);

#endif
