/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_lent.c - windows that operations use until they complete. */
#include "emu/kfi/objects/kemu_queue_parts.h"

#include <stdint.h>
#include <stdlib.h>

#include "emu/kfi/mr/kemu_memory.h"

struct kemu_loan {
	struct kemu_loan *next;
	void *context;
	struct kemu_window *window;
	bool silent;
};

static size_t loan_chain(uintptr_t loan)
{
	return loan / sizeof(struct kemu_loan) % KEMU_LENT_CHAINS;
}

/* The link to the loan, or NULL: libfabric's context is the client's own. */
static struct kemu_loan **find_loan(struct kemu_lent *lent, const void *loan)
{
	struct kemu_loan **link;

	if (!lent->count)
		return NULL;
	for (link = &lent->chain[loan_chain((uintptr_t)loan)]; *link; link = &(*link)->next)
		if (*link == loan)
			return link;
	return NULL;
}

static void take_out(struct kemu_lent *lent, struct kemu_loan **link)
{
	struct kemu_loan *loan = *link;

	*link = loan->next;
	lent->count--;
	free(loan);
}

void *kemu_lent_begin(struct kemu_lent *lent, void *context, struct kemu_window *window, bool silent)
{
	struct kemu_loan *loan = malloc(sizeof(*loan)), **chain;

	if (!loan)
		return NULL;
	chain = &lent->chain[loan_chain((uintptr_t)loan)];
	*loan = (struct kemu_loan){ .next = *chain, .context = context, .window = window, .silent = silent };
	*chain = loan;
	lent->count++;
	return loan;
}

void kemu_lent_drop(struct kemu_lent *lent, void *loan)
{
	struct kemu_loan **link = find_loan(lent, loan);

	if (link)
		take_out(lent, link);
}

bool kemu_lent_end(struct kemu_lent *lent, void **context, void **buf, bool good)
{
	struct kemu_loan **link = find_loan(lent, *context);
	bool seen;

	if (!link)
		return true;
	seen = !(*link)->silent || !good;
	*context = (*link)->context;
	*buf = NULL; /* it was the window's */
	kemu_window_free((*link)->window);
	take_out(lent, link);
	return seen;
}

void *kemu_lent_find(const struct kemu_lent *lent, void *context)
{
	for (size_t i = 0; lent->count && i < KEMU_LENT_CHAINS; i++)
		for (struct kemu_loan *at = lent->chain[i]; at; at = at->next)
			if (at->context == context)
				return at;
	return context;
}

void kemu_lent_fini(struct kemu_lent *lent)
{
	for (size_t i = 0; i < KEMU_LENT_CHAINS; i++) {
		while (lent->chain[i]) {
			kemu_window_free(lent->chain[i]->window);
			take_out(lent, &lent->chain[i]);
		}
	}
}
