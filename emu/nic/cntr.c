/* SPDX-License-Identifier: BSD-2-Clause */
/* cntr.c - completion counter.
 *
 * Everything is sequentially consistent on purpose: a writer changes a value and then looks whether anybody is armed;
 * a reader arms and then looks at the values. One of the two must see the other; weaker orders would let both miss. */
#include "emu/nic/cntr.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

struct cntr {
	atomic_uint_fast64_t value, errors;
	atomic_uint armed;
	atomic_uint users;
	void (*wake)(void *arg);	/* may be NULL; constant, as is arg */
	void *arg;
};

int cntr_open(struct cntr **out, void (*wake)(void *arg), void *arg)
{
	struct cntr *cntr = calloc(1, sizeof(*cntr));

	if (!cntr)
		return -ENOMEM;
	cntr->wake = wake;
	cntr->arg = arg;
	*out = cntr;
	return 0;
}

int cntr_close(struct cntr *cntr)
{
	if (atomic_load(&cntr->users))
		return -EBUSY;
	free(cntr);
	return 0;
}

void cntr_get(struct cntr *cntr)
{
	atomic_fetch_add(&cntr->users, 1);
}

void cntr_put(struct cntr *cntr)
{
	unsigned int before = atomic_fetch_sub(&cntr->users, 1);

	assert(before);
}

static void changed(struct cntr *cntr)
{
	if (atomic_load(&cntr->armed) && cntr->wake)
		cntr->wake(cntr->arg);
}

void cntr_add(struct cntr *cntr, uint64_t value)
{
	atomic_fetch_add(&cntr->value, value);
	changed(cntr);
}

void cntr_add_error(struct cntr *cntr, uint64_t value)
{
	atomic_fetch_add(&cntr->errors, value);
	changed(cntr);
}

void cntr_set(struct cntr *cntr, uint64_t value)
{
	atomic_store(&cntr->value, value);
	changed(cntr);
}

void cntr_set_error(struct cntr *cntr, uint64_t value)
{
	atomic_store(&cntr->errors, value);
	changed(cntr);
}

uint64_t cntr_read(const struct cntr *cntr)
{
	return atomic_load(&cntr->value);
}

uint64_t cntr_read_error(const struct cntr *cntr)
{
	return atomic_load(&cntr->errors);
}

void cntr_arm(struct cntr *cntr)
{
	atomic_fetch_add(&cntr->armed, 1);
}

void cntr_disarm(struct cntr *cntr)
{
	unsigned int before = atomic_fetch_sub(&cntr->armed, 1);

	assert(before);
}
