/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_lent.h - windows that operations use until they complete: which context of libfabric stands for which of the client's.
 * Under the lock of the completion queue. */
#ifndef EMU_KFI_LENT_H
#define EMU_KFI_LENT_H

#include <stdbool.h>
#include <stddef.h>

struct kemu_cq;
struct kemu_loan;
struct kemu_window;

enum { KEMU_LENT_CHAINS = 64 };

struct kemu_lent {
	struct kemu_cq *cq; /* whose it is */
	size_t count;
	struct kemu_loan *chain[KEMU_LENT_CHAINS];
};

/* What libfabric gets as the operation's context. NULL: no memory. */
void *kemu_lent_begin(struct kemu_lent *lent, void *context, struct kemu_window *window, bool silent);
/* The operation was not posted: the window stays. */
void kemu_lent_drop(struct kemu_lent *lent, void *loan);
/* An operation has completed: puts the client's context in the place of libfabric's, and ends the window, if one was lent. False:
 * it was lent silently and has succeeded (`good`), so the client is not to see it. */
bool kemu_lent_end(struct kemu_lent *lent, void **context, void **buf, bool good);
/* What libfabric knows for a context of the client's. */
void *kemu_lent_find(const struct kemu_lent *lent, void *context);
/* Ends all windows. */
void kemu_lent_fini(struct kemu_lent *lent);

#endif
