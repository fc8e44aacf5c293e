/* SPDX-License-Identifier: BSD-2-Clause */
/* cntr.c - completion counter.
 *
 * Everything is sequentially consistent on purpose: a writer changes a value and then looks whether a reader is armed;
 * a reader arms and then looks at the values. One of the two must see the other; weaker orders would let both miss. */
#include "emu/nic/queues/cntr.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "emu/nic/base/tsan.h"

struct cntr {
	atomic_uint_fast64_t value, errors;
	atomic_uint armed;
	atomic_bool notify;
	atomic_uint deferred; /* deferred ops that wait for it */
	void (*_Atomic reached)(struct nic *nic, struct cntr *cntr);
	struct nic *_Atomic nic;
	atomic_uint users;
	bool by_bytes;           /* constant once the counter is in use */
	void (*wake)(void *arg); /* may be NULL; constant, as is arg */
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

bool cntr_bound(const struct cntr *cntr)
{
	return atomic_load(&cntr->users);
}

int cntr_close(struct cntr *cntr)
{
	if (cntr_bound(cntr))
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

/* An armed waiter may take the signal for itself: then the notified one needs the next signal as well. */
static bool wanted(struct cntr *cntr)
{
	return atomic_load(&cntr->armed) || (atomic_load(&cntr->notify) && atomic_exchange(&cntr->notify, false));
}

static void cntr_notify_waiters(struct cntr *cntr)
{
	if (wanted(cntr) && cntr->wake)
		cntr->wake(cntr->arg);
	if (atomic_load(&cntr->deferred))
		atomic_load (&cntr->reached)(atomic_load(&cntr->nic), cntr);
}

void cntr_hold(struct cntr *cntr, void (*reached)(struct nic *nic, struct cntr *cntr), struct nic *nic)
{
	atomic_store(&cntr->reached, reached);
	atomic_store(&cntr->nic, nic);
	atomic_fetch_add(&cntr->deferred, 1);
}

void cntr_unhold(struct cntr *cntr)
{
	atomic_fetch_sub(&cntr->deferred, 1);
}

void cntr_by_bytes(struct cntr *cntr)
{
	cntr->by_bytes = true;
}

void cntr_event(struct cntr *cntr, uint64_t bytes)
{
	cntr_add(cntr, cntr->by_bytes ? bytes : 1);
}

void cntr_add(struct cntr *cntr, uint64_t value)
{
	atomic_fetch_add(&cntr->value, value);
	cntr_notify_waiters(cntr);
}

void cntr_add_error(struct cntr *cntr, uint64_t value)
{
	atomic_fetch_add(&cntr->errors, value);
	cntr_notify_waiters(cntr);
}

void cntr_set(struct cntr *cntr, uint64_t value)
{
	atomic_store(&cntr->value, value);
	cntr_notify_waiters(cntr);
}

void cntr_set_error(struct cntr *cntr, uint64_t value)
{
	atomic_store(&cntr->errors, value);
	cntr_notify_waiters(cntr);
}

uint64_t cntr_read(const struct cntr *cntr)
{
	uint64_t value = atomic_load(&cntr->value);

	tsan_completion();
	return value;
}

uint64_t cntr_read_error(const struct cntr *cntr)
{
	uint64_t errors = atomic_load(&cntr->errors);

	tsan_completion();
	return errors;
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

void cntr_notify(struct cntr *cntr)
{
	atomic_store(&cntr->notify, true);
}
